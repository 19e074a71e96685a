"""The cost of one changed text in a content of 1,000 nodes, in the Python library. Prints the time to
apply a change set, and the time to make the content of all nodes again, in microseconds. Both times
include one look-up of the node."""

import time

from widgetd import Content, Node
from widgetd import messages as pb

ROUNDS, CHANGES_PER_ROUND = 100, 20


def best(work):
    work()
    times = []
    for _ in range(ROUNDS):
        before = time.perf_counter()
        for _ in range(CHANGES_PER_ROUND):
            work()
        times.append(time.perf_counter() - before)
    return min(times) / CHANGES_PER_ROUND * 1e6


def again(content, change):
    """All nodes by id, then those that the tree reaches."""
    table = {node.id: node for node in content.nodes}
    table.update((message.id, Node.from_pb(message)) for message in change.set_nodes)
    nodes, waiting = [], [content.root_id]
    while waiting:
        node = table.pop(waiting.pop(), None)
        if node is not None:
            nodes.append(node)
            waiting.extend(reversed(node.child_ids))
    return Content(content.root_id, nodes)


def main():
    names = [f"text-{number}" for number in range(999)]
    list_ = pb.Content(root_id="top", nodes=[pb.Node(id="top", child_ids=names)])
    list_.nodes.extend(pb.Node(id=name, type=pb.NODE_TYPE_LABEL) for name in names)
    held, numbers = {"again": Content.from_pb(list_), "one": Content.from_pb(list_)}, iter(range(10**9))

    def change():
        node = pb.Node(id="text-500", type=pb.NODE_TYPE_LABEL)
        node.properties["text"].int_value = next(numbers)
        return pb.ContentChange(set_nodes=[node])

    def whole():
        held["again"] = again(held["again"], change())
        assert held["again"]["text-500"]

    def one():
        held["one"], difference = Content.applied(held["one"], change())
        assert difference.changed == {"text-500"} and held["one"]["text-500"]

    print(best(whole), best(one))


main()
