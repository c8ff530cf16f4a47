/* SPDX-License-Identifier: MIT */
/*
 * The loads of the demonstration: kernels that hold the whole GPU for a fixed time. Times come from
 * the GPU's own clock (events around each request), with the wall clock beside them.
 */
#ifndef GP_EXAMPLE_SPIN_H
#define GP_EXAMPLE_SPIN_H

#include "example.h"

/* Requests of four 0.5 ms kernels, submitted when they arrive whether others are done or not. */
void spin_serve(struct example *example, hipStream_t stream);
/* One 20 ms kernel after the other, two submitted at a time. */
void spin_train(struct example *example, hipStream_t stream);

#endif
