/* SPDX-License-Identifier: MIT */
/*
 * The record of decisions: a ring of lines with consecutive numbers. A follower asks for the number
 * after the last one it saw; a gap means that lines were overwritten. A second, longer ring records
 * when queues had work.
 */
#ifndef GP_DAEMON_RECORD_H
#define GP_DAEMON_RECORD_H

#include "proto/daemon.h"

#define GP_WORK_PER_DECISION 8    /* lines of the second record for each of the first */
#define GP_DAEMON_ENDED      1000 /* jobs that ended and are still known */

struct gp_daemon_record {
	struct gp_proto_msg_decision *lines;
	u32 room;
	u64 next; /* number of the next line; the first is 1 */
	struct gp_proto_msg_work *works;
	u32 work_room;
	u64 next_work;
};

/* The last jobs that ended. */
struct gp_daemon_accounts {
	struct gp_proto_msg_account *items; /* a ring; NULL until the first job ends */
	u64 count;                          /* of all that ended */
};

int gp_daemon_record_init(struct gp_daemon_record *record, u32 room);
void gp_daemon_record_free(struct gp_daemon_record *record);
/* Numbers a line and keeps it; the pointer is valid until `room` more have come. */
const struct gp_proto_msg_decision *gp_daemon_record_add(struct gp_daemon_record *record,
							 const struct gp_proto_msg_decision *line);
/* Number of the oldest line that is there. */
u64 gp_daemon_record_first(const struct gp_daemon_record *record);
const struct gp_proto_msg_decision *gp_daemon_record_at(const struct gp_daemon_record *record,
							u64 id);

void gp_daemon_record_add_work(struct gp_daemon_record *record,
			       const struct gp_proto_msg_work *line);
u64 gp_daemon_record_first_work(const struct gp_daemon_record *record);
const struct gp_proto_msg_work *gp_daemon_record_work_at(const struct gp_daemon_record *record,
							 u64 id);

void gp_daemon_histogram_add(struct gp_proto_daemon_histogram *histogram, u64 ns);

#endif
