"""A minimal client of the daemon for the wire protocol: blocking, one call at a time."""

import os
import re
import socket
import struct

from lib.protobuf import ROOT, SCHEMA


def services():
    """The service of each method, from the .proto files."""
    folder = os.path.join(ROOT, "Protos", "widgetd", "v1")
    found = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            service = None
            for kind, word in re.findall(r"(?m)^ *(service|rpc) (\w+)", file.read()):
                service = word if kind == "service" else service
                if kind == "rpc":
                    found[word] = service
    return found


SERVICES = services()
REQUEST, RESPONSE, DATA = 1, 2, 3
REMOTE_CLOSED, REMOTE_OPEN = 1, 2


class Refused(Exception):
    """The daemon answered with an error."""

    def __init__(self, status):
        self.code = status.get("code", 0)
        self.message = status.get("message", "")
        self.reason = ""
        for detail in status.get("details", []):
            if detail.get("type_url", "").endswith("google.rpc.ErrorInfo"):
                self.reason = SCHEMA.decode("google.rpc.ErrorInfo", detail["value"]).get("reason", "")
        super().__init__(f"{self.reason} ({self.code}): {self.message}")


class Lost(Exception):
    """The connection ended or could not be made."""


class Connection:
    """One connection. With `timeout`, waiting longer than that for bytes raises TimeoutError."""

    def __init__(self, path, timeout=120.0):
        self.socket = socket.socket(socket.AF_UNIX)
        self.next_id = 1
        self.buffer = b""
        try:
            # Without a timeout it waits while the daemon's queue of connections is full.
            self.socket.connect(path)
            self.socket.settimeout(timeout)
        except (ConnectionError, FileNotFoundError) as error:
            self.socket.close()
            raise Lost(str(error)) from error

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def _exactly(self, count):
        while len(self.buffer) < count:
            try:
                more = self.socket.recv(1 << 16)
            except ConnectionError as error:
                raise Lost(str(error)) from error
            if not more:
                raise Lost("the daemon closed the connection")
            self.buffer += more
        result, self.buffer = self.buffer[:count], self.buffer[count:]
        return result

    def frame(self):
        """The next frame: stream, type, flags, data."""
        length, stream, kind, flags = struct.unpack(">IIBB", self._exactly(10))
        return stream, kind, flags, self._exactly(length)

    def open(self, method, request, flags=0):
        """Sends a request; returns its stream id."""
        service = SERVICES[method]
        envelope = SCHEMA.encode("ttrpc.v1.Request", {
            "service": f"widgetd.v1.{service}", "method": method,
            "payload": SCHEMA.encode(f"widgetd.v1.{method}Request", request)})
        stream, self.next_id = self.next_id, self.next_id + 2
        try:
            self.socket.sendall(
                struct.pack(">IIBB", len(envelope), stream, REQUEST, flags) + envelope)
        except ConnectionError as error:
            raise Lost(str(error)) from error
        return stream

    def call(self, method, **request):
        """Makes a unary call; returns the answer or raises Refused or Lost."""
        stream = self.open(method, request)
        while True:
            at, kind, _, data = self.frame()
            if at == stream and kind == RESPONSE:
                return self._answer(method, data)

    @staticmethod
    def _answer(method, data):
        response = SCHEMA.decode("ttrpc.v1.Response", data)
        if response.get("status", {}).get("code"):
            raise Refused(response["status"])
        return SCHEMA.decode(f"widgetd.v1.{method}Response", response.get("payload", b""))

    def provide(self, **frame):
        """Begins a provider's session with its first frame."""
        return Session(self, self.open("Provide", frame, REMOTE_OPEN))

    def stream(self, method, **request):
        """Opens a server stream and yields its messages, until it ends or raises."""
        stream = self.open(method, request, REMOTE_CLOSED)
        while True:
            at, kind, flags, data = self.frame()
            if at != stream:
                continue
            if kind == RESPONSE:
                self._answer(method, data)
                return
            if flags & REMOTE_CLOSED:
                return
            yield SCHEMA.decode(f"widgetd.v1.{method}Response", data)


class Session:
    """A provider's session on a connection."""

    def __init__(self, connection, stream):
        self.connection, self.stream = connection, stream

    def send(self, **frame):
        data = SCHEMA.encode("widgetd.v1.ProvideRequest", frame)
        self.connection.socket.sendall(
            struct.pack(">IIBB", len(data), self.stream, DATA, 0) + data)

    def next(self):
        """The next frame; raises Refused or Lost at the end."""
        while True:
            at, kind, flags, data = self.connection.frame()
            if at != self.stream:
                continue
            if kind == RESPONSE:
                Connection._answer("Provide", data)
            if kind == RESPONSE or flags & REMOTE_CLOSED:
                raise Lost("the session ended")
            return SCHEMA.decode("widgetd.v1.ProvideResponse", data)

    def until(self, name):
        """The next frame of this name, and the frames before it."""
        before = []
        while True:
            frame = self.next()
            if name in frame:
                return frame[name], before
            before.append(frame)
