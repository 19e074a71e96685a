#include "protocols.h"

#include <stddef.h>

const struct protocol *const protocols[] = {&protocolTTRPC, &protocolRESP, &protocolFloor, NULL};
