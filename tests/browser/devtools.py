# SPDX-License-Identifier: Apache-2.0
"""Chromium without a window, driven by its DevTools protocol over a pipe (--remote-debugging-pipe)."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


def program():
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    def __init__(self, user=None):
        """`user`: the number of another user to run it as."""
        self.profile = tempfile.mkdtemp(prefix="millstream-browser-")
        if user is not None:
            os.chown(self.profile, user, user)
        commands, self._out = os.pipe()
        self._in, answers = os.pipe()
        flags = ["--headless=new", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu", "--hide-scrollbars", "--disable-extensions",
                 "--disable-background-networking", "--disable-dev-shm-usage", "--force-color-profile=srgb", f"--user-data-dir={self.profile}"]
        if os.geteuid() == 0:
            flags.append("--no-sandbox")  # the sandbox refuses to run as root
        # The protocol is spoken on descriptors 3 and 4. (dash only knows descriptors of one digit.)
        script = f'exec "$0" "$@" 3<&{commands} 4>&{answers}'
        another = {} if user is None else {"user": user, "group": user, "extra_groups": [], "cwd": self.profile,
                                           "env": {**os.environ, "HOME": self.profile}}
        self.process = subprocess.Popen(["bash", "-c", script, program(), *flags, "about:blank"], pass_fds=(commands, answers),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **another)
        os.close(commands)
        os.close(answers)
        self._buffer, self._next = b"", 0
        self.events = []

    def call(self, method, session=None, timeout=60, **params):
        self._next += 1
        message = {"id": self._next, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        deadline = time.time() + timeout
        while True:
            answer = self._read(deadline)
            if answer.get("id") == self._next:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def _read(self, deadline):
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0, deadline - time.time()))
            if not ready:
                raise TimeoutError("the browser does not answer")
            piece = os.read(self._in, 1 << 16)
            if not piece:
                raise RuntimeError("the browser has ended")
            self._buffer += piece
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self._in)
        os.close(self._out)
        shutil.rmtree(self.profile, ignore_errors=True)


class Page:
    """A tab of its own; remembers what its console and its requests complain about."""

    def __init__(self, browser, width=1200, height=900, dark=False, phone=False):
        self.browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2 if phone else 1, mobile=phone)
        self.prefer("dark" if dark else "light")

    def prefer(self, scheme):
        """What the system says about light and dark; may change while the page is open."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme},
                                                          {"name": "prefers-reduced-motion", "value": "reduce"}])

    def press(self, key, code=0):
        """A key of the keyboard: "Tab", "Enter", "ArrowLeft"."""
        text = {"Enter": "\r", " ": " "}.get(key)
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code or {"Tab": 9, "Enter": 13}.get(key, 0),
                      **({"text": text} if text and kind == "keyDown" else {}))

    def texts(self, selector):
        return self.run(f"[...document.querySelectorAll({selector!r})].map((e) => e.textContent)")

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def open(self, url):
        self.call("Page.navigate", url=url)
        self.until("document.readyState === 'complete' && location.protocol === 'http:'")

    def reload(self):
        """Loads the page anew; returns when the new document is there, never with the old one."""
        self.run("window.isOldDocument = true")
        self.call("Page.reload")
        self.until("!window.isOldDocument && document.readyState === 'complete'")

    def run(self, script):
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def until(self, script, seconds=60):
        """The first true value of an expression."""
        deadline = time.time() + seconds
        while True:
            value = self.run(script)
            if value:
                return value
            assert time.time() < deadline, f"never true: {script}; complaints: {self.complaints()}"
            time.sleep(0.1)

    def complaints(self):
        found = []
        for event in self.browser.events:
            if event.get("sessionId") != self.session:
                continue
            method, params = event["method"], event["params"]
            if method == "Runtime.exceptionThrown" or (method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert")):
                found.append(params)
            if method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append(params["entry"])
        return found

    def hosts(self):
        """Everybody who was asked for something."""
        urls = [e["params"]["request"]["url"] for e in self.browser.events
                if e.get("sessionId") == self.session and e["method"] == "Network.requestWillBeSent"]
        return {url.split("/")[2] for url in urls if url.startswith("http")}

    def screenshot(self, path, clip=None):
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = clip or {"x": 0, "y": 0, "width": size["width"], "height": size["height"]}
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip={**clip, "scale": 1})["data"]
        with open(path, "wb") as f:
            f.write(base64.b64decode(data))
