#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reading zip and tar archives with libarchive, which is loaded when the first one is read: it brings
 * nine libraries with it, and a program that is started a hundred times an hour should not wait for
 * them each time.
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
 * Begins to read an archive; the bytes must stay where they are. NULL if libarchive or memory is
 * missing. Whether it is an archive at all comes out with the first entry.
 */
struct clibarchive *clibarchive_open(const void *bytes, size_t count);

/* The same for a gzip stream: it has one entry, which is what it was made of. */
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
 * Exchanges what two paths lead to, at once: nobody sees a moment without either. 0, or -1 with errno
 * (EINVAL or ENOSYS where it is not possible).
 */
int clibarchive_exchange(const char *one, const char *other);
