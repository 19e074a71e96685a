/* Sends an event to a widget. With --create, a button is made first if there is no such widget.
 *   cc send.c $(pkg-config --cflags --libs widgetclient) -o send && ./send cpu click */
#include <stdio.h>
#include <string.h>
#include <widgetclient.h>

static int fail(wc_client *client, const wc_error *error) {
  fprintf(stderr, "send: %s [%s%s%s]\n", error->message, wc_code_name(error->code),
          error->reason[0] == 0 ? "" : " ", error->reason);
  wc_close(client);
  return 1;
}

int main(int argc, char **argv) {
  int create = argc > 1 && strcmp(argv[1], "--create") == 0;
  if (argc != 3 + create) {
    fprintf(stderr, "usage: send [--create] ID EVENT\n");
    return 2;
  }
  const char *id = argv[1 + create], *name = argv[2 + create];
  wc_error error;
  wc_client *client = wc_connect(NULL, &error);
  if (client == NULL) return fail(client, &error);
  wc_set_timeout(client, 2000);

  if (create) {
    wc_pair data[] = {{"n", wc_int(0)}, {"text", wc_text("press me")}};
    Widgetd__V1__Widget *widget = wc_create(client, id, "button", data, 2, &error);
    if (widget == NULL && error.code != WC_ALREADY_EXISTS) return fail(client, &error);
    printf("%s %s\n", id, widget == NULL ? "already exists" : "is made");
    wc_free(widget);
  }

  uint64_t sequence;
  wc_pair payload[] = {{"button", wc_int(1)}};
  if (wc_send_event(client, id, name, payload, 1, &sequence, &error) != WC_OK)
    return fail(client, &error);
  printf("%s to %s is event %llu\n", name, id, (unsigned long long)sequence);
  wc_close(client);
  return 0;
}
