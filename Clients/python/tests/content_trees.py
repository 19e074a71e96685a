"""Contents for tests: messages of nodes, random changes, and a simple reader."""

import dataclasses

from widgetd import ContentDifference, Node
from widgetd import messages as pb
from widgetd._values import to_value


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


def read(words, leaves=False):
    """Messages of "top:a,b a:c": nodes with their children; with `leaves`, also nodes without
    children."""
    parts = [word.partition(":") for word in words.split()]
    nodes = {id: children.split(",") if children else [] for id, _, children in parts}
    for child in [child for children in nodes.values() for child in children]:
        if leaves:
            nodes.setdefault(child, [])
    return [message(id, *children) for id, children in nodes.items()]


def walk(nodes, root):
    """Each node in the tree with its parent, which is the first node that names it."""
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
        """Its place among the children of its parent that have the same parent in `rest`."""
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
    """The same change with one mistake, or with one that has no effect."""
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
    """Messages that keep the tree valid: new texts, new and removed nodes, moved nodes."""
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
            # The node moves to another parent, but not below itself.
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
