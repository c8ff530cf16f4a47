/* SPDX-License-Identifier: MIT */
/*
 * The three figures that the design document (seeds/000, table "HQD status") calls normal, held
 * against the decoded registers: ACTIVE 1, backlog below 100, and the quantum. The document's
 * quantum of 512 to 1024 is no value the register ever has; what is true is used instead, and
 * gp_inspect_slot_explain() says why.
 */
#ifndef GP_INSPECT_SLOT_CHECK_H
#define GP_INSPECT_SLOT_CHECK_H

#include "base/buf.h"
#include "gpu/gpu.h"

#define GP_BACKLOG_HIGH 100 /* packets; seeds/000: "< 100" */

enum gp_inspect_check {
	GP_CHECK_UNKNOWN,
	GP_CHECK_OK,
	GP_CHECK_HIGH,     /* backlog of 100 packets or more */
	GP_CHECK_OFF,      /* no quantum: the queue is not time-sliced */
	GP_CHECK_INACTIVE, /* the slot holds no queue */
};

enum gp_inspect_check gp_inspect_check_active(const struct gp_kfd_slot *slot);
enum gp_inspect_check gp_inspect_check_backlog(const struct gp_kfd_slot *slot);
enum gp_inspect_check gp_inspect_check_quantum(const struct gp_kfd_slot *slot);
/* The three in one: the first that is not ok. */
enum gp_inspect_check gp_inspect_check_slot(const struct gp_kfd_slot *slot);
/* "ok", "high", ...; NULL for unknown. Not translated: it is also the JSON value. */
const char *gp_inspect_check_word(enum gp_inspect_check check);

/* What the document says, what is true, and why, one threshold a paragraph. */
void gp_inspect_slot_explain(struct gp_buf *out);

#endif
