// Timers that are read as files. Swift's Glibc module leaves them out.
#include <sys/timerfd.h>
