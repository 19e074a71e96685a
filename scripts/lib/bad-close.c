// Ends a program that closes a descriptor which is not open, and prints a backtrace.
//
// Such a close often has no effect. But if another thread has opened a file with this number, the close hits that file,
// and other code fails. So the tests run with this library preloaded.
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int close(int descriptor) {
    int result = (int)syscall(SYS_close, descriptor);
    if (result != 0 && errno == EBADF && descriptor >= 0 &&
        strncmp(program_invocation_short_name, "widgetd", 7) == 0) {
        fprintf(stderr, "%s closes descriptor %d, which is not open\n", program_invocation_short_name, descriptor);
        abort();
    }
    return result;
}
