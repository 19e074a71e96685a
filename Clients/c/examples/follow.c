/* Follows a widget, also while the daemon restarts: a line whenever its data changes.
 *   cc follow.c $(pkg-config --cflags --libs widgetclient) -o follow && ./follow clock */
#include <stdio.h>
#include <widgetclient.h>

static void notice(wc_watch *watch, const wc_notice *notice, void *context) {
  (void)watch, (void)context;
  if (notice->kind == WC_NOTICE_DISCONNECTED) fprintf(stderr, "%s\n", notice->error->message);
  if (notice->kind == WC_NOTICE_RESET) fprintf(stderr, "%s\n", notice->error->message);
  if (notice->kind == WC_NOTICE_REMOVED) printf("%s is gone\n", notice->widget->id);
  if (notice->kind != WC_NOTICE_ADDED && notice->kind != WC_NOTICE_UPDATED) return;
  printf("%s", notice->widget->id);
  for (size_t i = 0; i < notice->widget->n_data; i++) {
    char text[256];
    wc_value_text(notice->widget->data[i]->value, text, sizeof text);
    printf(" %s=%s", notice->widget->data[i]->key, text);
  }
  printf("\n");
}

int main(int argc, char **argv) {
  wc_error error = {0};
  setvbuf(stdout, NULL, _IOLBF, 0);
  wc_watch *watch = wc_watch_one(NULL, argc > 1 ? argv[1] : "clock", notice, NULL, &error);
  wc_code code = watch == NULL ? error.code : wc_watch_run(watch, &error);
  if (code != WC_OK) fprintf(stderr, "follow: %s\n", error.message);
  wc_watch_free(watch);
  return code == WC_OK ? 0 : 1;
}
