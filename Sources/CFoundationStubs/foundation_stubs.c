// What ArgumentParser refers to in FoundationEssentials, for releases without that library. FoundationEssentials is
// 4.9 MB of a program, and ArgumentParser needs it for two things:
//
// - The option --experimental-dump-help prints JSON. Here the program ends with an error instead.
// - An error can be a `LocalizedError`. Here no error is one, because only code with Foundation can declare it.
//
// If ArgumentParser refers to more, the program does not link.
#include "foundation_stubs.h"

#ifdef WIDGETD_RELEASE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define USAGE_STATUS 64

static _Noreturn void refuse(void) {
  fputs("Error: --experimental-dump-help is not in this release; use --help, or the manual page.\n", stderr);
  exit(USAGE_STATUS);
}

#define STUB(name, symbol)                                                     \
  _Noreturn void name(void) __asm__(symbol);                                   \
  _Noreturn void name(void) { refuse(); }

STUB(stub_encoder_type, "$s20FoundationEssentials11JSONEncoderCMa")
STUB(stub_encoder_init, "$s20FoundationEssentials11JSONEncoderCACycfc")
STUB(stub_pretty_printed, "$s20FoundationEssentials11JSONEncoderC16OutputFormattingV13prettyPrintedAEvau")
STUB(stub_sorted_keys, "$s20FoundationEssentials11JSONEncoderC16OutputFormattingV10sortedKeysAEvau")
STUB(stub_encoding_utf8, "$sSS20FoundationEssentialsE8EncodingV4utf8ACvau")
STUB(stub_string_init, "$sSS20FoundationEssentialsE4data8encodingSSSgAA4DataVh_SSAAE8EncodingVtcfC")

// The descriptor of the protocol LocalizedError, with the fields of TargetProtocolDescriptor in Swift's
// include/swift/ABI/Metadata.h. Swift's runtime compares its address with those that types conform to.
struct protocol_descriptor {
  uint32_t flags;
  int32_t parent, name;
  uint32_t signature_requirements, requirements;
  int32_t associated_types;
};
enum { PROTOCOL = 3, UNIQUE = 1 << 6, NOT_ONLY_CLASSES = 1 << 16 };
extern const struct protocol_descriptor stub_localized_error
    __asm__("$s20FoundationEssentials14LocalizedErrorMp");
const struct protocol_descriptor stub_localized_error = {.flags = PROTOCOL | UNIQUE | NOT_ONLY_CLASSES};
#endif
