// The messages of widgetd.v1.WidgetService that a workload sends and reads, for ttrpc and gRPC.
// Field numbers are those of Protos/widgetd/v1.
#pragma once

#include "protocol.h"

/// Each appends one bare message.
void widget_create_request(struct buffer *, const struct sizes *, unsigned index);
void widget_get_request(struct buffer *, const struct sizes *);
void widget_update_request(struct buffer *, const struct sizes *);
void widget_press_request(struct buffer *);
void widget_watch_request(struct buffer *, const struct sizes *, unsigned index);

/// Reads the answer to one of these: the revision, if it is an UpdateWidgetResponse (field 2 of the
/// others is absent).
void widget_read_answer(const uint8_t *bytes, size_t count, struct message *);
/// Reads a WatchWidgetsResponse. A change counts once its last part has come.
void widget_read_frame(const uint8_t *bytes, size_t count, struct message *);
/// Makes it a MESSAGE_BROKEN.
void message_broken(struct message *, const char *why);
