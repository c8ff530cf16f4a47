/* SPDX-License-Identifier: MIT */
/*
 * A timeline: the JSON of trace events that ui.perfetto.dev and chrome://tracing open. Events
 * stand on tracks, a track is a pid and a tid of the caller's choice. Text is escaped and made
 * valid UTF-8.
 */
#ifndef GP_SHOW_TIMELINE_H
#define GP_SHOW_TIMELINE_H

#include <stdio.h>

#include "base/buf.h"
#include "base/map.h"

#define GP_TIMELINE_TAIL "\n]}\n"

struct gp_timeline {
	struct gp_buf text; /* not yet written to out; without out all of it */
	FILE *out;
	bool any; /* event so far */
};

/* A member of "args": text, or without text a number. */
struct gp_timeline_arg {
	const char *key;
	const char *text;
	size_t len;
	u64 number;
};

struct gp_timeline_event {
	/* 'X' slice, 'B' and 'E' its begin and end, 'i' instant; 's', 't', 'f' flow; 'C' counter,
	 * whose value is its first argument; 'b' and 'e' begin and end of what may overlap. */
	char phase;
	u64 pid, tid;
	const char *name; /* NULL: none */
	size_t name_len;  /* 0: up to the NUL */
	u64 time_ns;
	u64 length_ns;    /* of a slice */
	bool everywhere;  /* an instant across all tracks */
	const char *flow; /* kind and number of a flow, or of 'b' and 'e' */
	u64 flow_id;
	struct gp_timeline_arg args[2]; /* up to the first without a key */
};

/* Writes to out as it goes; NULL: the caller takes the text. */
void gp_timeline_begin(struct gp_timeline *timeline, FILE *out);
void gp_timeline_name_process(struct gp_timeline *timeline, u64 pid, const char *name);
void gp_timeline_name_track(struct gp_timeline *timeline, u64 pid, u64 tid, const char *name);
void gp_timeline_add(struct gp_timeline *timeline, const struct gp_timeline_event *event);

/*
 * Slices of one track must nest. Slices of one kind that may overlap are spread over tracks beside
 * each other.
 */
#define GP_TIMELINE_LANES 8

struct gp_timeline_lanes {
	struct gp_map map; /* (pid, tid) -> ends */
	u64 *ends;
	size_t count, capacity;
	u64 overlaps; /* beyond the lanes, written as 'b' and 'e' */
};

/*
 * Adds the slice on the first lane that is free by then; lanes are the tracks event->tid up to tid
 * + GP_TIMELINE_LANES - 1, called `title`. Sets event->tid. 0; 1 if all lanes are taken, then it
 * has no track for flows; -ENOMEM.
 */
int gp_timeline_slice(struct gp_timeline *timeline, struct gp_timeline_lanes *lanes,
		      const char *title, struct gp_timeline_event *event);
/* A pair of 'b' and 'e': any number of them may overlap. */
void gp_timeline_span(struct gp_timeline *timeline, const struct gp_timeline_event *event, u64 id);
void gp_timeline_lanes_free(struct gp_timeline_lanes *lanes);

/* Closes the JSON. 0, -ENOMEM, or -EIO if the stream failed. */
int gp_timeline_end(struct gp_timeline *timeline);
void gp_timeline_free(struct gp_timeline *timeline);

#endif
