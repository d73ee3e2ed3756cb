"""The command line for shell scripts: asks the warm process to carry out a command.

It hands over its streams, and waits for the exit code.

Executed as `python -IS warm_client.py SOCKET WORD...`, as a program that starts in no time.
"""

import json
import os
import socket
import sys


def main() -> None:
    mask = os.umask(0)
    os.umask(mask)
    request = {
        "words": sys.argv[2:],
        "program": "",
        "directory": os.getcwd(),  # noqa: PTH109 - one import less
        "environment": dict(os.environ),
        "mask": mask,
    }
    with socket.socket(socket.AF_UNIX) as asked:
        asked.connect(sys.argv[1])
        socket.send_fds(asked, [json.dumps(request).encode() + b"\n"], [0, 1, 2])
        code = int(asked.makefile().readline())
    sys.exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
