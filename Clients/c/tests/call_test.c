/* Calls, errors and values, against a scripted daemon in a thread. */
#include "script.h"

#include <sys/stat.h>

static void answer_with_a_widget(script *with) {
  while (next_request(with)) {
    bytes all = {0};
    Widgetd__V1__GetWidgetResponse answer = WIDGETD__V1__GET_WIDGET_RESPONSE__INIT;
    Widgetd__V1__Widget widget;
    Widgetd__V1__Widget__DataEntry entry, *entries[1];
    Widgetd__V1__Value value;
    make_widget(&widget, &entry, entries, &value, "clock", 12, 3);
    answer.widget = &widget;
    append_answer(&all, with->id, &answer.base);
    send_and_free(&with->server, &all);
  }
}

static void a_call_sends_its_request_and_gives_the_answer(void) {
  script with;
  wc_error error;
  wc_client *client = begin(&with, answer_with_a_widget);
  wc_set_timeout(client, 1500);
  Widgetd__V1__Widget *widget = wc_get(client, "clock", &error);
  CHECK(widget != NULL);
  CHECK_TEXT(widget->id, "clock");
  CHECK(wc_data(widget, "n")->int_value == 12 && wc_data(widget, "none") == NULL);
  CHECK_TEXT(with.method, "widgetd.v1.WidgetService/GetWidget");
  CHECK(with.timeout == 1500000000);
  Widgetd__V1__GetWidgetRequest *request =
      widgetd__v1__get_widget_request__unpack(NULL, with.payload_count, with.payload);
  CHECK_TEXT(request->id, "clock");
  wc_free(request);
  wc_free(widget);
  CHECK(with.id == 1);
  wc_free(wc_get(client, "clock", NULL));
  CHECK(with.id == 3);
  end(&with, client);
}

static void take_and_answer_empty(script *with) {
  while (next_request(with)) {
    bytes all = {0};
    append_frame(&all, with->id, WC_FRAME_RESPONSE, 0, NULL, 0);
    send_and_free(&with->server, &all);
  }
}

static void the_short_calls_say_what_they_are_asked_to(void) {
  script with;
  wc_client *client = begin(&with, take_and_answer_empty);
  wc_pair data[] = {{"a", wc_int(-1)}, {"b", wc_text("x")}};
  uint64_t sequence = 9;
  CHECK(wc_set(client, "cpu", data, 2, NULL) == WC_OK);
  Widgetd__V1__UpdateWidgetRequest *update =
      widgetd__v1__update_widget_request__unpack(NULL, with.payload_count, with.payload);
  CHECK_TEXT(update->id, "cpu");
  CHECK(update->omit_widget && update->patch->n_set_data == 2);
  CHECK(update->patch->set_data[0]->value->int_value == -1);
  CHECK_TEXT(update->patch->set_data[1]->value->string_value, "x");
  wc_free(update);
  CHECK(wc_hide(client, "cpu", NULL) == WC_OK);
  Widgetd__V1__SetPresenceRequest *presence =
      widgetd__v1__set_presence_request__unpack(NULL, with.payload_count, with.payload);
  CHECK(presence->n_ids == 1
        && presence->action == WIDGETD__V1__PRESENCE_ACTION__PRESENCE_ACTION_HIDE);
  wc_free(presence);
  CHECK(wc_send_event(client, "cpu", "click", data, 1, &sequence, NULL) == WC_OK);
  CHECK(sequence == 0);
  Widgetd__V1__SendEventRequest *event =
      widgetd__v1__send_event_request__unpack(NULL, with.payload_count, with.payload);
  CHECK_TEXT(event->name, "click");
  CHECK_TEXT(event->node_id, "");
  CHECK(event->n_payload == 1 && event->payload[0]->value->int_value == -1);
  wc_free(event);
  CHECK(wc_send_node_event(client, "list", "done/7", "change", data, 1, NULL, NULL) == WC_OK);
  event = widgetd__v1__send_event_request__unpack(NULL, with.payload_count, with.payload);
  CHECK_TEXT(event->widget_id, "list");
  CHECK_TEXT(event->node_id, "done/7");
  CHECK_TEXT(event->name, "change");
  CHECK(event->n_payload == 1);
  wc_free(event);
  CHECK(wc_delete(client, "cpu", NULL) == WC_OK);
  CHECK_TEXT(with.method, "widgetd.v1.WidgetService/DeleteWidget");
  wc_error error;
  CHECK(wc_check_health(client, &error) == WC_UNAVAILABLE);
  CHECK_TEXT(with.method, "grpc.health.v1.Health/Check");
  /* An answer that lacks its widget. */
  CHECK(wc_get(client, "cpu", &error) == NULL);
  CHECK_TEXT(error.reason, "PROTOCOL_VIOLATION");
  CHECK(wc_create(client, NULL, "gauge", data, 2, &error) == NULL);
  Widgetd__V1__CreateWidgetRequest *create =
      widgetd__v1__create_widget_request__unpack(NULL, with.payload_count, with.payload);
  CHECK_TEXT(create->widget->id, "");
  CHECK(create->widget->n_data == 2);
  wc_free(create);
  end(&with, client);
}

static void answer_with_a_kind(script *with) {
  while (next_request(with)) {
    bytes all = {0};
    Widgetd__V1__Value zero = wc_int(0);
    Widgetd__V1__Field level = WIDGETD__V1__FIELD__INIT, *fields[] = {&level};
    Widgetd__V1__Kind kind = WIDGETD__V1__KIND__INIT;
    Widgetd__V1__GetKindResponse answer = WIDGETD__V1__GET_KIND_RESPONSE__INIT;
    level.name = "level";
    level.default_value = &zero;
    kind.name = "gauge";
    kind.n_data = 1;
    kind.data = fields;
    answer.kind = &kind;
    append_answer(&all, with->id, &answer.base);
    send_and_free(&with->server, &all);
  }
}

static void kinds_are_called_for_by_their_short_names(void) {
  script with;
  wc_error error;
  wc_client *client = begin(&with, answer_with_a_kind);
  Widgetd__V1__GetKindRequest request = WIDGETD__V1__GET_KIND_REQUEST__INIT;
  Widgetd__V1__GetKindResponse *answer;
  request.name = "gauge";
  CHECK(wc_call(client, "GetKind", &request, &answer, &error) == WC_OK);
  CHECK_TEXT(with.method, "widgetd.v1.CatalogService/GetKind");
  CHECK_TEXT(answer->kind->name, "gauge");
  CHECK(answer->kind->n_data == 1);
  CHECK_TEXT(answer->kind->data[0]->name, "level");
  CHECK(answer->kind->data[0]->default_value->kind_case == WIDGETD__V1__VALUE__KIND_INT_VALUE);
  wc_free(answer);
  CHECK(wc_call(client, "widgetd.v1.CatalogService/GetKind", &request, &answer, &error) == WC_OK);
  wc_free(answer);
  CHECK(wc_call(client, "ApplyKinds", &request, &answer, &error) == WC_INVALID_ARGUMENT);
  CHECK(strstr(error.message, "widgetd.v1.ApplyKindsRequest") != NULL);
  end(&with, client);
}

static void every_method_of_every_service_is_known(void) {
  const ProtobufCServiceDescriptor *const services[] = {
#include "services.h"
  };
  for (size_t i = 0; i < sizeof services / sizeof *services; i++) {
    CHECK(services[i]->n_methods > 0);
    for (unsigned n = 0; n < services[i]->n_methods; n++) {
      wc_error error;
      wc_method found;
      CHECK(wc_find_method(services[i]->methods[n].name, &found, &error) == WC_OK);
      CHECK_TEXT(found.service, services[i]->name);
      CHECK(found.input == services[i]->methods[n].input);
    }
  }
}

static void a_method_of_a_newer_daemon_is_called_by_its_full_name(void) {
  script with;
  wc_error error;
  uint8_t *answer;
  size_t length;
  wc_client *client = begin(&with, answer_with_a_widget);
  CHECK(wc_call_bytes(client, "NewMethod", NULL, 0, &answer, &length, &error)
        == WC_UNIMPLEMENTED);
  CHECK(wc_call_bytes(client, "widgetd.v2.Other/NewMethod", (const uint8_t *)"abc", 3, &answer,
                      &length, &error)
        == WC_OK);
  CHECK_TEXT(with.method, "widgetd.v2.Other/NewMethod");
  CHECK(with.payload_count == 3 && memcmp(with.payload, "abc", 3) == 0);
  Widgetd__V1__GetWidgetResponse *got =
      widgetd__v1__get_widget_response__unpack(NULL, length, answer);
  CHECK_TEXT(got->widget->id, "clock");
  wc_free(got);
  free(answer);
  end(&with, client);
}

static void refuse(script *with) {
  bytes all = {0};
  while (next_request(with)) {
    append_refusal(&all, with->id, WC_NOT_FOUND, "There is no widget \"clock\". List them.",
                   "WIDGET_NOT_FOUND", 2);
    send_and_free(&with->server, &all);
  }
}

static void an_error_has_code_reason_words_and_particulars(void) {
  script with;
  wc_error error;
  size_t length;
  wc_client *client = begin(&with, refuse);
  CHECK(wc_get(client, "clock", &error) == NULL);
  CHECK(error.code == WC_NOT_FOUND && error.from_daemon && error.retry_milliseconds == 2000);
  CHECK_TEXT(error.reason, "WIDGET_NOT_FOUND");
  CHECK_TEXT(error.message, "There is no widget \"clock\". List them.");
  CHECK_TEXT(wc_error_metadata(&error, "widget_id"), "clock");
  CHECK(wc_error_metadata(&error, "none") == NULL);
  CHECK_TEXT(wc_code_name(error.code), "NOT_FOUND");
  const uint8_t *raw = wc_last_status(client, &length);
  Google__Rpc__Status *status = google__rpc__status__unpack(NULL, length, raw);
  CHECK(status != NULL && status->code == 5 && status->n_details == 2);
  wc_free(status);
  CHECK(wc_delete(client, "clock", NULL) == WC_NOT_FOUND);
  end(&with, client);
}

static void a_violation_is_told_once(void) {
  wc_error error;
  uint8_t packed[256];
  Google__Rpc__BadRequest__FieldViolation named = GOOGLE__RPC__BAD_REQUEST__FIELD_VIOLATION__INIT;
  Google__Rpc__BadRequest__FieldViolation other = GOOGLE__RPC__BAD_REQUEST__FIELD_VIOLATION__INIT;
  Google__Rpc__BadRequest__FieldViolation *violations[] = {&named, &other};
  Google__Rpc__BadRequest request = GOOGLE__RPC__BAD_REQUEST__INIT;
  Google__Protobuf__Any any = GOOGLE__PROTOBUF__ANY__INIT, *details[] = {&any};
  Google__Rpc__Status status = GOOGLE__RPC__STATUS__INIT;
  named.field = "name";
  named.description = "It is empty.";
  other.field = "id";
  other.description = "It is too long.";
  request.n_field_violations = 2;
  request.field_violations = violations;
  any.type_url = "type.googleapis.com/google.rpc.BadRequest";
  any.value.len = google__rpc__bad_request__pack(&request, packed);
  any.value.data = packed;
  status.code = 3;
  status.message = "name: It is empty.";
  status.n_details = 1;
  status.details = details;
  CHECK(wc_fail_status(&error, &status) == WC_INVALID_ARGUMENT);
  CHECK_TEXT(error.message, "name: It is empty.; id: It is too long.");
}

static void refuse_at_length(script *with) {
  bytes all = {0};
  char words[4000] = "x";
  for (int i = 0; i < 1300; i++) strcat(words, "\xe2\x82\xac");
  while (next_request(with)) {
    append_refusal(&all, with->id, 99, words, words, 0);
    send_and_free(&with->server, &all);
  }
}

static void long_texts_are_cut_between_characters(void) {
  script with;
  wc_error error;
  wc_client *client = begin(&with, refuse_at_length);
  CHECK(wc_delete(client, "clock", &error) == WC_UNKNOWN);
  CHECK(strlen(error.message) == 1 + 1022 / 3 * 3 && strlen(error.reason) == 1 + 62 / 3 * 3);
  end(&with, client);
}

static pthread_barrier_t slow;

static void answer_late(script *with) {
  bytes all = {0};
  CHECK(next_request(with));
  pthread_barrier_wait(&slow);
  Widgetd__V1__DeleteWidgetResponse late = WIDGETD__V1__DELETE_WIDGET_RESPONSE__INIT;
  late.revision = 111;
  append_answer(&all, with->id, &late.base);
  CHECK(next_request(with));
  late.revision = 222;
  append_answer(&all, with->id, &late.base);
  send_and_free(&with->server, &all);
  next_request(with);
}

static void a_late_answer_is_skipped(void) {
  script with;
  wc_error error;
  pthread_barrier_init(&slow, NULL, 2);
  wc_client *client = begin(&with, answer_late);
  Widgetd__V1__DeleteWidgetRequest request = WIDGETD__V1__DELETE_WIDGET_REQUEST__INIT;
  Widgetd__V1__DeleteWidgetResponse *answer;
  wc_set_timeout(client, 20);
  CHECK(wc_call(client, "DeleteWidget", &request, &answer, &error) == WC_DEADLINE_EXCEEDED);
  CHECK(!error.from_daemon && answer == NULL && strstr(error.message, "20 ms") != NULL);
  pthread_barrier_wait(&slow);
  wc_set_timeout(client, 0);
  CHECK(wc_call(client, "DeleteWidget", &request, &answer, &error) == WC_OK);
  CHECK(answer->revision == 222 && with.timeout == 0);
  wc_free(answer);
  wc_set_timeout(client, -1);
  CHECK(wc_call(client, "DeleteWidget", &request, &answer, &error) == WC_DEADLINE_EXCEEDED);
  end(&with, client);
  pthread_barrier_destroy(&slow);
}

static void hang_up_and_come_back(script *with) {
  bytes all = {0};
  for (int i = 0; i < 2; i++) {
    CHECK(next_request(with));
    append_frame(&all, with->id, WC_FRAME_RESPONSE, 0, NULL, 0);
    send_and_free(&with->server, &all);
    fake_hang_up(&with->server);
    pthread_barrier_wait(&slow);
    fake_accept(&with->server);
  }
  CHECK(next_request(with));
}

static void a_lost_connection_is_made_again_by_the_next_call(void) {
  script with;
  wc_error error;
  pthread_barrier_init(&slow, NULL, 2);
  wc_client *client = begin(&with, hang_up_and_come_back);
  CHECK(wc_delete(client, "a", &error) == WC_OK);
  pthread_barrier_wait(&slow);
  CHECK(wc_delete(client, "a", &error) == WC_OK);
  pthread_barrier_wait(&slow);
  /* The connection is lost after the request was sent, so the result is unknown. */
  CHECK(wc_delete(client, "a", &error) == WC_UNAVAILABLE);
  CHECK_TEXT(error.reason, "CONNECTION_LOST");
  CHECK(strstr(error.message, "request_id") != NULL);
  end(&with, client);
  pthread_barrier_destroy(&slow);
}

static void wrong_calls_are_refused_before_they_are_sent(void) {
  script with;
  wc_error error;
  void *answer;
  wc_client *client = begin(&with, take_and_answer_empty);
  Widgetd__V1__GetWidgetRequest get = WIDGETD__V1__GET_WIDGET_REQUEST__INIT;
  Widgetd__V1__WatchWidgetsRequest watch = WIDGETD__V1__WATCH_WIDGETS_REQUEST__INIT;
  CHECK(wc_call(client, "GetWidgets", &get, &answer, &error) == WC_UNIMPLEMENTED);
  CHECK(wc_call(client, "other.Service/GetWidget", &get, &answer, &error) == WC_UNIMPLEMENTED);
  CHECK(wc_call(client, "DeleteWidget", &get, &answer, &error) == WC_INVALID_ARGUMENT);
  CHECK(strstr(error.message, "widgetd.v1.DeleteWidgetRequest") != NULL);
  CHECK(wc_call(client, "WatchWidgets", &watch, &answer, &error) == WC_INVALID_ARGUMENT);
  CHECK(strstr(error.message, "wc_watch_new") != NULL);
  char *ids[] = {NULL};
  Widgetd__V1__SetPresenceRequest presence = WIDGETD__V1__SET_PRESENCE_REQUEST__INIT;
  presence.n_ids = 1;
  presence.ids = ids;
  CHECK(wc_call(client, "SetPresence", &presence, &answer, &error) == WC_INVALID_ARGUMENT);
  char *large = malloc(WC_FRAME_BYTES_MAX + 2);
  memset(large, 'x', WC_FRAME_BYTES_MAX + 1);
  large[WC_FRAME_BYTES_MAX + 1] = 0;
  get.id = large;
  CHECK(wc_call(client, "GetWidget", &get, &answer, &error) == WC_RESOURCE_EXHAUSTED);
  CHECK_TEXT(error.reason, "REQUEST_TOO_LARGE");
  large[WC_FRAME_BYTES_MAX - 200] = 0;
  /* The largest allowed request is sent, although the kernel takes it in pieces. */
  CHECK(wc_call(client, "GetWidget", &get, &answer, &error) == WC_OK);
  CHECK(with.id == 1);
  wc_free(answer);
  free(large);
  CHECK(wc_stream_open(with.server.path, "GetWidget", &get, 0, &error) == NULL);
  watch.resume_token = token_of("t");
  CHECK(wc_watch_new(with.server.path, &watch, 0, NULL, NULL, &error) == NULL);
  CHECK(strstr(error.message, "WC_WATCH_NO_COPY") != NULL);
  end(&with, client);
}

static void the_socket_is_found(void) {
  wc_error error;
  fake server = fake_start();
  setenv("WIDGETD_SOCKET", server.path, 1);
  wc_client *client = wc_connect(NULL, &error);
  CHECK(client != NULL);
  CHECK_TEXT(wc_socket(client), server.path);
  wc_close(client);
  char address[128];
  snprintf(address, sizeof address, "unix:%s", server.path);
  setenv("WIDGETD_SOCKET", "/nonexistent", 1);
  client = wc_connect(address, &error);
  CHECK(client != NULL);
  wc_close(client);
  CHECK(wc_connect(NULL, &error) == NULL && error.code == WC_UNAVAILABLE);
  CHECK(strstr(error.message, "/nonexistent") && strstr(error.message, "is widgetd running"));
  setenv("WIDGETD_SOCKET", "", 1);
  /* $XDG_RUNTIME_DIR/widgetd/widgetd.sock */
  char folder[128], path[160];
  snprintf(folder, sizeof folder, "%s/widgetd", server.folder);
  snprintf(path, sizeof path, "%s/widgetd.sock", folder);
  setenv("XDG_RUNTIME_DIR", server.folder, 1);
  if (access("/run/widgetd/widgetd.sock", F_OK) != 0) {
    CHECK(wc_connect(NULL, &error) == NULL);
    CHECK_TEXT(error.reason, "SOCKET_NOT_FOUND");
    CHECK(strstr(error.message, path) && strstr(error.message, "/run/widgetd/widgetd.sock"));
  }
  CHECK(mkdir(folder, 0700) == 0 && symlink(server.path, path) == 0);
  client = wc_connect(NULL, &error);
  CHECK(client != NULL);
  CHECK_TEXT(wc_socket(client), path);
  wc_close(client);
  unlink(path);
  rmdir(folder);
  char long_path[200];
  memset(long_path, 'x', 199);
  long_path[199] = 0;
  CHECK(wc_connect(long_path, &error) == NULL && error.code == WC_INVALID_ARGUMENT);
  CHECK(strstr(error.message, "at most 103 bytes") != NULL);
  close(server.listener);
  server.listener = -1;
  CHECK(wc_connect(server.path, &error) == NULL);
  CHECK(strstr(error.message, "daemon has ended") != NULL);
  fake_stop(&server);
}

static void values_are_told_as_text(void) {
  char text[64];
  Widgetd__V1__Value values[] = {wc_null(), wc_bool(true), wc_int(-37), wc_double(1.5),
                                 wc_text("h\xc3\xa9llo")};
  const char *expected[] = {"null", "true", "-37", "1.5", "h\xc3\xa9llo"};
  Widgetd__V1__Value *pointers[5];
  for (int i = 0; i < 5; i++) {
    CHECK_TEXT(wc_value_text(&values[i], text, sizeof text), expected[i]);
    pointers[i] = &values[i];
  }
  Widgetd__V1__ListValue items = WIDGETD__V1__LIST_VALUE__INIT;
  Widgetd__V1__Value list = WIDGETD__V1__VALUE__INIT;
  items.n_values = 5;
  items.values = pointers;
  list.kind_case = WIDGETD__V1__VALUE__KIND_LIST_VALUE;
  list.list_value = &items;
  CHECK_TEXT(wc_value_text(&list, text, sizeof text), "[null, true, -37, 1.5, h\xc3\xa9llo]");
  CHECK_TEXT(wc_value_text(&list, text, 28), "[null, true, -37, 1.5, h\xc3\xa9l");
  /* Cut between characters, and nothing after the cut. */
  CHECK_TEXT(wc_value_text(&list, text, 27), "[null, true, -37, 1.5, h\xc3\xa9");
  CHECK_TEXT(wc_value_text(&list, text, 26), "[null, true, -37, 1.5, h");
  CHECK_TEXT(wc_value_text(NULL, text, sizeof text), "null");
  text[0] = 'x';
  wc_value_text(&list, text, 0);
  CHECK(text[0] == 'x');
}

/* Pages with the tokens a, b, c, b, c and so on. */
static void answer_in_a_circle(script *with) {
  for (int pages = 0; next_request(with); pages++) {
    bytes all = {0};
    Widgetd__V1__ListWidgetsResponse answer = WIDGETD__V1__LIST_WIDGETS_RESPONSE__INIT;
    answer.next_page_token = pages == 0 ? "a" : pages % 2 == 1 ? "b" : "c";
    append_answer(&all, with->id, &answer.base);
    send_and_free(&with->server, &all);
  }
}

static bool take_widget(const Widgetd__V1__Widget *widget, void *context) {
  (void)widget, (void)context;
  return true;
}

static void a_list_without_end_is_an_error(void) {
  script with;
  wc_error error;
  wc_client *client = begin(&with, answer_in_a_circle);
  CHECK(wc_list(client, NULL, take_widget, NULL, &error) == WC_INTERNAL);
  CHECK_TEXT(error.reason, "PROTOCOL_VIOLATION");
  CHECK(with.id < 20);
  end(&with, client);
}

int main(void) {
  TEST(a_call_sends_its_request_and_gives_the_answer);
  TEST(the_short_calls_say_what_they_are_asked_to);
  TEST(kinds_are_called_for_by_their_short_names);
  TEST(every_method_of_every_service_is_known);
  TEST(a_method_of_a_newer_daemon_is_called_by_its_full_name);
  TEST(an_error_has_code_reason_words_and_particulars);
  TEST(a_violation_is_told_once);
  TEST(long_texts_are_cut_between_characters);
  TEST(a_late_answer_is_skipped);
  TEST(a_lost_connection_is_made_again_by_the_next_call);
  TEST(wrong_calls_are_refused_before_they_are_sent);
  TEST(the_socket_is_found);
  TEST(values_are_told_as_text);
  TEST(a_list_without_end_is_an_error);
}
