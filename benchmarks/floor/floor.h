// The frame types of the floor's protocol. The header is ttrpc's: u32be length of the body, u32be
// stream id, u8 type, u8 flags.
#pragma once

enum floor_type {
  floorGet = 0x10,        // body: u32be bytes wanted in the answer (header included), then filler
  // body: 16 digits, u32be bytes wanted in the answer, u32be bytes wanted in the frame of each subscriber
  // (both header included), then filler. Kept, answered, and passed on with the same digits.
  floorPublish = 0x11,
  floorSubscribe = 0x12,  // answered with floorSynced
  floorJoin = 0x13,       // answered with all created widgets, then floorSynced
  floorCreate = 0x14,     // kept; answered
  floorReply = 0x20,
  floorPart = 0x21,
  floorSynced = 0x22,
};
