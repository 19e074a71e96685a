"""Random messages of every type, and fixed ones."""

import random

ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
TEXTS = ["", "a", "CPU 73.3 °C", "e\u0301 is not \u00e9", "日本語", "\U0001f9ea\U0001f469\u200d\U0001f52c",
         "\u007f\u0080\u07ff\u0800\uffff\U00010000\U0010ffff", "\n\t\"\\", "x" * 300]
DOUBLES = [0.0, -0.0, 1.0, -1.5, 1e308, 5e-324, float("inf"), float("-inf"), float("nan")]
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
            if field.name in ("children", "further") and depth > 4:
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
