"""The cases for scripts/lint-protos: edits of a small set of files in which nothing is wrong.

In the text of an edit, § marks the place of an expected finding. The lint must have exactly these
findings. A finding about a removed file is expected at its beginning.
"""

THING = "demo/v1/thing.proto"
SERVICE = "demo/v1/thing_service.proto"
FOREIGN = "google/thing/thing.proto"

GOOD = {
    THING: """\
syntax = "proto3";

// Things.
package demo.v1;

import "google/protobuf/duration.proto";

// A thing.
message Thing {
  // Its name.
  string name = 1;
  // Its size.
  optional int32 size = 2;
  // How it looks.
  Shape shape = 3;
  // What it has.
  map<string, int64> counts = 4;
  // One of two.
  oneof state {
    // How long it was on.
    google.protobuf.Duration on = 5;
    // Why it is off.
    string off = 6;
  }
  // What is in it.
  repeated Part parts = 7;
  reserved 8, 12 to 14;
  reserved "weight";
  // Whether it is new.
  bool fresh = 9;

  // A part of a thing.
  message Part {
    // What it is called.
    string title = 1;
    // How good it is.
    Grade grade = 2;

    // How good something is.
    enum Grade {
      // Not said.
      GRADE_UNSPECIFIED = 0;
      // Good.
      GRADE_A = 1;
    }
  }
}

// How something looks.
enum Shape {
  // Not said.
  SHAPE_UNSPECIFIED = 0;
  // Like a ball.
  SHAPE_ROUND = 1;
  // Like a box.
  SHAPE_BOX_2D = 2;
  reserved 3, 5 to 6;
  reserved "SHAPE_FLAT";
  // Like an egg.
  SHAPE_OVAL = 4;
}
""",
    SERVICE: """\
// Who makes things.
syntax = "proto3";

package demo.v1;

import "demo/v1/thing.proto";

// Makes things.
service ThingService {
  // Makes one.
  rpc MakeThing(MakeThingRequest) returns (MakeThingResponse);
  // Tells of things.
  rpc WatchThings(ThingServiceWatchThingsRequest) returns (stream WatchThingsResponse);
}

// Request of MakeThing.
message MakeThingRequest {}

// Response of MakeThing.
message MakeThingResponse {
  // It.
  Thing thing = 1;
}

// Request of WatchThings.
message ThingServiceWatchThingsRequest {}

// Response of WatchThings.
message WatchThingsResponse {
  // One of them.
  Thing thing = 1;
}
""",
    # A file of another project, to which the rules do not apply.
    FOREIGN: """\
syntax = "proto3";
package google.thing;
import "google/protobuf/any.proto";
message thing_ { string Name = 2; }
enum kind { NONE = 0; }
service Things { rpc get(thing_) returns (thing_); }
""",
}


class Case:
    """Edits, and the rules that find them. An edit is (file, old text, new text). A file with None is
    removed, and a file with only one text is added."""

    def __init__(self, what, rules, *edits, before=(), says="", completed=True):
        self.what, self.rules, self.edits = what, rules.split(), edits
        self.before, self.says, self.completed = before, says, completed


# --- How they are written -------------------------------------------------------------------------

LINT = [
    Case("the files as they are", ""),
    Case("a file that protoc refuses", "COMPILES", (THING, "string name = 1;", "§strin name = 1;")),
    Case("a number twice", "COMPILES", (THING, "int32 size = 2;", "int32 size = §1;")),
    Case("proto2", "SYNTAX_PROTO3", ("demo/v1/old.proto", """\
§syntax = "proto2";

// Old things.
package demo.v1;

// An old thing.
message Old {
  // Its name.
  required string name = 1;
}
""")),
    Case("no syntax, which is proto2", "SYNTAX_PROTO3",
         ("demo/v1/old.proto", "§// Old things.\npackage demo.v1;\n")),
    Case("a file's name with a hyphen", "FILE_LOWER_SNAKE_CASE",
         ("demo/v1/old-things.proto", '§syntax = "proto3";\n// Old things.\npackage demo.v1;\n'),
         says="old_things.proto"),
    Case("a file that says nothing of itself", "COMMENT_FILE",
         (THING, "// Things.\npackage", "§package")),
    Case("a comment that is detached is none", "COMMENT_FILE",
         (THING, "// Things.\npackage", "// Things.\n\n§package")),
    Case("no package", "PACKAGE_DEFINED",
         ("demo/v1/old.proto", '// Old things.\n§syntax = "proto3";\n'), says="demo.v1"),
    Case("a package with capitals", "PACKAGE_LOWER_SNAKE_CASE",
         ("oldThings/v1/old.proto", 'syntax = "proto3";\n// Old.\n§package oldThings.v1;\n'),
         says="old_things.v1"),
    Case("a package without version", "PACKAGE_VERSION_SUFFIX",
         ("old/old.proto", 'syntax = "proto3";\n// Old.\n§package old;\n'), says="old.v1"),
    Case("version 0", "PACKAGE_VERSION_SUFFIX",
         ("old/v0/old.proto", 'syntax = "proto3";\n// Old.\n§package old.v0;\n')),
    Case("a beta version is one", "",
         ("old/v1beta2/old.proto", 'syntax = "proto3";\n// Old.\npackage old.v1beta2;\n')),
    Case("a package in another folder", "PACKAGE_DIRECTORY_MATCH",
         ("demo/v1/old.proto", 'syntax = "proto3";\n// Old.\n§package demo.old.v1;\n'),
         says="demo/old/v1/"),
    Case("files that do not say what generated code is called", "LANGUAGE_OPTIONS",
         (SERVICE, "package demo.v1;", "§package demo.v1;"),
         (THING, "package demo.v1;", "§package demo.v1;"), completed=False,
         says='option csharp_namespace = "Demo.V1"; option go_package = "demo/v1;demov1"; '
         "option java_multiple_files = true; option java_outer_classname = "),
    Case("another Go package than the path gives", "LANGUAGE_OPTIONS",
         (SERVICE, "package demo.v1;", '§package demo.v1;\noption go_package = "demo";'),
         says="go_package"),
    Case("a package below another, whose prefix for Objective-C has two letters", "",
         ("demo/old/v1/old.proto", """\
syntax = "proto3";
// Old.
package demo.old.v1;
option csharp_namespace = "Demo.Old.V1";
option go_package = "demo/old/v1;oldv1";
option java_multiple_files = true;
option java_outer_classname = "OldProto";
option java_package = "com.demo.old.v1";
option objc_class_prefix = "DOX";
""")),
    Case("an import of which nothing is used", "IMPORT_USED",
         (THING, 'import "google/protobuf/duration.proto";',
          'import "google/protobuf/duration.proto";\n§import "google/protobuf/any.proto";')),
    Case("a message in lower case", "MESSAGE_PASCAL_CASE",
         (THING, "// How something looks.", "// X.\nmessage §my_thing {}\n// How something looks."),
         says="MyThing"),
    Case("fields with capitals", "FIELD_LOWER_SNAKE_CASE",
         (THING, "string name", "string §firstName"), (THING, "bool fresh", "bool §Fresh")),
    Case("a field with two underscores", "FIELD_LOWER_SNAKE_CASE",
         (THING, "string title", "string §my__title"), says="my_title"),
    Case("a oneof with capitals", "ONEOF_LOWER_SNAKE_CASE",
         (THING, "oneof state", "oneof §State")),
    Case("a number that was left out", "NUMBER_GAP",
         (THING, "message Thing {", "message §Thing {"),
         (THING, "reserved 8, 12", "reserved 12"), says="`reserved 8;`"),
    Case("a value's number that was left out", "NUMBER_GAP",
         (THING, "enum Shape {", "enum §Shape {"), (THING, "reserved 3, 5", "reserved 5"),
         says="`reserved 3;`"),
    Case("the numbers that protobuf keeps for itself may be left out", "",
         (THING, "reserved 8, 12 to 14;", "reserved 8, 10 to 18999;\n// X.\nbool x = 20000;")),
    Case("an enum with an underscore", "ENUM_PASCAL_CASE",
         (THING, "enum Grade {", "enum §gra_de {"), (THING, "    Grade grade", "    gra_de grade"),
         (THING, "GRADE_UNSPECIFIED", "GRA_DE_UNSPECIFIED"), (THING, "GRADE_A", "GRA_DE_A")),
    Case("a value in lower case", "ENUM_VALUE_UPPER_SNAKE_CASE",
         (THING, "SHAPE_ROUND", "§SHAPE_round")),
    Case("a value without its enum's name", "ENUM_VALUE_PREFIX",
         (THING, "SHAPE_ROUND", "§ROUND"), says="SHAPE_ROUND"),
    Case("a zero that means something", "ENUM_ZERO_VALUE_SUFFIX",
         (THING, "SHAPE_UNSPECIFIED", "§SHAPE_NONE")),
    Case("a service in lower case", "SERVICE_PASCAL_CASE",
         (SERVICE, "service ThingService", "service §thingService"),
         (SERVICE, "rpc WatchThings(ThingServiceWatchThingsRequest)",
          "rpc WatchThings(WatchThingsRequest)"),
         (SERVICE, "message ThingServiceWatchThingsRequest", "message WatchThingsRequest")),
    Case("a service with another ending", "SERVICE_SUFFIX RPC_REQUEST_STANDARD_NAME",
         (SERVICE, "service ThingService", "service §ThingAPI"),
         (SERVICE, "WatchThings(Thing", "WatchThings(§Thing")),
    Case("an RPC in lower case", "RPC_PASCAL_CASE RPC_REQUEST_STANDARD_NAME "
         "RPC_RESPONSE_STANDARD_NAME",
         (SERVICE, "MakeThing(MakeThingRequest) returns (M",
          "§makeThing(§MakeThingRequest) returns (§M")),
    Case("a thing as response", "RPC_RESPONSE_STANDARD_NAME",
         (SERVICE, "returns (MakeThingResponse)", "returns (§Thing)")),
    Case("messages of another package", "RPC_REQUEST_STANDARD_NAME",
         ("old/v1/old.proto", 'syntax = "proto3";\n// Old.\npackage old.v1;\n'
          '// X.\nmessage MakeThingRequest {}\n'),
         (SERVICE, 'import "demo/v1/thing.proto";',
          'import "demo/v1/thing.proto";\nimport "old/v1/old.proto";'),
         (SERVICE, "MakeThing(Make", "MakeThing(§old.v1.Make")),
    Case("a request of two RPCs", "RPC_REQUEST_RESPONSE_UNIQUE RPC_REQUEST_RESPONSE_UNIQUE "
         "RPC_REQUEST_STANDARD_NAME",
         (SERVICE, "MakeThing(Make", "MakeThing(§Make"),
         (SERVICE, "WatchThings(ThingServiceWatchThingsRequest)",
          "WatchThings(§§MakeThingRequest)")),
    Case("a message without comment", "COMMENT_MESSAGE",
         (THING, "  // A part of a thing.\n  message Part", "  message §Part")),
    Case("an empty comment", "COMMENT_FIELD", (THING, "// Its name.\n  string ", "//\n  string §")),
    Case("a comment behind is none", "COMMENT_FIELD",
         (THING, "  // Its name.\n  string name = 1;\n", "  string §name = 1; // Its name.\n\n")),
    Case("a field of a oneof without comment", "COMMENT_FIELD",
         (THING, "    // Why it is off.\n    string off", "    string §off")),
    Case("a oneof without comment", "COMMENT_ONEOF",
         (THING, "  // One of two.\n  oneof s", "  oneof §s")),
    Case("an enum without comment", "COMMENT_ENUM",
         (THING, "// How something looks.\nenum S", "enum §S")),
    Case("a value without comment", "COMMENT_ENUM_VALUE",
         (THING, "      // Good.\n      GR", "      §GR")),
    Case("a service without comment", "COMMENT_SERVICE",
         (SERVICE, "// Makes things.\nservice T", "service §T")),
    Case("an RPC without comment", "COMMENT_RPC",
         (SERVICE, "  // Makes one.\n  rpc M", "  rpc §M")),
]


# --- What breaks clients --------------------------------------------------------------------------

WHOLE = (THING, 'syntax = "proto3";', '§syntax = "proto3";')
MESSAGE = (THING, "message Thing {", "message §Thing {")
ENUM = (THING, "enum Shape {", "enum §Shape {")
BREAKING = [
    Case("the files as they are", ""),
    Case("other comments and another order", "",
         (THING, "// Its name.", "// What it is called."),
         (THING, "  // Its size.\n  optional int32 size = 2;\n", ""),
         (THING, "  // What is in it.",
          "  // S.\n  optional int32 size = 2;\n  // What is in it.")),
    Case("a new file", "", ("demo/v1/old.proto", 'syntax = "proto3";\npackage demo.v1;\n')),
    Case("a new package beside it", "",
         ("demo/v2/old.proto", 'syntax = "proto3";\npackage demo.v2;\n')),
    Case("new fields, values, messages, RPCs", "",
         (THING, "bool fresh = 9;", "bool fresh = 9;\n  string more = 10;\n  reserved 11;"),
         (THING, "SHAPE_OVAL = 4;", "SHAPE_OVAL = 4;\n  SHAPE_SEVEN = 7;"),
         (SERVICE, "  // Tells of", "  rpc X(XRequest) returns (XResponse);\n  // Tells of"),
         (SERVICE, "// Request of MakeThing", "message XRequest {}\nmessage XResponse {}\n"
          "// Request of MakeThing")),
    Case("a new field in a oneof", "",
         (THING, "string off = 6;", "string off = 6;\n    bool x = 10;")),
    Case("a file that is gone", "FILE_NO_DELETE", (SERVICE, None), says="bring it back"),
    Case("another package", "FILE_SAME_PACKAGE", (SERVICE, "package demo.v1;", "§package demo.v2;"),
         (SERVICE, "Thing thing = 1;\n}\n\n// Request of W",
          "demo.v1.Thing thing = 1;\n}\n\n// Request of W"),
         (SERVICE, "One of them.\n  Thing", "One of them.\n  demo.v1.Thing"), completed=False),
    Case("another Go package", "FILE_SAME_OPTION", WHOLE,
         (THING, "package demo.v1;", 'package demo.v1;\noption go_package = "b";'),
         before=((THING, "package demo.v1;", 'package demo.v1;\noption go_package = "a";'),)),
    Case("a file that is deprecated", "",
         (THING, "package demo.v1;", "package demo.v1;\noption deprecated = true;")),
    Case("a message that is gone", "MESSAGE_NO_DELETE FIELD_SAME_TYPE", WHOLE,
         (THING, "repeated Part parts", "repeated google.protobuf.Duration §parts"),
         (THING, GOOD[THING][GOOD[THING].index("\n  // A part of"):
                             GOOD[THING].index("}\n\n// How something looks.")], "")),
    Case("a message that moved to another file", "MESSAGE_NO_DELETE",
         (SERVICE, 'syntax = "proto3";', '§syntax = "proto3";'),
         (SERVICE, "// Request of MakeThing.\nmessage MakeThingRequest {}\n", ""),
         (THING, "// How something looks.",
          "message MakeThingRequest {}\n// How something looks.")),
    Case("an enum that is gone", "ENUM_NO_DELETE FIELD_SAME_TYPE", WHOLE,
         (THING, "  Shape shape", "  int32 §shape"),
         (THING, GOOD[THING][GOOD[THING].index("// How something looks."):], "")),
    Case("a service that is gone", "SERVICE_NO_DELETE",
         (SERVICE, 'syntax = "proto3";', '§syntax = "proto3";'),
         (SERVICE, GOOD[SERVICE][GOOD[SERVICE].index("// Makes things."):
                                 GOOD[SERVICE].index("// Request of MakeThing.")], "")),
    Case("a field that is gone", "FIELD_NO_DELETE_UNLESS_RESERVED", MESSAGE,
         (THING, "string name = 1;", ""), says='`reserved 1;` and `reserved "name";`'),
    Case("a field that is gone, with its number reserved", "FIELD_NO_DELETE_UNLESS_RESERVED",
         MESSAGE, (THING, "string name = 1;", "reserved 1;"), says='add `reserved "name";`'),
    Case("a field that is gone, with its name reserved", "FIELD_NO_DELETE_UNLESS_RESERVED",
         MESSAGE, (THING, "string name = 1;", 'reserved "name";'), says="add `reserved 1;`"),
    Case("a field that is gone, with both reserved", "",
         (THING, "string name = 1;", 'reserved 1; reserved "name";')),
    Case("another name", "FIELD_SAME_NAME", (THING, "string name = 1", "string §called = 1")),
    Case("a number for another field", "FIELD_SAME_NAME FIELD_SAME_TYPE",
         (THING, "string name = 1", "bool §§blue = 1")),
    Case("another number", "FIELD_SAME_NUMBER",
         (THING, "string name = 1", "reserved 1;\n  string §name = 10")),
    Case("two fields that swap their numbers", "FIELD_SAME_NAME FIELD_SAME_TYPE FIELD_SAME_NAME "
         "FIELD_SAME_TYPE", (THING, "string title = 1", "string §§title = 2"),
         (THING, "Grade grade = 2", "Grade §§grade = 1")),
    Case("another name in JSON", "FIELD_SAME_JSON_NAME",
         (THING, "string name = 1;", 'string §name = 1 [json_name = "called"];')),
    Case("other types", "FIELD_SAME_TYPE", (THING, "string name", "bytes §name"),
         (THING, "int32 size", "sint32 §size"), (THING, "    Grade grade", "    Shape §grade"),
         (THING, "map<string, int64> ", "map<string, int32> §"),
         (THING, "bool fresh", "int32 §fresh"),
         says="add a new field"),
    Case("another key", "FIELD_SAME_TYPE", (THING, "map<string, int64> ", "map<int64, int64> §")),
    Case("one that becomes many, and many one", "FIELD_SAME_CARDINALITY",
         (THING, "string name", "repeated string §name"), (THING, "repeated Part ", "Part §"),
         (THING, "map<string, int64> ", "repeated int64 §")),
    Case("a field that becomes optional, and one that ceases to be", "FIELD_SAME_PRESENCE",
         (THING, "string name", "optional string §name"),
         (THING, "optional int32 size", "int32 §size")),
    Case("fields that enter and leave a oneof", "FIELD_SAME_ONEOF",
         (THING, "    // Why it is off.\n    string off = 6;\n  }",
          "    bool §fresh = 9;\n  }\n  string §off = 6;"),
         (THING, "  // Whether it is new.\n  bool fresh = 9;\n", "")),
    Case("an optional field that enters a oneof", "FIELD_SAME_ONEOF",
         (THING, "string off = 6;", "string off = 6;\n    int32 §size = 2;"),
         (THING, "  // Its size.\n  optional int32 size = 2;\n", "")),
    Case("a oneof that is gone", "ONEOF_NO_DELETE FIELD_SAME_ONEOF FIELD_SAME_ONEOF", MESSAGE,
         (THING, "  oneof state {\n", ""),
         (THING, "Duration on = 5;", "Duration §on = 5;"),
         (THING, "string off = 6;\n  }", "string §off = 6;")),
    Case("numbers no longer reserved", "RESERVED_NO_DELETE", MESSAGE,
         (THING, "reserved 8, 12 to 14;", "reserved 8, 12, 14;"), says="number 13"),
    Case("a range said in pieces, and more of it", "",
         (THING, "reserved 8, 12 to 14;", "reserved 8, 12, 13, 14 to 99;")),
    Case("a name no longer reserved", "RESERVED_NO_DELETE", MESSAGE,
         (THING, '  reserved "weight";\n', ""), says='"weight"'),
    Case("a reserved number that is used", "RESERVED_NO_DELETE", MESSAGE,
         (THING, "reserved 8, 12 to 14;", "reserved 12 to 14; bool x = 8;"), says="number 8"),
    Case("a value's number no longer reserved", "RESERVED_NO_DELETE", ENUM,
         (THING, "reserved 3, 5 to 6;", "reserved 3, 5;"), says="number 6"),
    Case("a value's name no longer reserved", "RESERVED_NO_DELETE", ENUM,
         (THING, '  reserved "SHAPE_FLAT";\n', "")),
    Case("a value that is gone", "ENUM_VALUE_NO_DELETE", ENUM, (THING, "SHAPE_OVAL = 4;", ""),
         says="deprecated"),
    Case("a value that is gone, and reserved", "ENUM_VALUE_NO_DELETE", ENUM,
         (THING, "SHAPE_OVAL = 4;", 'reserved 4; reserved "SHAPE_OVAL";')),
    Case("a value with another name", "ENUM_VALUE_SAME_NAME",
         (THING, "SHAPE_OVAL", "§SHAPE_EGG")),
    Case("a nested value with another name", "ENUM_VALUE_SAME_NAME",
         (THING, "GRADE_A", "§GRADE_BEST")),
    Case("a value with another number", "ENUM_VALUE_SAME_NUMBER",
         (THING, "SHAPE_OVAL = 4", "§SHAPE_OVAL = 7")),
    Case("an RPC that is gone", "RPC_NO_DELETE", (SERVICE, "service T", "service §T"),
         (SERVICE, "  rpc MakeThing(MakeThingRequest) returns (MakeThingResponse);\n", ""),
         says="deprecated"),
    Case("another request", "RPC_SAME_REQUEST_TYPE",
         (SERVICE, "MakeThing(MakeThingRequest)", "MakeThing(§Thing)")),
    Case("another response", "RPC_SAME_RESPONSE_TYPE",
         (SERVICE, "returns (MakeThingResponse)", "returns (§Thing)")),
    Case("a stream of requests", "RPC_SAME_CLIENT_STREAMING",
         (SERVICE, "MakeThing(MakeThing", "MakeThing(stream §MakeThing")),
    Case("a new stream of responses, and a removed one", "RPC_SAME_SERVER_STREAMING",
         (SERVICE, "(MakeThingResponse)", "(stream §MakeThingResponse)"),
         (SERVICE, "(stream WatchThingsResponse)", "(§WatchThingsResponse)")),
    Case("another idempotency level", "RPC_SAME_IDEMPOTENCY_LEVEL",
         (SERVICE, "rpc MakeThing(", "rpc §MakeThing("),
         before=[(SERVICE, "returns (MakeThingResponse);", "returns (MakeThingResponse) {\n"
                  "    option idempotency_level = IDEMPOTENT;\n  }")]),
    Case("a first idempotency level", "",
         (SERVICE, "returns (MakeThingResponse);", "returns (MakeThingResponse) {\n"
          "    option idempotency_level = IDEMPOTENT;\n  }")),
    Case("a foreign file that changed", "FIELD_SAME_NAME",
         (FOREIGN, "string Name", "string §Names")),
]
