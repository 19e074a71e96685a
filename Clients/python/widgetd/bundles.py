"""Bundles in the folder of widgetd-host, as the calls of CatalogService have them."""

from __future__ import annotations

from dataclasses import dataclass

from ._proto.v1 import catalog_service_pb2


@dataclass(frozen=True)
class InstalledBundle:
    """A bundle in the host's folder."""

    id: str
    #: Empty if its file cannot be used.
    version: str
    #: Where it is on the host's machine.
    folder: str
    #: What is wrong with its file; empty for nothing.
    problem: str = ""
    #: Of the archive that it came from, in hexadecimal digits; empty if it came otherwise.
    sha256: str = ""
    #: The version that rollback_bundle brings back; empty for none.
    former_version: str = ""
    #: The kinds and widgets that it declares.
    kinds: tuple[str, ...] = ()
    widgets: tuple[str, ...] = ()

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
        )


@dataclass(frozen=True)
class BundleChange:
    """What install_bundle or rollback_bundle did."""

    #: The bundle as it is now.
    bundle: InstalledBundle
    #: The version that gave way; empty for none.
    former_version: str = ""
    #: What to know about: what may be a mistake.
    warnings: tuple[str, ...] = ()
