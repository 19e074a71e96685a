#define _GNU_SOURCE
#include "host_system.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434 /* The same on every architecture. */
#endif

int host_pidfd_open(pid_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }

int host_become_subreaper(void) { return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }

int host_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }

int host_open_event(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

int host_signal_event(int event) {
    const uint64_t one = 1;
    return write(event, &one, sizeof one) == sizeof one ? 0 : -1;
}

int host_silence(int descriptor) {
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null < 0) return -1;
    const int result = dup3(null, descriptor, O_CLOEXEC);
    close(null);
    return result < 0 ? -1 : 0;
}

int host_spawn(const char *program, char *const arguments[], char *const environment[],
               const char *folder, int input, int output, int errors, pid_t *process) {
    posix_spawn_file_actions_t actions;
    int code = posix_spawn_file_actions_init(&actions);
    if (code != 0) return code;
    posix_spawnattr_t attributes;
    code = posix_spawnattr_init(&attributes);
    if (code != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return code;
    }
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    if ((code = posix_spawn_file_actions_adddup2(&actions, input, 0)) == 0 &&
        (code = posix_spawn_file_actions_adddup2(&actions, output, 1)) == 0 &&
        (code = posix_spawn_file_actions_adddup2(&actions, errors, 2)) == 0 &&
        (code = posix_spawn_file_actions_addclosefrom_np(&actions, 3)) == 0 &&
        (code = posix_spawn_file_actions_addchdir_np(&actions, folder)) == 0 &&
        (code = posix_spawnattr_setpgroup(&attributes, 0)) == 0 &&
        (code = posix_spawnattr_setsigmask(&attributes, &none)) == 0 &&
        (code = posix_spawnattr_setsigdefault(&attributes, &all)) == 0 &&
        (code = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP |
                                                          POSIX_SPAWN_SETSIGMASK |
                                                          POSIX_SPAWN_SETSIGDEF)) == 0)
        code = posix_spawn(process, program, &actions, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return code;
}
