#!/usr/bin/env python3
"""The other side of the interoperability tests: Google's own Python implementation of protobuf.

    interop.py names    PROTOS OUT        writes the full name of every message, one a line
    interop.py generate PROTOS OUT SEED N writes N random messages of every type, and fixed ones
    interop.py compare  PROTOS A B        fails unless both files hold the same messages
    interop.py echo     PROTOS IN OUT     decodes every message and encodes it again

The message classes are made at run time from what protoc says about PROTOS, so nothing generated is
kept. A file of messages is a sequence of records: the type's full name and the encoded message,
each behind its length as a little-endian 32-bit number.

`compare` allows for what the Swift side does on purpose (docs beside the types say why): unknown
fields are dropped, what is absent reads as its default, read masks are sorted. See `normalise`.
"""

import os
import random
import struct
import subprocess
import sys
import tempfile

try:
    from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, message_factory
    from google.protobuf import duration_pb2, field_mask_pb2, timestamp_pb2  # noqa: F401
except ImportError:
    sys.exit("interop.py needs Google's protobuf for Python: pip install protobuf")

ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
TEXTS = ["", "a", "CPU 73.3 °C", "e\u0301 is not \u00e9", "日本語", "\U0001f9ea\U0001f469\u200d\U0001f52c",
         "\u007f\u0080\u07ff\u0800\uffff\U00010000\U0010ffff", "\n\t\"\\", "x" * 300]
DOUBLES = [0.0, -0.0, 1.0, -1.5, 1e308, 5e-324, float("inf"), float("-inf"), float("nan")]


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


# --- Random messages -----------------------------------------------------------------------------

ID_FIELDS = {"id", "widget_id", "ids", "changed_ids", "removed_ids", "widget_ids", "before",
             "after", "kind", "kinds", "attached", "detached"}
ASCII_MAPS = {"counters", "limits", "metadata", "set"}
REQUIRED = {"GetWidgetResponse.widget", "CreateWidgetResponse.widget", "MoveWidgetResponse.widget",
            "ContentTemplate.root", "NodeTemplate.type",
            "CreateWidgetRequest.widget", "WidgetAdded.widget", "StoredWidget.widget",
            "Kind.name", "KindResult.name", "GetKindRequest.name", "DeleteKindRequest.name",
            "GetKindResponse.kind", "LabelRequirement.operator", "SetLogLevelRequest.level", "SendEventRequest.name",
            "ProvideOpen.provider", "DataRequest.widget", "InstallBundleResponse.bundle",
            "RollbackBundleResponse.bundle", "Entry.date", "ShownEntry.entry",
            "GetPlaceholderResponse.preview", "GetSnapshotResponse.preview",
            "StartActivityRequest.widget", "StartActivityResponse.widget",
            "UpdateActivityResponse.widget"}


# Fields that hold a name only in these messages.
NAMES = {("Kind", "name"), ("KindResult", "name"), ("GetKindRequest", "name"),
         ("DeleteKindRequest", "name"), ("ApplyKindsRequest", "provider"), ("ProvideOpen", "provider")}
TYPES = ["", "dyn", "bool", "double", "list(int)", "map(string, list(dyn))", "timestamp"]


class Maker:
    def __init__(self, schema, seed):
        self.schema = schema
        self.random = random.Random(seed)

    def identifier(self, size=64):
        first = self.random.choice(ALPHABET)
        rest = self.random.choices(ALPHABET + "._-/:", k=self.random.choice([0, 3, 12, size - 1]))
        return first + "".join(rest)

    def message(self, name, depth=0):
        message = self.schema.new(name)
        self.fill(message, depth)
        return message

    def fill(self, message, depth):
        descriptor = message.DESCRIPTOR
        special = getattr(self, "fill_" + descriptor.name, None)
        if special:
            return special(message, depth)
        for oneof in descriptor.oneofs:
            real = len(oneof.fields) > 1
            if real or self.random.random() < 0.5:
                self.set(message, self.random.choice(oneof.fields), depth)
        for field in descriptor.fields:
            if field.containing_oneof:
                continue
            needed = field.name in ID_FIELDS and not field.is_repeated
            needed = needed or "%s.%s" % (descriptor.name, field.name) in REQUIRED
            if needed or self.random.random() < 0.7:
                self.set(message, field, depth)

    def fill_ThemeColors(self, message, depth):
        for name in ("light", "dark", "high_contrast"):
            if name == "light" or self.random.random() < 0.7:
                digits = self.random.choice([6, 8])
                color = "#" + "".join(self.random.choices("0123456789abcdef", k=digits))
                # Full opacity is not written.
                setattr(message, name, color[:-2] if color.endswith("ff") and digits == 8 else color)

    def fill_ThemeFont(self, message, depth):
        message.size = self.random.uniform(-1, 300)
        message.weight = self.random.choice([0, 1, 2, 3])
        message.italic = self.random.random() < 0.5
        message.monospace = self.random.random() < 0.5

    def fill_ThemeValue(self, message, depth):
        which = self.random.choice(["color", "offset", "font"])
        if which == "offset":
            message.offset = self.random.uniform(-1, 300)
        else:
            part = getattr(message, which)
            part.SetInParent()
            self.fill(part, depth + 1)

    def set(self, message, field, depth):
        entry = field.message_type and field.message_type.GetOptions().map_entry
        if entry:
            target = getattr(message, field.name)
            for _ in range(self.random.choice([0, 1, 2, 5])):
                if field.name in ASCII_MAPS or self.random.random() < 0.5:
                    key = self.identifier()
                else:
                    key = self.random.choice(TEXTS)
                value = field.message_type.fields_by_name["value"]
                if value.message_type:
                    self.fill(target[key], depth + 1)
                else:
                    target[key] = self.scalar(message, value)
        elif field.is_repeated:
            if field.name == "children" and depth > 4:
                return
            target = getattr(message, field.name)
            for _ in range(self.random.choice([0, 1, 3])):
                if field.message_type:
                    self.fill(target.add(), depth + 1)
                else:
                    target.append(self.scalar(message, field))
        elif field.message_type:
            target = getattr(message, field.name)
            target.SetInParent()
            self.fill(target, depth + 1)
        else:
            setattr(message, field.name, self.scalar(message, field))

    def scalar(self, message, field):
        pick = self.random.choice
        kind = field.cpp_type
        if kind == field.CPPTYPE_STRING and field.type == field.TYPE_BYTES:
            return self.random.randbytes(pick([0, 1, 20, 200]))
        if kind == field.CPPTYPE_STRING:
            name = message.DESCRIPTOR.name
            identifies = field.name in ID_FIELDS or field.name == "apply_set"
            if identifies or (name, field.name) == ("SendEventRequest", "name"):
                return self.identifier()
            if (name, field.name) in NAMES:
                return self.identifier()
            if (name, field.name) == ("Field", "type"):
                return pick(TYPES)
            if field.name in ("client", "request_id"):
                return self.identifier(60)
            return pick(TEXTS)
        if kind == field.CPPTYPE_ENUM:
            numbers = [v.number for v in field.enum_type.values if v.number != 0]
            return pick(numbers) if numbers else 0
        if kind == field.CPPTYPE_BOOL:
            return pick([False, True])
        if kind in (field.CPPTYPE_DOUBLE, field.CPPTYPE_FLOAT):
            return pick(DOUBLES) if field.containing_oneof else pick([0.0, 0.25, 1e9])
        bits = 32 if kind in (field.CPPTYPE_INT32, field.CPPTYPE_UINT32) else 64
        if kind in (field.CPPTYPE_UINT32, field.CPPTYPE_UINT64):
            return pick([0, 1, 127, 128, 2**bits - 1, self.random.getrandbits(bits)])
        return pick([0, 1, -1, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1,
                     self.random.getrandbits(bits - 1)])

    # Messages whose content follows rules that the schema cannot say.

    def fill_Value(self, message, depth):
        fields = message.DESCRIPTOR.oneofs[0].fields
        if self.random.random() < 0.05:
            return
        if depth > 6:
            fields = [f for f in fields if f.name not in ("list_value", "map_value")]
        self.set(message, self.random.choice(fields), depth)

    def fill_Timestamp(self, message, _):
        pick = self.random.choice
        message.seconds = pick([0, -1, -62135596800, 253402300799, 1763700000])
        message.nanos = pick([0, 1, 999999999])

    def fill_Duration(self, message, _):
        pick = self.random.choice
        sign = pick([-1, 1])
        message.seconds = sign * pick([0, 1, 3600, 315576000000])
        message.nanos = sign * pick([0, 1, 250000000, 999999999])

    def fill_WidgetPatch(self, message, depth):
        for field in message.DESCRIPTOR.fields:
            # One of these two at most.
            if field.name != "clear_timeline" and self.random.random() < 0.7:
                self.set(message, field, depth)
        message.clear_timeline = not message.HasField("timeline") and self.random.random() < 0.5

    def fill_EndActivityRequest(self, message, depth):
        for field in message.DESCRIPTOR.fields:
            if field.name not in ("dismissal", "dismiss_after"):
                self.set(message, field, depth)
        message.dismissal = self.random.choice([0, 1, 2, 3])
        # Only one of the policies has a time.
        if message.dismissal == 3:
            message.dismiss_after.seconds = self.random.choice([0, 60, 14400])

    def fill_FieldMask(self, message, _):
        paths = ["id", "kind", "family", "labels", "data", "etag", "create_time", "data.a.b",
                 "parameters.x", "owner_uid", "revision"]
        message.paths.extend(self.random.choices(paths, k=self.random.choice([0, 1, 4])))

    def fill_MoveWidgetRequest(self, message, depth):
        message.id = self.identifier()
        which = self.random.choice(["first", "last", "before", "after"])
        setattr(message, which, self.identifier() if which in ("before", "after") else True)
        self.fill(message.transition, depth + 1)

    def fill_RefreshWidgetsRequest(self, message, depth):
        self.target(message, depth)

    def fill_SetPresenceRequest(self, message, depth):
        self.target(message, depth)
        message.action = self.random.choice([1, 2, 3, 4, 5])
        message.request_id = self.identifier()

    def target(self, message, depth):
        which = self.random.choice(["ids", "selector", "all"])
        if which == "ids":
            message.ids.extend([self.identifier(), self.identifier()])
        elif which == "all":
            message.all = True
        else:
            message.selector.SetInParent()
            self.fill(message.selector, depth + 1)

    def fill_Status(self, message, depth):
        message.code = self.random.randrange(17)
        message.message = self.random.choice(TEXTS)
        for name in ("ErrorInfo", "BadRequest", "RetryInfo"):
            if self.random.random() < 0.6:
                detail = self.message("google.rpc." + name, depth + 1)
                any_ = message.details.add()
                any_.type_url = "type.googleapis.com/google.rpc." + name
                any_.value = detail.SerializeToString()


def fixed(schema):
    """Messages picked by hand. Bytes that are joined to others are how a map gets a duplicate key."""
    for name in schema.names:
        if not needs_content(name):
            yield name, b""
    value = schema.new("widgetd.v1.Value")
    for number in DOUBLES:
        value.double_value = number
        yield "widgetd.v1.Value", value.SerializeToString()
    value.int_value = 7
    entry = b"\x0a\x01k\x12" + bytes([value.ByteSize()]) + value.SerializeToString()
    first = b"\x0a\x01k\x12\x02\x18\x01"
    yield "widgetd.v1.MapValue", field(1, first) + field(1, entry)
    yield "widgetd.v1.MapValue", field(1, b"\x0a\x01k") + field(1, b"") + field(1, b"\x12\x00")
    yield "widgetd.v1.LabelSet", field(1, b"\x0a\x01k") + field(1, b"\x12\x01v")
    # Unknown fields of every wire type, at two levels.
    unknown = b"\xc0\x3e\x01" + b"\xc1\x3e" + b"8 bytes." + b"\xc2\x3e\x03\xff\x00\xff" + b"\xc5\x3e4by."
    inner = schema.new("widgetd.v1.Presence")
    inner.visible = True
    widget = schema.new("widgetd.v1.Widget")
    widget.id, widget.kind = "a", "b"
    yield "widgetd.v1.Widget", (
        widget.SerializeToString() + unknown + field(5, inner.SerializeToString() + unknown))
    # A repeated enum, packed and not.
    yield "widgetd.v1.WidgetSelector", field(3, b"\x01\x02") + b"\x18\x03"
    # Enum numbers from the future, where a reader must bear them.
    yield "widgetd.v1.Transition", b"\x08\x63"
    yield "widgetd.v1.Widget", widget.SerializeToString() + b"\x18\x63"
    yield "widgetd.v1.SetLogLevelResponse", b"\x08\x63"
    yield "grpc.health.v1.HealthCheckResponse", b"\x08\x63"
    yield "widgetd.v1.ApplyResult", field(1, b"a") + b"\x10\x63"


def field(number, content):
    assert number < 16 and len(content) < 128
    return bytes([number << 3 | 2, len(content)]) + content


def needs_content(name):
    """Whether the empty message lacks something that the Swift side insists on."""
    short = name.split(".")[-1]
    return short in {
        "Widget", "WidgetSpec", "LabelRequirement", "CreateWidgetRequest", "CreateWidgetResponse",
        "GetWidgetRequest", "GetWidgetResponse", "UpdateWidgetRequest", "DeleteWidgetRequest",
        "SetPresenceRequest", "MoveWidgetRequest", "MoveWidgetResponse", "ApplyResult",
        "SendEventRequest", "Event", "WidgetUpdated", "WidgetAdded", "WidgetRemoved",
        "SetLogLevelRequest", "StoredWidget", "StoredTombstone", "Kind", "KindResult", "LostField",
        "ContentTemplate", "NodeTemplate", "ThemeValue", "ThemeColors",
        "GetKindRequest", "GetKindResponse", "DeleteKindRequest", "RefreshWidgetsRequest",
        "ProvideRequest", "ProvideOpen", "ProvidedUpdate", "ProvideAnswer", "DataRequest",
        "InstallBundleResponse", "RollbackBundleResponse", "ProvideBundleAnswer", "Entry",
        "ShownEntry", "UpcomingEntries", "GetTimelineRequest", "GetPlaceholderRequest", "GetPlaceholderResponse",
        "GetSnapshotRequest", "GetSnapshotResponse", "Preview", "SnapshotRequest",
        "ProvideSnapshot", "RefreshBudget", "StartActivityRequest", "StartActivityResponse",
        "UpdateActivityRequest", "UpdateActivityResponse", "EndActivityRequest"}


# --- Comparison ----------------------------------------------------------------------------------


def normalise(schema, message):
    message.DiscardUnknownFields()
    for descriptor, value in list(message.ListFields()):
        if descriptor.message_type is None:
            continue
        if descriptor.message_type.GetOptions().map_entry:
            if descriptor.message_type.fields_by_name["value"].message_type:
                for key in value:
                    normalise(schema, value[key])
        elif descriptor.is_repeated:
            for element in value:
                normalise(schema, element)
        else:
            normalise(schema, value)
    name = message.DESCRIPTOR.name
    if name == "Value" and message.WhichOneof("kind") is None:
        message.null_value = 0
    if name == "Value" and message.WhichOneof("kind") == "null_value":
        message.null_value = 0
    if name == "Kind":
        message.persistence = message.persistence or 1
    if name == "Timeline":
        message.policy = message.policy or 1
    if name in ("Preview", "SnapshotRequest"):
        message.family = known(message.family, 7, 2)
    if name == "Schedule" and not message.offset.ListFields():
        message.ClearField("offset")
    if name == "WidgetUpdated" and message.HasField("timeline"):
        message.timeline_cleared = False
    if name == "StoredWidget":
        message.widget.ClearField("timeline")
        if message.HasField("timeline"):
            message.timeline_set_time.SetInParent()
        else:
            message.ClearField("timeline_set_time")
            message.ClearField("timeline_asides")
    if name == "Activity":
        message.start_time.SetInParent()
        message.expire_time.SetInParent()
        message.state = known(message.state, 3, 2 if message.HasField("end_time") else 1)
    if name in ("UpdateActivityRequest", "EndActivityRequest"):
        message.patch.SetInParent()
    if name == "EndActivityRequest":
        message.dismissal = message.dismissal or 1
    if name == "SetTimeResponse":
        message.time.SetInParent()
    if name in ("GetThemeResponse", "UpdateThemeResponse"):
        message.theme.SetInParent()
    if name == "ThemeColors":
        message.dark = message.dark or message.light
        message.high_contrast = message.high_contrast or message.light
    if name == "ThemeFont":
        message.weight = message.weight or 1
    if name == "RowTemplate":
        message.name = message.name or "item"
    if name == "Presence":
        message.state = 2 if not message.visible else 1 if message.enabled else 3
    if name == "Widget":
        message.family = known(message.family, 7, 2)
        # Written only for a read mask that names them.
        message.ClearField("owners")
        message.ClearField("stored_timeline")
    if name == "Widget":
        if not message.HasField("presence"):
            message.presence.visible = message.presence.enabled = True
            message.presence.state = 1
        message.create_time.SetInParent()
        message.update_time.SetInParent()
        if not message.error.reason:
            message.ClearField("error")
    if name == "Transition":
        message.curve = known(message.curve, 7, 0)
    if name == "Field":
        message.type = message.type or "dyn"
    if name == "Kind" and message.revision:
        message.update_time.SetInParent()
    elif name == "Kind":
        message.ClearField("update_time")
    if name in ("ApplyKindsRequest", "ProvideKinds"):
        # What only the daemon sets is passed over.
        for kind in message.kinds:
            for field in ("provider", "revision", "owner_uid", "update_time", "attended",
                          "provider_connected", "refresh_budget"):
                kind.ClearField(field)
    if name in ("ApplyResult", "KindResult"):
        message.action = known(message.action, 4, 0)
    if name == "SetLogLevelResponse":
        message.previous = known(message.previous, 7, 0)
    if name == "HealthCheckResponse":
        message.status = known(message.status, 3, 0)
    if name in ("WidgetPatch", "WidgetUpdated") and not message.error.reason:
        for field in ("message", "since") if message.HasField("error") else ():
            message.error.ClearField(field)
    if name == "Event":
        message.origin.SetInParent()
        message.time.SetInParent()
    if name == "GetStatsResponse":
        message.start_time.SetInParent()
        message.uptime.SetInParent()
    if name == "ProvideOpened":
        message.lease.SetInParent()
    if name == "DataRequest":
        message.reason = known(message.reason, 5, 0)
    if name == "RecentError":
        message.time.SetInParent()
    if name in ("RecentError", "ProvideError"):
        message.code = message.code if 0 <= message.code <= 16 else 2
    if name == "RetryInfo":
        message.retry_delay.SetInParent()
    # Only responses carry an etag.
    if name in ("StoredWidget", "WidgetAdded", "DataRequest") and message.HasField("widget"):
        message.widget.ClearField("etag")
    if name == "SnapshotChunk":
        for widget in message.widgets:
            widget.ClearField("etag")
    if name == "StoredWidget":
        message.widget.ClearField("data")
        message.widget.ClearField("parameters")
        if not message.has_owners:
            message.ClearField("owners")
    if name in ("ListWidgetsRequest", "WatchWidgetsRequest", "WatchEventsRequest"):
        if message.HasField("selector") and not message.selector.ListFields():
            message.ClearField("selector")
    if name in ("UpdateWidgetRequest", "ProvidedUpdate"):
        message.patch.SetInParent()
    if "read_mask" in message.DESCRIPTOR.fields_by_name:
        paths = set(message.read_mask.paths)
        kept = paths - {"id", "kind", "revision", "created_revision"}
        message.ClearField("read_mask")
        if paths:
            message.read_mask.paths.extend(sorted(kept) or ["id"])
    if name == "Status":
        details = {}
        for any_ in message.details:
            detail = schema.new(any_.type_url.split("/")[-1])
            detail.ParseFromString(any_.value)
            normalise(schema, detail)
            if detail.DESCRIPTOR.name != "BadRequest" or detail.field_violations:
                details[detail.DESCRIPTOR.name] = detail
        message.ClearField("details")
        for name in sorted(details):
            any_ = message.details.add()
            any_.type_url = "type.googleapis.com/google.rpc." + name
            any_.value = details[name].SerializeToString(deterministic=True)


def known(number, highest, fallback):
    return number if 1 <= number <= highest else fallback


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
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
