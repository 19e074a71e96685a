/*
 * A stream on a separate connection. The stream stores nothing and resumes nothing. Closing the
 * connection is the only way to cancel the stream.
 */
#include "internal.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define STREAM_ID 1

struct wc_stream {
  char path[WC_PATH_BYTES_MAX + 1];
  wc_link link;
  const ProtobufCMessageDescriptor *type;
  /* The type of messages to send. NULL if none may be sent, or no more. */
  const ProtobufCMessageDescriptor *sent_type;
  bool is_over;
  /* The end of the stream. Later calls return it again. */
  wc_error end;
  uint8_t *status;
  size_t status_count;
};

/* Sends the whole frame, because callers poll the stream only for reading. With POLLIN in
 * `events` it also reads, because a daemon that cannot write does not read either. */
static wc_code send_all(wc_stream *stream, short events, wc_error *error) {
  int64_t deadline = wc_now() + (int64_t)WC_TIMEOUT_DEFAULT * 1000000;
  while (wc_link_flush(&stream->link)) {
    if (!wc_link_is_sending(&stream->link)) return WC_OK;
    int64_t left = deadline - wc_now();
    struct pollfd wanted = {.fd = stream->link.fd, .events = POLLOUT | events};
    if (left <= 0)
      return wc_fail(error, WC_DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED",
                     "the daemon at %s did not take the request within %d ms; try again",
                     stream->path, WC_TIMEOUT_DEFAULT);
    poll(&wanted, 1, (int)((left + 999999) / 1000000));
    if ((wanted.revents & events) == 0) continue;
    wc_read result = wc_link_read(&stream->link);
    if (result == WC_READ_NO_MEMORY) return wc_fail_memory(error);
    if (result == WC_READ_END) break;
  }
  return wc_fail(error, WC_UNAVAILABLE, "CONNECTION_LOST",
                 "the daemon at %s closed the connection at once; it may have too many, so try "
                 "again later",
                 stream->path);
}

wc_stream *wc_stream_open_message(const char *socket, const char *name,
                                  const ProtobufCMessage *request, int timeout, wc_error *error) {
  wc_method method;
  if (wc_find_method(name, &method, error) != WC_OK) return NULL;
  if (!method.is_stream || request->descriptor != method.input) {
    wc_fail(error, WC_INVALID_ARGUMENT, "INVALID_CALL",
            method.is_stream ? "%s takes a %s" : "%s is no stream; use wc_call with a %s", name,
            method.input->name);
    return NULL;
  }
  wc_stream *stream = calloc(1, sizeof *stream);
  uint8_t *payload = NULL, *frame = NULL;
  size_t payload_count, frame_count;
  int fd;
  bool full;
  if (stream == NULL) {
    wc_fail_memory(error);
    return NULL;
  }
  wc_link_init(&stream->link);
  stream->type = method.output;
  stream->sent_type = method.is_conversation ? method.input : NULL;
  uint8_t flags = method.is_conversation ? WC_FLAG_REMOTE_OPEN : WC_FLAG_REMOTE_CLOSED;
  if (wc_find_socket(socket, stream->path, error) == WC_OK
      && wc_encode(request, &payload, &payload_count, error) == WC_OK
      && wc_encode_request(&method, STREAM_ID, flags, payload, payload_count,
                           (int64_t)timeout * 1000000, &frame, &frame_count, error) == WC_OK
      && wc_dial(stream->path, &fd, &full, error) == WC_OK) {
    wc_link_open(&stream->link, fd);
    wc_link_send(&stream->link, frame, frame_count);
    frame = NULL;
    if (send_all(stream, 0, error) == WC_OK) {
      free(payload);
      return stream;
    }
  }
  free(payload);
  free(frame);
  wc_stream_close(stream);
  return NULL;
}

static wc_code finish(wc_stream *stream, wc_error *error) {
  stream->is_over = true;
  wc_link_close(&stream->link);
  if (error != NULL) *error = stream->end;
  return stream->end.code;
}

/* Handles the bytes that were read. True if there is something to return, in `*code` and
 * `*message`. */
static bool take(wc_stream *stream, void **message, wc_code *code, wc_error *error) {
  wc_frame frame;
  wc_next next;
  while ((next = wc_link_next(&stream->link, &frame)) == WC_NEXT_FRAME) {
    wc_incoming incoming = wc_incoming_read(&frame, STREAM_ID, true, &stream->status,
                                            &stream->status_count, &stream->end);
    ProtobufCMessage *decoded = NULL;
    bool ends = incoming.kind != WC_INCOMING_OTHER;
    if (incoming.kind == WC_INCOMING_MESSAGE)
      ends = wc_decode(stream->type, incoming.payload, incoming.count, WC_MESSAGE_BYTES_MAX,
                       &decoded, NULL, &stream->end) != WC_OK;
    wc_incoming_done(&incoming);
    if (decoded != NULL) {
      *message = decoded;
      *code = WC_OK;
      return true;
    }
    if (!ends) continue;
    *code = finish(stream, error);
    return true;
  }
  if (next != WC_NEXT_TOO_LONG) return false;
  wc_fail(&stream->end, WC_INTERNAL, "PROTOCOL_VIOLATION",
          "the daemon at %s broke the protocol: a frame is longer than 4 MiB. Check that this is "
          "widgetd's socket",
          stream->path);
  *code = finish(stream, error);
  return true;
}

wc_code wc_stream_next_message(wc_stream *stream, void **message, int timeout, wc_error *error) {
  *message = NULL;
  if (stream->is_over) return finish(stream, error);
  int64_t deadline = timeout < 0 ? INT64_MAX : wc_now() + (int64_t)timeout * 1000000;
  for (;;) {
    wc_code code;
    if (take(stream, message, &code, error)) return code;
    wc_read result = wc_link_read(&stream->link);
    if (result == WC_READ_SOME) continue;
    if (result == WC_READ_NO_MEMORY) {
      wc_fail_memory(&stream->end);
      return finish(stream, error);
    }
    if (result == WC_READ_END) {
      wc_fail(&stream->end, WC_UNAVAILABLE, "CONNECTION_LOST",
              "the connection to the daemon at %s was lost; open the stream again, with its last "
              "token to go on from there",
              stream->path);
      return finish(stream, error);
    }
    int64_t left = deadline == INT64_MAX ? -1 : deadline - wc_now();
    if (deadline != INT64_MAX && left <= 0)
      return wc_fail(error, WC_DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED",
                     "nothing came within %d ms; the stream continues, so wait again", timeout);
    struct pollfd wanted = {.fd = stream->link.fd, .events = POLLIN};
    poll(&wanted, 1, left < 0 ? -1 : (int)((left + 999999) / 1000000));
  }
}

/* Sends a message, or with NULL the end of the client's messages. */
static wc_code put(wc_stream *stream, const ProtobufCMessage *request, wc_error *error) {
  if (stream->is_over)
    return wc_fail(error, WC_UNAVAILABLE, "STREAM_OVER",
                   "the stream is over, and wc_stream_next says why; open another one");
  uint8_t *frame;
  size_t count;
  wc_code code = wc_encode_data(request, STREAM_ID, &frame, &count, error);
  if (code != WC_OK) return code;
  wc_link_send(&stream->link, frame, count);
  code = send_all(stream, POLLIN, error);
  if (code == WC_OK) return WC_OK;
  if (code == WC_UNAVAILABLE)
    wc_fail(error, WC_UNAVAILABLE, "CONNECTION_LOST",
            "the connection to the daemon at %s was lost; wc_stream_next returns the earlier "
            "messages",
            stream->path);
  /* No frame can follow half a frame. Data that has arrived can still be read. */
  free(stream->link.out);
  stream->link.out = NULL;
  stream->sent_type = NULL;
  return code;
}

wc_code wc_stream_send_message(wc_stream *stream, const ProtobufCMessage *request,
                               wc_error *error) {
  if (stream->sent_type == request->descriptor) return put(stream, request, error);
  if (stream->sent_type == NULL)
    return wc_fail(error, WC_INVALID_ARGUMENT, "INVALID_CALL",
                   "this stream takes no messages, or no more messages; open another stream");
  return wc_fail(error, WC_INVALID_ARGUMENT, "INVALID_CALL", "the stream takes a %s",
                 stream->sent_type->name);
}

wc_code wc_stream_finish(wc_stream *stream, wc_error *error) {
  if (stream->sent_type == NULL || stream->is_over) return WC_OK;
  stream->sent_type = NULL;
  return put(stream, NULL, error);
}

int wc_stream_fd(const wc_stream *stream) { return stream->link.fd; }

const uint8_t *wc_stream_status(const wc_stream *stream, size_t *length) {
  *length = stream->status == NULL ? 0 : stream->status_count;
  return stream->status;
}

void wc_stream_close(wc_stream *stream) {
  if (stream == NULL) return;
  wc_link_close(&stream->link);
  free(stream->status);
  free(stream);
}
