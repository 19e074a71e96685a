#define _GNU_SOURCE
#include "clibarchive.h"

#include <archive.h>
#include <archive_entry.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* Functions of libarchive, with the types in its header. */
static struct {
  __typeof__(archive_read_new) *read_new;
  __typeof__(archive_read_free) *read_free;
  __typeof__(archive_read_support_format_zip) *support_zip;
  __typeof__(archive_read_support_format_tar) *support_tar;
  __typeof__(archive_read_support_format_raw) *support_raw;
  __typeof__(archive_read_support_filter_gzip) *support_gzip;
  __typeof__(archive_read_open_memory) *open_memory;
  __typeof__(archive_read_next_header) *next_header;
  __typeof__(archive_read_data) *read_data;
  __typeof__(archive_error_string) *error_string;
  __typeof__(archive_entry_pathname) *pathname;
  __typeof__(archive_entry_pathname_utf8) *pathname_utf8;
  __typeof__(archive_entry_mode) *mode;
  __typeof__(archive_entry_hardlink) *hardlink;
  __typeof__(archive_entry_symlink) *symlink;
  __typeof__(archive_entry_is_encrypted) *is_encrypted;
} api;
static bool is_loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

struct clibarchive {
  struct archive *archive;
  /* libarchive converts names to the locale's encoding, which must not be ASCII. */
  locale_t locale;
  const char *error;
  bool is_open;
};

static void *library;

static bool find(const char *name, void *place) {
  /* ISO C cannot convert an object pointer to a function pointer. POSIX allows it in this form. */
  *(void **)place = dlsym(library, name);
  return *(void **)place != NULL;
}

static void load(void) {
  library = dlopen("libarchive.so.13", RTLD_NOW | RTLD_LOCAL);
  if (!library) return;
  is_loaded = find("archive_read_new", &api.read_new) &&
              find("archive_read_free", &api.read_free) &&
              find("archive_read_support_format_zip", &api.support_zip) &&
              find("archive_read_support_format_tar", &api.support_tar) &&
              find("archive_read_support_format_raw", &api.support_raw) &&
              find("archive_read_support_filter_gzip", &api.support_gzip) &&
              find("archive_read_open_memory", &api.open_memory) &&
              find("archive_read_next_header", &api.next_header) &&
              find("archive_read_data", &api.read_data) &&
              find("archive_error_string", &api.error_string) &&
              find("archive_entry_pathname", &api.pathname) &&
              find("archive_entry_pathname_utf8", &api.pathname_utf8) &&
              find("archive_entry_mode", &api.mode) &&
              find("archive_entry_hardlink", &api.hardlink) &&
              find("archive_entry_symlink", &api.symlink) &&
              find("archive_entry_is_encrypted", &api.is_encrypted);
}

bool clibarchive_is_available(void) {
  pthread_once(&once, load);
  return is_loaded;
}

static struct clibarchive *open_as(bool is_gzip, const void *bytes, size_t count) {
  if (!clibarchive_is_available()) return NULL;
  struct clibarchive *self = calloc(1, sizeof *self);
  if (!self) return NULL;
  self->archive = api.read_new();
  self->locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
  if (!self->archive) {
    clibarchive_close(self);
    return NULL;
  }
  if (is_gzip) {
    api.support_raw(self->archive);
    api.support_gzip(self->archive);
  } else {
    api.support_zip(self->archive);
    api.support_tar(self->archive);
  }
  self->is_open = api.open_memory(self->archive, bytes, count) == ARCHIVE_OK;
  return self;
}

struct clibarchive *clibarchive_open(const void *bytes, size_t count) {
  return open_as(false, bytes, count);
}

struct clibarchive *clibarchive_open_gzip(const void *bytes, size_t count) {
  return open_as(true, bytes, count);
}

void clibarchive_close(struct clibarchive *self) {
  if (!self) return;
  if (self->archive) api.read_free(self->archive);
  if (self->locale) freelocale(self->locale);
  free(self);
}

int clibarchive_next(struct clibarchive *self, struct clibarchive_entry *entry) {
  if (!self->is_open) return -1;
  locale_t before = self->locale ? uselocale(self->locale) : (locale_t)0;
  struct archive_entry *found = NULL;
  int status = api.next_header(self->archive, &found);
  if ((status == ARCHIVE_OK || status == ARCHIVE_WARN) && found) {
    const char *name = api.pathname_utf8(found);
    entry->name = name ? name : api.pathname(found);
    entry->mode = api.mode(found);
    entry->is_link = api.hardlink(found) || api.symlink(found);
    entry->is_encrypted = api.is_encrypted(found);
    status = 1;
  } else {
    status = status == ARCHIVE_EOF ? 0 : -1;
  }
  if (before) uselocale(before);
  return status;
}

ptrdiff_t clibarchive_read(struct clibarchive *self, void *buffer, size_t count) {
  la_ssize_t read = api.read_data(self->archive, buffer, count);
  return read < 0 ? -1 : (ptrdiff_t)read;
}

const char *clibarchive_error(struct clibarchive *self) {
  const char *error = api.error_string(self->archive);
  return error ? error : "it cannot be read";
}

int clibarchive_exchange(const char *one, const char *other) {
  return renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE);
}
