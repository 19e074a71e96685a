/*
 * The frames of a watch's stream, and the notices for each.
 */
#include "watch.h"

#include <stdlib.h>
#include <string.h>

/* Handles the first frame. False if the stream ends. */
static bool opened(wc_watch *watch, uint64_t subscription, uint64_t epoch, uint64_t last_sequence) {
  if (watch->is_open) {
    wc_watch_violation(watch, "a stream was opened twice");
    return false;
  }
  bool other_epoch = watch->has_epoch && watch->epoch != epoch;
  watch->has_epoch = true;
  watch->epoch = epoch;
  if (other_epoch && wc_watch_has_after(watch) && wc_watch_after(watch) != 0) {
    /* The sent number belonged to another epoch, and has no meaning here. */
    wc_error error;
    wc_fail(&error, WC_FAILED_PRECONDITION, "EPOCH_CHANGED",
            "the daemon has a new store, and numbers events from the start; all events that it keeps "
            "follow");
    wc_watch_start_over(watch, &error, true);
    return false;
  }
  watch->is_open = true;
  watch->subscription = subscription;
  watch->attempt = 0;
  watch->was_told_of_loss = false;
  wc_watch_set_after(watch, last_sequence);
  if (watch->mirror != NULL) wc_mirror_begin(watch->mirror, epoch, wc_watch_has_token(watch));
  wc_watch_tell(watch, &(wc_notice){.kind = WC_NOTICE_CONNECTED, .again = watch->was_open});
  watch->was_open = true;
  return true;
}

static void take_events(wc_watch *watch, const Widgetd__V1__EventBatch *batch) {
  for (size_t i = 0; i < batch->n_events && !watch->stopped; i++) {
    const Widgetd__V1__Event *event = batch->events[i];
    if (wc_watch_has_after(watch) && event->sequence <= wc_watch_after(watch)) continue;
    wc_watch_saw(watch, event->sequence);
    wc_watch_tell(watch, &(wc_notice){.kind = WC_NOTICE_EVENT, .event = event});
  }
}

static void take_gap(wc_watch *watch, const Widgetd__V1__EventGap *gap) {
  wc_watch_saw(watch, gap->last_sequence);
  wc_watch_tell(watch, &(wc_notice){.kind = WC_NOTICE_GAP,
                           .first_sequence = gap->first_sequence,
                           .last_sequence = gap->last_sequence});
}

/* Passes a frame to the copy. False if the watch cannot continue after it. */
static bool mirror_took(wc_watch *watch, Widgetd__V1__WatchWidgetsResponse *frame, size_t bytes) {
  wc_error error;
  switch (wc_mirror_take(watch->mirror, frame, bytes, wc_watch_tell, watch)) {
  case WC_MIRROR_OK: return true;
  case WC_MIRROR_SETTLED:
    wc_watch_tell(watch, &(wc_notice){.kind = WC_NOTICE_SETTLED,
                             .revision = wc_mirror_revision(watch->mirror)});
    return true;
  case WC_MIRROR_LOST:
    wc_fail(&error, WC_INTERNAL, "PROTOCOL_VIOLATION",
            "the daemon's changes do not fit what it sent before; all widgets are read again");
    wc_watch_start_over(watch, &error, false);
    return false;
  case WC_MIRROR_TOO_LARGE:
    wc_fail(&error, WC_RESOURCE_EXHAUSTED, "ANSWER_TOO_LARGE",
            "the widgets take more than %zu bytes of memory; select fewer, or allow more with "
            "wc_watch_set_memory_max",
            watch->memory_max);
    break;
  default: wc_fail_memory(&error); break;
  }
  wc_watch_fail(watch, &error);
  return false;
}

/* Takes over a message of WatchWidgets. */
static void take_widgets(wc_watch *watch, Widgetd__V1__WatchWidgetsResponse *frame, size_t bytes) {
  ProtobufCBinaryData token = {0, NULL};
  bool has_new_token = false;
  switch (frame->frame_case) {
  case WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_OPENED:
    opened(watch, frame->opened->subscription_id, frame->opened->epoch,
           frame->opened->last_sequence);
    wc_free(frame);
    return;
  case WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_EVENTS:
    take_events(watch, frame->events);
    wc_free(frame);
    return;
  case WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_GAP:
    take_gap(watch, frame->gap);
    wc_free(frame);
    return;
  case WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_SYNCED:
    has_new_token = true;
    token = frame->synced->resume_token;
    frame->synced->resume_token = (ProtobufCBinaryData){0, NULL};
    break;
  case WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_CHANGES:
    if (frame->changes->more) break;
    has_new_token = true;
    token = frame->changes->resume_token;
    frame->changes->resume_token = (ProtobufCBinaryData){0, NULL};
    break;
  case WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_PROGRESS:
    has_new_token = frame->progress->resume_token.len > 0;
    token = frame->progress->resume_token;
    frame->progress->resume_token = (ProtobufCBinaryData){0, NULL};
    wc_watch_saw(watch, frame->progress->last_sequence);
    break;
  default: break;
  }
  if (has_new_token) watch->is_fruitful = true;
  bool goes_on = true;
  if (watch->mirror != NULL) goes_on = mirror_took(watch, frame, bytes);
  else wc_free(frame);
  if (goes_on && has_new_token) wc_watch_set_token(watch, &token);
  free(token.data);
}

/* Takes over a message of WatchEvents. */
static void take_event_frame(wc_watch *watch, Widgetd__V1__WatchEventsResponse *frame) {
  switch (frame->frame_case) {
  case WIDGETD__V1__WATCH_EVENTS_RESPONSE__FRAME_OPENED:
    opened(watch, frame->opened->subscription_id, frame->opened->epoch,
           frame->opened->after_sequence);
    break;
  case WIDGETD__V1__WATCH_EVENTS_RESPONSE__FRAME_EVENTS:
    watch->is_fruitful = true;
    take_events(watch, frame->events);
    break;
  case WIDGETD__V1__WATCH_EVENTS_RESPONSE__FRAME_GAP: take_gap(watch, frame->gap); break;
  default: break;
  }
  wc_free(frame);
}

static bool is_opening(const wc_watch *watch, const ProtobufCMessage *message) {
  if (watch->widgets != NULL)
    return ((const Widgetd__V1__WatchWidgetsResponse *)message)->frame_case
           == WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_OPENED;
  return ((const Widgetd__V1__WatchEventsResponse *)message)->frame_case
         == WIDGETD__V1__WATCH_EVENTS_RESPONSE__FRAME_OPENED;
}

static void take_message(wc_watch *watch, const uint8_t *bytes, size_t count) {
  ProtobufCMessage *message;
  size_t memory;
  wc_error error;
  if (wc_decode(watch->method.output, bytes, count, WC_MESSAGE_BYTES_MAX, &message,
                &memory, &error) != WC_OK) {
    wc_watch_fail(watch, &error);
    return;
  }
  if (!watch->is_open && !is_opening(watch, message)) {
    wc_free(message);
    wc_watch_violation(watch, "a stream does not begin with `opened`");
    return;
  }
  if (watch->flags & WC_WATCH_FRAMES)
    wc_watch_tell(watch, &(wc_notice){.kind = WC_NOTICE_FRAME, .frame = message});
  if (watch->stopped) wc_free(message);
  else if (watch->widgets != NULL)
    take_widgets(watch, (Widgetd__V1__WatchWidgetsResponse *)message, memory);
  else take_event_frame(watch, (Widgetd__V1__WatchEventsResponse *)message);
}

/* The daemon refused the stream, or ended it with an error. */
static void take_refusal(wc_watch *watch, const wc_error *error) {
  bool compacted = strcmp(error->reason, "REVISION_COMPACTED") == 0;
  bool other_epoch = strcmp(error->reason, "EPOCH_CHANGED") == 0;
  if ((compacted || other_epoch) && (watch->is_open || wc_watch_has_token(watch)))
    wc_watch_start_over(watch, error, other_epoch);
  else if (error->code == WC_UNAVAILABLE) wc_watch_lose(watch, error);
  else wc_watch_fail(watch, error);
}

static void take_frame(wc_watch *watch, const wc_frame *frame) {
  wc_error error;
  free(watch->status);
  watch->status = NULL;
  wc_incoming incoming = wc_incoming_read(frame, WC_WATCH_STREAM_ID, true, &watch->status,
                                          &watch->status_count, &error);
  switch (incoming.kind) {
  case WC_INCOMING_MESSAGE: take_message(watch, incoming.payload, incoming.count); break;
  case WC_INCOMING_END: wc_watch_finish(watch); break;
  case WC_INCOMING_REFUSED: take_refusal(watch, &error); break;
  case WC_INCOMING_VIOLATION: wc_watch_fail(watch, &error); break;
  default: break;
  }
  wc_incoming_done(&incoming);
}

void wc_watch_take_frames(wc_watch *watch) {
  wc_frame frame;
  while (watch->link.fd >= 0 && !watch->stopped) {
    switch (wc_link_next(&watch->link, &frame)) {
    case WC_NEXT_FRAME: take_frame(watch, &frame); break;
    case WC_NEXT_NONE: return;
    case WC_NEXT_TOO_LONG: wc_watch_violation(watch, "a frame is longer than 4 MiB"); return;
    }
  }
}
