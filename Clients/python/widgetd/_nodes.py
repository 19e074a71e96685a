"""The nodes of a content, by id: what a mirror keeps of a content that changes.

A table never changes. `NodeTable.changed` makes another one, which shares with the first everything
that the change leaves as it was. So a change of one node costs the same in a content of 10 nodes and
nearly the same in one of 1,000, and a program can keep old contents.

The nodes of a table form a tree, whatever the changes name. If several nodes name a child, the
first of them in the order of the tree is its parent. Children that are missing, or that would close
a cycle, are left out. While a content has such a fault, or when its root changes, a change costs as
much as the whole content.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Iterable, Iterator, Optional

if TYPE_CHECKING:
    from .content import Node


@dataclass(frozen=True)
class ContentDifference:
    """The changed nodes of a content, by their ids: the nodes that a renderer draws again.

    It compares two states, not the sent changes: a node that was added and removed in between is in
    no set. A node is in `inserted` or in `removed` alone, or in `changed`, in `moved`, or in both.
    """

    #: Nodes that stayed and have another type, properties, children, problem or events. A node whose
    #: children came, went or changed their order is here; a node whose child changed is not.
    changed: frozenset[str] = frozenset()
    #: New nodes, with all new nodes below them.
    inserted: frozenset[str] = frozenset()
    #: Nodes that are gone, with all nodes below them that are gone.
    removed: frozenset[str] = frozenset()
    #: Nodes that stayed and have another parent, or another place among those children of their
    #: parent that stayed. The nodes below them are not here.
    moved: frozenset[str] = frozenset()
    #: Whether another node is at the top, or the content came or went.
    root_changed: bool = False

    def __bool__(self) -> bool:
        return bool(
            self.changed or self.inserted or self.removed or self.moved or self.root_changed
        )


#: A node, and the id of its parent: None for the node at the top.
_Entry = tuple["Node", Optional[str]]
_SHIFT = 5
_PAGE = 1 << _SHIFT
#: The number of slots without a node that a table may always have, beside as many as it has nodes.
_SPARE = 64


class _Slots:
    """The place of each id, for all tables with a common origin: an id keeps its place."""

    def __init__(self) -> None:
        self.by_id: dict[str, int] = {}
        self._numbers = itertools.count()

    def find(self, id: str) -> int:
        """The place of the id. A new id gets a place."""
        slot = self.by_id.get(id)
        # The number is taken before the place is, so that no thread gets the same one.
        return self.by_id.setdefault(id, next(self._numbers)) if slot is None else slot


class NodeTable:
    """The nodes that the tree reaches from the node `root_id`."""

    __slots__ = ("root_id", "_count", "_is_sound", "_pages", "_slots")

    def __init__(self, root_id: str, nodes: Iterable[Node]) -> None:
        """Takes the nodes in any order. If two have the same id, the last one counts."""
        self.root_id = root_id
        self._slots = _Slots()
        self._pages: list[list[Optional[_Entry]]] = []
        self._count = 0
        #: Whether every child that is named is there, once.
        self._is_sound = True
        rest = {node.id: node for node in nodes}
        waiting: list[tuple[str, Optional[str]]] = [(root_id, None)]
        while waiting:
            id, parent = waiting.pop()
            node = rest.pop(id, None)
            if node is None:
                self._is_sound = False
                continue
            self._write(self._slots.find(id), (node, parent))
            self._count += 1
            waiting.extend((child, id) for child in reversed(node.child_ids))

    def __len__(self) -> int:
        return self._count

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and self._entry(id) is not None

    def get(self, id: str) -> Optional[Node]:
        """The node; None if there is none. O(1)."""
        entry = self._entry(id)
        return None if entry is None else entry[0]

    def __iter__(self) -> Iterator[Node]:
        """All nodes in the order of the tree, each before its children. O(nodes)."""
        waiting: list[tuple[str, Optional[str]]] = [(self.root_id, None)]
        seen: set[str] = set()
        while waiting:
            id, parent = waiting.pop()
            entry = self._entry(id)
            if entry is None or entry[1] != parent or id in seen:
                continue
            seen.add(id)
            yield entry[0]
            waiting.extend((child, id) for child in reversed(entry[0].child_ids))

    # --- Changes ---

    def changed(
        self, nodes: dict[str, Node], removed: Iterable[str]
    ) -> Optional[tuple[NodeTable, ContentDifference]]:
        """The table after nodes were set and removed, by their ids. None if the tree is not sound
        before or after it: make a table of all nodes then. A removal comes before what is set.

        It costs as much as the nodes that are set, their children, and the nodes that go.
        """
        gone = {id for id in removed if id not in nodes and id in self}
        if not self._is_sound or self.root_id in gone:
            return None
        plan = _Plan(self, nodes, gone)
        if not plan.is_sound:
            return None
        return self._carry_out(plan)

    def _carry_out(self, plan: _Plan) -> tuple[NodeTable, ContentDifference]:
        if len(self._slots.by_id) > 2 * self._count + _SPARE:
            # Most slots belong to removed nodes, so the new table gets new slots.
            fresh = NodeTable(self.root_id, self)
            return fresh._carry_out(plan)
        after = NodeTable.__new__(NodeTable)
        after.root_id, after._slots, after._is_sound = self.root_id, self._slots, True
        after._pages = list(self._pages)
        owned: set[int] = set()
        removed = set()
        waiting = [id for id in plan.orphans if id not in plan.parents]
        while waiting:
            id = waiting.pop()
            entry = self._entry(id)
            if entry is not None and id not in removed:
                removed.add(id)
                after._write(self._slots.find(id), None, owned)
                waiting.extend(child for child in entry[0].child_ids if child not in plan.parents)
        changed, inserted = set(), set()
        moved: set[str] = set()
        for node in plan.different:
            entry = self._entry(node.id)
            parent = plan.parents.get(node.id, None if entry is None else entry[1])
            after._write(self._slots.find(node.id), (node, parent), owned)
            if entry is None:
                inserted.add(node.id)
                continue
            changed.add(node.id)
            if entry[0].child_ids != node.child_ids:
                moved.update(_reordered(entry[0].child_ids, node.child_ids))
        for child, parent in plan.parents.items():
            entry = self._entry(child)
            if entry is not None:
                moved.add(child)
                if child not in changed:
                    after._write(self._slots.find(child), (entry[0], parent), owned)
        after._count = self._count + len(inserted) - len(removed)
        return after, ContentDifference(
            frozenset(changed), frozenset(inserted), frozenset(removed), frozenset(moved)
        )

    # --- Places ---

    def _entry(self, id: str) -> Optional[_Entry]:
        slot = self._slots.by_id.get(id)
        if slot is None or slot >> _SHIFT >= len(self._pages):
            return None
        return self._pages[slot >> _SHIFT][slot & (_PAGE - 1)]

    def _write(
        self, slot: int, entry: Optional[_Entry], owned: Optional[set[int]] = None
    ) -> None:
        """Puts an entry in its place. `owned` are the pages that no other table has; None: all."""
        number = slot >> _SHIFT
        while number >= len(self._pages):
            if owned is not None:
                owned.add(len(self._pages))
            self._pages.append([None] * _PAGE)
        if owned is not None and number not in owned:
            owned.add(number)
            self._pages[number] = list(self._pages[number])
        self._pages[number][slot & (_PAGE - 1)] = entry

    def parent(self, id: str) -> Optional[str]:
        """The id of the node's parent; None for the node at the top, and for no node."""
        entry = self._entry(id)
        return None if entry is None else entry[1]

    def children(self, node: Node) -> list[str]:
        """The ids of the children of this node."""
        children = dict.fromkeys(child for child in node.child_ids if child != self.root_id)
        return [child for child in children if self.parent(child) == node.id]


class _Plan:
    """The result of a change. `is_sound` is False if the tree would not be sound."""

    def __init__(self, table: NodeTable, nodes: dict[str, Node], gone: set[str]) -> None:
        self.table = table
        self.nodes = nodes
        #: Nodes that differ from those of the table.
        self.different: list[Node] = []
        #: The parent that a node gets, by the node's id.
        self.parents: dict[str, str] = {}
        #: Children that a node no longer has.
        self.orphans: set[str] = set()
        self.is_sound = self._look(gone) and self._fits(gone) and self._hangs_on_the_root()

    def _look(self, gone: set[str]) -> bool:
        for node in self.nodes.values():
            old = self.table.get(node.id)
            if old is not None and old == node:
                continue
            self.different.append(node)
            before = () if old is None else old.child_ids
            if node.child_ids == before:
                continue
            held, now = set(before), set(node.child_ids)
            if len(now) != len(node.child_ids):
                return False
            for child in now:
                if not self._is_there(child, gone):
                    return False
                if child not in held:
                    if child in self.parents:
                        return False
                    self.parents[child] = node.id
            self.orphans |= held - now
        return True

    def _is_there(self, id: str, gone: set[str]) -> bool:
        return id in self.nodes or (id not in gone and id in self.table)

    def _fits(self, gone: set[str]) -> bool:
        """Whether the parent of a removed or moved node drops it, or is removed with it."""
        moving = (child for child in self.parents if child in self.table)
        return all(id in self.orphans or self._goes(id) for id in (*gone, *moving))

    def _goes(self, id: str) -> bool:
        above = self.table.parent(id)
        while above is not None:
            # If a node above moves or changes, a look at all nodes is simpler.
            if above in self.parents or above in self.nodes:
                return False
            if above in self.orphans:
                return True
            above = self.table.parent(above)
        return False

    def _hangs_on_the_root(self) -> bool:
        """Whether the path upwards from each node ends at the root, and not in a cycle."""
        good = {self.table.root_id}
        for node in self.different:
            path: set[str] = set()
            id: Optional[str] = node.id
            while id not in good:
                if id is None or id in path:
                    return False
                path.add(id)
                id = self.parents.get(id) or (
                    None if id in self.orphans else self.table.parent(id)
                )
            good |= path
        return True


def _reordered(before: Iterable[str], now: Iterable[str]) -> Iterator[str]:
    """The ids in both lists that have another place among these."""
    held, kept = set(before), set(now)
    pairs = zip((id for id in before if id in kept), (id for id in now if id in held))
    return (id for old, id in pairs if old != id)


def compare(before: Optional[NodeTable], after: Optional[NodeTable]) -> ContentDifference:
    """Compares all nodes of two tables; None is no content. O(nodes)."""
    old = {} if before is None else {node.id: node for node in before}
    new = {} if after is None else {node.id: node for node in after}
    changed: set[str] = set()
    moved: set[str] = set()
    if before is not None and after is not None:
        for id, node in new.items():
            if id not in old:
                continue
            if node is not old[id] and node != old[id]:
                changed.add(id)
            if before.parent(id) != after.parent(id):
                moved.add(id)
            children, others = after.children(node), before.children(old[id])
            if children != others:
                moved.update(_reordered(others, children))
    return ContentDifference(
        frozenset(changed),
        frozenset(new.keys() - old.keys()),
        frozenset(old.keys() - new.keys()),
        frozenset(moved),
        (None if before is None else before.root_id) != (None if after is None else after.root_id),
    )
