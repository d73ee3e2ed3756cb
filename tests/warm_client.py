"""The command line for shell scripts and for tests that stop a command half-way.

It asks the warm process to carry out a command, hands over its streams, passes on the signals that
stop it, and ends with its exit code.

Executed as `python -IS warm_client.py SOCKET WORD...`, as a program that starts in no time; with
`-c PROGRAM` before the words, the program is carried out instead of `synth`.
"""

import json
import os
import signal
import socket
import sys
from pathlib import Path

STOPS = (signal.SIGALRM, signal.SIGINT, signal.SIGTERM)


def main() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)  # until it is known whom to pass them on to
    mask = os.umask(0)
    os.umask(mask)
    words, program = sys.argv[2:], ""
    if words[:1] == ["-c"]:
        program, words = words[1], words[2:]
    request = {
        "words": words,
        "program": program,
        "directory": str(Path.cwd()),
        "environment": dict(os.environ),
        "mask": mask,
    }
    with socket.socket(socket.AF_UNIX) as asked:
        asked.connect(sys.argv[1])
        socket.send_fds(asked, [json.dumps(request).encode() + b"\n"], [0, 1, 2])
        answers = asked.makefile()
        pid = int(answers.readline())
        for number in STOPS:
            signal.signal(number, lambda passed, _frame: os.kill(pid, passed))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
        code = int(answers.readline())
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


if __name__ == "__main__":
    main()
