"""What widgets show: read, kept true by changes, printed, and declared by kinds."""

import copy
import dataclasses
import pickle
import random
import unittest

import widgetd
from widgetd import (
    Binding,
    Content,
    ContentDifference,
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
from widgetd._values import to_value

from .fake import added, changes, chunk, updated, widget


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

    def test_a_change_of_one_node_shares_the_others(self):
        names = [f"n{number}" for number in range(1000)]
        held = Content.from_pb(table("top", message("top", *names), *map(message, names)))
        made = self.change(held, set_nodes=[message("n7", v=1)])
        made, nodes = Content.applied(made, pb.ContentChange(set_nodes=[message("n500", v=2)]))
        self.assertEqual(nodes, ContentDifference(changed=frozenset(["n500"])))
        # No list of all nodes is made before it is asked for.
        self.assertNotIn("nodes", vars(made))
        shared = sum(made._table._pages[at] is page for at, page in enumerate(held._table._pages))
        self.assertEqual(shared, len(held._table._pages) - 2)
        self.assertEqual((made["n500"].properties, held["n500"].properties), ({"v": 2}, {}))
        self.assertEqual((len(made), shape(made)), (1001, shape(held)))

    def test_a_content_that_lives_long_forgets_what_is_gone(self):
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

    def test_a_difference_names_the_nodes_that_are_other_ones(self):
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

    def test_any_changes_give_what_a_naive_reader_has(self):
        for seed in range(600):
            dice = random.Random(seed)
            held, naive, root = None, {}, ""
            for step in range(20):
                where = f"seed {seed}, step {step}"
                # Half of the mistakes stay for a while.
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


def read(words, leaves=False):
    """Messages of "top:a,b a:c": nodes with their children; with `leaves`, those without too."""
    parts = [word.partition(":") for word in words.split()]
    nodes = {id: children.split(",") if children else [] for id, _, children in parts}
    for child in [child for children in nodes.values() for child in children]:
        if leaves:
            nodes.setdefault(child, [])
    return [message(id, *children) for id, children in nodes.items()]


def walk(nodes, root):
    """Each node that the tree reaches with its parent, which is the first that names it."""
    found = {}

    def visit(id, parent):
        if id in nodes and id not in found:
            found[id] = parent
            for child in nodes[id].child_ids:
                visit(child, id)

    visit(root, None)
    return list(found.items())


def naive_difference(before, old_root, after, root):
    parents, others = dict(walk(after, root)), dict(walk(before, old_root))
    both = [id for id in after if id in before]

    def place(id, all_parents, rest):
        """Among the children of its parent that have the same parent in `rest`."""
        parent = all_parents[id]
        siblings = [i for i, p in all_parents.items() if p == parent and rest.get(i, "") == parent]
        return parent, siblings.index(id) if id in siblings else None

    return ContentDifference(
        frozenset(id for id in both if after[id] != before[id]),
        frozenset(after.keys() - before.keys()),
        frozenset(before.keys() - after.keys()),
        frozenset(
            id for id in both if place(id, parents, others) != place(id, others, parents)
        ),
        root != old_root,
    )


def is_tree(nodes, root):
    children = [id for node in nodes.values() for id in node.child_ids]
    return root in nodes and sorted([root, *children]) == sorted(nodes)


def spoiled(nodes, gone, made, dice):
    """The same change with one mistake, or none that matters."""
    ids = sorted(nodes)
    what = dice.randrange(4)
    if what == 0:
        gone = [*gone, dice.choice(ids)]
    elif what == 1:
        node = nodes[dice.choice(ids)]
        made = [*made, message(node.id, dice.choice(ids), *node.child_ids)]
    elif what == 2:
        made = [*made, message(dice.choice(ids), v=dice.randrange(9))]
    elif made:
        made = [node for node in made if node.id != dice.choice(made).id]
    return gone, made


def sensible(nodes, root, dice):
    """Messages that keep the tree a tree: new texts, new and removed nodes, moved ones."""
    nodes = dict(nodes)
    touched, gone = {}, set()
    for _ in range(dice.randrange(1, 4)):
        node = nodes[dice.choice(sorted(nodes))]
        children, value = list(node.child_ids), node.properties.get("v", 0)
        what = dice.randrange(5)
        if what == 0:
            value = dice.randrange(3)
        elif what == 1:
            new = f"x{dice.randrange(1000)}"
            if new not in nodes:
                nodes[new] = touched[new] = Node.from_pb(message(new))
                children.insert(dice.randrange(len(children) + 1), new)
        elif what == 2 and children:
            gone.add(children.pop(dice.randrange(len(children))))
        elif what == 3:
            dice.shuffle(children)
        else:
            # To another parent, not below itself.
            parents = dict(walk(nodes, root))
            above, moving = {node.id}, node.id
            while parents[moving] is not None:
                moving = parents[moving]
                above.add(moving)
            choices = sorted(id for id in nodes if id not in above)
            if choices:
                moving = dice.choice(choices)
                other = nodes[parents[moving]]
                left = tuple(id for id in other.child_ids if id != moving)
                nodes[other.id] = touched[other.id] = dataclasses.replace(other, child_ids=left)
                children = [*nodes[node.id].child_ids, moving]
        changed = Node.from_pb(message(node.id, *children, v=value))
        nodes[node.id] = touched[node.id] = changed
        reached = dict(walk(nodes, root))
        gone.update(nodes.keys() - reached.keys())
        nodes = {id: nodes[id] for id in reached}
    made = [
        message(node.id, *node.child_ids, **node.properties)
        for id, node in touched.items()
        if id in nodes
    ]
    return made, [id for id in gone if id not in nodes]


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

    def test_it_says_which_nodes_changed(self):
        change = updated("a", 2)
        change.updated.content.set_nodes.append(message("title", text="Done"))
        difference = self.apply(1, 2, change, updated("b", 2, n=1))
        self.assertEqual(
            difference.contents, {"a": ContentDifference(changed=frozenset(["title"]))}
        )
        self.assertEqual(self.apply(2, 3, updated("a", 3, n=2)).contents, {})

    def test_several_updates_of_a_widget_come_to_one_difference(self):
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

    def test_content_that_comes_with_faults_becomes_a_tree_with_the_first_change(self):
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
