/* SPDX-License-Identifier: MIT */
/*
 * A short judgement of a slot from its decoded registers: whether it holds a queue, whether its
 * backlog is below 100 packets, and whether the queue is time-sliced (docs/findings.md).
 */
#ifndef GP_INSPECT_SLOT_CHECK_H
#define GP_INSPECT_SLOT_CHECK_H

#include "gpu/gpu.h"

#define GP_BACKLOG_HIGH 100 /* packets */

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

#endif
