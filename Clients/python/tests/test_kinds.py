"""Kinds as messages and as values."""

import dataclasses
import unittest
from datetime import datetime, timedelta, timezone

import widgetd
from widgetd import Curve, EventType, Family, Field, Kind, Reducer, Transition
from widgetd import messages as pb

TIME = datetime(2026, 1, 2, 3, 4, 5, 678, timezone.utc)
WHOLE = Kind(
    name="gauge",
    display_name="Gauge",
    description="Shows a level.",
    families=(Family.SMALL, Family.EXTRA_LARGE),
    parameters=(Field("source", "string", description="Where from.", required=True),),
    data=(
        Field("level", "double", 0.0, "From 0 to 1."),
        Field("note", "string", None),
        Field("anything"),
        Field("names", "list(map(string, int))", [{"a": 1}]),
    ),
    open=True,
    events=(EventType("press", "Somebody pressed it.", (Field("button", "int", 1),)),),
    reducers=(
        Reducer("press", "knob", "data.level < 1.0", {"level": "1.0", "note": "'full'"}, ("names",)),
        Reducer("press"),
    ),
    transition=Transition(Curve.SPRING, timedelta(seconds=0.25), 0.5, 0.75),
    provider="sysmon",
    revision=7,
    update_time=TIME,
    owner_uid=1000,
)


class KindTests(unittest.TestCase):
    def test_every_field_of_the_messages_has_a_place(self):
        """The test fails if the schema has a field that this package does not know."""
        other = {"default_value": "default"}
        for mine, theirs in (
            (Kind, pb.Kind),
            (Field, pb.Field),
            (EventType, pb.EventType),
            (Reducer, pb.Reducer),
            (widgetd.KindResult, pb.KindResult),
            (widgetd.KindsApplied, pb.ApplyKindsResponse),
            (widgetd.KindPage, pb.ListKindsResponse),
        ):
            self.assertEqual(
                sorted(field.name for field in dataclasses.fields(mine)),
                sorted(other.get(field.name, field.name) for field in theirs.DESCRIPTOR.fields),
            )

    def test_a_kind_comes_back_unchanged_except_for_the_daemons_fields(self):
        back = Kind.from_pb(pb.Kind.FromString(WHOLE.message_pb().SerializeToString()))
        plain = dataclasses.replace(WHOLE, provider="", revision=0, update_time=None, owner_uid=0)
        self.assertEqual(back, plain)
        self.assertEqual(Kind.from_pb(pb.Kind(name="k")), Kind("k"))

    def test_the_daemons_fields_are_read(self):
        message = WHOLE.message_pb()
        message.provider, message.revision, message.owner_uid = "sysmon", 7, 1000
        message.update_time.FromDatetime(TIME)
        self.assertEqual(Kind.from_pb(message), WHOLE)

    def test_no_default_and_null_are_told_apart(self):
        nothing, null = Field("n").message_pb(), Field("n", default=None).message_pb()
        self.assertFalse(nothing.HasField("default_value"))
        self.assertEqual(null.default_value.WhichOneof("kind"), "null_value")
        self.assertIs(Field.from_pb(nothing).default, widgetd.NO_DEFAULT)
        self.assertIsNone(Field.from_pb(null).default)
        self.assertIn("default=NO_DEFAULT", repr(Field("n")))

    def test_families_can_be_named_by_word_and_unknown_ones_are_read_as_unspecified(self):
        self.assertEqual(Kind("k", families=["extra-large", 1]).message_pb().families, [4, 1])
        self.assertEqual(
            Kind.from_pb(pb.Kind(name="k", families=[99])).families, (Family.UNSPECIFIED,)
        )

    def test_they_are_values(self):
        self.assertEqual(WHOLE, dataclasses.replace(WHOLE))
        for thing in (WHOLE, WHOLE.data[0], WHOLE.events[0]):
            with self.assertRaises(dataclasses.FrozenInstanceError):
                thing.name = "other"
