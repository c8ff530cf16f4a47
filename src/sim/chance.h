/* SPDX-License-Identifier: MIT */
/* Random times, drawn with integers so that every machine draws the same. */
#ifndef GP_SIM_CHANCE_H
#define GP_SIM_CHANCE_H

#include "base/core.h"

/* A time between two events that come at random, `mean` on average. */
static inline u64 gp_sim_exponential(u64 *state, u64 mean)
{
	/* -ln(u): leading zeros are the whole part of -log2(u), the bits behind its fraction, taken
	 * as a straight line between two powers of two (at most 6 % of an octave off). */
	u64 u = (*state = gp_mix(*state)) | 1;
	u32 zeros = (u32)__builtin_clzll(u);
	u64 fraction = (u << zeros << 1) >> 48;         /* 0..65535 between two powers of two */
	u64 log2 = ((u64)(zeros + 1) << 16) - fraction; /* -log2(u) * 65536 */
	u64 natural = log2 * 45426 / 65536;             /* * ln 2 */

	return gp_scale(mean, natural, 65536);
}

#endif
