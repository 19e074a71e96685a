"""The content of widgets: reading, changes, and documents."""

import copy
import pickle
import random
import unittest
from datetime import datetime, timezone

import widgetd
from widgetd import Content, ContentDifference, Node, NodeType, _json
from widgetd import messages as pb
from widgetd.frames import Changes

from .content_trees import (
    LIST,
    is_tree,
    message,
    naive_difference,
    read,
    sensible,
    shape,
    spoiled,
    table,
    walk,
)
from .fake import changes, updated, widget


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

    def test_nodes_that_a_change_does_not_name_stay(self):
        after = self.change(self.held, set_nodes=[message("title", text="Done")])
        self.assertEqual(shape(after), ["list", "title", "row/a"])
        self.assertEqual(after["title"].properties, {"text": "Done"})
        self.assertIs(after["row/a"], self.held["row/a"])
        self.assertEqual(self.held["title"].properties, {"text": "To do"})

    def test_nodes_are_in_tree_order_and_unreachable_ones_are_removed(self):
        after = self.change(
            self.held,
            set_nodes=[message("row/b"), message("list", "row/b", "title"), message("lost")],
            removed_node_ids=["row/a", "never"],
        )
        self.assertEqual(shape(after), ["list", "row/b", "title"])
        self.assertEqual(shape(self.change(after, root_id="title")), ["title"])

    def test_removals_are_applied_before_set_nodes(self):
        after = self.change(
            self.held, set_nodes=[message("title", text="new")], removed_node_ids=["title"]
        )
        self.assertEqual(after["title"].properties, {"text": "new"})

    def test_replace_removes_all_nodes_first_and_without_a_root_none_remains(self):
        new = self.change(
            self.held, replace=True, root_id="n", set_nodes=[message("n", "title")]
        )
        self.assertEqual(shape(new), ["n"])
        self.assertIsNone(self.change(self.held, replace=True))
        self.assertIsNone(self.change(None, set_nodes=[message("n")]))
        self.assertEqual(shape(self.change(None, root_id="n", set_nodes=[message("n")])), ["n"])

    def test_cycles_end(self):
        nodes = [message("a", "b", "a"), message("b", "a", "b", "b")]
        self.assertEqual(shape(self.change(None, root_id="a", set_nodes=nodes)), ["a", "b"])

    def test_a_change_of_one_node_shares_the_others(self):
        names = [f"n{number}" for number in range(1000)]
        held = Content.from_pb(table("top", message("top", *names), *map(message, names)))
        made = self.change(held, set_nodes=[message("n7", v=1)])
        made, nodes = Content.applied(made, pb.ContentChange(set_nodes=[message("n500", v=2)]))
        self.assertEqual(nodes, ContentDifference(changed=frozenset(["n500"])))
        # The list of all nodes is made only on request.
        self.assertNotIn("nodes", vars(made))
        shared = sum(made._table._pages[at] is page for at, page in enumerate(held._table._pages))
        self.assertEqual(shared, len(held._table._pages) - 2)
        self.assertEqual((made["n500"].properties, held["n500"].properties), ({"v": 2}, {}))
        self.assertEqual((len(made), shape(made)), (1001, shape(held)))

    def test_a_long_lived_content_frees_removed_nodes(self):
        held = Content.from_pb(table("top", message("top", "n0"), message("n0")))
        first = held
        for number in range(1, 500):
            id = f"n{number}"
            held = self.change(
                held, set_nodes=[message("top", id), message(id)], removed_node_ids=[f"n{number - 1}"]
            )
        self.assertEqual((shape(held), shape(first)), (["top", "n499"], ["top", "n0"]))
        self.assertNotIn("n0", held)
        self.assertLess(len(held._table._slots.by_id), 100)

    def test_contents_are_compared_copied_and_pickled_as_values(self):
        made = self.change(self.held, set_nodes=[message("title", text="Done")])
        self.assertEqual(made, Content("list", made.nodes))
        self.assertNotEqual(made, self.held)
        for again in (copy.deepcopy(made), pickle.loads(pickle.dumps(made)), copy.copy(made)):
            self.assertEqual((again, again["title"]), (made, made["title"]))
        with self.assertRaises(AttributeError):
            made.other

    def test_a_difference_names_the_changed_nodes(self):
        cases = [
            ("top:a,b,c", "top:a,x,b,c x", dict(changed="top", inserted="x")),
            ("top:a,b,c", "top:a,c", dict(changed="top", removed="b")),
            ("top:a,b,c", "top:a,c,b", dict(changed="top", moved="b c")),
            ("top:a,b,c", "top:x,b,c x", dict(changed="top", inserted="x", removed="a")),
            ("top:a,b a:c c:d", "a b:c", dict(changed="a b", moved="c")),
            ("top:a a:b", "top:a,b a", dict(changed="top a", moved="b")),
            ("top:a a:b", "top:b", dict(changed="top", removed="a", moved="b")),
            ("top:a", "top:x x:a", dict(changed="top", inserted="x", moved="a")),
            ("top:a,b", "top:a,b a", {}),
        ]
        for before, sent, expected in cases:
            held = self.change(None, replace=True, root_id="top", set_nodes=read(before, True))
            made, nodes = Content.applied(held, pb.ContentChange(set_nodes=read(sent)))
            expected = ContentDifference(
                **{name: frozenset(words.split()) for name, words in expected.items()}
            )
            self.assertEqual(nodes, expected, (before, sent))
            self.assertEqual(Content.difference(held, made), expected, (before, sent))
            self.assertEqual(bool(nodes), bool(expected.changed))

    def test_any_changes_give_the_state_of_a_simple_reader(self):
        for seed in range(600):
            dice = random.Random(seed)
            held, naive, root = None, {}, ""
            for step in range(20):
                where = f"seed {seed}, step {step}"
                # Half of the mistakes remain for a while.
                if seed % 4 and (not naive or (not is_tree(naive, root) and dice.random() < 0.5)):
                    made = read("r:a,b,c a:d,e d:f f:g c:h,i i:j", leaves=True)
                    replace, new_root, gone = True, "r", []
                elif seed % 4:
                    replace, new_root = False, ""
                    made, gone = sensible(naive, root, dice)
                    if seed % 4 > 1 and dice.random() < 0.5:
                        gone, made = spoiled(naive, gone, made, dice)
                else:
                    replace = dice.random() < 0.2
                    new_root = f"n{dice.randrange(8)}" if dice.random() < 0.4 else ""
                    gone = [f"n{i}" for i in range(8) if dice.random() < 0.2]
                    made = [
                        message(
                            f"n{dice.randrange(8)}",
                            *(f"n{dice.randrange(8)}" for _ in range(dice.randrange(4))),
                            v=dice.randrange(3),
                        )
                        for _ in range(dice.randrange(6))
                    ]
                before, parts, old = held, naive, root
                change = pb.ContentChange(
                    replace=replace, root_id=new_root, set_nodes=made, removed_node_ids=gone
                )
                held, nodes = Content.applied(held, change)
                if replace:
                    naive, root = {}, ""
                root = new_root or root
                naive = {id: node for id, node in naive.items() if id not in gone}
                naive.update((node.id, Node.from_pb(node)) for node in made)
                naive = {id: naive[id] for id, _ in walk(naive, root)} if root else {}
                self.assertEqual(nodes, naive_difference(parts, old, naive, root), where)
                self.assertEqual(Content.difference(before, held), nodes, where)
                if before is not None:
                    self.assertEqual(before, Content(old, parts.values()), where)
                if not root:
                    self.assertIsNone(held, where)
                    continue
                self.assertEqual(held, Content(root, naive.values()), where)
                self.assertEqual(len(held), len(naive), where)
                self.assertTrue(all(held.get(id) == node for id, node in naive.items()), where)
                self.assertIsNone(held.get("nobody"), where)


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

    def test_a_problem_has_its_start(self):
        made = pb.Node(id="n", type=pb.NODE_TYPE_LABEL, problem="text: no such key")
        self.assertIsNone(widgetd.Node.from_pb(made).problem_since)
        made.problem_since.seconds = 60
        node = widgetd.Node.from_pb(made)
        minute = datetime(1970, 1, 1, 0, 1, tzinfo=timezone.utc)
        self.assertEqual(node.problem_since, minute)
        self.assertEqual(_json.node(node)["problemSince"], "1970-01-01T00:01:00Z")
        status = pb.TimelineStatus(problem="no such zone")
        status.problem_since.seconds = 60
        thing = widgetd.Widget.from_pb(pb.Widget(id="a", kind="k", timeline=status))
        self.assertEqual(thing.timeline.problem_since, minute)
        self.assertEqual(_json.widget(thing)["timeline"]["problemSince"], "1970-01-01T00:01:00Z")

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
