/*
 * Errors of the daemon: a google.rpc.Status becomes a wc_error.
 */
#include "internal.h"

#include <string.h>

/* Appends as much as fits. */
static void append_text(char *to, size_t size, const char *from) {
  size_t at = strlen(to);
  wc_copy_text(to + at, size - at, from);
}

static bool is_detail(const Google__Protobuf__Any *any, const char *type) {
  const char *slash = strrchr(any->type_url, '/');
  return slash != NULL && strcmp(slash + 1, type) == 0;
}

/* Details are optional, so an unreadable one is skipped. */
static void *read_detail(const Google__Protobuf__Any *any, const char *type,
                         const ProtobufCMessageDescriptor *descriptor) {
  ProtobufCMessage *message = NULL;
  if (!is_detail(any, type)) return NULL;
  if (wc_decode(descriptor, any->value.data, any->value.len, (size_t)1 << 20, &message, NULL,
                NULL) != WC_OK)
    return NULL;
  return message;
}

static void add_info(wc_error *error, const Google__Rpc__ErrorInfo *info) {
  wc_copy_text(error->reason, sizeof error->reason, info->reason);
  for (size_t i = 0; i < info->n_metadata && error->metadata_count < WC_ERROR_METADATA_MAX; i++) {
    wc_metadata *pair = &error->metadata[error->metadata_count++];
    wc_copy_text(pair->key, sizeof pair->key, info->metadata[i]->key);
    wc_copy_text(pair->value, sizeof pair->value, info->metadata[i]->value);
  }
}

/* Appends the violations that the message does not name. */
static void add_violations(wc_error *error, const Google__Rpc__BadRequest *request) {
  for (size_t i = 0; i < request->n_field_violations; i++) {
    const Google__Rpc__BadRequest__FieldViolation *violation = request->field_violations[i];
    char line[sizeof error->message] = "";
    append_text(line, sizeof line, violation->field);
    append_text(line, sizeof line, ": ");
    append_text(line, sizeof line, violation->description);
    if (strstr(error->message, line) != NULL) continue;
    append_text(error->message, sizeof error->message, "; ");
    append_text(error->message, sizeof error->message, line);
  }
}

static void add_retry(wc_error *error, const Google__Rpc__RetryInfo *retry) {
  const Google__Protobuf__Duration *delay = retry->retry_delay;
  if (delay == NULL || delay->seconds < 0 || delay->nanos < 0) return;
  int64_t seconds = delay->seconds < 86400 ? delay->seconds : 86400;
  error->retry_milliseconds = (uint32_t)(seconds * 1000 + delay->nanos / 1000000);
}

wc_code wc_fail_status(wc_error *error, const Google__Rpc__Status *status) {
  wc_code code = status->code > 0 && status->code <= WC_UNAUTHENTICATED ? (wc_code)status->code
                                                                        : WC_UNKNOWN;
  wc_fail(error, code, "", "%s", "");
  if (error == NULL) return code;
  error->from_daemon = true;
  wc_copy_text(error->message, sizeof error->message,
               status->message[0] == 0 ? "the daemon refused the call without a reason; see its log"
                                       : status->message);
  for (size_t i = 0; i < status->n_details; i++) {
    const Google__Protobuf__Any *any = status->details[i];
    void *detail;
    if ((detail = read_detail(any, "google.rpc.ErrorInfo", &google__rpc__error_info__descriptor)))
      add_info(error, detail);
    else if ((detail = read_detail(any, "google.rpc.BadRequest",
                                   &google__rpc__bad_request__descriptor)))
      add_violations(error, detail);
    else if ((detail = read_detail(any, "google.rpc.RetryInfo",
                                   &google__rpc__retry_info__descriptor)))
      add_retry(error, detail);
    wc_free(detail);
  }
  return code;
}
