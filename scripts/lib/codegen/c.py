"""C code: the files for reflection, and the addresses of descriptors for Swift."""

import re

from codegen import NOTICE
from codegen.descriptors import fields_of
from codegen.facts import NOT_SERVED, described_file


def file_table(file_set):
    """C code with the encoded FileDescriptorProtos, their imports and their names."""
    lines = ["/* %s */" % NOTICE, '#include "wp_files.h"', ""]
    rows, numbers = [], {}
    for number, _, _, content in fields_of(file_set):
        name, imports, symbols = described_file(content)
        if number != 1 or name.startswith(NOT_SERVED):
            continue
        index = numbers[name] = len(rows)
        lines += ["static const uint8_t bytes_%d[] = {" % index]
        lines += [
            "    " + ",".join(str(byte) for byte in content[at : at + 24]) + ","
            for at in range(0, len(content), 24)
        ]
        # protoc puts imported files first.
        lines += ["};", "static const size_t imports_%d[] = {%s};" % (
            index, ", ".join(str(numbers[name]) for name in imports) or "0")]
        lines += ["static const char *const symbols_%d[] = {" % index]
        lines += ['    "%s",' % symbol for symbol in symbols] + ["};", ""]
        rows.append('    {"%s", bytes_%d, %d, imports_%d, %d, symbols_%d, %d},' % (
            name, index, len(content), index, len(imports), index, len(symbols)))
    return "\n".join(lines + ["const wp_file wp_files[] = {"] + rows + [
        "};", "const size_t wp_file_count = %d;" % len(rows), ""])


def messages_in(header):
    """Yields (C type, function prefix, conformance) of every message a generated header declares."""
    bodies = dict(re.findall(r"^struct +(\w+)\n\{(.*?)^\};", header, re.S | re.M))
    for prefix, name in re.findall(r"^void +(\w+)__init\s*\(\s*(\w+) +\*message\);", header, re.M):
        conformance = "CMessage"
        if name.endswith("Entry"):
            body = re.sub(r"\s+", " ", bodies.get("_" + name, bodies.get(name, "")))
            if " char *key; " in body:
                if " Widgetd__V1__Value *value; " in body:
                    conformance = "CValueEntry"
                elif " char *value; " in body:
                    conformance = "CStringEntry"
                elif " uint64_t value; " in body:
                    conformance = "CCountEntry"
        yield name, prefix, conformance


def accessors(texts, messages):
    lines = ["/* %s */" % NOTICE, "#ifndef WP_MESSAGES_H", "#define WP_MESSAGES_H", ""]
    lines += ['#include "%s"' % path for path, _ in texts]
    lines += [
        "",
        "/* Swift imports a global constant as a value, without the stable address that protobuf-c",
        " * compares and keeps. These functions give the address. */",
    ]
    for _, prefix, _ in messages:
        lines += [
            "static inline const ProtobufCMessageDescriptor *_Nonnull",
            "wp_descriptor_%s(void) { return &%s__descriptor; }" % (prefix, prefix),
        ]
    return "\n".join(lines + ["", "#endif", ""])
