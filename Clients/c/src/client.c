/*
 * Calls: one at a time over one connection. After a lost connection, the next call connects again.
 *
 * Invariant: between calls nothing waits to be sent. A call that gives up in the middle of sending
 * closes the connection. A call that gives up later keeps the connection. Its late answer is
 * skipped, because no stream id is used twice.
 */
#include "internal.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION "0.1.0"
/* The interval of attempts while the daemon's queue of connections is full. */
#define FULL_WAIT_MILLISECONDS 10
/* The maximum number of reads of unrequested data before a call. */
#define STALE_READS_MAX 64
/* The maximum length of the name of a service that the library does not know. */
#define METHOD_BYTES_MAX 255

struct wc_client {
  char path[WC_PATH_BYTES_MAX + 1];
  int timeout_milliseconds;
  wc_link link;
  uint8_t *status;
  size_t status_count;
};

const char *wc_version(void) { return VERSION; }

static wc_code fail_deadline(const wc_client *client, wc_error *error) {
  return wc_fail(error, WC_DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED",
                 "the daemon at %s did not answer within %d ms; allow more time with "
                 "wc_set_timeout. If it was a change, it may still be made",
                 client->path, client->timeout_milliseconds);
}

static wc_code fail_lost(const wc_client *client, wc_error *error) {
  return wc_fail(error, WC_UNAVAILABLE, "CONNECTION_LOST",
                 "the connection to the daemon at %s was lost before it answered; try again. If "
                 "it was a change, it may have been made already; with a request_id, it is made "
                 "once",
                 client->path);
}

/* The time left, as poll(2) wants it; -1 without a deadline. */
static int milliseconds_left(int64_t deadline) {
  if (deadline == INT64_MAX) return -1;
  int64_t left = deadline - wc_now();
  if (left <= 0) return 0;
  left = (left + 999999) / 1000000;
  return left > 1000000 ? 1000000 : (int)left;
}

static wc_code dial(wc_client *client, int64_t deadline, wc_error *error) {
  for (;;) {
    int fd;
    bool full;
    wc_code code = wc_dial(client->path, &fd, &full, error);
    if (code == WC_OK) wc_link_open(&client->link, fd);
    if (!full) return code;
    if (milliseconds_left(deadline) == 0)
      return wc_fail(error, WC_DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED",
                     "the daemon at %s accepted no connection within %d ms; its queue is full",
                     client->path, client->timeout_milliseconds);
    poll(NULL, 0, FULL_WAIT_MILLISECONDS);
  }
}

wc_client *wc_connect(const char *socket, wc_error *error) {
  return wc_connect_within(socket, WC_TIMEOUT_DEFAULT, error);
}

wc_client *wc_connect_within(const char *socket, int milliseconds, wc_error *error) {
  wc_client *client = calloc(1, sizeof *client);
  if (client == NULL) {
    wc_fail_memory(error);
    return NULL;
  }
  client->timeout_milliseconds = milliseconds;
  wc_link_init(&client->link);
  int64_t deadline = milliseconds == 0 ? INT64_MAX : wc_now() + (int64_t)milliseconds * 1000000;
  if (wc_find_socket(socket, client->path, error) != WC_OK
      || dial(client, deadline, error) != WC_OK) {
    wc_close(client);
    return NULL;
  }
  return client;
}

void wc_close(wc_client *client) {
  if (client == NULL) return;
  wc_link_close(&client->link);
  free(client->status);
  free(client);
}

void wc_set_timeout(wc_client *client, int milliseconds) {
  client->timeout_milliseconds = milliseconds;
}

const char *wc_socket(const wc_client *client) { return client->path; }

const uint8_t *wc_last_status(const wc_client *client, size_t *length) {
  *length = client->status == NULL ? 0 : client->status_count;
  return client->status;
}

/* Checks that the connection is alive, so that a restart of the daemon between two calls does
 * not fail the second one. */
static wc_code ensure_connected(wc_client *client, int64_t deadline, wc_error *error) {
  wc_link *link = &client->link;
  if (link->fd >= 0 && link->next_stream_id > UINT32_MAX - 2) wc_link_close(link);
  for (int reads = 0; link->fd >= 0 && reads < STALE_READS_MAX; reads++) {
    wc_read result = wc_link_read(link);
    if (result == WC_READ_NOTHING) return WC_OK;
    if (result != WC_READ_SOME) wc_link_close(link);
    /* Only late answers can be here. */
    wc_frame frame;
    wc_next next = WC_NEXT_NONE;
    while (link->fd >= 0 && (next = wc_link_next(link, &frame)) == WC_NEXT_FRAME) continue;
    if (next == WC_NEXT_TOO_LONG) wc_link_close(link);
  }
  return link->fd >= 0 ? WC_OK : dial(client, deadline, error);
}

/* Waits for the answer to the request that is being sent. `*incoming` holds it on WC_OK. */
static wc_code await(wc_client *client, uint32_t stream_id, int64_t deadline,
                     wc_incoming *incoming, wc_error *error) {
  wc_link *link = &client->link;
  for (;;) {
    bool alive = wc_link_flush(link);
    wc_read result = wc_link_read(link);
    if (result == WC_READ_NO_MEMORY) {
      wc_link_close(link);
      return wc_fail_memory(error);
    }
    wc_frame frame;
    wc_next next;
    while ((next = wc_link_next(link, &frame)) == WC_NEXT_FRAME) {
      *incoming =
          wc_incoming_read(&frame, stream_id, false, &client->status, &client->status_count, error);
      switch (incoming->kind) {
      case WC_INCOMING_OTHER: wc_incoming_done(incoming); break;
      case WC_INCOMING_ANSWER: return WC_OK;
      case WC_INCOMING_REFUSED: return WC_UNKNOWN;
      default: wc_link_close(link); return WC_INTERNAL;
      }
    }
    if (next == WC_NEXT_TOO_LONG) {
      wc_link_close(link);
      return wc_fail(error, WC_INTERNAL, "PROTOCOL_VIOLATION",
                     "the daemon at %s broke the protocol: a frame is longer than 4 MiB. Check "
                     "that this is widgetd's socket",
                     client->path);
    }
    if (!alive || result == WC_READ_END) {
      wc_link_close(link);
      return fail_lost(client, error);
    }
    if (milliseconds_left(deadline) == 0) {
      if (wc_link_is_sending(link)) wc_link_close(link);
      return fail_deadline(client, error);
    }
    if (result == WC_READ_SOME) continue;
    struct pollfd wanted = {.fd = link->fd, .events = POLLIN};
    if (wc_link_is_sending(link)) wanted.events |= POLLOUT;
    poll(&wanted, 1, milliseconds_left(deadline));
  }
}

/* Makes the call. On WC_OK, the caller must pass `*incoming` to wc_incoming_done. */
static wc_code perform(wc_client *client, const wc_method *method, const uint8_t *request,
                       size_t count, wc_incoming *incoming, wc_error *error) {
  free(client->status);
  client->status = NULL;
  if (method->is_stream)
    return wc_fail(error, WC_INVALID_ARGUMENT, "INVALID_CALL",
                   "%s answers with a stream; use wc_watch_new, wc_watch_events or wc_stream_open",
                   method->name);
  if (client->timeout_milliseconds < 0)
    return wc_fail(error, WC_DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED",
                   "the timeout of %s had passed before the call began; allow more with "
                   "wc_set_timeout",
                   method->name);
  int64_t timeout = (int64_t)client->timeout_milliseconds * 1000000;
  int64_t deadline = timeout == 0 ? INT64_MAX : wc_now() + timeout;
  wc_code code = ensure_connected(client, deadline, error);
  if (code != WC_OK) return code;
  uint8_t *frame;
  size_t frame_count;
  uint32_t stream_id = client->link.next_stream_id;
  code = wc_encode_request(method, stream_id, 0, request, count, timeout, &frame, &frame_count,
                           error);
  if (code != WC_OK) return code;
  client->link.next_stream_id += 2;
  wc_link_send(&client->link, frame, frame_count);
  wc_error own;
  code = await(client, stream_id, deadline, incoming, error == NULL ? &own : error);
  /* The status of the daemon gave the code. */
  return code == WC_OK ? WC_OK : (error == NULL ? &own : error)->code;
}

wc_code wc_call_message(wc_client *client, const char *name, const ProtobufCMessage *request,
                        void **answer, wc_error *error) {
  if (answer != NULL) *answer = NULL;
  wc_method method;
  wc_code code = wc_find_method(name, &method, error);
  if (code != WC_OK) return code;
  if (request->descriptor != method.input)
    return wc_fail(error, WC_INVALID_ARGUMENT, "INVALID_CALL", "%s takes a %s, not a %s", name,
                   method.input->name,
                   request->descriptor == NULL ? "message that was not initialised"
                                               : request->descriptor->name);
  uint8_t *bytes;
  size_t count;
  code = wc_encode(request, &bytes, &count, error);
  if (code != WC_OK) return code;
  wc_incoming incoming;
  code = perform(client, &method, bytes, count, &incoming, error);
  free(bytes);
  if (code != WC_OK) return code;
  ProtobufCMessage *message;
  code = wc_decode(method.output, incoming.payload, incoming.count,
                   WC_MESSAGE_BYTES_MAX, &message, NULL, error);
  wc_incoming_done(&incoming);
  if (answer != NULL)
    *answer = message;
  else
    wc_free(message);
  return code;
}

wc_code wc_call_bytes(wc_client *client, const char *name, const uint8_t *request,
                      size_t request_length, uint8_t **answer, size_t *answer_length,
                      wc_error *error) {
  *answer = NULL;
  *answer_length = 0;
  wc_method method;
  wc_incoming incoming;
  char service[METHOD_BYTES_MAX + 1];
  wc_code code = wc_find_method(name, &method, error);
  if (code != WC_OK) {
    /* A method of a newer daemon, by its full name. */
    const char *slash = strrchr(name, '/');
    if (slash == NULL || slash - name > METHOD_BYTES_MAX) return code;
    memcpy(service, name, (size_t)(slash - name));
    service[slash - name] = 0;
    method = (wc_method){.service = service, .name = slash + 1};
  }
  code = perform(client, &method, request, request_length, &incoming, error);
  if (code != WC_OK) return code;
  if (method.output != NULL)
    code = wc_check(method.output, incoming.payload, incoming.count, error);
  if (code == WC_OK) *answer = malloc(incoming.count == 0 ? 1 : incoming.count);
  if (code == WC_OK && *answer == NULL) code = wc_fail_memory(error);
  if (*answer != NULL) {
    if (incoming.count > 0) memcpy(*answer, incoming.payload, incoming.count);
    *answer_length = incoming.count;
  }
  wc_incoming_done(&incoming);
  return code;
}
