"""The style of .proto files: buf's rules STANDARD, and some rules of this project.

The rules have buf's names, so that its documentation explains them. This project's rules are
COMPILES, SYNTAX_PROTO3, COMMENT_FILE, LANGUAGE_OPTIONS and NUMBER_GAP.
`scripts/lint-protos --help` has the rules of buf that they contain. A file cannot switch a rule off. If a
rule does not fit, change the rule.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from google.protobuf.descriptor_pb2 import FileDescriptorProto

from protolint.source import (
    FIELD, INPUT, ONEOF, OUTPUT, PACKAGE, RPC, SYNTAX, VALUE, EnumAt, Finding, MessageAt,
    ServiceAt, Source, enums, messages, real_oneofs, services)

RULES = {
    "COMPILES": "protoc takes the file, without a warning",
    "SYNTAX_PROTO3": "a file says syntax = \"proto3\", so nothing in it can be required",
    "FILE_LOWER_SNAKE_CASE": "a file's name is lower_snake_case.proto",
    "COMMENT_FILE": "a comment before `package` or `syntax` says what the file is about",
    "PACKAGE_DEFINED": "a file has a package",
    "PACKAGE_LOWER_SNAKE_CASE": "the parts of a package's name are lower_snake_case",
    "PACKAGE_VERSION_SUFFIX": "a package ends in a version: v1, v2, v1beta1",
    "PACKAGE_DIRECTORY_MATCH": "the package a.b.v1 is in the folder a/b/v1",
    "LANGUAGE_OPTIONS": "a file says what generated code is called, as buf's managed mode would",
    "IMPORT_USED": "what is imported is used",
    "MESSAGE_PASCAL_CASE": "a message's name is PascalCase",
    "FIELD_LOWER_SNAKE_CASE": "a field's name is lower_snake_case",
    "ONEOF_LOWER_SNAKE_CASE": "a oneof's name is lower_snake_case",
    "NUMBER_GAP": "each number below the highest is in use or reserved",
    "ENUM_PASCAL_CASE": "an enum's name is PascalCase",
    "ENUM_VALUE_UPPER_SNAKE_CASE": "a value's name is UPPER_SNAKE_CASE",
    "ENUM_VALUE_PREFIX": "a value's name begins with the enum's",
    "ENUM_ZERO_VALUE_SUFFIX": "the value 0 ends in _UNSPECIFIED",
    "SERVICE_PASCAL_CASE": "a service's name is PascalCase",
    "SERVICE_SUFFIX": "a service's name ends in Service",
    "RPC_PASCAL_CASE": "an RPC's name is PascalCase",
    "RPC_REQUEST_STANDARD_NAME": "the request of Foo is FooRequest, of the same package",
    "RPC_RESPONSE_STANDARD_NAME": "the response of Foo is FooResponse, of the same package",
    "RPC_REQUEST_RESPONSE_UNIQUE": "a request or response belongs to one RPC",
    "COMMENT_MESSAGE": "a comment says what a message is",
    "COMMENT_FIELD": "a comment says what a field is",
    "COMMENT_ONEOF": "a comment says what a oneof is",
    "COMMENT_ENUM": "a comment says what an enum is",
    "COMMENT_ENUM_VALUE": "a comment says what a value means",
    "COMMENT_SERVICE": "a comment says what a service is",
    "COMMENT_RPC": "a comment says what an RPC does",
}

# protobuf reserves these numbers.
RESERVED_BY_PROTOBUF = range(19_000, 20_000)

PASCAL = re.compile(r"[A-Z][A-Za-z0-9]*")
LOWER_SNAKE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
UPPER_SNAKE = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")
VERSION = re.compile(r"v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?")


def findings(source: Source) -> list[Finding]:
    """All mistakes in the files of this project, and the warnings of protoc."""
    own = list(source.own())
    found = list(source.warnings)
    for file in own:
        found += _file(source, file)
        for message in messages(file):
            found += _message(source, message)
        for enum in enums(file):
            found += _enum(source, enum)
        for service in services(file):
            found += _service(source, service, file.package)
    found += _unique_messages(source, own)
    return sorted(found)


# --- Files and packages ---------------------------------------------------------------------------


def _file(source: Source, file: FileDescriptorProto) -> Iterator[Finding]:
    def wrong(rule: str, number: int, message: str) -> Finding:
        return source.finding(rule, file.name, (number,), message)

    folder, _, name = file.name.rpartition("/")
    stem = name.removesuffix(".proto")
    if file.syntax != "proto3":
        yield wrong("SYNTAX_PROTO3", SYNTAX, 'begin the file with syntax = "proto3";')
    if not LOWER_SNAKE.fullmatch(stem):
        yield wrong("FILE_LOWER_SNAKE_CASE", SYNTAX,
                    f"rename the file to {snake(stem)}.proto")
    if not (source.comment(file.name, (PACKAGE,)) or source.comment(file.name, (SYNTAX,))):
        yield wrong("COMMENT_FILE", PACKAGE,
                    "say in a comment right before `package` what the file is about")
    if not file.package:
        yield wrong("PACKAGE_DEFINED", SYNTAX,
                    f"add `package {folder.replace('/', '.') or 'name.v1'};`")
        return
    parts = file.package.split(".")
    if not all(LOWER_SNAKE.fullmatch(part) for part in parts):
        yield wrong("PACKAGE_LOWER_SNAKE_CASE", PACKAGE,
                    f"rename the package to {'.'.join(snake(part) for part in parts)}")
    if not VERSION.fullmatch(parts[-1]):
        yield wrong("PACKAGE_VERSION_SUFFIX", PACKAGE,
                    f"{file.package} has no version at its end; make it {file.package}.v1")
    if folder != "/".join(parts):
        yield wrong("PACKAGE_DIRECTORY_MATCH", PACKAGE,
                    f"{file.package} belongs into {'/'.join(parts)}/, and the file is in "
                    f"{folder or '.'}/; move it, or name the package {folder.replace('/', '.')}")
    missing = [f"option {name} = {said};" for name, said in language_options(file).items()
               if said != _said(getattr(file.options, name))]
    if missing:
        yield wrong("LANGUAGE_OPTIONS", PACKAGE,
                    f"say in the file what generated code is called: {' '.join(missing)}")


def language_options(file: FileDescriptorProto) -> dict[str, str]:
    """The names of generated code in some languages, by their options. Other languages have a suitable
    default. A Go import needs only the path. The name after it is that of the package."""
    parts = file.package.split(".")
    names = parts[:-1] if VERSION.fullmatch(parts[-1]) and len(parts) > 1 else parts
    stem = file.name.rpartition("/")[2].removesuffix(".proto")
    return {name: _said(value) for name, value in {
        "csharp_namespace": ".".join(map(pascal, parts)),
        "go_package": f"{'/'.join(parts)};{''.join(parts[len(names) - 1:])}",
        "java_multiple_files": True,
        "java_outer_classname": f"{pascal(stem)}Proto",
        "java_package": f"com.{file.package}",
        "objc_class_prefix": "".join(name[:1].upper() for name in names).ljust(3, "X"),
    }.items()}


def _said(value: str | bool) -> str:
    """An option's value, as in a .proto file."""
    return str(value).lower() if isinstance(value, bool) else f'"{value}"'


# --- Messages and enums ---------------------------------------------------------------------------


def _message(source: Source, message: MessageAt) -> Iterator[Finding]:
    it, file, path = message.it, message.file, message.path
    if not PASCAL.fullmatch(it.name):
        yield source.finding("MESSAGE_PASCAL_CASE", file, path,
                             f"rename message {it.name} to {pascal(it.name)}")
    yield from _commented(source, "COMMENT_MESSAGE", file, path, f"message {it.name}")
    for index, field in enumerate(it.field):
        at = (*path, FIELD, index)
        if not LOWER_SNAKE.fullmatch(field.name):
            yield source.finding("FIELD_LOWER_SNAKE_CASE", file, at,
                                 f"rename field {field.name} to {snake(field.name)}")
        yield from _commented(source, "COMMENT_FIELD", file, at, f"field {it.name}.{field.name}")
    for index in real_oneofs(it):
        oneof, at = it.oneof_decl[index], (*path, ONEOF, index)
        if not LOWER_SNAKE.fullmatch(oneof.name):
            yield source.finding("ONEOF_LOWER_SNAKE_CASE", file, at,
                                 f"rename oneof {oneof.name} to {snake(oneof.name)}")
        yield from _commented(source, "COMMENT_ONEOF", file, at, f"oneof {it.name}.{oneof.name}")
    taken = {field.number for field in it.field}
    yield from _gap(source, file, path, f"message {it.name}", 1, taken, [
        range(reserved.start, reserved.end) for reserved in it.reserved_range])


def _enum(source: Source, enum: EnumAt) -> Iterator[Finding]:
    it, file, path = enum.it, enum.file, enum.path
    if not PASCAL.fullmatch(it.name):
        yield source.finding("ENUM_PASCAL_CASE", file, path,
                             f"rename enum {it.name} to {pascal(it.name)}")
    yield from _commented(source, "COMMENT_ENUM", file, path, f"enum {it.name}")
    prefix = snake(it.name).upper() + "_"
    for index, value in enumerate(it.value):
        at = (*path, VALUE, index)
        if not UPPER_SNAKE.fullmatch(value.name):
            yield source.finding("ENUM_VALUE_UPPER_SNAKE_CASE", file, at,
                                 f"rename {value.name} to {snake(value.name).upper()}")
        if not value.name.startswith(prefix):
            yield source.finding("ENUM_VALUE_PREFIX", file, at,
                                 f"rename {value.name} to {prefix}{value.name}: values share one "
                                 "namespace with those of other enums")
        if value.number == 0 and not value.name.endswith("_UNSPECIFIED"):
            yield source.finding("ENUM_ZERO_VALUE_SUFFIX", file, at,
                                 f"make {prefix}UNSPECIFIED the value 0, which is what an absent "
                                 f"field has, and give {value.name} another number")
        yield from _commented(source, "COMMENT_ENUM_VALUE", file, at, value.name)
    taken = {value.number for value in it.value}
    yield from _gap(source, file, path, f"enum {it.name}", 0, taken, [
        range(reserved.start, reserved.end + 1) for reserved in it.reserved_range])


def _gap(source: Source, file: str, path: tuple[int, ...], what: str, lowest: int,
         taken: set[int], reserved: list[range]) -> Iterator[Finding]:
    missing = [number for number in range(lowest, max(taken, default=0))
               if number not in taken and number not in RESERVED_BY_PROTOBUF
               and not any(number in numbers for numbers in reserved)]
    if missing:
        shown = ", ".join(map(str, missing[:8])) + (", ..." if len(missing) > 8 else "")
        yield source.finding("NUMBER_GAP", file, path,
                             f"{what} leaves out {shown}; if something was removed, add "
                             f"`reserved {shown};` and its name, so that no one uses it again")


# --- Services -------------------------------------------------------------------------------------


def _service(source: Source, service: ServiceAt, package: str) -> Iterator[Finding]:
    it, file, path = service.it, service.file, service.path
    if not PASCAL.fullmatch(it.name):
        yield source.finding("SERVICE_PASCAL_CASE", file, path,
                             f"rename service {it.name} to {pascal(it.name)}")
    if not it.name.endswith("Service"):
        yield source.finding("SERVICE_SUFFIX", file, path,
                             f"rename service {it.name} to {it.name}Service")
    yield from _commented(source, "COMMENT_SERVICE", file, path, f"service {it.name}")
    for index, method in enumerate(it.method):
        at = (*path, RPC, index)
        if not PASCAL.fullmatch(method.name):
            yield source.finding("RPC_PASCAL_CASE", file, at,
                                 f"rename RPC {method.name} to {pascal(method.name)}")
        for rule, number, found, suffix in (
                ("RPC_REQUEST_STANDARD_NAME", INPUT, method.input_type, "Request"),
                ("RPC_RESPONSE_STANDARD_NAME", OUTPUT, method.output_type, "Response")):
            allowed = [f"{method.name}{suffix}", f"{it.name}{method.name}{suffix}"]
            if found not in [f".{package}.{name}" for name in allowed]:
                yield source.finding(rule, file, (*at, number),
                                     f"{method.name} has {found.removeprefix('.')}; give it a "
                                     f"message {allowed[0]} in package {package}")
        yield from _commented(source, "COMMENT_RPC", file, at, f"RPC {it.name}.{method.name}")


def _unique_messages(source: Source, own: list[FileDescriptorProto]) -> Iterator[Finding]:
    uses = [(file.name, (*service.path, RPC, index, number), name, method.name)
            for file in own for service in services(file)
            for index, method in enumerate(service.it.method)
            for number, name in ((INPUT, method.input_type), (OUTPUT, method.output_type))]
    counts = Counter(name for _, _, name, _ in uses)
    for file, path, name, method in uses:
        if counts[name] > 1:
            yield source.finding("RPC_REQUEST_RESPONSE_UNIQUE", file, path,
                                 f"{name.removeprefix('.')} is used {counts[name]} times; give "
                                 f"{method} separate messages, which can grow independently")


# --- Words ----------------------------------------------------------------------------------------


def _commented(source: Source, rule: str, file: str, path: tuple[int, ...], what: str
               ) -> Iterator[Finding]:
    if not source.comment(file, path):
        yield source.finding(rule, file, path, f"say in a comment right before it what {what} is")


def snake(name: str) -> str:
    """fooBar, FooBar, FOO_BAR and foo-bar as foo_bar."""
    parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return re.sub(r"[^a-z0-9]+", "_", parts.lower()).strip("_")


def pascal(name: str) -> str:
    """foo_bar as FooBar."""
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[^A-Za-z0-9]+", name))
