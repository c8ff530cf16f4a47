// SPDX-License-Identifier: MIT
/* Holds in a report from decisions on disk: see diary_holds.h. */
#include "cli/daemon/diary_holds.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core.h"
#include "base/i18n.h"
#include "cli/daemon/daemon_client.h"
#include "cli/daemon/diary.h"

static int count_pair(struct gp_cli_diary_holds *holds, const struct gp_cli_diary_hold *hold)
{
	struct gp_cli_diary_pair *pair = NULL;

	for (size_t i = 0; i < holds->pair_count && !pair; i++) {
		struct gp_cli_diary_pair *old = &holds->pairs[i];

		if (old->gpu_id == hold->gpu_id && old->observed == hold->observed &&
		    strcmp(old->job, hold->job) == 0 && strcmp(old->other, hold->other) == 0)
			pair = old;
	}
	if (!pair) {
		if (gp_array_grow((void **)&holds->pairs, holds->pair_count, &holds->pair_capacity,
				  sizeof(*holds->pairs)))
			return -ENOMEM;
		pair = &holds->pairs[holds->pair_count++];
		*pair = (struct gp_cli_diary_pair){.gpu_id = hold->gpu_id,
						   .observed = hold->observed};
		memcpy(pair->job, hold->job, sizeof(pair->job));
		memcpy(pair->other, hold->other, sizeof(pair->other));
	}
	pair->times++;
	pair->total_ns += hold->ns;
	pair->longest_ns = GP_MAX(pair->longest_ns, hold->ns);
	return 0;
}

static void keep_longest(struct gp_cli_diary_holds *holds, const struct gp_cli_diary_hold *hold)
{
	u32 place = holds->longest_count;

	while (place > 0 && holds->longest[place - 1].ns < hold->ns)
		place--;
	if (place >= GP_CLI_DIARY_LONGEST)
		return;
	holds->longest_count = GP_MIN(holds->longest_count + 1, (u32)GP_CLI_DIARY_LONGEST);
	memmove(&holds->longest[place + 1], &holds->longest[place],
		(holds->longest_count - place - 1) * sizeof(*hold));
	holds->longest[place] = *hold;
}

int gp_cli_diary_holds_add(struct gp_cli_diary_holds *holds, const struct gp_cli_diary_hold *hold)
{
	keep_longest(holds, hold);
	return hold->apart ? 0 : count_pair(holds, hold);
}

void gp_cli_diary_holds_free(struct gp_cli_diary_holds *holds)
{
	free(holds->pairs);
}

/* ---- the document ---- */

static const char *gpu_name(const struct gp_cli_diary_gpus *gpus, u32 gpu_id, char *out,
			    size_t size)
{
	for (u32 i = 0; i < gpus->count; i++) {
		if (gpus->devices[i].gpu_id == gpu_id && gpus->devices[i].name[0]) {
			snprintf(out, size, "0x%x (%s)", gpu_id, gpus->devices[i].name);
			return out;
		}
	}
	snprintf(out, size, "0x%x", gpu_id);
	return out;
}

void gp_cli_diary_gpu(const struct gp_cli_diary_gpus *gpus, struct gp_doc *doc, u32 gpu_id)
{
	char name[96];

	gp_doc_cell(doc, gp_v_if(gpu_id != 0, gp_v_as(gp_v_count(gpu_id),
						      gpu_name(gpus, gpu_id, name, sizeof(name)))));
}

static void put_pairs(const struct gp_cli_diary_holds *holds, const struct gp_cli_diary_gpus *gpus,
		      struct gp_doc *doc)
{
	gp_doc_section(doc, "holds", N_("Which job was held for which"));
	gp_doc_table(doc, "rows", NULL);
	gp_doc_column(doc, "job", N_("JOB"));
	gp_doc_column(doc, "other", N_("HELD FOR"));
	gp_doc_column(doc, "gpu", N_("GPU"));
	gp_doc_column(doc, "times", N_("TIMES"));
	gp_doc_column(doc, "total_ns", N_("TOTAL"));
	gp_doc_bars(doc);
	gp_doc_column(doc, "longest_ns", N_("LONGEST"));
	gp_doc_column(doc, "acted", N_("ACTED"));
	for (size_t i = 0; i < holds->pair_count; i++) {
		const struct gp_cli_diary_pair *pair = &holds->pairs[i];

		gp_doc_cell(doc, gp_v_text(pair->job));
		gp_doc_cell(doc, gp_v_text_or_missing(pair->other));
		gp_cli_diary_gpu(gpus, doc, pair->gpu_id);
		gp_doc_cell(doc, gp_v_count(pair->times));
		gp_doc_cell(doc, gp_v_ns(pair->total_ns));
		gp_doc_cell(doc, gp_v_ns(pair->longest_ns));
		gp_doc_cell(doc, gp_v_bool(!pair->observed));
	}
}

static void put_longest(const struct gp_cli_diary_holds *holds,
			const struct gp_cli_diary_gpus *gpus, struct gp_doc *doc)
{
	gp_doc_section(doc, "longest", N_("Longest holds"));
	gp_doc_table(doc, "rows", NULL);
	gp_doc_column(doc, "from", N_("FROM"));
	gp_doc_column(doc, "job", N_("JOB"));
	gp_doc_column(doc, "other", N_("HELD FOR"));
	gp_doc_column(doc, "gpu", N_("GPU"));
	gp_doc_column(doc, "held_ns", N_("HELD"));
	gp_doc_column(doc, "why", N_("REASON"));
	gp_doc_column(doc, "ended", N_("ENDED"));
	for (u32 i = 0; i < holds->longest_count; i++) {
		const struct gp_cli_diary_hold *hold = &holds->longest[i];
		char text[32];

		gp_cli_diary_time(hold->at, text, sizeof(text));
		gp_doc_cell(doc, gp_v_text(text));
		gp_doc_cell(doc, gp_v_text(hold->job));
		gp_doc_cell(doc, gp_v_text_or_missing(hold->other));
		gp_cli_diary_gpu(gpus, doc, hold->gpu_id);
		gp_doc_cell(doc, gp_v_ns(hold->ns));
		gp_doc_cell(doc, gp_v_text(hold->why));
		gp_doc_cell(doc, gp_v_bool(!hold->open));
	}
}

void gp_cli_diary_holds_put(const struct gp_cli_diary_holds *holds,
			    const struct gp_cli_diary_gpus *gpus, struct gp_doc *doc)
{
	put_pairs(holds, gpus, doc);
	put_longest(holds, gpus, doc);
}
