/*
 * A driver of the conformance suite over libwidgetclient: commands on stdin and events on stdout,
 * one per line.
 *
 * The main thread reads commands and follows streams, both by poll(2). It does not poll a paused
 * stream. A second thread makes the calls, in the order of the commands, so that a waiting call
 * delays neither the streams nor `quit`.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <widgetclient.h>

#define STREAMS_MAX 256

typedef struct call {
  struct call *next;
  char *id, *method;
  int timeout;
  uint8_t *request;
  size_t request_length;
} call;

typedef struct stream {
  char *id;
  wc_stream *raw;
  /* A conversation, until its first message has come. */
  char *method;
  int timeout;
  wc_watch *watch;
  bool paused;
} stream;

static const char *socket_path;
static stream *streams[STREAMS_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, output = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t added = PTHREAD_COND_INITIALIZER;
static call *first_call, **last_call = &first_call;

static void *need(void *memory) {
  if (memory != NULL) return memory;
  fprintf(stderr, "conformance: no memory\n");
  exit(1);
}

/* --- Output --- */

static void say(const char *head, const char *id, const char *tail, const uint8_t *bytes,
                size_t count) {
  pthread_mutex_lock(&output);
  printf("%s %s%s%s", head, id, tail[0] == 0 ? "" : " ", tail);
  if (bytes != NULL) {
    putchar(' ');
    if (count == 0) putchar('-');
    for (size_t i = 0; i < count; i++) printf("%02x", bytes[i]);
  }
  putchar('\n');
  fflush(stdout);
  pthread_mutex_unlock(&output);
}

static void say_error(const char *head, const char *id, const wc_error *error,
                      const uint8_t *status, size_t status_length) {
  char tail[64];
  static const uint8_t nothing[1];
  snprintf(tail, sizeof tail, "error %s", wc_code_name(error->code));
  if (!error->from_daemon || status == NULL) say(head, id, tail, nothing, 0);
  else say(head, id, tail, status, status_length);
}

static void say_message(const char *id, const ProtobufCMessage *message) {
  size_t count = protobuf_c_message_get_packed_size(message);
  uint8_t *bytes = need(malloc(count + 1));
  protobuf_c_message_pack(message, bytes);
  say("frame", id, "", bytes, count);
  free(bytes);
}

/* --- Calls --- */

static void *make_calls(void *unused) {
  (void)unused;
  wc_client *client = NULL;
  for (;;) {
    pthread_mutex_lock(&lock);
    while (first_call == NULL) pthread_cond_wait(&added, &lock);
    call *next = first_call;
    first_call = next->next;
    if (first_call == NULL) last_call = &first_call;
    pthread_mutex_unlock(&lock);
    wc_error error;
    uint8_t *answer = NULL;
    const uint8_t *status = NULL;
    size_t answer_length = 0, status_length = 0;
    if (client == NULL) client = wc_connect(socket_path, &error);
    wc_code code = client == NULL ? error.code : WC_OK;
    if (client != NULL) {
      wc_set_timeout(client, next->timeout);
      code = wc_call_bytes(client, next->method, next->request, next->request_length, &answer,
                           &answer_length, &error);
      status = wc_last_status(client, &status_length);
    }
    if (code == WC_OK) say("answer", next->id, "ok", answer, answer_length);
    else say_error("answer", next->id, &error, status, status_length);
    free(answer);
    free(next->id);
    free(next->method);
    free(next->request);
    free(next);
  }
  return NULL;
}

/* --- Streams --- */

static void forget(stream **slot) {
  wc_stream_close((*slot)->raw);
  wc_watch_free((*slot)->watch);
  free((*slot)->id);
  free((*slot)->method);
  free(*slot);
  *slot = NULL;
}

static void on_notice(wc_watch *watch, const wc_notice *notice, void *context) {
  (void)watch;
  if (notice->kind == WC_NOTICE_FRAME) say_message(((stream *)context)->id, notice->frame);
}

/* Reads all arrived messages. */
static void advance(stream **slot) {
  stream *at = *slot;
  wc_error error;
  wc_code code;
  size_t length;
  if (at->watch != NULL) {
    code = wc_watch_process(at->watch, &error);
    if (!wc_watch_is_over(at->watch)) return;
    if (code == WC_OK) say("end", at->id, "ok -", NULL, 0);
    else {
      const uint8_t *status = wc_watch_status(at->watch, &length);
      say_error("end", at->id, &error, status, length);
    }
    forget(slot);
    return;
  }
  for (;;) {
    ProtobufCMessage *message;
    code = wc_stream_next(at->raw, &message, 0, &error);
    if (code == WC_OK && message != NULL) {
      say_message(at->id, message);
      wc_free(message);
      continue;
    }
    /* Nothing has arrived yet. At the end, which has the same code, the stream has no descriptor.
     * */
    if (code == WC_DEADLINE_EXCEEDED && wc_stream_fd(at->raw) >= 0) return;
    if (code == WC_OK) say("end", at->id, "ok -", NULL, 0);
    else {
      const uint8_t *status = wc_stream_status(at->raw, &length);
      say_error("end", at->id, &error, status, length);
    }
    forget(slot);
    return;
  }
}

static stream **find(const char *id) {
  for (size_t i = 0; i < STREAMS_MAX; i++)
    if (streams[i] != NULL && strcmp(streams[i]->id, id) == 0) return &streams[i];
  return NULL;
}

/* Makes the request message that the method takes, from its bytes. */
static ProtobufCMessage *request_of(const char *method, const uint8_t *bytes, size_t count) {
  const char *slash = strrchr(method, '/');
  const ProtobufCMessageDescriptor *type = &widgetd__v1__watch_widgets_request__descriptor;
  if (strcmp(slash == NULL ? method : slash + 1, "WatchEvents") == 0)
    type = &widgetd__v1__watch_events_request__descriptor;
  if (strcmp(slash == NULL ? method : slash + 1, "Provide") == 0)
    type = &widgetd__v1__provide_request__descriptor;
  return protobuf_c_message_unpack(type, NULL, count, bytes);
}

static void open_stream(const char *id, const char *method, int timeout, const uint8_t *bytes,
                        size_t count, bool follows) {
  wc_error error = {.code = WC_INVALID_ARGUMENT};
  stream **slot = NULL;
  for (size_t i = 0; i < STREAMS_MAX && slot == NULL; i++)
    if (streams[i] == NULL) slot = &streams[i];
  ProtobufCMessage *request = request_of(method, bytes, count);
  if (slot != NULL && request != NULL) {
    stream *made = need(calloc(1, sizeof *made));
    made->id = need(strdup(id));
    *slot = made;
    if (follows)
      made->watch = wc_watch_new(socket_path, (Widgetd__V1__WatchWidgetsRequest *)request,
                                 WC_WATCH_FRAMES, on_notice, made, &error);
    else made->raw = wc_stream_open_message(socket_path, method, request, timeout, &error);
    if (made->watch == NULL && made->raw == NULL) forget(slot);
  }
  wc_free(request);
  if (slot == NULL || *slot == NULL) say_error("end", id, &error, NULL, 0);
  else advance(slot);
}

/* --- Conversations --- */

/* The first message is sent with the request, so the stream is opened when this message has
 * come. */
static void begin_conversation(const char *id, const char *method, int timeout) {
  for (size_t i = 0; i < STREAMS_MAX; i++) {
    if (streams[i] != NULL) continue;
    streams[i] = need(calloc(1, sizeof **streams));
    streams[i]->id = need(strdup(id));
    streams[i]->method = need(strdup(method));
    streams[i]->timeout = timeout;
    return;
  }
}

/* Sends a message, or with NULL bytes the end of the client's messages. */
static void send_message(stream **slot, const uint8_t *bytes, size_t count) {
  stream *at = *slot;
  wc_error error;
  ProtobufCMessage *message = bytes == NULL ? NULL : request_of("Provide", bytes, count);
  if (message == NULL && (bytes != NULL || at->raw == NULL)) {
    say("unsupported", at->id,
        bytes == NULL ? "wc_stream_open begins a conversation with its first message"
                      : "wc_stream_send takes messages, not other bytes",
        NULL, 0);
    forget(slot);
    return;
  }
  wc_code code = WC_OK;
  if (message == NULL) code = wc_stream_finish(at->raw, &error);
  else if (at->raw != NULL) code = wc_stream_send_message(at->raw, message, &error);
  else at->raw = wc_stream_open_message(socket_path, at->method, message, at->timeout, &error);
  wc_free(message);
  if (at->raw == NULL) {
    say_error("end", at->id, &error, NULL, 0);
    forget(slot);
    return;
  }
  if (code != WC_OK) fprintf(stderr, "conformance: %s\n", error.message);
  /* Polling does not report frames that arrived while the message was sent. */
  if (!at->paused) advance(slot);
}

/* --- Commands --- */

static int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The bytes, or NULL if it is not hex. */
static uint8_t *bytes_of(const char *hex, size_t *count) {
  size_t length = strcmp(hex, "-") == 0 ? 0 : strlen(hex);
  uint8_t *bytes = need(malloc(length / 2 + 1));
  *count = length / 2;
  for (size_t i = 0; i < length; i++) {
    if (digit(hex[i]) < 0 || length % 2 != 0) {
      free(bytes);
      return NULL;
    }
    bytes[i / 2] = (uint8_t)(i % 2 == 0 ? digit(hex[i]) << 4 : bytes[i / 2] | digit(hex[i]));
  }
  return bytes;
}

static void command(char *line) {
  char *words[5] = {0};
  size_t count = 0, length = 0;
  for (char *rest = line; count < 5 && (words[count] = strsep(&rest, " ")) != NULL;) count++;
  const char *verb = words[0];
  bool is_call = strcmp(verb, "call") == 0, is_open = strcmp(verb, "open") == 0;
  stream **slot = count < 2 ? NULL : find(words[1]);
  if ((is_call || is_open) && count == 5) {
    uint8_t *bytes = bytes_of(words[4], &length);
    if (bytes == NULL) {
      fprintf(stderr, "conformance: no hex in a line that begins with %s\n", verb);
      return;
    }
    if (is_open) {
      open_stream(words[1], words[2], atoi(words[3]), bytes, length, false);
      free(bytes);
      return;
    }
    call *made = need(calloc(1, sizeof *made));
    made->id = need(strdup(words[1]));
    made->method = need(strdup(words[2]));
    made->timeout = atoi(words[3]);
    made->request = bytes;
    made->request_length = length;
    pthread_mutex_lock(&lock);
    *last_call = made;
    last_call = &made->next;
    pthread_cond_signal(&added);
    pthread_mutex_unlock(&lock);
  } else if (strcmp(verb, "converse") == 0 && count == 4) {
    begin_conversation(words[1], words[2], atoi(words[3]));
  } else if (strcmp(verb, "send") == 0 && count == 3) {
    uint8_t *bytes = slot == NULL ? NULL : bytes_of(words[2], &length);
    if (bytes != NULL) send_message(slot, bytes, length);
    free(bytes);
  } else if (strcmp(verb, "finish") == 0 && count == 2) {
    if (slot != NULL) send_message(slot, NULL, 0);
  } else if (strcmp(verb, "follow") == 0 && count == 3) {
    uint8_t *bytes = bytes_of(words[2], &length);
    if (bytes != NULL) open_stream(words[1], "WatchWidgets", 0, bytes, length, true);
    free(bytes);
  } else if ((strcmp(verb, "pause") == 0 || strcmp(verb, "continue") == 0) && slot != NULL) {
    (*slot)->paused = verb[0] == 'p';
    say((*slot)->paused ? "paused" : "continued", words[1], "", NULL, 0);
  } else if (strcmp(verb, "cancel") == 0 && slot != NULL) {
    say("end", words[1], "error CANCELLED -", NULL, 0);
    forget(slot);
  } else if (strcmp(verb, "supports") == 0) {
    say("supports", "call open follow converse pause cancel timeout both others", "", NULL, 0);
  } else if (strcmp(verb, "quit") == 0) {
    /* The lock prevents an exit in the middle of a line of the other thread. */
    pthread_mutex_lock(&output);
    exit(0);
  } else if (slot == NULL && count >= 2
             && (strcmp(verb, "pause") == 0 || strcmp(verb, "continue") == 0
                 || strcmp(verb, "cancel") == 0)) {
    /* The stream has already ended, and its end was reported. */
  } else {
    fprintf(stderr, "conformance: cannot make anything of a line that begins with %s\n", verb);
  }
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: conformance SOCKET_PATH\n");
    return 2;
  }
  socket_path = argv[1];
  pthread_t caller;
  if (pthread_create(&caller, NULL, make_calls, NULL) != 0) return 1;
  char *line = NULL;
  size_t used = 0, capacity = 0;
  for (;;) {
    struct pollfd wanted[STREAMS_MAX + 1] = {{.fd = 0, .events = POLLIN}};
    for (size_t i = 0; i < STREAMS_MAX; i++) {
      stream *at = streams[i];
      wanted[i + 1].fd = at == NULL || at->paused ? -1
                         : at->watch != NULL      ? wc_watch_fd(at->watch)
                         : at->raw != NULL        ? wc_stream_fd(at->raw)
                                                  : -1;
      wanted[i + 1].events = POLLIN;
    }
    if (poll(wanted, STREAMS_MAX + 1, -1) < 0 && errno != EINTR) return 1;
    for (size_t i = 0; i < STREAMS_MAX; i++)
      if (wanted[i + 1].revents != 0 && streams[i] != NULL) advance(&streams[i]);
    if (wanted[0].revents == 0) continue;
    if (capacity - used < 65536) line = need(realloc(line, capacity = capacity * 2 + 131072));
    ssize_t got = read(0, line + used, capacity - used - 1);
    if (got <= 0) return got == 0 ? 0 : 1;
    used += (size_t)got;
    char *start = line, *end;
    while ((end = memchr(start, '\n', used - (size_t)(start - line))) != NULL) {
      *end = 0;
      if (end > start) command(start);
      start = end + 1;
    }
    used -= (size_t)(start - line);
    memmove(line, start, used);
  }
}
