"""A provider, with the test as its daemon."""

import threading
import unittest
from datetime import datetime, timezone

import widgetd
from widgetd import messages as pb

from .fake import PATIENCE, FakeDaemon, Relay, value, widget

NOON = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
NOW = widgetd.RetryPolicy(delay_initial=0.0)
GAUGE = widgetd.Kind("k", data=[widgetd.Field("n", "int", 0)])


class Doing:
    """A call in another thread."""

    def __init__(self, body):
        self.outcome = None
        self.thread = threading.Thread(target=self._run, args=(body,), daemon=True)
        self.thread.start()

    def _run(self, body):
        try:
            self.outcome = body()
        except Exception as error:
            self.outcome = error

    def result(self):
        self.thread.join(PATIENCE)
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


def event(sequence):
    return pb.Event(sequence=sequence, widget_id="a", name="click")


class ProviderCase(unittest.TestCase):
    def setUp(self):
        self.daemon = FakeDaemon()
        self.addCleanup(self.daemon.close)
        self.relay = Relay(self.daemon.folder, self.daemon.path)
        self.addCleanup(self.relay.close)

    def provider(self, kinds=(GAUGE,), **options):
        made = widgetd.Provider("desk", kinds, self.relay.path, retry=NOW, **options)
        self.addCleanup(made.close)
        return made

    def begin(self, **options):
        provider = self.provider(**options)
        session, opening = self.daemon.session()
        self.assertEqual(opening.provider, "desk")
        kinds = session.accept()
        self.assertEqual([kind.name for kind in kinds.kinds], ["k"])
        self.assertEqual(next(provider), widgetd.Connected(7, 3, 1))
        return provider, session

    def want(self, session, id):
        session.say(
            snapshot_request=pb.SnapshotRequest(
                id=id,
                kind="k",
                family=pb.FAMILY_SMALL,
                parameters={"n": value(id)},
                by_owner=id == 2,
                uid=7,
            )
        )

    def refuse(self, session, kind, code, reason, **metadata):
        """Refuses the next frame, and returns it."""
        frame = session.hear(kind)
        error = pb.ProvideError(code=code, reason=reason, message="no", metadata=metadata)
        session.say(result=pb.ProvideResult(id=frame.id, error=error))
        return frame

    def ask(self, provider, session, id):
        session.say(data_request=pb.DataRequest(id=1, widget=widget(id), reason=1))
        return next(provider)
