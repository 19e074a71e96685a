import ast
import glob
import math
import os
import unittest
from datetime import datetime, timedelta, timezone

import widgetd
from widgetd import messages as pb
from widgetd._values import from_value, to_value

PACKAGE = os.path.dirname(widgetd.__file__)


class ValueTests(unittest.TestCase):
    def test_plain_values_come_back_unchanged(self):
        for thing in (
            None,
            True,
            False,
            0,
            -(2**63),
            2**63 - 1,
            1.0,
            "ü",
            b"\0\xff",
            [],
            {},
            [1, [2.5, {"a": None}]],
            {"b": [True], "a": {"x": "y"}},
            datetime(1, 1, 1, tzinfo=timezone.utc),
            datetime(2026, 1, 2, 3, 4, 5, 678, timezone.utc),
            timedelta(seconds=-1.5),
            timedelta(microseconds=-1),
            timedelta(days=3650000),
        ):
            back = from_value(pb.Value.FromString(to_value(thing).SerializeToString()))
            self.assertEqual(back, thing)
            self.assertIs(type(back), type(thing))
        self.assertTrue(math.isnan(from_value(to_value(math.nan))))

    def test_a_value_that_no_message_can_carry_is_refused_early(self):
        loop = []
        loop.append(loop)
        for thing in (2**63, -(2**63) - 1, datetime(2026, 1, 1), "\ud800", loop):
            with self.assertRaises(ValueError):
                to_value(thing)
        for thing in (object(), {1: 2}, {1, 2}):
            with self.assertRaises(TypeError):
                to_value(thing)

    def test_a_negative_duration_has_both_parts_negative(self):
        message = to_value(timedelta(seconds=-1.5)).duration_value
        self.assertEqual((message.seconds, message.nanos), (-1, -500_000_000))

    def test_a_value_of_an_unknown_kind_is_none(self):
        self.assertIsNone(from_value(pb.Value.FromString(b"\xa2\x06\x01x")))


class EnumTests(unittest.TestCase):
    def test_a_widget_has_failed_by_its_error_timeline_activity_or_content(self):
        failed = {
            "nothing": pb.Widget(),
            "error": pb.Widget(error=pb.WidgetError(reason="LOST")),
            "timeline": pb.Widget(timeline=pb.TimelineStatus(problem="There is no date.")),
            "fine": pb.Widget(timeline=pb.TimelineStatus()),
        }
        for state in (1, 2):
            task = pb.Widget(activity=pb.Activity(state=state))
            task.data["outcome"].CopyFrom(to_value("failed"))
            failed[f"activity {state}"] = task
        embed = dict(type=pb.NODE_TYPE_EMBED, problem='content: The widget "w" is stale.')
        for name, node in {
            "content": pb.Node(id="n", problem="text: division by zero"),
            "look": pb.Node(id="n", problem="color: division by zero"),
            "embed of another": pb.Node(id="e", child_ids=["e::root"], **embed),
            "node of another": pb.Node(id="e::root", problem="text: division by zero"),
            "embed of nothing": pb.Node(id="e", child_ids=["e::problem"], **embed),
        }.items():
            failed[name] = pb.Widget(content=pb.Content(root_id="n", nodes=[node]))
        placeholder = pb.Node(id="n", problem="text: no such key")
        placeholder.properties["text"].CopyFrom(to_value("-"))
        failed["placeholder"] = pb.Widget(content=pb.Content(root_id="n", nodes=[placeholder]))
        self.assertEqual(
            [name for name, message in failed.items() if widgetd.Widget.from_pb(message).failed],
            ["error", "timeline", "activity 2", "content", "embed of nothing"],
        )

    def test_the_enums_are_those_of_the_messages(self):
        for name in (
            "Family",
            "PresenceState",
            "PresenceAction",
            "ApplyAction",
            "Curve",
            "LabelOperator",
            "LogLevel",
            "NodeType",
            "Persistence",
        ):
            mine = getattr(widgetd, name)
            theirs = dict(getattr(pb, name).items())
            prefix = os.path.commonprefix(list(theirs))
            self.assertEqual(
                {m.name: m.value for m in mine},
                {key[len(prefix) :]: n for key, n in theirs.items()},
                name,
            )

    def test_words_name_members_and_unknown_numbers_read_as_unspecified(self):
        self.assertIs(widgetd.Family.of("extra-large"), widgetd.Family.EXTRA_LARGE)
        self.assertEqual(widgetd.Family.read(99), widgetd.Family.UNSPECIFIED)
        with self.assertRaisesRegex(ValueError, "there are small, medium"):
            widgetd.Family.of("huge")


class WrongArgumentTests(unittest.TestCase):
    """Arguments of another type are refused before anything is sent, with the right form."""

    def test_each_error_names_the_value_and_the_expected_type(self):
        client = widgetd.Client("/nowhere")
        self.addCleanup(client.close)
        gauge = widgetd.Kind("gauge")
        for call, words in (
            (lambda: client.get_widget(5), "5 is not text; ids, names and tokens are text"),
            (lambda: client.update_widget("a", [1]), "payloads are dicts, not [1]"),
            (lambda: client.update_widget("a", {1: 2}), "the key 1 is not text; write '1'"),
            (lambda: client.send_event("a", "b", 5), "payloads are dicts, not 5"),
            (lambda: client.create_widget("k", labels="a"), "labels are a dict, not 'a'"),
            (lambda: client.list_widgets("cpu"), "write widgetd.Selector(ids=[…])"),
            (lambda: client.watch({"ids": ["cpu"]}), "is not a Selector"),
            (
                lambda: client.watch(widgetd.Selector(labels="panel=top")),
                "labels is a dict, not 'panel=top'; write {'panel': 'top'}",
            ),
            (lambda: client.watch(min_interval="1s"), "'1s' is not a length of time"),
            (lambda: client.get_widget("a", timeout="x"), "the timeout is 'x'; use seconds"),
            (lambda: client.apply_kinds(gauge), "kinds is a list of Kind; write [kinds]"),
            (lambda: client.apply_kinds(["gauge"]), "kinds is a list of Kind, and has 'gauge'"),
            (lambda: client.apply_widgets(["a"]), "widgets is a list of WidgetSpec"),
            (lambda: widgetd.Provider("p", ["k"], "/nowhere"), "kinds is a list of Kind"),
        ):
            with self.assertRaises(TypeError) as caught:
                call()
            self.assertIn(words, str(caught.exception))


class PackageTests(unittest.TestCase):
    def test_every_file_is_valid_in_the_oldest_python(self):
        files = glob.glob(os.path.join(PACKAGE, "**", "*.py*"), recursive=True)
        files = [name for name in files if name.endswith((".py", ".pyi"))]
        self.assertGreater(len(files), 25)
        for name in files:
            with open(name, encoding="utf-8") as file:
                ast.parse(file.read(), name, feature_version=(3, 9))

    def test_others_own_google_rpc_and_grpc_health(self):
        """Other packages with these files in the same process must not clash with this package."""
        from google.rpc import error_details_pb2, status_pb2
        from grpc_health.v1 import health_pb2
        from widgetd._proto.health import health_pb2 as mine
        from widgetd._proto.rpc import status_pb2 as my_status

        theirs = status_pb2.Status(code=5, message="m")
        theirs.details.add().Pack(
            error_details_pb2.ErrorInfo(reason="WIDGET_NOT_FOUND", domain="widgetd")
        )
        error = widgetd.errors.call_error(5, "", theirs.SerializeToString())
        self.assertIs(type(error), widgetd.WidgetNotFound)
        self.assertIsNot(my_status.Status, status_pb2.Status)
        self.assertEqual(
            mine.HealthCheckResponse(status=1).SerializeToString(),
            health_pb2.HealthCheckResponse(status=1).SerializeToString(),
        )
