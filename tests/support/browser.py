"""A page in a real headless Chromium, by the DevTools protocol: what it holds, what it complains of, how it looks.

async with open_page(path, dark=True) as page:
    await page.evaluate("document.title")
    assert page.complaints == []
"""

import base64
import contextlib
import itertools
import json
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp

from tests.support.chromium import chromium
from tests.support.wait import NotYet, wait_until

START_SECONDS = 60
_FLAGS = (
    "--headless",
    "--no-sandbox",  # the page is ours, and root has no sandbox
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--remote-debugging-port=0",
    "--remote-allow-origins=*",
)


class Page:
    """A page that was loaded.

    Attributes:
        complaints: errors and warnings of the console, exceptions, refusals of the page's own security policy.
        requests: every address that it asked for, its own included.
    """

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._loaded = False
        self.complaints: list[str] = []
        self.requests: list[str] = []

    async def open(self, url: str, *, dark: bool, width: int, height: int) -> None:
        """Load an address and wait until it is there."""
        for domain in ("Page", "Runtime", "Log", "Network"):
            await self.call(f"{domain}.enable")
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.call("Emulation.setEmulatedMedia", features=[scheme])
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        await self.call("Emulation.setDeviceMetricsOverride", **size)
        await self.call("Page.navigate", url=url)
        while not self._loaded:
            self._note(await self._socket.receive_json(timeout=START_SECONDS))

    async def evaluate(self, script: str) -> Any:
        """Return what an expression gives."""
        told = await self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    async def screenshot(self) -> bytes:
        """Return the whole page as PNG."""
        told = await self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        return base64.b64decode(told["data"])

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its result; what happens meanwhile is noted."""
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": params})
        while True:
            message = await self._socket.receive_json(timeout=START_SECONDS)
            if message.get("id") == number:
                assert "error" not in message, message["error"]
                result: dict[str, Any] = message["result"]
                return result
            self._note(message)

    def _note(self, event: dict[str, Any]) -> None:
        params = event.get("params", {})
        match event.get("method"):
            case "Page.loadEventFired":
                self._loaded = True
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            case "Runtime.exceptionThrown":
                self.complaints.append(json.dumps(params["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "warning", "assert"):
                self.complaints.append(json.dumps(params["args"]))
            case "Log.entryAdded" if params["entry"]["level"] in ("error", "warning"):
                self.complaints.append(params["entry"]["text"])


@contextlib.asynccontextmanager
async def open_page(path: Path, *, dark: bool = False, width: int = 1100, height: int = 900) -> AsyncIterator[Page]:
    """Load a file in a browser of its own; it ends with the block."""
    with _running() as port:
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
                target = next(t for t in await answer.json() if t["type"] == "page")
            async with session.ws_connect(target["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                page = Page(socket)
                await page.open(path.as_uri(), dark=dark, width=width, height=height)
                yield page


@contextlib.contextmanager
def _running() -> Any:
    """Run a browser; yields the port that it listens on."""
    browser = chromium()
    with tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as folder:
        words = [str(browser.program), *_FLAGS, f"--user-data-dir={folder}", "about:blank"]
        env = {"HOME": folder, "PATH": "/usr/bin:/bin", **browser.environment}
        log = Path(folder) / "log"
        with log.open("wb") as sink, subprocess.Popen(words, stdout=sink, stderr=sink, env=env) as process:
            try:
                yield wait_until("Chromium listens", _port_of(Path(folder), process, log), within=START_SECONDS)
            finally:
                process.kill()


def _port_of(folder: Path, process: "subprocess.Popen[bytes]", log: Path) -> Callable[[], int]:
    def look() -> int:
        if process.poll() is not None:
            raise AssertionError(f"Chromium ended with {process.returncode}: {log.read_text()[-2000:]}")
        try:
            return int((folder / "DevToolsActivePort").read_text().split()[0])
        except (OSError, IndexError, ValueError) as error:
            raise NotYet(f"{error}: {log.read_text()[-500:]}") from error

    return look
