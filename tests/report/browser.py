"""A headless Chromium, spoken to over its DevTools protocol: no more than the tests of reports need."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_SWITCHES = (
    "--headless=new",
    "--no-sandbox",  # tests may run as root, in a container
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-address=127.0.0.1",
    "--remote-debugging-port=0",
    "--force-color-profile=srgb",
)


def program() -> str | None:
    """Where Chromium is, or None."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


class Browser:
    """One tab: what it was asked to load, and what it complained of, is kept."""

    def __init__(self, socket: Any) -> None:
        self.socket = socket
        self.number = 0
        self.requests: list[str] = []
        self.complaints: list[str] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the protocol, and its answer."""
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv(timeout=120))
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return dict(message["result"])
            self._note(message)

    def _note(self, message: dict[str, Any]) -> None:
        method, about = message.get("method"), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"][:200])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(about["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning", "assert"):
            self.complaints.append(json.dumps(about["args"]))
        elif method == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.complaints.append(json.dumps(about["entry"]))

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        done = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in done:
            raise RuntimeError(json.dumps(done["exceptionDetails"]))
        return done["result"].get("value")

    def open(self, path: Path, *, scripts: bool = True, width: int = 1280, height: int = 900) -> None:
        """Open a file, and wait until its pictures are drawn."""
        self.requests.clear()
        self.complaints.clear()
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call("Page.navigate", url=path.as_uri())
        wanted = (
            "document.documentElement?.dataset.ready === 'yes'" if scripts else "document.readyState === 'complete'"
        )
        here = f"location.href === {json.dumps(path.as_uri())} && {wanted}"
        for _ in range(1200):
            with contextlib.suppress(RuntimeError):  # the old page goes while it is asked
                if self.run(here):
                    return
            time.sleep(0.1)
        raise TimeoutError(f"{path} is not ready: {self.complaints}")

    def type(self, selector: str, text: str) -> None:
        """Put the focus on a field, and type."""
        self.run(f"document.querySelector({json.dumps(selector)}).focus()")
        self.call("Input.insertText", text=text)

    def screenshot(self, path: Path, *, top: int = 0, height: int | None = None, width: int = 1280) -> None:
        """A picture of the page, or of a part of it."""
        whole = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": top, "width": width, "height": height or whole["height"] - top, "scale": 1}
        made = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(made["data"]))

    def pdf(self) -> bytes:
        """The page as it prints."""
        return base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True)["data"])


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """A browser with a profile of its own, gone afterwards."""
    from websockets.sync.client import connect

    found = program()
    if found is None:
        raise FileNotFoundError("chromium")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [found, *_SWITCHES, f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": profile},
        )
        try:
            with connect(
                _tab(Path(profile), process), max_size=None, open_timeout=60, compression=None, ping_interval=None
            ) as socket:
                yield Browser(socket)
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _tab(profile: Path, process: subprocess.Popen[bytes]) -> str:
    """The address of the first tab, once the browser has said on which port of this machine it listens."""
    import urllib.request

    port = profile / "DevToolsActivePort"
    for _ in range(600):
        if process.poll() is not None:
            raise RuntimeError(f"chromium ended with {process.returncode}")
        if port.exists() and port.read_text().strip():
            number = port.read_text().split()[0]
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            with opener.open(f"http://127.0.0.1:{number}/json/list", timeout=60) as answer:
                tabs = [t for t in json.load(answer) if t["type"] == "page"]
            if tabs:
                return str(tabs[0]["webSocketDebuggerUrl"])
        time.sleep(0.1)
    raise TimeoutError("chromium did not say where it listens")
