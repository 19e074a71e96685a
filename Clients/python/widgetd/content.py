"""The content of a widget: its nodes, and the differences after a change."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from datetime import datetime
from typing import Any, Iterable, Iterator, Optional, Union

from ._nodes import ContentDifference, NodeTable, compare
from ._proto.v1 import node_pb2
from ._values import from_timestamp, from_values
from .enums import NodeType


#: The properties that change only the look of a node.
_LOOK = frozenset(
    ("background", "classes", "color", "font", "padding", "spacing", "tooltip", "urgent")
)


@dataclass(frozen=True)
class Node:
    """A node of a widget's content."""

    #: Unique in its widget. In a row: the template's id, "/", and the row's key.
    id: str
    type: NodeType = NodeType.UNSPECIFIED
    #: Its properties. Properties that are not here have their default.
    properties: dict[str, Any] = field(default_factory=dict)
    #: The nodes in it, in order.
    child_ids: tuple[str, ...] = ()
    #: The problem of one of its bindings, for the kind's author; "" for none.
    problem: str = ""
    #: The events that it takes if it is visible and enabled. If empty, users cannot press or change it.
    events: tuple[str, ...] = ()
    #: The start of the oldest part of the problem. None if there is none, or if it is not known.
    problem_since: Optional[datetime] = None

    @property
    def failed(self) -> bool:
        """Whether an expression of the node has failed, and no placeholder stands in for its value.
        A failed look, such as `color`, does not count, and neither do nodes of embedded widgets."""
        if not self.problem or "::" in self.id:
            return False
        if self.type is NodeType.EMBED and self.child_ids not in ((), (f"{self.id}::problem",)):
            return False
        failed = {line.split(":", 1)[0] for line in self.problem.splitlines()}
        return bool(failed - _LOOK - self.properties.keys())

    @staticmethod
    def from_pb(message: node_pb2.Node) -> Node:
        return Node(
            id=message.id,
            type=NodeType.read(message.type),
            properties=from_values(message.properties),
            child_ids=tuple(message.child_ids),
            problem=message.problem,
            events=tuple(message.events),
            problem_since=(
                from_timestamp(message.problem_since) if message.HasField("problem_since") else None
            ),
        )


@dataclass(frozen=True, init=False)
class Content:
    """The content of a widget: its kind's template for its family, with all bindings evaluated.

    `content["title"]` and `content.get("title")` look a node up. Iterating gives all nodes, each
    before its children. `content.root` is the node at the top.

    A content never changes. A content that a mirror made of an earlier one shares its nodes: it costs
    as much as the nodes that changed. Only the list of all nodes is made when it is first read.
    """

    root_id: str
    nodes: tuple[Node, ...]

    def __init__(self, root_id: str, nodes: Iterable[Node] = ()) -> None:
        self.__dict__.update(root_id=root_id, nodes=tuple(nodes))

    @staticmethod
    def from_pb(message: node_pb2.Content) -> Content:
        return Content(message.root_id, (Node.from_pb(node) for node in message.nodes))

    @staticmethod
    def _of(table: NodeTable) -> Content:
        content = Content.__new__(Content)
        content.__dict__.update(root_id=table.root_id, _table=table, _by_id=table)
        return content

    def __getattr__(self, name: str) -> Any:
        # Python calls this only for attributes that do not exist yet.
        table = self.__dict__.get("_table")
        if name == "nodes" and table is not None:
            return self.__dict__.setdefault("nodes", tuple(table))
        if name == "_table" and "nodes" in self.__dict__:
            return self.__dict__.setdefault("_table", NodeTable(self.root_id, self.nodes))
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return Content, (self.root_id, self.nodes)

    @property
    def root(self) -> Optional[Node]:
        """The node at the top."""
        return self.get(self.root_id)

    def get(self, id: str) -> Optional[Node]:
        """The node; None if there is none."""
        return self._by_id.get(id)

    def children(self, node: Node) -> tuple[Node, ...]:
        """The nodes in this one, in order."""
        found = (self.get(id) for id in node.child_ids)
        return tuple(child for child in found if child is not None)

    def __getitem__(self, id: str) -> Node:
        node = self.get(id)
        if node is None:
            raise KeyError(id)
        return node

    def __contains__(self, id: object) -> bool:
        return id in self._by_id

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.__dict__.get("nodes", self._by_id))

    @cached_property
    def _by_id(self) -> Union[dict[str, Node], NodeTable]:
        # A received list has all its nodes here, even nodes that the tree does not reach.
        return {node.id: node for node in self.nodes}

    def __bool__(self) -> bool:
        return True

    @staticmethod
    def changed(held: Optional[Content], change: node_pb2.ContentChange) -> Optional[Content]:
        """The content after a change, None for no content. It has the nodes that the tree reaches,
        each once, even if the change is inconsistent."""
        return Content.applied(held, change)[0]

    @staticmethod
    def applied(
        held: Optional[Content], change: node_pb2.ContentChange
    ) -> tuple[Optional[Content], ContentDifference]:
        """The content after a change, as `changed` gives it, and the nodes that differ."""
        root_id: str = change.root_id
        if held is not None and not root_id and not change.replace:
            root_id = held.root_id
        before: Optional[NodeTable] = None if held is None else held._table
        if not root_id:
            return None, compare(before, None)
        nodes = {message.id: Node.from_pb(message) for message in change.set_nodes}
        if before is not None and root_id == before.root_id and not change.replace:
            result = before.changed(nodes, change.removed_node_ids)
            if result is not None:
                return Content._of(result[0]), result[1]
        table = {} if before is None or change.replace else {node.id: node for node in before}
        for id in change.removed_node_ids:
            table.pop(id, None)
        table.update(nodes)
        after = NodeTable(root_id, table.values())
        return Content._of(after), compare(before, after)

    @staticmethod
    def difference(before: Optional[Content], after: Optional[Content]) -> ContentDifference:
        """Compares two contents; None is no content. It costs as much as both."""
        return compare(
            None if before is None else before._table, None if after is None else after._table
        )
