"""The calls of `aio.AsyncClient`.

scripts/generate makes `_calls.py`, the calls of `client.Client`, from this file. Edit this one.
"""

from __future__ import annotations

import asyncio
import time
from datetime import datetime, timedelta
from typing import Any, AsyncIterator, Iterable, Mapping, Optional, Union

from . import _requests, methods
from ._channel import AGAIN, can_be_repeated, decode, encode, seconds_left
from ._method import Method, Request, Response
from ._proto.health import health_pb2
from ._proto.v1 import (
    admin_service_pb2,
    blob_service_pb2,
    catalog_service_pb2,
    timeline_service_pb2,
)
from ._proto.v1 import widget_service_pb2 as pb
from ._requests import Length
from ._resume import EventSession, RetryPolicy, WidgetSession
from ._watch_aio import AsyncWatch
from .bundles import BundleChange, BundleDifference, BundleSetting, InstalledBundle
from .errors import ConnectionLost
from .frames import EventFrame, Frame
from .kinds import Kind, KindPage, KindsApplied
from .mirror import Inconsistent, Mirror
from .model import (
    Applied,
    ApplyAction,
    Family,
    Health,
    LogLevel,
    PresenceAction,
    PresenceChanged,
    Refreshed,
    Reloaded,
    Selector,
    Sent,
    Stats,
    Transition,
    Updated,
    Widget,
    WidgetError,
    WidgetPage,
    WidgetSpec,
    _number,
)
from ._values import _text, from_timestamp, to_timestamp, to_values
from .preview import Preview
from .theme import Theme, ThemeChanged, ThemeValue, value_pb
from .timelines import Timeline, TimelinePage


class AsyncCalls:
    """Every method of the daemon, on the connection that a subclass has."""

    _path: str
    _timeout: Optional[float]

    async def _once(
        self, path: str, data: bytes, left: Optional[float], deadline: Optional[float]
    ) -> bytes:
        """Makes one call. `left` and `deadline` are in seconds; an error names `deadline`."""
        raise NotImplementedError

    # --- Any method ---

    async def call(
        self,
        method: Method[Request, Response],
        request: Request,
        *,
        timeout: Optional[float] = None,
    ) -> Response:
        """Makes a call with messages as they are: `client.call(methods.GET_WIDGET, …)`."""
        if method.is_stream:
            raise ValueError(f"{method.name} is a stream; use watch or watch_events")
        waits = AGAIN if can_be_repeated(method, request) else ()
        deadline = seconds_left(timeout, self._timeout)
        end = None if deadline is None else time.monotonic() + deadline
        data = encode(request)
        for wait in waits:
            left = None if end is None else end - time.monotonic()
            try:
                return decode(method, await self._once(method.path, data, left, deadline))
            except ConnectionLost:
                await asyncio.sleep(wait)
        left = None if end is None else end - time.monotonic()
        return decode(method, await self._once(method.path, data, left, deadline))

    # --- Widgets ---

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
        paths, token = tuple(fields), ""
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
            token = page.next_page_token
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

    async def start_activity(
        self,
        kind: str = "activity",
        *,
        id: str = "",
        family: Union[Family, str, None] = None,
        labels: Optional[Mapping[str, str]] = None,
        parameters: Optional[Mapping[str, Any]] = None,
        data: Optional[Mapping[str, Any]] = None,
        lifetime: Optional[Length] = None,
        stale_after: Optional[Length] = None,
        transition: Optional[Transition] = None,
        request_id: str = "",
        timeout: Optional[float] = None,
    ) -> Widget:
        """Adds a widget that is an activity. The parameters stay, the data is its state: at most 4096
        bytes. `lifetime` is 8 h by default and at most. The widget becomes stale after `stale_after`,
        if no update comes before. Raises WidgetExists."""
        request = _requests.start_activity(
            kind,
            id,
            family,
            labels,
            parameters,
            data,
            lifetime,
            stale_after,
            transition,
            request_id,
        )
        answer = await self.call(methods.START_ACTIVITY, request, timeout=timeout)
        return Widget.from_pb(answer.widget)

    async def update_activity(
        self,
        id: str,
        data: Optional[Mapping[str, Any]] = None,
        *,
        unset_data: Iterable[str] = (),
        stale_after: Optional[Length] = None,
        transition: Optional[Transition] = None,
        request_id: str = "",
        timeout: Optional[float] = None,
    ) -> Widget:
        """Changes the state of an activity, makes its widget fresh, and sets its stale time again.
        Raises WidgetNotFound, ActivityEnded."""
        request = _requests.update_activity(
            id, data, unset_data, stale_after, transition, request_id
        )
        answer = await self.call(methods.UPDATE_ACTIVITY, request, timeout=timeout)
        return Widget.from_pb(answer.widget)

    async def end_activity(
        self,
        id: str,
        data: Optional[Mapping[str, Any]] = None,
        *,
        unset_data: Iterable[str] = (),
        dismiss: Union[str, float, timedelta] = "default",
        transition: Optional[Transition] = None,
        request_id: str = "",
        timeout: Optional[float] = None,
    ) -> Optional[Widget]:
        """Changes the state of an activity for the last time. The daemon removes the widget "now", or
        after a duration of at most 4 h, the default. None if it is removed. Raises WidgetNotFound,
        ActivityEnded."""
        request = _requests.end_activity(
            id, data, unset_data, dismiss, transition, request_id
        )
        answer = await self.call(methods.END_ACTIVITY, request, timeout=timeout)
        return Widget.from_pb(answer.widget) if answer.HasField("widget") else None

    async def get_timeline(
        self,
        id: str,
        *,
        limit: int = 0,
        start_time: Optional[datetime] = None,
        timeout: Optional[float] = None,
    ) -> TimelinePage:
        """The entry of a widget that is current at a time (now), and the ones after it: at most
        `limit`, or 60. Raises WidgetNotFound."""
        start = None if start_time is None else to_timestamp(start_time, "start_time")
        request = timeline_service_pb2.GetTimelineRequest(
            id=_text(id), limit=limit, start_time=start
        )
        return TimelinePage.from_pb(
            await self.call(methods.GET_TIMELINE, request, timeout=timeout)
        )

    async def get_placeholder(
        self,
        kind: str,
        *,
        family: Union[Family, str, None] = None,
        timeout: Optional[float] = None,
    ) -> Preview:
        """What a kind looks like, with its sample. Asks no provider. Default family: as for a new
        widget. Raises KindNotFound, and InvalidArgument if the kind does not support the family."""
        request = timeline_service_pb2.GetPlaceholderRequest(
            kind=_text(kind), family=_requests.family(family)
        )
        answer = await self.call(methods.GET_PLACEHOLDER, request, timeout=timeout)
        return Preview.from_pb(answer.preview)

    async def get_snapshot(
        self,
        kind: str,
        parameters: Optional[Mapping[str, Any]] = None,
        *,
        family: Union[Family, str, None] = None,
        timeout: Optional[float] = None,
    ) -> Preview:
        """What an instance of a kind would show now. It is the sample, with the reason, if the
        provider does not answer in time. The other arguments and exceptions are those of
        get_placeholder."""
        request = timeline_service_pb2.GetSnapshotRequest(
            kind=_text(kind), family=_requests.family(family), parameters=to_values(parameters)
        )
        answer = await self.call(methods.GET_SNAPSHOT, request, timeout=timeout)
        return Preview.from_pb(answer.preview)

    async def set_time(
        self, time: Optional[datetime] = None, *, timeout: Optional[float] = None
    ) -> datetime:
        """The daemon's time; with `time`, moves the clock of a daemon with `--clock fake` first."""
        target = None if time is None else to_timestamp(time, "time")
        request = admin_service_pb2.SetTimeRequest(time=target)
        answer = await self.call(methods.SET_TIME, request, timeout=timeout)
        return from_timestamp(answer.time)

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

    # --- Kinds ---

    async def apply_kinds(
        self,
        kinds: Iterable[Kind],
        *,
        provider: str = "",
        prune: bool = False,
        validate_only: bool = False,
        request_id: str = "",
        timeout: Optional[float] = None,
    ) -> KindsApplied:
        """Applies a declared set of kinds and converts their widgets, in one commit. `provider` is
        the owner of the kinds. `prune` removes kinds of this provider that are no longer declared.
        `validate_only` changes nothing, and returns what would happen. Raises KindClaimed."""
        request = _requests.apply_kinds(kinds, provider, prune, validate_only, request_id)
        answer = await self.call(methods.APPLY_KINDS, request, timeout=timeout)
        return KindsApplied.from_pb(answer)

    async def get_kind(self, name: str, *, timeout: Optional[float] = None) -> Kind:
        """One kind. Raises KindNotFound."""
        request = catalog_service_pb2.GetKindRequest(name=_text(name))
        answer = await self.call(methods.GET_KIND, request, timeout=timeout)
        return Kind.from_pb(answer.kind)

    async def list_kinds(
        self, *, page_size: int = 0, page_token: str = "", timeout: Optional[float] = None
    ) -> KindPage:
        """One page, in order of names, with the built-in kinds. `page_size` is at most 1000; 0
        means 100. `kinds` reads all pages."""
        request = catalog_service_pb2.ListKindsRequest(
            page_size=page_size, page_token=_text(page_token)
        )
        answer = await self.call(methods.LIST_KINDS, request, timeout=timeout)
        found = tuple(Kind.from_pb(kind) for kind in answer.kinds)
        return KindPage(found, answer.next_page_token, answer.revision)

    async def kinds(self, *, timeout: Optional[float] = None) -> AsyncIterator[Kind]:
        """All kinds, read page by page. A kind that is added or removed meanwhile may be missing
        or not."""
        token = ""
        while True:
            page = await self.list_kinds(page_size=1000, page_token=token, timeout=timeout)
            for kind in page.kinds:
                yield kind
            token = page.next_page_token
            if not token:
                return

    async def delete_kind(
        self,
        name: str,
        *,
        allow_missing: bool = False,
        request_id: str = "",
        timeout: Optional[float] = None,
    ) -> int:
        """Removes a kind; returns the store's revision. Its widgets stay, and are no longer
        checked. Raises KindNotFound, and KindClaimed for a built-in kind."""
        request = catalog_service_pb2.DeleteKindRequest(
            name=_text(name), allow_missing=allow_missing, request_id=_text(request_id)
        )
        answer = await self.call(methods.DELETE_KIND, request, timeout=timeout)
        return answer.revision

    # --- The theme ---

    async def get_theme(self, *, timeout: Optional[float] = None) -> Theme:
        """The theme: the values of the tokens in nodes' properties."""
        answer = await self.call(
            methods.GET_THEME, catalog_service_pb2.GetThemeRequest(), timeout=timeout
        )
        return Theme.from_pb(answer.theme)

    async def update_theme(
        self,
        set: Mapping[str, ThemeValue] = {},
        *,
        unset: Iterable[str] = (),
        replace: bool = False,
        validate_only: bool = False,
        etag: str = "",
        request_id: str = "",
        timeout: Optional[float] = None,
    ) -> ThemeChanged:
        """Changes the theme in one commit: `update_theme({"color.primary": "#00aa44"})`. `unset`
        resets tokens to their standard values. `replace` first resets all tokens. `validate_only`
        changes nothing, and returns what would happen. Raises InvalidArgument, which names the
        token in `violations`, and EtagMismatch."""
        request = catalog_service_pb2.UpdateThemeRequest(
            set={_text(token): value_pb(value) for token, value in set.items()},
            unset=[_text(token) for token in unset],
            replace=replace,
            validate_only=validate_only,
            etag=_text(etag),
            request_id=_text(request_id),
        )
        answer = await self.call(methods.UPDATE_THEME, request, timeout=timeout)
        return ThemeChanged(Theme.from_pb(answer.theme), answer.changed, answer.revision)

    # --- Bundles ---

    async def install_bundle(
        self,
        content: bytes,
        file_name: str,
        *,
        sha256: str = "",
        timeout: Optional[float] = None,
    ) -> BundleChange:
        """Installs a bundle in the folder that widgetd-host runs. The content is a bundle's file, or a zip
        or tar.gz archive of its folder. Raises Unavailable if no host is connected, InvalidArgument if
        the bundle has mistakes."""
        request = catalog_service_pb2.InstallBundleRequest(
            content=content, file_name=_text(file_name), sha256=_text(sha256)
        )
        answer = await self.call(methods.INSTALL_BUNDLE, request, timeout=timeout)
        return BundleChange(
            InstalledBundle.from_pb(answer.bundle), answer.former_version, tuple(answer.warnings)
        )

    async def list_bundles(self, *, timeout: Optional[float] = None) -> tuple[InstalledBundle, ...]:
        """The bundles in the folder of widgetd-host."""
        request = catalog_service_pb2.ListBundlesRequest()
        answer = await self.call(methods.LIST_BUNDLES, request, timeout=timeout)
        return tuple(InstalledBundle.from_pb(bundle) for bundle in answer.bundles)

    async def delete_bundle(
        self, id: str, *, force: bool = False, timeout: Optional[float] = None
    ) -> None:
        """Deletes an installed bundle and its widgets. With force, also deletes files in its folder that
        somebody wrote by hand."""
        request = catalog_service_pb2.DeleteBundleRequest(id=_text(id), force=force)
        await self.call(methods.DELETE_BUNDLE, request, timeout=timeout)

    async def rollback_bundle(
        self, id: str, *, version: str = "", timeout: Optional[float] = None
    ) -> BundleChange:
        """Restores an earlier version of a bundle, which an installation has replaced. Default: the
        last one."""
        request = catalog_service_pb2.RollbackBundleRequest(id=_text(id), version=_text(version))
        answer = await self.call(methods.ROLLBACK_BUNDLE, request, timeout=timeout)
        return BundleChange(
            InstalledBundle.from_pb(answer.bundle), answer.former_version, tuple(answer.warnings)
        )

    async def set_bundle_defaults(
        self,
        id: str,
        values: Optional[Mapping[str, Any]] = None,
        *,
        unset: Iterable[str] = (),
        timeout: Optional[float] = None,
    ) -> tuple[BundleSetting, ...]:
        """Changes the user's values for the settings of a bundle, all of them or none, and returns all its
        settings. The settings in unset go back to their defaults. Raises InvalidArgument if a value does
        not fit."""
        request = catalog_service_pb2.SetBundleDefaultsRequest(
            id=_text(id),
            values=to_values(values),
            unset=[_text(name) for name in unset],
        )
        answer = await self.call(methods.SET_BUNDLE_DEFAULTS, request, timeout=timeout)
        return tuple(BundleSetting.from_pb(setting) for setting in answer.settings)

    async def diff_bundle(
        self, content: bytes, file_name: str, *, timeout: Optional[float] = None
    ) -> tuple[BundleDifference, ...]:
        """The changes that an installation of a bundle would make, permissions first. If no bundle with
        its id is installed, all parts of the bundle."""
        request = catalog_service_pb2.DiffBundleRequest(
            content=content, file_name=_text(file_name)
        )
        answer = await self.call(methods.DIFF_BUNDLE, request, timeout=timeout)
        return tuple(BundleDifference.from_pb(difference) for difference in answer.differences)

    # --- Files ---

    async def upload(
        self,
        data: bytes,
        name: str = "",
        content_type: str = "",
        *,
        timeout: Optional[float] = None,
    ) -> str:
        """Uploads a file in pieces, and returns the id of its blob. Use the id in an event, as the
        value of an input. The daemon deletes a blob that nobody uses. Raises QuotaExceeded."""
        blob_id, size = "", 0
        while not blob_id or size < len(data):
            request = blob_service_pb2.UploadBlobRequest(
                blob_id=blob_id, offset=size, data=data[size : size + _requests.PIECE_BYTES]
            )
            if not blob_id:
                request.name, request.content_type = _text(name), _text(content_type)
            answer = await self.call(methods.UPLOAD_BLOB, request, timeout=timeout)
            blob_id, size = answer.blob_id, answer.size
        return blob_id

    # --- Events ---

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

    # --- Following ---

    async def follow(
        self,
        selector: Optional[Selector] = None,
        *,
        fields: Iterable[str] = (),
        min_interval: Optional[Length] = None,
        retry: RetryPolicy = RetryPolicy(),
        wait: bool = False,
        content_family: Union[Family, str, None] = None,
        redacted: bool = False,
    ) -> AsyncIterator[Mirror]:
        """Follows state: yields its mirror at the beginning, and again after each change.

        It yields the same mirror each time, and the mirror changes only while you wait for the
        next one. `difference` has the latest changes. It survives lost connections and restarts of
        the daemon. Arguments and exceptions are those of `watch`.
        """
        mirror, is_shown = Mirror(), False
        watch = self.watch(
            selector,
            fields=fields,
            min_interval=min_interval,
            retry=retry,
            wait=wait,
            content_family=content_family,
            redacted=redacted,
        )
        try:
            async for frame in watch:
                try:
                    difference = mirror.apply(frame)
                except Inconsistent:
                    await watch.start_over()
                    continue
                # The first snapshot is yielded even if it is empty.
                if difference is not None and (difference or not is_shown):
                    is_shown = True
                    yield mirror
        finally:
            await watch.close()

    def watch(
        self,
        selector: Optional[Selector] = None,
        *,
        fields: Iterable[str] = (),
        events: bool = False,
        after_sequence: Optional[int] = None,
        resume_token: bytes = b"",
        min_interval: Optional[Length] = None,
        progress_interval: Optional[Length] = None,
        retry: RetryPolicy = RetryPolicy(),
        wait: bool = False,
        content_family: Union[Family, str, None] = None,
        passive: bool = False,
        include_theme: bool = False,
        upcoming_entries: int = 0,
        redacted: bool = False,
    ) -> AsyncWatch[Frame]:
        """Watches widgets: a snapshot, then every change; see `frames`.

        selector           the widgets, also those that are added later; None: all
        fields             the fields to send ("data", "data.percent", "labels", …); (): all
        events             also yield the widgets' events, in order with the changes, after
                           `after_sequence` or from now on
        resume_token       continue after the frame with this token, without a snapshot; needs the
                           same selector, fields and content_family
        min_interval       shortest time between two changes in seconds; changes in between are
                           conflated
        progress_interval  seconds without another frame after which a Progress comes; at least 0.1
        retry              the backoff after a lost connection
        wait               wait if there is no daemon at the beginning, instead of raising
        content_family     send the content for this family instead of each widget's own; widgets
                           whose kind does not support it have none
        passive            do not count as a watcher that providers are told about
        include_theme      also yield the Theme, after each Opened and at each change of it
        upcoming_entries   also yield up to this many next entries of each timeline, at most 60, as
                           Upcoming; `Mirror.advance` shows each at its date
        redacted           for a screen that everybody sees: the daemon sends neither private nodes
                           nor data; not with `events`

        Raises CallError or ProtocolError when trying again cannot help.
        """
        request = _requests.watch(
            selector,
            fields,
            events,
            after_sequence,
            resume_token,
            min_interval,
            progress_interval,
            content_family,
            passive,
            include_theme,
            upcoming_entries,
            redacted,
        )
        return AsyncWatch(self._path, methods.WATCH_WIDGETS, WidgetSession(request, retry, wait))

    def watch_events(
        self,
        selector: Optional[Selector] = None,
        *,
        names: Iterable[str] = (),
        after_sequence: Optional[int] = None,
        retry: RetryPolicy = RetryPolicy(),
        wait: bool = False,
    ) -> AsyncWatch[EventFrame]:
        """Watches events: those with one of `names`, or all, from now on or after
        `after_sequence`. A Gap names events that the daemon no longer keeps. No event comes twice.
        The other arguments are those of `watch`."""
        request = _requests.watch_events(selector, names, after_sequence)
        return AsyncWatch(self._path, methods.WATCH_EVENTS, EventSession(request, retry, wait))

    async def unsubscribe(self, subscription_id: int, *, timeout: Optional[float] = None) -> None:
        """Ends a stream of the same user, in any process. That watch ends without an error."""
        request = pb.UnsubscribeRequest(subscription_id=subscription_id)
        await self.call(methods.UNSUBSCRIBE, request, timeout=timeout)

    async def request_progress(
        self, subscription_id: int, *, timeout: Optional[float] = None
    ) -> None:
        """Asks a watch of widgets of the same user for a Progress."""
        request = pb.RequestProgressRequest(subscription_id=subscription_id)
        await self.call(methods.REQUEST_PROGRESS, request, timeout=timeout)

    # --- The daemon ---

    async def get_stats(self, *, timeout: Optional[float] = None) -> Stats:
        """Counters, gauges and the limits in force."""
        request = admin_service_pb2.GetStatsRequest()
        return Stats.from_pb(await self.call(methods.GET_STATS, request, timeout=timeout))

    async def reload(self, *, timeout: Optional[float] = None) -> Reloaded:
        """Makes the daemon reload its configuration."""
        request = admin_service_pb2.ReloadRequest()
        answer = await self.call(methods.RELOAD, request, timeout=timeout)
        return Reloaded(tuple(answer.applied), tuple(answer.needs_restart))

    async def set_log_level(
        self, level: Union[LogLevel, str], *, timeout: Optional[float] = None
    ) -> LogLevel:
        """Changes the log level until the next reload or restart; returns the old level."""
        request = admin_service_pb2.SetLogLevelRequest(level=_number(LogLevel.of(level)))
        answer = await self.call(methods.SET_LOG_LEVEL, request, timeout=timeout)
        return LogLevel.read(answer.previous)

    async def check_health(self, service: str = "", *, timeout: Optional[float] = None) -> Health:
        """Whether the daemon, or one of its services, serves."""
        request = health_pb2.HealthCheckRequest(service=_text(service))
        answer = await self.call(methods.CHECK_HEALTH, request, timeout=timeout)
        return Health.read(answer.status)
