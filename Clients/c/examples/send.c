/* Creates a widget if it is not there, changes it, and sends it an event.
 *   cc send.c $(pkg-config --cflags --libs widgetclient) -o send && ./send counter click */
#include <stdio.h>
#include <stdlib.h>
#include <widgetclient.h>

static int fail(wc_client *client, const wc_error *error) {
  fprintf(stderr, "send: %s [%s%s%s]\n", error->message, wc_code_name(error->code),
          error->reason[0] == 0 ? "" : " ", error->reason);
  wc_close(client);
  return 1;
}

int main(int argc, char **argv) {
  const char *id = argc > 1 ? argv[1] : "counter";
  const char *name = argc > 2 ? argv[2] : "click";
  wc_error error;
  wc_client *client = wc_connect(NULL, &error);
  if (client == NULL) return fail(client, &error);
  wc_set_timeout(client, 2000);

  wc_pair data[] = {{"n", wc_int(0)}, {"text", wc_text("press me")}};
  Widgetd__V1__Widget *widget = wc_create(client, id, "button", data, 2, &error);
  if (widget == NULL && error.code != WC_ALREADY_EXISTS) return fail(client, &error);
  if (widget == NULL) printf("%s\n", error.message);
  wc_free(widget);

  uint64_t sequence;
  wc_pair payload[] = {{"button", wc_int(1)}};
  if (wc_send_event(client, id, name, payload, 1, &sequence, &error) != WC_OK)
    return fail(client, &error);
  wc_pair change[] = {{"n", wc_int((int64_t)sequence)}};
  if (wc_set(client, id, change, 1, &error) != WC_OK) return fail(client, &error);
  printf("%s to %s is event %llu\n", name, id, (unsigned long long)sequence);
  wc_close(client);
  return 0;
}
