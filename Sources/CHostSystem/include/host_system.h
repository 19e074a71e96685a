/* Functions of Linux that Swift cannot call: extensions of the C library, system calls that the C
 * library does not wrap, and functions with a variable number of arguments.
 *
 * Without another comment, a function returns -1 and sets errno on failure. */
#ifndef HOST_SYSTEM_H
#define HOST_SYSTEM_H

#include <sys/types.h>

/* A descriptor that becomes readable when the process ends; see pidfd_open(2). */
int host_pidfd_open(pid_t pid);

/* Makes this process the parent of its orphaned descendants; see prctl(2). */
int host_become_subreaper(void);

/* A pipe whose ends programs do not inherit; ends[0] is for reading. */
int host_pipe(int ends[2]);

/* A descriptor that becomes readable with host_signal_event. */
int host_open_event(void);
int host_signal_event(int event);

/* Replaces the open file of a descriptor by /dev/null, for writing. */
int host_silence(int descriptor);

/* Starts a program in a new process group and in a folder. The three descriptors become its 0, 1
 * and 2; it gets no others. All signals have their default action. Both lists end with NULL. The
 * kernel kills the program when the calling thread ends, so also when this process is killed.
 * Returns 0, or an errno. The calling thread must block all signals. */
int host_spawn(const char *program, char *const arguments[], char *const environment[],
               const char *folder, int input, int output, int errors, pid_t *process);

#endif
