/*
 * libwidgetclient: a client of widgetd, the service for remote widgets.
 *
 * Three things, from simple to general:
 *  - a client makes calls, one after the other: wc_get, wc_set, wc_send_event, ..., and wc_call for
 *    every method that the daemon has;
 *  - a watch follows widgets: it keeps a copy of them, reports changes, and resumes when the daemon
 *    comes back. wc_watch_run blocks; wc_watch_fd and wc_watch_process are for programs with an
 *    event loop;
 *  - a stream is the part below a watch: it returns messages until the connection ends.
 *
 * Messages are the structs that protoc-c makes from the daemon's .proto files: Widgetd__V1__Widget
 * and so on, in the headers below.
 *
 * Errors: a function that can fail takes a wc_error, which may be NULL. It returns a wc_code (WC_OK
 * is 0) or a pointer (NULL on failure). A wc_error is the caller's memory; it needs no freeing.
 *
 * Threads: the library starts no threads and has no global state. Any thread may use a client,
 * watch or stream, but only one thread at a time. Several threads may use different ones at the
 * same time.
 *
 * Memory: results of calls belong to the caller, who frees them with wc_free. Arguments of
 * callbacks belong to the library and live until the callback returns. The library checks all
 * messages of the daemon before it uses them. Bounds: 4 MiB for a frame, 32 MiB for a message in
 * memory, and wc_watch_set_memory_max for the copy of a watch.
 */
#ifndef WIDGETCLIENT_H
#define WIDGETCLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "google/rpc/error_details.pb-c.h"
#include "google/rpc/status.pb-c.h"
#include "grpc/health/v1/health.pb-c.h"
#include "widgetd/v1/activity.pb-c.h"
#include "widgetd/v1/activity_service.pb-c.h"
#include "widgetd/v1/admin_service.pb-c.h"
#include "widgetd/v1/blob_service.pb-c.h"
#include "widgetd/v1/catalog_service.pb-c.h"
#include "widgetd/v1/event.pb-c.h"
#include "widgetd/v1/kind.pb-c.h"
#include "widgetd/v1/node.pb-c.h"
#include "widgetd/v1/provider_service.pb-c.h"
#include "widgetd/v1/theme.pb-c.h"
#include "widgetd/v1/timeline.pb-c.h"
#include "widgetd/v1/timeline_service.pb-c.h"
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

/* Details of an error, for example {"widget_id", "clock"}. Text that is too long is cut. */
typedef struct wc_metadata {
  char key[48];
  char value[208];
} wc_metadata;

/* The cause of a failure. All texts are UTF-8. Text that is too long is cut. */
typedef struct wc_error {
  wc_code code;
  /* True for an error of the daemon, false for an error of the library. */
  bool from_daemon;
  /* The shortest wait before a retry, as the daemon asks; 0 if it does not ask. */
  uint32_t retry_milliseconds;
  /* Stable and for programs: "WIDGET_NOT_FOUND". The daemon's reasons are in its PROTOCOL.md. The
   * library's reasons are SOCKET_NOT_FOUND, CONNECT_FAILED, CONNECTION_LOST, UNRESPONSIVE,
   * DEADLINE_EXCEEDED, PROTOCOL_VIOLATION, INVALID_CALL, STREAM_OVER, REQUEST_TOO_LARGE,
   * ANSWER_TOO_LARGE, NO_MEMORY, INTERRUPTED. May be empty. */
  char reason[64];
  /* For people: the problem and the next step. */
  char message[1024];
  size_t metadata_count;
  wc_metadata metadata[WC_ERROR_METADATA_MAX];
} wc_error;

/* The value of a key in an error's metadata, or NULL. */
WC_API const char *wc_error_metadata(const wc_error *error, const char *key);

/* --- Calls ------------------------------------------------------------------------------------ */

typedef struct wc_client wc_client;

/* The default timeout of a call in milliseconds; see wc_set_timeout. */
#define WC_TIMEOUT_DEFAULT 10000

/*
 * Connects to the daemon. `socket` is the path of its socket. NULL means $WIDGETD_SOCKET, else
 * $XDG_RUNTIME_DIR/widgetd/widgetd.sock if it exists, else /run/widgetd/widgetd.sock. After a lost
 * connection, the next call reconnects. Returns NULL on failure.
 */
WC_API wc_client *wc_connect(const char *socket, wc_error *error);
/* The same within so many milliseconds, and with that timeout for each call; see wc_set_timeout.
 * 0: no timeout. */
WC_API wc_client *wc_connect_within(const char *socket, int milliseconds, wc_error *error);
/* Closes the connection and frees the client. NULL is fine. */
WC_API void wc_close(wc_client *client);
/* Sets the timeout of each call in milliseconds. 0: no timeout. Below 0: every call fails at once
 * with WC_DEADLINE_EXCEEDED. */
WC_API void wc_set_timeout(wc_client *client, int milliseconds);
/* The path in use. */
WC_API const char *wc_socket(const wc_client *client);

/*
 * Makes a call. `method` is "GetWidget" or, in full, "widgetd.v1.WidgetService/GetWidget";
 * `request` is that method's request message. On WC_OK, `*answer` is that method's response
 * message; free it with wc_free. `answer` may be NULL if you do not need it.
 *
 *   Widgetd__V1__GetStatsRequest request = WIDGETD__V1__GET_STATS_REQUEST__INIT;
 *   Widgetd__V1__GetStatsResponse *stats;
 *   if (wc_call(client, "GetStats", &request, &stats, &error) == WC_OK) ...
 *
 * After WC_DEADLINE_EXCEEDED or CONNECTION_LOST, the daemon may have carried out the call. Read the
 * state, or give requests a request_id and retry the same request.
 */
#define wc_call(client, method, request, answer, error) \
  wc_call_message(client, method, &(request)->base, (void **)(answer), error)
WC_API wc_code wc_call_message(wc_client *client, const char *method,
                               const ProtobufCMessage *request, void **answer, wc_error *error);

/* The same with encoded messages. Free `*answer` with free(3). A full `method` may be one that this
 * library does not know; then the library does not check the answer. */
WC_API wc_code wc_call_bytes(wc_client *client, const char *method, const uint8_t *request,
                             size_t request_length, uint8_t **answer, size_t *answer_length,
                             wc_error *error);

/* The encoded google.rpc.Status with which the daemon refused the last call; NULL if it did not
 * refuse it. Valid until the next call. A wc_error has most of its content. */
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
/* The text is not copied, so it must live as long as the value. */
static inline Widgetd__V1__Value wc_text(const char *content) {
  Widgetd__V1__Value value;
  widgetd__v1__value__init(&value);
  value.kind_case = WIDGETD__V1__VALUE__KIND_STRING_VALUE;
  value.string_value = (char *)(uintptr_t)content;
  return value;
}

/* Reads a widget. Returns NULL on failure: WC_NOT_FOUND if the widget does not exist. */
WC_API Widgetd__V1__Widget *wc_get(wc_client *client, const char *id, wc_error *error);

/* The library calls this for each widget. Do not keep the widget. Return false to stop. */
typedef bool (*wc_widget_fn)(const Widgetd__V1__Widget *widget, void *context);

/* Reads all widgets of the selector (NULL: all widgets), page by page in display order. */
WC_API wc_code wc_list(wc_client *client, Widgetd__V1__WidgetSelector *selector, wc_widget_fn each,
                       void *context, wc_error *error);

/* Adds a widget; the daemon picks the id if `id` is NULL. Returns the widget, or NULL. */
WC_API Widgetd__V1__Widget *wc_create(wc_client *client, const char *id, const char *kind,
                                      const wc_pair *data, size_t count, wc_error *error);

/* Sets keys of a widget's data. Other keys stay. */
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

/* Sends an event ("press") about a node of a widget's content; see wc_node. */
WC_API wc_code wc_send_node_event(wc_client *client, const char *widget_id, const char *node_id,
                                  const char *name, const wc_pair *payload, size_t count,
                                  uint64_t *sequence, wc_error *error);

/* Asks whether the daemon serves. */
WC_API wc_code wc_check_health(wc_client *client, wc_error *error);

/* --- Looking into widgets --------------------------------------------------------------------- */

/* One value of a widget's data, or NULL. If a key exists twice, the last entry counts. */
WC_API const Widgetd__V1__Value *wc_data(const Widgetd__V1__Widget *widget, const char *key);
/* One value of a widget's parameters, or NULL. */
WC_API const Widgetd__V1__Value *wc_parameter(const Widgetd__V1__Widget *widget, const char *key);
/* One label, or NULL. */
WC_API const char *wc_label(const Widgetd__V1__Widget *widget, const char *key);
/* A node of a widget's content, or NULL if there is no node with this id. If `id` is NULL, the node
 * at the top. To draw a widget, begin at the top and look up each id in `child_ids`. */
WC_API const Widgetd__V1__Node *wc_node(const Widgetd__V1__Widget *widget, const char *id);
/* One property of a node. NULL means the property's default. If `node` is NULL, the result is NULL,
 * so wc_property(wc_node(widget, "title"), "text") needs no check in between. */
WC_API const Widgetd__V1__Value *wc_property(const Widgetd__V1__Node *node, const char *name);
/* One value of an event's payload, or NULL. */
WC_API const Widgetd__V1__Value *wc_payload(const Widgetd__V1__Event *event, const char *key);
/* Writes a value as text into `buffer`, always with a final NUL: 37, 1.5, true, hello. Lists and
 * maps are [...] and {...}. NULL is "null". Returns `buffer`. */
WC_API char *wc_value_text(const Widgetd__V1__Value *value, char *buffer, size_t size);

/* --- Watching --------------------------------------------------------------------------------- */

typedef struct wc_watch wc_watch;

typedef enum wc_notice_kind {
  /* The stream is open. `again` is true if it was open before. */
  WC_NOTICE_CONNECTED = 1,
  /* The connection was lost, or the daemon does not answer (UNRESPONSIVE). `error` is the reason; the
   * next attempt comes in `milliseconds`. The copy is kept. The notice comes once; the watch retries
   * until WC_NOTICE_CONNECTED. */
  WC_NOTICE_DISCONNECTED,
  /* The watch cannot resume. `error` is the reason (REVISION_COMPACTED, EPOCH_CHANGED). The daemon
   * sends all widgets again. The copy stays until they are complete; then the differences come as
   * notices. */
  WC_NOTICE_RESET,
  /* `widget` was added. */
  WC_NOTICE_ADDED,
  /* `widget` changed; it has the new state. `update` has the changes; NULL if the widget was
   * replaced. */
  WC_NOTICE_UPDATED,
  /* `widget` was removed, or is no longer selected; it has the last state. */
  WC_NOTICE_REMOVED,
  /* The copy is the daemon's whole state at `revision`. Draw now. */
  WC_NOTICE_SETTLED,
  /* `event` happened. Each event comes at most once. */
  WC_NOTICE_EVENT,
  /* Events from `first_sequence` to `last_sequence` may be lost. */
  WC_NOTICE_GAP,
  /* A message of the stream, in `frame`, before the watch handles it. Only with
   * WC_WATCH_FRAMES. */
  WC_NOTICE_FRAME
} wc_notice_kind;

/* Ids of nodes, in no order. */
typedef struct wc_node_ids {
  size_t count;
  const char *const *ids;
} wc_node_ids;

/* The nodes of a widget's content that changed, which a program draws again. A node that was
 * inserted and removed in between is in no list. A node is in `inserted` or `removed` alone, or in
 * `changed`, in `moved`, or in both.
 *
 * Cost: a change that leaves all nodes in place costs as much as the nodes that it sets. A change that
 * inserts, moves or removes nodes costs as much as the whole content, because `nodes` of the content
 * is a list in the order of the tree. */
typedef struct wc_content_changes {
  /* Another node is at the top, or the content came or went. */
  bool root_changed;
  /* Nodes that stayed and have another type, properties, children, problem or events. A node whose
   * children came, went or changed their order is here; a node whose child changed is not. */
  wc_node_ids changed;
  /* New nodes, with all new nodes below them. */
  wc_node_ids inserted;
  /* Removed nodes, with all removed nodes below them. */
  wc_node_ids removed;
  /* Nodes that stayed and have another parent, or another place among those children of their parent
   * that stayed. The nodes below them are not here. */
  wc_node_ids moved;
} wc_content_changes;

/* A notice of a watch. Only the fields that its kind names are set; the others are 0. */
typedef struct wc_notice {
  wc_notice_kind kind;
  bool again;
  uint32_t milliseconds;
  const wc_error *error;
  const Widgetd__V1__Widget *widget;
  const Widgetd__V1__WidgetUpdated *update;
  /* A hint for the animation, with ADDED, UPDATED and REMOVED; or NULL. */
  const Widgetd__V1__Transition *transition;
  const Widgetd__V1__Event *event;
  uint64_t revision;
  uint64_t first_sequence;
  uint64_t last_sequence;
  const ProtobufCMessage *frame;
  /* The nodes that differ, with UPDATED; NULL if the content is the same. */
  const wc_content_changes *content;
} wc_notice;

/* wc_watch_run and wc_watch_process call this. It may use the watch, but not free, run or process
 * it. */
typedef void (*wc_notice_fn)(wc_watch *watch, const wc_notice *notice, void *context);

/* Also report each message (WC_NOTICE_FRAME). */
#define WC_WATCH_FRAMES 1u
/* Keep no widgets: report messages, events and connections, but not ADDED, UPDATED, REMOVED,
 * SETTLED. */
#define WC_WATCH_NO_COPY 2u

/*
 * Makes a watch of widgets. wc_watch_run or wc_watch_process connects. `request` selects the
 * widgets and is copied; NULL is all widgets without events. A resume_token needs
 * WC_WATCH_NO_COPY, because the copy would lack the state before the token. `flags` may be 0.
 * Returns NULL on failure.
 */
WC_API wc_watch *wc_watch_new(const char *socket, const Widgetd__V1__WatchWidgetsRequest *request,
                              unsigned flags, wc_notice_fn notice, void *context, wc_error *error);

/* Makes a watch of one widget. */
WC_API wc_watch *wc_watch_one(const char *socket, const char *id, wc_notice_fn notice,
                              void *context, wc_error *error);

/* Makes a watch of only events. A NULL `request` is all events. It reports EVENT, GAP and
 * connections. */
WC_API wc_watch *wc_watch_events(const char *socket, const Widgetd__V1__WatchEventsRequest *request,
                                 unsigned flags, wc_notice_fn notice, void *context,
                                 wc_error *error);

/* Ends the watch and frees it. NULL is fine. */
WC_API void wc_watch_free(wc_watch *watch);

/*
 * Follows until wc_watch_stop (WC_OK), until a client ends the stream with Unsubscribe (WC_OK), or
 * until an error that a retry cannot fix. A signal whose handler returns ends it with WC_CANCELLED
 * (INTERRUPTED). Call it again to continue.
 */
WC_API wc_code wc_watch_run(wc_watch *watch, wc_error *error);
/* Makes wc_watch_run return. No more notices come. For use in the callback. */
WC_API void wc_watch_stop(wc_watch *watch);

/* For event loops: a descriptor that is readable when you should call wc_watch_process. It never
 * changes, not even after a reconnection. Only poll it. */
WC_API int wc_watch_fd(const wc_watch *watch);
/* Does the pending work without blocking, and sends notices. After the watch has ended, it does
 * nothing and returns the result of the watch. */
WC_API wc_code wc_watch_process(wc_watch *watch, wc_error *error);
/* Whether the watch has ended. */
WC_API bool wc_watch_is_over(const wc_watch *watch);

/* A widget as it is now, or NULL. Lives until the next wc_watch_run or wc_watch_process. */
WC_API const Widgetd__V1__Widget *wc_watch_widget(const wc_watch *watch, const char *id);
/* A node of a widget as it is now, or NULL. If `node_id` is NULL, the node at the top. It takes the
 * same time in a content of any size; wc_node searches a list. Valid as long as the widget. */
WC_API const Widgetd__V1__Node *wc_watch_node(const wc_watch *watch, const char *id,
                                              const char *node_id);
/* All widgets in display order. Valid as long as the result of wc_watch_widget. */
WC_API const Widgetd__V1__Widget *const *wc_watch_widgets(wc_watch *watch, size_t *count);
/* Whether the copy is a whole state, and the revision of that state. */
WC_API bool wc_watch_is_settled(const wc_watch *watch);
WC_API uint64_t wc_watch_revision(const wc_watch *watch);
/* Names the stream in RequestProgress and Unsubscribe; 0 while there is none. */
WC_API uint64_t wc_watch_subscription(const wc_watch *watch);
/* The token after the last whole frame; NULL if there is none. */
WC_API const uint8_t *wc_watch_token(const wc_watch *watch, size_t *length);

/* Sets the most memory of the copy in bytes. Default: 64 MiB. The watch may use twice that while a
 * snapshot or a change set arrives. A watch that needs more ends with WC_RESOURCE_EXHAUSTED. */
WC_API void wc_watch_set_memory_max(wc_watch *watch, size_t bytes);
/* Sets the shortest and the longest wait between attempts to connect. Default: 100 ms and 10 s. */
WC_API void wc_watch_set_backoff(wc_watch *watch, uint32_t first_milliseconds,
                                 uint32_t last_milliseconds);
/* Sets how the watch notices a daemon that hangs or is stopped. After `quiet_milliseconds` without a
 * message, the watch makes a small call. If no answer comes within `answer_milliseconds`, it reports
 * WC_NOTICE_DISCONNECTED (UNRESPONSIVE), and connects again. A request that opens the stream wants an
 * answer within `answer_milliseconds`, too. Default: 60 s and 5 s. 0 for `quiet_milliseconds`: no
 * check. */
WC_API void wc_watch_set_liveness(wc_watch *watch, uint32_t quiet_milliseconds,
                                  uint32_t answer_milliseconds);
/* The encoded google.rpc.Status that ended the watch; NULL if there is none. */
WC_API const uint8_t *wc_watch_status(const wc_watch *watch, size_t *length);

/* --- Streams ---------------------------------------------------------------------------------- */

typedef struct wc_stream wc_stream;

/* Opens a stream ("WatchWidgets", "WatchEvents" or "Provide") on a separate connection. For
 * "Provide", `request` is the first message. The daemon ends the stream after `timeout`
 * milliseconds; 0: never. Does not wait for an answer. */
#define wc_stream_open(socket, method, request, timeout, error) \
  wc_stream_open_message(socket, method, &(request)->base, timeout, error)
WC_API wc_stream *wc_stream_open_message(const char *socket, const char *method,
                                         const ProtobufCMessage *request, int timeout,
                                         wc_error *error);
/*
 * Waits at most `timeout` milliseconds for the next message. 0: does not wait; below 0: no timeout.
 *  - WC_OK with a message: free it with wc_free.
 *  - WC_OK with NULL: the stream ended without an error, now or before.
 *  - WC_DEADLINE_EXCEEDED: no message came; try again.
 *  - other codes: the stream failed and is over.
 */
#define wc_stream_next(stream, message, timeout, error) \
  wc_stream_next_message(stream, (void **)(message), timeout, error)
WC_API wc_code wc_stream_next_message(wc_stream *stream, void **message, int timeout,
                                      wc_error *error);
/*
 * Sends another message on a stream in both directions ("Provide"). Waits until the kernel has
 * taken all of it, at most WC_TIMEOUT_DEFAULT. Meanwhile it reads incoming messages. So before you
 * poll again, call wc_stream_next with timeout 0 until it has no message. After an error you can
 * send nothing more; wc_stream_next returns the messages that have come, and then the end of the
 * stream.
 */
#define wc_stream_send(stream, request, error) \
  wc_stream_send_message(stream, &(request)->base, error)
WC_API wc_code wc_stream_send_message(wc_stream *stream, const ProtobufCMessage *request,
                                      wc_error *error);
/* Ends the sending side. The daemon ends the stream after it has handled all messages. */
WC_API wc_code wc_stream_finish(wc_stream *stream, wc_error *error);
/* A descriptor that is readable when a message may be there. Then call wc_stream_next with timeout
 * 0 until it has no message. -1 when the stream is over. */
WC_API int wc_stream_fd(const wc_stream *stream);
/* The encoded google.rpc.Status that ended the stream; NULL if there is none. */
WC_API const uint8_t *wc_stream_status(const wc_stream *stream, size_t *length);
/* Ends the stream. NULL is fine. */
WC_API void wc_stream_close(wc_stream *stream);

/* The library's version: "0.1.0". */
WC_API const char *wc_version(void);

#ifdef __cplusplus
}
#endif

#endif
