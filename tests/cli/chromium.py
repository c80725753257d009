# SPDX-License-Identifier: MIT
"""A headless Chromium, driven over its debugging pipe: no network, no package but Python's own."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


def find():
    """The program, or None."""
    names = [os.environ.get("CORUN_CHROMIUM"), "chromium", "chromium-browser", "google-chrome", "headless_shell"]
    return next((path for path in (shutil.which(name) for name in names if name) if path), None)


class Chromium:
    """One page. Everything that it complains about is in `complaints`, everything that it asks for in `requests`."""

    def __init__(self, program):
        self.folder = tempfile.mkdtemp(prefix="corun-chromium-")
        to_read, self.to_chromium = os.pipe()
        self.from_chromium, to_write = os.pipe()
        os.set_blocking(self.from_chromium, False)

        def pipes(): # the protocol's ends are 3 and 4, whatever numbers they had
            first, second = os.dup(to_read), os.dup(to_write)
            first, second = (os.dup(first), os.dup(second)) if first < 5 or second < 5 else (first, second)
            os.dup2(first, 3)
            os.dup2(second, 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage",
             "--disable-background-networking", "--hide-scrollbars", "--force-color-profile=srgb", "--remote-debugging-pipe",
             f"--user-data-dir={self.folder}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False, preexec_fn=pipes,
            env=dict(os.environ, HOME=self.folder))
        os.close(to_read)
        os.close(to_write)
        self.buffer, self.number, self.session, self.events = b"", 0, None, []
        self.complaints, self.requests = [], []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(domain + ".enable")

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.to_chromium)
        os.close(self.from_chromium)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _message(self, seconds):
        until = time.monotonic() + seconds
        while b"\0" not in self.buffer:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.from_chromium], [], [], left)[0]:
                raise TimeoutError("chromium does not answer")
            data = os.read(self.from_chromium, 1 << 20)
            if not data:
                raise EOFError(f"chromium ended with status {self.process.wait()}")
            self.buffer += data
        text, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(text)

    def _note(self, message):
        kind, what = message["method"], message.get("params", {})
        self.events.append(kind)
        if kind == "Runtime.exceptionThrown" or kind == "Runtime.consoleAPICalled" or kind == "Log.entryAdded":
            self.complaints.append(json.dumps(what))
        elif kind == "Network.requestWillBeSent":
            self.requests.append(what["request"]["url"])

    def ask(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self.to_chromium, data):]
        while True:
            message = self._message(60)
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]
            if "method" in message:
                self._note(message)

    def open(self, path, width, height, dark=False, media="screen"):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.ask("Emulation.setEmulatedMedia", media=media,
                 features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.events.clear()
        self.ask("Page.navigate", url="file://" + os.path.abspath(path))
        while "Page.loadEventFired" not in self.events:
            message = self._message(60)
            if "method" in message:
                self._note(message)

    def evaluate(self, expression):
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    def screenshot(self, box):
        """PNG of a part of the page; box: x, y, width, height."""
        answer = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=dict(box, scale=1))
        return base64.b64decode(answer["data"])

    def pdf(self):
        return base64.b64decode(self.ask("Page.printToPDF", printBackground=True)["data"])
