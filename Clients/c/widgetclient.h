/*
 * libwidgetclient: a client of widgetd, the service for remote widgets.
 *
 * Three things, from simple to general:
 *  - a client makes calls, one after the other: wc_get, wc_set, wc_send_event, ..., and wc_call for
 *    every method that the daemon has;
 *  - a watch follows widgets: it holds a copy of them, tells what changed, and goes on where it was
 *    when the daemon comes back. wc_watch_run blocks; wc_watch_fd and wc_watch_process are for
 *    programs with an event loop of their own;
 *  - a stream is what a watch is made of: the messages as they come, until the connection ends.
 *
 * Messages are the structs that protoc-c makes of the daemon's .proto files: Widgetd__V1__Widget
 * and so on, in the headers below.
 *
 * Errors: what can fail takes a wc_error, which may be NULL, and returns a wc_code (WC_OK is 0) or
 * a pointer (NULL is failure). A wc_error is plain memory of the caller's; nothing has to be freed.
 *
 * Threads: the library starts none and has no global state. A client, watch or stream may be used
 * by any thread, but by one at a time; different ones may be used at the same moment.
 *
 * Memory: what a call returns belongs to the caller and is freed with wc_free. What a callback gets
 * belongs to the library and lives until the callback returns. All that the daemon sends is checked
 * before it is used, and is bounded: 4 MiB for a frame, 32 MiB for a message in memory, and
 * wc_watch_set_memory_max for what a watch holds.
 */
#ifndef WIDGETCLIENT_H
#define WIDGETCLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "google/rpc/error_details.pb-c.h"
#include "google/rpc/status.pb-c.h"
#include "grpc/health/v1/health.pb-c.h"
#include "widgetd/v1/admin_service.pb-c.h"
#include "widgetd/v1/blob_service.pb-c.h"
#include "widgetd/v1/catalog_service.pb-c.h"
#include "widgetd/v1/event.pb-c.h"
#include "widgetd/v1/kind.pb-c.h"
#include "widgetd/v1/node.pb-c.h"
#include "widgetd/v1/provider_service.pb-c.h"
#include "widgetd/v1/theme.pb-c.h"
#include "widgetd/v1/value.pb-c.h"
#include "widgetd/v1/widget.pb-c.h"
#include "widgetd/v1/widget_service.pb-c.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__) && !defined(WC_API)
#define WC_API __attribute__((visibility("default")))
#elif !defined(WC_API)
#define WC_API
#endif

/* --- Errors ----------------------------------------------------------------------------------- */

/* The canonical codes of gRPC. */
typedef enum wc_code {
  WC_OK = 0,
  WC_CANCELLED = 1,
  WC_UNKNOWN = 2,
  WC_INVALID_ARGUMENT = 3,
  WC_DEADLINE_EXCEEDED = 4,
  WC_NOT_FOUND = 5,
  WC_ALREADY_EXISTS = 6,
  WC_PERMISSION_DENIED = 7,
  WC_RESOURCE_EXHAUSTED = 8,
  WC_FAILED_PRECONDITION = 9,
  WC_ABORTED = 10,
  WC_OUT_OF_RANGE = 11,
  WC_UNIMPLEMENTED = 12,
  WC_INTERNAL = 13,
  WC_UNAVAILABLE = 14,
  WC_DATA_LOSS = 15,
  WC_UNAUTHENTICATED = 16
} wc_code;

/* "NOT_FOUND" and so on. */
WC_API const char *wc_code_name(wc_code code);

#define WC_ERROR_METADATA_MAX 8

/* Particulars of an error, for example {"widget_id", "clock"}. What is too long is cut. */
typedef struct wc_metadata {
  char key[48];
  char value[208];
} wc_metadata;

/* Why something failed. All texts are UTF-8; what is too long for its place is cut. */
typedef struct wc_error {
  wc_code code;
  /* True if the daemon said so; false if the library did. */
  bool from_daemon;
  /* The daemon asks to wait this long before trying again; 0 if it does not. */
  uint32_t retry_milliseconds;
  /* Stable and for programs: "WIDGET_NOT_FOUND". The daemon's reasons are in its PROTOCOL.md; the
   * library's own are SOCKET_NOT_FOUND, CONNECT_FAILED, CONNECTION_LOST, DEADLINE_EXCEEDED,
   * PROTOCOL_VIOLATION, INVALID_CALL, REQUEST_TOO_LARGE, ANSWER_TOO_LARGE, NO_MEMORY, INTERRUPTED.
   * May be empty. */
  char reason[64];
  /* For people: what happened, and what to do next. */
  char message[1024];
  size_t metadata_count;
  wc_metadata metadata[WC_ERROR_METADATA_MAX];
} wc_error;

/* The value of a key in an error's metadata, or NULL. */
WC_API const char *wc_error_metadata(const wc_error *error, const char *key);

/* --- Calls ------------------------------------------------------------------------------------ */

typedef struct wc_client wc_client;

/* How long a call may take unless wc_set_timeout says otherwise. */
#define WC_TIMEOUT_DEFAULT 10000

/*
 * Connects to the daemon. `socket` is the path of its socket; NULL means $WIDGETD_SOCKET, else
 * $XDG_RUNTIME_DIR/widgetd/widgetd.sock, else /run/widgetd/widgetd.sock, whichever is there. A
 * client whose connection was lost makes a new one with its next call. Returns NULL on failure.
 */
WC_API wc_client *wc_connect(const char *socket, wc_error *error);
/* Closes the connection and frees the client. NULL is fine. */
WC_API void wc_close(wc_client *client);
/* How long each call may take, in milliseconds; 0: as long as it takes; below 0: every call fails
 * at once with WC_DEADLINE_EXCEEDED. */
WC_API void wc_set_timeout(wc_client *client, int milliseconds);
/* The path in use. */
WC_API const char *wc_socket(const wc_client *client);

/*
 * Makes a call. `method` is "GetWidget" or, in full, "widgetd.v1.WidgetService/GetWidget";
 * `request` is that method's request message. On WC_OK, `*answer` is that method's response
 * message, to be freed with wc_free; `answer` may be NULL if it does not matter.
 *
 *   Widgetd__V1__GetStatsRequest request = WIDGETD__V1__GET_STATS_REQUEST__INIT;
 *   Widgetd__V1__GetStatsResponse *stats;
 *   if (wc_call(client, "GetStats", &request, &stats, &error) == WC_OK) ...
 *
 * After WC_DEADLINE_EXCEEDED or CONNECTION_LOST the daemon may have done what was asked: look, or
 * give requests a request_id and send the same request again.
 */
#define wc_call(client, method, request, answer, error) \
  wc_call_message(client, method, &(request)->base, (void **)(answer), error)
WC_API wc_code wc_call_message(wc_client *client, const char *method,
                               const ProtobufCMessage *request, void **answer, wc_error *error);

/* The same with encoded messages: `*answer` is to be freed with free(3). In full, `method` may also
 * be one that this library does not know; then the answer is not checked. */
WC_API wc_code wc_call_bytes(wc_client *client, const char *method, const uint8_t *request,
                             size_t request_length, uint8_t **answer, size_t *answer_length,
                             wc_error *error);

/* The google.rpc.Status with which the daemon refused the last call, encoded; NULL if it did not.
 * Valid until the next call. A wc_error has most of it. */
WC_API const uint8_t *wc_last_status(const wc_client *client, size_t *length);

/* Frees a message that the library returned. NULL is fine. */
WC_API void wc_free(void *message);

/* A key and its value, for data and payloads: wc_pair data[] = {{"percent", wc_int(37)}}; */
typedef struct wc_pair {
  const char *key;
  Widgetd__V1__Value value;
} wc_pair;

static inline Widgetd__V1__Value wc_null(void) {
  Widgetd__V1__Value value;
  widgetd__v1__value__init(&value);
  value.kind_case = WIDGETD__V1__VALUE__KIND_NULL_VALUE;
  return value;
}
static inline Widgetd__V1__Value wc_bool(bool content) {
  Widgetd__V1__Value value;
  widgetd__v1__value__init(&value);
  value.kind_case = WIDGETD__V1__VALUE__KIND_BOOL_VALUE;
  value.bool_value = content;
  return value;
}
static inline Widgetd__V1__Value wc_int(int64_t content) {
  Widgetd__V1__Value value;
  widgetd__v1__value__init(&value);
  value.kind_case = WIDGETD__V1__VALUE__KIND_INT_VALUE;
  value.int_value = content;
  return value;
}
static inline Widgetd__V1__Value wc_double(double content) {
  Widgetd__V1__Value value;
  widgetd__v1__value__init(&value);
  value.kind_case = WIDGETD__V1__VALUE__KIND_DOUBLE_VALUE;
  value.double_value = content;
  return value;
}
/* The text is not copied: it must live as long as the value. */
static inline Widgetd__V1__Value wc_text(const char *content) {
  Widgetd__V1__Value value;
  widgetd__v1__value__init(&value);
  value.kind_case = WIDGETD__V1__VALUE__KIND_STRING_VALUE;
  value.string_value = (char *)(uintptr_t)content;
  return value;
}

/* Reads a widget. NULL if that fails: WC_NOT_FOUND if there is none. */
WC_API Widgetd__V1__Widget *wc_get(wc_client *client, const char *id, wc_error *error);

/* Is called with each widget, which it must not keep. Returns false to stop. */
typedef bool (*wc_widget_fn)(const Widgetd__V1__Widget *widget, void *context);

/* Reads all widgets that the selector picks (NULL: all), page by page in display order. */
WC_API wc_code wc_list(wc_client *client, Widgetd__V1__WidgetSelector *selector, wc_widget_fn each,
                       void *context, wc_error *error);

/* Adds a widget; the daemon picks the id if `id` is NULL. Returns the widget, or NULL. */
WC_API Widgetd__V1__Widget *wc_create(wc_client *client, const char *id, const char *kind,
                                      const wc_pair *data, size_t count, wc_error *error);

/* Sets keys of a widget's data and leaves the others. */
WC_API wc_code wc_set(wc_client *client, const char *id, const wc_pair *data, size_t count,
                      wc_error *error);

/* Removes a widget. */
WC_API wc_code wc_delete(wc_client *client, const char *id, wc_error *error);

/* Shows, hides, enables, disables or toggles a widget. */
WC_API wc_code wc_set_presence(wc_client *client, const char *id,
                               Widgetd__V1__PresenceAction action, wc_error *error);
static inline wc_code wc_show(wc_client *client, const char *id, wc_error *error) {
  return wc_set_presence(client, id, WIDGETD__V1__PRESENCE_ACTION__PRESENCE_ACTION_SHOW, error);
}
static inline wc_code wc_hide(wc_client *client, const char *id, wc_error *error) {
  return wc_set_presence(client, id, WIDGETD__V1__PRESENCE_ACTION__PRESENCE_ACTION_HIDE, error);
}
static inline wc_code wc_enable(wc_client *client, const char *id, wc_error *error) {
  return wc_set_presence(client, id, WIDGETD__V1__PRESENCE_ACTION__PRESENCE_ACTION_ENABLE, error);
}
static inline wc_code wc_disable(wc_client *client, const char *id, wc_error *error) {
  return wc_set_presence(client, id, WIDGETD__V1__PRESENCE_ACTION__PRESENCE_ACTION_DISABLE, error);
}
static inline wc_code wc_toggle(wc_client *client, const char *id, wc_error *error) {
  return wc_set_presence(client, id, WIDGETD__V1__PRESENCE_ACTION__PRESENCE_ACTION_TOGGLE, error);
}

/* Sends an event ("click") to a widget. `sequence`, if not NULL, gets the event's number. */
WC_API wc_code wc_send_event(wc_client *client, const char *widget_id, const char *name,
                             const wc_pair *payload, size_t count, uint64_t *sequence,
                             wc_error *error);

/* Sends an event ("press") about a node of what a widget shows; see wc_node. */
WC_API wc_code wc_send_node_event(wc_client *client, const char *widget_id, const char *node_id,
                                  const char *name, const wc_pair *payload, size_t count,
                                  uint64_t *sequence, wc_error *error);

/* Asks whether the daemon serves. */
WC_API wc_code wc_check_health(wc_client *client, wc_error *error);

/* --- Looking into widgets --------------------------------------------------------------------- */

/* One value of a widget's data, or NULL. The last counts if a key is there twice. */
WC_API const Widgetd__V1__Value *wc_data(const Widgetd__V1__Widget *widget, const char *key);
/* One value of a widget's parameters, or NULL. */
WC_API const Widgetd__V1__Value *wc_parameter(const Widgetd__V1__Widget *widget, const char *key);
/* One label, or NULL. */
WC_API const char *wc_label(const Widgetd__V1__Widget *widget, const char *key);
/* A node of what a widget shows, or NULL if it shows none of that id; NULL for `id` is the node at
 * the top. Its children are `child_ids`; a client that draws begins at the top and asks for each. */
WC_API const Widgetd__V1__Node *wc_node(const Widgetd__V1__Widget *widget, const char *id);
/* One property of a node, or NULL: then it is what it is by default. NULL of no node (NULL), so that
 * wc_property(wc_node(widget, "title"), "text") needs no question in between. */
WC_API const Widgetd__V1__Value *wc_property(const Widgetd__V1__Node *node, const char *name);
/* One value of an event's payload, or NULL. */
WC_API const Widgetd__V1__Value *wc_payload(const Widgetd__V1__Event *event, const char *key);
/* A value as text into `buffer`, which is always terminated: 37, 1.5, true, hello; lists and
 * maps as [...] and {...}. NULL is "null". Returns `buffer`. */
WC_API char *wc_value_text(const Widgetd__V1__Value *value, char *buffer, size_t size);

/* --- Watching --------------------------------------------------------------------------------- */

typedef struct wc_watch wc_watch;

typedef enum wc_notice_kind {
  /* The stream is open: `again` says whether for the first time. */
  WC_NOTICE_CONNECTED = 1,
  /* The connection was lost: `error` says why, `milliseconds` when the next attempt is made.
   * What is held is kept. Told once; attempts go on until WC_NOTICE_CONNECTED. */
  WC_NOTICE_DISCONNECTED,
  /* The daemon cannot go on from where the watch was: `error` says why (REVISION_COMPACTED,
   * EPOCH_CHANGED). All widgets come anew. What is held stays until they are complete; then what
   * differs is told. */
  WC_NOTICE_RESET,
  /* `widget` appeared. */
  WC_NOTICE_ADDED,
  /* `widget` changed, and is as it is now. `update` says what changed; NULL if the widget was
   * replaced. */
  WC_NOTICE_UPDATED,
  /* `widget` is gone, or no longer selected; this is how it was last. */
  WC_NOTICE_REMOVED,
  /* What is held is the daemon's state at `revision`, whole. Time to draw. */
  WC_NOTICE_SETTLED,
  /* `event` happened. Each is told at most once. */
  WC_NOTICE_EVENT,
  /* Events from `first_sequence` to `last_sequence` may have been missed. */
  WC_NOTICE_GAP,
  /* A message of the stream, in `frame`, before the watch makes anything of it. Only with
   * WC_WATCH_FRAMES. */
  WC_NOTICE_FRAME
} wc_notice_kind;

/* What a watch tells. Only what the kind names is set; the rest is 0. */
typedef struct wc_notice {
  wc_notice_kind kind;
  bool again;
  uint32_t milliseconds;
  const wc_error *error;
  const Widgetd__V1__Widget *widget;
  const Widgetd__V1__WidgetUpdated *update;
  /* A hint how to animate it, with ADDED, UPDATED and REMOVED; or NULL. */
  const Widgetd__V1__Transition *transition;
  const Widgetd__V1__Event *event;
  uint64_t revision;
  uint64_t first_sequence;
  uint64_t last_sequence;
  const ProtobufCMessage *frame;
} wc_notice;

/* Is called from wc_watch_run and wc_watch_process. May use the watch, but not free, run or process
 * it. */
typedef void (*wc_notice_fn)(wc_watch *watch, const wc_notice *notice, void *context);

/* Also tell each message (WC_NOTICE_FRAME). */
#define WC_WATCH_FRAMES 1u
/* Hold no widgets: tell messages, events and connections, but not ADDED, UPDATED, REMOVED,
 * SETTLED. */
#define WC_WATCH_NO_COPY 2u

/*
 * Makes a watch of widgets. Connecting begins with wc_watch_run or wc_watch_process. `request` says
 * what to watch and is copied; NULL is all widgets without events. A resume_token needs
 * WC_WATCH_NO_COPY, since what came before it is not held here. `flags` may be 0.
 * Returns NULL on failure.
 */
WC_API wc_watch *wc_watch_new(const char *socket, const Widgetd__V1__WatchWidgetsRequest *request,
                              unsigned flags, wc_notice_fn notice, void *context, wc_error *error);

/* Makes a watch of one widget. */
WC_API wc_watch *wc_watch_one(const char *socket, const char *id, wc_notice_fn notice,
                              void *context, wc_error *error);

/* Makes a watch of events alone; NULL is all. It tells EVENT and GAP, and of connections. */
WC_API wc_watch *wc_watch_events(const char *socket, const Widgetd__V1__WatchEventsRequest *request,
                                 unsigned flags, wc_notice_fn notice, void *context,
                                 wc_error *error);

/* Ends the watch and frees it. NULL is fine. */
WC_API void wc_watch_free(wc_watch *watch);

/*
 * Follows until wc_watch_stop (WC_OK), until somebody ends the stream with Unsubscribe (WC_OK), or
 * until an error that waiting does not mend. A signal whose handler returns ends it with
 * WC_CANCELLED (INTERRUPTED); call it again to go on.
 */
WC_API wc_code wc_watch_run(wc_watch *watch, wc_error *error);
/* Lets wc_watch_run return and tells no more. For use in the callback. */
WC_API void wc_watch_stop(wc_watch *watch);

/* For event loops: a descriptor that is readable when wc_watch_process has something to do. It is
 * the same for the watch's whole life, also across connections. Only poll it. */
WC_API int wc_watch_fd(const wc_watch *watch);
/* Does what there is to do, without blocking, and tells what happened. Once the watch is over it
 * does nothing, and returns how it ended. */
WC_API wc_code wc_watch_process(wc_watch *watch, wc_error *error);
/* Whether the watch has ended. */
WC_API bool wc_watch_is_over(const wc_watch *watch);

/* A widget as it is now, or NULL. Lives until the next wc_watch_run or wc_watch_process. */
WC_API const Widgetd__V1__Widget *wc_watch_widget(const wc_watch *watch, const char *id);
/* All widgets in display order. Lives as wc_watch_widget's does. */
WC_API const Widgetd__V1__Widget *const *wc_watch_widgets(wc_watch *watch, size_t *count);
/* Whether a whole state is held, and at which revision. */
WC_API bool wc_watch_is_settled(const wc_watch *watch);
WC_API uint64_t wc_watch_revision(const wc_watch *watch);
/* Names the stream in RequestProgress and Unsubscribe; 0 while there is none. */
WC_API uint64_t wc_watch_subscription(const wc_watch *watch);
/* The token after the last whole frame; NULL if there is none. */
WC_API const uint8_t *wc_watch_token(const wc_watch *watch, size_t *length);

/* How many bytes of memory the widgets may take (64 MiB at first); as many again while a snapshot
 * or a change set arrives. A watch that needs more ends with WC_RESOURCE_EXHAUSTED. */
WC_API void wc_watch_set_memory_max(wc_watch *watch, size_t bytes);
/* The shortest and the longest wait between attempts to connect (100 ms and 10 s at first). */
WC_API void wc_watch_set_backoff(wc_watch *watch, uint32_t first_milliseconds,
                                 uint32_t last_milliseconds);
/* The google.rpc.Status that ended the watch, encoded; NULL if none did. */
WC_API const uint8_t *wc_watch_status(const wc_watch *watch, size_t *length);

/* --- Streams ---------------------------------------------------------------------------------- */

typedef struct wc_stream wc_stream;

/* Opens a stream ("WatchWidgets", "WatchEvents"; "Provide", of which `request` is the first
 * message) on a connection of its own. The daemon ends it after `timeout` milliseconds; 0: never.
 * Does not wait for an answer. */
#define wc_stream_open(socket, method, request, timeout, error) \
  wc_stream_open_message(socket, method, &(request)->base, timeout, error)
WC_API wc_stream *wc_stream_open_message(const char *socket, const char *method,
                                         const ProtobufCMessage *request, int timeout,
                                         wc_error *error);
/*
 * Waits at most so many milliseconds (0: not at all; below 0: as long as it takes) for the next
 * message. WC_OK with a message, to be freed with wc_free; WC_OK with NULL: the stream ended well,
 * or ended before; WC_DEADLINE_EXCEEDED: nothing came, try again; else: it failed and is over.
 */
#define wc_stream_next(stream, message, timeout, error) \
  wc_stream_next_message(stream, (void **)(message), timeout, error)
WC_API wc_code wc_stream_next_message(wc_stream *stream, void **message, int timeout,
                                      wc_error *error);
/*
 * Sends another message, where both sides send ("Provide"). Waits until the kernel has all of it, at
 * most WC_TIMEOUT_DEFAULT, and takes in meanwhile what comes; so call wc_stream_next with timeout 0
 * until it has none before you poll again. After an error nothing more can be sent; wc_stream_next goes on with
 * what has come, and says how the stream ended.
 */
#define wc_stream_send(stream, request, error) \
  wc_stream_send_message(stream, &(request)->base, error)
WC_API wc_code wc_stream_send_message(wc_stream *stream, const ProtobufCMessage *request,
                                      wc_error *error);
/* Says that no more is sent. The daemon ends the stream when it has dealt with all that was. */
WC_API wc_code wc_stream_finish(wc_stream *stream, wc_error *error);
/* Readable when a message may be there; call wc_stream_next with timeout 0 until it has none. -1
 * when it is over. */
WC_API int wc_stream_fd(const wc_stream *stream);
/* The google.rpc.Status that ended the stream, encoded; NULL if none did. */
WC_API const uint8_t *wc_stream_status(const wc_stream *stream, size_t *length);
/* Ends the stream. NULL is fine. */
WC_API void wc_stream_close(wc_stream *stream);

/* The library's version: "0.1.0". */
WC_API const char *wc_version(void);

#ifdef __cplusplus
}
#endif

#endif
