// SPDX-License-Identifier: MIT
/* A ring of decisions: see record.h. */
#include "daemon/record.h"

#include <errno.h>
#include <stdlib.h>

#include "base/core.h"

int gp_daemon_record_init(struct gp_daemon_record *record, u32 room)
{
	*record = (struct gp_daemon_record){.room = room,
					    .next = 1,
					    .work_room = room * GP_WORK_PER_DECISION,
					    .next_work = 1};
	record->lines = calloc(room, sizeof(*record->lines));
	record->works = calloc(record->work_room, sizeof(*record->works));
	return record->lines && record->works ? 0 : -ENOMEM;
}

void gp_daemon_record_free(struct gp_daemon_record *record)
{
	free(record->lines);
	free(record->works);
	record->lines = NULL;
	record->works = NULL;
}

const struct gp_proto_msg_decision *gp_daemon_record_add(struct gp_daemon_record *record,
							 const struct gp_proto_msg_decision *line)
{
	struct gp_proto_msg_decision *place = &record->lines[record->next % record->room];

	*place = *line;
	place->id = record->next++;
	return place;
}

u64 gp_daemon_record_first(const struct gp_daemon_record *record)
{
	return record->next > record->room ? record->next - record->room : 1;
}

const struct gp_proto_msg_decision *gp_daemon_record_at(const struct gp_daemon_record *record,
							u64 id)
{
	if (id < gp_daemon_record_first(record) || id >= record->next)
		return NULL;
	return &record->lines[id % record->room];
}

void gp_daemon_record_add_work(struct gp_daemon_record *record,
			       const struct gp_proto_msg_work *line)
{
	struct gp_proto_msg_work *place = &record->works[record->next_work % record->work_room];

	*place = *line;
	place->id = record->next_work++;
}

u64 gp_daemon_record_first_work(const struct gp_daemon_record *record)
{
	return record->next_work > record->work_room ? record->next_work - record->work_room : 1;
}

const struct gp_proto_msg_work *gp_daemon_record_work_at(const struct gp_daemon_record *record,
							 u64 id)
{
	if (id < gp_daemon_record_first_work(record) || id >= record->next_work)
		return NULL;
	return &record->works[id % record->work_room];
}

void gp_daemon_histogram_add(struct gp_proto_daemon_histogram *histogram, u64 ns)
{
	u32 bucket = ns ? gp_highest_bit(ns) : 0;

	histogram->count++;
	histogram->sum_ns += ns;
	histogram->max_ns = GP_MAX(histogram->max_ns, ns);
	histogram->bucket[GP_MIN(bucket, GP_DAEMON_BUCKETS - 1)]++;
}
