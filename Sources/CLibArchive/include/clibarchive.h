#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads zip and tar archives with libarchive. The first archive loads the library. It brings nine
 * other libraries, and a program that starts a hundred times an hour should not load them each
 * time.
 */

/* Whether libarchive is installed. */
bool clibarchive_is_available(void);

struct clibarchive;

/* The type of the next entry. */
struct clibarchive_entry {
  /* The path of the next entry, in UTF-8 if possible; valid until the next call. NULL if it
   * cannot be read. */
  const char *name;
  /* The mode, as in struct stat. */
  uint32_t mode;
  /* Whether the entry is a hard or a symbolic link. */
  bool is_link;
  bool is_encrypted;
};

/*
 * Begins to read an archive. The bytes must stay valid until the close. NULL if libarchive or
 * memory is missing. Only clibarchive_next shows whether it is an archive.
 */
struct clibarchive *clibarchive_open(const void *bytes, size_t count);

/* The same for a gzip stream. Its one entry is the uncompressed content. */
struct clibarchive *clibarchive_open_gzip(const void *bytes, size_t count);
void clibarchive_close(struct clibarchive *archive);

/* 1 for an entry, 0 at the end, -1 if the archive is damaged. */
int clibarchive_next(struct clibarchive *archive, struct clibarchive_entry *entry);

/* The next piece of the entry's content. Returns its number of bytes, 0 at the end, -1 if the
 * archive is damaged. */
ptrdiff_t clibarchive_read(struct clibarchive *archive, void *buffer, size_t count);

/* The reason why the archive is damaged; never NULL. */
const char *clibarchive_error(struct clibarchive *archive);

/*
 * Exchanges the entries at two paths in one step, so that both paths always exist. 0, or -1
 * with errno: EINVAL or ENOSYS if the file system or the kernel cannot do it.
 */
int clibarchive_exchange(const char *one, const char *other);
