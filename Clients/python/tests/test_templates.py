"""Templates of content, as messages and values."""

import dataclasses
import unittest

import widgetd
from widgetd import (
    Binding,
    Content,
    ContentTemplate,
    Family,
    Kind,
    Node,
    NodeTemplate,
    NodeType,
    Persistence,
    RowTemplate,
)
from widgetd import messages as pb
from widgetd._values import to_value



TEMPLATE = ContentTemplate(
    root=NodeTemplate(
        "list",
        NodeType.STACK,
        {"axis": Binding(value="vertical"), "spacing": Binding("data.room", 2.0)},
        children=(
            NodeTemplate(
                "row",
                NodeType.LABEL,
                {"text": Binding("item.text")},
                "item.text != ''",
                RowTemplate("data.items", "item", "item.id"),
            ),
        ),
    ),
    families=(Family.SMALL,),
)


class TemplateTests(unittest.TestCase):
    def test_every_field_of_the_messages_has_a_place(self):
        for mine, theirs in (
            (Node, pb.Node),
            (Content, pb.Content),
            (Binding, pb.Binding),
            (RowTemplate, pb.RowTemplate),
            (NodeTemplate, pb.NodeTemplate),
            (ContentTemplate, pb.ContentTemplate),
        ):
            self.assertEqual(
                sorted(field.name for field in dataclasses.fields(mine)),
                sorted(field.name for field in theirs.DESCRIPTOR.fields),
            )

    def test_templates_come_back_unchanged(self):
        kind = Kind("todo", content=(TEMPLATE,), persistence=Persistence.VOLATILE)
        back = Kind.from_pb(pb.Kind.FromString(kind.message_pb().SerializeToString()))
        self.assertEqual(back, kind)

    def test_types_and_persistence_are_named_by_word_and_values_may_stand_for_bindings(self):
        short = Kind(
            "todo",
            content=[ContentTemplate(NodeTemplate("t", "label", {"text": "Hi", "lines": None}))],
            persistence="volatile",
        ).message_pb()
        self.assertEqual(short.persistence, pb.PERSISTENCE_VOLATILE)
        root = short.content[0].root
        self.assertEqual(root.type, pb.NODE_TYPE_LABEL)
        self.assertEqual(root.properties["text"], pb.Binding(value=to_value("Hi")))
        self.assertEqual(root.properties["lines"], pb.Binding(value=to_value(None)))
        with self.assertRaisesRegex(ValueError, "there are label, image"):
            NodeTemplate("t", "lable").message_pb()

    def test_no_value_and_null_are_told_apart(self):
        self.assertIs(Binding.from_pb(Binding("data.n").message_pb()).value, widgetd.NO_VALUE)
        self.assertIsNone(Binding.from_pb(Binding("data.n", None).message_pb()).value)
