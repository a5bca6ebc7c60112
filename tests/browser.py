"""Headless Chromium, asked through the pipe that it offers to debuggers: no driver, no port, no network."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import subprocess
import tempfile
import time
from pathlib import Path

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-extensions",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-pipe")  # fmt: skip


class Browser:
    """One process; `with Browser(program) as browser: page = browser.open(file)`."""

    def __init__(self, program: str, patience: float = 120):
        self.patience = patience
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        asks, self._write = os.pipe()
        self._read, answers = os.pipe()

        def join() -> None:  # the browser listens on 3 and speaks on 4
            high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (asks, answers)]  # neither is in the other's way
            for fd, wanted in zip(high, (3, 4)):
                os.dup2(fd, wanted)

        self._process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={self._profile.name}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            close_fds=False,
            preexec_fn=join,
            start_new_session=True,
        )
        os.close(asks)
        os.close(answers)
        self._rest, self._number = b"", 0
        self.events: list[dict] = []

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.call("Browser.close")
            self._process.wait(20)
        except (OSError, subprocess.TimeoutExpired, TimeoutError):
            self._process.kill()
            self._process.wait()
        os.close(self._write)
        os.close(self._read)
        self._profile.cleanup()

    def call(self, method: str, session: str | None = None, **values: object) -> dict:
        self._number += 1
        asked = {"id": self._number, "method": method, "params": values} | ({"sessionId": session} if session else {})
        data = json.dumps(asked).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data) :]
        until = time.monotonic() + self.patience
        while True:
            said = self._said(until, method)
            if said.get("id") == self._number:
                if "error" in said:
                    raise RuntimeError(f"{method}: {said['error']['message']}")
                return said["result"]
            self.events.append(said)

    def _said(self, until: float, method: str) -> dict:
        parts = [self._rest]
        while b"\0" not in parts[-1]:
            if not select.select([self._read], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError(f"{method}: the browser said nothing for {self.patience} s")
            if not (piece := os.read(self._read, 1 << 20)):
                raise OSError(f"{method}: the browser has gone")
            parts.append(piece)
        message, _, self._rest = b"".join(parts).partition(b"\0")
        return json.loads(message)

    def open(self, file: Path, width: int = 1280, dark: bool = False, hash: str = "", first: str = "") -> Page:
        """At `hash`; `first` is run before the scripts of the page."""
        return Page(self, file, width, dark, hash, first)


class Page:
    """One page, with all that it asked the network for and all that went wrong."""

    def __init__(self, browser: Browser, file: Path, width: int, dark: bool, hash: str, first: str):
        self._browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for part in ("Page", "Runtime", "Network", "Log"):
            self._call(f"{part}.enable")
        self.address = file.as_uri()
        self.show(width, dark)
        self._call("Page.addScriptToEvaluateOnNewDocument", source=first)
        self._call("Page.navigate", url=self.address + hash)
        self.run(
            "new Promise(function (r) { if (document.readyState === 'complete') r(); else addEventListener('load', r); })"
        )

    def _call(self, method: str, **values: object) -> dict:
        return self._browser.call(method, self._session, **values)

    def show(self, width: int, dark: bool) -> None:
        """At this width, in this colour scheme, without the animations that a test would have to wait for."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])

    def run(self, script: str) -> object:
        """What a script makes; a promise is waited for."""
        done = self._call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in done:
            about = done["exceptionDetails"]
            raise RuntimeError(about.get("exception", {}).get("description", about["text"]))
        return done["result"].get("value")

    def printed(self) -> bytes:
        """The page as PDF."""
        return base64.b64decode(self._call("Page.printToPDF", printBackground=True)["data"])

    def picture(self) -> bytes:
        """The first screen as PNG."""
        return base64.b64decode(self._call("Page.captureScreenshot")["data"])

    def _events(self, method: str) -> list[dict]:
        self.run("0")  # what was said before has arrived
        mine = (event for event in self._browser.events if event.get("sessionId") == self._session)
        return [event["params"] for event in mine if event["method"] == method]

    @property
    def asked(self) -> list[str]:
        """Addresses that left the page."""
        sent = [event["request"]["url"] for event in self._events("Network.requestWillBeSent")]
        return [url for url in sent if url.partition("#")[0] != self.address]

    @property
    def errors(self) -> list[str]:
        thrown = [event["exceptionDetails"]["text"] for event in self._events("Runtime.exceptionThrown")]
        said = [str(event["args"]) for event in self._events("Runtime.consoleAPICalled") if event["type"] == "error"]
        logged = [
            event["entry"]["text"] for event in self._events("Log.entryAdded") if event["entry"]["level"] == "error"
        ]
        return thrown + said + logged
