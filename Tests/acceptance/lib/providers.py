"""A program that provides kinds with timelines, and what it sends."""

import datetime
import select

from lib.protobuf import values
from lib.system import PATIENCE

AT_END, NEVER = 1, 3
TIMELINE, REFRESH = 5, 4
#: 2026-01-01T00:00:00Z, where a fake clock begins.
START = int(datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc).timestamp())


def entry(seconds, **fields):
    return {"date": {"seconds": START + seconds}, "values": values(fields)}


class Provider:
    """A session that provides kinds."""

    def __init__(self, scratch, name, kinds, **options):
        self.connection = scratch.connect(timeout=PATIENCE)
        self.session = self.connection.provide(open={"provider": name, "lease": {"seconds": 120},
                                                     **options})
        self.session.until("opened")
        self.number = 1
        self.frames = []
        self.send(kinds={"kinds": kinds})

    def post(self, **frame):
        """Sends a frame, and does not wait for its result."""
        (kind, content), = frame.items()
        self.number += 1
        self.session.send(**{kind: {"id": self.number, **content}})

    def send(self, **frame):
        """Sends a frame, and returns its result."""
        self.post(**frame)
        while True:
            for index, found in enumerate(self.frames):
                if found.get("result", {}).get("id") == self.number:
                    return self.frames.pop(index)["result"]
            if not self.read(PATIENCE):
                raise AssertionError("the daemon does not answer the provider")

    def read(self, seconds):
        """Keeps the next frame, if it comes within this time."""
        if not self.connection.buffer and not select.select([self.connection.socket], [], [], seconds)[0]:
            return False
        self.frames.append(self.session.next())
        return True

    def requests(self, count, kind="data_request"):
        """The requests that have come, as soon as there are so many."""
        while sum(kind in frame for frame in self.frames) < count and self.read(PATIENCE):
            pass
        found = [frame[kind] for frame in self.frames if kind in frame]
        self.frames = [frame for frame in self.frames if kind not in frame]
        return found

    def asked(self, count=0, kind="data_request"):
        """The requests that have come, of which there should be so many. The daemon answers in order, so no
        request of before comes after the result of a frame. Half a second is for what it should not send."""
        found = self.requests(count, kind)
        self.send(update={})
        while self.read(0.5):
            pass
        return found + self.requests(0, kind)

    def asked_and_answered(self, count=0, **outcome):
        """The requests that have come, of which there should be so many, each with its answer."""
        found = self.asked(count)
        for request in found:
            self.send(answer={"data_request_id": request["id"], **(outcome or {"patch": {}})})
        return found

    def close(self):
        self.connection.close()


def kind(name, **fields):
    platform = {"name": "platform", "type": "string", "default_value": {"string_value": "?"}}
    return {"name": name, "entry": [platform], **fields}
