"""The bundles in the folder of widgetd-host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

from ._proto.v1 import catalog_service_pb2
from ._values import from_value


@dataclass(frozen=True)
class InstalledBundle:
    """A bundle in the host's folder."""

    id: str
    #: Empty if its file is invalid.
    version: str
    #: The bundle's folder on the host's machine.
    folder: str
    #: The problem of its file; empty for none.
    problem: str = ""
    #: The SHA-256 of the archive that was installed, in hexadecimal digits; empty if it was no archive.
    sha256: str = ""
    #: The version that rollback_bundle restores; empty if there is none.
    former_version: str = ""
    #: The kinds and widgets that it declares.
    kinds: tuple[str, ...] = ()
    widgets: tuple[str, ...] = ()
    #: The kinds of these widgets, in the same order; empty if the host is older.
    widget_kinds: tuple[str, ...] = ()

    @staticmethod
    def from_pb(message: catalog_service_pb2.InstalledBundle) -> InstalledBundle:
        return InstalledBundle(
            message.id,
            message.version,
            message.folder,
            message.problem,
            message.sha256,
            message.former_version,
            tuple(message.kinds),
            tuple(message.widgets),
            tuple(message.widget_kinds),
        )


@dataclass(frozen=True)
class BundleChange:
    """The result of install_bundle or rollback_bundle."""

    #: The bundle as it is now.
    bundle: InstalledBundle
    #: The version that was replaced; empty if there was none.
    former_version: str = ""
    #: Warnings about possible mistakes.
    warnings: tuple[str, ...] = ()
    #: The id in the replaced version's file; empty if it is unknown.
    former_id: str = ""
    #: Whether install_bundle found the same content, so that nothing has changed. False if the host is
    #: older.
    unchanged: bool = False


@dataclass(frozen=True)
class BundleSetting:
    """A setting of a bundle."""

    name: str
    #: The type of its values: "list(string)".
    type: str
    #: The value in use: the user's, or else the default.
    value: Any
    default_value: Any
    description: str = ""

    @staticmethod
    def from_pb(message: catalog_service_pb2.BundleSetting) -> BundleSetting:
        return BundleSetting(
            message.name,
            message.type,
            from_value(message.value),
            from_value(message.default_value),
            message.description,
        )


@dataclass(frozen=True)
class BundleDifference:
    """A part of a bundle's file that an installation would change."""

    #: "kinds.todo.sources.load.every"
    path: str
    #: The installed value; None if the part is new.
    before: Optional[str] = None
    #: The new value; None if the part is removed.
    after: Optional[str] = None

    @staticmethod
    def from_pb(message: catalog_service_pb2.BundleDifference) -> BundleDifference:
        return BundleDifference(
            message.path,
            message.before if message.HasField("before") else None,
            message.after if message.HasField("after") else None,
        )
