"""The messages of the last release, as a file in the repository.

It is a FileDescriptorSet in protobuf's text format, without comments and places: text, so that a
review shows what a release adds. `protoc --encode google.protobuf.FileDescriptorSet` makes the
usual binary form of it.
"""

from __future__ import annotations

import os

from google.protobuf import text_format
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from protolint.source import Source, Trouble

NOTICE = """\
# The messages of the last release. Written by scripts/lint-protos --release; do not edit.
#
# proto-file: google/protobuf/descriptor.proto
# proto-message: google.protobuf.FileDescriptorSet

"""


def read(path: str) -> Source:
    """The last release's files."""
    try:
        with open(path, encoding="utf-8") as file:
            files = text_format.Parse(file.read(), FileDescriptorSet())
    except FileNotFoundError:
        raise Trouble(f"{path} is missing, so there is no release to compare with; take it "
                      "from the release's commit, or make one with --release") from None
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise Trouble(f"{path} is damaged: {error}; take it from the release's commit") from None
    return Source(files, [file.name for file in files.file])


def write(path: str, source: Source) -> None:
    """Keeps the files as the last release. Either all of it is written or nothing."""
    files = FileDescriptorSet()
    for name in sorted(source.files):
        file = files.file.add()
        file.CopyFrom(source.files[name])
        file.ClearField("source_code_info")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w", encoding="utf-8") as out:
        out.write(NOTICE + text_format.MessageToString(files, as_utf8=True))
    os.replace(path + ".new", path)
