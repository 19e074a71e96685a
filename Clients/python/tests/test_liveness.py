"""Streams that notice a daemon that hangs: first the decisions alone, then both clients and the
provider with a relay that hangs."""

import asyncio
import gc
import math
import threading
import unittest

import grpc
import widgetd
from widgetd import messages as pb
from widgetd._liveness import Liveness

from .daemon_case import SOON, DaemonCase, names
from .fake import HANG, PATIENCE, chunk, opened, serving, synced, widget
from .provider_case import Doing, ProviderCase

#: Short times, so that a test takes less than a minute. On a slow machine, a question counts as
#: unanswered only after `answer_max`.
QUICK = widgetd.LivenessPolicy(quiet_max=0.05, answer_max=5)
ASK = None


class LivenessTests(unittest.TestCase):
    """Decisions as values: times are the input, steps the output."""

    def setUp(self):
        self.time = 100.0
        policy = widgetd.LivenessPolicy(quiet_max=60.0, answer_max=5.0)
        self.liveness = Liveness(policy, lambda: self.time)
        self.steps = self.liveness.steps()

    def at(self, time):
        self.time = time
        return next(self.steps, "lost")

    def hear(self, time):
        self.time = time
        self.liveness.heard()

    def test_an_opened_stream_is_asked_only_after_silence(self):
        self.assertEqual(self.at(100.0), 5.0)
        self.hear(101.0)
        self.assertEqual(self.at(105.0), 56.0)
        self.hear(150.0)
        self.assertEqual(self.at(161.0), 49.0)
        self.assertEqual(self.at(210.0), ASK)
        self.hear(210.5)
        self.assertEqual(self.at(210.5), 60.0)
        self.assertFalse(self.liveness.is_lost)

    def test_a_request_without_an_answer_is_lost(self):
        self.assertEqual(self.at(100.0), 5.0)
        self.assertEqual(self.at(105.0), "lost")
        self.assertTrue(self.liveness.is_lost)

    def test_a_question_without_an_answer_is_lost(self):
        self.at(100.0)
        self.hear(100.0)
        self.assertEqual(self.at(105.0), 55.0)
        self.assertEqual(self.at(160.0), ASK)
        self.liveness.answered(grpc.StatusCode.DEADLINE_EXCEEDED)
        self.assertEqual(self.at(165.0), "lost")

    def test_a_refusal_is_an_answer(self):
        self.at(100.0)
        self.hear(100.0)
        self.assertEqual(self.at(160.0), ASK)
        self.liveness.answered(grpc.StatusCode.PERMISSION_DENIED)
        self.assertEqual(self.at(160.0), 60.0)

    def test_a_frame_that_comes_during_the_question_is_an_answer(self):
        self.at(100.0)
        self.hear(100.0)
        self.assertEqual(self.at(160.0), ASK)
        self.hear(164.0)
        self.liveness.answered(grpc.StatusCode.DEADLINE_EXCEEDED)
        self.assertEqual(self.at(165.0), 59.0)

    def test_impossible_times_are_refused(self):
        for times in ((0, 5), (60, -1), (math.nan, 5)):
            with self.assertRaisesRegex(ValueError, "use seconds above 0, or liveness=None"):
                widgetd.LivenessPolicy(*times)


class HangingDaemonTests(DaemonCase):
    """Each test runs with both clients."""

    def setUp(self):
        super().setUp()
        self.daemon.answers["Check"] = serving()
        self.out = []

    def take(self, frame):
        """Handles a frame of a watch, and controls the relay. Returns True at the end."""
        self.out.append(frame)
        if isinstance(frame, widgetd.frames.Snapshot):
            self.relay.hang()
        elif isinstance(frame, widgetd.frames.Disconnected):
            self.relay.go_on()
        return names(self.out).count("Opened") == 2

    def sync(self, **arguments):
        with self.client.watch(**arguments) as watch:
            for frame in watch:
                if self.take(frame):
                    break

    def asynchronous(self, **arguments):
        async def run():
            async with widgetd.AsyncClient(self.relay.path).watch(**arguments) as watch:
                async for frame in watch:
                    if self.take(frame):
                        break

        asyncio.run(run())

    def test_a_daemon_that_hangs_is_reported_and_the_watch_resumes_when_it_answers(self):
        for run in (self.sync, self.asynchronous):
            self.out = []
            self.script(opened(), chunk(widget("a")), synced(1), HANG)
            self.script(opened(), HANG)
            run(retry=SOON, liveness=QUICK)
            self.assertEqual(
                names(self.out), ["Opened", "Snapshot", "Disconnected", "Reconnected", "Opened"]
            )
            error = self.out[2].error
            self.assertIsInstance(error, widgetd.Unresponsive)
            self.assertEqual(
                str(error),
                f"the daemon at {self.relay.path} does not answer within 5 s: it hangs, is "
                "stopped, or is overloaded; continue or restart it",
            )

    def test_a_daemon_that_hangs_at_the_start_is_an_error(self):
        self.relay.hang()
        for run in (self.sync, self.asynchronous):
            with self.assertRaisesRegex(widgetd.Unresponsive, "does not answer within 0.2 s"):
                run(retry=SOON, liveness=widgetd.LivenessPolicy(answer_max=0.2))

    def test_a_watch_waits_for_a_daemon_that_hangs_at_the_start_if_asked(self):
        self.relay.hang()
        watch = self.client.watch(
            wait=True, retry=SOON, liveness=widgetd.LivenessPolicy(answer_max=0.3)
        )
        first = Doing(lambda: next(watch))
        self.assertTrue(first.thread.is_alive())
        # Abandoned attempts may reach the daemon, too.
        for _ in range(50):
            self.script(opened(), HANG)
        self.relay.go_on()
        self.assertEqual(names([first.result()]), ["Opened"])
        watch.close()

    def test_a_watch_that_waits_at_the_start_logs_the_reason_once(self):
        policy = widgetd.LivenessPolicy(answer_max=0.2)
        attempts = widgetd.RetryPolicy(0.0, 0.0, attempts_max=2)
        arguments = dict(wait=True, retry=attempts, liveness=policy)
        self.relay.hang()
        for run in (self.sync, self.asynchronous):
            with self.assertLogs("widgetd", "WARNING") as logged:
                with self.assertRaises(widgetd.Unresponsive):
                    run(**arguments)
            self.assertEqual(
                [record.getMessage() for record in logged.records],
                [
                    f"waiting for the daemon: the daemon at {self.relay.path} does not answer "
                    "within 0.2 s: it hangs, is stopped, or is overloaded; continue or restart it"
                ],
            )

    def test_a_silent_daemon_that_answers_stays_connected(self):
        asked = threading.Event()
        count = []

        def answer(request):
            count.append(request)
            if len(count) == 3:
                asked.set()
            return serving()

        self.daemon.answers["Check"] = answer
        for run in (self.sync, self.asynchronous):
            count.clear()
            asked.clear()
            self.out = []
            self.script(opened(), asked)
            run(retry=SOON, liveness=QUICK)
            self.assertEqual(names(self.out), ["Opened"])

    def test_without_a_policy_the_daemon_is_not_asked(self):
        self.script(opened(), synced(1))
        self.assertEqual(names(self.client.watch(liveness=None)), ["Opened", "Snapshot"])
        self.assertTrue(self.daemon.calls.empty())

    def test_the_check_ends_with_its_watch(self):
        def threads():
            return [each for each in threading.enumerate() if each.name == "widgetd-liveness"]

        self.script(opened(), HANG)
        watch = self.client.watch()
        next(watch)
        (checker,) = threads()
        del watch
        gc.collect()
        checker.join(PATIENCE)
        self.assertEqual(threads(), [])


class HangingProviderTests(ProviderCase):
    def test_a_provider_notices_a_daemon_that_hangs_and_resumes_when_it_answers(self):
        self.daemon.answers["Check"] = serving()
        provider, session = self.begin(liveness=QUICK)
        first = Doing(lambda: provider.update("a", {"n": 0}))
        session.say(result=pb.ProvideResult(id=session.hear("update").id, revision=5))
        self.assertEqual(first.result(), 5)
        self.relay.hang()
        update = Doing(lambda: provider.update("a", {"n": 1}))
        lost = next(provider)
        self.assertIsInstance(lost, widgetd.frames.Disconnected)
        self.assertIsInstance(lost.error, widgetd.Unresponsive)
        self.assertIsNone(update.result())
        self.relay.go_on()
        session, _ = self.daemon.session()
        session.accept()
        self.assertIsInstance(next(provider), widgetd.Connected)


if __name__ == "__main__":
    unittest.main()
