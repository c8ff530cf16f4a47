/* SPDX-License-Identifier: MIT */
/*
 * Records of a CSV text of any size (RFC 4180, as profilers write it): quoted fields may hold
 * commas, doubled quotes and line breaks. One pass; a record is bounded, so that a quote that is
 * never closed cannot take the rest of the file with it.
 */
#ifndef GP_BASE_CSV_H
#define GP_BASE_CSV_H

#include "base/diag.h"
#include "base/types.h"

#define GP_CSV_RECORD_MAX (256u << 10)
#define GP_CSV_FIELDS_MAX 1024

struct gp_field {
	const char *text; /* without quotes; NUL-terminated, and may hold NULs */
	size_t len;
};

struct gp_csv_record {
	const struct gp_field *fields;
	size_t count;
	u64 line; /* of its start, from 1 */
};

struct gp_csv_stats {
	u64 bytes, lines, records;
	/* A record with an open quote, or more fields or bytes than fit; its first line is passed
	 * over and reading goes on behind it. */
	u64 damaged;
	u64 first_bad_line;
};

typedef int (*gp_csv_fn)(void *ctx, const struct gp_csv_record *record);

/* 0, the return of the callback, or -errno after an error message. Blank lines are skipped. */
int gp_csv_read(int fd, const char *name, struct gp_diag *diag, gp_csv_fn fn, void *ctx,
		struct gp_csv_stats *stats);

/* A field as a number: all of it, decimal; "12.5" is cut to 12. False when it is not one. */
bool gp_field_u64(const struct gp_field *field, u64 *value);

#endif
