"""A headless Chromium that is told what to do over its DevTools protocol."""

import atexit
import base64
import functools
import itertools
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import aiohttp
import anyio
import pytest

PROGRAM: Final = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
WITHOUT: Final = "no Chromium found; apt-get install chromium"
PATIENCE_SECONDS: Final = 60.0
WIDTH, HEIGHT = 1280, 900
FLAGS: Final = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--no-first-run", "--disable-extensions", "--remote-debugging-port=0", "about:blank"),
)
KEYS: Final[Mapping[str, int]] = {
    "Enter": 13, "Escape": 27, "Home": 36, "End": 35, "Tab": 9,
    "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40,
}  # fmt: skip


class CutOffError(Exception):
    """The tab went to another page while it worked a command out."""


class Tab:
    """The one tab of a Chromium."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self.errors: list[str] = []
        self.logged: list[str] = []
        """Errors that the browser wrote to its console, with the domain Log enabled."""

    async def ask(self, method: str, **parameters: Any) -> Any:
        """Return the result of a command of the protocol; raises CutOffError."""
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
                if answer.get("method") == "Log.entryAdded":
                    entry = answer["params"]["entry"]
                    if entry["level"] == "error":
                        self.logged.append(f"{entry['text']} {entry.get('url', '')}")
                if answer.get("id") == number:
                    if "navigated" in answer.get("error", {}).get("message", ""):
                        raise CutOffError(answer)
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
        """Wait until an expression holds, on this page or on one that the tab goes to."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not await self._holds(expression):
            assert time.monotonic() < deadline, f"{expression} does not hold; {self.errors}"
            await anyio.sleep(0.05)

    async def _holds(self, expression: str) -> bool:
        try:
            return bool(await self.value(f"Boolean({expression})"))
        except CutOffError:
            return False

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
async def chromium() -> AsyncIterator[Tab]:
    """Open a tab with cookies and a cache of its own.

    Without Chromium the test is skipped; with GANG_TESTS_BROWSER, as in CI, it fails. All tests of
    a process share one Chromium: starting it takes longer than most of them.
    """
    if PROGRAM is None:
        (pytest.fail if os.environ.get("GANG_TESTS_BROWSER") else pytest.skip)(WITHOUT)
    port, browser_path = await _listening(_profile(PROGRAM))
    devtools = f"ws://127.0.0.1:{port}"
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{devtools}{browser_path}") as socket,
    ):
        browser = Tab(socket)
        made = await browser.ask("Target.createBrowserContext", disposeOnDetach=True)
        target = await browser.ask(
            "Target.createTarget", url="about:blank", width=WIDTH, height=HEIGHT, **made
        )
        address = f"{devtools}/devtools/page/{target['targetId']}"
        async with session.ws_connect(address, max_msg_size=0) as own:
            tab = Tab(own)
            await tab.ask("Page.enable")
            await tab.ask("Runtime.enable")
            await tab.ask("Emulation.setFocusEmulationEnabled", enabled=True)
            yield tab
        await browser.ask("Target.disposeBrowserContext", **made)


@functools.cache
def _profile(program: str) -> Path:
    """Return the profile of the one Chromium, which ends with this process."""
    profile = Path(tempfile.mkdtemp(prefix="chromium-"))
    process = subprocess.Popen(
        [program, *FLAGS, f"--user-data-dir={profile}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def end() -> None:
        process.terminate()
        process.wait()
        shutil.rmtree(profile, ignore_errors=True)

    atexit.register(end)
    return profile


async def _listening(profile: Path) -> tuple[int, str]:
    """Return the port and the path at which a Chromium with this profile answers, once it does."""
    with anyio.fail_after(PATIENCE_SECONDS):
        while True:
            written = profile / "DevToolsActivePort"
            lines = written.read_text().splitlines() if written.exists() else []
            if len(lines) > 1:
                return int(lines[0]), lines[1]
            await anyio.sleep(0.05)
