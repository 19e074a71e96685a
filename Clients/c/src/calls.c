/*
 * Short functions for the calls that most programs make. They fill in a request and pass it to
 * wc_call. Programs that need other fields of a request do the same.
 */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

/* Map entries that point into the caller's pairs. */
#define ENTRIES(type, init)                                                       \
  static bool make_##type(const wc_pair *pairs, size_t count, type **entries,     \
                          type ***pointers) {                                     \
    *entries = calloc(count == 0 ? 1 : count, sizeof(type));                      \
    *pointers = calloc(count == 0 ? 1 : count, sizeof(type *));                   \
    if (*entries == NULL || *pointers == NULL) {                                  \
      free(*entries);                                                             \
      free(*pointers);                                                            \
      return false;                                                               \
    }                                                                             \
    for (size_t i = 0; i < count; i++) {                                          \
      type entry = init;                                                          \
      entry.key = (char *)pairs[i].key;                                           \
      entry.value = (Widgetd__V1__Value *)&pairs[i].value;                        \
      (*entries)[i] = entry;                                                      \
      (*pointers)[i] = &(*entries)[i];                                            \
    }                                                                             \
    return true;                                                                  \
  }

ENTRIES(Widgetd__V1__WidgetSpec__DataEntry, WIDGETD__V1__WIDGET_SPEC__DATA_ENTRY__INIT)
ENTRIES(Widgetd__V1__WidgetPatch__SetDataEntry, WIDGETD__V1__WIDGET_PATCH__SET_DATA_ENTRY__INIT)
ENTRIES(Widgetd__V1__SendEventRequest__PayloadEntry,
        WIDGETD__V1__SEND_EVENT_REQUEST__PAYLOAD_ENTRY__INIT)

/* Moves the widget out of an answer. */
static Widgetd__V1__Widget *detach(Widgetd__V1__Widget **at, void *answer, wc_error *error) {
  Widgetd__V1__Widget *widget = *at;
  *at = NULL;
  wc_free(answer);
  if (widget == NULL)
    wc_fail(error, WC_INTERNAL, "PROTOCOL_VIOLATION",
            "the daemon's answer has no widget in it. Check that client and daemon fit together");
  return widget;
}

Widgetd__V1__Widget *wc_get(wc_client *client, const char *id, wc_error *error) {
  Widgetd__V1__GetWidgetRequest request = WIDGETD__V1__GET_WIDGET_REQUEST__INIT;
  Widgetd__V1__GetWidgetResponse *answer;
  request.id = (char *)id;
  if (wc_call(client, "GetWidget", &request, &answer, error) != WC_OK) return NULL;
  return detach(&answer->widget, answer, error);
}

#define PAGES_MAX 100000

/* The page tokens of a list that is read to its end. A broken daemon cannot make the list endless. */
typedef struct page_tokens {
  size_t count;
  /* An earlier token. It moves to the present token after 1, 2, 4, 8 pages and so on, so any circle
   * comes back to it. */
  char *mark;
} page_tokens;

/* Notes the token that a page gives for the next page. */
static wc_code note_token(page_tokens *tokens, const char *token, wc_error *error) {
  if (tokens->mark != NULL && strcmp(token, tokens->mark) == 0)
    return wc_fail(error, WC_INTERNAL, "PROTOCOL_VIOLATION",
                   "a page of the daemon's list gives the page token of an earlier page");
  if (++tokens->count >= PAGES_MAX)
    return wc_fail(error, WC_INTERNAL, "PROTOCOL_VIOLATION",
                   "the daemon's list has more than %d pages", PAGES_MAX);
  if ((tokens->count & (tokens->count - 1)) != 0) return WC_OK;
  char *mark = strdup(token);
  if (mark == NULL) return wc_fail_memory(error);
  free(tokens->mark);
  tokens->mark = mark;
  return WC_OK;
}

wc_code wc_list(wc_client *client, Widgetd__V1__WidgetSelector *selector, wc_widget_fn each,
                void *context, wc_error *error) {
  Widgetd__V1__ListWidgetsRequest request = WIDGETD__V1__LIST_WIDGETS_REQUEST__INIT;
  Widgetd__V1__ListWidgetsResponse *page = NULL, *next;
  page_tokens tokens = {0};
  wc_code code;
  request.selector = selector;
  request.page_size = 1000;
  for (;;) {
    code = wc_call(client, "ListWidgets", &request, &next, error);
    wc_free(page);
    page = NULL;
    if (code != WC_OK) break;
    page = next;
    bool more = page->next_page_token[0] != 0;
    for (size_t i = 0; i < page->n_widgets; i++) {
      if (each(page->widgets[i], context)) continue;
      more = false;
      break;
    }
    if (!more) break;
    code = note_token(&tokens, page->next_page_token, error);
    if (code != WC_OK) break;
    request.page_token = page->next_page_token;
  }
  free(tokens.mark);
  wc_free(page);
  return code;
}

Widgetd__V1__Widget *wc_create(wc_client *client, const char *id, const char *kind,
                               const wc_pair *data, size_t count, wc_error *error) {
  Widgetd__V1__CreateWidgetRequest request = WIDGETD__V1__CREATE_WIDGET_REQUEST__INIT;
  Widgetd__V1__WidgetSpec spec = WIDGETD__V1__WIDGET_SPEC__INIT;
  Widgetd__V1__WidgetSpec__DataEntry *entries;
  Widgetd__V1__CreateWidgetResponse *answer;
  if (!make_Widgetd__V1__WidgetSpec__DataEntry(data, count, &entries, &spec.data)) {
    wc_fail_memory(error);
    return NULL;
  }
  if (id != NULL) spec.id = (char *)id;
  spec.kind = (char *)kind;
  spec.n_data = count;
  request.widget = &spec;
  wc_code code = wc_call(client, "CreateWidget", &request, &answer, error);
  free(entries);
  free(spec.data);
  return code == WC_OK ? detach(&answer->widget, answer, error) : NULL;
}

wc_code wc_set(wc_client *client, const char *id, const wc_pair *data, size_t count,
               wc_error *error) {
  Widgetd__V1__UpdateWidgetRequest request = WIDGETD__V1__UPDATE_WIDGET_REQUEST__INIT;
  Widgetd__V1__WidgetPatch patch = WIDGETD__V1__WIDGET_PATCH__INIT;
  Widgetd__V1__WidgetPatch__SetDataEntry *entries;
  if (!make_Widgetd__V1__WidgetPatch__SetDataEntry(data, count, &entries, &patch.set_data))
    return wc_fail_memory(error);
  patch.n_set_data = count;
  request.id = (char *)id;
  request.patch = &patch;
  request.omit_widget = true;
  wc_code code = wc_call(client, "UpdateWidget", &request, NULL, error);
  free(entries);
  free(patch.set_data);
  return code;
}

wc_code wc_delete(wc_client *client, const char *id, wc_error *error) {
  Widgetd__V1__DeleteWidgetRequest request = WIDGETD__V1__DELETE_WIDGET_REQUEST__INIT;
  request.id = (char *)id;
  return wc_call(client, "DeleteWidget", &request, NULL, error);
}

wc_code wc_set_presence(wc_client *client, const char *id, Widgetd__V1__PresenceAction action,
                        wc_error *error) {
  Widgetd__V1__SetPresenceRequest request = WIDGETD__V1__SET_PRESENCE_REQUEST__INIT;
  char *ids[] = {(char *)id};
  request.n_ids = 1;
  request.ids = ids;
  request.action = action;
  return wc_call(client, "SetPresence", &request, NULL, error);
}

wc_code wc_send_event(wc_client *client, const char *widget_id, const char *name,
                      const wc_pair *payload, size_t count, uint64_t *sequence, wc_error *error) {
  return wc_send_node_event(client, widget_id, "", name, payload, count, sequence, error);
}

wc_code wc_send_node_event(wc_client *client, const char *widget_id, const char *node_id,
                           const char *name, const wc_pair *payload, size_t count,
                           uint64_t *sequence, wc_error *error) {
  Widgetd__V1__SendEventRequest request = WIDGETD__V1__SEND_EVENT_REQUEST__INIT;
  Widgetd__V1__SendEventRequest__PayloadEntry *entries;
  Widgetd__V1__SendEventResponse *answer;
  if (!make_Widgetd__V1__SendEventRequest__PayloadEntry(payload, count, &entries, &request.payload))
    return wc_fail_memory(error);
  request.n_payload = count;
  request.widget_id = (char *)widget_id;
  request.node_id = (char *)node_id;
  request.name = (char *)name;
  wc_code code = wc_call(client, "SendEvent", &request, &answer, error);
  free(entries);
  free(request.payload);
  if (code != WC_OK) return code;
  if (sequence != NULL) *sequence = answer->sequence;
  wc_free(answer);
  return WC_OK;
}

wc_code wc_check_health(wc_client *client, wc_error *error) {
  Grpc__Health__V1__HealthCheckRequest request = GRPC__HEALTH__V1__HEALTH_CHECK_REQUEST__INIT;
  Grpc__Health__V1__HealthCheckResponse *answer;
  wc_code code = wc_call(client, "grpc.health.v1.Health/Check", &request, &answer, error);
  if (code != WC_OK) return code;
  bool serves =
      answer->status == GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING;
  wc_free(answer);
  if (serves) return WC_OK;
  return wc_fail(error, WC_UNAVAILABLE, "SHUTTING_DOWN",
                 "the daemon at %s does not serve at the moment; try again shortly",
                 wc_socket(client));
}
