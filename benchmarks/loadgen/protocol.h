// The protocol of one kind of server: the bytes of requests, and the meaning of answers for a workload. A workload
// knows no protocol, and a protocol knows no workload, so all peers have the same loop.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"

/// The sizes of requests and answers, and the widget.
struct sizes {
  size_t payload;         // bytes of user data in a widget, 16 at least
  size_t floor_request;   // bytes of a unary request to the floor, header included
  size_t floor_response;  // bytes of its answer
  size_t floor_frame;     // bytes of a published frame
  unsigned widget;        // the number of the widget that is read or changed
  unsigned keys;          // widgetd: data keys of a widget; updates change one of them
  bool selects;           // widgetd: each subscriber has another label selector, which all select
  bool excludes;          // widgetd: each subscriber selects the widget with its own number, and no other
  bool presses;           // widgetd: an update is a press of the button of the widget "card"
};

enum message_kind {
  MESSAGE_INCOMPLETE,  // more bytes are needed
  MESSAGE_OTHER,       // no workload waits for it
  MESSAGE_REPLY,       // the answer to call number `call` of this connection
  MESSAGE_PART,        // a part of the state that a joiner reads
  MESSAGE_SYNCED,      // the subscription is open, or the joiner has the whole state
  MESSAGE_CHANGE,      // everything up to `position` is now visible to this subscriber
  MESSAGE_BROKEN,      // invalid bytes; `text` has the reason
};

/// One message from a server.
struct message {
  enum message_kind kind;
  const uint8_t *bytes;  // its first byte, header included
  size_t length;      // its number of bytes
  uint64_t call;      // REPLY: the number of its call, from 0
  uint64_t position;  // the server's count of updates at this point; see protocol.counts_updates
  bool failed;        // REPLY: the answer is an error, in `text`
  char text[200];
};

/// The state of a connection's parser between messages.
struct parser {
  uint64_t replies;       // in-order protocols: the number of replies
  uint64_t elements_left; // RESP: elements of a long array still to come
};

/// The placeholder in a template that the number of the update replaces, as 16 hex digits.
#define SEQUENCE_PLACE "0123456789abcdef"
enum { sequenceDigits = 16 };

struct protocol {
  const char *name;
  /// Bytes 4 to 7 of a request are a big-endian stream id: odd, increasing by 2 with each call.
  bool framed;
  /// True if calls of one connection are carried out in the order in which they were sent.
  bool ordered;
  /// True if positions are the payload's own sequence number; false if they are revisions, whose
  /// distance from the revision before the first update counts updates.
  bool counts_updates;
  /// Each appends one request. All but `subscribe` and `join` are calls and get one REPLY.
  void (*create)(struct buffer *, const struct sizes *, unsigned index);
  void (*get)(struct buffer *, const struct sizes *);
  void (*update)(struct buffer *, const struct sizes *);   // changes the state that `get` reads
  void (*publish)(struct buffer *, const struct sizes *);  // the same, seen by subscribers
  /// SYNCED, then CHANGEs. Each subscriber has another index.
  void (*subscribe)(struct buffer *, const struct sizes *, unsigned index);
  void (*join)(struct buffer *);                           // PARTs, then SYNCED
  /// Reads the first message of `count` bytes.
  void (*parse)(struct parser *, const uint8_t *bytes, size_t count, struct message *);
};

/// The protocols of this program, the default first; ends with NULL.
extern const struct protocol *const protocols[];

/// The length of a frame's header, and its fields, for ttrpc and the floor.
enum { frameHeaderBytes = 10 };
void frame_append(struct buffer *, uint32_t stream, uint8_t type, uint8_t flags,
                  const void *body, size_t count);
uint32_t read_u32be(const uint8_t *bytes);
/// Reads `sequenceDigits` hex digits.
uint64_t read_sequence(const uint8_t *digits);
/// Fills `count` bytes: the placeholder, then filler.
void fill_payload(uint8_t *bytes, size_t count);
