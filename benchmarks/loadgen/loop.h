// Connections to the server under test, and one loop over all of them. There is one thread, so the
// cost of the load generator is one number without locks.
//
// There are two loops, for two programs: socket/loop.c reads and writes bytes with epoll, and
// grpc/loop.cc makes the calls of the C++ library. Workloads see no difference.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "buffer.h"
#include "protocol.h"

struct connection {
  int fd;
  struct buffer in, out;
  struct parser parser;
  uint64_t calls_sent;
  bool waits_to_write;
  bool stalled;  // its messages are no longer read
  bool closed;   // the server hung up; only a stalled one may be
  bool synced;
  uint64_t messages, bytes;
  uint64_t visible;  // the number of the last update that became visible
  unsigned index;    // of subscribers: which one
  void *transport;   // the loop's own
};

struct loop;
/// Called for every message. `now` is the time at which its bytes were read.
typedef void message_handler(struct loop *, struct connection *, const struct message *,
                             uint64_t now);

struct loop {
  int epoll;
  const struct protocol *protocol;
  const char *socket_path;
  message_handler *on_message;
  void *context;  // the workload's own
};

void loop_init(struct loop *, const struct protocol *, const char *socket_path);

/// Connects. Ends the program if that fails.
struct connection *loop_connect(struct loop *);
/// Takes over a socket that is connected.
struct connection *loop_adopt(struct loop *, int fd);
/// Closes and frees.
void loop_disconnect(struct loop *, struct connection *);
/// Stops reading from this connection. A hang-up is then not an error.
void loop_stall(struct loop *, struct connection *);
/// Sends the bytes of `out` that the socket takes. The loop sends the rest.
void loop_flush(struct loop *, struct connection *);
/// Waits until `deadline_ns` at most (0: no limit), and handles the events.
void loop_turn(struct loop *, uint64_t deadline_ns);
/// Handles events until `*counter` is at least `wanted`.
void loop_until(struct loop *, const uint64_t *counter, uint64_t wanted);

/// Connects to a path. Returns the socket, or -1 with errno if nobody listens there.
int socket_connect(const char *path);
/// The process at the other end of the socket.
pid_t connection_peer(const struct connection *);
/// Bytes that wait in the socket, unread.
uint64_t connection_unread(const struct connection *);

/// A request that is sent often. It is encoded once, and each copy gets a stream id and a sequence
/// number.
struct request_template {
  struct buffer bytes;
  size_t sequence_at;  // 0: it has none
  bool framed;
};

struct request_template template_make(const struct protocol *, const struct sizes *,
                             void (*encode)(struct buffer *, const struct sizes *));
/// Appends one request to `out` of the connection and counts the call.
void template_append(const struct request_template *, struct connection *, uint64_t sequence);
/// Gives a request that was just encoded at `at` in `out` the connection's next stream id.
void connection_number(const struct protocol *, struct connection *, size_t at);

/// Prints the error on stderr, and ends the program with status 1.
__attribute__((noreturn, format(printf, 1, 2))) void fail(const char *format, ...);
