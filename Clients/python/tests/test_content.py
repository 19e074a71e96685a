"""What widgets show: read, kept true by changes, printed, and declared by kinds."""

import dataclasses
import random
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
    _json,
)
from widgetd import messages as pb
from widgetd.frames import Changes, Snapshot
from widgetd.mirror import Mirror
from widgetd.model import to_value

from .fake import changes, chunk, updated, widget


def message(id, *children, type=pb.NODE_TYPE_STACK, problem="", **properties):
    made = pb.Node(id=id, type=type, child_ids=children, problem=problem)
    for name, thing in properties.items():
        made.properties[name].CopyFrom(to_value(thing))
    return made


def table(root_id, *nodes):
    return pb.Content(root_id=root_id, nodes=nodes)


LIST = table(
    "list",
    message("list", "title", "row/a"),
    message("title", type=pb.NODE_TYPE_LABEL, text="To do", problem="lines: no"),
    message("row/a", type=99),
)


def shape(content):
    return None if content is None else [node.id for node in content]


class ContentTests(unittest.TestCase):
    def setUp(self):
        self.held = Content.from_pb(LIST)

    def test_nodes_are_read_and_found(self):
        self.assertEqual(
            self.held["title"],
            Node("title", NodeType.LABEL, {"text": "To do"}, (), "lines: no"),
        )
        self.assertIs(self.held.root, self.held["list"])
        self.assertIs(self.held["row/a"].type, NodeType.UNSPECIFIED)
        self.assertEqual(self.held.children(self.held["list"]), self.held.nodes[1:])
        self.assertEqual((self.held.get("x"), len(self.held)), (None, 3))
        self.assertTrue("title" in self.held and "x" not in self.held)
        with self.assertRaises(KeyError):
            self.held["x"]

    def test_a_content_without_its_root_is_still_one(self):
        empty = Content.from_pb(table("gone"))
        self.assertEqual((bool(empty), empty.root, len(empty)), (True, None, 0))

    def test_a_widget_has_it_or_none(self):
        made = widget("a")
        self.assertIsNone(widgetd.Widget.from_pb(made).content)
        made.content.CopyFrom(LIST)
        self.assertEqual(widgetd.Widget.from_pb(made).content, self.held)

    def change(self, held=None, **fields):
        return Content.changed(held, pb.ContentChange(**fields))

    def test_what_a_change_does_not_name_stays(self):
        after = self.change(self.held, set_nodes=[message("title", text="Done")])
        self.assertEqual(shape(after), ["list", "title", "row/a"])
        self.assertEqual(after["title"].properties, {"text": "Done"})
        self.assertIs(after["row/a"], self.held["row/a"])
        self.assertEqual(self.held["title"].properties, {"text": "To do"})

    def test_nodes_come_in_the_order_of_the_tree_and_what_it_does_not_reach_goes(self):
        after = self.change(
            self.held,
            set_nodes=[message("row/b"), message("list", "row/b", "title"), message("lost")],
            removed_node_ids=["row/a", "never"],
        )
        self.assertEqual(shape(after), ["list", "row/b", "title"])
        self.assertEqual(shape(self.change(after, root_id="title")), ["title"])

    def test_a_removal_comes_before_what_is_set(self):
        after = self.change(
            self.held, set_nodes=[message("title", text="new")], removed_node_ids=["title"]
        )
        self.assertEqual(after["title"].properties, {"text": "new"})

    def test_replace_forgets_all_nodes_first_and_without_a_root_there_is_none_left(self):
        new = self.change(
            self.held, replace=True, root_id="n", set_nodes=[message("n", "title")]
        )
        self.assertEqual(shape(new), ["n"])
        self.assertIsNone(self.change(self.held, replace=True))
        self.assertIsNone(self.change(None, set_nodes=[message("n")]))
        self.assertEqual(shape(self.change(None, root_id="n", set_nodes=[message("n")])), ["n"])

    def test_circles_end(self):
        nodes = [message("a", "b", "a"), message("b", "a", "b", "b")]
        self.assertEqual(shape(self.change(None, root_id="a", set_nodes=nodes)), ["a", "b"])

    def test_any_changes_give_what_a_naive_reader_has(self):
        for seed in range(200):
            dice = random.Random(seed)
            held, nodes, root = None, {}, ""
            for _ in range(20):
                replace = dice.random() < 0.2
                new_root = f"n{dice.randrange(8)}" if dice.random() < 0.4 else ""
                gone = [f"n{i}" for i in range(8) if dice.random() < 0.2]
                made = [
                    message(
                        f"n{dice.randrange(8)}",
                        *(f"n{dice.randrange(8)}" for _ in range(dice.randrange(4))),
                        v=dice.random(),
                    )
                    for _ in range(dice.randrange(6))
                ]
                held = self.change(
                    held, replace=replace, root_id=new_root, set_nodes=made, removed_node_ids=gone
                )
                if replace:
                    nodes, root = {}, ""
                root = new_root or root
                nodes = {id: node for id, node in nodes.items() if id not in gone}
                nodes.update((node.id, node) for node in made)
                order = []

                def walk(id):
                    if id in nodes and id not in order:
                        order.append(id)
                        for child in nodes[id].child_ids:
                            walk(child)

                walk(root)
                nodes = {id: nodes[id] for id in order}
                if not root:
                    self.assertIsNone(held, seed)
                    continue
                expected = Content.from_pb(table(root, *nodes.values()))
                self.assertEqual(held, expected, seed)


class MirrorTests(unittest.TestCase):
    def setUp(self):
        made = widget("a", n=1)
        made.content.CopyFrom(LIST)
        self.mirror = Mirror()
        self.mirror.apply(Snapshot(1, b"t", (chunk(made, widget("b")),)))

    def apply(self, start, end, *items):
        frame = changes(start, end, *items).changes
        return self.mirror.apply(Changes(start, end, frame.resume_token, frame))

    def test_it_keeps_content_true(self):
        before = self.mirror["a"]
        change = updated("a", 2)
        change.updated.content.set_nodes.append(message("title", text="Done"))
        self.assertEqual(self.apply(1, 2, change).updated, ("a",))
        self.assertEqual(self.mirror["a"].content["title"].properties, {"text": "Done"})
        self.assertEqual(before.content["title"].properties, {"text": "To do"})
        self.assertEqual(self.mirror["a"].data, {"n": 1})
        self.apply(2, 3, updated("a", 3, n=2))
        self.assertEqual(self.mirror["a"].content["title"].properties, {"text": "Done"})

    def test_content_comes_and_goes(self):
        come, go = updated("b", 2), updated("a", 2)
        come.updated.content.CopyFrom(
            pb.ContentChange(replace=True, root_id="x", set_nodes=[message("x")])
        )
        go.updated.content.replace = True
        self.apply(1, 2, come, go)
        self.assertIsNone(self.mirror["a"].content)
        self.assertEqual(shape(self.mirror["b"].content), ["x"])


class DocumentTests(unittest.TestCase):
    def test_content_is_printed_as_widgetctl_does(self):
        made = widget("a")
        made.content.CopyFrom(LIST)
        thing = widgetd.Widget.from_pb(made)
        self.assertEqual(
            _json.dumps(_json.widget(thing)["content"]),
            '{"nodes":[{"childIds":["title","row/a"],"id":"list","type":"stack"},'
            '{"id":"title","problem":"lines: no","properties":{"text":"To do"},"type":"label"},'
            '{"id":"row/a","type":"unknown"}],"rootId":"list"}',
        )
        self.assertNotIn("content", _json.widget(thing, ["data"]))
        self.assertNotIn("content", _json.widget(widgetd.Widget("a", "k")))

    def test_a_change_of_content_is_printed_as_widgetctl_does(self):
        change = updated("a", 2)
        change.updated.content.CopyFrom(
            pb.ContentChange(
                replace=True, root_id="n", set_nodes=[message("n")], removed_node_ids=["m"]
            )
        )
        frame = changes(1, 2, change).changes
        (document,) = _json.frame(Changes(1, 2, b"", frame))
        self.assertEqual(
            _json.dumps(document["changes"][0]["updated"]["content"]),
            '{"removedNodeIds":["m"],"replace":true,"rootId":"n",'
            '"setNodes":[{"id":"n","type":"stack"}]}',
        )


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

    def test_templates_survive_the_way_there_and_back(self):
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
