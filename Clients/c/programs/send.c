/*
 * widgetd-send: sends an event as `widgetctl send` does, for bars and hotkeys that start a program
 * at every click. It makes one connection and one call. Only widgetctl waits for outcomes, uploads
 * files and suggests names.
 */
#include "programs.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_DEFAULT "30s"

enum { NODE, VALUE, FORCE, SOCKET, TIMEOUT, REQUEST_ID, HELP, VERSION };

static const option options[] = {
    [NODE] = {0, "node", "id"},
    [VALUE] = {0, "value", "name=value"},
    [FORCE] = {0, "force", NULL},
    [SOCKET] = {0, "socket", "path"},
    [TIMEOUT] = {0, "timeout", "duration"},
    [REQUEST_ID] = {0, "request-id", "id"},
    [HELP] = {'h', "help", NULL},
    [VERSION] = {0, "version", NULL},
};

static const char help[] =
    "Send an event to a widget of widgetd, like `widgetctl send`, with little time and memory.\n"
    "\n"
    "usage: widgetd-send [options] ID EVENT [KEY=VALUE ...]\n"
    "\n"
    "  widgetd-send counter click\n"
    "  widgetd-send todo press --node clear\n"
    "  widgetd-send todo change --node search value==milk\n"
    "  widgetd-send todo submit --node new --value title=='Buy milk'\n"
    "\n"
    "key=value takes the value as JSON if it is JSON (n=1, n=1.0, on=true, list='[1,2]'), else as\n"
    "text. A value that begins with { must be JSON. key==text is always text, key:=json must be\n"
    "JSON, and key=@file and key:=@file read a file.\n"
    "\n"
    "      --node ID           The node of the event, such as a button.\n"
    "      --value NAME=VALUE  The value of an input of the form; may be repeated.\n"
    "      --force             Send even to a hidden or disabled widget. Only for root and the\n"
    "                          daemon's user.\n"
    "      --socket PATH       The daemon's socket. Default: $WIDGETD_SOCKET,\n"
    "                          $XDG_RUNTIME_DIR/widgetd/widgetd.sock, /run/widgetd/widgetd.sock.\n"
    "      --timeout DURATION  Give up after this long; 0 is never. Default: " TIMEOUT_DEFAULT ".\n"
    "      --request-id ID     Id for a safe retry: within ten minutes, the daemon takes an event\n"
    "                          with this id only once.\n"
    "      --version           Print the version, and exit.\n"
    "  -h, --help              Print this help, and exit.\n"
    "\n"
    "Exit status: 0 sent, 2 wrong usage, 3 no such widget, node or file, 5 hidden or disabled,\n"
    "6 permission denied, 7 no daemon, 8 timeout, 9 limit exceeded, 10 invalid value,\n"
    "1 any other error.\n";

/* Assignments in order. No key is repeated. */
typedef struct assignments {
  assignment *list;
  size_t count;
} assignments;

static void assign(assignments *to, assignment added) {
  for (size_t i = 0; i < to->count; i++) {
    if (strcmp(to->list[i].key, added.key) == 0)
      fail_usage("%s is given twice; give it one value", added.key);
  }
  assignment *list = keep((to->count + 1) * sizeof *list);
  if (to->count > 0) memcpy(list, to->list, to->count * sizeof *list);
  list[to->count++] = added;
  to->list = list;
}

static Widgetd__V1__Value *map_of(const assignments *values) {
  Widgetd__V1__Value *result = keep(sizeof *result);
  Widgetd__V1__MapValue *map = keep(sizeof *map);
  widgetd__v1__value__init(result);
  widgetd__v1__map_value__init(map);
  result->kind_case = WIDGETD__V1__VALUE__KIND_MAP_VALUE;
  result->map_value = map;
  map->entries = keep(values->count * sizeof *map->entries);
  for (size_t i = 0; i < values->count; i++) {
    Widgetd__V1__MapValue__EntriesEntry *entry = keep(sizeof *entry);
    widgetd__v1__map_value__entries_entry__init(entry);
    entry->key = values->list[i].key;
    entry->value = values->list[i].value;
    map->entries[map->n_entries++] = entry;
  }
  return result;
}

static void set_payload(Widgetd__V1__SendEventRequest *request, const assignments *payload) {
  request->payload = keep(payload->count * sizeof *request->payload);
  for (size_t i = 0; i < payload->count; i++) {
    Widgetd__V1__SendEventRequest__PayloadEntry *entry = keep(sizeof *entry);
    widgetd__v1__send_event_request__payload_entry__init(entry);
    entry->key = payload->list[i].key;
    entry->value = payload->list[i].value;
    request->payload[request->n_payload++] = entry;
  }
}

static int milliseconds(int64_t nanoseconds) {
  int64_t rounded = nanoseconds / 1000000 + (nanoseconds % 1000000 != 0);
  return rounded > INT_MAX ? 0 : (int)rounded;
}

int main(int count, char **words) {
  begin("widgetd-send", count, words);
  arguments left = {.count = count, .at = 1, .words = words, .options = options,
                    .n_options = sizeof options / sizeof *options};
  Widgetd__V1__SendEventRequest request = WIDGETD__V1__SEND_EVENT_REQUEST__INIT;
  assignments payload = {0}, values = {0};
  const char *socket = NULL, *timeout = TIMEOUT_DEFAULT;
  char *id = NULL, *name = NULL, *value;
  request.client = "widgetd-send";
  for (int found; (found = next_argument(&left, &value)) != ARGUMENTS_END;) {
    switch (found) {
    case NODE: request.node_id = value; break;
    case VALUE: assign(&values, read_assignment(value, "--value <name=value>")); break;
    case FORCE: request.force = true; break;
    case SOCKET: socket = value; break;
    case TIMEOUT: timeout = value; break;
    case REQUEST_ID: request.request_id = value; break;
    case HELP: print(&(text){.bytes = (char *)help, .count = sizeof help - 1}); return STATUS_OK;
    case VERSION: print_version(); return STATUS_OK;
    default:
      if (id == NULL) check_id(id = value);
      else if (name == NULL) name = value;
      else assign(&payload, read_assignment(value, "<key=value>"));
    }
  }
  if (id == NULL) fail_usage("Missing expected argument '<id>'");
  if (name == NULL) fail_usage("Missing expected argument '<event>'");
  int64_t limit = duration_option("--timeout", timeout);
  if (values.count > 0) {
    for (size_t i = 0; i < payload.count; i++)
      if (strcmp(payload.list[i].key, "values") == 0)
        fail_usage("--value sets values=...; leave out values=...");
    assign(&payload, (assignment){"values", map_of(&values)});
  }
  request.widget_id = id;
  request.name = name;
  set_payload(&request, &payload);

  wc_error error;
  Widgetd__V1__SendEventResponse *answer;
  wc_client *client = wc_connect_within(socket, milliseconds(limit), &error);
  if (client == NULL) fail_error(&error, socket);
  wc_code code = wc_call(client, "SendEvent", &request, &answer, &error);
  wc_close(client);
  if (code != WC_OK) fail_error(&error, socket);
  text line = {0};
  addf(&line, "%s ", id);
  add_safe(&line, name);
  addf(&line, " sent (event %llu)\n", (unsigned long long)answer->sequence);
  wc_free(answer);
  print(&line);
  free(line.bytes);
  return STATUS_OK;
}
