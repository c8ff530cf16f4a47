// SPDX-License-Identifier: MIT
/* Lists the queues of a controlled process, and undoes what a dead holder left behind. */
#include <errno.h>
#include <string.h>

#include "base/i18n.h"
#include "gpu/nvrm/control_state.h"
#include "gpu/nvrm/nvrm.h"
#include "gpu/nvrm/target.h"

int gp_nvrm_detail(struct gp_gpu_control *control, size_t index, struct gp_nvrm_detail *out)
{
	const struct gp_nvrm_objects *objects = &gp_nvrm_target(control)->objects;
	const struct gp_nvrm_group *group;
	struct gp_nv_ctxsw_modes modes = {0};
	struct gp_nv_ctxsw_stats stats = {0};
	struct gp_nvrm_session session;
	u32 subdevice;

	if (index >= objects->group_count)
		return -ENOENT;
	group = &objects->groups[index];
	session = gp_nvrm_objects_session(objects, group->client);
	subdevice = gp_nvrm_objects_subdevice(objects, group);
	*out = (struct gp_nvrm_detail){.id = group->id,
				       .client = session.client,
				       .handle = group->handle};
	for (size_t i = 0; i < objects->channel_count; i++) {
		const struct gp_nvrm_channel *c = &objects->channels[i];

		if (c->client != group->client || c->group != group->handle)
			continue;
		out->channels++;
		if (c->compute)
			modes.channel = c->handle;
	}
	if (gp_nvrm_hardware_id(&session, group->handle, &out->hardware_id) == 0)
		out->valid |= GP_NVRM_HARDWARE_ID;
	if (gp_nvrm_timeslice(&session, group->handle, &out->timeslice_us) == 0)
		out->valid |= GP_NVRM_TIMESLICE;
	if (modes.channel && gp_nvrm_ctxsw_modes(&session, subdevice, &modes) == 0) {
		out->valid |= GP_NVRM_MODES;
		out->compute_mode = modes.compute;
	}
	stats.channel = group->handle; /* the driver wants the group here, whatever the name says */
	if (modes.channel && gp_nvrm_ctxsw_stats(&session, subdevice, &stats) == 0) {
		out->valid |= GP_NVRM_STATS;
		out->saves = stats.save;
		out->cilp_saves = stats.cilp;
		out->restores = stats.restore;
	}
	return 0;
}

int gp_nvrm_list(const struct gp_nvrm_objects *objects, struct gp_gpu_control_queues *out)
{
	int error;

	for (size_t i = 0; i < objects->group_count; i++) {
		const struct gp_nvrm_group *g = &objects->groups[i];

		if (!g->compute)
			continue;
		error = gp_array_grow((void **)&out->items, out->count, &out->capacity,
				      sizeof(*out->items));
		if (error)
			return error;
		out->items[out->count++] = (struct gp_gpu_control_queue){
			.id = g->id,
			.gpu_id = objects->gpu_id,
			.valid = GP_QUEUE_HAS_KFD_ID | GP_QUEUE_HAS_OBJECT,
			.object = (u64)objects->clients[g->client].handle << 32 | g->handle,
			.suspended = g->suspended,
			.failed = g->failed,
		};
	}
	return 0;
}

static int find(const struct gp_nvrm_port *port, int pidfd, u32 pid, struct gp_proto_message *why,
		struct gp_nvrm_objects *out)
{
	u32 owner;
	int error = gp_nvrm_target_check(port, pidfd, pid, why);

	*out = (struct gp_nvrm_objects){.port = port, .gpu_id = gp_nvrm_gpu_of(&port->root, pid)};
	if (!error)
		error = gp_nvrm_target_files(port, pidfd, pid, out->files, &out->file_count,
					     &owner);
	return error < 0 ? error : gp_nvrm_objects_scan(out);
}

int gp_nvrm_look(const struct gp_nvrm_port *port, int pidfd, u32 pid,
		 struct gp_gpu_control_queues *out)
{
	struct gp_nvrm_objects objects;
	int error = find(port, pidfd, pid, NULL, &objects);

	out->count = 0;
	if (!error)
		error = gp_nvrm_list(&objects, out);
	gp_nvrm_objects_free(&objects);
	return error;
}

static int start_everything(const struct gp_nvrm_objects *objects)
{
	int first = 0;

	for (size_t i = 0; i < objects->channel_count; i++) {
		const struct gp_nvrm_channel *c = &objects->channels[i];
		const struct gp_nvrm_group *g = gp_nvrm_group_of(objects, c);
		struct gp_nvrm_session session = gp_nvrm_objects_session(objects, c->client);
		int error = g ? gp_nvrm_switch(&session, gp_nvrm_objects_subdevice(objects, g),
					       &c->handle, 1, false)
			      : 0;

		first = first ? first : error;
	}
	return first;
}

/* Slices that a dead holder left. */
static int restore_slices(const struct gp_nvrm_objects *objects)
{
	int first = 0;

	for (size_t i = 0; i < objects->group_count; i++) {
		const struct gp_nvrm_group *g = &objects->groups[i];
		struct gp_nvrm_session session = gp_nvrm_objects_session(objects, g->client);
		u64 us;
		int error = g->compute ? gp_nvrm_timeslice(&session, g->handle, &us) : -ENOENT;

		if (!error && gp_nvrm_slice_before(us) != us)
			error = gp_nvrm_set_timeslice(&session, g->handle,
						      gp_nvrm_slice_before(us));
		if (error && error != -ENOENT && !first)
			first = error;
	}
	return first;
}

int gp_nvrm_release_over(const struct gp_nvrm_port *port, int pidfd, u32 pid, struct gp_diag *diag)
{
	struct gp_nvrm_objects objects;
	struct gp_proto_message why = {0};
	char text[512];
	int error = find(port, pidfd, pid, &why, &objects);

	if (!error)
		error = start_everything(&objects);
	if (!error)
		error = restore_slices(&objects);
	gp_nvrm_objects_free(&objects);
	if (error && why.code) {
		gp_proto_message_text(&why, text, sizeof(text));
		return gp_fail(diag, error, "%s", text);
	}
	if (error)
		return gp_fail(diag, error, "cannot resume the NVIDIA channels of process %u: %s",
			       pid, strerror(-error));
	return 0;
}

int gp_nvrm_release(int pidfd, u32 pid, struct gp_diag *diag)
{
	return gp_nvrm_release_over(&gp_nvrm_port_system, pidfd, pid, diag);
}
