#define _GNU_SOURCE
#include "../loop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../measure.h"

enum { readBytesMax = 256 * 1024, eventsMax = 256 };

void loop_init(struct loop *loop, const struct protocol *protocol, const char *socket_path) {
  *loop = (struct loop){.protocol = protocol, .socket_path = socket_path};
  loop->epoll = epoll_create1(EPOLL_CLOEXEC);
  if (loop->epoll < 0) fail("epoll_create1: %s", strerror(errno));
}

static void watch(struct loop *loop, struct connection *connection, int operation) {
  struct epoll_event event = {
      .events = (connection->stalled ? 0 : EPOLLIN) | (connection->waits_to_write ? EPOLLOUT : 0),
      .data.ptr = connection};
  if (epoll_ctl(loop->epoll, operation, connection->fd, &event) < 0)
    fail("epoll_ctl: %s", strerror(errno));
}

struct connection *loop_adopt(struct loop *loop, int fd) {
  struct connection *connection = calloc(1, sizeof *connection);
  if (!connection) abort();
  connection->fd = fd;
  watch(loop, connection, EPOLL_CTL_ADD);
  return connection;
}

void loop_disconnect(struct loop *loop, struct connection *connection) {
  if (!connection->closed) epoll_ctl(loop->epoll, EPOLL_CTL_DEL, connection->fd, NULL);
  close(connection->fd);
  buffer_free(&connection->in);
  buffer_free(&connection->out);
  free(connection);
}

void loop_stall(struct loop *loop, struct connection *connection) {
  connection->stalled = true;
  watch(loop, connection, EPOLL_CTL_MOD);
}

void loop_flush(struct loop *loop, struct connection *connection) {
  struct buffer *out = &connection->out;
  while (buffer_waiting(out) > 0) {
    ssize_t sent = send(connection->fd, out->bytes + out->start, buffer_waiting(out),
                        MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) fail("the server closed a connection: %s", strerror(errno));
    if (sent < 0) break;
    buffer_consume(out, (size_t)sent);
  }
  bool waits = buffer_waiting(out) > 0;
  if (waits != connection->waits_to_write) {
    connection->waits_to_write = waits;
    watch(loop, connection, EPOLL_CTL_MOD);
  }
}

/// Hands over every complete message in `bytes`. Returns the number of their bytes.
static size_t handle_messages(struct loop *loop, struct connection *connection,
                              const uint8_t *bytes, size_t count, uint64_t now) {
  size_t at = 0;
  while (at < count) {
    struct message message = {.bytes = bytes + at};
    loop->protocol->parse(&connection->parser, bytes + at, count - at, &message);
    if (message.kind == MESSAGE_INCOMPLETE) break;
    if (message.kind == MESSAGE_BROKEN) fail("the server sent %s", message.text);
    connection->messages++;
    at += message.length;
    loop->on_message(loop, connection, &message, now);
  }
  return at;
}

static void read_connection(struct loop *loop, struct connection *connection) {
  static uint8_t scratch[readBytesMax];
  struct buffer *in = &connection->in;
  bool pending = buffer_waiting(in) > 0;
  uint8_t *into = pending ? buffer_reserve(in, readBytesMax) : scratch;
  ssize_t count = recv(connection->fd, into, readBytesMax, MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0)
    fail("the server closed a connection%s%s", count < 0 ? ": " : "",
         count < 0 ? strerror(errno) : "");
  connection->bytes += (uint64_t)count;
  uint64_t now = clock_now();
  if (pending) {
    in->length += (size_t)count;
    buffer_consume(in, handle_messages(loop, connection, in->bytes + in->start,
                                       buffer_waiting(in), now));
  } else {
    size_t used = handle_messages(loop, connection, scratch, (size_t)count, now);
    buffer_append(in, scratch + used, (size_t)count - used);
  }
}

void loop_turn(struct loop *loop, uint64_t deadline_ns) {
  struct epoll_event events[eventsMax];
  struct timespec left = {0}, *timeout = NULL;
  if (deadline_ns > 0) {
    uint64_t now = clock_now(), ns = deadline_ns > now ? deadline_ns - now : 0;
    left.tv_sec = (time_t)(ns / 1000000000u);
    left.tv_nsec = (long)(ns % 1000000000u);
    timeout = &left;
  }
  int count = epoll_pwait2(loop->epoll, events, eventsMax, timeout, NULL);
  if (count < 0 && errno != EINTR) fail("epoll_pwait2: %s", strerror(errno));
  for (int index = 0; index < count; index++) {
    struct connection *connection = events[index].data.ptr;
    if (connection->stalled) {
      if (events[index].events & (EPOLLHUP | EPOLLERR)) {
        connection->closed = true;
        epoll_ctl(loop->epoll, EPOLL_CTL_DEL, connection->fd, NULL);
      }
      continue;
    }
    if (events[index].events & EPOLLOUT) loop_flush(loop, connection);
    if (events[index].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) read_connection(loop, connection);
  }
}
