// SPDX-License-Identifier: MIT
/* Stops and starts channels. */
#include <errno.h>
#include <stdlib.h>

#include "gpu/nvrm/control_state.h"
#include "gpu/nvrm/lifeline_page.h"

const struct gp_nvrm_group *gp_nvrm_group_of(const struct gp_nvrm_objects *objects,
					     const struct gp_nvrm_channel *channel)
{
	for (size_t i = 0; i < objects->group_count; i++) {
		const struct gp_nvrm_group *g = &objects->groups[i];

		if (g->client == channel->client && g->handle == channel->group)
			return g;
	}
	return NULL;
}

bool gp_nvrm_any_stopped(const struct gp_nvrm_target *control)
{
	for (size_t i = 0; i < control->objects.channel_count; i++) {
		if (control->objects.channels[i].stopped)
			return true;
	}
	return false;
}

void gp_nvrm_all_run(struct gp_nvrm_target *control)
{
	for (size_t i = 0; i < control->objects.channel_count; i++)
		control->objects.channels[i].stopped = false;
	for (size_t i = 0; i < control->objects.group_count; i++)
		control->objects.groups[i].suspended = false;
	control->all = false;
	gp_nvrm_lifeline_disarm(control->lifeline);
}

/* A list of channels to switch, as the driver and the lifeline want it. */
struct batch {
	struct gp_nvrm_channel **channels;
	struct gp_nvrm_entry *entries;
	u32 count;
};

static int gather(struct gp_nvrm_target *control, bool stop, struct batch *out)
{
	struct gp_nvrm_objects *objects = &control->objects;
	size_t room = objects->channel_count ? objects->channel_count : 1;

	*out = (struct batch){
		.channels = calloc(room, sizeof(*out->channels)),
		.entries = calloc(room, sizeof(*out->entries)),
	};
	if (!out->channels || !out->entries)
		return -ENOMEM;
	for (size_t i = 0; i < objects->channel_count; i++) {
		struct gp_nvrm_channel *c = &objects->channels[i];
		const struct gp_nvrm_group *g = gp_nvrm_group_of(objects, c);
		bool wanted = g && g->suspended;

		if (c->stopped == stop || wanted != stop || !g)
			continue;
		out->entries[out->count] = (struct gp_nvrm_entry){
			.file = objects->clients[c->client].file,
			.client = objects->clients[c->client].handle,
			.object = c->handle,
			.subdevice = gp_nvrm_objects_subdevice(objects, g),
		};
		out->channels[out->count++] = c;
	}
	return 0;
}

static void discard(struct batch *batch)
{
	free(batch->channels);
	free(batch->entries);
}

/* One call per client, subdevice and 64 channels; usually one in all. */
static int switch_batch(struct gp_nvrm_target *control, const struct batch *batch, bool disable,
			struct gp_gpu_control_done *done)
{
	u32 handles[GP_NV_DISABLE_MAX];
	u64 begin = gp_monotonic_ns();
	int first = 0;

	if (batch->count && !done->issued_ns)
		done->issued_ns = begin;
	for (u32 i = 0, n; i < batch->count && !(first && disable); i += n) {
		const struct gp_nvrm_entry *e = &batch->entries[i];
		struct gp_nvrm_session session =
			gp_nvrm_objects_session(&control->objects, batch->channels[i]->client);
		int error;

		for (n = 0; n < GP_NV_DISABLE_MAX && i + n < batch->count &&
			    e[n].client == e->client && e[n].subdevice == e->subdevice;
		     n++)
			handles[n] = e[n].object;
		error = gp_nvrm_switch(&session, e->subdevice, handles, n, disable);
		if (error && !first)
			first = error;
	}
	done->driver_ns += gp_monotonic_ns() - begin;
	return first;
}

static void mark(struct gp_nvrm_target *control, const struct batch *batch, bool stopped)
{
	for (u32 i = 0; i < batch->count; i++)
		batch->channels[i]->stopped = stopped;
	(void)control;
}

/* Groups of the batch, which could not be stopped, are not wanted so any more. */
static void unmark(struct gp_nvrm_target *control, const struct batch *batch, bool failed)
{
	for (u32 i = 0; i < batch->count; i++) {
		struct gp_nvrm_group *g =
			(struct gp_nvrm_group *)gp_nvrm_group_of(&control->objects,
								 batch->channels[i]);

		g->suspended = false;
		g->failed = failed;
	}
}

static int stop_batch(struct gp_nvrm_target *control, const struct batch *batch,
		      struct gp_gpu_control_done *done)
{
	struct gp_gpu_control_done undone = {0};
	int error = gp_nvrm_lifeline_arm(control->lifeline, batch->entries, batch->count,
					 gp_monotonic_ns() + control->lease_ns);

	if (!error)
		error = switch_batch(control, batch, true, done);
	if (!error)
		error = gp_nvrm_lifeline_confirm(control->lifeline);
	if (!error) {
		mark(control, batch, true);
		return 0;
	}
	switch_batch(control, batch, false, &undone);
	unmark(control, batch, error != -ETIME);
	if (error == -ETIME)
		gp_nvrm_all_run(control);
	else if (!gp_nvrm_any_stopped(control))
		gp_nvrm_lifeline_disarm(control->lifeline);
	else
		gp_nvrm_lifeline_confirm(control->lifeline);
	return error;
}

int gp_nvrm_stop_marked(struct gp_nvrm_target *control, struct gp_gpu_control_done *done)
{
	struct batch batch;
	int error = gather(control, true, &batch);

	if (!error && batch.count)
		error = stop_batch(control, &batch, done);
	discard(&batch);
	return error;
}

int gp_nvrm_start_unmarked(struct gp_nvrm_target *control, struct gp_gpu_control_done *done)
{
	struct batch batch;
	int error = gather(control, false, &batch);

	if (!error && batch.count) {
		error = switch_batch(control, &batch, false, done);
		/* Should one of them not start, the lifeline tries again when the lease passes. */
		if (!error)
			mark(control, &batch, false);
	}
	discard(&batch);
	if (!error && !gp_nvrm_any_stopped(control))
		gp_nvrm_lifeline_disarm(control->lifeline);
	return error;
}
