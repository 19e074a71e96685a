#pragma once

#include <archive.h>
#include <archive_entry.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * renameat2(2), which glibc declares for _GNU_SOURCE only, and not everywhere. Exchanges two paths at
 * once: nobody sees a moment without either. 0, or -1 with errno.
 */
static inline int clibarchive_exchange(const char *one, const char *other) {
  return (int)syscall(SYS_renameat2, -100 /* AT_FDCWD */, one, -100, other, 2u /* RENAME_EXCHANGE */);
}
