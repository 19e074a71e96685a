#include "timer_file.h"
