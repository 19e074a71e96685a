"""A server of posts for bundles that fetch and publish."""

import http.server
import json
import threading

from lib.system import PATIENCE


class Posts(http.server.ThreadingHTTPServer):
    """A server of posts; the test decides when and how it answers."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.posts = [
            {"id": 1, "title": "Café opens at eight", "author": "ann"},
            {"id": 2, "title": "Bicycle found", "author": "me"},
            {"id": 3, "title": "Apples, take some", "author": "me"},
        ]
        self.asked = []
        self.fails = False
        self.may_answer = threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def host(self):
        return f"127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request, client_address):
        pass

    def count(self, method):
        return sum(1 for asked in self.asked if asked[0] == method)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format, *args):
        pass

    def answer(self, status, value=None):
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def act(self):
        server = self.server
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        server.asked.append((self.command, self.path, body))
        server.may_answer.wait(PATIENCE)
        if server.fails:
            self.answer(500, {"error": {"message": "the database is asleep"}})
        elif self.command == "GET":
            self.answer(200, {"posts": server.posts})
        elif self.command == "POST":
            server.posts.append({"id": 9, **json.loads(body)})
            self.answer(201, server.posts[-1])
        else:
            number = self.path.rsplit("/", 1)[-1]
            server.posts[:] = [post for post in server.posts if str(post["id"]) != number]
            self.answer(204)

    do_GET = do_POST = do_DELETE = act
