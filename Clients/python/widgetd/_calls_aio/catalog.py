"""Calls for kinds, the theme, bundles and files."""

from __future__ import annotations

import contextlib
from typing import Any, AsyncIterator, Iterable, Mapping, Optional

from .. import _requests, methods
from .._pages import PageTokens
from .._proto.v1 import blob_service_pb2, catalog_service_pb2
from .._values import _text, to_values
from ..bundles import BundleChange, BundleDifference, BundleSetting, InstalledBundle
from ..errors import WidgetdError
from ..kinds import Kind, KindPage, KindsApplied
from ..theme import Theme, ThemeChanged, ThemeValue, value_pb
from .base import AsyncBaseCalls

#: The timeout of the call that deletes the part of a failed upload.
_ABANDON_SECONDS = 2.0


class AsyncCatalogCalls(AsyncBaseCalls):
    """Kinds, the theme, bundles and uploaded files."""

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
        tokens, token = PageTokens(), ""
        while True:
            page = await self.list_kinds(page_size=1000, page_token=token, timeout=timeout)
            for kind in page.kinds:
                yield kind
            token = tokens.next(page.next_page_token)
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
        force: bool = False,
        timeout: Optional[float] = None,
    ) -> BundleChange:
        """Installs a bundle in the folder that widgetd-host runs. The content is a bundle's file, or a zip
        or tar.gz archive of its folder. Raises Unavailable if no host is connected, InvalidArgument if
        the bundle has mistakes, or if its folder has another bundle. With force, replaces that
        bundle."""
        request = catalog_service_pb2.InstallBundleRequest(
            content=content, file_name=_text(file_name), sha256=_text(sha256), force=force
        )
        answer = await self.call(methods.INSTALL_BUNDLE, request, timeout=timeout)
        return BundleChange(
            InstalledBundle.from_pb(answer.bundle),
            answer.former_version,
            tuple(answer.warnings),
            answer.former_id,
            answer.unchanged,
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
            InstalledBundle.from_pb(answer.bundle),
            answer.former_version,
            tuple(answer.warnings),
            answer.former_id,
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
        value of an input. The daemon deletes a blob that nobody uses. If the upload fails or is
        cancelled, the uploaded part is deleted. Raises QuotaExceeded."""
        blob_id, size = "", 0
        try:
            while not blob_id or size < len(data):
                request = blob_service_pb2.UploadBlobRequest(
                    blob_id=blob_id, offset=size, data=data[size : size + _requests.PIECE_BYTES]
                )
                if not blob_id:
                    request.name, request.content_type = _text(name), _text(content_type)
                answer = await self.call(methods.UPLOAD_BLOB, request, timeout=timeout)
                blob_id, size = answer.blob_id, answer.size
        except BaseException:
            if blob_id:
                await self._abandon(blob_id)
            raise
        return blob_id

    async def _abandon(self, blob_id: str) -> None:
        """Deletes the uploaded part of a file, because nobody can use an unfinished blob. If that
        fails, too, the daemon deletes the part after `blob_idle_seconds`."""
        request = blob_service_pb2.DeleteBlobRequest(blob_id=blob_id)
        with contextlib.suppress(WidgetdError):
            await self.call(methods.DELETE_BLOB, request, timeout=_ABANDON_SECONDS)
