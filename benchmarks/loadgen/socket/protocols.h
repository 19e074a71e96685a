// The protocols that are bytes on a socket.
#pragma once

#include "../protocol.h"

extern const struct protocol protocolTTRPC, protocolRESP, protocolFloor;
