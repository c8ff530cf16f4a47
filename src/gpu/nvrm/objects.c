// SPDX-License-Identifier: MIT
#include "gpu/nvrm/objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/core.h"

/* Clients of one process are made at about the same time: this far below one that was found, no
 * older one is looked for. */
#define GP_NVRM_CLIENT_GAP 1024u
/* How far is looked for clients where their numbers are not bounded. */
#define GP_NVRM_CLIENTS_FAR 16384u
/* More groups than any program has; a table that lies ends here. */
#define GP_NVRM_OBJECTS_MAX 4096u

#define GROW(objects, name)                                                             \
	((objects)->name##_count >= GP_NVRM_OBJECTS_MAX                                 \
		 ? -E2BIG                                                               \
		 : gp_array_grow((void **)&(objects)->name##s, (objects)->name##_count, \
				 &(objects)->name##_room, sizeof(*(objects)->name##s)))

struct gp_nvrm_session gp_nvrm_objects_session(const struct gp_nvrm_objects *objects, u32 client)
{
	const struct gp_nvrm_client *c = &objects->clients[client];

	return (struct gp_nvrm_session){objects->port, objects->files[c->file].fd, c->handle};
}

u32 gp_nvrm_objects_subdevice(const struct gp_nvrm_objects *objects,
			      const struct gp_nvrm_group *group)
{
	u32 any = 0;

	for (size_t i = 0; i < objects->subdevice_count; i++) {
		const struct gp_nvrm_subdevice *s = &objects->subdevices[i];

		if (s->client == group->client && s->device == group->device)
			return s->handle;
		if (s->client == group->client)
			any = s->handle;
	}
	return any;
}

static bool id_taken(const struct gp_nvrm_objects *objects, u32 id)
{
	for (size_t i = 0; i < objects->group_count; i++) {
		if (objects->groups[i].id == id)
			return true;
	}
	return false;
}

static int add_group(struct gp_nvrm_objects *objects, u32 client, u32 device, u32 handle)
{
	u32 id = handle;
	int error = GROW(objects, group);

	if (error)
		return error;
	while (id_taken(objects, id))
		id += 0x1000000;
	objects->groups[objects->group_count++] = (struct gp_nvrm_group){.client = client,
									 .device = device,
									 .handle = handle,
									 .id = id};
	return 0;
}

static int add_channel(struct gp_nvrm_objects *objects, u32 client, u32 group, u32 handle)
{
	int error = GROW(objects, channel);

	if (!error)
		objects->channels[objects->channel_count++] =
			(struct gp_nvrm_channel){.client = client,
						 .group = group,
						 .handle = handle};
	return error;
}

static int add_subdevice(struct gp_nvrm_objects *objects, u32 client, u32 device, u32 handle)
{
	int error = GROW(objects, subdevice);

	if (!error)
		objects->subdevices[objects->subdevice_count++] =
			(struct gp_nvrm_subdevice){.client = client,
						   .device = device,
						   .handle = handle};
	return error;
}

/* A compute object: its channel, and with it the group, runs kernels. The channel is older, so its
 * handle is lower and it is known already. */
static void mark_compute(struct gp_nvrm_objects *objects, u32 client, u32 channel)
{
	u32 group = 0;

	for (size_t i = 0; i < objects->channel_count; i++) {
		struct gp_nvrm_channel *c = &objects->channels[i];

		if (c->client == client && c->handle == channel) {
			c->compute = true;
			group = c->group;
		}
	}
	for (size_t i = 0; i < objects->group_count && group; i++) {
		struct gp_nvrm_group *g = &objects->groups[i];

		if (g->client == client && g->handle == group)
			g->compute = true;
	}
}

/* What a handle that exists is to us. */
static int take(struct gp_nvrm_objects *objects, const struct gp_nvrm_session *session, u32 client,
		u32 handle, u32 class_id)
{
	bool group = class_id == GP_NV_CLASS_GROUP, subdevice = class_id == GP_NV_CLASS_SUBDEVICE;
	bool compute = gp_nv_class_is_compute(class_id);
	u32 parent;

	if (!group && !subdevice && !compute && !gp_nv_class_is_channel(class_id))
		return 0;
	objects->calls++;
	if (gp_nvrm_parent_of(session, handle, &parent))
		return 0; /* freed since */
	if (group)
		return add_group(objects, client, parent, handle);
	if (subdevice)
		return add_subdevice(objects, client, parent, handle);
	if (!compute)
		return add_channel(objects, client, parent, handle);
	mark_compute(objects, client, parent);
	return 0;
}

/* The descriptor is of no use any more. */
static bool is_lost(int error)
{
	return error == -EBADF || error == -ENOTTY || error == -ENODEV;
}

/* Tries handles from `from` on until `gap` in a row are absent; *top is the one after the last
 * that was there. */
static int scan_range(struct gp_nvrm_objects *objects, u32 client, u32 from, u32 gap, u32 *top)
{
	struct gp_nvrm_session session = gp_nvrm_objects_session(objects, client);
	u32 class_id, miss = 0;
	int error = 0;

	for (u32 handle = from; miss < gap && !error; handle++) {
		int absent = gp_nvrm_class_of(&session, handle, &class_id);

		objects->calls++;
		/* The client itself, or the descriptor, is gone. Whatever else the manager says
		 * of a handle, it is none that we know. */
		if (is_lost(absent) || absent == -EACCES)
			return absent;
		if (absent) {
			miss++;
			continue;
		}
		miss = 0;
		*top = handle + 1;
		error = take(objects, &session, client, handle, class_id);
	}
	return error;
}

static bool has_groups(const struct gp_nvrm_objects *objects, u32 client)
{
	for (size_t i = 0; i < objects->group_count; i++) {
		if (objects->groups[i].client == client)
			return true;
	}
	return false;
}

static int scan_client(struct gp_nvrm_objects *objects, u32 client, u32 gap)
{
	u32 top = objects->clients[client].top, unused = 0;
	int error = scan_range(objects, client, top, gap, &top);

	objects->clients[client].top = top;
	/* A client without any object where libcuda has them: those the manager numbered. */
	if (!error && top == GP_NV_OBJECT_BASE && !has_groups(objects, client))
		error = scan_range(objects, client, GP_NV_UNIQUE_BASE, GP_NVRM_GAP_QUICK, &unused);
	/* A client that was freed; the others were not. */
	return error == -EACCES ? 0 : error;
}

static int add_client(struct gp_nvrm_objects *objects, u32 file, u32 handle)
{
	int error = GROW(objects, client);

	/* One open file under two numbers. */
	for (size_t i = 0; i < objects->client_count; i++) {
		if (objects->clients[i].handle == handle)
			return 0;
	}
	if (!error)
		objects->clients[objects->client_count++] =
			(struct gp_nvrm_client){.file = file,
						.handle = handle,
						.top = GP_NV_OBJECT_BASE};
	return error;
}

/* Clients of one file from the number `from` on, in steps of 1 or -1, to before `end`; no further
 * than `gap` from one that was found. */
static int scan_file(struct gp_nvrm_objects *objects, u32 file, u32 from, u32 end, u32 gap)
{
	struct gp_nvrm_session session = {objects->port, objects->files[file].fd, from};
	u32 since = 0, class_id, step = from < end ? 1u : -1u;
	bool found = false;
	int error = 0;

	for (; session.client != end && !error; session.client += step) {
		int absent;

		if (found && since++ == gap)
			break;
		absent = gp_nvrm_class_of(&session, session.client, &class_id);
		objects->calls++;
		if (is_lost(absent))
			return absent;
		if (absent) /* not of this file */
			continue;
		found = true;
		since = 0;
		error = add_client(objects, file, session.client);
	}
	return error;
}

/* Without the newest number every number may be a client: tries all, once. */
static int find_clients_blindly(struct gp_nvrm_objects *objects)
{
	int error = 0;

	for (u32 i = 0; i < objects->file_count && !error; i++) {
		if (objects->files[i].newest)
			continue;
		error = scan_file(objects, i, GP_NV_CLIENT_BASE,
				  GP_NV_CLIENT_BASE + GP_NV_CLIENT_COUNT, GP_NVRM_CLIENTS_FAR);
		objects->files[i].newest = GP_NV_CLIENT_BASE + GP_NV_CLIENT_COUNT - 1;
	}
	return error;
}

static int find_clients(struct gp_nvrm_objects *objects)
{
	const u32 below = GP_NV_CLIENT_BASE - 1, last = below + GP_NV_CLIENT_COUNT;
	u32 newest;
	int error = 0;

	if (gp_nvrm_newest_client(objects->port, &newest))
		return find_clients_blindly(objects);
	for (u32 i = 0; i < objects->file_count && !error; i++) {
		u32 known = objects->files[i].newest;

		/* Not scanned, or the numbers started over since. */
		if (!known || known > newest)
			known = below;
		if (newest != known)
			error = scan_file(objects, i, newest, known, GP_NVRM_CLIENT_GAP);
		if (!error)
			objects->files[i].newest = newest;
	}
	/* A process older than that has one of the highest. */
	for (u32 i = 0; i < objects->file_count && !error && !objects->client_count; i++)
		error = scan_file(objects, i, last, GP_MAX(newest, last - GP_NVRM_CLIENTS_FAR),
				  GP_NVRM_CLIENT_GAP);
	return error;
}

static bool any_compute(const struct gp_nvrm_objects *objects)
{
	for (size_t i = 0; i < objects->group_count; i++) {
		if (objects->groups[i].compute)
			return true;
	}
	return false;
}

int gp_nvrm_objects_scan(struct gp_nvrm_objects *objects)
{
	int error = find_clients(objects);

	for (u32 i = 0; i < objects->client_count && !error; i++)
		error = scan_client(objects, i, GP_NVRM_GAP_FULL);
	for (u32 i = 0; i < objects->client_count && !error && !any_compute(objects); i++)
		error = scan_client(objects, i, GP_NVRM_GAP_LAST);
	return error;
}

int gp_nvrm_objects_extend(struct gp_nvrm_objects *objects, u32 gap)
{
	size_t groups = objects->group_count, channels = objects->channel_count;
	size_t clients = objects->client_count;
	int error = 0;

	/* A new client means a new library in the process: not looked for in a hurry. */
	if (gap > GP_NVRM_GAP_QUICK)
		error = find_clients(objects);
	for (u32 i = 0; i < objects->client_count && !error; i++)
		error = scan_client(objects, i, i < clients ? gap : GP_NVRM_GAP_FULL);
	if (error)
		return error;
	return objects->group_count != groups || objects->channel_count != channels;
}

static const struct gp_nvrm_group *same_group(const struct gp_nvrm_objects *old,
					      const struct gp_nvrm_objects *now,
					      const struct gp_nvrm_group *group)
{
	for (size_t i = 0; i < old->group_count; i++) {
		const struct gp_nvrm_group *g = &old->groups[i];

		if (g->handle == group->handle &&
		    old->clients[g->client].handle == now->clients[group->client].handle)
			return g;
	}
	return NULL;
}

static bool was_stopped(const struct gp_nvrm_objects *old, const struct gp_nvrm_objects *now,
			const struct gp_nvrm_channel *channel)
{
	for (size_t i = 0; i < old->channel_count; i++) {
		const struct gp_nvrm_channel *c = &old->channels[i];

		if (c->handle == channel->handle && c->group == channel->group &&
		    old->clients[c->client].handle == now->clients[channel->client].handle)
			return c->stopped;
	}
	return false;
}

static void forget(struct gp_nvrm_objects *objects)
{
	free(objects->clients);
	free(objects->subdevices);
	free(objects->channels);
	free(objects->groups);
	objects->clients = NULL;
	objects->subdevices = NULL;
	objects->channels = NULL;
	objects->groups = NULL;
	objects->client_count = objects->client_room = 0;
	objects->subdevice_count = objects->subdevice_room = 0;
	objects->channel_count = objects->channel_room = 0;
	objects->group_count = objects->group_room = 0;
}

int gp_nvrm_objects_renew(struct gp_nvrm_objects *objects)
{
	struct gp_nvrm_objects now = {.port = objects->port,
				      .gpu_id = objects->gpu_id,
				      .file_count = objects->file_count};
	size_t kept = 0, channels = objects->channel_count, groups = objects->group_count;
	int error;

	for (u32 i = 0; i < now.file_count; i++)
		now.files[i] = (struct gp_nvrm_file){.fd = objects->files[i].fd,
						     .number = objects->files[i].number};
	error = gp_nvrm_objects_scan(&now);
	if (error) {
		forget(&now);
		return error;
	}
	for (size_t i = 0; i < now.group_count; i++) {
		struct gp_nvrm_group *g = &now.groups[i];
		const struct gp_nvrm_group *old = same_group(objects, &now, g);

		if (!old)
			continue;
		kept++;
		g->id = old->id;
		g->suspended = old->suspended;
		g->failed = old->failed;
		g->timeslice = old->timeslice;
		g->timeslice_set = old->timeslice_set;
		g->timeslice_read = old->timeslice_read;
	}
	for (size_t i = 0; i < now.channel_count; i++)
		now.channels[i].stopped = was_stopped(objects, &now, &now.channels[i]);
	now.calls += objects->calls;
	forget(objects);
	*objects = now;
	return kept != groups || now.group_count != groups || now.channel_count != channels;
}

void gp_nvrm_objects_free(struct gp_nvrm_objects *objects)
{
	forget(objects);
	for (u32 i = 0; i < objects->file_count; i++)
		close(objects->files[i].fd);
	objects->file_count = 0;
}
