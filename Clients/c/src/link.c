/*
 * One connection: bytes to frames, frames to bytes, and the meaning of a frame for the stream that
 * its owner waits for. It never blocks and never decides to wait. Its owners poll.
 *
 * Invariants: in_start <= in_end <= in_capacity. The input buffer holds at most one incomplete
 * frame and the bytes of one read, so the longest frame bounds it. The exception is input that
 * arrives while a message is sent (stream.c). It is bounded by the daemon's output in one turn. A
 * frame above the limit is refused as soon as its header has arrived. The buffer of a large frame
 * is freed after the frame.
 */
#include "internal.h"
#include "ttrpc/v1/ttrpc.pb-c.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_BYTES ((size_t)64 << 10)
#define KEPT_BYTES ((size_t)256 << 10)

void wc_link_init(wc_link *link) {
  memset(link, 0, sizeof *link);
  link->fd = -1;
}

void wc_link_open(wc_link *link, int fd) {
  wc_link_close(link);
  link->fd = fd;
  link->next_stream_id = 1;
}

void wc_link_close(wc_link *link) {
  if (link->fd >= 0) close(link->fd);
  free(link->in);
  free(link->out);
  wc_link_init(link);
}

void wc_link_send(wc_link *link, uint8_t *bytes, size_t count) {
  link->out = bytes;
  link->out_start = 0;
  link->out_end = count;
}

bool wc_link_flush(wc_link *link) {
  while (link->out != NULL) {
    ssize_t sent = send(link->fd, link->out + link->out_start, link->out_end - link->out_start,
                        MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) continue;
      return errno == EAGAIN || errno == EWOULDBLOCK;
    }
    link->out_start += (size_t)sent;
    if (link->out_start == link->out_end) {
      free(link->out);
      link->out = NULL;
    }
  }
  return true;
}

static uint32_t get_u32(const uint8_t *at) {
  return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Makes room for `count` bytes behind in_end. */
static bool make_room(wc_link *link, size_t count) {
  size_t held = link->in_end - link->in_start;
  if (held == 0) {
    link->in_start = link->in_end = 0;
    if (link->in_capacity > KEPT_BYTES) {
      free(link->in);
      link->in = NULL;
      link->in_capacity = 0;
    }
  }
  if (link->in_capacity - link->in_end >= count) return true;
  if (link->in_start > 0) {
    memmove(link->in, link->in + link->in_start, held);
    link->in_start = 0;
    link->in_end = held;
    if (link->in_capacity - held >= count) return true;
  }
  /* The capacity doubles, so that a long frame is not copied repeatedly. */
  size_t capacity = link->in_capacity * 2;
  if (capacity < held + count) capacity = held + count;
  uint8_t *grown = realloc(link->in, capacity);
  if (grown == NULL) return false;
  link->in = grown;
  link->in_capacity = capacity;
  return true;
}

wc_read wc_link_read(wc_link *link) {
  if (!make_room(link, READ_BYTES)) return WC_READ_NO_MEMORY;
  for (;;) {
    ssize_t got = recv(link->fd, link->in + link->in_end, READ_BYTES, MSG_DONTWAIT);
    if (got > 0) {
      link->in_end += (size_t)got;
      return WC_READ_SOME;
    }
    if (got == 0) return WC_READ_END;
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == EWOULDBLOCK ? WC_READ_NOTHING : WC_READ_END;
  }
}

wc_next wc_link_next(wc_link *link, wc_frame *frame) {
  size_t held = link->in_end - link->in_start;
  if (held < WC_HEADER_BYTES) return WC_NEXT_NONE;
  const uint8_t *at = link->in + link->in_start;
  size_t count = get_u32(at);
  if (count > WC_FRAME_BYTES_MAX) return WC_NEXT_TOO_LONG;
  if (held < WC_HEADER_BYTES + count) return WC_NEXT_NONE;
  frame->stream_id = get_u32(at + 4);
  frame->type = at[8];
  frame->flags = at[9];
  frame->data = at + WC_HEADER_BYTES;
  frame->count = count;
  link->in_start += WC_HEADER_BYTES + count;
  return WC_NEXT_FRAME;
}

static wc_incoming bad(wc_error *error, const char *what) {
  wc_fail(error, WC_INTERNAL, "PROTOCOL_VIOLATION",
          "the daemon broke the protocol: %s. Check that client and daemon fit together", what);
  return (wc_incoming){.kind = WC_INCOMING_VIOLATION};
}

wc_incoming wc_incoming_read(const wc_frame *frame, uint32_t stream_id, bool is_stream,
                             uint8_t **status, size_t *status_count, wc_error *error) {
  if (frame->stream_id != stream_id
      || (frame->type != WC_FRAME_RESPONSE && frame->type != WC_FRAME_DATA))
    return (wc_incoming){.kind = WC_INCOMING_OTHER};
  if (frame->type == WC_FRAME_DATA) {
    if (!is_stream) return bad(error, "a call without a stream was answered with data");
    if (frame->flags & WC_FLAG_NO_DATA) {
      if (frame->count != 0) return bad(error, "a frame with the no-data flag has data");
      return (wc_incoming){.kind = frame->flags & WC_FLAG_REMOTE_CLOSED ? WC_INCOMING_END
                                                                        : WC_INCOMING_OTHER};
    }
    if (frame->flags & WC_FLAG_REMOTE_CLOSED)
      return bad(error, "a message and the end of a stream came in one frame");
    return (wc_incoming){WC_INCOMING_MESSAGE, frame->data, frame->count, NULL};
  }
  ProtobufCMessage *message;
  if (wc_decode(&ttrpc__v1__response__descriptor, frame->data, frame->count,
                WC_MESSAGE_BYTES_MAX, &message, NULL, error) != WC_OK)
    return (wc_incoming){.kind = WC_INCOMING_VIOLATION};
  Ttrpc__V1__Response *response = (Ttrpc__V1__Response *)message;
  if (response->status != NULL && response->status->code != 0) {
    wc_fail_status(error, response->status);
    /* The raw status is optional. If memory runs out, it is left out. */
    if (wc_encode(&response->status->base, status, status_count, NULL) != WC_OK) *status = NULL;
    wc_free(message);
    return (wc_incoming){.kind = WC_INCOMING_REFUSED};
  }
  return (wc_incoming){is_stream ? WC_INCOMING_END : WC_INCOMING_ANSWER, response->payload.data,
                       response->payload.len, message};
}

void wc_incoming_done(wc_incoming *incoming) {
  wc_free(incoming->envelope);
  incoming->envelope = NULL;
}
