"""HTTP/2 and gRPC by hand: valid or invalid frames, and the answers to them.

Frames are made of bytes here, so that each can be damaged. Only the daemon's headers are decoded by
a library (hpack).
"""

import os
import select
import socket
import struct
import sys
import time

from lib.protobuf import ROOT, SCHEMA

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
(DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE,
 CONTINUATION) = range(10)
# Flags.
ACK = END_STREAM = 1
END_HEADERS, PADDED, WITH_PRIORITY = 4, 8, 32
# Settings.
TABLE_SIZE, ENABLE_PUSH, MAX_STREAMS, INITIAL_WINDOW, MAX_FRAME, MAX_HEADERS = range(1, 7)
WINDOW_MAX = (1 << 31) - 1

SERVICE = "widgetd.v1.WidgetService"
PATIENCE = 120.0


def require_hpack():
    """Starts the program again with the Python of .build/venv if this Python lacks hpack. Only `Peer`
    needs it. So a program can check its arguments first."""
    try:
        import hpack  # noqa: F401
    except ImportError:
        python = os.path.join(ROOT, ".build", "venv", "bin", "python3")
        if not os.access(python, os.X_OK) or sys.executable == python:
            raise SystemExit("hpack for Python is missing; scripts/test installs it") from None
        os.execv(python, [python, *sys.argv])


def frame(kind, flags=0, stream=0, payload=b"", length=None):
    """A frame; `length` lies about the payload's."""
    size = len(payload) if length is None else length
    return struct.pack(">IBBI", size, kind, flags, stream)[1:] + payload


def settings(**values):
    """A SETTINGS frame: settings(INITIAL_WINDOW=0)."""
    return frame(SETTINGS, payload=b"".join(
        struct.pack(">HI", globals()[name], value) for name, value in values.items()))


def window_update(stream, increment):
    return frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", increment))


def integer(value, bits, first=0):
    """An HPACK integer with a prefix of this many bits."""
    limit = (1 << bits) - 1
    if value < limit:
        return bytes([first | value])
    out, value = bytearray([first | limit]), value - limit
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def literal(name, value, first=0x00):
    """A header that is not added to the table, without Huffman; with 0x40 for `first` it is
    added."""
    name, value = (text.encode("latin-1") if isinstance(text, str) else text
                   for text in (name, value))
    return bytes([first]) + integer(len(name), 7) + name + integer(len(value), 7) + value


def request_headers(path, *more, without=(), **instead):
    """The headers of a gRPC call; some can be omitted, changed, or added at the end."""
    held = {":method": "POST", ":scheme": "http", ":path": path, ":authority": "localhost",
            "te": "trailers", "content-type": "application/grpc"}
    held.update({name.replace("_", "-"): value for name, value in instead.items()})
    return b"".join([literal(name, value) for name, value in held.items() if name not in without]
                    + [literal(name, value) for name, value in more])


def path_of(method, service=SERVICE):
    return f"/{service}/{method}"


def message(payload=b"", compressed=0, length=None):
    """A message as gRPC frames it; `length` lies about the payload's."""
    return struct.pack(">BI", compressed, len(payload) if length is None else length) + payload


def request(method, **fields):
    """The framed request of a method of the widget service."""
    return message(SCHEMA.encode(f"widgetd.v1.{method}Request", fields))


class Closed(Exception):
    """The daemon has closed the connection."""


class Stream:
    """The received part of a stream."""

    def __init__(self):
        self.headers, self.data, self.trailers = None, bytearray(), None
        self.ended, self.reset = False, None
        # The window for sending on it, in addition to the daemon's setting.
        self.window = 0

    def messages(self):
        """Removes and returns the complete messages."""
        while len(self.data) >= 5:
            size = struct.unpack(">I", self.data[1:5])[0]
            if len(self.data) < 5 + size:
                return
            whole = bytes(self.data[5:5 + size])
            del self.data[:5 + size]
            yield whole

    def outcome(self):
        """How it ended, as a word and a number; None if it has not ended."""
        if self.reset is not None:
            return f"reset {self.reset}"
        if not self.ended:
            return None
        said = self.trailers or self.headers or {}
        if "grpc-status" in said:
            return f"status {said['grpc-status']}"
        return f"http {(self.headers or {}).get(':status')}"


class Peer:
    """A connection. It answers the frames that need an answer in HTTP/2, unless it is not
    `polite`."""

    def __init__(self, path, greeting=PREFACE + frame(SETTINGS), polite=True, windows=True):
        import hpack
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.socket.setblocking(False)
        self.polite, self.windows = polite, windows
        self.buffer, self.outgoing = bytearray(), bytearray()
        self.decoder = hpack.Decoder(max_header_list_size=1 << 20)
        self.streams, self.settings, self.goaway, self.closed = {}, {}, None, False
        self.pongs = self.acks = 0
        self.window = 65_535
        self.next_id = 1
        self._block = None
        self.send(greeting)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    # --- Sending ----------------------------------------------------------------------------------

    def send(self, data):
        """Sends all of it, and receives meanwhile; raises Closed if it cannot."""
        self.outgoing += data
        self._until(lambda: not self.outgoing)
        if self.outgoing:
            raise Closed("not taken" if not self.closed else "closed")

    def flood(self, pieces, seconds=PATIENCE):
        """Sends until the daemon closes, or takes nothing for this long; returns how many were
        taken."""
        taken = 0
        for piece in pieces:
            self.outgoing += piece
            if not self._until(lambda: len(self.outgoing) < 1 << 16, seconds):
                return taken
            if self.closed or self.goaway is not None:
                return taken
            taken += 1
        self._until(lambda: not self.outgoing, seconds)
        return taken

    def pour(self, pieces):
        """Sends without reading while the socket takes bytes; returns how many pieces it took."""
        taken, rest = 0, b""
        for piece in pieces:
            rest += piece
            while rest:
                _, writable, _ = select.select([], [self.socket], [], 1.0)
                if not writable:
                    return taken
                try:
                    rest = rest[self.socket.send(rest):]
                except ConnectionError:
                    self.closed = True
                    return taken
            taken += 1
        return taken

    def finish(self):
        """Ends the sending direction."""
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            self.closed = True

    # --- Receiving --------------------------------------------------------------------------------

    def _until(self, condition, seconds=PATIENCE):
        """Sends and receives until the condition holds or the daemon has closed; returns whether it
        holds."""
        deadline = time.monotonic() + seconds
        while not condition():
            left = deadline - time.monotonic()
            if self.closed or left <= 0:
                return condition()
            readable, writable, _ = select.select(
                [self.socket], [self.socket] if self.outgoing else [], [], left)
            if writable:
                try:
                    count = self.socket.send(self.outgoing[:1 << 16])
                    del self.outgoing[:count]
                except BlockingIOError:
                    pass
                except ConnectionError:
                    # The bytes from before the end can still be read.
                    self.outgoing.clear()
                    self._drain()
            if readable:
                self._read()
        return True

    def _read(self):
        try:
            more = self.socket.recv(1 << 18)
        except BlockingIOError:
            return
        except ConnectionError:
            more = b""
        if not more:
            self.closed = True
            return
        self.buffer += more
        self._frames()

    def _drain(self):
        while not self.closed:
            if not select.select([self.socket], [], [], 0)[0]:
                self.closed = True
                return
            self._read()

    def _frames(self):
        at, buffer = 0, self.buffer
        while len(buffer) - at >= 9:
            size = int.from_bytes(buffer[at:at + 3], "big")
            if len(buffer) - at < 9 + size:
                break
            kind, flags, stream = struct.unpack(">BBI", buffer[at + 3:at + 9])
            self._frame(kind, flags, stream, bytes(buffer[at + 9:at + 9 + size]))
            at += 9 + size
        del buffer[:at]

    def _frame(self, kind, flags, number, payload):
        stream = self.streams.setdefault(number, Stream()) if number else None
        if kind == SETTINGS:
            if flags & ACK:
                self.acks += 1
            else:
                for at in range(0, len(payload), 6):
                    name, value = struct.unpack(">HI", payload[at:at + 6])
                    self.settings[name] = value
                if self.polite:
                    self.outgoing += frame(SETTINGS, ACK)
        elif kind == PING:
            if flags & ACK:
                self.pongs += 1
            elif self.polite:
                self.outgoing += frame(PING, ACK, 0, payload)
        elif kind == GOAWAY:
            self.goaway = struct.unpack(">I", payload[4:8])[0]
        elif kind == WINDOW_UPDATE:
            holder = stream or self
            holder.window += struct.unpack(">I", payload)[0]
        elif kind == RST_STREAM and stream.ended and payload == bytes(4):
            # The answer is complete, and the daemon does not need the rest of the request.
            pass
        elif kind == RST_STREAM:
            stream.reset = struct.unpack(">I", payload)[0]
        elif kind == DATA:
            stream.data += payload
            stream.ended = stream.ended or bool(flags & END_STREAM)
            if payload and self.windows:
                self.outgoing += window_update(0, len(payload)) + window_update(number,
                                                                                len(payload))
        elif kind in (HEADERS, CONTINUATION):
            self._block = (self._block or b"") + payload
            ended = kind == HEADERS and flags & END_STREAM
            if flags & END_HEADERS:
                headers = dict(self.decoder.decode(self._block))
                self._block = None
                if stream.headers is None:
                    stream.headers = headers
                else:
                    stream.trailers = headers
            stream.ended = stream.ended or bool(ended)

    # --- Calls ------------------------------------------------------------------------------------

    def number(self):
        """The number of the next stream."""
        self.next_id += 2
        return self.next_id - 2

    def start(self, path, body=b"", *more, end=True, **how):
        """Opens a stream with headers and, if there are any, data; returns its number."""
        number = self.number()
        out = frame(HEADERS, END_HEADERS | (END_STREAM if end and not body else 0), number,
                    request_headers(path, *more, **how))
        self.send(out)
        if body:
            self.upload(number, body, end)
        return number

    def upload(self, number, body, end=True):
        """Sends data as fast as the windows allow; less of it if the stream ends before."""
        at, stream = 0, self.streams.setdefault(number, Stream())
        while at < len(body):
            def room():
                return min(self.window, self.settings.get(INITIAL_WINDOW, 65_535) + stream.window,
                           self.settings.get(MAX_FRAME, 16_384))

            if not self._until(lambda: room() > 0 or stream.outcome() or self.goaway is not None):
                raise Closed("closed" if self.closed else "no window for data")
            if stream.outcome() or self.goaway is not None:
                return
            size = min(room(), len(body) - at)
            self.window -= size
            stream.window -= size
            last = end and at + size == len(body)
            self.send(frame(DATA, END_STREAM if last else 0, number, body[at:at + size]))
            at += size

    def outcome(self, number=None, seconds=PATIENCE):
        """How a stream ends: `status N`, `reset N`, `http N`; or the connection: `goaway N`,
        `closed`; or `silence`. Without a number, how the connection ends."""
        def result():
            stream = self.streams.get(number)
            ended = stream.outcome() if stream else None
            return ended or (f"goaway {self.goaway}" if self.goaway is not None else None)

        self._until(lambda: result() is not None, seconds)
        return result() or ("closed" if self.closed else "silence")

    def call(self, method, **fields):
        """Makes a unary call; returns the answer."""
        number = self.start(path_of(method), request(method, **fields))
        outcome = self.outcome(number)
        stream = self.streams.pop(number, None)
        if outcome != "status 0":
            raise Closed(f"{method} ended with {outcome}")
        return SCHEMA.decode(f"widgetd.v1.{method}Response", next(stream.messages(), b""))

    def wait(self, condition, seconds=PATIENCE):
        """Receives until the condition holds; returns whether it does."""
        return self._until(condition, seconds)
