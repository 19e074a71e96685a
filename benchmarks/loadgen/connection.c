// The common part of connections over sockets and over gRPC.

#define _GNU_SOURCE
#include <errno.h>
#include <linux/sockios.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "loop.h"

void fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("loadgen: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  exit(1);
}

int socket_connect(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) fail("the socket's path is too long: %s", path);
  strcpy(address.sun_path, path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) fail("socket: %s", strerror(errno));
  if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
  int error = errno;
  close(fd);
  errno = error;
  return -1;
}

struct connection *loop_connect(struct loop *loop) {
  int fd = socket_connect(loop->socket_path);
  if (fd < 0) fail("cannot connect to %s: %s", loop->socket_path, strerror(errno));
  return loop_adopt(loop, fd);
}

void loop_until(struct loop *loop, const uint64_t *counter, uint64_t wanted) {
  while (*counter < wanted) loop_turn(loop, 0);
}

pid_t connection_peer(const struct connection *connection) {
  struct ucred credentials = {0};
  socklen_t length = sizeof credentials;
  if (getsockopt(connection->fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) < 0)
    fail("SO_PEERCRED: %s", strerror(errno));
  return credentials.pid;
}

uint64_t connection_unread(const struct connection *connection) {
  int count = 0;
  return ioctl(connection->fd, SIOCINQ, &count) < 0 || count < 0 ? 0 : (uint64_t)count;
}

struct request_template template_make(const struct protocol *protocol, const struct sizes *sizes,
                             void (*encode)(struct buffer *, const struct sizes *)) {
  struct request_template template = {.framed = protocol->framed};
  encode(&template.bytes, sizes);
  const uint8_t *place = memmem(template.bytes.bytes, template.bytes.length, SEQUENCE_PLACE,
                                sequenceDigits);
  template.sequence_at = place ? (size_t)(place - template.bytes.bytes) : 0;
  return template;
}

static void patch_stream(uint8_t *header, uint64_t call) {
  uint32_t stream = (uint32_t)(1 + 2 * call);
  header[4] = (uint8_t)(stream >> 24), header[5] = (uint8_t)(stream >> 16);
  header[6] = (uint8_t)(stream >> 8), header[7] = (uint8_t)stream;
}

void template_append(const struct request_template *template, struct connection *connection,
                     uint64_t sequence) {
  static const char digits[] = "0123456789abcdef";
  uint8_t *at = buffer_reserve(&connection->out, template->bytes.length);
  memcpy(at, template->bytes.bytes, template->bytes.length);
  connection->out.length += template->bytes.length;
  if (template->framed) patch_stream(at, connection->calls_sent);
  if (template->sequence_at > 0) {
    uint8_t *place = at + template->sequence_at;
    for (int index = sequenceDigits - 1; index >= 0; index--, sequence >>= 4)
      place[index] = (uint8_t)digits[sequence & 15];
  }
  connection->calls_sent++;
}

void connection_number(const struct protocol *protocol, struct connection *connection, size_t at) {
  if (protocol->framed) patch_stream(connection->out.bytes + at, connection->calls_sent);
  connection->calls_sent++;
}
