"""Every method of the daemon, with the types of its messages. For `Client.call`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Type, TypeVar

from google.protobuf.message import Message

from ._proto.health import health_pb2 as _health
from ._proto.v1 import admin_service_pb2 as _admin
from ._proto.v1 import blob_service_pb2 as _blobs
from ._proto.v1 import catalog_service_pb2 as _kinds
from ._proto.v1 import provider_service_pb2 as _providers
from ._proto.v1 import widget_service_pb2 as _widgets

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)


@dataclass(frozen=True)
class Method(Generic[Request, Response]):
    """A method: `service` and `name` as in "widgetd.v1.WidgetService/GetWidget"."""

    service: str
    name: str
    request: Type[Request]
    response: Type[Response]
    is_stream: bool = False

    @property
    def path(self) -> str:
        """The path in HTTP/2."""
        return f"/{self.service}/{self.name}"


_WIDGETS = "widgetd.v1.WidgetService"
_CATALOG = "widgetd.v1.CatalogService"
_BLOBS = "widgetd.v1.BlobService"
_ADMIN = "widgetd.v1.AdminService"

CREATE_WIDGET = Method(
    _WIDGETS, "CreateWidget", _widgets.CreateWidgetRequest, _widgets.CreateWidgetResponse
)
GET_WIDGET = Method(_WIDGETS, "GetWidget", _widgets.GetWidgetRequest, _widgets.GetWidgetResponse)
LIST_WIDGETS = Method(
    _WIDGETS, "ListWidgets", _widgets.ListWidgetsRequest, _widgets.ListWidgetsResponse
)
UPDATE_WIDGET = Method(
    _WIDGETS, "UpdateWidget", _widgets.UpdateWidgetRequest, _widgets.UpdateWidgetResponse
)
DELETE_WIDGET = Method(
    _WIDGETS, "DeleteWidget", _widgets.DeleteWidgetRequest, _widgets.DeleteWidgetResponse
)
SET_PRESENCE = Method(
    _WIDGETS, "SetPresence", _widgets.SetPresenceRequest, _widgets.SetPresenceResponse
)
MOVE_WIDGET = Method(
    _WIDGETS, "MoveWidget", _widgets.MoveWidgetRequest, _widgets.MoveWidgetResponse
)
APPLY_WIDGETS = Method(
    _WIDGETS, "ApplyWidgets", _widgets.ApplyWidgetsRequest, _widgets.ApplyWidgetsResponse
)
SEND_EVENT = Method(_WIDGETS, "SendEvent", _widgets.SendEventRequest, _widgets.SendEventResponse)
REFRESH_WIDGETS = Method(
    _WIDGETS, "RefreshWidgets", _widgets.RefreshWidgetsRequest, _widgets.RefreshWidgetsResponse
)
WATCH_WIDGETS = Method(
    _WIDGETS, "WatchWidgets", _widgets.WatchWidgetsRequest, _widgets.WatchWidgetsResponse, True
)
WATCH_EVENTS = Method(
    _WIDGETS, "WatchEvents", _widgets.WatchEventsRequest, _widgets.WatchEventsResponse, True
)
UNSUBSCRIBE = Method(
    _WIDGETS, "Unsubscribe", _widgets.UnsubscribeRequest, _widgets.UnsubscribeResponse
)
REQUEST_PROGRESS = Method(
    _WIDGETS, "RequestProgress", _widgets.RequestProgressRequest, _widgets.RequestProgressResponse
)
APPLY_KINDS = Method(_CATALOG, "ApplyKinds", _kinds.ApplyKindsRequest, _kinds.ApplyKindsResponse)
GET_KIND = Method(_CATALOG, "GetKind", _kinds.GetKindRequest, _kinds.GetKindResponse)
LIST_KINDS = Method(_CATALOG, "ListKinds", _kinds.ListKindsRequest, _kinds.ListKindsResponse)
DELETE_KIND = Method(_CATALOG, "DeleteKind", _kinds.DeleteKindRequest, _kinds.DeleteKindResponse)
GET_THEME = Method(_CATALOG, "GetTheme", _kinds.GetThemeRequest, _kinds.GetThemeResponse)
UPDATE_THEME = Method(
    _CATALOG, "UpdateTheme", _kinds.UpdateThemeRequest, _kinds.UpdateThemeResponse
)
INSTALL_BUNDLE = Method(
    _CATALOG, "InstallBundle", _kinds.InstallBundleRequest, _kinds.InstallBundleResponse
)
LIST_BUNDLES = Method(
    _CATALOG, "ListBundles", _kinds.ListBundlesRequest, _kinds.ListBundlesResponse
)
DELETE_BUNDLE = Method(
    _CATALOG, "DeleteBundle", _kinds.DeleteBundleRequest, _kinds.DeleteBundleResponse
)
ROLLBACK_BUNDLE = Method(
    _CATALOG, "RollbackBundle", _kinds.RollbackBundleRequest, _kinds.RollbackBundleResponse
)
SET_BUNDLE_DEFAULTS = Method(
    _CATALOG,
    "SetBundleDefaults",
    _kinds.SetBundleDefaultsRequest,
    _kinds.SetBundleDefaultsResponse,
)
DIFF_BUNDLE = Method(_CATALOG, "DiffBundle", _kinds.DiffBundleRequest, _kinds.DiffBundleResponse)
UPLOAD_BLOB = Method(_BLOBS, "UploadBlob", _blobs.UploadBlobRequest, _blobs.UploadBlobResponse)
READ_BLOB = Method(_BLOBS, "ReadBlob", _blobs.ReadBlobRequest, _blobs.ReadBlobResponse)
DELETE_BLOB = Method(_BLOBS, "DeleteBlob", _blobs.DeleteBlobRequest, _blobs.DeleteBlobResponse)
PROVIDE = Method(
    "widgetd.v1.ProviderService",
    "Provide",
    _providers.ProvideRequest,
    _providers.ProvideResponse,
    True,
)
GET_STATS = Method(_ADMIN, "GetStats", _admin.GetStatsRequest, _admin.GetStatsResponse)
RELOAD = Method(_ADMIN, "Reload", _admin.ReloadRequest, _admin.ReloadResponse)
SET_LOG_LEVEL = Method(_ADMIN, "SetLogLevel", _admin.SetLogLevelRequest, _admin.SetLogLevelResponse)
CHECK = Method(
    "grpc.health.v1.Health", "Check", _health.HealthCheckRequest, _health.HealthCheckResponse
)
