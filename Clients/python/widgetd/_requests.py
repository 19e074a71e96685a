"""Makes requests from arguments, for both clients. Wrong arguments are ValueError or TypeError."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Iterable, Mapping, Optional, Type, Union

from google.protobuf.field_mask_pb2 import FieldMask

from ._proto.v1 import activity_service_pb2, catalog_service_pb2
from ._proto.v1 import widget_service_pb2 as pb
from .kinds import Kind
from .enums import Family, PresenceAction, _number
from .widgets import Selector, Transition, WidgetError, WidgetSpec, labels
from ._values import _text, seconds, to_duration, to_values
from .activities import dismissal
from .timelines import Timeline

Length = Union[float, timedelta]
#: Bytes of a file in one call.
PIECE_BYTES = 512 << 10
#: The store counts in 64 bits.
_SEQUENCE_MAX = (1 << 64) - 1


def _list(name: str, things: Iterable[str]) -> list[str]:
    if isinstance(things, str):
        raise TypeError(f"{name} is a list of text; write [{things!r}]")
    return [_text(thing) for thing in things]


def mask(fields: Iterable[str]) -> Optional[FieldMask]:
    paths = _list("fields", fields)
    return FieldMask(paths=paths) if paths else None


def hint(transition: Optional[Transition]) -> Any:
    return None if transition is None else transition.message_pb()


def picked(selector: Optional[Selector]) -> Any:
    if selector is None:
        return None
    if not isinstance(selector, Selector):
        raise TypeError(
            f"{selector!r} is not a Selector; to select ids, write widgetd.Selector(ids=[…])"
        )
    return selector.message_pb()


def messages(name: str, kind: Type[Any], things: Iterable[Any]) -> list[Any]:
    """The messages of a list of declarations. `name` names the list in errors."""
    if isinstance(things, kind):
        raise TypeError(f"{name} is a list of {kind.__name__}; write [{name}]")
    made = list(things)
    for thing in made:
        if not isinstance(thing, kind):
            raise TypeError(f"{name} is a list of {kind.__name__}, and has {thing!r}")
    return [thing.message_pb() for thing in made]


def create_widget(
    kind: str,
    id: str,
    family: Union[Family, str, None],
    labels: Optional[Mapping[str, str]],
    visible: Optional[bool],
    enabled: Optional[bool],
    parameters: Optional[Mapping[str, Any]],
    data: Optional[Mapping[str, Any]],
    transition: Optional[Transition],
    request_id: str,
) -> pb.CreateWidgetRequest:
    spec = WidgetSpec(
        id, kind, family, labels or {}, visible, enabled, parameters or {}, data or {}
    )
    return pb.CreateWidgetRequest(
        widget=spec.message_pb(), transition=hint(transition), request_id=_text(request_id)
    )


def start_activity(
    kind: str,
    id: str,
    family: Union[Family, str, None],
    labels: Optional[Mapping[str, str]],
    parameters: Optional[Mapping[str, Any]],
    data: Optional[Mapping[str, Any]],
    lifetime: Optional[Length],
    stale_after: Optional[Length],
    transition: Optional[Transition],
    request_id: str,
) -> activity_service_pb2.StartActivityRequest:
    spec = WidgetSpec(id, kind, family, labels or {}, None, None, parameters or {}, data or {})
    return activity_service_pb2.StartActivityRequest(
        widget=spec.message_pb(),
        lifetime=_span(lifetime),
        stale_after=_span(stale_after),
        transition=hint(transition),
        request_id=_text(request_id),
    )


def _span(length: Optional[Length]) -> Any:
    return None if length is None else to_duration(seconds(length))


def _state(
    data: Optional[Mapping[str, Any]], unset_data: Iterable[str]
) -> activity_service_pb2.StatePatch:
    return activity_service_pb2.StatePatch(
        set_data=to_values(data), unset_data=_list("unset_data", unset_data)
    )


def update_activity(
    id: str,
    data: Optional[Mapping[str, Any]],
    unset_data: Iterable[str],
    stale_after: Optional[Length],
    transition: Optional[Transition],
    request_id: str,
) -> activity_service_pb2.UpdateActivityRequest:
    return activity_service_pb2.UpdateActivityRequest(
        id=_text(id),
        patch=_state(data, unset_data),
        stale_after=_span(stale_after),
        transition=hint(transition),
        request_id=_text(request_id),
    )


def end_activity(
    id: str,
    data: Optional[Mapping[str, Any]],
    unset_data: Iterable[str],
    dismiss: Union[str, float, timedelta],
    transition: Optional[Transition],
    request_id: str,
) -> activity_service_pb2.EndActivityRequest:
    return activity_service_pb2.EndActivityRequest(
        id=_text(id),
        patch=_state(data, unset_data),
        transition=hint(transition),
        request_id=_text(request_id),
        **dismissal(dismiss),
    )


def family(family: Union[Family, str, None]) -> Any:
    return None if family is None else _number(Family.of(family))


def get_widget(
    id: str, fields: Iterable[str], content_family: Union[Family, str, None], redacted: bool
) -> pb.GetWidgetRequest:
    return pb.GetWidgetRequest(
        id=_text(id),
        read_mask=mask(fields),
        content_family=family(content_family),
        redacted=redacted,
    )


def list_widgets(
    selector: Optional[Selector],
    fields: Iterable[str],
    page_size: int,
    page_token: str,
    content_family: Union[Family, str, None],
    redacted: bool,
) -> pb.ListWidgetsRequest:
    return pb.ListWidgetsRequest(
        redacted=redacted,
        content_family=family(content_family),
        selector=picked(selector),
        read_mask=mask(fields),
        page_size=page_size,
        page_token=_text(page_token),
    )


def widget_patch(
    data: Optional[Mapping[str, Any]],
    unset_data: Iterable[str],
    *,
    replace_data: bool = False,
    parameters: Optional[Mapping[str, Any]] = None,
    unset_parameters: Iterable[str] = (),
    set_labels: Optional[Mapping[str, str]] = None,
    unset_labels: Iterable[str] = (),
    stale: Optional[bool] = None,
    error: Optional[WidgetError] = None,
    timeline: Optional[Timeline] = None,
    clear_timeline: bool = False,
) -> pb.WidgetPatch:
    patch = pb.WidgetPatch(
        set_data=to_values(data),
        unset_data=_list("unset_data", unset_data),
        replace_data=replace_data,
        set_parameters=to_values(parameters),
        unset_parameters=_list("unset_parameters", unset_parameters),
        set_labels=labels(set_labels),
        unset_labels=_list("unset_labels", unset_labels),
        error=None if error is None else error.message_pb(),
        timeline=None if timeline is None else timeline.message_pb(),
        clear_timeline=clear_timeline,
    )
    if stale is not None:
        patch.stale = stale
    return patch


def update_widget(
    id: str,
    data: Optional[Mapping[str, Any]],
    unset_data: Iterable[str],
    replace_data: bool,
    parameters: Optional[Mapping[str, Any]],
    unset_parameters: Iterable[str],
    set_labels: Optional[Mapping[str, str]],
    unset_labels: Iterable[str],
    stale: Optional[bool],
    error: Optional[WidgetError],
    etag: str,
    omit_widget: bool,
    transition: Optional[Transition],
    request_id: str,
    timeline: Optional[Timeline] = None,
    clear_timeline: bool = False,
) -> pb.UpdateWidgetRequest:
    return pb.UpdateWidgetRequest(
        id=_text(id),
        patch=widget_patch(
            data,
            unset_data,
            replace_data=replace_data,
            parameters=parameters,
            unset_parameters=unset_parameters,
            set_labels=set_labels,
            unset_labels=unset_labels,
            stale=stale,
            error=error,
            timeline=timeline,
            clear_timeline=clear_timeline,
        ),
        etag=_text(etag),
        omit_widget=omit_widget,
        transition=hint(transition),
        request_id=_text(request_id),
    )


def set_presence(
    action: Union[PresenceAction, str],
    ids: Iterable[str],
    selector: Optional[Selector],
    all: bool,
    transition: Optional[Transition],
    request_id: str,
) -> pb.SetPresenceRequest:
    return pb.SetPresenceRequest(
        action=_number(PresenceAction.of(action)),
        ids=_list("ids", ids),
        selector=picked(selector),
        all=all,
        transition=hint(transition),
        request_id=_text(request_id),
    )


def refresh_widgets(
    ids: Iterable[str], selector: Optional[Selector], all: bool
) -> pb.RefreshWidgetsRequest:
    return pb.RefreshWidgetsRequest(ids=_list("ids", ids), selector=picked(selector), all=all)


def move_widget(
    id: str,
    first: bool,
    last: bool,
    before: Optional[str],
    after: Optional[str],
    transition: Optional[Transition],
    request_id: str,
) -> pb.MoveWidgetRequest:
    if [first, last, before is not None, after is not None].count(True) != 1:
        raise ValueError("use exactly one of first, last, before and after")
    request = pb.MoveWidgetRequest(
        id=_text(id), transition=hint(transition), request_id=_text(request_id)
    )
    if first:
        request.first = True
    elif last:
        request.last = True
    elif before is not None:
        request.before = _text(before)
    elif after is not None:
        request.after = _text(after)
    return request


def apply_widgets(
    widgets: Iterable[WidgetSpec],
    apply_set: str,
    prune: bool,
    validate_only: bool,
    transition: Optional[Transition],
    request_id: str,
) -> pb.ApplyWidgetsRequest:
    return pb.ApplyWidgetsRequest(
        widgets=messages("widgets", WidgetSpec, widgets),
        apply_set=_text(apply_set),
        prune=prune,
        validate_only=validate_only,
        transition=hint(transition),
        request_id=_text(request_id),
    )


def apply_kinds(
    kinds: Iterable[Kind], provider: str, prune: bool, validate_only: bool, request_id: str
) -> catalog_service_pb2.ApplyKindsRequest:
    return catalog_service_pb2.ApplyKindsRequest(
        kinds=messages("kinds", Kind, kinds),
        provider=_text(provider),
        prune=prune,
        validate_only=validate_only,
        request_id=_text(request_id),
    )


def send_event(
    widget_id: str,
    name: str,
    payload: Optional[Mapping[str, Any]],
    node_id: str,
    force: bool,
    client: str,
    request_id: str,
) -> pb.SendEventRequest:
    return pb.SendEventRequest(
        widget_id=_text(widget_id),
        name=_text(name),
        payload=to_values(payload),
        node_id=_text(node_id),
        force=force,
        client=_text(client),
        request_id=_text(request_id),
    )


def watch(
    selector: Optional[Selector],
    fields: Iterable[str],
    events: bool,
    after_sequence: Optional[int],
    resume_token: bytes,
    min_interval: Optional[Length],
    progress_interval: Optional[Length],
    content_family: Union[Family, str, None],
    passive: bool = False,
    include_theme: bool = False,
    upcoming_entries: int = 0,
    redacted: bool = False,
    batch_delay: Optional[Length] = None,
) -> pb.WatchWidgetsRequest:
    request = pb.WatchWidgetsRequest(
        redacted=redacted,
        upcoming_entries=upcoming_entries,
        passive=passive,
        include_theme=include_theme,
        content_family=family(content_family),
        selector=picked(selector),
        read_mask=mask(fields),
        include_events=events,
        resume_token=resume_token,
    )
    if min_interval is not None:
        request.min_interval.CopyFrom(to_duration(seconds(min_interval)))
    if batch_delay is not None:
        request.batch_delay.CopyFrom(to_duration(seconds(batch_delay)))
    if progress_interval is not None:
        request.progress_interval.CopyFrom(to_duration(seconds(progress_interval)))
    if after_sequence is not None:
        if not events:
            raise ValueError("after_sequence is about events: set events=True as well")
        request.after_sequence = _sequence(after_sequence)
    return request


def watch_events(
    selector: Optional[Selector], names: Iterable[str], after_sequence: Optional[int]
) -> pb.WatchEventsRequest:
    request = pb.WatchEventsRequest(selector=picked(selector), names=_list("names", names))
    if after_sequence is not None:
        request.after_sequence = _sequence(after_sequence)
    return request


def _sequence(number: int) -> int:
    if not 0 <= number <= _SEQUENCE_MAX:
        raise ValueError(f"there is no event {number}; numbers begin at 0 and have 64 bits")
    return number
