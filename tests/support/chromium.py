"""A headless Chromium that is told what to do over its DevTools protocol."""

import base64
import itertools
import json
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

import aiohttp
import anyio
import pytest

PROGRAM: Final = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
PATIENCE_SECONDS: Final = 60.0
FLAGS: Final = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--no-first-run", "--disable-extensions", "--remote-debugging-port=0", "about:blank"),
)
KEYS: Final[Mapping[str, int]] = {
    "Enter": 13, "Escape": 27, "Home": 36, "End": 35, "Tab": 9,
    "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40,
}  # fmt: skip


class Tab:
    """The one tab of a Chromium."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self.errors: list[str] = []

    async def ask(self, method: str, **parameters: Any) -> Any:
        """Return the result of a command of the protocol."""
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        with anyio.fail_after(PATIENCE_SECONDS):
            while True:
                answer = await self._socket.receive_json()
                if answer.get("method") == "Runtime.exceptionThrown":
                    details = answer["params"]["exceptionDetails"]
                    self.errors.append(
                        details.get("exception", {}).get("description", str(details))
                    )
                if answer.get("id") == number:
                    assert "error" not in answer, answer
                    return answer["result"]

    async def open(self, address: str) -> None:
        """Load an address."""
        await self.ask("Page.navigate", url=address)
        await self.until("document.readyState === 'complete'")

    async def value(self, expression: str) -> Any:
        """Return the value of an expression."""
        found = await self.ask(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    async def until(self, expression: str) -> None:
        """Wait until an expression holds."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not await self.value(f"Boolean({expression})"):
            assert time.monotonic() < deadline, f"{expression} does not hold; {self.errors}"
            await anyio.sleep(0.05)

    async def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        for key in keys:
            code = KEYS.get(key, ord(key[0].upper()))
            text = {} if key in KEYS else {"text": key}
            if key == "Enter":
                text = {"text": "\r"}
            about = {"key": key, "windowsVirtualKeyCode": code}
            await self.ask("Input.dispatchKeyEvent", type="keyDown", **about, **text)
            await self.ask("Input.dispatchKeyEvent", type="keyUp", **about)

    async def point(self, x: float, y: float) -> None:
        """Move the pointer there."""
        await self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    async def online(self, *, connected: bool) -> None:
        """Connect the tab to its network, or cut it off."""
        await self.ask("Network.enable")
        speed = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        await self.ask("Network.emulateNetworkConditions", offline=not connected, **speed)

    async def picture(self, path: Path) -> None:
        """Write a picture of the visible part."""
        found = await self.ask("Page.captureScreenshot", format="png")
        await anyio.Path(path).write_bytes(base64.b64decode(found["data"]))


@asynccontextmanager
async def chromium(
    directory: Path, width: int = 1280, height: int = 900, *flags: str
) -> AsyncIterator[Tab]:
    """Run a Chromium with its profile in a directory; skips the test if there is none."""
    if PROGRAM is None:
        pytest.skip("no Chromium found; apt-get install chromium")
    profile = directory / "profile"
    with _running(PROGRAM, profile, f"--window-size={width},{height}", *flags):
        port = await _port_of(profile)
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
                tabs = json.loads(await answer.text())
            address = next(each["webSocketDebuggerUrl"] for each in tabs if each["type"] == "page")
            async with session.ws_connect(address, max_msg_size=0) as socket:
                tab = Tab(socket)
                await tab.ask("Page.enable")
                await tab.ask("Runtime.enable")
                yield tab


@contextmanager
def _running(program: str, profile: Path, *flags: str) -> Iterator[None]:
    process = subprocess.Popen(
        [program, *FLAGS, *flags, f"--user-data-dir={profile}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait()


async def _port_of(profile: Path) -> int:
    """Return the port on which a Chromium with this profile listens, once it does."""
    with anyio.fail_after(PATIENCE_SECONDS):
        while True:
            written = profile / "DevToolsActivePort"
            lines = written.read_text().splitlines() if written.exists() else []
            if len(lines) > 1:
                return int(lines[0])
            await anyio.sleep(0.05)
