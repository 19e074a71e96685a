"""A daemon with a folder of bundles and a host for them, and a server that bundles ask."""

import contextlib
import http.server
import json
import os
import threading

from lib.system import PATIENCE, Scratch, binary, clean_environment, eventually


class Server(http.server.ThreadingHTTPServer):
    """A server on loopback whose paths select its behaviour. It records its requests."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked = []
        self.items = []
        self.huge_bytes = 0
        self.friend = ""
        self.pieces = threading.Semaphore(0)
        self.end = threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def host(self):
        return f"127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request, client_address):
        pass

    def count(self, path):
        return sum(1 for line in self.asked if line[1].startswith(path))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format, *args):
        pass

    def answer(self, status, value=None, headers=()):
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        for name, text in (("Content-Type", "application/json"), *headers):
            self.send_header(name, text)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self):
        """The body of the request; `/slow` reads as many pieces as the test releases."""
        length = int(self.headers.get("Content-Length", 0))
        if not self.path.startswith("/slow"):
            return self.rfile.read(length)
        parts = []
        while length > 0:
            self.server.pieces.acquire(timeout=PATIENCE)
            parts.append(self.rfile.read(min(length, 1 << 19)))
            length = length - len(parts[-1]) if parts[-1] else 0
        return b"".join(parts)

    def act(self):
        server = self.server
        body = self.body()
        server.asked.append((self.command, self.path, body, self.headers.get("Authorization")))
        if self.path.startswith("/never"):
            server.end.wait()
        elif self.path.startswith("/huge"):
            self.send_response(200)
            self.send_header("Connection", "close")
            self.end_headers()
            try:
                for _ in range(1 << 14):
                    self.wfile.write(b"x" * (1 << 16))
                    server.huge_bytes += 1 << 16
            except OSError:
                pass
            self.close_connection = True
        elif self.path.startswith("/fails"):
            self.answer(500, {"error": {"text": "It is tired"}})
        elif self.path.startswith("/away"):
            self.answer(302, headers=(("Location", "http://127.0.0.2:1/"),))
        elif self.path.startswith("/private"):
            is_known = self.headers.get("Authorization") == "Bearer s3cret"
            self.answer(200 if is_known else 401, {"items": [is_known]})
        elif self.path.startswith("/elsewhere"):
            self.answer(302, headers=(("Location", f"http://{server.friend}/private"),))
        elif self.path.startswith("/moved"):
            self.answer(307, headers=(("Location", "/items"),))
        elif self.path.startswith("/forbidden"):
            self.answer(403)
        elif self.path.startswith(("/album", "/slow")):
            self.answer(201, {"id": 1})
        elif self.command == "POST":
            server.items.append(json.loads(body)["text"])
            self.answer(201, {"id": len(server.items)})
        else:
            tag = f'"{len(server.items)}"'
            if self.headers.get("If-None-Match") == tag:
                self.answer(304, headers=(("ETag", tag),))
            else:
                self.answer(200, {"items": server.items}, headers=(("ETag", tag),))

    do_GET = do_POST = do_PUT = do_DELETE = act


class Stage(Scratch):
    """A daemon, a folder of bundles, and a host for them.

    With `absence_seconds`, the host keeps widgets for so long that their file no longer has. A script that
    brings them back does not depend on the speed of the machine then."""

    def __init__(self, absence_seconds=None):
        super().__init__()
        self.absence_seconds = absence_seconds
        self.bundles = os.path.join(self.folder, "bundles")
        self.host_process = None

    def host(self, *arguments, env=None):
        env = {"HOME": self.folder, **(env or {})}
        if self.absence_seconds is not None:
            env["WIDGETD_TEST_ABSENCE_SECONDS"] = str(self.absence_seconds)
        self.host_process = self.start(
            [binary("widgetd-host"), "--socket", self.socket, "--bundles",
             self.bundles, *arguments], env=clean_environment(**env))
        return self.host_process

    def put(self, name, bundle, text=None):
        """Writes a bundle's file into its folder, atomically."""
        folder = os.path.join(self.bundles, name)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, ".new"), "w", encoding="utf-8") as file:
            file.write(text if text is not None else json.dumps(bundle, indent=1))
        os.rename(os.path.join(folder, ".new"), os.path.join(folder, "bundle.json"))
        return folder

    def remove(self, name):
        """Removes a bundle on purpose. The host keeps the widgets of a missing folder for a while."""
        result = self.ctl("bundle", "rm", name, "--force", "--dir", self.bundles)
        assert result.returncode == 0, result.stderr

    def widget(self, name):
        result = self.ctl("get", name, "-o", "json")
        return json.loads(result.stdout) if result.returncode == 0 else None

    def data(self, name):
        return (self.widget(name) or {}).get("data", {})

    def status(self, name, action):
        return self.data(name).get("status", {}).get(action, {})

    def becomes(self, name, key, value):
        return eventually(lambda: self.data(name).get(key) == value)

    def ends(self, name, action, state):
        """Waits until an action has this status, and returns it."""
        return eventually(lambda: (lambda s: s if s.get("state") == state else None)(
            self.status(name, action))) or self.status(name, action)

    def ids(self):
        return [w["id"] for w in json.loads(self.ctl("list", "-o", "json").stdout)["widgets"]]

    def kinds(self):
        return [k["name"] for k in json.loads(self.ctl("kinds", "-o", "json").stdout)["kinds"]]


def bundle(name, kind, permissions=None, version="1.0.0", widgets=None):
    return {"bundle": name, "format": 1, "version": version, "permissions": permissions or {},
            "kinds": {name: kind}, "widgets": widgets or {name: {"kind": name}}}


def running(marker):
    """The processes that have this among their arguments."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                if marker.encode() in file.read().split(b"\0"):
                    found.append(int(entry))
        except OSError:
            continue
    return found


def is_running(pid):
    """Whether a process runs. A zombie does not count."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(") ", 1)[1][0] not in "ZX"
    except OSError:
        return False


def children_of(pid):
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        # A thread can end meanwhile.
        with contextlib.suppress(OSError), open(
                f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
            found += [int(word) for word in file.read().split()]
    return found
