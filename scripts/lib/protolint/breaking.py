"""Changes of the .proto files that break programs of the last release.

Three things must not break: bytes (each side reads the messages of the other, and stored messages),
JSON (the same by names), and sources (a program compiles with the new files). So the rules are those
of buf's WIRE_JSON for messages, and of its FILE for the names in generated code, with buf's names. A
field may go if its number and its name are reserved. Comments, order, new files, messages, fields,
values and RPCs break nothing.

A change that breaks programs needs a new version of the package.
"""

from __future__ import annotations

from collections.abc import Iterator

from google.protobuf.descriptor_pb2 import (
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileOptions)

from protolint.source import (
    FIELD, INPUT, OUTPUT, PACKAGE, RPC, VALUE, EnumAt, Finding, MessageAt, ServiceAt,
    Source, enums, map_entry, messages, real_oneofs, services)

RULES = {
    "FILE_NO_DELETE": "no file is removed",
    "FILE_SAME_PACKAGE": "a file stays in its package",
    "FILE_SAME_OPTION": "a file keeps the options that decide what generated code looks like",
    "MESSAGE_NO_DELETE": "no message is removed, renamed, or moved to another file",
    "ENUM_NO_DELETE": "no enum is removed, renamed, or moved to another file",
    "SERVICE_NO_DELETE": "no service is removed, renamed, or moved to another file",
    "FIELD_NO_DELETE_UNLESS_RESERVED": "the number and name of a removed field are reserved",
    "FIELD_SAME_NAME": "a field keeps its name, and a number its field",
    "FIELD_SAME_NUMBER": "a field keeps its number",
    "FIELD_SAME_JSON_NAME": "a field keeps its name in JSON",
    "FIELD_SAME_TYPE": "a field keeps its type",
    "FIELD_SAME_CARDINALITY": "a field stays single, repeated or a map",
    "FIELD_SAME_PRESENCE": "a field stays `optional`, or stays without it",
    "FIELD_SAME_ONEOF": "a field stays in its oneof, or in none",
    "ONEOF_NO_DELETE": "no oneof is removed or renamed",
    "RESERVED_NO_DELETE": "what is reserved stays reserved",
    "ENUM_VALUE_NO_DELETE": "no value of an enum is removed",
    "ENUM_VALUE_SAME_NAME": "a value of an enum keeps its name",
    "ENUM_VALUE_SAME_NUMBER": "a value of an enum keeps its number",
    "RPC_NO_DELETE": "no RPC is removed or renamed",
    "RPC_SAME_REQUEST_TYPE": "an RPC keeps its request",
    "RPC_SAME_RESPONSE_TYPE": "an RPC keeps its response",
    "RPC_SAME_CLIENT_STREAMING": "an RPC goes on taking one request, or a stream",
    "RPC_SAME_SERVER_STREAMING": "an RPC goes on giving one response, or a stream",
    "RPC_SAME_IDEMPOTENCY_LEVEL": "an RPC keeps its idempotency_level",
}

# Options of a file that do not change generated code.
FREE_OPTIONS = {"deprecated", "uninterpreted_option"}


def findings(before: Source, now: Source) -> list[Finding]:
    """The changes of `now` that break programs of `before`."""
    found: list[Finding] = []
    for file in before.files.values():
        if file.name not in now.files:
            found.append(now.finding("FILE_NO_DELETE", file.name, (),
                                     "the file was released; bring it back"))
            continue
        there = now.files[file.name]
        found += _file(now, file, there)
        if file.package != there.package:
            # Every name in the file has changed, so one finding is enough.
            continue
        found += _messages(now, file, there)
        found += _enums(now, file, there)
        found += _services(now, file, there)
    return sorted(found)


def _file(now: Source, was: FileDescriptorProto, it: FileDescriptorProto) -> Iterator[Finding]:
    if was.package != it.package:
        yield now.finding("FILE_SAME_PACKAGE", it.name, (PACKAGE,),
                          f"the package was {was.package} and is {it.package}; leave this file as "
                          "it was, and put the new package beside it")
    for option in FileOptions.DESCRIPTOR.fields:
        if option.name not in FREE_OPTIONS:
            old, new = getattr(was.options, option.name), getattr(it.options, option.name)
            if old != new:
                yield now.finding("FILE_SAME_OPTION", it.name, (),
                                  f"{option.name} was {old!r} and is {new!r}; restore it")


# --- Messages -------------------------------------------------------------------------------------


def _messages(now: Source, was: FileDescriptorProto, it: FileDescriptorProto) -> Iterator[Finding]:
    there = {message.name: message for message in messages(it)}
    for old in messages(was):
        if old.name in there:
            yield from _message(now, old.it, there[old.name])
        elif not _goes_with_message(old.name, was, there):
            yield now.finding("MESSAGE_NO_DELETE", it.name, (),
                              f"message {old.name} was released with this file; bring it back")


def _goes_with_message(name: str, was: FileDescriptorProto, there: dict[str, MessageAt]) -> bool:
    """Whether it was nested in a message that is gone. The finding of that message is enough."""
    outer = name.rpartition(".")[0]
    return outer != was.package and outer not in there


def _message(now: Source, was: DescriptorProto, at: MessageAt) -> Iterator[Finding]:
    def wrong(rule: str, index: int | None, message: str) -> Finding:
        path = at.path if index is None else (*at.path, FIELD, index)
        return now.finding(rule, at.file, path, message)

    it = at.it
    by_number = {field.number: index for index, field in enumerate(it.field)}
    by_name = {field.name: index for index, field in enumerate(it.field)}
    for old in was.field:
        index = by_number.get(old.number)
        moved = by_name.get(old.name)
        if index is None and moved is not None:
            yield wrong("FIELD_SAME_NUMBER", moved,
                        f"field {old.name} had the number {old.number} and has "
                        f"{it.field[moved].number}; restore it")
        elif index is None:
            missing = []
            if not any(old.number in range(r.start, r.end) for r in it.reserved_range):
                missing.append(f"`reserved {old.number};`")
            if old.name not in it.reserved_name:
                missing.append(f'`reserved "{old.name}";`')
            if missing:
                yield wrong("FIELD_NO_DELETE_UNLESS_RESERVED", None,
                            f"field {old.name} = {old.number} was removed from {at.name}; add "
                            f"{' and '.join(missing)}, so that no one uses it again")
        else:
            yield from _field(wrong, index, was, old, it, it.field[index])
    oneofs = {it.oneof_decl[index].name for index in real_oneofs(it)}
    for index in real_oneofs(was):
        name = was.oneof_decl[index].name
        if name not in oneofs:
            yield wrong("ONEOF_NO_DELETE", None, f"oneof {name} of {at.name} is gone; restore it")
    yield from _reserved(
        wrong, at.name, [range(r.start, r.end) for r in was.reserved_range],
        [range(r.start, r.end) for r in it.reserved_range],
        set(was.reserved_name) - set(it.reserved_name))


def _field(wrong, index: int, was_in: DescriptorProto, was: FieldDescriptorProto,
           in_: DescriptorProto, it: FieldDescriptorProto) -> Iterator[Finding]:
    if was.name != it.name:
        yield wrong("FIELD_SAME_NAME", index,
                    f"number {was.number} was field {was.name} and is {it.name}; restore the name, "
                    "or, for a new field, take a new number and reserve the old one")
    elif was.json_name != it.json_name:
        yield wrong("FIELD_SAME_JSON_NAME", index,
                    f"{it.name} was {was.json_name} in JSON and is {it.json_name}; restore it")
    old_kind, new_kind = _cardinality(was_in, was), _cardinality(in_, it)
    if old_kind != new_kind:
        yield wrong("FIELD_SAME_CARDINALITY", index,
                    f"{it.name} was {old_kind} and is {new_kind}; add a new field instead")
    elif _type(was_in, was) != _type(in_, it):
        yield wrong("FIELD_SAME_TYPE", index,
                    f"{it.name} was of type {_type(was_in, was)} and is of {_type(in_, it)}; add a "
                    "new field instead")
    if old_kind == new_kind and was.proto3_optional != it.proto3_optional and not (
            _oneof(was_in, was) or _oneof(in_, it)):
        yield wrong("FIELD_SAME_PRESENCE", index,
                    f"{it.name} was {'' if was.proto3_optional else 'not '}`optional`; restore it: "
                    "otherwise absent and zero are taken for each other")
    if _oneof(was_in, was) != _oneof(in_, it):
        yield wrong("FIELD_SAME_ONEOF", index,
                    f"{it.name} was in {_oneof(was_in, was) or 'no oneof'} and is in "
                    f"{_oneof(in_, it) or 'none'}; add a new field instead")


def _cardinality(message: DescriptorProto, field: FieldDescriptorProto) -> str:
    if map_entry(message, field):
        return "a map"
    return "repeated" if field.label == FieldDescriptorProto.LABEL_REPEATED else "single"


def _type(message: DescriptorProto, field: FieldDescriptorProto) -> str:
    """The type in the words of a .proto file, with full names."""
    entry = map_entry(message, field)
    if entry:
        return f"map<{_type(entry, entry.field[0])}, {_type(entry, entry.field[1])}>"
    name = FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()
    return field.type_name.removeprefix(".") if name in ("message", "enum", "group") else name


def _oneof(message: DescriptorProto, field: FieldDescriptorProto) -> str:
    """The name of the field's oneof in the .proto file. Empty for none."""
    if field.HasField("oneof_index") and not field.proto3_optional:
        return message.oneof_decl[field.oneof_index].name
    return ""


def _reserved(wrong, name: str, was: list[range], it: list[range], names: set[str]
              ) -> Iterator[Finding]:
    for old in was:
        # A range can have half a billion numbers, so only the ends of the ranges are compared.
        edges = {old.start, old.stop - 1, *(r.stop for r in it), *(r.start - 1 for r in it)}
        lost = sorted(n for n in edges if n in old and not any(n in r for r in it))
        if lost:
            yield wrong("RESERVED_NO_DELETE", None,
                        f"{name} no longer reserves number {lost[0]}; reserve it again")
    for lost_name in sorted(names):
        yield wrong("RESERVED_NO_DELETE", None,
                    f'{name} no longer reserves the name "{lost_name}"; reserve it again')


# --- Enums ----------------------------------------------------------------------------------------


def _enums(now: Source, was: FileDescriptorProto, it: FileDescriptorProto) -> Iterator[Finding]:
    there = {enum.name: enum for enum in enums(it)}
    outer = {message.name: message for message in messages(it)}
    for old in enums(was):
        if old.name in there:
            yield from _enum(now, old.it, there[old.name])
        elif not _goes_with_message(old.name, was, outer):
            yield now.finding("ENUM_NO_DELETE", it.name, (),
                              f"enum {old.name} was released with this file; bring it back")


def _enum(now: Source, was: EnumDescriptorProto, at: EnumAt) -> Iterator[Finding]:
    def wrong(rule: str, index: int | None, message: str) -> Finding:
        path = at.path if index is None else (*at.path, VALUE, index)
        return now.finding(rule, at.file, path, message)

    numbers = {value.name: (value.number, index) for index, value in enumerate(at.it.value)}
    indexes = {value.number: index for index, value in enumerate(at.it.value)}
    for old in was.value:
        if old.name in numbers:
            number, index = numbers[old.name]
            if number != old.number:
                yield wrong("ENUM_VALUE_SAME_NUMBER", index,
                            f"{old.name} had the number {old.number} and has {number}; restore it")
        elif old.number in indexes:
            index = indexes[old.number]
            yield wrong("ENUM_VALUE_SAME_NAME", index,
                        f"number {old.number} was {old.name} and is {at.it.value[index].name}; "
                        "restore the name, or, for a new value, take a new number")
        else:
            yield wrong("ENUM_VALUE_NO_DELETE", None,
                        f"{old.name} = {old.number} was removed; bring it back, and mark it with "
                        "[deprecated = true] if it should not be used")
    yield from _reserved(
        wrong, at.name, [range(r.start, r.end + 1) for r in was.reserved_range],
        [range(r.start, r.end + 1) for r in at.it.reserved_range],
        set(was.reserved_name) - set(at.it.reserved_name))


# --- Services -------------------------------------------------------------------------------------


def _services(now: Source, was: FileDescriptorProto, it: FileDescriptorProto) -> Iterator[Finding]:
    there = {service.name: service for service in services(it)}
    for old in services(was):
        if old.name in there:
            yield from _service(now, old, there[old.name])
        else:
            yield now.finding("SERVICE_NO_DELETE", it.name, (),
                              f"service {old.name} was released with this file; bring it back")


def _service(now: Source, was: ServiceAt, at: ServiceAt) -> Iterator[Finding]:
    indexes = {method.name: index for index, method in enumerate(at.it.method)}
    for old in was.it.method:
        if old.name not in indexes:
            yield now.finding("RPC_NO_DELETE", at.file, at.path,
                              f"{at.name} has no {old.name} any more; bring it back, and mark it "
                              "with `option deprecated = true;` if it should not be called")
            continue
        index = indexes[old.name]
        new, path = at.it.method[index], (*at.path, RPC, index)
        for rule, number, before, after in (
                ("RPC_SAME_REQUEST_TYPE", INPUT, old.input_type, new.input_type),
                ("RPC_SAME_RESPONSE_TYPE", OUTPUT, old.output_type, new.output_type)):
            if before != after:
                yield now.finding(rule, at.file, (*path, number),
                                  f"{new.name} had {before.removeprefix('.')} and has "
                                  f"{after.removeprefix('.')}; restore it, or add another RPC")
        for rule, number, before, after in (
                ("RPC_SAME_CLIENT_STREAMING", INPUT, old.client_streaming, new.client_streaming),
                ("RPC_SAME_SERVER_STREAMING", OUTPUT, old.server_streaming, new.server_streaming)):
            if before != after:
                yield now.finding(rule, at.file, (*path, number),
                                  f"{new.name} was {'a' if before else 'no'} stream there; restore "
                                  "it, or add another RPC")
        # A first level breaks nothing, because clients without a level do not repeat the call.
        if old.options.idempotency_level not in (0, new.options.idempotency_level):
            yield now.finding("RPC_SAME_IDEMPOTENCY_LEVEL", at.file, path,
                              f"{new.name} has another idempotency_level; restore it")
