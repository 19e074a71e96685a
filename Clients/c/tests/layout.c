/* Prints what a program that uses the messages was compiled against: each message with its
 * fields in the order of the struct. The same on every machine. */
#include "widgetclient.h"

#include <stdio.h>

static void print(const ProtobufCMessageDescriptor *message) {
  printf("%s\n", message->name);
  /* Fields are listed by number; the struct has them by offset. */
  unsigned last = 0;
  for (unsigned done = 0; done < message->n_fields; done++) {
    const ProtobufCFieldDescriptor *next = NULL;
    for (unsigned i = 0; i < message->n_fields; i++) {
      const ProtobufCFieldDescriptor *field = &message->fields[i];
      if (field->offset >= last && (next == NULL || field->offset < next->offset)) next = field;
    }
    if (next == NULL) break;
    for (unsigned i = 0; i < message->n_fields; i++) {
      const ProtobufCFieldDescriptor *field = &message->fields[i];
      if (field->offset != next->offset) continue;
      printf("  %s %u type %d label %d flags %u\n", field->name, field->id, (int)field->type,
             (int)field->label, field->flags);
    }
    last = next->offset + 1;
  }
}

int main(void) {
#define DESCRIPTOR(name) print(&name);
#include "descriptors.h"
  return 0;
}
