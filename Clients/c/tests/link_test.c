/* Frames from bytes that come in any pieces. */
#include "fake.h"

/* Two ends of a connection; the link has the first. */
static int connect_link(wc_link *link) {
  int ends[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
  wc_link_init(link);
  wc_link_open(link, ends[0]);
  return ends[1];
}

static void check_frame(wc_link *link, uint32_t id, uint8_t type, const char *data) {
  wc_frame frame;
  CHECK(wc_link_next(link, &frame) == WC_NEXT_FRAME);
  CHECK(frame.stream_id == id && frame.type == type && frame.count == strlen(data));
  CHECK(memcmp(frame.data, data, frame.count) == 0);
}

static void frames_may_be_split_at_every_byte(void) {
  bytes all = {0};
  append_frame(&all, 1, 3, 0, "hello", 5);
  append_frame(&all, 0x01020304, 2, 0, "", 0);
  append_frame(&all, 3, 3, 0, "world!", 6);
  for (size_t first = 0; first <= all.count; first++) {
    for (size_t second = first; second <= all.count; second++) {
      wc_link link;
      wc_frame frame;
      int peer = connect_link(&link);
      size_t cuts[] = {0, first, second, all.count};
      size_t frames = 0;
      const char *expected[] = {"hello", "", "world!"};
      for (int piece = 0; piece < 3; piece++) {
        send_bytes(peer, all.at + cuts[piece], cuts[piece + 1] - cuts[piece]);
        while (wc_link_read(&link) == WC_READ_SOME) continue;
        while (wc_link_next(&link, &frame) == WC_NEXT_FRAME) {
          CHECK(frames < 3 && frame.count == strlen(expected[frames]));
          CHECK(memcmp(frame.data, expected[frames], frame.count) == 0);
          CHECK(frame.stream_id == (frames == 0 ? 1u : frames == 1 ? 0x01020304u : 3u));
          frames++;
        }
        /* A frame is available as soon as its last byte has come. */
        size_t ends[] = {15, 25, 41};
        CHECK(frames == (size_t)((cuts[piece + 1] >= ends[0]) + (cuts[piece + 1] >= ends[1])
                                 + (cuts[piece + 1] >= ends[2])));
      }
      close(peer);
      wc_link_close(&link);
    }
  }
  free(all.at);
}

static void the_longest_frame_is_taken_and_its_memory_given_back(void) {
  wc_link link;
  wc_frame frame;
  int peer = connect_link(&link);
  uint8_t header[10];
  uint8_t *data = calloc(1, WC_FRAME_BYTES_MAX);
  put_header(header, WC_FRAME_BYTES_MAX, 1, 3, 0);
  send_bytes(peer, header, 10);
  for (size_t sent = 0; sent < WC_FRAME_BYTES_MAX;) {
    ssize_t now = send(peer, data + sent, WC_FRAME_BYTES_MAX - sent, MSG_DONTWAIT);
    if (now > 0) sent += (size_t)now;
    while (wc_link_read(&link) == WC_READ_SOME) continue;
    CHECK(link.in_capacity <= 2 * WC_FRAME_BYTES_MAX + (256u << 10));
  }
  CHECK(wc_link_next(&link, &frame) == WC_NEXT_FRAME && frame.count == WC_FRAME_BYTES_MAX);
  send_bytes(peer, header, 10);
  CHECK(wc_link_read(&link) == WC_READ_SOME);
  CHECK(link.in_capacity < (1u << 20));
  free(data);
  close(peer);
  wc_link_close(&link);
}

static void a_frame_that_is_too_long_is_refused_by_its_header(void) {
  wc_link link;
  wc_frame frame;
  int peer = connect_link(&link);
  uint8_t header[10];
  put_header(header, WC_FRAME_BYTES_MAX + 1, 1, 3, 0);
  send_bytes(peer, header, 10);
  CHECK(wc_link_read(&link) == WC_READ_SOME);
  CHECK(wc_link_next(&link, &frame) == WC_NEXT_TOO_LONG);
  close(peer);
  wc_link_close(&link);
}

static void what_the_kernel_does_not_take_is_sent_later(void) {
  wc_link link;
  int peer = connect_link(&link);
  size_t count = 3u << 20, got = 0;
  uint8_t *out = malloc(count), *in = malloc(count);
  for (size_t i = 0; i < count; i++) out[i] = (uint8_t)(i * 7 + i / 251);
  uint8_t *copy = malloc(count);
  memcpy(copy, out, count);
  wc_link_send(&link, out, count);
  CHECK(wc_link_flush(&link) && wc_link_is_sending(&link));
  while (got < count) {
    ssize_t now = recv(peer, in + got, count - got, 0);
    if (now > 0) got += (size_t)now;
    CHECK(wc_link_flush(&link));
  }
  CHECK(!wc_link_is_sending(&link) && memcmp(copy, in, count) == 0);
  close(peer);
  wc_link_close(&link);
  free(copy);
  free(in);
}

static void the_end_is_told_after_what_came_before(void) {
  wc_link link;
  bytes all = {0};
  int peer = connect_link(&link);
  append_frame(&all, 1, 3, 0, "last", 4);
  send_bytes(peer, all.at, all.count);
  close(peer);
  CHECK(wc_link_read(&link) == WC_READ_SOME);
  check_frame(&link, 1, 3, "last");
  CHECK(wc_link_read(&link) == WC_READ_END);
  free(all.at);
  wc_link_close(&link);
}

int main(void) {
  TEST(frames_may_be_split_at_every_byte);
  TEST(the_longest_frame_is_taken_and_its_memory_given_back);
  TEST(a_frame_that_is_too_long_is_refused_by_its_header);
  TEST(what_the_kernel_does_not_take_is_sent_later);
  TEST(the_end_is_told_after_what_came_before);
}
