"""Calls for widgets and their events."""

from __future__ import annotations

from typing import Any, AsyncIterator, Iterable, Mapping, Optional, Union

from .. import _requests, methods
from .._pages import PageTokens
from .._proto.v1 import widget_service_pb2 as pb
from .._values import _text
from ..answers import Applied, PresenceChanged, Refreshed, Sent, Updated, WidgetPage
from ..enums import ApplyAction, Family, PresenceAction
from ..timelines import Timeline
from ..widgets import Selector, Transition, Widget, WidgetError, WidgetSpec
from .base import AsyncBaseCalls


class AsyncWidgetCalls(AsyncBaseCalls):
    """Reads and changes widgets, and sends them events."""

    async def create_widget(
        self,
        kind: str,
        id: str = "",
        *,
        family: Union[Family, str, None] = None,
        labels: Optional[Mapping[str, str]] = None,
        visible: Optional[bool] = None,
        enabled: Optional[bool] = None,
        parameters: Optional[Mapping[str, Any]] = None,
        data: Optional[Mapping[str, Any]] = None,
        transition: Optional[Transition] = None,
        request_id: str = "",
        timeout: Optional[float] = None,
    ) -> Widget:
        """Adds a widget. Without an id the daemon picks one. Raises WidgetExists."""
        request = _requests.create_widget(
            kind, id, family, labels, visible, enabled, parameters, data, transition, request_id
        )
        answer = await self.call(methods.CREATE_WIDGET, request, timeout=timeout)
        return Widget.from_pb(answer.widget)

    async def get_widget(
        self,
        id: str,
        *,
        fields: Iterable[str] = (),
        content_family: Union[Family, str, None] = None,
        redacted: bool = False,
        timeout: Optional[float] = None,
    ) -> Widget:
        """One widget; of `fields` ("data", "data.percent", …) only these. Raises WidgetNotFound.

        With `content_family` it has the content for that family instead of its own. Raises
        InvalidArgument if its kind does not support that family. With `redacted`, the daemon sends
        neither private nodes nor data."""
        request = _requests.get_widget(id, fields, content_family, redacted)
        answer = await self.call(methods.GET_WIDGET, request, timeout=timeout)
        return Widget.from_pb(answer.widget)

    async def list_widgets(
        self,
        selector: Optional[Selector] = None,
        *,
        fields: Iterable[str] = (),
        content_family: Union[Family, str, None] = None,
        redacted: bool = False,
        page_size: int = 0,
        page_token: str = "",
        timeout: Optional[float] = None,
    ) -> WidgetPage:
        """One page, in position order. `page_size` is at most 1000; 0 means 100. `widgets` reads
        all pages. With `content_family` each widget has the content for that family, or none if
        its kind does not support it. `redacted` is as in `get_widget`."""
        request = _requests.list_widgets(
            selector, fields, page_size, page_token, content_family, redacted
        )
        answer = await self.call(methods.LIST_WIDGETS, request, timeout=timeout)
        found = tuple(Widget.from_pb(widget) for widget in answer.widgets)
        return WidgetPage(found, answer.next_page_token, answer.revision)

    async def widgets(
        self,
        selector: Optional[Selector] = None,
        *,
        fields: Iterable[str] = (),
        content_family: Union[Family, str, None] = None,
        redacted: bool = False,
        timeout: Optional[float] = None,
    ) -> AsyncIterator[Widget]:
        """All widgets, read page by page. A widget that moves meanwhile can appear twice or not at
        all. For a state of one revision, use a watch. `content_family` and `redacted` are as in
        `list_widgets`."""
        tokens, paths, token = PageTokens(), tuple(fields), ""
        while True:
            page = await self.list_widgets(
                selector,
                fields=paths,
                content_family=content_family,
                redacted=redacted,
                page_size=1000,
                page_token=token,
                timeout=timeout,
            )
            for widget in page.widgets:
                yield widget
            token = tokens.next(page.next_page_token)
            if not token:
                return

    async def update_widget(
        self,
        id: str,
        data: Optional[Mapping[str, Any]] = None,
        *,
        unset_data: Iterable[str] = (),
        replace_data: bool = False,
        parameters: Optional[Mapping[str, Any]] = None,
        unset_parameters: Iterable[str] = (),
        labels: Optional[Mapping[str, str]] = None,
        unset_labels: Iterable[str] = (),
        stale: Optional[bool] = None,
        error: Optional[WidgetError] = None,
        etag: str = "",
        omit_widget: bool = False,
        transition: Optional[Transition] = None,
        request_id: str = "",
        timeline: Optional[Timeline] = None,
        clear_timeline: bool = False,
        timeout: Optional[float] = None,
    ) -> Updated:
        """Changes a widget. Fields that are not given stay. `replace_data` removes data that `data`
        does not name. WidgetError("") clears the error. Raises WidgetNotFound, EtagMismatch."""
        request = _requests.update_widget(
            id,
            data,
            unset_data,
            replace_data,
            parameters,
            unset_parameters,
            labels,
            unset_labels,
            stale,
            error,
            etag,
            omit_widget,
            transition,
            request_id,
            timeline,
            clear_timeline,
        )
        answer = await self.call(methods.UPDATE_WIDGET, request, timeout=timeout)
        widget = Widget.from_pb(answer.widget) if answer.HasField("widget") else None
        return Updated(widget, answer.revision, answer.changed)

    async def delete_widget(
        self,
        id: str,
        *,
        etag: str = "",
        allow_missing: bool = False,
        transition: Optional[Transition] = None,
        request_id: str = "",
        timeout: Optional[float] = None,
    ) -> int:
        """Removes a widget; returns the store's revision. Raises WidgetNotFound, EtagMismatch."""
        request = pb.DeleteWidgetRequest(
            id=_text(id),
            etag=_text(etag),
            allow_missing=allow_missing,
            transition=_requests.hint(transition),
            request_id=_text(request_id),
        )
        answer = await self.call(methods.DELETE_WIDGET, request, timeout=timeout)
        return answer.revision

    async def set_presence(
        self,
        action: Union[PresenceAction, str],
        *,
        ids: Iterable[str] = (),
        selector: Optional[Selector] = None,
        all: bool = False,
        transition: Optional[Transition] = None,
        request_id: str = "",
        timeout: Optional[float] = None,
    ) -> PresenceChanged:
        """Does "show", "hide", "enable", "disable" or "toggle" in one commit, for these ids, a
        selector, or all widgets. Raises WidgetNotFound, and changes nothing, if one of the ids
        does not exist."""
        request = _requests.set_presence(action, ids, selector, all, transition, request_id)
        answer = await self.call(methods.SET_PRESENCE, request, timeout=timeout)
        return PresenceChanged(tuple(answer.changed_ids), answer.changed_count, answer.revision)

    async def refresh_widgets(
        self,
        *,
        ids: Iterable[str] = (),
        selector: Optional[Selector] = None,
        all: bool = False,
        timeout: Optional[float] = None,
    ) -> Refreshed:
        """Asks the providers of these widgets for fresh data, and does not wait for the data. A
        watch sees it arrive. Raises WidgetNotFound if one of the ids does not exist."""
        request = _requests.refresh_widgets(ids, selector, all)
        answer = await self.call(methods.REFRESH_WIDGETS, request, timeout=timeout)
        return Refreshed.from_pb(answer)

    async def move_widget(
        self,
        id: str,
        *,
        first: bool = False,
        last: bool = False,
        before: Optional[str] = None,
        after: Optional[str] = None,
        transition: Optional[Transition] = None,
        request_id: str = "",
        timeout: Optional[float] = None,
    ) -> Widget:
        """Changes a widget's place. Give exactly one of first, last, before and after."""
        request = _requests.move_widget(id, first, last, before, after, transition, request_id)
        answer = await self.call(methods.MOVE_WIDGET, request, timeout=timeout)
        return Widget.from_pb(answer.widget)

    async def apply_widgets(
        self,
        widgets: Iterable[WidgetSpec],
        *,
        apply_set: str = "",
        prune: bool = False,
        validate_only: bool = False,
        transition: Optional[Transition] = None,
        request_id: str = "",
        timeout: Optional[float] = None,
    ) -> Applied:
        """Applies a declared set of widgets in one commit. `prune` removes widgets that an earlier
        set declared and this one does not. `validate_only` changes nothing, and returns what would
        happen."""
        request = _requests.apply_widgets(
            widgets, apply_set, prune, validate_only, transition, request_id
        )
        answer = await self.call(methods.APPLY_WIDGETS, request, timeout=timeout)
        results = tuple((result.id, ApplyAction.read(result.action)) for result in answer.results)
        return Applied(results, answer.deleted_count, answer.revision)

    async def send_event(
        self,
        widget_id: str,
        name: str,
        payload: Optional[Mapping[str, Any]] = None,
        *,
        node_id: str = "",
        force: bool = False,
        client: str = "",
        request_id: str = "",
        timeout: Optional[float] = None,
    ) -> Sent:
        """Sends an event. When this returns, the kind's reducers have changed the data. Raises
        NodeNotFound and ReducerFailed. Unless the event is forced, raises WidgetHidden and
        WidgetDisabled, and for an event about a node NodeHidden and NodeDisabled."""
        request = _requests.send_event(widget_id, name, payload, node_id, force, client, request_id)
        answer = await self.call(methods.SEND_EVENT, request, timeout=timeout)
        return Sent(answer.sequence, answer.revision)
