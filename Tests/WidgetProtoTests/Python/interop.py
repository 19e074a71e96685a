#!/usr/bin/env python3
"""The other side of the interoperability tests: Google's own Python implementation of protobuf.

    interop.py names    PROTOS OUT        writes the full name of every message, one a line
    interop.py generate PROTOS OUT SEED N writes N random messages of every type, and fixed ones
    interop.py compare  PROTOS A B        fails unless both files hold the same messages
    interop.py echo     PROTOS IN OUT     decodes every message and encodes it again

The message classes are made at run time from what protoc says about PROTOS, so nothing generated is
kept. A file of messages is a sequence of records: the type's full name and the encoded message,
each behind its length as a little-endian 32-bit number.

`compare` allows for the differences that the Swift side makes on purpose; see `normal_form.py`.
`random_messages.py` has the rules for messages that the Swift side accepts.
"""

import os
import struct
import subprocess
import sys
import tempfile

# The number of arguments of each command. The check comes before the import, which can fail.
ARGUMENT_COUNTS = {"names": 2, "generate": 4, "compare": 3, "echo": 3}
if ARGUMENT_COUNTS.get("".join(sys.argv[1:2])) != len(sys.argv) - 2:
    sys.exit(__doc__)

try:
    from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, message_factory
    from google.protobuf import duration_pb2, field_mask_pb2, timestamp_pb2  # noqa: F401
except ImportError:
    sys.exit("interop.py needs Google's protobuf for Python: pip install protobuf")

sys.dont_write_bytecode = True

from normal_form import normalise  # noqa: E402
from random_messages import Maker, fixed  # noqa: E402


class Schema:
    def __init__(self, protos):
        files = sorted(
            os.path.relpath(os.path.join(folder, name), protos)
            for folder, _, names in os.walk(protos) for name in names if name.endswith(".proto"))
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "descriptors")
            subprocess.run(["protoc", "--include_imports", "-I", protos, "-I", "/usr/include",
                            "-o", path] + files, check=True)
            with open(path, "rb") as file:
                described = descriptor_pb2.FileDescriptorSet.FromString(file.read())
        self.pool = descriptor_pool.DescriptorPool()
        for file in described.file:
            self.pool.Add(file)
        self.names = sorted(
            name for file in described.file if file.name in files
            for name in messages_of(file.package, file.message_type))

    def new(self, name):
        return message_factory.GetMessageClass(self.pool.FindMessageTypeByName(name))()


def messages_of(scope, messages):
    for message in messages:
        if message.options.map_entry:
            continue
        name = scope + "." + message.name
        yield name
        yield from messages_of(name, message.nested_type)


# --- Files of messages ---------------------------------------------------------------------------


def write_records(path, records):
    with open(path, "wb") as file:
        for name, data in records:
            for part in (name.encode(), data):
                file.write(struct.pack("<I", len(part)))
                file.write(part)


def read_records(path):
    with open(path, "rb") as file:
        data = file.read()
    at = 0
    parts = []
    while at < len(data):
        (size,) = struct.unpack_from("<I", data, at)
        parts.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    return [(parts[i].decode(), parts[i + 1]) for i in range(0, len(parts), 2)]


# --- Comparison ----------------------------------------------------------------------------------


def parsed(schema, name, data):
    message = schema.new(name)
    message.ParseFromString(data)
    normalise(schema, message)
    return message


def compare(schema, a, b):
    if len(a) != len(b):
        sys.exit("%d messages against %d" % (len(a), len(b)))
    for index, ((name, before), (other, after)) in enumerate(zip(a, b)):
        if name != other:
            sys.exit("message %d: %s against %s" % (index, name, other))
        x, y = parsed(schema, name, before), parsed(schema, name, after)
        if x.SerializeToString(deterministic=True) != y.SerializeToString(deterministic=True):
            sys.exit("message %d, %s, differs:\n%s\n--- against\n%s" % (index, name, x, y))


def main():
    command, protos, arguments = sys.argv[1], sys.argv[2], sys.argv[3:]
    schema = Schema(protos)
    if command == "names":
        with open(arguments[0], "w") as file:
            file.write("\n".join(schema.names))
    elif command == "generate":
        maker = Maker(schema, int(arguments[1]))
        records = list(fixed(schema))
        for name in schema.names:
            for _ in range(int(arguments[2])):
                data = maker.message(name).SerializeToString()
                if maker.random.random() < 0.2:
                    data += b"\xc2\x3e\x03new"
                records.append((name, data))
        write_records(arguments[0], records)
    elif command == "compare":
        compare(schema, read_records(arguments[0]), read_records(arguments[1]))
    elif command == "echo":
        records = []
        for name, data in read_records(arguments[0]):
            message = schema.new(name)
            message.ParseFromString(data)
            records.append((name, message.SerializeToString()))
        write_records(arguments[1], records)


if __name__ == "__main__":
    main()
