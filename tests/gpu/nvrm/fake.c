// SPDX-License-Identifier: MIT
#include "fake.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../place.h"
#include "abi/nvrm_ioctl.h"
#include "fake_events.h"

#define DEFAULT_US 1024
#define NO_FILE    0xffffffffu

/* The file's content is its number; the inode makes sure that it is one of ours. */
static u32 file_of(const struct fake *fake, int fd)
{
	struct stat status;
	u32 index;

	if (pread(fd, &index, sizeof(index), 0) != sizeof(index) || fstat(fd, &status) ||
	    index >= FAKE_FILES || atomic_load(&fake->rm->inodes[index]) != status.st_ino)
		return NO_FILE;
	return index;
}

static struct fake_object *object_of(const struct fake *fake, u32 client, u32 handle)
{
	u32 count = atomic_load(&fake->rm->object_count);

	for (u32 i = 0; i < count && i < FAKE_OBJECTS; i++) {
		struct fake_object *o = &fake->rm->objects[i];

		if (atomic_load(&o->live) == 1 && o->client == client && o->handle == handle)
			return o;
	}
	return NULL;
}

static bool client_on(const struct fake *fake, u32 file, u32 client)
{
	u32 number = client - GP_NV_CLIENT_BASE;

	return number < FAKE_OBJECTS && number < atomic_load(&fake->rm->clients) &&
	       fake->rm->client_file[number] == file && object_of(fake, client, client);
}

static u32 add_object(const struct fake *fake, u32 client, u32 handle, u32 parent, u32 class_id)
{
	u32 index = atomic_fetch_add(&fake->rm->object_count, 1);
	struct fake_object *o;

	if (index >= FAKE_OBJECTS)
		return GP_NV_INVALID_STATE;
	o = &fake->rm->objects[index];
	o->client = client;
	o->handle = handle;
	o->parent = parent;
	o->class_id = class_id;
	atomic_store(&o->timeslice, DEFAULT_US);
	atomic_store(&o->live, 1);
	return GP_NV_OK;
}

/* ---- the calls ---- */

static u32 do_alloc(const struct fake *fake, u32 file, struct gp_nv_alloc *a)
{
	u32 number;

	if (a->class_id == GP_NV_CLASS_CLIENT || a->class_id == GP_NV_CLASS_ROOT) {
		number = atomic_fetch_add(&fake->rm->clients, 1);
		if (number >= FAKE_OBJECTS)
			return GP_NV_INVALID_STATE;
		fake->rm->client_file[number] = file;
		a->object = GP_NV_CLIENT_BASE + number;
		return add_object(fake, a->object, a->object, 0, GP_NV_CLASS_CLIENT);
	}
	if (!client_on(fake, file, a->root))
		return GP_NV_INVALID_CLIENT;
	if (!object_of(fake, a->root, a->parent))
		return GP_NV_OBJECT_NOT_FOUND;
	if (gp_nv_class_is_compute(a->class_id)) {
		struct fake_object *channel = object_of(fake, a->root, a->parent);
		struct fake_object *group = object_of(fake, a->root, channel->parent);

		if (!group || group->class_id != GP_NV_CLASS_GROUP)
			return GP_NV_INVALID_OBJECT;
	}
	return add_object(fake, a->root, a->object, a->parent, a->class_id);
}

static void free_tree(const struct fake *fake, u32 client, u32 handle)
{
	u32 count = atomic_load(&fake->rm->object_count);

	for (u32 i = 0; i < count && i < FAKE_OBJECTS; i++) {
		struct fake_object *o = &fake->rm->objects[i];

		if (atomic_load(&o->live) != 1 || o->client != client)
			continue;
		if (o->handle == handle)
			atomic_store(&o->live, 2);
		else if (o->parent == handle)
			free_tree(fake, client, o->handle);
	}
}

static u32 do_free(const struct fake *fake, u32 file, const struct gp_nv_free *f)
{
	if (!client_on(fake, file, f->root))
		return GP_NV_INVALID_CLIENT;
	if (!object_of(fake, f->root, f->object))
		return GP_NV_OBJECT_NOT_FOUND;
	free_tree(fake, f->root, f->object);
	return GP_NV_OK;
}

static u32 do_handle_info(const struct fake *fake, u32 client, struct gp_nv_handle_info *p)
{
	const struct fake_object *o = object_of(fake, client, p->object);

	if (!o)
		return GP_NV_OBJECT_NOT_FOUND;
	if (p->index == GP_NV_HANDLE_PARENT)
		p->result = o->parent;
	else if (p->index == GP_NV_HANDLE_CLASS)
		p->result = o->class_id;
	else
		return GP_NV_INVALID_ARGUMENT;
	return GP_NV_OK;
}

static void set_disabled(struct fake_object *channel, u32 disabled)
{
	if (atomic_exchange(&channel->disabled, disabled) != disabled)
		syscall(SYS_futex, &channel->disabled, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* As the firmware may do it: in order, up to the first that is wrong. */
static u32 do_disable(const struct fake *fake, const struct gp_nv_disable_channels *p)
{
	u32 fail = atomic_load(&fake->rm->fail_disables), stop = 0;

	if (p->rewind || p->event || p->only_scheduling)
		atomic_fetch_add(&fake->rm->bad, 1);
	if (!p->count || p->count > GP_NV_DISABLE_MAX)
		return GP_NV_INVALID_ARGUMENT;
	if (p->disable)
		stop = atomic_exchange(&fake->rm->stop_in_call, 0);
	if (stop)
		raise(SIGSTOP);
	for (u32 i = 0; i < p->count; i++) {
		struct fake_object *channel = object_of(fake, p->clients[i], p->channels[i]);

		if (!channel || !gp_nv_class_is_channel(channel->class_id))
			return GP_NV_INVALID_OBJECT;
		if (p->disable && fail && i == p->count / 2) {
			atomic_store(&fake->rm->fail_disables, fail - 1);
			return GP_NV_TIMEOUT;
		}
		set_disabled(channel, p->disable);
	}
	if (stop == 2)
		raise(SIGSTOP);
	return GP_NV_OK;
}

static bool take_one(_Atomic u32 *count)
{
	u32 left = atomic_load(count);

	while (left && !atomic_compare_exchange_weak(count, &left, left - 1))
		;
	return left;
}

static u32 do_group(const struct fake *fake, struct fake_object *o, u32 cmd, void *params)
{
	struct gp_nv_timeslice *slice = params;

	if (o->class_id != GP_NV_CLASS_GROUP)
		return GP_NV_NOT_SUPPORTED;
	if (cmd == GP_NV_CMD_SET_TIMESLICE) {
		atomic_fetch_add(&fake->rm->slices, 1);
		if (take_one(&fake->rm->fail_slices))
			return GP_NV_TIMEOUT;
		if (!take_one(&fake->rm->lose_slices))
			atomic_store(&o->timeslice, slice->us);
	} else if (cmd == GP_NV_CMD_GET_TIMESLICE) {
		slice->us = atomic_load(&o->timeslice);
	} else {
		((struct gp_nv_group_info *)params)->hardware_id = o->handle & 0xff;
	}
	return GP_NV_OK;
}

static u32 do_subdevice(const struct fake *fake, u32 client, const struct fake_object *o, u32 cmd,
			void *params)
{
	struct gp_nv_ctxsw_modes *modes = params;
	struct gp_nv_ctxsw_stats *stats = params;

	if (o->class_id != GP_NV_CLASS_SUBDEVICE)
		return GP_NV_NOT_SUPPORTED;
	if (cmd == GP_NV_CMD_DISABLE_CHANNELS) {
		atomic_fetch_add(&fake->rm->switches, 1);
		return do_disable(fake, params);
	}
	if (!object_of(fake, client, modes->channel)) /* the first field of both */
		return GP_NV_INVALID_OBJECT;
	if (cmd == GP_NV_CMD_CTXSW_MODES)
		modes->compute = GP_NV_PREEMPT_CILP;
	else
		stats->save = stats->cilp = 7;
	return GP_NV_OK;
}

static u32 size_of(const struct fake *fake, u32 cmd)
{
	switch (cmd) {
	case GP_NV_CMD_HANDLE_INFO:
		return sizeof(struct gp_nv_handle_info);
	case GP_NV_CMD_SET_TIMESLICE:
	case GP_NV_CMD_GET_TIMESLICE:
		return sizeof(struct gp_nv_timeslice);
	case GP_NV_CMD_GROUP_INFO:
		return sizeof(struct gp_nv_group_info);
	case GP_NV_CMD_DISABLE_CHANNELS:
		return atomic_load(&fake->rm->disable_size);
	case GP_NV_CMD_CTXSW_STATS:
		return sizeof(struct gp_nv_ctxsw_stats);
	case GP_NV_CMD_CTXSW_MODES:
		return sizeof(struct gp_nv_ctxsw_modes);
	default:
		return 0;
	}
}

static u32 do_control(const struct fake *fake, u32 file, const struct gp_nv_control *c)
{
	void *params = (void *)(uintptr_t)c->params;
	struct fake_object *object;
	bool event = c->cmd == GP_NV_CMD_EVENT_FLUSH || fake_events_size(c->cmd);
	u32 size = event ? fake_events_size(c->cmd) : size_of(fake, c->cmd);

	if (!size && !event) {
		atomic_fetch_add(&fake->rm->bad, 1);
		return GP_NV_NOT_SUPPORTED;
	}
	if (!client_on(fake, file, c->client))
		return GP_NV_INVALID_CLIENT;
	object = object_of(fake, c->client, c->object);
	if (!object)
		return GP_NV_OBJECT_NOT_FOUND;
	if (c->params_size != size)
		return GP_NV_INVALID_PARAM_STRUCT;
	if (event)
		return fake_events_control(fake, c->cmd, params);
	if (c->cmd == GP_NV_CMD_HANDLE_INFO)
		return do_handle_info(fake, c->client, params);
	if (c->cmd >> 16 == GP_NV_CLASS_GROUP)
		return do_group(fake, object, c->cmd, params);
	return do_subdevice(fake, c->client, object, c->cmd, params);
}

static int fake_ioctl(const struct gp_nvrm_port *port, int fd, unsigned long request, void *arg)
{
	const struct fake *fake = (const struct fake *)port;
	u32 file = file_of(fake, fd);

	if (request == GP_NV_IOC_REGISTER) /* of a GPU's descriptor */
		return file_of(fake, *(int *)arg) == NO_FILE ? -EINVAL : 0;
	if (file == NO_FILE)
		return -ENOTTY;
	atomic_fetch_add(&fake->rm->calls, 1);
	if (request == GP_NV_IOC_CONTROL)
		((struct gp_nv_control *)arg)->status = do_control(fake, file, arg);
	else if (request == GP_NV_IOC_ALLOC)
		((struct gp_nv_alloc *)arg)->status = do_alloc(fake, file, arg);
	else if (request == GP_NV_IOC_MAP)
		((struct gp_nv_map *)arg)->status = fake_events_memory(fake, arg);
	else if (request == GP_NV_IOC_FREE)
		((struct gp_nv_free *)arg)->status = do_free(fake, file, arg);
	else
		return -EINVAL;
	return 0;
}

static int fake_open(const struct gp_nvrm_port *port)
{
	const struct fake *fake = (const struct fake *)port;
	u32 index = atomic_fetch_add(&fake->rm->file_count, 1);
	struct stat status;
	char path[160];
	int fd;

	if (index >= FAKE_FILES)
		return -EMFILE;
	snprintf(path, sizeof(path), "%s/open/%u", fake->dir, index);
	mkdir(path, 0700);
	strcat(path, "/nvidiactl");
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) || fstat(fd, &status) ||
	    pwrite(fd, &index, sizeof(index), 0) != sizeof(index)) {
		close(fd);
		return -EIO;
	}
	atomic_store(&fake->rm->inodes[index], status.st_ino);
	return fd;
}

static int fake_open_gpu(const struct gp_nvrm_port *port, u32 minor)
{
	char path[160];
	int fd;

	snprintf(path, sizeof(path), "%s/dev/nvidia%u", ((const struct fake *)port)->dir, minor);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static bool fake_is_control(const struct gp_nvrm_port *port, int fd)
{
	return file_of((const struct fake *)port, fd) != NO_FILE;
}

/* ---- making one ---- */

static int write_text(const char *dir, const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "w");
	if (!file || fputs(text, file) < 0 || fclose(file))
		return -errno;
	return 0;
}

static int make_tree(const char *dir, const char *branch)
{
	static const char *const folders[] = {"open",
					      "dev",
					      "proc",
					      "proc/driver",
					      "proc/driver/nvidia",
					      "proc/driver/nvidia/gpus",
					      "proc/driver/nvidia/gpus/0000:65:00.0"};
	char text[256];

	for (size_t i = 0; i < GP_ARRAY_SIZE(folders); i++) {
		snprintf(text, sizeof(text), "%s/%s", dir, folders[i]);
		if (mkdir(text, 0700))
			return -errno;
	}
	snprintf(text, sizeof(text),
		 "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  %s  Release Build\n",
		 branch);
	write_text(dir, "dev/nvidia0", "");
	write_text(dir, "proc/driver/nvidia/gpus/0000:65:00.0/information",
		   "Model: \t\t NVIDIA Fake\nDevice Minor: \t 0\n");
	return write_text(dir, "proc/driver/nvidia/version", text);
}

int fake_join(struct fake *fake, const char *dir)
{
	char path[160];
	int fd;

	*fake = (struct fake){.port = {.open_control = fake_open,
				       .open_gpu = fake_open_gpu,
				       .ioctl = fake_ioctl,
				       .is_control = fake_is_control}};
	snprintf(fake->dir, sizeof(fake->dir), "%s", dir);
	fake->port.root.dir = fake->dir;
	snprintf(path, sizeof(path), "%s/rm", dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*fake->rm)))
		return -errno;
	fake->rm = mmap(NULL, sizeof(*fake->rm), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return fake->rm == MAP_FAILED ? -errno : 0;
}

int fake_create(struct fake *fake, const char *branch)
{
	char dir[64];
	int error;

	if (!place_make(dir, sizeof(dir)))
		return -errno;
	error = make_tree(dir, branch);
	if (!error)
		error = fake_join(fake, dir);
	if (!error)
		atomic_store(&fake->rm->disable_size, sizeof(struct gp_nv_disable_channels));
	if (!error) {
		atomic_store(&fake->rm->vram_used, 64ull << 20);
		atomic_store(&fake->rm->vram_free, 1ull << 30);
	}
	return error;
}

void fake_leave(struct fake *fake)
{
	munmap(fake->rm, sizeof(*fake->rm));
	fake->rm = NULL;
}

void fake_destroy(struct fake *fake)
{
	fake_leave(fake);
	place_remove(fake->dir);
}
