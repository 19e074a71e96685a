"""Swift code: the table of methods, the client's calls, numbers of fields, node types, and the conformances
of C structs."""

import re

from codegen import NOTICE
from codegen.descriptors import fields_of, text_of, varint
from codegen.facts import camel, lower_first

# Messages that the daemon writes or reads without protobuf-c's structs.
DIRECT = (
    "google.protobuf.Timestamp", "widgetd.v1.ChangeSet", "widgetd.v1.Content",
    "widgetd.v1.ContentChange", "widgetd.v1.CreateWidgetResponse", "widgetd.v1.GetWidgetResponse",
    "widgetd.v1.LabelSet", "widgetd.v1.ListValue", "widgetd.v1.ListWidgetsResponse",
    "widgetd.v1.MapValue", "widgetd.v1.Node", "widgetd.v1.Presence", "widgetd.v1.SnapshotChunk",
    "widgetd.v1.UpdateWidgetRequest", "widgetd.v1.UpdateWidgetResponse", "widgetd.v1.Value",
    "widgetd.v1.WatchWidgetsResponse", "widgetd.v1.Widget", "widgetd.v1.WidgetAdded",
    "widgetd.v1.WidgetChange", "widgetd.v1.WidgetPatch", "widgetd.v1.WidgetRemoved",
    "widgetd.v1.WidgetUpdated",
)


def methods(methods):
    """The table of methods for daemon and client."""
    services = list(dict.fromkeys(method["service"] for method in methods))
    cases = {name: lower_first(re.sub("Service$", "", name.split(".")[-1])) for name in services}
    lines = [
        "// %s" % NOTICE, "// swift-format-ignore-file", "",
        "/// A method that the daemon answers.",
        "public enum RPCMethod: UInt8, CaseIterable, Sendable {"]
    for method in methods:
        lines += ["  /// `%s/%s`" % (method["service"], method["name"]),
                  "  case %s" % lower_first(method["case"])]
    lines += ["", "  public enum Service: CaseIterable, Sendable {"]
    lines += ["    case %s" % cases[name] for name in services]
    lines += ["", "    /// With its package: \"widgetd.v1.WidgetService\".",
              "    public var name: StaticString {", "      switch self {"]
    lines += ['      case .%s: "%s"' % (cases[name], name) for name in services]
    lines += ["      }", "    }", "  }", "", "  public var service: Service {", "    switch self {"]
    for name in services:
        lines += ["    case %s:" % ", ".join(
            "." + lower_first(m["case"]) for m in methods if m["service"] == name)]
        lines += ["      .%s" % cases[name]]
    lines += ["    }", "  }"]
    for name in services:
        own = [lower_first(m["case"]) for m in methods if m["service"] == name]
        lines += ["", "  /// The methods of `%s`." % name,
                  "  public enum %s: Sendable {" % service_enum(cases[name]),
                  "    case %s" % ", ".join(own), "  }"]
    lines += ["", "  /// A method among those of its service.", "  public enum OfService: Sendable {"]
    lines += ["    case %s(%s)" % (case, service_enum(case)) for case in cases.values()]
    lines += ["  }", "", "  public var ofService: OfService {", "    switch self {"]
    lines += ["    case .%s: .%s(.%s)" % (case, cases[m["service"]], case)
              for m in methods for case in [lower_first(m["case"])]]
    lines += ["    }", "  }", "", "  /// Without its service: \"GetWidget\".",
              "  public var name: StaticString {", "    switch self {"]
    lines += ['    case .%s: "%s"' % (lower_first(m["case"]), m["name"]) for m in methods]
    lines += ["    }", "  }", "", "  /// Whether the caller sends any number of messages.",
              "  public var takesStream: Bool {"] + flag(methods, "takes_stream")
    lines += ["", "  /// Whether the daemon answers with any number of messages.",
              "  public var givesStream: Bool {"] + flag(methods, "gives_stream")
    lines += ["", "  /// Whether the call can change something, so that a caller without an answer does not know",
              "  /// whether it has. By the option idempotency_level.",
              "  public var mayChange: Bool {"] + flag(methods, "may_change")
    return "\n".join(lines + ["}", ""])


def service_enum(case):
    """The Swift enum with the methods of a service: widget becomes WidgetMethod."""
    return case[0].upper() + case[1:] + "Method"


# WidgetClient has no function for this method.
NOT_IN_CLIENT = ("ListHealth",)


# Requests whose default is the whole daemon, although they have fields.
DEFAULT_REQUESTS = ("HealthCheckRequest",)


def is_call(method):
    """Whether WidgetClient has a function for the method that sends one message and returns one."""
    return not (method["takes_stream"] or method["gives_stream"] or method["case"] in NOT_IN_CLIENT)


def client_calls(methods, comments):
    """The functions of WidgetClient: each joins a method to its request and response."""
    lines = ["// %s" % NOTICE, "// swift-format-ignore-file", "", "public import WidgetProto", "",
             "extension WidgetClient {"]
    for method in filter(is_call, methods):
        request, response = (method[part][1].split(".")[-1] for part in ("request", "response"))
        is_optional = method["has_empty_request"] or request in DEFAULT_REQUESTS
        lines += ["  /// %s" % line for line in comments["%(service)s/%(name)s" % method]]
        lines += ["  public func %s(" % lower_first(method["case"]),
                  "    _ request: %s%s, options: CallOptions = CallOptions()"
                  % (request, " = %s()" % request if is_optional else ""),
                  "  ) async throws(ClientError) -> %s {" % response,
                  "    try await call(.%s, request, options)" % lower_first(method["case"]), "  }", ""]
    return "\n".join(lines[:-1] + ["}", ""])


def driver_calls(methods):
    """The functions of WidgetClient by the names of their methods, for the conformance suite."""
    lines = ["// %s" % NOTICE, "// swift-format-ignore-file", "", "import WidgetClient", "",
             "extension SocketClient {",
             "  /// The library's function for a method, by the method's full name.",
             "  static func function(of method: String) -> Call? {", "    switch method {"]
    for method in filter(is_call, methods):
        lines += ['    case "%s/%s":' % (method["service"], method["name"]),
                  "      typed { c, r, o throws(ClientError) in try await c.%s(r, options: o) }"
                  % lower_first(method["case"])]
    return "\n".join(lines + ["    default: nil", "    }", "  }", "}", ""])


def flag(methods, flag):
    names = ["." + lower_first(m["case"]) for m in methods if m[flag]]
    return ["    switch self {", "    case %s: true" % ", ".join(names), "    default: false",
            "    }", "  }"]


def numbers(file_set):
    """The numbers of fields, as constants."""
    lines = ["// %s" % NOTICE, "// swift-format-ignore-file", "",
             "/// The numbers of the fields that are written or read without protobuf-c's structs.",
             "enum FieldNumber {"]
    messages = {}
    for data in (content for number, _, _, content in fields_of(file_set) if number == 1):
        for message in (content for number, _, _, content in fields_of(data) if number == 4):
            messages[text_of(data, 2) + "." + text_of(message, 1)] = message
    for full in DIRECT:
        lines += ["  /// `%s`" % full, "  enum %s {" % full.split(".")[-1]]
        for field in (content for n, _, _, content in fields_of(messages[full]) if n == 2):
            number = next(varint(raw, 1)[0] for n, _, raw, _ in fields_of(field) if n == 3)
            lines += ["    static let %s: UInt32 = %d" % (camel(text_of(field, 1)), number)]
        lines += ["  }"]
    return "\n".join(lines + ["}", ""])


def node_types(types):
    lines = ["// %s" % NOTICE, "// swift-format-ignore-file", "",
             "/// The type of a node, which decides its properties and its events.", "///",
             "/// The raw values are the numbers of the protocol, from 1 and without gaps.",
             "public enum NodeType: UInt8, Hashable, Sendable, CaseIterable {"]
    for name, number, comment in types:
        lines += ["  /// %s" % line for line in comment]
        lines += ["  case %s = %d" % (camel(name.lower()), number)]
    return "\n".join(lines + ["}", ""])


def glue(messages):
    lines = ["// %s" % NOTICE, "// swift-format-ignore-file", "", "import CWidgetProto", ""]
    for name, prefix, conformance in messages:
        lines += [
            "extension %s: %s {" % (name, conformance),
            "  static var descriptor: UnsafePointer<ProtobufCMessageDescriptor> { wp_descriptor_%s() }" % prefix,
            "  static func initialize(_ message: UnsafeMutablePointer<Self>) { %s__init(message) }" % prefix,
            "}",
        ]
    return "\n".join(lines) + "\n"
