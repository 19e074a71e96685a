// floor: the least work of any server.
//
// It accepts connections on a Unix socket, reads, and sends bytes of the right size back. It has one
// thread and epoll, and parses only the header of a frame. It keeps no widgets and checks nothing, so
// its cost is the cost of the kernel. The difference to a real server is the cost of that server.
//
//   unary      the answer has the size that the request names
//   update     the same; the floor keeps the value
//   fan-out    the same; each subscriber gets a frame of the size that the update names. One send has
//              the frames of all updates of one read
//   late join  one blob of all created widgets, from memory
//
// Invariants. No client can make the memory grow without a limit. The floor does not read from a
// connection that does not take its answers. A slow subscriber keeps at most the rest of one send, and
// gets the latest frame when it reads again.

#define _GNU_SOURCE
#include "floor.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
  headerBytes = 10,
  digitBytes = 16,
  publishBytesMin = headerBytes + digitBytes + 8,
  bufferBytes = 64 * 1024,
  partBytes = 64 * 1024,
  subscribersMax = 8192,
};

struct client {
  int fd;
  uint8_t *in;  // the start of an incomplete frame; NULL for none
  size_t in_count;
  uint8_t *out;  // answers, or the rest of a send to a subscriber
  size_t out_start, out_count, out_capacity;
  size_t blob_left;  // late join: the unsent bytes of the blob
  size_t blob_end;
  bool subscribed;
  bool behind;      // frames were left out; the latest one must still be sent
  bool wants_read, wants_write;
};

static int epollFD;
static struct client *subscribers[subscribersMax];
static size_t subscriberCount;
static uint8_t *blob;  // floorPart frames, ready to be sent
static size_t blobCount, blobCapacity, blobLastPart;
static uint8_t kept[bufferBytes];  // the last update
static uint8_t frames[4 * bufferBytes];  // of the updates of one read
static size_t framesCount, latestAt;     // where the last one begins

static uint32_t read_u32(const uint8_t *b) {
  return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static void write_header(uint8_t *b, uint32_t length, uint32_t stream, uint8_t type) {
  b[0] = (uint8_t)(length >> 24), b[1] = (uint8_t)(length >> 16), b[2] = (uint8_t)(length >> 8);
  b[3] = (uint8_t)length;
  b[4] = (uint8_t)(stream >> 24), b[5] = (uint8_t)(stream >> 16), b[6] = (uint8_t)(stream >> 8);
  b[7] = (uint8_t)stream;
  b[8] = type, b[9] = 0;
}

static void watch(struct client *client, bool read, bool write) {
  if (client->wants_read == read && client->wants_write == write) return;
  client->wants_read = read, client->wants_write = write;
  struct epoll_event event = {.events = (read ? EPOLLIN : 0) | (write ? EPOLLOUT : 0),
                              .data.ptr = client};
  epoll_ctl(epollFD, EPOLL_CTL_MOD, client->fd, &event);
}

static uint8_t *out_reserve(struct client *client, size_t count) {
  if (client->out_count + count > client->out_capacity) {
    client->out_capacity = (client->out_count + count) * 2;
    client->out = realloc(client->out, client->out_capacity);
    if (!client->out) abort();
  }
  uint8_t *at = client->out + client->out_count;
  client->out_count += count;
  return at;
}

static void put_frame(struct client *client, uint32_t stream, uint8_t type, size_t total) {
  if (total < headerBytes) total = headerBytes;
  uint8_t *at = out_reserve(client, total);
  write_header(at, (uint32_t)(total - headerBytes), stream, type);
  memset(at + headerBytes, 'y', total - headerBytes);
}

/// Sends once. Returns the number of sent bytes, 0 if the socket is full.
static size_t send_some(struct client *client, const uint8_t *bytes, size_t count) {
  ssize_t sent = send(client->fd, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent > 0 ? (size_t)sent : 0;
}

/// Sends what waits: answers, then the blob, then the latest frame.
static void flush(struct client *client) {
  for (;;) {
    if (client->out_start < client->out_count) {
      size_t sent = send_some(client, client->out + client->out_start,
                              client->out_count - client->out_start);
      if (sent == 0) break;
      client->out_start += sent;
      continue;
    }
    client->out_start = client->out_count = 0;
    if (client->blob_left > 0) {
      const uint8_t *rest = blob + client->blob_end - client->blob_left;
      size_t sent = send_some(client, rest, client->blob_left);
      if (sent == 0) break;
      client->blob_left -= sent;
      if (client->blob_left == 0) put_frame(client, 1, floorSynced, 40);
      continue;
    }
    if (!client->behind) break;
    client->behind = false;
    size_t count = framesCount - latestAt;
    memcpy(out_reserve(client, count), frames + latestAt, count);
  }
  bool owes = client->out_start < client->out_count || client->blob_left > 0;
  watch(client, client->subscribed || !owes, owes);
}

static void fan_out(void) {
  size_t count = framesCount;
  for (size_t index = 0; index < subscriberCount; index++) {
    struct client *client = subscribers[index];
    if (client->wants_write) {
      client->behind = true;
      continue;
    }
    size_t sent = send_some(client, frames, count);
    if (sent == count) continue;
    if (sent == 0) {
      client->behind = true;
    } else {
      memcpy(out_reserve(client, count - sent), frames + sent, count - sent);
    }
    watch(client, true, true);
  }
}

/// Keeps an update, answers it, and makes the frame for subscribers. Returns false for an invalid size.
static bool publish(struct client *client, const uint8_t *request, size_t total) {
  if (total < publishBytesMin) return false;
  const uint8_t *digits = request + headerBytes, *sizes = digits + digitBytes;
  size_t reply = read_u32(sizes), frame = read_u32(sizes + 4);
  if (reply > bufferBytes || frame < headerBytes + digitBytes || frame > bufferBytes) return false;
  memcpy(kept, request, total);
  put_frame(client, read_u32(request + 4), floorReply, reply);
  if (subscriberCount == 0) return true;
  if (framesCount + frame > sizeof frames) {
    fan_out();
    framesCount = 0;
  }
  uint8_t *at = frames + framesCount;
  latestAt = framesCount;
  framesCount += frame;
  write_header(at, (uint32_t)(frame - headerBytes), 1, floorPublish);
  memcpy(at + headerBytes, digits, digitBytes);
  memset(at + headerBytes + digitBytes, 'z', frame - headerBytes - digitBytes);
  return true;
}

static void create(const uint8_t *body, size_t count) {
  size_t room = count + headerBytes;
  if (blobCount + room > blobCapacity) {
    blobCapacity = (blobCount + room) * 2;
    blob = realloc(blob, blobCapacity);
    if (!blob) abort();
  }
  bool begins = blobCount == 0 || blobCount - blobLastPart + count > partBytes;
  if (begins) {
    blobLastPart = blobCount;
    blobCount += headerBytes;
  }
  memcpy(blob + blobCount, body, count);
  blobCount += count;
  size_t body_count = blobCount - blobLastPart - headerBytes;
  write_header(blob + blobLastPart, (uint32_t)body_count, 1, floorPart);
}

/// Answers a frame that is not a publish.
static void answer(struct client *client, const uint8_t *frame, size_t body) {
  uint32_t stream = read_u32(frame + 4);
  switch (frame[8]) {
    case floorGet:
      if (body >= 4 && read_u32(frame + headerBytes) <= bufferBytes)
        put_frame(client, stream, floorReply, read_u32(frame + headerBytes));
      break;
    case floorCreate:
      create(frame + headerBytes, body);
      put_frame(client, stream, floorReply, 20);
      break;
    case floorSubscribe:
      if (!client->subscribed && subscriberCount < subscribersMax) {
        client->subscribed = true;
        subscribers[subscriberCount++] = client;
      }
      put_frame(client, stream, floorSynced, 40);
      break;
    case floorJoin:
      client->blob_left = client->blob_end = blobCount;
      if (blobCount == 0) put_frame(client, stream, floorSynced, 40);
      break;
  }
}

static void drop(struct client *client) {
  for (size_t index = 0; index < subscriberCount; index++)
    if (subscribers[index] == client) subscribers[index--] = subscribers[--subscriberCount];
  close(client->fd);
  free(client->in);
  free(client->out);
  free(client);
}

/// Reads once and answers all requests. Returns false if the client is gone.
static bool serve(struct client *client) {
  static uint8_t bytes[bufferBytes];
  size_t held = client->in_count;
  ssize_t got = read(client->fd, bytes + held, bufferBytes - held);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (got <= 0) return false;
  if (held > 0) memcpy(bytes, client->in, held);
  size_t count = held + (size_t)got, at = 0;
  bool publishes = false;
  while (count - at >= headerBytes) {
    const uint8_t *frame = bytes + at;
    size_t body = read_u32(frame), total = headerBytes + body;
    if (total > bufferBytes) return false;
    if (count - at < total) break;
    if (frame[8] == floorPublish) {
      // Slow subscribers need the frames of the last read until here.
      if (!publishes) framesCount = 0;
      publishes = true;
      if (!publish(client, frame, total)) return false;
    } else {
      answer(client, frame, body);
    }
    at += total;
  }
  flush(client);
  if (publishes) fan_out();
  client->in_count = count - at;
  if (client->in_count > held && !(client->in = realloc(client->in, client->in_count))) abort();
  if (client->in_count > 0) memcpy(client->in, bytes + at, client->in_count);
  return true;
}

static void accept_client(int listener) {
  int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) return;
  struct client *client = calloc(1, sizeof *client);
  if (!client) abort();
  client->fd = fd;
  client->wants_read = true;
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = client};
  epoll_ctl(epollFD, EPOLL_CTL_ADD, fd, &event);
}

int main(int count, char **arguments) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  struct rlimit files;
  if (count != 3 || strcmp(arguments[1], "--socket") ||
      strlen(arguments[2]) >= sizeof address.sun_path) {
    fprintf(stderr, "usage: floor --socket PATH\n");
    return 2;
  }
  signal(SIGPIPE, SIG_IGN);
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  strcpy(address.sun_path, arguments[2]);
  unlink(arguments[2]);
  int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) < 0 ||
      listen(listener, 1024) < 0) {
    perror("floor");
    return 1;
  }
  epollFD = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL}, events[128];
  epoll_ctl(epollFD, EPOLL_CTL_ADD, listener, &event);
  for (;;) {
    int ready = epoll_wait(epollFD, events, 128, -1);
    for (int index = 0; index < ready; index++) {
      struct client *client = events[index].data.ptr;
      if (!client) {
        accept_client(listener);
        continue;
      }
      if (events[index].events & EPOLLOUT) flush(client);
      if (events[index].events & (EPOLLIN | EPOLLHUP | EPOLLERR) && !serve(client)) drop(client);
    }
  }
}
