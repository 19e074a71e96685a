"""The .proto files as protoc reads them, with the places of their elements.

protoc describes each file as a message and says for each element, by its path through that message,
at which line and column it stands and which comment precedes it. Everything that checks the files
goes by these descriptions; nothing here parses the language.
"""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from typing import NamedTuple

from google.protobuf import descriptor_pb2
from google.protobuf.descriptor_pb2 import (
    DescriptorProto, EnumDescriptorProto, FileDescriptorProto, FileDescriptorSet,
    ServiceDescriptorProto)

# The files of other projects. They stay as published.
FOREIGN = ("google/", "grpc/", "ttrpc/")

Path = tuple[int, ...]

# The numbers of fields in paths.
PACKAGE, MESSAGE, ENUM, SERVICE, SYNTAX = 2, 4, 5, 6, 12
FIELD, NESTED, NESTED_ENUM, ONEOF = 2, 3, 4, 8
NAME, VALUE, RPC, INPUT, OUTPUT = 1, 2, 2, 2, 3


class Trouble(Exception):
    """The reason why the check cannot run."""


class CannotCompile(Exception):
    """protoc refuses the files. `findings` has its messages."""

    def __init__(self, findings: list[Finding]):
        super().__init__(f"{len(findings)} errors")
        self.findings = findings


@dataclasses.dataclass(frozen=True, order=True)
class Finding:
    """A mistake. Sorts by place. Line and column count from 1."""

    file: str
    line: int
    column: int
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.rule}: {self.message}"


class MessageAt(NamedTuple):
    """A message, nested ones included, with its full name and its place."""

    name: str
    file: str
    path: Path
    it: DescriptorProto


class EnumAt(NamedTuple):
    """An enum, nested ones included."""

    name: str
    file: str
    path: Path
    it: EnumDescriptorProto


class ServiceAt(NamedTuple):
    """A service."""

    name: str
    file: str
    path: Path
    it: ServiceDescriptorProto


class Source:
    """A set of files. `shown_as` is the folder that findings name in front of a file's path."""

    def __init__(self, files: FileDescriptorSet, paths: list[str], shown_as: str = "Protos",
                 warnings: list[Finding] | None = None):
        self.everything = {file.name: file for file in files.file}
        self.files = {path: self.everything[path] for path in paths}
        self.shown_as = shown_as
        self.warnings = warnings or []
        self._locations = {
            name: {tuple(at.path): at for at in file.source_code_info.location}
            for name, file in self.everything.items()}

    @classmethod
    def compiled(cls, folder: str, shown_as: str = "Protos") -> Source:
        """Runs protoc over every .proto file below the folder."""
        paths = sorted(
            os.path.relpath(os.path.join(where, name), folder)
            for where, _, names in os.walk(folder) for name in names if name.endswith(".proto"))
        if not paths:
            raise Trouble(f"there is no .proto file in {folder}")
        with tempfile.NamedTemporaryFile() as out:
            try:
                done = subprocess.run(
                    ["protoc", "--include_imports", "--include_source_info", "-I", folder,
                     "-I", "/usr/include", "-o", out.name, *paths],
                    capture_output=True, text=True, check=False)
            except FileNotFoundError:
                raise Trouble("there is no protoc; install protobuf-compiler") from None
            said = list(_said(done.stderr, shown_as))
            if done.returncode != 0:
                raise CannotCompile(said)
            return cls(FileDescriptorSet.FromString(out.read()), paths, shown_as, said)

    def own(self) -> Iterator[FileDescriptorProto]:
        """The files of this project."""
        for path, file in self.files.items():
            if not path.startswith(FOREIGN):
                yield file

    # --- Places -----------------------------------------------------------------------------------

    def finding(self, rule: str, file: str, path: Path, message: str) -> Finding:
        """A finding at an element, or at its name if protoc has its place."""
        known = self._locations.get(file, {})
        at = known.get((*path, NAME)) or known.get(path)
        line, column = (at.span[0] + 1, at.span[1] + 1) if at else (1, 1)
        return Finding(f"{self.shown_as}/{file}", line, column, rule, message)

    def comment(self, file: str, path: Path) -> str:
        """The comment right before an element."""
        at = self._locations.get(file, {}).get(path)
        return at.leading_comments.strip() if at else ""


# --- Walking --------------------------------------------------------------------------------------


def messages(file: FileDescriptorProto) -> Iterator[MessageAt]:
    """The messages of a file, outer ones first, without those of map entries."""
    def below(inner: list[DescriptorProto], scope: str, path: Path) -> Iterator[MessageAt]:
        for index, message in enumerate(inner):
            if message.options.map_entry:
                continue
            name, here = f"{scope}.{message.name}", (*path, index)
            yield MessageAt(name, file.name, here, message)
            yield from below(message.nested_type, name, (*here, NESTED))

    yield from below(file.message_type, file.package, (MESSAGE,))


def enums(file: FileDescriptorProto) -> Iterator[EnumAt]:
    """The enums of a file, those in messages included."""
    for index, enum in enumerate(file.enum_type):
        yield EnumAt(f"{file.package}.{enum.name}", file.name, (ENUM, index), enum)
    for message in messages(file):
        for index, enum in enumerate(message.it.enum_type):
            yield EnumAt(f"{message.name}.{enum.name}", file.name,
                         (*message.path, NESTED_ENUM, index), enum)


def services(file: FileDescriptorProto) -> Iterator[ServiceAt]:
    """The services of a file."""
    for index, service in enumerate(file.service):
        yield ServiceAt(f"{file.package}.{service.name}", file.name, (SERVICE, index), service)


def real_oneofs(message: DescriptorProto) -> list[int]:
    """The indexes of the oneofs in the .proto file, without those of `optional`."""
    made = {field.oneof_index for field in message.field if field.proto3_optional}
    return [index for index in range(len(message.oneof_decl)) if index not in made]


def map_entry(message: DescriptorProto, field: descriptor_pb2.FieldDescriptorProto
              ) -> DescriptorProto | None:
    """The message of a map's entries. None if the field is not a map."""
    name = field.type_name.rpartition(".")[2]
    for nested in message.nested_type:
        if nested.options.map_entry and nested.name == name:
            return nested
    return None


def _said(words: str, shown_as: str) -> Iterator[Finding]:
    """The messages of protoc, with the warnings of this project's files only."""
    for line in words.splitlines():
        match = re.match(r"(.+?\.proto):(?:(\d+):(\d+):)? (warning: )?(.*)", line)
        if match is None:
            # protoc also warns about a file without syntax. SYNTAX_PROTO3 reports it.
            if not line.startswith("[libprotobuf WARNING"):
                yield Finding(shown_as, 1, 1, "COMPILES", line)
            continue
        file, row, column, warning, message = match.groups()
        if warning and file.startswith(FOREIGN):
            continue
        unused = re.fullmatch(r"Import (.*) is unused\.", message)
        rule = "IMPORT_USED" if unused else "COMPILES"
        if unused:
            message = f'nothing of "{unused[1]}" is used here; remove the import'
        yield Finding(f"{shown_as}/{file}", int(row or 1), int(column or 1), rule, message)
