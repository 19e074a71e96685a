#include "report.h"

#include <stdio.h>

static void put_name(struct report *report, const char *name) {
  buffer_format(&report->text, "%s\"%s\": ", report->text.length ? ", " : "{", name);
}

void report_text(struct report *report, const char *name, const char *value) {
  put_name(report, name);
  buffer_append(&report->text, "\"", 1);
  for (; *value; value++) {
    if (*value == '"' || *value == '\\') buffer_append(&report->text, "\\", 1);
    if ((unsigned char)*value >= ' ') buffer_append(&report->text, value, 1);
  }
  buffer_append(&report->text, "\"", 1);
}

void report_count(struct report *report, const char *name, uint64_t value) {
  put_name(report, name);
  buffer_format(&report->text, "%llu", (unsigned long long)value);
}

void report_number(struct report *report, const char *name, double value) {
  put_name(report, name);
  buffer_format(&report->text, "%.4f", value);
}

void report_flag(struct report *report, const char *name, bool value) {
  put_name(report, name);
  buffer_format(&report->text, value ? "true" : "false");
}

void report_latency(struct report *report, const char *name, const struct histogram *histogram) {
  char field[64];
  if (histogram->count == 0) return;
  snprintf(field, sizeof field, "%s_p50_us", name);
  report_number(report, field, (double)histogram_quantile(histogram, 0.5) / 1e3);
  snprintf(field, sizeof field, "%s_p99_us", name);
  report_number(report, field, (double)histogram_quantile(histogram, 0.99) / 1e3);
  snprintf(field, sizeof field, "%s_max_us", name);
  report_number(report, field, (double)histogram->max_ns / 1e3);
}

void report_print(struct report *report) {
  buffer_append(&report->text, "}\n", 2);
  fwrite(report->text.bytes, 1, report->text.length, stdout);
  fflush(stdout);
}
