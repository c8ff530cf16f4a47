/* SPDX-License-Identifier: MIT */
/*
 * The holds of a span of time, for the report from decisions on disk: which job was held for which,
 * how often and how long, and the longest of them.
 */
#ifndef GP_CLI_DAEMON_DIARY_HOLDS_H
#define GP_CLI_DAEMON_DIARY_HOLDS_H

#include "proto/daemon.h"
#include "show/doc.h"

enum { GP_CLI_DIARY_LONGEST = 20 };

struct gp_cli_diary_hold {
	char job[96], other[96];
	u32 gpu_id;
	const char *why; /* the name of a reason of the scheduler, or "owner", "hand", "stop" */
	bool observed, open;
	bool apart; /* not for another job: only among the longest */
	s64 at;
	u64 ns;
};

struct gp_cli_diary_pair {
	char job[96], other[96];
	u32 gpu_id;
	bool observed;
	u64 times, total_ns, longest_ns;
};

struct gp_cli_diary_holds {
	struct gp_cli_diary_pair *pairs;
	size_t pair_count, pair_capacity;
	struct gp_cli_diary_hold longest[GP_CLI_DIARY_LONGEST]; /* longest first */
	u32 longest_count;
};

/* The GPUs that the files name. */
struct gp_cli_diary_gpus {
	struct gp_proto_msg_device devices[GP_DAEMON_DEVICES];
	u32 count;
};

/* The next cell of a row: a GPU with its name; 0: missing. */
void gp_cli_diary_gpu(const struct gp_cli_diary_gpus *gpus, struct gp_doc *doc, u32 gpu_id);

/* 0 or -ENOMEM. */
int gp_cli_diary_holds_add(struct gp_cli_diary_holds *holds, const struct gp_cli_diary_hold *hold);
/* Two sections of the report. */
void gp_cli_diary_holds_put(const struct gp_cli_diary_holds *holds,
			    const struct gp_cli_diary_gpus *gpus, struct gp_doc *doc);
void gp_cli_diary_holds_free(struct gp_cli_diary_holds *holds);

#endif
