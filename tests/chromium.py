"""Chromium without a window, driven through a pipe by its own protocol; needs no package.

A test skips where the machine has no Chromium.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions")
OPTIONS += ("--remote-debugging-pipe", "--disable-dev-shm-usage", "--allow-file-access-from-files")

STARTER = """
import os, sys
held = [os.dup2(int(number), place) for number, place in zip(sys.argv[1:3], (103, 104))]
for number, place in zip(held, (3, 4)):
    os.dup2(number, place)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Chromium reads commands from descriptor 3 and writes answers to descriptor 4."""


class Chromium:
    """One browser with one page."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers = commands, answers
        self._numbers, self._held = count(1), b""
        self.requests: list[str] = []
        self.messages: list[str] = []
        self._session = ""
        target = self._send("Target.createTarget", url="about:blank")["targetId"]
        attached = self._send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "DOM"):
            self._send(f"{domain}.enable")

    def open(self, address: str) -> None:
        """Open a page and wait until it is loaded; what it asks for and says is noted afresh."""
        self._send("Page.navigate", url="about:blank")
        self.requests.clear()
        self.messages.clear()
        self._send("Page.navigate", url=address)
        self.evaluate(
            "new Promise(done => document.readyState === 'complete' ? done()"
            " : addEventListener('load', done))"
        )

    def evaluate(self, expression: str) -> Any:
        """The value of an expression, waited for if it is a promise."""
        found = self._send(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in found:
            raise AssertionError(found["exceptionDetails"])
        return found["result"].get("value")

    def look_like(self, width: int, height: int, *, scheme: str = "light", media: str = "") -> None:
        """Set the size of the window, the colours that the reader prefers, and screen or print."""
        self._send(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._send("Emulation.setEmulatedMedia", media=media, features=features)

    def choose_files(self, selector: str, paths: Sequence[Path]) -> None:
        """Put files into an input, as a reader who chooses them."""
        root = self._send("DOM.getDocument")["root"]["nodeId"]
        node = self._send("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self._send("DOM.setFileInputFiles", nodeId=node, files=[str(path) for path in paths])

    def press(self, key: str, code: int) -> None:
        """Press and release a key."""
        written = "\r" if key == "Enter" else ""
        for kind in ("keyDown", "keyUp"):
            self._send(
                "Input.dispatchKeyEvent",
                type=kind, key=key, code=key, windowsVirtualKeyCode=code, text=written,
            )  # fmt: skip

    def screenshot(self, *, whole: bool = True) -> bytes:
        """The page as PNG."""
        taken = self._send("Page.captureScreenshot", captureBeyondViewport=whole)
        return base64.b64decode(taken["data"])

    def close(self) -> None:
        """End the browser."""
        self._session = ""
        self._send("Browser.close")

    def _send(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self._numbers)
        command = {"id": number, "method": method, "params": parameters}
        if self._session:
            command["sessionId"] = self._session
        unsent = json.dumps(command).encode() + b"\0"
        while unsent:
            unsent = unsent[os.write(self._commands, unsent) :]
        while True:
            answer = self._read()
            if answer.get("id") == number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return dict(answer["result"])
            self._note(answer)

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._held:
            more = os.read(self._answers, 1 << 20)
            if not more:
                raise AssertionError("Chromium has ended")
            self._held += more
        message, _, self._held = self._held.partition(b"\0")
        return dict(json.loads(message))

    def _note(self, event: dict[str, Any]) -> None:
        parameters = event.get("params", {})
        if event["method"] == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif event["method"] == "Runtime.consoleAPICalled":
            self.messages.append(str([each.get("value") for each in parameters["args"]]))
        elif event["method"] == "Runtime.exceptionThrown":
            self.messages.append(str(parameters["exceptionDetails"]))
        elif event["method"] == "Log.entryAdded":
            self.messages.append(parameters["entry"]["text"])


@contextmanager
def chromium(profile: Path) -> Iterator[Chromium]:
    """A browser with a profile of its own; ended with all that belongs to it."""
    if not BROWSER:
        pytest.skip("needs Chromium on the machine")
    commands_read, commands = os.pipe()
    answers, answers_write = os.pipe()
    started = sys.executable, "-ISc", STARTER, str(commands_read), str(answers_write)
    with (profile / "chromium.log").open("wb") as log:
        process = subprocess.Popen(
            [*started, BROWSER, *OPTIONS, f"--user-data-dir={profile}"],
            pass_fds=(commands_read, answers_write),
            stdout=log,
            stderr=log,
        )
    os.close(commands_read)
    os.close(answers_write)
    try:
        browser = Chromium(commands, answers)
        yield browser
        browser.close()
    finally:
        os.close(commands)
        os.close(answers)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
