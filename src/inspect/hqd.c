// SPDX-License-Identifier: MIT
#include "inspect/hqd.h"

#include <stdio.h>
#include <string.h>

void gp_inspect_slots_free(struct gp_inspect_slots *slots)
{
	gp_kfd_slot_list_free(&slots->list);
	*slots = (struct gp_inspect_slots){0};
}

typedef int (*gp_parse)(const struct gp_gpu_debugfs_source *source, struct gp_diag *diag,
			struct gp_kfd_slot_list *out);

static int read_list(const struct gp_inspect_kfd_query *query, const char *path, gp_parse parse,
		     struct gp_kfd_gfx *gfx, struct gp_diag *diag, struct gp_inspect_slots *out)
{
	struct gp_inspect_kfd_input input = {0};
	struct gp_gpu_debugfs_source source;
	int error = gp_inspect_kfd_input_read(&query->root, query->file, path, diag, &input);

	if (!error) {
		source = gp_inspect_kfd_input_source(query, &input, gfx);
		error = gp_inspect_kfd_input_judge(parse(&source, diag, &out->list), diag);
	}
	out->incomplete = out->list.incomplete;
	memcpy(out->source, input.name, sizeof(out->source));
	gp_inspect_kfd_input_free(&input);
	return error;
}

int gp_inspect_hqd_read(const struct gp_inspect_kfd_query *query, struct gp_diag *diag,
			struct gp_inspect_slots *out)
{
	struct gp_kfd_gfx gfx = {0};
	struct gp_kfd_slot_list owners = {0};
	int error = gp_inspect_kfd_query_gfx(query, &gfx);

	out->view = GP_VIEW_SLOTS;
	if (!error)
		error = read_list(query, GP_DEBUGFS_HQDS, gp_kfd_parse_hqds, &gfx, diag, out);
	if (!error)
		error = gp_inspect_kfd_query_owners(query, &gfx, diag, &owners, out->pids_from,
						    sizeof(out->pids_from));
	if (!error) {
		out->incomplete |= owners.incomplete;
		gp_kfd_slots_join(&out->list, &owners);
		gp_inspect_kfd_query_filter(query, &out->list);
	}
	gp_kfd_slot_list_free(&owners);
	gp_kfd_gfx_free(&gfx);
	return error;
}

int gp_inspect_mqd_read(const struct gp_inspect_kfd_query *query, struct gp_diag *diag,
			struct gp_inspect_slots *out)
{
	struct gp_kfd_gfx gfx = {0};
	int error = gp_inspect_kfd_query_gfx(query, &gfx);

	out->view = GP_VIEW_DESCRIPTORS;
	if (!error)
		error = read_list(query, GP_DEBUGFS_MQDS, gp_kfd_parse_mqds, &gfx, diag, out);
	if (!error) {
		memcpy(out->pids_from, out->source, sizeof(out->pids_from));
		gp_inspect_kfd_query_filter(query, &out->list);
	}
	gp_kfd_gfx_free(&gfx);
	return error;
}

json_t *gp_inspect_slots_json(const struct gp_inspect_slots *slots,
			      const struct gp_inspect_slot_options *options)
{
	struct gp_inspect_slot_options with = *options;
	struct gp_inspect_slot_counts counts = gp_inspect_slot_count(&slots->list, slots->view);
	json_t *object = json_object();
	bool is_hqd = slots->view == GP_VIEW_SLOTS;

	with.view = slots->view;
	json_object_set_new(object, "source", gp_json_str(slots->source));
	json_object_set_new(object, "incomplete", json_boolean(slots->incomplete));
	if (is_hqd) {
		json_object_set_new(object, "pids_from",
				    gp_json_str(slots->pids_from[0] ? slots->pids_from : NULL));
		json_object_set_new(object, "counts",
				    json_pack("{s:I, s:I, s:I, s:I, s:I}", "slots",
					      (json_int_t)counts.total, "active",
					      (json_int_t)counts.active, "inactive",
					      (json_int_t)counts.inactive, "unknown",
					      (json_int_t)counts.unknown, "empty",
					      (json_int_t)counts.empty));
	}
	json_object_set_new(object, is_hqd ? "slots" : "descriptors",
			    gp_inspect_slot_json(&slots->list, &with));
	return object;
}
