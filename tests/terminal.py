"""A terminal that a test holds: commands that ask questions, answered as by somebody's hand."""

import codecs
import os
import pty
import re
import select
from collections.abc import Callable, Sequence
from pathlib import Path

PATIENCE_SECONDS = 60
INTERRUPT = b"\x03"
"""Ctrl-C. Between its prompt and its waiting `readline` sees no signal before the next one, so it
is pressed again where nothing happens, as anybody would."""


def answered(
    command: Sequence[str], directory: Path, answer: Callable[[str], bytes]
) -> tuple[int, str]:
    """Exit code and screen of a command, each of whose questions is answered.

    `answer` gets the entry that is asked about, such as `release.id`, else the prompt, and gives
    what is typed.
    """
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(directory)
        os.execv(command[0], list(command))
    shown = fresh = ""
    typed = b""
    waited = 0
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        while waited < PATIENCE_SECONDS:
            if not select.select([terminal], [], [], 5)[0]:
                waited += 5
                if typed == INTERRUPT:
                    os.write(terminal, INTERRUPT)
                continue
            waited = 0
            try:
                read = os.read(terminal, 1 << 16)
            except OSError:  # the end, as Linux says it
                break
            if not read:
                break
            piece = decoder.decode(read)
            shown += piece
            fresh += piece
            if not re.search(r"> $", fresh):
                continue
            about = re.findall(r"^(\S+)   \(line ", fresh, re.MULTILINE)
            typed = answer(about[-1] if about else re.split(r"[\r\n]", fresh)[-1])
            os.write(terminal, typed)
            fresh = ""
    finally:
        os.close(terminal)
        _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), shown.replace("\r\n", "\n")
