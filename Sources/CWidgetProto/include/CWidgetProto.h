#ifndef CWIDGETPROTO_H
#define CWIDGETPROTO_H

#include "wp_arena.h"
#include "wp_decode.h"
#include "wp_encode.h"
#include "wp_files.h"
#include "wp_messages.h"

#endif
