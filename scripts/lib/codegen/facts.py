"""The facts in generated code: files and their names, methods, numbers of fields, node types."""

import re
import sys

from codegen.descriptors import fields_of, text_of

# Files that reflection leaves out, because no service of the daemon uses them.
NOT_SERVED = ("ttrpc/", "widgetd/storage/")
# Files whose services the daemon does not answer. A guest answers reflection.
NOT_ANSWERED = NOT_SERVED + ("grpc/reflection/",)
# Values of the option idempotency_level.
IDEMPOTENCY_UNKNOWN, NO_SIDE_EFFECTS = 0, 1
# The enum of node types.
NODE_TYPES_FILE = "widgetd/v1/node.proto"
NODE_TYPES_PREFIX = "NODE_TYPE_"


def described_file(data):
    """The name of a file, the files that it imports, and the full names that it declares."""
    name, package, imports, symbols = "", "", [], []
    for number, _, _, content in fields_of(data):
        if number == 1:
            name = content.decode()
        elif number == 2:
            package = content.decode()
        elif number == 3:
            imports.append(content.decode())
        elif number == 4:  # message_type
            symbols += declared(content, package, MESSAGE)
        elif number == 5:  # enum_type
            symbols += declared(content, package, ENUM)
        elif number == 6:  # service
            symbols += declared(content, package, SERVICE)
    return name, imports, symbols


# The declarations that contain more names, by the numbers of their fields.
ENUM = METHOD = {}
SERVICE = {2: METHOD}
MESSAGE = {4: ENUM}
MESSAGE[3] = MESSAGE


def declared(data, scope, fields):
    """The full names of a message, enum, service or method, and of the declarations inside it."""
    parts = [(number, content) for number, _, _, content in fields_of(data)]
    name = next(content.decode() for number, content in parts if number == 1)
    full = scope + "." + name if scope else name
    inside = [declared(content, full, fields[n]) for n, content in parts if n in fields]
    return [full] + [symbol for symbols in inside for symbol in symbols]


def methods_in(file_set):
    """The methods that the daemon answers: a dict for each, in the order of files and services."""
    files = [content for number, _, _, content in fields_of(file_set) if number == 1]
    home, empty = {}, set()
    for data in files:
        name, _, symbols = described_file(data)
        home.update(("." + symbol, name) for symbol in symbols)
        for message in (content for number, _, _, content in fields_of(data) if number == 4):
            if not any(number == 2 for number, _, _, _ in fields_of(message)):
                empty.add(".%s.%s" % (text_of(data, 2), text_of(message, 1)))
    methods = []
    for data in files:
        file, package = text_of(data, 1), text_of(data, 2)
        if file.startswith(NOT_ANSWERED):
            continue
        for service in (content for number, _, _, content in fields_of(data) if number == 6):
            name = text_of(service, 1)
            for method in (content for number, _, _, content in fields_of(service) if number == 2):
                texts = {n: content.decode() for n, _, _, content in fields_of(method)
                         if content is not None and n < 4}
                flags = {n for n, wire_type, raw, _ in fields_of(method) if wire_type == 0 and raw[-1]}
                options = b"".join(c for n, _, _, c in fields_of(method) if n == 4)
                # The option idempotency_level. The file of grpc.health has no options.
                level = NO_SIDE_EFFECTS if package.startswith("grpc.health.") else next(
                    (raw[-1] for n, _, raw, _ in fields_of(options) if n == 34),
                    IDEMPOTENCY_UNKNOWN)
                methods.append({
                    "service": package + "." + name, "name": texts[1],
                    "case": case_of(name, texts[1]), "request": (home[texts[2]], texts[2]),
                    "response": (home[texts[3]], texts[3]),
                    "takes_stream": 5 in flags, "gives_stream": 6 in flags,
                    "has_empty_request": texts[2] in empty,
                    "is_repeatable": 6 not in flags and level != IDEMPOTENCY_UNKNOWN,
                    "may_change": level != NO_SIDE_EFFECTS})
    return methods


def comments_of_methods(proto):
    """The comments of the methods in the text of a file: lists of lines, by the methods' full names."""
    package = re.search(r"(?m)^package (.+);", proto)[1]
    return {
        "%s.%s/%s" % (package, service, name): re.findall(r"// ?(.*)", comment)
        for service, body in re.findall(r"(?ms)^service (\w+) \{\n(.*?)^\}", proto)
        for comment, name in re.findall(r"((?:^ *//.*\n)*)^ *rpc (\w+)\(", body, re.M)}


def case_of(service, method):
    """The name of a method among those of all services: "GetWidget", but "CheckHealth"."""
    return method if service.endswith("Service") else method + service


def lower_first(name):
    return name[0].lower() + name[1:]


def camel(name):
    """create_time: createTime"""
    return re.sub("_([a-z])", lambda match: match[1].upper(), name)


def node_types(proto):
    """The types of nodes in the order of their numbers: (NAME, number, lines of the comment)."""
    body = re.search(r"(?ms)^enum NodeType \{\n(.*?)^\}", proto)[1]
    types = [
        (name, int(number), re.findall(r"// ?(.*)", comment))
        for comment, name, number in re.findall(
            r"((?:^ *//.*\n)*)^ *%s(\w+) = (\d+);" % NODE_TYPES_PREFIX, body, re.M)]
    for index, (name, number, _) in enumerate(types):
        # WidgetModel has the descriptions of types in arrays, by number.
        if number != index:
            sys.exit("%s: %s%s has the number %d, and should have %d: types are in the order of their "
                     "numbers, without gaps" % (NODE_TYPES_FILE, NODE_TYPES_PREFIX, name, number, index))
    return types[1:]
