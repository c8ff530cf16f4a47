// SPDX-License-Identifier: MIT
/* The fake's CUDA program, and what a test asks of the fake. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "abi/nvrm_ioctl.h"
#include "fake.h"

#define LIBCUDA_US 2048 /* of groups with kernels; the manager's own is 1024 */

static int open_by_libc(const struct gp_nvrm_port *port)
{
	int fd = open("/dev/nvidiactl", O_RDWR | O_CLOEXEC);

	(void)port;
	return fd < 0 ? -errno : fd;
}

static int call_by_libc(const struct gp_nvrm_port *port, int fd, unsigned long request, void *arg)
{
	(void)port;
	return ioctl(fd, request, arg) ? -errno : 0;
}

void fake_through_libc(struct fake *fake)
{
	fake->port.open_control = open_by_libc;
	fake->port.ioctl = call_by_libc;
}

static int alloc(struct fake *fake, struct fake_program *p, u32 parent, u32 class_id, u32 *handle)
{
	struct gp_nv_alloc a = {.root = p->client,
				.parent = parent,
				.object = p->next,
				.class_id = class_id};
	int error = fake->port.ioctl(&fake->port, p->fd, GP_NV_IOC_ALLOC, &a);

	if (error || a.status)
		return error ? error : -EIO;
	if (handle)
		*handle = a.object;
	p->next++;
	return 0;
}

static int release(struct fake *fake, struct fake_program *p, u32 handle)
{
	struct gp_nv_free f = {.root = p->client, .parent = p->client, .object = handle};
	int error = fake->port.ioctl(&fake->port, p->fd, GP_NV_IOC_FREE, &f);

	return error ? error : f.status ? -EIO : 0;
}

int fake_program_start(struct fake *fake, struct fake_program *program)
{
	struct gp_nv_alloc a = {.class_id = GP_NV_CLASS_CLIENT};
	int error;

	*program = (struct fake_program){.next = GP_NV_OBJECT_BASE};
	program->fd = fake->port.open_control(&fake->port);
	if (program->fd < 0)
		return program->fd;
	error = fake->port.ioctl(&fake->port, program->fd, GP_NV_IOC_ALLOC, &a);
	program->client = a.object;
	return error ? error : a.status ? -EIO : 0;
}

int fake_program_channel(struct fake *fake, struct fake_program *program)
{
	u32 channel;
	int error = alloc(fake, program, program->group, GP_NV_CLASS_CHANNEL_H, &channel);

	return error ? error : alloc(fake, program, channel, GP_NV_CLASS_COMPUTE_H, NULL);
}

static int copy_group(struct fake *fake, struct fake_program *p)
{
	u32 group, channel;
	int error = alloc(fake, p, p->device, GP_NV_CLASS_GROUP, &group);

	for (int i = 0; i < 4 && !error; i++) {
		error = alloc(fake, p, group, GP_NV_CLASS_CHANNEL_H, &channel);
		if (!error)
			error = alloc(fake, p, channel, GP_NV_CLASS_COPY_H, NULL);
		if (!error)
			error = alloc(fake, p, p->device, GP_NV_CLASS_MEMORY, NULL);
	}
	return error;
}

int fake_program_make(struct fake *fake, struct fake_program *program, bool mig)
{
	u32 subdevice;
	int error = alloc(fake, program, program->client, GP_NV_CLASS_DEVICE, &program->device);

	program->first = program->device;
	if (!error)
		error = alloc(fake, program, program->device, GP_NV_CLASS_SUBDEVICE, &subdevice);
	for (int i = 0; i < 2 && !error && mig; i++)
		error = alloc(fake, program, subdevice, GP_NV_CLASS_PARTITION + (u32)i, NULL);
	for (int i = 0; i < 40 && !error; i++)
		error = alloc(fake, program, program->device, GP_NV_CLASS_MEMORY, NULL);
	if (!error)
		error = alloc(fake, program, program->device, GP_NV_CLASS_GROUP, &program->group);
	for (int i = 0; i < 8 && !error; i++)
		error = fake_program_channel(fake, program);
	for (int i = 0; i < 3 && !error; i++)
		error = copy_group(fake, program);
	return error;
}

int fake_program_slice(struct fake *fake, struct fake_program *program)
{
	struct gp_nv_timeslice slice = {.us = LIBCUDA_US};
	struct gp_nv_control c = {.client = program->client,
				  .object = program->group,
				  .cmd = GP_NV_CMD_SET_TIMESLICE,
				  .params = (u64)(uintptr_t)&slice,
				  .params_size = sizeof(slice)};
	int error = fake->port.ioctl(&fake->port, program->fd, GP_NV_IOC_CONTROL, &c);

	return error ? error : c.status ? -EIO : 0;
}

int fake_program_context(struct fake *fake, struct fake_program *program, bool mig)
{
	int error = fake_program_make(fake, program, mig);

	return error ? error : fake_program_slice(fake, program);
}

int fake_program_copier(struct fake *fake, struct fake_program *program)
{
	return copy_group(fake, program);
}

int fake_program_churn(struct fake *fake, struct fake_program *program, u32 count)
{
	int error = 0;

	/* One object each time: the fake never forgets one. */
	if (count)
		error = alloc(fake, program, program->client, GP_NV_CLASS_MEMORY, NULL);
	if (!error && count)
		error = release(fake, program, program->next - 1);
	program->next += count ? count - 1 : 0;
	return error;
}

int fake_program_free(struct fake *fake, struct fake_program *program)
{
	return release(fake, program, program->first);
}

/* ---- questions ---- */

static const struct fake_object *find(const struct fake *fake, u32 client, u32 handle)
{
	u32 count = atomic_load(&fake->rm->object_count);

	for (u32 i = 0; i < count && i < FAKE_OBJECTS; i++) {
		const struct fake_object *o = &fake->rm->objects[i];

		if (atomic_load(&o->live) == 1 && o->client == client && o->handle == handle)
			return o;
	}
	return NULL;
}

/* The last copy of a file that is closed takes its clients with it. */
static bool is_open(const struct fake *fake, u32 file)
{
	char path[160];
	bool open_somewhere;
	int fd;

	snprintf(path, sizeof(path), "%s/open/%u/nvidiactl", fake->dir, file);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return false;
	open_somewhere = flock(fd, LOCK_EX | LOCK_NB) != 0;
	close(fd);
	return open_somewhere;
}

static bool is_live(const struct fake *fake, const struct fake_object *o)
{
	return atomic_load(&o->live) == 1 &&
	       is_open(fake, fake->rm->client_file[o->client - GP_NV_CLIENT_BASE]);
}

/* A group is one of kernels when a compute object is on one of its channels. */
static bool is_compute_group(const struct fake *fake, const struct fake_object *group)
{
	u32 count = atomic_load(&fake->rm->object_count);

	for (u32 i = 0; i < count && i < FAKE_OBJECTS; i++) {
		const struct fake_object *o = &fake->rm->objects[i], *channel;

		if (atomic_load(&o->live) != 1 || o->client != group->client ||
		    !gp_nv_class_is_compute(o->class_id))
			continue;
		channel = find(fake, o->client, o->parent);
		if (channel && channel->parent == group->handle)
			return true;
	}
	return false;
}

struct fake_count fake_channels(const struct fake *fake)
{
	u32 count = atomic_load(&fake->rm->object_count);
	struct fake_count result = {0};

	for (u32 i = 0; i < count && i < FAKE_OBJECTS; i++) {
		const struct fake_object *o = &fake->rm->objects[i], *group;
		u32 stopped = atomic_load(&o->disabled);

		if (!gp_nv_class_is_channel(o->class_id) || !is_live(fake, o))
			continue;
		group = find(fake, o->client, o->parent);
		if (group && is_compute_group(fake, group)) {
			result.compute++;
			result.compute_stopped += stopped;
		} else {
			result.copy++;
			result.copy_stopped += stopped;
		}
	}
	return result;
}

static bool await(const struct fake *fake, bool running)
{
	time_t end = time(NULL) + 60;

	for (;;) {
		struct timespec second = {.tv_sec = 1};
		struct fake_object *wait_for = NULL, *stopped = NULL;
		u32 count = atomic_load(&fake->rm->object_count);

		for (u32 i = 0; i < count && i < FAKE_OBJECTS; i++) {
			struct fake_object *o = &fake->rm->objects[i];

			if (atomic_load(&o->live) != 1 || !gp_nv_class_is_channel(o->class_id))
				continue;
			if (atomic_load(&o->disabled) && is_live(fake, o))
				stopped = o;
			else if (!wait_for)
				wait_for = o;
		}
		if (running == !stopped)
			return true;
		if (time(NULL) >= end)
			return false;
		if (running)
			wait_for = stopped;
		if (wait_for)
			syscall(SYS_futex, &wait_for->disabled, FUTEX_WAIT, running ? 1 : 0,
				&second, NULL, 0);
	}
}

bool fake_await_running(const struct fake *fake)
{
	return await(fake, true);
}

bool fake_await_stopped(const struct fake *fake)
{
	return await(fake, false);
}

u64 fake_timeslice(const struct fake *fake, u32 index)
{
	u32 count = atomic_load(&fake->rm->object_count);

	for (u32 i = 0; i < count && i < FAKE_OBJECTS; i++) {
		const struct fake_object *o = &fake->rm->objects[i];

		if (o->class_id == GP_NV_CLASS_GROUP && is_live(fake, o) &&
		    is_compute_group(fake, o) && index-- == 0)
			return atomic_load(&o->timeslice);
	}
	return 0;
}

u32 fake_open_files(const struct fake *fake)
{
	u32 count = atomic_load(&fake->rm->file_count), open_count = 0;

	for (u32 i = 0; i < count && i < FAKE_FILES; i++)
		open_count += is_open(fake, i);
	return open_count;
}
