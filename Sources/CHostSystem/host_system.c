#define _GNU_SOURCE
#include "host_system.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434 /* The number is the same on every architecture. */
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
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

/* Runs in the new process until it executes the program. Only this thread of the process is left,
 * so nothing here may take a lock or memory. Returns only on failure, with errno. */
static void become(const char *program, char *const arguments[], char *const environment[],
                   const char *folder, int input, int output, int errors, pid_t parent) {
    if (setpgid(0, 0) != 0) return;
    /* posix_spawn(3) has no action for this. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return;
    if (getppid() != parent) _exit(127);
    struct sigaction usual = {.sa_handler = SIG_DFL};
    for (int number = 1; number < NSIG; number++) sigaction(number, &usual, NULL);
    /* The copies have numbers above 2, so that dup2 below overwrites none of them. */
    const int from[3] = {fcntl(input, F_DUPFD_CLOEXEC, 3), fcntl(output, F_DUPFD_CLOEXEC, 3),
                         fcntl(errors, F_DUPFD_CLOEXEC, 3)};
    for (int number = 0; number < 3; number++)
        if (from[number] < 0 || dup2(from[number], number) < 0) return;
    /* Our descriptors are close-on-exec from the start. Those of libraries may not be. */
    syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC);
    if (chdir(folder) != 0) return;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(program, arguments, environment);
}

int host_spawn(const char *program, char *const arguments[], char *const environment[],
               const char *folder, int input, int output, int errors, pid_t *process) {
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0) return errno;
    /* 3 or more, even if this process was started without one of the descriptors 0 to 2. */
    const int writing = fcntl(report[1], F_DUPFD_CLOEXEC, 3);
    const int duplication = errno;
    close(report[1]);
    if (writing < 0) {
        close(report[0]);
        return duplication;
    }
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child == 0) {
        become(program, arguments, environment, folder, input, output, errors, parent);
        const int code = errno;
        if (write(writing, &code, sizeof code) < 0) _exit(126);
        _exit(127);
    }
    int code = errno;
    close(writing);
    if (child > 0) {
        ssize_t count;
        do count = read(report[0], &code, sizeof code);
        while (count < 0 && errno == EINTR);
        if (count == (ssize_t)sizeof code) {
            while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {}
        } else {
            /* The exec of the program has closed the pipe. */
            code = 0;
            *process = child;
        }
    }
    close(report[0]);
    return code;
}
