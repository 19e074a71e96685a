"""The content of widgets in a mirror."""

import unittest

from widgetd import Content, ContentDifference
from widgetd import messages as pb
from widgetd.frames import Changes, Snapshot
from widgetd.mirror import Mirror

from .content_trees import LIST, message, shape, table
from .fake import added, changes, chunk, updated, widget


class MirrorTests(unittest.TestCase):
    def setUp(self):
        made = widget("a", n=1)
        made.content.CopyFrom(LIST)
        self.mirror = Mirror()
        self.mirror.apply(Snapshot(1, b"t", (chunk(made, widget("b")),)))

    def apply(self, start, end, *items):
        frame = changes(start, end, *items).changes
        return self.mirror.apply(Changes(start, end, frame.resume_token, frame))

    def test_it_keeps_content_up_to_date(self):
        before = self.mirror["a"]
        change = updated("a", 2)
        change.updated.content.set_nodes.append(message("title", text="Done"))
        self.assertEqual(self.apply(1, 2, change).updated, ("a",))
        self.assertEqual(self.mirror["a"].content["title"].properties, {"text": "Done"})
        self.assertEqual(before.content["title"].properties, {"text": "To do"})
        self.assertEqual(self.mirror["a"].data, {"n": 1})
        self.apply(2, 3, updated("a", 3, n=2))
        self.assertEqual(self.mirror["a"].content["title"].properties, {"text": "Done"})

    def test_it_says_which_nodes_changed(self):
        change = updated("a", 2)
        change.updated.content.set_nodes.append(message("title", text="Done"))
        difference = self.apply(1, 2, change, updated("b", 2, n=1))
        self.assertEqual(
            difference.contents, {"a": ContentDifference(changed=frozenset(["title"]))}
        )
        self.assertEqual(self.apply(2, 3, updated("a", 3, n=2)).contents, {})

    def test_several_updates_of_a_widget_give_one_difference(self):
        first, second = updated("a", 2), updated("a", 2)
        first.updated.content.set_nodes.extend([message("list", "title", "x"), message("x")])
        second.updated.content.set_nodes.extend(
            [message("list", "y", "title"), message("y"), message("title", text="Done")]
        )
        nodes = self.apply(1, 2, first, second).contents["a"]
        self.assertEqual(
            (nodes.changed, nodes.inserted, nodes.removed, nodes.moved),
            ({"list", "title"}, {"y"}, {"row/a"}, set()),
        )

    def test_a_widget_that_is_replaced_is_compared(self):
        made = widget("a", n=1)
        made.content.CopyFrom(LIST)
        made.content.nodes[2].problem = "p"
        row = ContentDifference(changed=frozenset(["row/a"]))
        self.assertEqual(self.apply(1, 2, added(made)).contents, {"a": row})
        made.content.nodes[2].problem = ""
        difference = self.mirror.apply(Snapshot(9, b"t", (chunk(made),)))
        self.assertEqual(difference.contents, {"a": row})

    def test_changes_that_make_no_sense_leave_a_tree(self):
        for nodes, gone in (
            ([message("list", "title", "ghost", "row/a")], ["nobody"]),
            ([message("title", v=1), message("title", v=2)], []),
            ([message("list", "title", "title")], []),
            ([message("title", "row/a"), message("row/a", "title")], []),
            ([message("title", "list")], []),
            ([message("title", "title")], []),
            ([message("lost", "row/a")], []),
            ([], ["title"]),
            ([], ["list"]),
        ):
            self.setUp()
            before = self.mirror["a"].content
            change = updated("a", 2)
            change.updated.content.set_nodes.extend(nodes)
            change.updated.content.removed_node_ids.extend(gone)
            difference = self.apply(1, 2, change)
            after = self.mirror["a"].content
            self.assertEqual(len({node.id for node in after}), len(after))
            self.assertTrue(all(after[node.id] is node for node in after))
            self.assertEqual(
                difference.contents.get("a", ContentDifference()),
                Content.difference(before, after),
            )

    def test_faulty_content_becomes_a_tree_with_the_first_change(self):
        for nodes, shown in (
            ([message("top", "a"), message("a", "top")], ["top", "a"]),
            ([message("top", "a"), message("a", "a"), message("b")], ["top", "a"]),
            ([message("a", "ghost"), message("top", "a")], ["top", "a"]),
            ([message("top", "a", "a"), message("a"), message("a", v=1)], ["top", "a"]),
            ([message("a", "a")], []),
        ):
            made = widget("a")
            made.content.CopyFrom(table("top", *nodes))
            self.mirror.apply(Snapshot(5, b"t", (chunk(made),)))
            held = self.mirror["a"].content
            self.assertTrue(all(node.id in held for node in held))
            change = updated("a", 6)
            change.updated.content.set_nodes.append(message("nobody"))
            self.assertEqual(self.apply(5, 6, change).contents, {})
            self.assertEqual(shape(self.mirror["a"].content), shown)

    def test_content_comes_and_goes(self):
        come, go = updated("b", 2), updated("a", 2)
        come.updated.content.CopyFrom(
            pb.ContentChange(replace=True, root_id="x", set_nodes=[message("x")])
        )
        go.updated.content.replace = True
        contents = self.apply(1, 2, come, go).contents
        self.assertEqual(contents["b"], ContentDifference(inserted={"x"}, root_changed=True))
        self.assertEqual(contents["a"].removed, {"list", "title", "row/a"})
        self.assertIsNone(self.mirror["a"].content)
        self.assertEqual(shape(self.mirror["b"].content), ["x"])
