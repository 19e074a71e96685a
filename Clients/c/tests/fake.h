/*
 * The parts that the tests share: checks that end the program, a scripted daemon, and its messages.
 * The daemon listens on a socket in a separate folder. The test drives it, in the same thread where
 * the library does not block.
 */
#ifndef FAKE_H
#define FAKE_H

#include "internal.h"
#include "ttrpc/v1/ttrpc.pb-c.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define CHECK(condition)                                                             \
  do {                                                                               \
    if (!(condition)) {                                                              \
      fprintf(stderr, "%s:%d: FAIL: %s\n", __FILE__, __LINE__, #condition);          \
      exit(1);                                                                       \
    }                                                                                \
  } while (0)
#define CHECK_TEXT(found, expected)                                                            \
  do {                                                                                         \
    const char *found_ = (found), *expected_ = (expected);                                     \
    if (found_ == NULL || strcmp(found_, expected_) != 0) {                                    \
      fprintf(stderr, "%s:%d: FAIL: %s is\n  %s\nand not\n  %s\n", __FILE__, __LINE__, #found, \
              found_ == NULL ? "(NULL)" : found_, expected_);                                  \
      exit(1);                                                                                 \
    }                                                                                          \
  } while (0)
#define TEST(function) (function(), printf("ok    %s\n", #function))

typedef struct fake {
  char folder[64], path[96];
  int listener, peer;
} fake;

static inline fake fake_start(void) {
  fake made = {.peer = -1};
  strcpy(made.folder, "/tmp/widgetclient-test-XXXXXX");
  CHECK(mkdtemp(made.folder) != NULL);
  snprintf(made.path, sizeof made.path, "%s/s", made.folder);
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strcpy(address.sun_path, made.path);
  made.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK(bind(made.listener, (struct sockaddr *)&address, sizeof address) == 0);
  CHECK(listen(made.listener, 8) == 0);
  return made;
}

static inline void fake_hang_up(fake *server) {
  if (server->peer >= 0) close(server->peer);
  server->peer = -1;
}

static inline void fake_stop(fake *server) {
  fake_hang_up(server);
  if (server->listener >= 0) close(server->listener);
  unlink(server->path);
  rmdir(server->folder);
}

static inline void fake_accept(fake *server) {
  fake_hang_up(server);
  server->peer = accept(server->listener, NULL, NULL);
  CHECK(server->peer >= 0);
}

/* Sends as many bytes as possible. A client that has closed the connection is no failure. */
static inline void send_bytes(int fd, const void *bytes, size_t count) {
  for (size_t sent = 0; sent < count;) {
    ssize_t now = send(fd, (const uint8_t *)bytes + sent, count - sent, MSG_NOSIGNAL);
    if (now <= 0) return;
    sent += (size_t)now;
  }
}

static inline bool receive_bytes(int fd, void *bytes, size_t count) {
  for (size_t got = 0; got < count;) {
    ssize_t now = recv(fd, (uint8_t *)bytes + got, count - got, 0);
    if (now <= 0) return false;
    got += (size_t)now;
  }
  return true;
}

static inline void put_header(uint8_t *at, size_t count, uint32_t id, uint8_t type, uint8_t flags) {
  uint32_t words[] = {(uint32_t)count, id};
  for (int i = 0; i < 8; i++) at[i] = (uint8_t)(words[i / 4] >> (24 - 8 * (i % 4)));
  at[8] = type;
  at[9] = flags;
}

/* Bytes that a test builds. */
typedef struct bytes {
  uint8_t *at;
  size_t count;
} bytes;

static inline void append(bytes *to, const void *more, size_t count) {
  to->at = realloc(to->at, to->count + count + 1);
  CHECK(to->at != NULL);
  if (count > 0) memcpy(to->at + to->count, more, count);
  to->count += count;
}

static inline void append_frame(bytes *to, uint32_t id, uint8_t type, uint8_t flags,
                                const void *data, size_t count) {
  uint8_t header[10];
  put_header(header, count, id, type, flags);
  append(to, header, 10);
  append(to, data, count);
}

/* A frame that holds a message. */
static inline void append_message(bytes *to, uint32_t id, uint8_t type,
                                  const ProtobufCMessage *message) {
  size_t count = protobuf_c_message_get_packed_size(message);
  uint8_t *packed = malloc(count + 1);
  protobuf_c_message_pack(message, packed);
  append_frame(to, id, type, 0, packed, count);
  free(packed);
}

static inline void send_and_free(fake *server, bytes *all) {
  send_bytes(server->peer, all->at, all->count);
  free(all->at);
  *all = (bytes){0};
}

/* An answer with this message in it. */
static inline void append_answer(bytes *to, uint32_t id, const ProtobufCMessage *message) {
  Ttrpc__V1__Response envelope = TTRPC__V1__RESPONSE__INIT;
  size_t count = protobuf_c_message_get_packed_size(message);
  uint8_t *packed = malloc(count + 1);
  envelope.payload.len = protobuf_c_message_pack(message, packed);
  envelope.payload.data = packed;
  append_message(to, id, WC_FRAME_RESPONSE, &envelope.base);
  free(packed);
}

/* A refusal, with a reason, one particular and a delay. */
static inline void append_refusal(bytes *to, uint32_t id, int code, const char *message,
                                  const char *reason, int64_t delay_seconds) {
  Ttrpc__V1__Response envelope = TTRPC__V1__RESPONSE__INIT;
  Google__Rpc__Status status = GOOGLE__RPC__STATUS__INIT;
  Google__Rpc__ErrorInfo info = GOOGLE__RPC__ERROR_INFO__INIT;
  Google__Rpc__ErrorInfo__MetadataEntry entry = GOOGLE__RPC__ERROR_INFO__METADATA_ENTRY__INIT;
  Google__Rpc__ErrorInfo__MetadataEntry *entries[] = {&entry};
  Google__Rpc__RetryInfo retry = GOOGLE__RPC__RETRY_INFO__INIT;
  Google__Protobuf__Duration delay = GOOGLE__PROTOBUF__DURATION__INIT;
  Google__Protobuf__Any any[2] = {GOOGLE__PROTOBUF__ANY__INIT, GOOGLE__PROTOBUF__ANY__INIT};
  Google__Protobuf__Any *details[] = {&any[0], &any[1]};
  uint8_t packed[2][8192];
  entry.key = "widget_id";
  entry.value = "clock";
  info.reason = (char *)reason;
  info.domain = "widgetd";
  info.n_metadata = 1;
  info.metadata = entries;
  delay.seconds = delay_seconds;
  retry.retry_delay = &delay;
  any[0].type_url = "type.googleapis.com/google.rpc.ErrorInfo";
  any[0].value.len = google__rpc__error_info__pack(&info, packed[0]);
  any[0].value.data = packed[0];
  any[1].type_url = "type.googleapis.com/google.rpc.RetryInfo";
  any[1].value.len = google__rpc__retry_info__pack(&retry, packed[1]);
  any[1].value.data = packed[1];
  status.code = code;
  status.message = (char *)message;
  status.n_details = delay_seconds > 0 ? 2 : 1;
  status.details = details;
  envelope.status = &status;
  append_message(to, id, WC_FRAME_RESPONSE, &envelope.base);
}

/* The next request; NULL if the client hung up. Freed with wc_free. */
static inline Ttrpc__V1__Request *fake_request(fake *server, uint32_t *id) {
  uint8_t header[10];
  if (!receive_bytes(server->peer, header, 10)) return NULL;
  size_t count = (size_t)header[0] << 24 | header[1] << 16 | header[2] << 8 | header[3];
  *id = (uint32_t)header[4] << 24 | (uint32_t)header[5] << 16 | (uint32_t)header[6] << 8
        | header[7];
  uint8_t *data = malloc(count + 1);
  CHECK(receive_bytes(server->peer, data, count));
  Ttrpc__V1__Request *request = ttrpc__v1__request__unpack(NULL, count, data);
  CHECK(request != NULL);
  free(data);
  return request;
}

/* --- Messages of WatchWidgets, on stream 1 --- */

typedef Widgetd__V1__WatchWidgetsResponse watch_frame;

static inline void append_opened(bytes *to, uint64_t epoch, uint64_t last_sequence) {
  watch_frame frame = WIDGETD__V1__WATCH_WIDGETS_RESPONSE__INIT;
  Widgetd__V1__WatchOpened opened = WIDGETD__V1__WATCH_OPENED__INIT;
  opened.subscription_id = 7;
  opened.epoch = epoch;
  opened.last_sequence = last_sequence;
  frame.frame_case = WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_OPENED;
  frame.opened = &opened;
  append_message(to, 1, WC_FRAME_DATA, &frame.base);
}

/* A widget whose data is n=NUMBER. */
static inline void make_widget(Widgetd__V1__Widget *widget, Widgetd__V1__Widget__DataEntry *entry,
                               Widgetd__V1__Widget__DataEntry **entries, Widgetd__V1__Value *value,
                               const char *id, int64_t number, uint64_t revision) {
  widgetd__v1__widget__init(widget);
  widgetd__v1__widget__data_entry__init(entry);
  *value = wc_int(number);
  entry->key = "n";
  entry->value = value;
  *entries = entry;
  widget->id = (char *)id;
  widget->kind = "gauge";
  widget->position = id[0];
  widget->revision = revision;
  widget->n_data = 1;
  widget->data = entries;
}

static inline void append_snapshot(bytes *to, const char *id, int64_t number, uint64_t revision) {
  watch_frame frame = WIDGETD__V1__WATCH_WIDGETS_RESPONSE__INIT;
  Widgetd__V1__SnapshotChunk chunk = WIDGETD__V1__SNAPSHOT_CHUNK__INIT;
  Widgetd__V1__Widget widget, *widgets[] = {&widget};
  Widgetd__V1__Widget__DataEntry entry, *entries[1];
  Widgetd__V1__Value value;
  make_widget(&widget, &entry, entries, &value, id, number, revision);
  chunk.n_widgets = 1;
  chunk.widgets = widgets;
  frame.frame_case = WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_SNAPSHOT;
  frame.snapshot = &chunk;
  append_message(to, 1, WC_FRAME_DATA, &frame.base);
}

static inline ProtobufCBinaryData token_of(const char *token) {
  return (ProtobufCBinaryData){strlen(token), (uint8_t *)token};
}

static inline void append_synced(bytes *to, uint64_t revision, const char *token) {
  watch_frame frame = WIDGETD__V1__WATCH_WIDGETS_RESPONSE__INIT;
  Widgetd__V1__WatchSynced synced = WIDGETD__V1__WATCH_SYNCED__INIT;
  synced.revision = revision;
  synced.resume_token = token_of(token);
  frame.frame_case = WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_SYNCED;
  frame.synced = &synced;
  append_message(to, 1, WC_FRAME_DATA, &frame.base);
}

/* One change of a set: `verb` is '+' added, '=' set data n and the content, '-' removed. */
typedef struct small_change {
  char verb;
  const char *id;
  int64_t number;
} small_change;

/* With `to_revision` 0 more follows. */
static inline void append_changes(bytes *to, uint64_t from_revision, uint64_t to_revision,
                                  const char *token, const small_change *list, size_t count) {
  watch_frame frame = WIDGETD__V1__WATCH_WIDGETS_RESPONSE__INIT;
  Widgetd__V1__ChangeSet set = WIDGETD__V1__CHANGE_SET__INIT;
  Widgetd__V1__WidgetChange changes[8], *pointers[8];
  Widgetd__V1__WidgetAdded added[8];
  Widgetd__V1__WidgetUpdated updates[8];
  Widgetd__V1__WidgetRemoved removed[8];
  Widgetd__V1__Widget widgets[8];
  Widgetd__V1__Widget__DataEntry entries[8], *entry_pointers[8];
  Widgetd__V1__WidgetUpdated__SetDataEntry set_entries[8], *set_pointers[8];
  Widgetd__V1__ContentChange contents[8];
  Widgetd__V1__Node nodes[16], *node_pointers[16];
  char *children[] = {"leaf", "top", "gone", "leaf"};
  Widgetd__V1__Value values[8];
  CHECK(count <= 8);
  for (size_t i = 0; i < count; i++) {
    widgetd__v1__widget_change__init(&changes[i]);
    pointers[i] = &changes[i];
    if (list[i].verb == '+') {
      widgetd__v1__widget_added__init(&added[i]);
      make_widget(&widgets[i], &entries[i], &entry_pointers[i], &values[i], list[i].id,
                  list[i].number, to_revision);
      added[i].widget = &widgets[i];
      changes[i].change_case = WIDGETD__V1__WIDGET_CHANGE__CHANGE_ADDED;
      changes[i].added = &added[i];
    } else if (list[i].verb == '=') {
      widgetd__v1__widget_updated__init(&updates[i]);
      widgetd__v1__widget_updated__set_data_entry__init(&set_entries[i]);
      values[i] = wc_int(list[i].number);
      set_entries[i].key = "n";
      set_entries[i].value = &values[i];
      set_pointers[i] = &set_entries[i];
      updates[i].id = (char *)list[i].id;
      updates[i].revision = to_revision;
      updates[i].n_set_data = 1;
      updates[i].set_data = &set_pointers[i];
      for (size_t n = 2 * i; n < 2 * i + 2; n++) {
        widgetd__v1__node__init(&nodes[n]);
        nodes[n].type = WIDGETD__V1__NODE_TYPE__NODE_TYPE_STACK;
        node_pointers[n] = &nodes[n];
      }
      nodes[2 * i].id = "leaf";
      nodes[2 * i + 1].id = "top";
      nodes[2 * i + 1].n_child_ids = 4;
      nodes[2 * i + 1].child_ids = children;
      widgetd__v1__content_change__init(&contents[i]);
      contents[i].replace = list[i].number % 2 == 0;
      contents[i].root_id = "top";
      contents[i].n_set_nodes = 2;
      contents[i].set_nodes = &node_pointers[2 * i];
      contents[i].n_removed_node_ids = 2;
      contents[i].removed_node_ids = children + 1;
      updates[i].content = &contents[i];
      changes[i].change_case = WIDGETD__V1__WIDGET_CHANGE__CHANGE_UPDATED;
      changes[i].updated = &updates[i];
    } else {
      widgetd__v1__widget_removed__init(&removed[i]);
      removed[i].id = (char *)list[i].id;
      changes[i].change_case = WIDGETD__V1__WIDGET_CHANGE__CHANGE_REMOVED;
      changes[i].removed = &removed[i];
    }
  }
  set.from_revision = from_revision;
  set.to_revision = to_revision;
  set.more = to_revision == 0;
  if (to_revision != 0) set.resume_token = token_of(token);
  set.n_changes = count;
  set.changes = pointers;
  frame.frame_case = WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_CHANGES;
  frame.changes = &set;
  append_message(to, 1, WC_FRAME_DATA, &frame.base);
}

static inline void append_event(bytes *to, uint64_t sequence) {
  watch_frame frame = WIDGETD__V1__WATCH_WIDGETS_RESPONSE__INIT;
  Widgetd__V1__EventBatch batch = WIDGETD__V1__EVENT_BATCH__INIT;
  Widgetd__V1__Event event = WIDGETD__V1__EVENT__INIT, *events[] = {&event};
  event.sequence = sequence;
  event.widget_id = "a";
  event.name = "click";
  batch.n_events = 1;
  batch.events = events;
  frame.frame_case = WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_EVENTS;
  frame.events = &batch;
  append_message(to, 1, WC_FRAME_DATA, &frame.base);
}

static inline void append_gap(bytes *to, uint64_t first, uint64_t last) {
  watch_frame frame = WIDGETD__V1__WATCH_WIDGETS_RESPONSE__INIT;
  Widgetd__V1__EventGap gap = WIDGETD__V1__EVENT_GAP__INIT;
  gap.first_sequence = first;
  gap.last_sequence = last;
  frame.frame_case = WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_GAP;
  frame.gap = &gap;
  append_message(to, 1, WC_FRAME_DATA, &frame.base);
}

static inline void append_end(bytes *to) {
  append_frame(to, 1, WC_FRAME_DATA, WC_FLAG_REMOTE_CLOSED | WC_FLAG_NO_DATA, NULL, 0);
}

#endif
