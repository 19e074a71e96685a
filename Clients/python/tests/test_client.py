"""Both clients against a scripted daemon, over a real socket."""

import asyncio
import inspect
import threading
import unittest
from datetime import datetime, timezone

import widgetd
from widgetd import frames, methods
from widgetd import messages as pb
from widgetd._resume import RetryPolicy

from .fake import (
    HANG,
    FakeDaemon,
    Relay,
    Status,
    added,
    changes,
    chunk,
    events,
    gap,
    opened,
    serving,
    synced,
    updated,
    widget,
)

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


class CallTests(DaemonCase):
    """One row a method: what is called, what must arrive, what is answered, what must come back."""

    def check(self, make, service, request, answer, expected):
        name = type(request).__name__[: -len("Request")]
        method = "Check" if name == "HealthCheck" else name
        self.daemon.answers[method] = answer
        self.assertEqual(make(self.client), expected)
        path, asked = self.daemon.call(type(request))
        self.assertEqual((path, asked), (f"/{service}/{method}", request))

        async def run():
            async with widgetd.AsyncClient(self.relay.path) as client:
                return await make(client)

        self.assertEqual(asyncio.run(run()), expected)
        self.assertEqual(self.daemon.call(type(request)), (path, request))

    def widgets(self, make, request, answer, expected):
        self.check(make, "widgetd.v1.WidgetService", request, answer, expected)

    def test_every_method_sends_its_request_and_reads_its_answer(self):
        held = widgetd.Widget(
            "a",
            "k",
            visible=True,
            enabled=True,
            state=widgetd.PresenceState.VISIBLE,
            data={"n": 1},
            created_revision=1,
            revision=1,
        )
        message, n = widget("a", n=1), {"n": pb.Value(int_value=1)}
        self.widgets(
            lambda c: c.create_widget(
                "k",
                "a",
                family="small",
                labels={"p": "top"},
                visible=False,
                data={"n": 1},
                request_id="r",
            ),
            pb.CreateWidgetRequest(
                request_id="r",
                widget=pb.WidgetSpec(
                    id="a", kind="k", family=1, labels={"p": "top"}, visible=False, data=n
                ),
            ),
            pb.CreateWidgetResponse(widget=message),
            held,
        )
        self.widgets(
            lambda c: c.get_widget(
                "a", fields=["data.n"], content_family="inline", redacted=True
            ),
            pb.GetWidgetRequest(
                id="a",
                read_mask={"paths": ["data.n"]},
                content_family=pb.FAMILY_INLINE,
                redacted=True,
            ),
            pb.GetWidgetResponse(widget=message),
            held,
        )
        self.widgets(
            lambda c: c.list_widgets(
                widgetd.Selector(labels={"p": "top"}),
                page_size=2,
                content_family=widgetd.Family.INLINE,
                redacted=True,
            ),
            pb.ListWidgetsRequest(
                content_family=pb.FAMILY_INLINE,
                redacted=True,
                page_size=2,
                selector=pb.WidgetSelector(
                    labels=[pb.LabelRequirement(key="p", operator=1, values=["top"])]
                ),
            ),
            pb.ListWidgetsResponse(widgets=[message], next_page_token="x", revision=4),
            widgetd.WidgetPage((held,), "x", 4),
        )
        self.widgets(
            lambda c: c.update_widget(
                "a",
                {"n": 1},
                unset_data=["m"],
                labels={"l": "1"},
                stale=False,
                error=widgetd.WidgetError(""),
                etag="e",
            ),
            pb.UpdateWidgetRequest(
                id="a",
                etag="e",
                patch=pb.WidgetPatch(
                    set_data=n,
                    unset_data=["m"],
                    set_labels={"l": "1"},
                    stale=False,
                    error=pb.WidgetError(),
                ),
            ),
            pb.UpdateWidgetResponse(revision=3, changed=True),
            widgetd.Updated(None, 3, True),
        )
        self.widgets(
            lambda c: c.delete_widget("a", allow_missing=True),
            pb.DeleteWidgetRequest(id="a", allow_missing=True),
            pb.DeleteWidgetResponse(revision=6),
            6,
        )
        self.widgets(
            lambda c: c.set_presence("hide", ids=["a"]),
            pb.SetPresenceRequest(ids=["a"], action=2),
            pb.SetPresenceResponse(changed_ids=["a"], changed_count=1, revision=2),
            widgetd.PresenceChanged(("a",), 1, 2),
        )
        self.widgets(
            lambda c: c.refresh_widgets(selector=widgetd.Selector(kinds=["k"])),
            pb.RefreshWidgetsRequest(selector=pb.WidgetSelector(kinds=["k"])),
            pb.RefreshWidgetsResponse(
                asked_count=2,
                unprovided_count=1,
                limited_count=3,
                budgets=[pb.RefreshBudget(kind="k", remaining=4, capacity=5)],
            ),
            widgetd.Refreshed(2, 1, 3, (widgetd.RefreshBudget("k", 4, 5),)),
        )
        self.widgets(
            lambda c: c.move_widget("a", after="b"),
            pb.MoveWidgetRequest(id="a", after="b"),
            pb.MoveWidgetResponse(widget=message),
            held,
        )
        self.widgets(
            lambda c: c.apply_widgets(
                [
                    widgetd.WidgetSpec("a", "k"),
                    widgetd.WidgetSpec(
                        "b",
                        "k",
                        timeline=widgetd.Timeline(
                            [widgetd.TimelineEntry(EPOCH, {"n": 1})], policy="never"
                        ),
                    ),
                ],
                prune=True,
            ),
            pb.ApplyWidgetsRequest(
                widgets=[
                    pb.WidgetSpec(id="a", kind="k"),
                    pb.WidgetSpec(
                        id="b",
                        kind="k",
                        timeline={
                            "policy": 3,
                            "entries": [{"date": {}, "values": n}],
                        },
                    ),
                ],
                prune=True,
            ),
            pb.ApplyWidgetsResponse(results=[pb.ApplyResult(id="a", action=1)], revision=2),
            widgetd.Applied((("a", widgetd.ApplyAction.CREATED),), 0, 2),
        )
        self.widgets(
            lambda c: c.send_event("a", "click", {"n": 1}, client="me"),
            pb.SendEventRequest(widget_id="a", name="click", payload=n, client="me"),
            pb.SendEventResponse(sequence=9, revision=2),
            widgetd.Sent(9, 2),
        )
        self.widgets(
            lambda c: c.unsubscribe(4), pb.UnsubscribeRequest(subscription_id=4), b"", None
        )
        self.widgets(
            lambda c: c.request_progress(4), pb.RequestProgressRequest(subscription_id=4), b"", None
        )
        catalog = "widgetd.v1.CatalogService"
        kind = widgetd.Kind("k", data=[widgetd.Field("n", "int", 0)])
        kind_pb = pb.Kind(
            name="k", data=[pb.Field(name="n", type="int", default_value=pb.Value(int_value=0))]
        )
        answered = widgetd.Kind(
            "k", data=(widgetd.Field("n", "int", 0),), provider="p", revision=3, owner_uid=7,
            attended=True, provider_connected=True,
        )
        answered_pb = pb.Kind(
            provider="p", revision=3, owner_uid=7, attended=True, provider_connected=True
        )
        answered_pb.MergeFrom(kind_pb)
        self.check(
            lambda c: c.apply_kinds(
                [kind], provider="p", prune=True, validate_only=True, request_id="r"
            ),
            catalog,
            pb.ApplyKindsRequest(
                kinds=[kind_pb], provider="p", prune=True, validate_only=True, request_id="r"
            ),
            pb.ApplyKindsResponse(
                results=[
                    pb.KindResult(
                        name="k",
                        action=2,
                        widgets_changed=4,
                        lost_fields=[
                            pb.LostField(widget_id="w", path="data.n", set_aside=True)
                        ],
                        lost_fields_count=9,
                    )
                ],
                revision=3,
            ),
            widgetd.KindsApplied(
                (
                    widgetd.KindResult(
                        "k",
                        widgetd.ApplyAction.UPDATED,
                        widgets_changed=4,
                        lost_fields=(widgetd.LostField("w", "data.n", True),),
                        lost_fields_count=9,
                    ),
                ),
                3,
            ),
        )
        self.check(
            lambda c: c.get_kind("k"),
            catalog,
            pb.GetKindRequest(name="k"),
            pb.GetKindResponse(kind=answered_pb),
            answered,
        )
        self.check(
            lambda c: c.list_kinds(page_size=2, page_token="j"),
            catalog,
            pb.ListKindsRequest(page_size=2, page_token="j"),
            pb.ListKindsResponse(kinds=[answered_pb], next_page_token="k", revision=4),
            widgetd.KindPage((answered,), "k", 4),
        )
        self.check(
            lambda c: c.delete_kind("k", allow_missing=True, request_id="r"),
            catalog,
            pb.DeleteKindRequest(name="k", allow_missing=True, request_id="r"),
            pb.DeleteKindResponse(revision=6),
            6,
        )
        installed_pb = pb.InstalledBundle(
            id="b", version="1.0.0", folder="/f/b", former_version="0.9.0", widgets=["w"]
        )
        installed = widgetd.InstalledBundle(
            "b", "1.0.0", "/f/b", former_version="0.9.0", widgets=("w",)
        )
        change = widgetd.BundleChange(installed, "0.9.0", ("look",))
        self.check(
            lambda c: c.install_bundle(b"x", "b.zip", sha256="00"),
            catalog,
            pb.InstallBundleRequest(content=b"x", file_name="b.zip", sha256="00"),
            pb.InstallBundleResponse(
                bundle=installed_pb, former_version="0.9.0", warnings=["look"]
            ),
            change,
        )
        self.check(
            lambda c: c.list_bundles(),
            catalog,
            pb.ListBundlesRequest(),
            pb.ListBundlesResponse(bundles=[installed_pb], folder="/f"),
            (installed,),
        )
        self.check(
            lambda c: c.delete_bundle("b", force=True),
            catalog,
            pb.DeleteBundleRequest(id="b", force=True),
            pb.DeleteBundleResponse(),
            None,
        )
        self.check(
            lambda c: c.rollback_bundle("b", version="0.9.0"),
            catalog,
            pb.RollbackBundleRequest(id="b", version="0.9.0"),
            pb.RollbackBundleResponse(
                bundle=installed_pb, former_version="0.9.0", warnings=["look"]
            ),
            change,
        )
        self.check(
            lambda c: c.set_bundle_defaults("b", {"unit": "F"}, unset=["city"]),
            catalog,
            pb.SetBundleDefaultsRequest(
                id="b", values={"unit": pb.Value(string_value="F")}, unset=["city"]
            ),
            pb.SetBundleDefaultsResponse(
                settings=[
                    pb.BundleSetting(
                        name="unit",
                        type="string",
                        value=pb.Value(string_value="F"),
                        default_value=pb.Value(string_value="C"),
                    )
                ]
            ),
            (widgetd.BundleSetting("unit", "string", "F", "C"),),
        )
        self.check(
            lambda c: c.diff_bundle(b"x", "b.zip"),
            catalog,
            pb.DiffBundleRequest(content=b"x", file_name="b.zip"),
            pb.DiffBundleResponse(
                id="b", differences=[pb.BundleDifference(path="name", before="")]
            ),
            (widgetd.BundleDifference("name", before=""),),
        )
        admin = "widgetd.v1.AdminService"
        self.check(
            lambda c: c.reload(),
            admin,
            pb.ReloadRequest(),
            pb.ReloadResponse(applied=["x"]),
            widgetd.Reloaded(("x",), ()),
        )
        self.check(
            lambda c: c.set_log_level("debug"),
            admin,
            pb.SetLogLevelRequest(level=2),
            pb.SetLogLevelResponse(previous=3),
            widgetd.LogLevel.INFO,
        )
        stats = pb.GetStatsResponse(version="1", counters={"c": 2}, uptime={"seconds": 3})
        self.check(
            lambda c: c.get_stats(),
            admin,
            pb.GetStatsRequest(),
            stats,
            widgetd.model.Stats.from_pb(stats),
        )
        self.check(
            lambda c: c.check_health(),
            "grpc.health.v1.Health",
            methods.CHECK_HEALTH.request(),
            serving(),
            widgetd.Health.SERVING,
        )

    def test_a_preview_has_its_family_and_content(self):
        service = "widgetd.v1.TimelineService"
        line = pb.Node(id="line", type=pb.NODE_TYPE_LABEL)
        message = pb.Preview(
            kind="k",
            family=pb.FAMILY_SMALL,
            content=pb.Content(root_id="line", nodes=[line]),
            sample=True,
            reason="no provider",
        )
        preview = widgetd.Preview(
            "k",
            widgetd.Family.SMALL,
            {},
            {},
            widgetd.Content("line", [widgetd.Node("line", widgetd.NodeType.LABEL)]),
            True,
            "no provider",
        )
        self.check(
            lambda c: c.get_snapshot("k", {"n": 1}, family="small"),
            service,
            pb.GetSnapshotRequest(
                kind="k", family=pb.FAMILY_SMALL, parameters={"n": pb.Value(int_value=1)}
            ),
            pb.GetSnapshotResponse(preview=message),
            preview,
        )
        self.check(
            lambda c: c.get_placeholder("k", family="small"),
            service,
            pb.GetPlaceholderRequest(kind="k", family=pb.FAMILY_SMALL),
            pb.GetPlaceholderResponse(preview=message),
            preview,
        )
        without = pb.GetPlaceholderResponse(preview=pb.Preview(kind="k"))
        self.check(
            lambda c: c.get_placeholder("k"),
            service,
            pb.GetPlaceholderRequest(kind="k"),
            without,
            widgetd.Preview("k", widgetd.Family.UNSPECIFIED, {}, {}, None, False, ""),
        )

    def test_there_is_a_method_for_every_rpc(self):
        from widgetd._proto.v1 import admin_service_pb2, catalog_service_pb2, widget_service_pb2

        known = {m.path for m in vars(methods).values() if isinstance(m, methods.Method)}
        for file, name in (
            (widget_service_pb2, "WidgetService"),
            (catalog_service_pb2, "CatalogService"),
            (admin_service_pb2, "AdminService"),
        ):
            for rpc in file.DESCRIPTOR.services_by_name[name].methods:
                self.assertIn(f"/widgetd.v1.{name}/{rpc.name}", known)
                called = "".join("_" + c.lower() if c.isupper() else c for c in rpc.name).lstrip(
                    "_"
                )
                called = {"watch_widgets": "watch"}.get(called, called)
                self.assertTrue(callable(getattr(widgetd.Client, called)), called)

    def test_messages_has_the_messages_of_every_rpc(self):
        for method in vars(methods).values():
            if isinstance(method, methods.Method) and method.service.startswith("widgetd."):
                for message in (method.request, method.response):
                    self.assertIs(getattr(pb, message.__name__, None), message)

    def test_both_clients_have_the_same_methods_and_arguments(self):
        def shape(of):
            found = {}
            for name, method in inspect.getmembers(of, inspect.isfunction):
                if not name.startswith("_"):
                    found[name] = [
                        (p.name, p.kind, p.default if p.name != "retry" else None)
                        for p in inspect.signature(method).parameters.values()
                    ]
            return found

        self.assertEqual(shape(widgetd.Client), shape(widgetd.AsyncClient))

    def test_all_widgets_are_read_page_by_page(self):
        def answer(request):
            at = int(pb.ListWidgetsRequest.FromString(request).page_token or 0)
            token = str(at + 1) if at < 2 else ""
            return pb.ListWidgetsResponse(widgets=[widget(f"w{at}")], next_page_token=token)

        self.daemon.answers["ListWidgets"] = answer
        self.assertEqual([w.id for w in self.client.widgets()], ["w0", "w1", "w2"])

    def test_all_kinds_are_read_page_by_page(self):
        pages = {"": "a", "a": "b", "b": "c"}

        def answer(request):
            name = pages[pb.ListKindsRequest.FromString(request).page_token]
            token = name if name in pages else ""
            return pb.ListKindsResponse(kinds=[pb.Kind(name=name)], next_page_token=token)

        async def names():
            async with widgetd.AsyncClient(self.relay.path) as client:
                return [kind.name async for kind in client.kinds()]

        self.daemon.answers["ListKinds"] = answer
        self.assertEqual([kind.name for kind in self.client.kinds()], ["a", "b", "c"])
        self.assertEqual(asyncio.run(names()), ["a", "b", "c"])

    def test_the_same_request_has_the_same_bytes(self):
        data = {f"key{n}": n for n in range(50)}
        for order in (data, dict(reversed(list(data.items())))):
            self.client.update_widget("a", order, request_id="r")
        first, second = (self.daemon.calls.get()[1] for _ in range(2))
        self.assertEqual(first, second)

    def test_a_call_ends_at_its_deadline(self):
        over = threading.Event()
        self.addCleanup(over.set)
        self.daemon.answers["GetWidget"] = lambda request: over.wait() or b""
        with self.assertRaises(widgetd.DeadlineExceeded) as caught:
            self.client.get_widget("a", timeout=0.05)
        self.assertIn("did not answer within 0.05 s", str(caught.exception))
        with self.assertRaises(widgetd.DeadlineExceeded):
            self.client.get_widget("a", timeout=-1)

    def test_a_lost_connection_is_told_where_a_change_may_have_been_made(self):
        def lose(request):
            self.relay.drop()
            return b""

        self.daemon.answers["UpdateWidget"] = lose
        for make in (
            lambda: self.client.update_widget("a", {"n": 1}),
            lambda: asyncio.run(self.update()),
        ):
            with self.assertRaises(widgetd.ConnectionLost) as caught:
                make()
            self.assertIn("request id", str(caught.exception))
            self.assertEqual(self.daemon.calls.qsize(), 1)
            self.daemon.calls.get()

    async def update(self, **arguments):
        async with widgetd.AsyncClient(self.relay.path) as client:
            return await client.update_widget("a", {"n": 1}, **arguments)

    def test_what_can_be_repeated_is_made_again_with_the_same_bytes(self):
        def lose_once(answer):
            left = [True]

            def answered(request):
                if left and left.pop():
                    self.relay.drop()
                return answer

            return answered

        for make in (
            lambda: self.client.update_widget("a", {"n": 1}, request_id="r"),
            lambda: asyncio.run(self.update(request_id="r")),
        ):
            self.daemon.answers["UpdateWidget"] = lose_once(pb.UpdateWidgetResponse(revision=7))
            self.assertEqual(make().revision, 7)
            asked = {self.daemon.calls.get() for _ in range(self.daemon.calls.qsize())}
            self.assertEqual(len(asked), 1)
        self.daemon.answers["GetWidget"] = lose_once(pb.GetWidgetResponse(widget=widget("a")))
        self.assertEqual(self.client.get_widget("a").id, "a")
        self.daemon.answers["GetKind"] = lose_once(pb.GetKindResponse(kind=pb.Kind(name="k")))
        self.assertEqual(self.client.get_kind("k").name, "k")
        self.daemon.answers["ListKinds"] = lose_once(pb.ListKindsResponse(revision=5))
        self.assertEqual(self.client.list_kinds().revision, 5)

    def test_wrong_arguments_fail_before_anything_is_sent(self):
        for wrong in (
            lambda: self.client.move_widget("a"),
            lambda: self.client.move_widget("a", first=True, after="b"),
            lambda: self.client.set_presence("explode", all=True),
            lambda: self.client.watch(after_sequence=1),
            lambda: self.client.get_widget("\ud800"),
            lambda: self.client.apply_kinds([widgetd.Kind("k", families=["huge"])]),
            lambda: self.client.apply_kinds(
                [widgetd.Kind("k", data=[widgetd.Field("n", default=2**63)])]
            ),
            lambda: self.client.call(methods.WATCH_WIDGETS, pb.WatchWidgetsRequest()),
        ):
            with self.assertRaises(ValueError):
                wrong()
        for wrong in (
            lambda: self.client.watch(widgetd.Selector(ids="abc")),
            lambda: self.client.get_widget("a", fields="data"),
            lambda: self.client.create_widget("k", labels={"a": 1}),
            lambda: self.client.apply_kinds([widgetd.Kind("k", families="small")]),
            lambda: self.client.apply_kinds(
                [widgetd.Kind("k", reducers=[widgetd.Reducer("e", set={"n": 1})])]
            ),
            lambda: self.client.apply_kinds(
                [widgetd.Kind("k", reducers=[widgetd.Reducer("e", unset="n")])]
            ),
        ):
            with self.assertRaises(TypeError):
                wrong()
        self.assertTrue(self.daemon.calls.empty() and self.daemon.streams.empty())

    def test_an_answer_that_is_no_message_is_a_protocol_error(self):
        self.daemon.answers["GetWidget"] = b"\xff"
        with self.assertRaises(widgetd.ProtocolError):
            self.client.get_widget("a")


class WatchTests(DaemonCase):
    """Each test runs with both clients: `frames` reads so many frames of a watch."""

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

    def test_events_continue_after_the_last_one_with_what_is_missing_said(self):
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

    def test_a_stream_that_ended_well_ends_the_watch(self):
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

    def test_a_daemon_that_comes_late_is_waited_for_if_asked(self):
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

    def test_a_slow_reader_does_not_make_this_side_gather_what_it_was_not_asked_for(self):
        """A watch reads a frame when it is asked for one, so that the daemon sees who is slow."""
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
        # A call of its own, answered after what was on its way.
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

    def test_it_yields_each_state_and_starts_over_when_it_has_lost_its_way(self):
        self.scripts()
        self.check(
            [
                (state.revision, {w.id: w.data["n"] for w in state})
                for state in self.client.follow(retry=SOON)
            ]
        )

    def test_asynchronously_too(self):
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
