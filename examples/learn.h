/* SPDX-License-Identifier: MIT */
/*
 * Training whose result can be compared, bit by bit: every kernel holds the whole GPU for 20 ms and
 * continues with the weights of the one before. Needs a GPU that computes.
 */
#ifndef GP_EXAMPLE_LEARN_H
#define GP_EXAMPLE_LEARN_H

#include "example.h"

/* One kernel after the other, two submitted at a time. A line of the samples has the checksum of
 * the weights after that step: equal in every run, however often it was interrupted. */
void learn_train(struct example *example, hipStream_t stream);

#endif
