/*
 * Prints the layout of the messages that a program is compiled with: a line for each message,
 * with a hash of its fields in the order of the struct. The output is the same on every
 * machine. A new message is compatible with such a program. A changed line is not.
 */
#include "widgetclient.h"

#include <inttypes.h>
#include <stdio.h>

static uint64_t hash;

/* FNV-1a. */
static void add(const char *text) {
  for (; *text != 0; text++) hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
}

static void print(const ProtobufCMessageDescriptor *message) {
  hash = UINT64_C(0xcbf29ce484222325);
  /* Fields are listed by number, but the struct has them by offset. Members of a oneof have the
   * same offset. */
  unsigned from = 0;
  for (;;) {
    const ProtobufCFieldDescriptor *next = NULL;
    for (unsigned i = 0; i < message->n_fields; i++) {
      const ProtobufCFieldDescriptor *field = &message->fields[i];
      if (field->offset >= from && (next == NULL || field->offset < next->offset)) next = field;
    }
    if (next == NULL) break;
    for (unsigned i = 0; i < message->n_fields; i++) {
      const ProtobufCFieldDescriptor *field = &message->fields[i];
      char text[64];
      if (field->offset != next->offset) continue;
      snprintf(text, sizeof text, " %u %d %d %u ", field->id, (int)field->type, (int)field->label,
               field->flags);
      add(text);
      add(field->name);
    }
    from = next->offset + 1;
  }
  printf("%s %016" PRIx64 "\n", message->name, hash);
}

int main(void) {
#define DESCRIPTOR(name) print(&name);
#include "descriptors.h"
  return 0;
}
