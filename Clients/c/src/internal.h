/*
 * The common declarations of the library's files. Each layer uses only the layers above it:
 *
 *   error    codes and wc_error
 *   socket   the path of the socket, and connecting to it
 *   message  encoded and decoded messages, checked and bounded; the messages of each method
 *   status   a google.rpc.Status as a wc_error
 *   link     one connection: frames in, frames out, never blocking
 *   content  the nodes of one widget, and a change of them; more in content.h
 *   mirror   the widgets of a watch; more in mirror.h
 *   client, calls, value, stream, watch    the functions of widgetclient.h; more of watch in watch.h
 *
 * Nothing here is exported. Errors: functions return a wc_code and fill a wc_error, which may be
 * NULL; wc_fail does both.
 */
#ifndef WC_INTERNAL_H
#define WC_INTERNAL_H

#include "widgetclient.h"

#include <stdarg.h>

/* The data of a frame, from docs/PROTOCOL.md. */
#define WC_FRAME_BYTES_MAX ((size_t)4 << 20)
#define WC_HEADER_BYTES 10
/* The maximum memory of one message. Unpacked messages are larger than encoded ones. */
#define WC_MESSAGE_BYTES_MAX ((size_t)32 << 20)
#define WC_DEPTH_LIMIT 64
/* The daemon's limit on its socket's path. */
#define WC_PATH_BYTES_MAX 103

/* --- error.c --- */

wc_code wc_fail(wc_error *error, wc_code code, const char *reason, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
wc_code wc_fail_memory(wc_error *error);
/* Copies as much well-formed UTF-8 as fits, and a NUL. */
void wc_copy_text(char *to, size_t size, const char *from);

/* --- socket.c --- */

/* Writes the path in use, terminated. */
wc_code wc_find_socket(const char *explicit_path, char path[WC_PATH_BYTES_MAX + 1],
                       wc_error *error);
/* Connects without blocking; on WC_OK `*fd` is non-blocking. `*full` says that the daemon has no
 * room for another connection just now. */
wc_code wc_dial(const char *path, int *fd, bool *full, wc_error *error);
/* Nanoseconds on the monotonic clock. */
int64_t wc_now(void);
/* Fills the buffer with bytes that a peer cannot guess. */
void wc_random(void *bytes, size_t count);

/* FNV-1a from a seed that the daemon does not know. */
static inline uint64_t wc_hash(uint64_t seed, const char *text) {
  uint64_t hash = seed;
  for (; *text != 0; text++) hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
  return hash ^ hash >> 32;
}

/* --- message.c --- */

typedef struct wc_method {
  const char *service;
  const char *name;
  /* NULL if the library does not know them. */
  const ProtobufCMessageDescriptor *input, *output;
  bool is_stream;
  /* Both sides send. */
  bool is_conversation;
} wc_method;

/* Finds a method by its short or full name. */
wc_code wc_find_method(const char *name, wc_method *method, wc_error *error);

/* Checks and decodes; the result is freed with wc_free. Fails with a protocol violation, because
 * only messages of the daemon are decoded. `*bytes_used`, if not NULL, gets the memory that the
 * message takes. */
wc_code wc_decode(const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t count,
                  size_t memory_max, ProtobufCMessage **message, size_t *bytes_used,
                  wc_error *error);

/* Checks without decoding. */
wc_code wc_check(const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t count,
                 wc_error *error);

/* Encodes the frame of a request with `payload` in it: header, then envelope. `*frame` is to be
 * freed with free(3). */
wc_code wc_encode_request(const wc_method *method, uint32_t stream_id, uint8_t flags,
                          const uint8_t *payload, size_t payload_count, int64_t timeout_nanoseconds,
                          uint8_t **frame, size_t *frame_count, wc_error *error);

/* Encodes the frame of a message on a stream, or with NULL the frame that ends the client's
 * messages. */
wc_code wc_encode_data(const ProtobufCMessage *message, uint32_t stream_id, uint8_t **frame,
                       size_t *frame_count, wc_error *error);

/* Encodes a message; `*bytes` is to be freed with free(3) and is never NULL on WC_OK. */
wc_code wc_encode(const ProtobufCMessage *message, uint8_t **bytes, size_t *count,
                  wc_error *error);

/* A copy, freed with wc_free. */
wc_code wc_copy_message(const ProtobufCMessage *message, ProtobufCMessage **copy, wc_error *error);

/* The memory that a message takes. */
size_t wc_message_cost(const ProtobufCMessage *message);

/* --- status.c --- */

/* Fills the error from a status that the daemon sent, whose code must not be OK. */
wc_code wc_fail_status(wc_error *error, const Google__Rpc__Status *status);

/* --- link.c --- */

enum { WC_FRAME_REQUEST = 1, WC_FRAME_RESPONSE = 2, WC_FRAME_DATA = 3 };
enum { WC_FLAG_REMOTE_CLOSED = 1, WC_FLAG_REMOTE_OPEN = 2, WC_FLAG_NO_DATA = 4 };

typedef struct wc_frame {
  uint32_t stream_id;
  uint8_t type;
  uint8_t flags;
  /* The data is in the link's buffer, and valid until the next wc_link_read. */
  const uint8_t *data;
  size_t count;
} wc_frame;

/* One connection. `fd` is -1 while there is none. */
typedef struct wc_link {
  int fd;
  uint32_t next_stream_id;
  uint8_t *in;
  size_t in_start, in_end, in_capacity;
  uint8_t *out;
  size_t out_start, out_end;
} wc_link;

void wc_link_init(wc_link *link);
/* Takes over a connected descriptor. */
void wc_link_open(wc_link *link, int fd);
void wc_link_close(wc_link *link);
/* Takes over `bytes` (from malloc) and begins to send them. Only when nothing waits to be sent. */
void wc_link_send(wc_link *link, uint8_t *bytes, size_t count);
static inline bool wc_link_is_sending(const wc_link *link) { return link->out != NULL; }
/* Sends as much as the kernel accepts. False if the connection is lost. */
bool wc_link_flush(wc_link *link);

typedef enum wc_read { WC_READ_SOME, WC_READ_NOTHING, WC_READ_END, WC_READ_NO_MEMORY } wc_read;
/* Reads once. */
wc_read wc_link_read(wc_link *link);

typedef enum wc_next { WC_NEXT_FRAME, WC_NEXT_NONE, WC_NEXT_TOO_LONG } wc_next;
/* Takes the next whole frame that was read. */
wc_next wc_link_next(wc_link *link, wc_frame *frame);

/* The meaning of a frame for a caller that waits on one stream. */
typedef enum wc_incoming_kind {
  /* For another stream, or of an unknown type. */
  WC_INCOMING_OTHER,
  /* `payload` holds a message: the answer, or one of the stream's. */
  WC_INCOMING_ANSWER,
  WC_INCOMING_MESSAGE,
  /* The stream ended well. */
  WC_INCOMING_END,
  /* The daemon refused; `error` is filled. */
  WC_INCOMING_REFUSED,
  /* The frame violates the protocol; `error` is filled. */
  WC_INCOMING_VIOLATION
} wc_incoming_kind;

typedef struct wc_incoming {
  wc_incoming_kind kind;
  const uint8_t *payload;
  size_t count;
  /* The message that owns `payload`, if the link's buffer does not. */
  ProtobufCMessage *envelope;
} wc_incoming;

/* Reads a frame as one for `stream_id`. With REFUSED, `*status` gets the encoded status, from
 * malloc. wc_incoming_done must follow. */
wc_incoming wc_incoming_read(const wc_frame *frame, uint32_t stream_id, bool is_stream,
                             uint8_t **status, size_t *status_count, wc_error *error);
void wc_incoming_done(wc_incoming *incoming);

/* --- content.c, content_log.c, content_plan.c --- */

/* The places of a content's nodes, by id. Freed with free(3). */
typedef struct wc_content_table wc_content_table;
/* The changes of a content in one change set. */
typedef struct wc_content_log wc_content_log;

/* Makes the table of a content that came; nodes that its tree does not reach are dropped. NULL without
 * memory. */
wc_content_table *wc_content_index(Widgetd__V1__Content *content, uint64_t seed);
/* A node, or the top node if `id` is NULL. NULL if there is no such node. */
const Widgetd__V1__Node *wc_content_find(const Widgetd__V1__Content *content,
                                         const wc_content_table *table, const char *id);
/* The memory that a content and its table take; 0 for NULL. */
size_t wc_content_cost(const wc_content_table *table);

/* The result of a change of content, before it is carried out. */
typedef struct wc_content_plan {
  /* If the tree stays: the places of the set nodes. */
  uint32_t *places;
  /* Otherwise: the nodes after the change, and their table. */
  Widgetd__V1__Node **nodes;
  size_t n_nodes;
  wc_content_table *table;
  /* Marks for the former nodes and for the nodes to set: whether they are in `nodes`. */
  bool *stays;
  /* The content is empty afterwards. */
  bool stays_none;
  Widgetd__V1__Content *made;
} wc_content_plan;

/* Plans a change (NULL: none) of the held content (NULL: none). Only the log changes. It is created
 * if it is NULL. False if memory runs out. */
bool wc_content_make_plan(wc_content_plan *plan, const Widgetd__V1__Content *held,
                          const wc_content_table *table, const Widgetd__V1__ContentChange *change,
                          uint64_t seed, wc_content_log **log);
/* Carries the plan out and frees it. Moves the nodes and the id of the top. Until
 * `wc_content_disown`, the change points to them too. Nodes that the tree does not reach are taken
 * out of the change. */
void wc_content_carry_out(wc_content_plan *plan, Widgetd__V1__Content **content,
                          wc_content_table **table, Widgetd__V1__ContentChange *change,
                          wc_content_log *log);
void wc_content_plan_free(wc_content_plan *plan);
/* Takes the moved parts out of a change. */
void wc_content_disown(Widgetd__V1__ContentChange *change);
/* Moves the nodes and the table of a content that another will replace into the log. False without
 * memory, with nothing changed. */
bool wc_content_replace(wc_content_log **log, Widgetd__V1__Content *held, wc_content_table **table);
void wc_content_log_free(wc_content_log *log);

/* Finds the differences between two contents, or since the log began. The ids point into the nodes,
 * which must live as long. Free `*memory` with free(3). False if memory runs out. */
bool wc_content_compare(const Widgetd__V1__Content *before, const wc_content_table *table_before,
                        const Widgetd__V1__Content *now, const wc_content_table *table,
                        wc_content_changes *changes, void **memory);
bool wc_content_changes_since(const wc_content_log *log, const Widgetd__V1__Content *now,
                              const wc_content_table *table, wc_content_changes *changes,
                              void **memory);
bool wc_content_is_changed(const wc_content_changes *changes);

/* --- mirror.c --- */

typedef struct wc_mirror wc_mirror;

/* Called with each visible difference, in `notice`. Returns false to get no more. */
typedef bool (*wc_mirror_fn)(void *context, const wc_notice *notice);

typedef enum wc_mirror_result {
  WC_MIRROR_OK,
  /* The visible state changed or was confirmed: it is complete. */
  WC_MIRROR_SETTLED,
  /* The frame does not fit the state before. Watch again without a token. */
  WC_MIRROR_LOST,
  WC_MIRROR_TOO_LARGE,
  WC_MIRROR_NO_MEMORY
} wc_mirror_result;

wc_mirror *wc_mirror_new(size_t memory_max);
void wc_mirror_free(wc_mirror *mirror);
void wc_mirror_set_memory_max(wc_mirror *mirror, size_t bytes);
/* A stream begins: unfinished parts are dropped. */
void wc_mirror_begin(wc_mirror *mirror, uint64_t epoch, bool with_token);
/* Takes over a frame, which may be of any kind, and `bytes`, the memory that it takes. */
wc_mirror_result wc_mirror_take(wc_mirror *mirror, Widgetd__V1__WatchWidgetsResponse *frame,
                                size_t bytes, wc_mirror_fn each, void *context);
const Widgetd__V1__Widget *wc_mirror_find(const wc_mirror *mirror, const char *id);
const Widgetd__V1__Node *wc_mirror_node(const wc_mirror *mirror, const char *id,
                                        const char *node_id);
const Widgetd__V1__Widget *const *wc_mirror_sorted(wc_mirror *mirror, size_t *count);
/* The memory that the visible widgets take. */
size_t wc_mirror_bytes(const wc_mirror *mirror);
bool wc_mirror_is_settled(const wc_mirror *mirror);
uint64_t wc_mirror_revision(const wc_mirror *mirror);

#endif
