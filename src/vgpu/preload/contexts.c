// SPDX-License-Identifier: MIT
/*
 * Secondary KFD processes: since KFD 1.19, CREATE_PROCESS gives a descriptor of /dev/kfd a process
 * of its own, with its own buffers, events and queues. It ends when the last copy of that
 * descriptor is closed, after the calls on it that are under way; the primary one, which all other
 * descriptors share, ends with the program.
 *
 * To the library each is a client. The primary one has the list of the others; `users` counts the
 * calls under way with one, and its descriptor.
 */
#include "vgpu/preload/parts.h"

#include <errno.h>
#include <stdatomic.h>

#include "vgpu/cp/cp.h"

static bool is_of(const struct gp_vgpu_client *client, struct gp_vgpu_fd fd)
{
	if (fd.kind == GP_VGPU_FD_KFD)
		return client->file == fd.file;
	return fd.kind == GP_VGPU_FD_RENDER && client->render[fd.gpu_index] == fd.file;
}

struct gp_vgpu_client *gp_vgpu_client_take(struct gp_vgpu_fd fd)
{
	struct gp_vgpu_client *primary = gp_vgpu_client(), *found = NULL;

	if (!primary || !atomic_load(&primary->secondary))
		return primary;
	pthread_mutex_lock(&primary->lock);
	for (struct gp_vgpu_client *c = primary->secondary; c && !found; c = c->next)
		if (!c->closed && is_of(c, fd))
			found = c;
	if (found)
		found->users++;
	pthread_mutex_unlock(&primary->lock);
	if (!found)
		return primary;
	if (!found->gone)
		return found;
	gp_vgpu_client_put(found);
	return NULL;
}

/* With the lock of the primary one. The command processor ends later, when nobody tells it any more
 * what is unmapped: its rings stand still from now on. */
static void unlink_client(struct gp_vgpu_client *primary, struct gp_vgpu_client *client)
{
	_Atomic(struct gp_vgpu_client *) *at = &primary->secondary;

	gp_vgpu_cp_unmapped(client, 0, UINT64_MAX);
	while (*at && *at != client)
		at = &(*at)->next;
	if (*at)
		*at = client->next;
}

void gp_vgpu_client_put(struct gp_vgpu_client *client)
{
	struct gp_vgpu_client *primary = gp_vgpu_client_if_any();
	bool last;

	/* The primary one is not counted. */
	if (!client || !client->file || !primary)
		return;
	pthread_mutex_lock(&primary->lock);
	last = --client->users == 0;
	if (last)
		unlink_client(primary, client);
	pthread_mutex_unlock(&primary->lock);
	if (last && !gp_vgpu_cp_end(client))
		gp_vgpu_client_free(client);
}

int gp_vgpu_create_process(struct gp_vgpu_client *client, struct gp_vgpu_fd fd)
{
	struct gp_vgpu_client *made;
	bool taken = false;

	if (client->file)
		return -EINVAL;
	made = gp_vgpu_client_new(fd.file);
	if (!made)
		return -ENOMEM;
	made->users = 1;
	pthread_mutex_lock(&client->lock);
	for (const struct gp_vgpu_client *c = client->secondary; c; c = c->next)
		taken |= !c->closed && c->file == fd.file;
	if (!taken) {
		made->next = client->secondary;
		client->secondary = made;
	}
	pthread_mutex_unlock(&client->lock);
	if (!taken)
		return 0;
	/* Another thread was first. */
	gp_vgpu_client_free(made);
	return -EINVAL;
}

static bool is_open(u64 file)
{
	for (int fd = gp_vgpu_fd_next(0); fd >= 0; fd = gp_vgpu_fd_next(fd + 1)) {
		struct gp_vgpu_fd other = gp_vgpu_fd_check(fd);

		if (other.kind == GP_VGPU_FD_KFD && other.file == file)
			return true;
	}
	return false;
}

void gp_vgpu_file_closed(u64 file)
{
	struct gp_vgpu_client *primary = gp_vgpu_client_if_any(), *found;

	if (!primary || !atomic_load(&primary->secondary) || is_open(file))
		return;
	pthread_mutex_lock(&primary->lock);
	for (found = primary->secondary; found && (found->closed || found->file != file);)
		found = found->next;
	if (found)
		found->closed = true;
	pthread_mutex_unlock(&primary->lock);
	gp_vgpu_client_put(found);
}

void gp_vgpu_secondary_unmapped(struct gp_vgpu_client *primary, u64 address, u64 size)
{
	if (!atomic_load(&primary->secondary))
		return;
	pthread_mutex_lock(&primary->lock);
	for (struct gp_vgpu_client *c = primary->secondary; c; c = c->next)
		gp_vgpu_cp_unmapped(c, address, size);
	pthread_mutex_unlock(&primary->lock);
}
