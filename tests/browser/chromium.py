"""A real browser without a window, spoken to through a pipe in its own protocol: no driver, no port, no other package."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# The protocol is spoken on the descriptors 3 and 4 of the browser, whatever they are called here.
_START = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execv(sys.argv[3], sys.argv[3:])"
)
_SHIFTS = (
    "window.shifts = 0; new PerformanceObserver(list => list.getEntries().forEach(entry => window.shifts += entry.value))"
    ".observe({type: 'layout-shift', buffered: true})"
)


@dataclass
class Page:
    """A page as it was shown.

    Attributes:
        requests: The addresses that were fetched.
        complaints: What the browser said in its console, exceptions included.
    """

    _browser: Browser
    _session: str
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def ask(self, script: str) -> Any:
        """Return the value of an expression on the page."""
        answer = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def picture(self, path: Path) -> None:
        """Write what the page looks like from top to bottom, as PNG."""
        shot = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def _call(self, method: str, **parameters: object) -> dict[str, Any]:
        return self._browser.call(method, session=self._session, **parameters)


class Browser:
    """Chromium, which one process at a time speaks to."""

    def __init__(self, to: int, back: int) -> None:
        self._to, self._back = to, os.fdopen(back, "rb")
        self._number = 0
        self._held = b""
        self._pages: dict[str, Page] = {}

    @contextmanager
    def show(self, address: str, *, width: int, dark: bool, height: int = 800) -> Iterator[Page]:
        """Show a page in a window of that width, to somebody who likes it light or dark, and wait until it is complete."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self._pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable", session=session)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", session=session, features=scheme)
        self.call(
            "Emulation.setDeviceMetricsOverride",
            session=session,
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self.call("Page.addScriptToEvaluateOnNewDocument", session=session, source=_SHIFTS)
        self.call("Page.navigate", session=session, url=address)
        page.ask(
            "document.readyState === 'complete' || new Promise(done => addEventListener('load', () => done(true)))"
        )
        page.ask("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
        try:
            yield page
        finally:
            self.call("Target.closeTarget", targetId=target)
            del self._pages[session]

    def call(self, method: str, *, session: str | None = None, **parameters: object) -> dict[str, Any]:
        """Call a method of the protocol, and take note of what happens until it answers."""
        self._number += 1
        message: dict[str, object] = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._number:
            self._note(answer)
        assert "error" not in answer, f"{method}: {answer['error']}"
        result: dict[str, Any] = answer["result"]
        return result

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._held:
            more = self._back.read1(1 << 16)
            assert more, "the browser has ended"
            self._held += more
        message, _, self._held = self._held.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found

    def _note(self, event: dict[str, Any]) -> None:
        page = self._pages.get(event.get("sessionId", ""))
        if page is None:
            return
        what, told = event["method"], event["params"]
        if what == "Network.requestWillBeSent":
            page.requests.append(told["request"]["url"])
        elif what == "Log.entryAdded":
            page.complaints.append(told["entry"]["text"])
        elif what in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown"):
            page.complaints.append(json.dumps(told))


@contextmanager
def browser(program: str, directory: Path) -> Iterator[Browser]:
    """Start a browser with a profile of its own, and end it."""
    there, to = os.pipe()
    back, here = os.pipe()
    options = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-extensions",
        "--disable-sync",
        f"--user-data-dir={directory}",
        "--remote-debugging-pipe",
        "about:blank",
    ]
    with (directory / "browser.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", _START, str(there), str(here), program, *options],
            pass_fds=(there, here),
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    os.close(there)
    os.close(here)
    held = Browser(to, back)
    try:
        yield held
        held.call("Browser.close")
        process.wait(timeout=30)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        os.close(to)
        held._back.close()
