/* Follows a widget, even across restarts of the daemon. Prints a line at each change of its
 * data.
 *   cc follow.c $(pkg-config --cflags --libs widgetclient) -o follow && ./follow cpu */
#include <stdio.h>
#include <widgetclient.h>

static void notice(wc_watch *watch, const wc_notice *notice, void *context) {
  const char *id = context;
  size_t count;
  switch (notice->kind) {
  case WC_NOTICE_DISCONNECTED:
    fprintf(stderr, "follow: %s\nfollow: trying again until it answers; Ctrl-C ends this\n",
            notice->error->message);
    break;
  case WC_NOTICE_RESET:
    fprintf(stderr, "follow: %s\n", notice->error->message);
    break;
  case WC_NOTICE_CONNECTED:
    if (notice->again) fprintf(stderr, "follow: connected again\n");
    break;
  case WC_NOTICE_SETTLED:
    wc_watch_widgets(watch, &count);
    if (count == 0) fprintf(stderr, "follow: there is no widget \"%s\"; waiting for it\n", id);
    break;
  case WC_NOTICE_REMOVED:
    printf("%s is gone\n", id);
    break;
  case WC_NOTICE_ADDED:
  case WC_NOTICE_UPDATED:
    printf("%s", id);
    for (size_t i = 0; i < notice->widget->n_data; i++) {
      char text[256];
      wc_value_text(notice->widget->data[i]->value, text, sizeof text);
      printf(" %s=%s", notice->widget->data[i]->key, text);
    }
    printf("\n");
    break;
  default:
    break;
  }
}

int main(int argc, char **argv) {
  wc_error error = {0};
  char *id = argc > 1 ? argv[1] : "cpu";
  setvbuf(stdout, NULL, _IOLBF, 0); /* each line at once, also into a pipe */
  wc_watch *watch = wc_watch_one(NULL, id, notice, id, &error);
  wc_code code = watch == NULL ? error.code : wc_watch_run(watch, &error);
  if (code != WC_OK) fprintf(stderr, "follow: %s\n", error.message);
  wc_watch_free(watch);
  return code == WC_OK ? 0 : 1;
}
