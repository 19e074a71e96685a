/*
 * The descriptors of the .proto files of the services, for reflection.
 */
#ifndef WP_FILES_H
#define WP_FILES_H

#include <stddef.h>
#include <stdint.h>

typedef struct wp_file {
  /* "widgetd/v1/widget.proto" */
  const char *_Nonnull name;
  /* An encoded google.protobuf.FileDescriptorProto. */
  const uint8_t *_Nonnull bytes;
  size_t count;
  /* Indices of the files that it imports. */
  const size_t *_Nonnull imports;
  size_t import_count;
  /* Full names of its messages, enums, services and methods. */
  const char *_Nonnull const *_Nonnull symbols;
  size_t symbol_count;
} wp_file;

extern const wp_file wp_files[];
extern const size_t wp_file_count;

/* One element. Swift imports a global array as a tuple, which has no index. */
static inline const wp_file *_Nonnull wp_file_at(size_t index) { return &wp_files[index]; }

#endif
