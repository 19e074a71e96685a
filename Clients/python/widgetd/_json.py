"""Widgets, events and frames as JSON, in the shape that `widgetctl -o json` prints.

Fields are those of the messages in lowerCamelCase, enums lower-case words, times RFC 3339. Values
without a JSON type are tagged: {"$bytes": BASE64}, {"$timestamp": RFC3339}, {"$duration": "1.5s"},
{"$double": "NaN"}; a map whose only key begins with $ gets one more $.
"""

from __future__ import annotations

import base64
import json
import math
from datetime import datetime, timedelta
from typing import Any, Iterable, Mapping, Optional

from ._proto.v1 import node_pb2
from .errors import CallError, WidgetdError
from .frames import (
    Added,
    Change,
    Changed,
    Changes,
    Disconnected,
    EventFrame,
    Events,
    Frame,
    Gap,
    Opened,
    Progress,
    Removed,
    Reset,
    Snapshot,
)
from .content import Node
from .enums import Family, PresenceState
from .widgets import Event, Transition, Widget, _error
from ._values import _EPOCH, from_values
from .timelines import TimelineEntry, TimelineStatus

Document = dict[str, Any]


def dumps(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def plain(value: Any) -> Any:
    """A widget's value in the types of JSON."""
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode()}
    if isinstance(value, datetime):
        return {"$timestamp": time_text(value)}
    if isinstance(value, timedelta):
        return {"$duration": span_text(value)}
    if isinstance(value, float) and not math.isfinite(value):
        return {"$double": "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        result = {key: plain(item) for key, item in value.items()}
        if len(result) == 1 and next(iter(result)).startswith("$"):
            return {"$" + key: item for key, item in result.items()}
        return result
    return value


def plains(values: Mapping[str, Any]) -> Document:
    return {key: plain(value) for key, value in values.items()}


def time_text(time: datetime) -> str:
    text = time.strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")
    part = f".{time.microsecond:06}".rstrip("0") if time.microsecond else ""
    return f"{text}{part}Z"


def span_text(span: timedelta) -> str:
    micros = span // timedelta(microseconds=1)
    sign = "-" if micros < 0 else ""
    whole, part = divmod(abs(micros), 10**6)
    return f"{sign}{whole}" + (f".{part:06}".rstrip("0") if part else "") + "s"


def widget(thing: Widget, fields: Iterable[str] = ()) -> Document:
    """A widget, with only these `fields` if there are any."""
    paths = tuple(fields)
    roots = {path.split(".")[0] for path in paths}

    def wants(name: str) -> bool:
        return not paths or name in roots

    document: Document = {
        "id": thing.id,
        "kind": thing.kind,
        "revision": thing.revision,
        "createdRevision": thing.created_revision,
    }
    if wants("family"):
        document["family"] = thing.family.word
    if wants("labels"):
        document["labels"] = thing.labels
    if wants("presence"):
        document.update(_presence(thing.visible, thing.enabled, thing.state))
    if wants("position"):
        document["position"] = thing.position
    if wants("parameters"):
        document["parameters"] = plains(thing.parameters)
    if wants("data"):
        document["data"] = plains(thing.data)
    if thing.stale:
        document["stale"] = True
    if thing.error is not None:
        document["error"] = {"reason": thing.error.reason, "message": thing.error.message}
    if thing.create_time is not None:
        document["createTime"] = time_text(thing.create_time)
    if thing.update_time is not None:
        document["updateTime"] = time_text(thing.update_time)
    if wants("owner_uid"):
        document["ownerUid"] = thing.owner_uid
    if thing.apply_set:
        document["applySet"] = thing.apply_set
    if thing.content is not None and wants("content"):
        document["content"] = {
            "rootId": thing.content.root_id,
            "nodes": [node(each) for each in thing.content],
        }
    if thing.timeline is not None and wants("timeline"):
        document["timeline"] = _timeline(thing.timeline)
    if thing.etag:
        document["etag"] = thing.etag
    return document


def _presence(visible: bool, enabled: bool, state: PresenceState) -> Document:
    return {"visible": visible, "enabled": enabled, "state": state.word}


def _timeline(status: TimelineStatus) -> Document:
    document: Document = {}
    if status.current is not None:
        document["current"] = _entry(status.current)
    for name, time in (
        ("nextTime", status.next_time),
        ("refreshTime", status.refresh_time),
        ("staleTime", status.stale_time),
    ):
        if time is not None:
            document[name] = time_text(time)
    if status.problem:
        document["problem"] = status.problem
    if status.problem_since is not None:
        document["problemSince"] = time_text(status.problem_since)
    return document


def _entry(entry: TimelineEntry) -> Document:
    document: Document = {"date": time_text(entry.date), "values": plains(entry.values)}
    if entry.score:
        document["score"] = entry.score
    if entry.duration is not None:
        document["duration"] = plain(entry.duration)
    return document


def node(thing: Node) -> Document:
    """A node of a widget's content, without empty fields."""
    document: Document = {"id": thing.id, "type": thing.type.word if thing.type else "unknown"}
    if thing.properties:
        document["properties"] = plains(thing.properties)
    if thing.child_ids:
        document["childIds"] = list(thing.child_ids)
    if thing.problem:
        document["problem"] = thing.problem
    if thing.problem_since is not None:
        document["problemSince"] = time_text(thing.problem_since)
    if thing.events:
        document["events"] = list(thing.events)
    return document


def event(thing: Event) -> Document:
    document: Document = {
        "type": "event",
        "sequence": thing.sequence,
        "widgetId": thing.widget_id,
        "name": thing.name,
        "payload": plains(thing.payload),
        "revision": thing.revision,
        "origin": {"uid": thing.uid},
    }
    if thing.time is not None:
        document["time"] = time_text(thing.time)
    if thing.node_id:
        document["nodeId"] = thing.node_id
    if thing.forced:
        document["forced"] = True
    if thing.pid:
        document["origin"]["pid"] = thing.pid
    if thing.client:
        document["origin"]["client"] = thing.client
    return document


def frame(thing: "Frame | EventFrame", fields: Iterable[str] = ()) -> list[Document]:
    """A frame as objects with a `type`."""
    if isinstance(thing, Opened):
        opened = {"type": "opened", "epoch": str(thing.epoch), "revision": thing.revision}
        return [{**opened, "lastSequence": thing.last_sequence}]
    if isinstance(thing, Snapshot):
        held = sorted(thing.widgets, key=lambda w: (w.position, w.id))
        synced = {"type": "synced", "revision": thing.revision}
        return [
            {"type": "snapshot", "widgets": [widget(w, fields) for w in held]},
            {**synced, "resumeToken": _base64(thing.resume_token)},
        ]
    if isinstance(thing, Changes):
        return [
            {
                "type": "changes",
                "fromRevision": thing.from_revision,
                "toRevision": thing.to_revision,
                "changes": [_change(change, fields) for change in thing.changes],
                "resumeToken": _base64(thing.resume_token),
            }
        ]
    if isinstance(thing, Progress):
        document: Document = {"type": "progress", "revision": thing.revision}
        document["resumeToken"] = _base64(thing.resume_token)
        return [{**document, "lastSequence": thing.last_sequence}]
    if isinstance(thing, Events):
        return [event(one) for one in thing.events]
    if isinstance(thing, Gap):
        first, last = thing.first_sequence, thing.last_sequence
        return [{"type": "gap", "firstSequence": first, "lastSequence": last}]
    if isinstance(thing, Reset):
        return [{"type": "reset", "reason": thing.reason.value}]
    return [{"type": "disconnected" if isinstance(thing, Disconnected) else "reconnected"}]


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _change(change: Change, fields: Iterable[str]) -> Document:
    content: Document
    if isinstance(change, Added):
        kind, content = "added", {"widget": widget(change.widget, fields)}
    elif isinstance(change, Removed):
        kind, content = "removed", {"id": change.id}
    else:
        kind, content = "updated", _updated(change)
    if change.transition is not None:
        content["transition"] = _transition(change.transition)
    return {kind: content}


def _updated(change: Changed) -> Document:
    update = change.update
    document: Document = {"id": update.id, "revision": update.revision}
    if update.update_time_nanos:
        time = _EPOCH + timedelta(microseconds=update.update_time_nanos // 1000)
        document["updateTime"] = time_text(time)
    for name, set_, unset in (
        ("Data", update.set_data, update.unset_data),
        ("Parameters", update.set_parameters, update.unset_parameters),
    ):
        if set_:
            document["set" + name] = plains(from_values(set_))
        if unset:
            document["unset" + name] = list(unset)
    if update.HasField("labels"):
        document["labels"] = dict(update.labels.labels)
    if update.HasField("presence"):
        held = update.presence
        document.update(_presence(held.visible, held.enabled, PresenceState.read(held.state)))
    if update.HasField("position"):
        document["position"] = update.position
    if update.HasField("stale"):
        document["stale"] = update.stale
    if update.HasField("error"):
        error = _error(update.error)
        document["error"] = error and {"reason": error.reason, "message": error.message}
    if update.HasField("apply_set"):
        document["applySet"] = update.apply_set
    if update.family:
        document["family"] = Family.read(update.family).word
    if update.HasField("content"):
        document["content"] = _content_change(update.content)
    if update.HasField("timeline"):
        document["timeline"] = _timeline(TimelineStatus.from_pb(update.timeline))
    if update.timeline_cleared:
        document["timelineCleared"] = True
    return document


def _content_change(change: node_pb2.ContentChange) -> Document:
    document: Document = {}
    if change.replace:
        document["replace"] = True
    if change.root_id:
        document["rootId"] = change.root_id
    if change.set_nodes:
        document["setNodes"] = [node(Node.from_pb(each)) for each in change.set_nodes]
    if change.removed_node_ids:
        document["removedNodeIds"] = list(change.removed_node_ids)
    return document


def _transition(hint: Transition) -> Document:
    document: Document = {"curve": hint.curve.word}
    if hint.duration is not None:
        document["duration"] = span_text(hint.duration)
    if hint.spring_response:
        document["springResponse"] = hint.spring_response
    if hint.spring_damping:
        document["springDamping"] = hint.spring_damping
    return document


def error(thing: WidgetdError) -> Document:
    """A failure in the form of `--json`."""
    content: Document = {"message": str(thing)}
    if isinstance(thing, CallError):
        content["code"] = thing.code.name
        reason: Optional[str] = thing.reason
        if reason:
            content.update(reason=reason, metadata=thing.metadata)
        if thing.violations:
            content["violations"] = [{"field": f, "description": d} for f, d in thing.violations]
        if thing.retry_delay is not None:
            content["retryDelay"] = f"{thing.retry_delay:g}s"
    return {"error": content}
