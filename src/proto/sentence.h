/* SPDX-License-Identifier: MIT */
/*
 * What the holder says, in the language of whoever reads it. The holder serves clients of any
 * language, and outlives the one that started it, so it answers in English; its clients know the
 * sentences it may say (the table is made from the sources of holder/ and gpu/) and put them into
 * their own language, with the numbers and names that are in them.
 */
#ifndef GP_PROTO_SENTENCE_H
#define GP_PROTO_SENTENCE_H

#include <stddef.h>

/* Several sentences are joined by "; ". One that is not known stays as it is. What does not fit
 * into `size` bytes is cut off between characters. `out` must not overlap `text`. */
void gp_proto_sentence_translate(const char *text, char *out, size_t size);

#endif
