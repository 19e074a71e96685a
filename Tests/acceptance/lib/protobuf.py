"""Protobuf messages as Python dicts, for the messages of Protos/, with the standard library alone.

The schema is read from the .proto files themselves, so it cannot differ from them. It supports only
the features that those files use. A message is a dict with the fields that are set: maps are dicts,
repeated fields lists, enums numbers, sub-messages dicts. This implementation is independent on
purpose: it reveals a mistake that the daemon makes in both directions.
"""

import os
import re
import struct

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

# The messages of Protos/ use these, which protoc has built in.
WELL_KNOWN = """
syntax = "proto3";
package google.protobuf;
message Timestamp { int64 seconds = 1; int32 nanos = 2; }
message Duration { int64 seconds = 1; int32 nanos = 2; }
message FieldMask { repeated string paths = 1; }
message Any { string type_url = 1; bytes value = 2; }
"""

VARINT = {"int32", "int64", "uint32", "uint64", "bool"}
FIXED = {"double": ("<d", 8, 1), "sfixed64": ("<q", 8, 1), "fixed64": ("<Q", 8, 1),
         "float": ("<f", 4, 5), "fixed32": ("<I", 4, 5)}


class Field:
    """One field of a message. For a map, `key_type` is set and `type` is the type of its values."""

    def __init__(self, name, number, type_name, repeated=False, key_type=None):
        self.name, self.number, self.type = name, number, type_name
        self.repeated, self.key_type = repeated, key_type


class Schema:
    """All messages, by their full names."""

    def __init__(self):
        self.messages, self.enums = {}, set()
        self._parse(WELL_KNOWN)
        for folder, _, names in sorted(os.walk(os.path.join(ROOT, "Protos"))):
            for name in sorted(names):
                if name.endswith(".proto"):
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        self._parse(file.read())

    def _parse(self, text):
        text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
        tokens = re.findall(r'"[^"]*"|[\w.]+|[{}<>=;,()\[\]-]', text)
        package, at, scope = "", 0, []

        def full(name):
            return ".".join([package, *(s for s in scope if s), name])

        while at < len(tokens):
            token = tokens[at]
            if token == "package":
                package, at = tokens[at + 1], at + 3
            elif token in ("syntax", "import", "option", "reserved"):
                at = tokens.index(";", at) + 1
            elif token in ("message", "enum") and tokens[at + 2] == "{":
                name = full(tokens[at + 1])
                if token == "message":
                    self.messages[name] = []
                    scope.append(tokens[at + 1])
                    at += 3
                else:
                    self.enums.add(name)
                    at = tokens.index("}", at) + 1
            elif token == "service":
                depth, at = 1, tokens.index("{", at) + 1
                while depth:
                    depth += {"{": 1, "}": -1}.get(tokens[at], 0)
                    at += 1
            elif token == "oneof":
                scope.append("")
                at += 3
            elif token == "}":
                scope.pop()
                at += 1
            elif token == ";":
                at += 1
            else:
                at = self._field(tokens, at, package, [s for s in scope if s])

    def _field(self, tokens, at, package, scope):
        repeated = tokens[at] == "repeated"
        if tokens[at] in ("repeated", "optional"):
            at += 1
        key_type = None
        if tokens[at] == "map":
            key_type, type_name, name, number = (tokens[at + n] for n in (2, 4, 6, 8))
        else:
            type_name, name, number = tokens[at], tokens[at + 1], tokens[at + 3]
        fields = self.messages[".".join([package, *scope])]
        fields.append((Field(name, int(number), type_name, repeated, key_type), package, scope))
        return tokens.index(";", at) + 1

    def resolve(self, type_name, package, scope):
        """The full name of a message or enum; None for a scalar."""
        if type_name in VARINT or type_name in FIXED or type_name in ("string", "bytes"):
            return None
        for depth in range(len(scope), -1, -1):
            name = ".".join([package, *scope[:depth], type_name])
            if name in self.messages or name in self.enums:
                return name
        if type_name in self.messages or type_name in self.enums:
            return type_name
        raise KeyError(f"{type_name} is used in {package} and declared nowhere")

    # --- Encoding ---------------------------------------------------------------------------------

    def encode(self, name, message):
        """The message's bytes. A key that is no field is an error."""
        fields = {field.name: (field, package, scope)
                  for field, package, scope in self.messages[name]}
        unknown = set(message) - set(fields)
        if unknown:
            raise KeyError(f"{name} has no {sorted(unknown)}")
        out = bytearray()
        for key, value in message.items():
            field, package, scope = fields[key]
            kind = self.resolve(field.type, package, scope)
            if field.key_type:
                for entry_key, entry_value in value.items():
                    entry = (self._one(1, field.key_type, None, entry_key)
                             + self._one(2, field.type, kind, entry_value))
                    out += varint(field.number << 3 | 2) + varint(len(entry)) + entry
            else:
                for item in value if field.repeated else [value]:
                    out += self._one(field.number, field.type, kind, item)
        return bytes(out)

    def _one(self, number, type_name, kind, value):
        if kind in self.enums or type_name in VARINT:
            return varint(number << 3) + varint(int(value) & 0xFFFFFFFFFFFFFFFF)
        if type_name in FIXED:
            form, _, wire = FIXED[type_name]
            return varint(number << 3 | wire) + struct.pack(form, value)
        if kind:
            value = self.encode(kind, value)
        elif type_name == "string":
            value = value.encode()
        return varint(number << 3 | 2) + varint(len(value)) + value

    # --- Decoding ---------------------------------------------------------------------------------

    def decode(self, name, data):
        """The message's set fields. Fields that the schema does not have are skipped."""
        fields = {field.number: (field, package, scope)
                  for field, package, scope in self.messages[name]}
        message, at = {}, 0
        while at < len(data):
            tag, at = read_varint(data, at)
            wire = tag & 7
            if wire == 0:
                raw, at = read_varint(data, at)
            elif wire == 2:
                size, at = read_varint(data, at)
                raw, at = data[at:at + size], at + size
            else:
                size = {1: 8, 5: 4}[wire]
                raw, at = data[at:at + size], at + size
            if tag >> 3 not in fields:
                continue
            field, package, scope = fields[tag >> 3]
            kind = self.resolve(field.type, package, scope)
            if field.key_type:
                key, value = self._entry(field, kind, raw)
                message.setdefault(field.name, {})[key] = value
            elif field.repeated:
                packed = wire == 2 and (kind in self.enums or field.type in VARINT)
                items = message.setdefault(field.name, [])
                items += list(unpacked(raw)) if packed else [self._value(field.type, kind, raw)]
            else:
                message[field.name] = self._value(field.type, kind, raw)
        return message

    def _entry(self, field, kind, raw):
        key, value, at = "", {} if kind in self.messages else "", 0
        while at < len(raw):
            tag, at = read_varint(raw, at)
            if tag & 7 == 0:
                item, at = read_varint(raw, at)
            else:
                size, at = read_varint(raw, at)
                item, at = raw[at:at + size], at + size
            if tag >> 3 == 1:
                key = self._value(field.key_type, None, item)
            else:
                value = self._value(field.type, kind, item)
        return key, value

    def _value(self, type_name, kind, raw):
        if kind in self.enums:
            return raw
        if kind:
            return self.decode(kind, raw)
        if type_name == "string":
            return raw.decode()
        if type_name == "bytes":
            return bytes(raw)
        if type_name == "bool":
            return bool(raw)
        if type_name in ("int32", "int64"):
            return raw - (1 << 64) if raw >> 63 else raw
        if type_name in FIXED:
            return struct.unpack(FIXED[type_name][0], raw)[0]
        return raw


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def unpacked(data):
    at = 0
    while at < len(data):
        value, at = read_varint(data, at)
        yield value


SCHEMA = Schema()


# --- Values ---------------------------------------------------------------------------------------


def value(thing):
    """A Python value as widgetd.v1.Value."""
    if thing is None:
        return {"null_value": 0}
    if isinstance(thing, bool):
        return {"bool_value": thing}
    if isinstance(thing, int):
        return {"int_value": thing}
    if isinstance(thing, float):
        return {"double_value": thing}
    if isinstance(thing, str):
        return {"string_value": thing}
    if isinstance(thing, list):
        return {"list_value": {"values": [value(item) for item in thing]}}
    return {"map_value": {"entries": {key: value(item) for key, item in thing.items()}}}


def values(things):
    return {key: value(item) for key, item in things.items()}


def plain(wire):
    """A widgetd.v1.Value as a Python value; times stay messages."""
    for kind, content in wire.items():
        if kind == "list_value":
            return [plain(item) for item in content.get("values", [])]
        if kind == "map_value":
            return plains(content.get("entries", {}))
        return None if kind == "null_value" else content
    return None


def plains(wire):
    return {key: plain(item) for key, item in wire.items()}
