"""The state of a watcher, built from the frames of WatchWidgets as docs/PROTOCOL.md says."""


class Gap(Exception):
    """The frames do not fit together."""


class Mirror:
    """The widgets by id, with `strict` for a watch that selects everything: then every commit must
    be covered, so each change set begins exactly where the last one ended. Commits that change
    only kinds are the exception, so a test with such commits is not strict."""

    def __init__(self, strict=True):
        self.strict = strict
        self.widgets, self.token = {}, b""
        self.revision = self.epoch = None
        self.snapshot, self.parts, self.parts_from = {}, [], None
        self.syncs = self.change_sets = 0

    def disconnected(self):
        """Unfinished parts are sent again."""
        self.snapshot, self.parts, self.parts_from = {}, [], None

    def apply(self, frame):
        """Applies a frame; returns True if the visible state changed."""
        (kind, content), = frame.items()
        if kind == "opened":
            if self.epoch not in (None, content["epoch"]):
                raise Gap(f"the epoch was {self.epoch} and is {content['epoch']}")
            self.epoch = content["epoch"]
        elif kind == "snapshot":
            for widget in content.get("widgets", []):
                self.snapshot[widget["id"]] = widget
            for name in content.get("removed_ids", []):
                self.snapshot.pop(name, None)
        elif kind == "synced":
            self.widgets, self.snapshot = self.snapshot, {}
            self.revision, self.token = content.get("revision", 0), content["resume_token"]
            self.syncs += 1
            return True
        elif kind == "changes":
            return self._changes(content)
        elif kind == "progress":
            self.revision = max(self.revision, content.get("revision", 0))
            self.token = content.get("resume_token", self.token)
        return False

    def _changes(self, content):
        start = content.get("from_revision", 0)
        if self.parts_from not in (None, start):
            raise Gap(f"parts from {self.parts_from} and from {start}")
        if start != self.revision if self.strict else start < self.revision:
            raise Gap(f"changes from {start} at revision {self.revision}")
        self.parts += content.get("changes", [])
        if content.get("more"):
            self.parts_from = start
            return False
        if content["to_revision"] <= start:
            raise Gap(f"changes from {start} to {content['to_revision']}")
        for change in self.parts:
            self._change(change)
        self.parts, self.parts_from = [], None
        self.revision, self.token = content["to_revision"], content["resume_token"]
        self.change_sets += 1
        return True

    def _change(self, change):
        (kind, content), = change.items()
        if kind == "added":
            self.widgets[content["widget"]["id"]] = content["widget"]
        elif kind == "removed":
            self.widgets.pop(content["id"], None)
        else:
            if content["id"] not in self.widgets:
                raise Gap(f"{content['id']} was updated and is not held")
            self._update(self.widgets[content["id"]], content)

    @staticmethod
    def _update(widget, update):
        widget["revision"] = update["revision"]
        for field in ("data", "parameters"):
            if f"set_{field}" in update or f"unset_{field}" in update:
                held = widget.setdefault(field, {})
                held.update(update.get(f"set_{field}", {}))
                for key in update.get(f"unset_{field}", []):
                    held.pop(key, None)
        if "labels" in update:
            widget["labels"] = update["labels"].get("labels", {})
        for field in ("presence", "position", "stale", "error", "apply_set", "family",
                      "timeline", "activity"):
            if field in update:
                widget[field] = update[field]
        if update.get("timeline_cleared"):
            widget.pop("timeline", None)
        if "content" in update:
            widget["content"] = changed_content(widget.get("content"), update["content"])

    def state(self):
        """The visible widgets, without the fields that masks and frames leave undefined, to
        compare with a list."""
        return {name: comparable(widget) for name, widget in self.widgets.items()}


def changed_content(held, change, is_exact=True):
    """The content of a widget after a change; None without content. Nodes are in tree order.

    The daemon names every removed node. With `is_exact`, an unnamed node that the tree no longer
    reaches is a Gap; otherwise it is removed."""
    is_new = change.get("replace") or not held
    root = change.get("root_id") or ("" if is_new else held["root_id"])
    if not root:
        return None
    table = {} if is_new else {node["id"]: node for node in held.get("nodes", [])}
    for name in change.get("removed_node_ids", []):
        table.pop(name, None)
    table.update((node["id"], node) for node in change.get("set_nodes", []))
    nodes, waiting = [], [root]
    while waiting:
        node = table.pop(waiting.pop(), None)
        if node is not None:
            nodes.append(node)
            waiting.extend(reversed(node.get("child_ids", [])))
    if table and is_exact:
        raise Gap(f"the tree does not reach {sorted(table)}")
    return {"root_id": root, "nodes": nodes}


def comparable(widget):
    """A widget without its times and etag, and without empty fields."""
    result = {}
    for key, value in widget.items():
        if key in ("update_time", "create_time", "etag"):
            continue
        if key == "presence":
            value = {bit: value.get(bit, False) for bit in ("visible", "enabled")}
        if value not in ("", {}, [], 0, False, None):
            result[key] = value
    return result
