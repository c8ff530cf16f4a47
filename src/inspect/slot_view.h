/* SPDX-License-Identifier: MIT */
/*
 * How slots (hqd) and descriptors (mqd) are shown: as rows of a grid, as JSON, as raw rows and as
 * named registers. What an inactive slot still holds is stale and never shown as a value.
 */
#ifndef GP_INSPECT_SLOT_VIEW_H
#define GP_INSPECT_SLOT_VIEW_H

#include "base/buf.h"
#include "base/json.h"
#include "gpu/gpu.h"
#include "inspect/grid.h"

enum gp_inspect_slot_view { GP_VIEW_SLOTS, GP_VIEW_DESCRIPTORS };

struct gp_inspect_slot_options {
	enum gp_inspect_slot_view view;
	bool all;       /* inactive slots too */
	bool per_xcc;   /* one row per XCC instead of one per queue */
	bool raw;       /* JSON: with the rows */
	bool registers; /* JSON: with the registers */
};

struct gp_inspect_slot_counts {
	size_t total, active, inactive;
	size_t unknown; /* words without a known layout */
	size_t empty;   /* the kernel could not read them: a header without words */
};

/* Whether the values of the slot describe a queue. */
bool gp_inspect_slot_is_queue(const struct gp_kfd_slot *slot, enum gp_inspect_slot_view view);
/* Whether it is shown without `all`: a queue, or words of which that cannot be told. */
bool gp_inspect_slot_is_shown(const struct gp_kfd_slot *slot, enum gp_inspect_slot_view view);
struct gp_inspect_slot_counts gp_inspect_slot_count(const struct gp_kfd_slot_list *list,
						    enum gp_inspect_slot_view view);

/* Rows of the grid: queues first seen first; one row for all XCCs of a queue unless asked. */
int gp_inspect_slot_grid(const struct gp_kfd_slot_list *list,
			 const struct gp_inspect_slot_options *options,
			 struct gp_inspect_grid *out);

/* Every slot, whatever `all` and `per_xcc` say. */
json_t *gp_inspect_slot_json(const struct gp_kfd_slot_list *list,
			     const struct gp_inspect_slot_options *options);

/* The rows as the kernel printed them, and "NAME = value (FIELD n, ...)" lines. */
void gp_inspect_slot_raw(const struct gp_kfd_slot_list *list,
			 const struct gp_inspect_slot_options *options, struct gp_buf *out);
void gp_inspect_slot_registers(const struct gp_kfd_slot_list *list,
			       const struct gp_inspect_slot_options *options, struct gp_buf *out);
json_t *gp_inspect_slot_registers_json(const struct gp_kfd_slot *slot);

/* "CP 0.2", "HIQ 2.0.0", "SDMA 3.1". */
void gp_inspect_slot_name(const struct gp_kfd_slot *slot, char *out, size_t size);

#endif
