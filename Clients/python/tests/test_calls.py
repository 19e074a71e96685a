"""Each call of the client: its request and its answer."""

import asyncio
import dataclasses

import widgetd
from widgetd import methods, model
from widgetd import messages as pb

from .daemon_case import EPOCH, DaemonCase
from .fake import serving, widget


class CallTests(DaemonCase):
    """One row for each method: the call, the expected request, the answer, and the expected
    result."""

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
                            pb.LostField(widget_id="w", path="data.n", set_aside=True),
                            pb.LostField(widget_id="w", path="data.m", value=pb.Value(int_value=7)),
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
                        lost_fields=(
                            widgetd.LostField("w", "data.n", True),
                            widgetd.LostField("w", "data.m", value=7),
                        ),
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
            id="b",
            version="1.0.0",
            folder="/f/b",
            former_version="0.9.0",
            widgets=["w"],
            widget_kinds=["k"],
        )
        installed = widgetd.InstalledBundle(
            "b", "1.0.0", "/f/b", former_version="0.9.0", widgets=("w",), widget_kinds=("k",)
        )
        change = widgetd.BundleChange(installed, "0.9.0", ("look",))
        self.check(
            lambda c: c.install_bundle(b"x", "b.zip", sha256="00", force=True),
            catalog,
            pb.InstallBundleRequest(content=b"x", file_name="b.zip", sha256="00", force=True),
            pb.InstallBundleResponse(
                bundle=installed_pb,
                former_version="0.9.0",
                warnings=["look"],
                former_id="c",
                unchanged=True,
            ),
            dataclasses.replace(change, former_id="c", unchanged=True),
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
                bundle=installed_pb, former_version="0.9.0", warnings=["look"], former_id="c"
            ),
            dataclasses.replace(change, former_id="c"),
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
            model.Stats.from_pb(stats),
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
