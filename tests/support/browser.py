"""A page as a browser shows it: headless Chromium, spoken to in its DevTools protocol.

The browser reads commands from its file 3 and writes answers to its file 4, as JSON that ends in a
null byte (``--remote-debugging-pipe``), so neither Node nor a WebSocket is needed. It finds no
host: what a page would load from elsewhere fails, and is reported.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import itertools
import json
import os
import select
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PROGRAM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
"""Where the browser is; None where there is none."""

MISSING = "no Chromium found; on Debian: apt-get install chromium"

_SECONDS = 60  # for one answer; a loaded machine may take ten

_FLAGS = """
--headless --remote-debugging-pipe --disable-gpu --disable-dev-shm-usage --no-first-run
--disable-background-networking --disable-component-update --disable-sync --disable-extensions
--disable-default-apps
""".split()


class Page:
    """The one page of a browser.

    Attributes:
      messages: what the page has logged, and errors, since it was opened.
      requests: addresses it asked for since it was opened, data: left out.
      failures: requests of these that failed.
    """

    def __init__(self, write: int, read: int):
        self._write, self._read = write, read
        self._buffer = b""
        self._numbers = itertools.count(1)
        self._session: str | None = None
        self._events: list[dict[str, Any]] = []
        self._forget()
        target = self.command("Target.createTarget", url="about:blank")["targetId"]
        attached = self.command("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.command(f"{domain}.enable")

    def command(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Sends a command and waits for its answer."""
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: dict[str, Any] = answer["result"]
                return result

    def open(self, path: Path, *, dark: bool = False, width: int = 1280) -> None:
        """Shows a file, in dark or light colours, in a window this many CSS pixels wide."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.command("Emulation.setEmulatedMedia", features=[scheme])
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=800,
            deviceScaleFactor=1,
            mobile=False,
        )
        self._forget()
        self.command("Page.navigate", url=path.as_uri())
        while not self._loaded:
            self._next()

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page, or what it promises."""
        answer = self.command(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """Presses and releases Tab, Enter or ArrowRight."""
        code, text = {"Tab": (9, ""), "Enter": (13, "\r"), "ArrowRight": (39, "")}[key]
        for kind in ("keyDown", "keyUp"):
            self.command(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=code,
                text=text if kind == "keyDown" else "",
            )

    def images(self) -> list[str]:
        """What stands for each picture in the tree that a screen reader reads.

        A picture within a picture is a part of it.
        """
        nodes = self.command("Accessibility.getFullAXTree")["nodes"]
        pictures = {
            node["nodeId"]: node
            for node in nodes
            if not node["ignored"] and node["role"]["value"] in ("image", "SvgRoot")
        }
        return [
            node["name"]["value"]
            for node in pictures.values()
            if node.get("parentId") not in pictures
        ]

    def pdf(self) -> bytes:
        """The page as it is printed."""
        return base64.b64decode(self.command("Page.printToPDF")["data"])

    def _forget(self) -> None:
        self._loaded = False
        self.messages: list[str] = []
        self.requests: list[str] = []
        self.failures: list[str] = []

    def _next(self) -> dict[str, Any]:
        """The next message; what it reports is noted."""
        deadline = time.monotonic() + _SECONDS
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"the browser has not answered for {_SECONDS} seconds"
            part = os.read(self._read, 1 << 20)
            assert part, "the browser has ended"
            self._buffer += part
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        told = message.get("params", {})
        match message.get("method"):
            case "Page.loadEventFired":
                self._loaded = True
            case "Runtime.consoleAPICalled" | "Runtime.exceptionThrown" | "Log.entryAdded":
                self.messages.append(json.dumps(told))
            case "Network.requestWillBeSent":
                address = told["request"]["url"]
                if not address.startswith("data:"):
                    self.requests.append(address)
            case "Network.loadingFailed":
                self.failures.append(told["errorText"])
        return message


@contextlib.contextmanager
def browser(folder: Path) -> Iterator[Page]:
    """A browser with an empty page, ended on leaving.

    Args:
      folder: an empty one, for its profile and log.
    """
    assert PROGRAM, MISSING
    flags = [*_FLAGS, f"--user-data-dir={folder}/profile", "--host-resolver-rules=MAP * ~NOTFOUND"]
    if os.geteuid() == 0:
        flags.append("--no-sandbox")  # which root cannot use
    ours = [*os.pipe(), *os.pipe()]
    # Away from 3 and 4, which are the browser's ends.
    ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ours]
    for end in ours:
        os.close(end)
    commands, write, read, answers = ends
    process = os.posix_spawn(
        PROGRAM,
        [PROGRAM, *flags],
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 2, str(folder / "log"), os.O_WRONLY | os.O_CREAT, 0o600),
            (os.POSIX_SPAWN_DUP2, commands, 3),
            (os.POSIX_SPAWN_DUP2, answers, 4),
        ],
        setpgroup=0,
    )
    os.close(commands)
    os.close(answers)
    try:
        yield Page(write, read)
    finally:
        os.killpg(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(write)
        os.close(read)
