"""Encoded descriptors, read without a library, and the mark that protoc-c refuses.

protoc-c 1.4.1 refuses `optional` in proto3 files. On the wire such a field is the only member of a oneof,
and protoc describes it so, with a mark `proto3_optional` beside it. `lower_file_set` removes the mark, and
only from the descriptors: the .proto files keep `optional`, and the C code has a `_<field>_case` that is not
0 if the field is set.
"""

import sys

# The guards in wp_decode.c keep one bit for each field of a message.
FIELDS_MAX = 64


def fields_of(data):
    """Yields (number, wire type, raw bytes of the whole field, content if length-delimited)."""
    at = 0
    while at < len(data):
        start = at
        tag, at = varint(data, at)
        content = None
        wire_type = tag & 7
        if wire_type == 0:
            _, at = varint(data, at)
        elif wire_type == 1:
            at += 8
        elif wire_type == 2:
            size, at = varint(data, at)
            content = data[at : at + size]
            at += size
        elif wire_type == 5:
            at += 4
        else:
            raise ValueError("wire type %d in a descriptor" % wire_type)
        yield tag >> 3, wire_type, data[start:at], content


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def encoded_varint(value):
    result = bytearray()
    while value >= 0x80:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    result.append(value)
    return bytes(result)


def rewritten(data, replacements, drop=()):
    """The message with some length-delimited fields replaced and some fields dropped."""
    result = bytearray()
    for number, wire_type, raw, content in fields_of(data):
        if number in drop:
            continue
        if wire_type == 2 and number in replacements:
            content = replacements[number](content)
            raw = encoded_varint(number << 3 | 2) + encoded_varint(len(content)) + content
        result += raw
    return bytes(result)


def lower_file_set(data):  # FileDescriptorSet.file
    return rewritten(data, {1: lower_file})


def lower_file(data):  # FileDescriptorProto.message_type
    return rewritten(data, {4: lower_message})


def lower_message(data):  # DescriptorProto.field, .nested_type
    count = sum(1 for number, _, _, _ in fields_of(data) if number == 2)
    if count > FIELDS_MAX:
        sys.exit("scripts/generate: a message has %d fields, at most %d work" % (count, FIELDS_MAX))
    return rewritten(data, {2: lower_field, 3: lower_message})


def lower_field(data):  # FieldDescriptorProto.proto3_optional
    return rewritten(data, {}, drop=(17,))


def text_of(data, number):
    """The first text with a number, or "" """
    return next((content.decode() for n, _, _, content in fields_of(data) if n == number), "")
