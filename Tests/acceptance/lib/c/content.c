/* Prints the content of each widget, whenever the watch has a complete state. */
#include <stdio.h>
#include <widgetclient.h>

static void notice(wc_watch *watch, const wc_notice *notice, void *context) {
  (void)context;
  if (notice->kind == WC_NOTICE_DISCONNECTED || notice->kind == WC_NOTICE_RESET)
    printf("lost %s\n", notice->error->message);
  if (notice->kind != WC_NOTICE_SETTLED) return;
  size_t count;
  const Widgetd__V1__Widget *const *widgets = wc_watch_widgets(watch, &count);
  printf("%llu:", (unsigned long long)notice->revision);
  for (size_t i = 0; i < count; i++) {
    const Widgetd__V1__Content *content = widgets[i]->content;
    printf(" %s=%s", widgets[i]->id, content == NULL ? "nothing" : content->root_id);
    for (size_t n = 0; content != NULL && n < content->n_nodes; n++) {
      char text[32];
      printf(",%s(%s)", content->nodes[n]->id,
             wc_value_text(wc_property(content->nodes[n], "v"), text, sizeof text));
    }
  }
  printf("\n");
}

int main(void) {
  wc_error error;
  wc_watch *watch = wc_watch_new(NULL, NULL, 0, notice, NULL, &error);
  wc_code code = watch == NULL ? error.code : wc_watch_run(watch, &error);
  printf("%s\n", wc_code_name(code));
  wc_watch_free(watch);
  return code;
}
