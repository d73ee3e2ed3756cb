"""Arrow without pandas: a run converts no data frame, and need not wait for pandas to load."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import NoReturn


class _Hidden:
    """Finds no pandas."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Refuse pandas, and leave every other module to the other finders."""
        del path, target
        return _refuse(name) if name == "pandas" else None


def _refuse(name: str) -> NoReturn:
    raise ModuleNotFoundError(f"{name} is not needed", name=name)


@contextmanager
def _signals_afterwards() -> Iterator[None]:
    """Let what would stop the command do so once the context ends.

    While pyarrow looks for pandas it drops any exception, also that of a signal handler: a command
    that was told to end would go on, and spend what it was meant to spare.
    """
    if threading.current_thread() is not threading.main_thread():  # others hear no signal
        yield
        return
    came: list[int] = []
    handlers = {
        number: signal.signal(number, lambda number, _: came.append(number))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)
    }
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for first in came[:1]:
            signal.raise_signal(first)


def load_arrow_without_pandas() -> None:
    """Load pyarrow, and let it find no pandas when it looks for it.

    pyarrow loads pandas, where it is installed, at the first conversion of a list or to numpy:
    half a second in every process of a run. It looks once: until the first data frame is
    converted, it takes a series for a list, and its NaN for a number.
    Requires: the process is ours, as one of the command line is; not that of a caller of the API.
    Ensures: a signal that comes meanwhile stops the command when this is done.
    """
    if "pandas" in sys.modules or "pyarrow" in sys.modules:
        return
    hidden = _Hidden()
    with _signals_afterwards():
        sys.meta_path.insert(0, hidden)
        try:
            import pyarrow as pa

            pa.array([0]).to_numpy()
        finally:
            sys.meta_path.remove(hidden)
