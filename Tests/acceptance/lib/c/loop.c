/* A program with its own event loop: it prints notices, and ends with an error of the watch. With two
 * arguments, the watch has these times for a silent daemon, in milliseconds. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <widgetclient.h>

static void notice(wc_watch *watch, const wc_notice *notice, void *context) {
  if (notice->kind == WC_NOTICE_GAP) printf("gap\n");
  if (notice->kind == WC_NOTICE_RESET) printf("reset %s\n", notice->error->reason);
  if (notice->kind == WC_NOTICE_CONNECTED)
    printf("connected%s to %llu\n", notice->again ? " again" : "",
           (unsigned long long)wc_watch_subscription(watch));
  if (notice->kind == WC_NOTICE_DISCONNECTED) printf("disconnected %s\n", notice->error->reason);
  if (notice->kind == WC_NOTICE_EVENT) printf("event %s\n", notice->event->name);
  if (notice->kind != WC_NOTICE_SETTLED) return;
  size_t count;
  const Widgetd__V1__Widget *const *widgets = wc_watch_widgets(watch, &count);
  printf("%llu:", (unsigned long long)notice->revision);
  for (size_t i = 0; i < count; i++) {
    char text[64];
    printf(" %s=%s", widgets[i]->id,
           wc_value_text(wc_data(widgets[i], "n"), text, sizeof text));
  }
  printf("\n");
  (void)context;
}

int main(int count, char **words) {
  wc_error error;
  Widgetd__V1__WatchWidgetsRequest request = WIDGETD__V1__WATCH_WIDGETS_REQUEST__INIT;
  request.include_events = 1;
  setvbuf(stdout, NULL, _IOLBF, 0);
  wc_watch *watch = wc_watch_new(NULL, &request, 0, notice, NULL, &error);
  if (watch != NULL && count == 3)
    wc_watch_set_liveness(watch, (uint32_t)atoi(words[1]), (uint32_t)atoi(words[2]));
  while (watch != NULL && !wc_watch_is_over(watch)) {
    struct pollfd wanted = {.fd = wc_watch_fd(watch), .events = POLLIN};
    poll(&wanted, 1, -1);
    wc_watch_process(watch, &error);
  }
  printf("%s %s\n", wc_code_name(error.code), error.message);
  wc_watch_free(watch);
  return error.code;
}
