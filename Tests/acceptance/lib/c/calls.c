/* Makes calls, and prints their results as lines. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <widgetclient.h>

static void say(const char *what, wc_code code, const wc_error *error) {
  printf("%s %s %s %s\n", what, wc_code_name(code), code == WC_OK ? "-" : error->reason,
         code == WC_OK ? "-" : error->message);
}

static bool count(const Widgetd__V1__Widget *widget, void *context) {
  *(int *)context += widget->id[0] != 0;
  return true;
}

/* The kind of a dial, and a widget of that kind. */
static void kinds(wc_client *client) {
  wc_error error;
  char text[64];
  Widgetd__V1__Value half = wc_double(0.5);
  Widgetd__V1__Field level = WIDGETD__V1__FIELD__INIT, *fields[] = {&level};
  Widgetd__V1__Kind kind = WIDGETD__V1__KIND__INIT, *all[] = {&kind};
  Widgetd__V1__ApplyKindsRequest apply = WIDGETD__V1__APPLY_KINDS_REQUEST__INIT;
  Widgetd__V1__ApplyKindsResponse *applied;
  Widgetd__V1__GetKindRequest get = WIDGETD__V1__GET_KIND_REQUEST__INIT;
  Widgetd__V1__GetKindResponse *got;
  Widgetd__V1__DeleteKindRequest delete = WIDGETD__V1__DELETE_KIND_REQUEST__INIT;
  Widgetd__V1__Binding text_is = WIDGETD__V1__BINDING__INIT;
  Widgetd__V1__NodeTemplate__PropertiesEntry entry =
      WIDGETD__V1__NODE_TEMPLATE__PROPERTIES_ENTRY__INIT;
  Widgetd__V1__NodeTemplate__PropertiesEntry *entries[] = {&entry};
  Widgetd__V1__NodeTemplate root = WIDGETD__V1__NODE_TEMPLATE__INIT;
  Widgetd__V1__ContentTemplate face = WIDGETD__V1__CONTENT_TEMPLATE__INIT, *faces[] = {&face};
  text_is.expression = "'at ' + string(data.level)";
  entry.key = "text";
  entry.value = &text_is;
  root.id = "title";
  root.type = WIDGETD__V1__NODE_TYPE__NODE_TYPE_BUTTON;
  root.n_properties = 1;
  root.properties = entries;
  face.root = &root;
  kind.n_content = 1;
  kind.content = faces;
  level.name = "level";
  level.type = "double";
  level.default_value = &half;
  kind.name = "dial";
  kind.n_data = 1;
  kind.data = fields;
  apply.n_kinds = 1;
  apply.kinds = all;
  apply.provider = "c";
  wc_code code = wc_call(client, "ApplyKinds", &apply, &applied, &error);
  say("apply", code, &error);
  if (code != WC_OK) return;
  printf("%s %d\n", applied->results[0]->name, (int)applied->results[0]->action);
  wc_free(applied);
  get.name = "dial";
  code = wc_call(client, "GetKind", &get, &got, &error);
  say("kind", code, &error);
  if (code != WC_OK) return;
  printf("%s of %s\n", got->kind->data[0]->name, got->kind->provider);
  wc_free(got);
  Widgetd__V1__Widget *widget = wc_create(client, "one", "dial", NULL, 0, &error);
  printf("level %s\n", wc_value_text(wc_data(widget, "level"), text, sizeof text));
  printf("shows %s\n",
         wc_value_text(wc_property(wc_node(widget, NULL), "text"), text, sizeof text));
  wc_free(widget);
  say("press", wc_send_node_event(client, "one", "title", "press", NULL, 0, NULL, &error), &error);
  say("press", wc_send_node_event(client, "one", "tit", "press", NULL, 0, NULL, &error), &error);
  wc_pair wrong = {"level", wc_text("high")};
  say("wrong", wc_set(client, "one", &wrong, 1, &error), &error);
  say("delete", wc_delete(client, "one", &error), &error);
  delete.name = "dial";
  say("delete", wc_call(client, "DeleteKind", &delete, NULL, &error), &error);
  get.name = "dial";
  say("kind", wc_call(client, "GetKind", &get, NULL, &error), &error);
}

int main(int argc, char **argv) {
  wc_error error;
  wc_client *client = wc_connect(NULL, &error);
  if (client == NULL) return say("connect", error.code, &error), 1;
  if (argc > 1) {
    wc_set_timeout(client, atoi(argv[1]));
    say("health", wc_check_health(client, &error), &error);
    wc_close(client);
    return 0;
  }
  say("health", wc_check_health(client, &error), &error);
  wc_pair data[] = {{"n", wc_int(1)}, {"on", wc_bool(true)}, {"text", wc_text("h\303\251")}};
  Widgetd__V1__Widget *widget = wc_create(client, "cpu", "gauge", data, 3, &error);
  printf("created %s %s\n", widget->id, wc_data(widget, "text")->string_value);
  wc_free(widget);
  widget = wc_create(client, "cpu", "gauge", data, 3, &error);
  say("create", widget == NULL ? error.code : WC_OK, &error);
  printf("metadata %s\n", wc_error_metadata(&error, "widget_id"));
  say("hide", wc_hide(client, "cpu", &error), &error);
  say("event", wc_send_event(client, "cpu", "click", NULL, 0, NULL, &error), &error);
  say("toggle", wc_toggle(client, "cpu", &error), &error);
  data[0].value = wc_double(1.5);
  say("set", wc_set(client, "cpu", data, 1, &error), &error);
  widget = wc_get(client, "cpu", &error);
  char text[64];
  printf("read %s %d\n", wc_value_text(wc_data(widget, "n"), text, sizeof text),
         widget->presence->visible);
  wc_free(widget);
  int counted = 0;
  say("list", wc_list(client, NULL, count, &counted, &error), &error);
  Widgetd__V1__GetStatsRequest request = WIDGETD__V1__GET_STATS_REQUEST__INIT;
  Widgetd__V1__GetStatsResponse *stats;
  say("stats", wc_call(client, "GetStats", &request, &stats, &error), &error);
  printf("counted %d of %llu\n", counted, (unsigned long long)stats->widgets);
  wc_free(stats);
  say("delete", wc_delete(client, "cpu", &error), &error);
  say("delete", wc_delete(client, "cpu", &error), &error);
  kinds(client);
  wc_close(client);
  return 0;
}
