"""The base of tests with a scripted daemon, over a real socket."""

import unittest
from datetime import datetime, timezone

import widgetd
from widgetd._resume import RetryPolicy

from .fake import FakeDaemon, Relay

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
SOON = RetryPolicy(delay_initial=0.001, delay_max=0.05)


def names(frames_):
    return [type(frame).__name__ for frame in frames_]


class DaemonCase(unittest.TestCase):
    def setUp(self):
        self.daemon = FakeDaemon()
        self.addCleanup(self.daemon.close)
        self.relay = Relay(self.daemon.folder, self.daemon.path)
        self.addCleanup(self.relay.close)
        self.client = widgetd.Client(self.relay.path)
        self.addCleanup(self.client.close)

    def script(self, *steps):
        self.daemon.scripts.put(steps)
