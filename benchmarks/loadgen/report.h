// One JSON object on one line, built field by field.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"
#include "measure.h"

struct report {
  struct buffer text;
};

void report_text(struct report *, const char *name, const char *value);
void report_count(struct report *, const char *name, uint64_t value);
void report_number(struct report *, const char *name, double value);
void report_flag(struct report *, const char *name, bool value);
/// Adds NAME_p50_us, NAME_p99_us and NAME_max_us.
void report_latency(struct report *, const char *name, const struct histogram *);
/// Prints the object and ends the line.
void report_print(struct report *);
