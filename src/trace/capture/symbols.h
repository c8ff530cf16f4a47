/* SPDX-License-Identifier: MIT */
/*
 * Which of the functions that say what KFD does with queues are in the running driver, by the
 * kernel's list of symbols. The compiler may have added to a name (".isra.0"), and several files of
 * the driver have functions of one name: each is then listed with its address.
 */
#ifndef GP_TRACE_CAPTURE_SYMBOLS_H
#define GP_TRACE_CAPTURE_SYMBOLS_H

#include "base/buf.h"

struct gp_capture_symbol {
	const char *name; /* in the text */
	size_t len;
	u64 address;   /* 0 where the kernel hides it */
	bool module;   /* of amdgpu built as a module; else in the kernel itself */
	bool multiple; /* another one has the same name */
};

/* How many patterns there are. */
size_t gp_capture_symbols_wanted(void);
/* Fills `out` from /proc/kallsyms' text, at most `room`; returns how many. */
size_t gp_capture_symbols_find(const char *text, size_t len, struct gp_capture_symbol *out,
			       size_t room);
/* Adds the lines of the driver's functions: of the module, or of the whole kernel if the driver is
 * built in. False when none of them has an address. */
bool gp_capture_symbols_of_driver(const char *text, size_t len, struct gp_buf *out);

#endif
