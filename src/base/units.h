/* SPDX-License-Identifier: MIT */
/*
 * Durations, sizes and counts: one parser and one printer for each. Options, configuration files,
 * scenarios and reports use these, so "5 ms" has one meaning and one form everywhere.
 *
 * A parser takes a whole string. It returns 0, or -EINVAL and, in `error`, a translated sentence
 * that names the string and says what to write instead. `error` may be NULL.
 */
#ifndef GP_BASE_UNITS_H
#define GP_BASE_UNITS_H

#include "base/core.h"

#define GP_UNITS_ERROR 256 /* size that holds every error sentence for a string of usual length */

/*
 * "250us", "1.5 s", "10min": a number, which may have a fraction, and a unit (ns, us, ms, s, min or
 * m, h, d). Only 0 needs no unit.
 */
int gp_duration_parse(const char *text, u64 min, u64 max, u64 *ns, char error[GP_UNITS_ERROR]);
/* "512MiB": the units are B, KiB, MiB, GiB and TiB. */
int gp_size_parse(const char *text, u64 min, u64 max, u64 *bytes, char error[GP_UNITS_ERROR]);
/* A whole number without a unit. */
int gp_count_parse(const char *text, u64 min, u64 max, u64 *count, char error[GP_UNITS_ERROR]);

/* Text by value: `gp_duration_text(ns).text` is valid until the end of the full expression. */
struct gp_units_text {
	char text[32];
};

/* "850 ns", "11.23 ms", "2.5 s", "20 min"; "unknown" for UINT64_MAX. The parser reads it back. */
struct gp_units_text gp_duration_text(u64 ns);
/* "96 B", "5.0 GiB". */
struct gp_units_text gp_size_text(u64 bytes);

#endif
