/* SPDX-License-Identifier: MIT */
/*
 * Text that came from outside, made safe to show: process names, log and container names may hold
 * any byte, and must neither drive a terminal nor break JSON.
 */
#ifndef GP_BASE_UTF8_H
#define GP_BASE_UTF8_H

#include "base/types.h"

/* Length of the UTF-8 sequence at text (len > 0) and its code point, or 0 if it is not one. */
size_t gp_utf8_next(const char *text, size_t len, u32 *code);

/* Replaces control characters (C0, DEL, C1) and bytes that are not UTF-8 by '?', in place. */
void gp_text_make_safe(char *text);

#endif
