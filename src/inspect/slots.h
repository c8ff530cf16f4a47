/* SPDX-License-Identifier: MIT */
/*
 * The hardware queue slots (`gpreempt hqd`) and the queue descriptors (`gpreempt mqd`) as read at
 * one moment, live or from a file, with the pid of each slot where it can be determined. An
 * inactive slot keeps the registers of an earlier queue: they are stale and describe no queue.
 */
#ifndef GP_INSPECT_SLOTS_H
#define GP_INSPECT_SLOTS_H

#include "gpu/gpu.h"
#include "inspect/kfd_input.h"

enum gp_inspect_slot_view { GP_VIEW_SLOTS, GP_VIEW_DESCRIPTORS };

struct gp_inspect_slots {
	enum gp_inspect_slot_view view;
	struct gp_kfd_slot_list list;
	char source[4096];    /* file the slots come from */
	char pids_from[4096]; /* file the pids come from; "" = pids are unknown */
	bool incomplete;      /* one of the files was damaged; only with `partial` */
};

/* -errno with a message. An empty list is 0. */
int gp_inspect_hqd_read(const struct gp_inspect_kfd_query *query, struct gp_diag *diag,
			struct gp_inspect_slots *out);
int gp_inspect_mqd_read(const struct gp_inspect_kfd_query *query, struct gp_diag *diag,
			struct gp_inspect_slots *out);
void gp_inspect_slots_free(struct gp_inspect_slots *slots);

/* Whether the values of the slot describe a queue. */
bool gp_inspect_slot_is_queue(const struct gp_kfd_slot *slot, enum gp_inspect_slot_view view);
/* Whether it is a queue, or has words of an unknown layout that may be one. */
bool gp_inspect_slot_is_shown(const struct gp_kfd_slot *slot, enum gp_inspect_slot_view view);

struct gp_inspect_slot_counts {
	size_t total, active, inactive;
	size_t unknown; /* words of an unknown layout */
	size_t empty;   /* a header without words: the kernel could not read them */
};

struct gp_inspect_slot_counts gp_inspect_slot_count(const struct gp_inspect_slots *slots);

/* A queue: the slot of its first XCC, and the number of XCCs that run it. */
struct gp_inspect_slot_row {
	const struct gp_kfd_slot *slot;
	size_t order; /* in the list */
	u32 xccs;
};

/* The slots that are shown, or `all`; one row per queue, or `per_xcc`. The caller frees *out. */
int gp_inspect_slot_rows(const struct gp_inspect_slots *slots, bool all, bool per_xcc,
			 struct gp_inspect_slot_row **out, size_t *count);

/* "compute", "hiq", "sdma", "diq" */
const char *gp_inspect_slot_kind_name(enum gp_kfd_slot_kind kind);

struct gp_inspect_quantum {
	bool enabled, in_ms;
	u32 scale, duration;
};

struct gp_inspect_quantum gp_inspect_slot_quantum(const struct gp_kfd_slot *slot);

#define GP_BACKLOG_HIGH 100 /* packets */

/* A judgement from the registers (docs/findings.md): "ok", or another word; NULL for unknown. */
struct gp_inspect_slot_check {
	const char *active;  /* "inactive" */
	const char *backlog; /* "high": GP_BACKLOG_HIGH packets or more */
	const char *quantum; /* "off": the queue is not time-sliced */
	const char *state;   /* the first of the three that is not "ok" */
};

struct gp_inspect_slot_check gp_inspect_slot_check(const struct gp_kfd_slot *slot);

/* ---- registers by name ---- */

#define GP_REGISTER_FIELDS 16

struct gp_inspect_register {
	char name[64];
	u32 value;
	struct {
		const char *name;
		u32 value;
	} fields[GP_REGISTER_FIELDS];
	size_t field_count;
};

/* The number of registers; 0 if their layout is unknown. */
size_t gp_inspect_register_count(const struct gp_kfd_slot *slot);
struct gp_inspect_register gp_inspect_register_at(const struct gp_kfd_slot *slot, size_t index);

#endif
