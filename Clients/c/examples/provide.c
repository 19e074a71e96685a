/* Provides widgets of the kind "loadavg". A click on such a widget measures the load again.
 *   cc provide.c $(pkg-config --cflags --libs widgetclient) -o provide && ./provide
 * Only root and the daemon's user may do this. The program ends with the session, or if the daemon
 * does not answer: it does not reconnect. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <widgetclient.h>

static Widgetd__V1__Value load;
static Widgetd__V1__WidgetPatch__SetDataEntry entry =
    WIDGETD__V1__WIDGET_PATCH__SET_DATA_ENTRY__INIT;
static Widgetd__V1__WidgetPatch__SetDataEntry *entries[] = {&entry};
static Widgetd__V1__WidgetPatch patch = WIDGETD__V1__WIDGET_PATCH__INIT;

static void measure(void) {
  double one = 0;
  getloadavg(&one, 1);
  load = wc_double(one);
  entry.key = "one";
  entry.value = &load;
  patch.n_set_data = 1;
  patch.set_data = entries;
}

/* Each frame that is sent renews the lease, which lasts 15 s. The daemon answers a keep_alive. */
static wc_code keep_alive(wc_stream *stream, wc_error *error) {
  Widgetd__V1__ProvideKeepAlive alive = WIDGETD__V1__PROVIDE_KEEP_ALIVE__INIT;
  Widgetd__V1__ProvideRequest request = WIDGETD__V1__PROVIDE_REQUEST__INIT;
  request.frame_case = WIDGETD__V1__PROVIDE_REQUEST__FRAME_KEEP_ALIVE;
  request.keep_alive = &alive;
  return wc_stream_send(stream, &request, error);
}

static wc_code declare(wc_stream *stream, wc_error *error) {
  Widgetd__V1__Value zero = wc_double(0);
  Widgetd__V1__Field one = WIDGETD__V1__FIELD__INIT, *data[] = {&one};
  one.name = "one";
  one.type = "double";
  one.default_value = &zero;
  Widgetd__V1__EventType click = WIDGETD__V1__EVENT_TYPE__INIT, *events[] = {&click};
  click.name = "click";
  Widgetd__V1__Kind kind = WIDGETD__V1__KIND__INIT, *kinds[] = {&kind};
  kind.name = "loadavg";
  kind.n_data = 1;
  kind.data = data;
  kind.n_events = 1;
  kind.events = events;
  Widgetd__V1__ProvideKinds declaration = WIDGETD__V1__PROVIDE_KINDS__INIT;
  declaration.n_kinds = 1;
  declaration.kinds = kinds;
  Widgetd__V1__ProvideRequest request = WIDGETD__V1__PROVIDE_REQUEST__INIT;
  request.frame_case = WIDGETD__V1__PROVIDE_REQUEST__FRAME_KINDS;
  request.kinds = &declaration;
  return wc_stream_send(stream, &request, error);
}

static wc_code answer(wc_stream *stream, const Widgetd__V1__DataRequest *asked, wc_error *error) {
  Widgetd__V1__ProvideAnswer answer = WIDGETD__V1__PROVIDE_ANSWER__INIT;
  measure();
  answer.data_request_id = asked->id;
  answer.outcome_case = WIDGETD__V1__PROVIDE_ANSWER__OUTCOME_PATCH;
  answer.patch = &patch;
  Widgetd__V1__ProvideRequest request = WIDGETD__V1__PROVIDE_REQUEST__INIT;
  request.frame_case = WIDGETD__V1__PROVIDE_REQUEST__FRAME_ANSWER;
  request.answer = &answer;
  return wc_stream_send(stream, &request, error);
}

static wc_code handle(wc_stream *stream, const Widgetd__V1__Event *event, wc_error *error) {
  Widgetd__V1__ProvidedUpdate change = WIDGETD__V1__PROVIDED_UPDATE__INIT, *changes[] = {&change};
  measure();
  change.widget_id = event->widget_id;
  change.patch = &patch;
  Widgetd__V1__ProvideUpdate update = WIDGETD__V1__PROVIDE_UPDATE__INIT;
  update.n_updates = 1;
  update.updates = changes;
  Widgetd__V1__ProvideRequest request = WIDGETD__V1__PROVIDE_REQUEST__INIT;
  request.frame_case = WIDGETD__V1__PROVIDE_REQUEST__FRAME_UPDATE;
  request.update = &update;
  if (wc_stream_send(stream, &request, error) != WC_OK) return error->code;
  /* Until it is acknowledged, the daemon keeps the event for the next session. */
  Widgetd__V1__ProvideAcknowledge handled = WIDGETD__V1__PROVIDE_ACKNOWLEDGE__INIT;
  handled.sequence = event->sequence;
  request.frame_case = WIDGETD__V1__PROVIDE_REQUEST__FRAME_ACKNOWLEDGE;
  request.acknowledge = &handled;
  return wc_stream_send(stream, &request, error);
}

int main(void) {
  wc_error error;
  Widgetd__V1__ProvideOpen open = WIDGETD__V1__PROVIDE_OPEN__INIT;
  open.provider = "loadavg";
  Widgetd__V1__ProvideRequest request = WIDGETD__V1__PROVIDE_REQUEST__INIT;
  request.frame_case = WIDGETD__V1__PROVIDE_REQUEST__FRAME_OPEN;
  request.open = &open;
  wc_stream *stream = wc_stream_open(NULL, "Provide", &request, 0, &error);
  wc_code code = stream == NULL ? error.code : declare(stream, &error);
  bool waits_for_answer = false;
  while (code == WC_OK) {
    Widgetd__V1__ProvideResponse *frame = NULL;
    code = wc_stream_next(stream, &frame, 5000, &error);
    if (code == WC_DEADLINE_EXCEEDED && wc_stream_fd(stream) >= 0) {
      if (waits_for_answer) {
        /* A daemon that hangs keeps the connection. */
        strcpy(error.message, "the daemon does not answer; continue or restart it");
        break;
      }
      code = keep_alive(stream, &error);
      waits_for_answer = true;
      continue;
    }
    waits_for_answer = false;
    if (code != WC_OK || frame == NULL) break; /* The session is over. */
    if (frame->frame_case == WIDGETD__V1__PROVIDE_RESPONSE__FRAME_DATA_REQUEST)
      code = answer(stream, frame->data_request, &error);
    else if (frame->frame_case == WIDGETD__V1__PROVIDE_RESPONSE__FRAME_EVENT)
      code = handle(stream, frame->event, &error);
    else if (frame->frame_case == WIDGETD__V1__PROVIDE_RESPONSE__FRAME_RESULT &&
             frame->result->error != NULL)
      fprintf(stderr, "provide: %s\n", frame->result->error->message);
    wc_free(frame);
  }
  if (code != WC_OK) fprintf(stderr, "provide: %s\n", error.message);
  wc_stream_close(stream);
  return code == WC_OK ? 0 : 1;
}
