"""Watches of both clients against a scripted daemon."""

import asyncio
import threading

import widgetd
from widgetd import frames
from widgetd import messages as pb

from .daemon_case import SOON, DaemonCase, names
from .fake import HANG, Status, added, changes, chunk, events, gap, opened, synced, updated, widget


class WatchTests(DaemonCase):
    """Each test runs with both clients: `frames` reads this many frames of a watch."""

    def both(self, scripts, count, after=None, check=None, **arguments):
        arguments = {"retry": SOON, **arguments}

        def sync():
            out = []
            with self.client.watch(**arguments) as watch:
                for frame in watch:
                    out.append(frame)
                    if after:
                        after(frame)
                    if len(out) == count:
                        break
            return out

        async def asynchronous():
            out = []
            client = widgetd.AsyncClient(self.relay.path)
            async with client.watch(**arguments) as watch:
                async for frame in watch:
                    out.append(frame)
                    if after:
                        after(frame)
                    if len(out) == count:
                        break
            return out

        for run in (sync, lambda: asyncio.run(asynchronous())):
            for script in scripts():
                self.script(*script)
            check(run())
            self.assertTrue(self.daemon.scripts.empty())

    def test_a_theme_comes_with_the_watch_that_asks_for_it(self):
        def theme(revision):
            frame = pb.WatchWidgetsResponse()
            frame.theme.revision = revision
            frame.theme.values["offset.basic"].offset = 6
            return frame

        def scripts():
            yield opened(), theme(1), chunk(widget("a")), synced(1), theme(2), HANG

        def check(out):
            self.assertEqual(names(out), ["Opened", "Theme", "Snapshot", "Theme"])
            self.assertEqual(out[1], widgetd.Theme({"offset.basic": 6}, revision=1))
            self.assertEqual(out[3].revision, 2)
            mirror = widgetd.Mirror()
            for frame in out:
                mirror.apply(frame)
            self.assertEqual(len(mirror), 1)
            asked = self.daemon.request(pb.WatchWidgetsRequest)
            self.assertTrue(asked.include_theme)

        self.both(scripts, 4, check=check, include_theme=True)

    def test_a_connection_lost_in_the_middle_of_a_change_is_resumed_by_its_token(self):
        def scripts():
            self.half = threading.Event()
            yield opened(), chunk(widget("a")), synced(1), changes(
                1, 0, added(widget("half")), more=True
            ), events(), HANG
            yield opened(), changes(1, 3, added(widget("b")), updated("a", 3, n=1)), HANG

        def lose(frame):
            if isinstance(frame, frames.Snapshot):
                self.relay.drop()

        def check(out):
            self.assertEqual(
                names(out),
                ["Opened", "Snapshot", "Disconnected", "Reconnected", "Opened", "Changes"],
            )
            self.assertIsInstance(out[2].error, widgetd.ConnectionLost)
            self.assertEqual(names(out[5].changes), ["Added", "Changed"])
            asked = [self.daemon.request(pb.WatchWidgetsRequest) for _ in range(2)]
            self.assertEqual([a.resume_token for a in asked], [b"", b"t1"])

        self.both(scripts, 6, lose, check)

    def test_a_compacted_token_leads_to_a_new_snapshot(self):
        def scripts():
            yield opened(), synced(1), Status(
                11, "Gone.", "REVISION_COMPACTED", compact_revision="5"
            )
            yield opened(), chunk(widget("b")), synced(9), HANG

        def check(out):
            self.assertEqual(names(out), ["Opened", "Snapshot", "Reset", "Opened", "Snapshot"])
            self.assertEqual(out[2].reason, frames.ResetReason.COMPACTED)
            asked = [self.daemon.request(pb.WatchWidgetsRequest) for _ in range(2)]
            self.assertEqual([a.resume_token for a in asked], [b"", b""])

        self.both(scripts, 5, None, check)

    def test_a_passive_watch_stays_passive_when_it_is_resumed(self):
        def scripts():
            yield opened(), synced(1), Status(14, "Bye.", "SHUTTING_DOWN", retry=0)
            yield opened(), HANG

        def check(out):
            asked = [self.daemon.request(pb.WatchWidgetsRequest) for _ in range(2)]
            self.assertEqual([a.passive for a in asked], [True, True])

        self.both(scripts, 5, None, check, passive=True)

    def test_a_token_of_another_epoch_leads_to_a_new_snapshot(self):
        def scripts():
            yield Status(9, "Other.", "EPOCH_CHANGED", epoch="8"),
            yield opened(epoch=8), synced(2), HANG

        def check(out):
            self.assertEqual(names(out), ["Reset", "Opened", "Snapshot"])
            asked = [self.daemon.request(pb.WatchWidgetsRequest) for _ in range(2)]
            self.assertEqual([a.resume_token for a in asked], [b"mine", b""])

        self.both(scripts, 3, None, check, resume_token=b"mine")

    def test_events_continue_after_the_last_one_and_missing_ones_are_reported(self):
        def scripts():
            yield opened(last=4), synced(1), events(5, 6), Status(
                14, "Bye.", "SHUTTING_DOWN", retry=0
            )
            yield opened(last=6), gap(7, 8), events(9), HANG

        def check(out):
            self.assertEqual(
                names(out),
                [
                    "Opened",
                    "Snapshot",
                    "Events",
                    "Disconnected",
                    "Reconnected",
                    "Opened",
                    "Gap",
                    "Events",
                ],
            )
            self.assertEqual(out[6], frames.Gap(7, 8))
            asked = [self.daemon.request(pb.WatchWidgetsRequest) for _ in range(2)]
            self.assertEqual(
                [(a.include_events, a.after_sequence) for a in asked], [(True, 0), (True, 6)]
            )

        self.both(scripts, 8, None, check, events=True)

    def test_a_stream_that_ends_without_an_error_ends_the_watch(self):
        def scripts():
            yield opened(), synced(1)

        self.both(
            scripts, 99, None, lambda out: self.assertEqual(names(out), ["Opened", "Snapshot"])
        )

    def test_a_refusal_is_raised(self):
        for make in (
            lambda: next(self.client.watch(retry=SOON)),
            lambda: asyncio.run(self.first(retry=SOON)),
        ):
            self.script(Status(3, "Wrong.", "INVALID_FIELD", violations=[("read_mask", "no such")]))
            with self.assertRaises(widgetd.InvalidArgument) as caught:
                make()
            self.assertEqual(caught.exception.violations, (("read_mask", "no such"),))

    async def first(self, **arguments):
        return await widgetd.AsyncClient(self.relay.path).watch(**arguments).__anext__()

    def test_a_watch_waits_for_a_late_daemon_if_asked(self):
        self.daemon.stop()
        watch = self.client.watch(wait=True, retry=SOON)
        out = []
        reader = threading.Thread(target=lambda: out.append(next(watch)))
        reader.start()
        self.script(opened(), HANG)
        self.daemon.start()
        reader.join(30)
        self.assertEqual(names(out), ["Opened"])
        watch.close()

    def test_closing_ends_a_watch_that_another_thread_waits_for(self):
        self.script(opened(), synced(1), HANG)
        watch = self.client.watch()
        self.assertEqual(names([next(watch), next(watch)]), ["Opened", "Snapshot"])
        out = []
        reader = threading.Thread(target=lambda: out.append(list(watch)))
        reader.start()
        watch.close()
        reader.join(30)
        self.assertEqual(out, [[]])

    def test_closing_ends_a_wait_for_the_next_attempt(self):
        self.script(opened(), synced(1), Status(14, "Bye.", "SHUTTING_DOWN", retry=1000))
        watch = self.client.watch()
        self.assertEqual(names([next(watch) for _ in range(3)])[-1], "Disconnected")
        reader = threading.Thread(target=lambda: list(watch))
        reader.start()
        watch.close()
        reader.join(30)
        self.assertFalse(reader.is_alive())

    def test_cancelling_a_task_cancels_its_watch_and_its_call(self):
        over = threading.Event()
        self.addCleanup(over.set)
        self.daemon.answers["GetWidget"] = lambda request: over.wait() or b""
        self.script(opened(), HANG)

        async def run():
            client = widgetd.AsyncClient(self.relay.path)
            watch = client.watch()
            await watch.__anext__()
            for waiting in (watch.__anext__(), client.get_widget("a")):
                task = asyncio.ensure_future(waiting)
                await asyncio.sleep(0)
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
            await client.close()
            with self.assertRaisesRegex(widgetd.WidgetdError, "was closed"):
                await client.get_widget("a")

        asyncio.run(run())

    def test_closing_ends_an_asynchronous_watch_that_another_task_waits_for(self):
        self.script(opened(), synced(1), HANG)

        async def run():
            watch = widgetd.AsyncClient(self.relay.path).watch()
            seen = asyncio.Event()
            out = []

            async def read():
                async for frame in watch:
                    out.append(frame)
                    if len(out) == 2:
                        seen.set()

            task = asyncio.ensure_future(read())
            await seen.wait()
            await watch.close()
            await task
            return out

        self.assertEqual(names(asyncio.run(run())), ["Opened", "Snapshot"])

    def test_with_a_slow_reader_the_client_reads_no_frames_ahead(self):
        """A watch reads a frame only on request, so that the daemon notices slow readers."""
        big = "x" * 60_000
        sent = []

        def flood():
            yield opened()
            yield synced(1)
            for number in range(2, 2000):
                sent.append(number)
                change = updated("a", number)
                change.updated.set_data["text"].string_value = big
                yield changes(number - 1, number, change)

        self.daemon.scripts.put(flood())
        watch = self.client.watch()
        next(watch)
        next(watch)
        # A separate call, whose answer comes after the frames on their way.
        self.client.check_health()
        self.assertLess(len(sent), 1000)
        revisions = [next(watch).to_revision for _ in range(50)]
        self.assertEqual(revisions, list(range(2, 52)))
        watch.close()


class FollowTests(DaemonCase):
    def scripts(self):
        self.script(
            opened(),
            chunk(widget("a", n=1)),
            synced(1),
            changes(1, 2, updated("a", 2, n=2)),
            changes(2, 3, updated("ghost", 3, n=1)),
            HANG,
        )
        self.script(opened(), chunk(widget("a", n=3)), synced(4))

    def check(self, seen):
        self.assertEqual(seen, [(1, {"a": 1}), (2, {"a": 2}), (4, {"a": 3})])
        asked = [self.daemon.request(pb.WatchWidgetsRequest) for _ in range(2)]
        self.assertEqual([a.resume_token for a in asked], [b"", b""])

    def test_it_yields_each_state_and_starts_over_after_an_inconsistent_frame(self):
        self.scripts()
        self.check(
            [
                (state.revision, {w.id: w.data["n"] for w in state})
                for state in self.client.follow(retry=SOON)
            ]
        )

    def test_it_works_with_asyncio(self):
        async def run():
            client = widgetd.AsyncClient(self.relay.path)
            return [
                (state.revision, {w.id: w.data["n"] for w in state})
                async for state in client.follow(retry=SOON)
            ]

        self.scripts()
        self.check(asyncio.run(run()))

    def test_an_empty_state_is_a_state(self):
        self.script(opened(), synced(5))
        self.assertEqual([(s.revision, len(s)) for s in self.client.follow()], [(5, 0)])
