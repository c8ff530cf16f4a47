// SPDX-License-Identifier: MIT
#include "fake_events.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define HEADER_BYTES 4096u
#define RECORD_BYTES (FAKE_RECORDS * sizeof(struct gp_nv_event_record))

static int open_memory(const struct fake *fake, bool header)
{
	char path[160];
	int fd;

	snprintf(path, sizeof(path), "%s/events.%s", fake->dir, header ? "header" : "records");
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0 && ftruncate(fd, header ? HEADER_BYTES : RECORD_BYTES)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void *map_memory(const struct fake *fake, bool header)
{
	int fd = open_memory(fake, header);
	void *at = mmap(NULL, header ? HEADER_BYTES : RECORD_BYTES, PROT_READ | PROT_WRITE,
			MAP_SHARED, fd, 0);

	if (fd < 0 || at == MAP_FAILED)
		abort();
	close(fd);
	return at;
}

struct fake_events fake_events_map(const struct fake *fake)
{
	return (struct fake_events){map_memory(fake, true), map_memory(fake, false)};
}

void fake_events_unmap(const struct fake_events *events)
{
	munmap(events->header, HEADER_BYTES);
	munmap(events->records, RECORD_BYTES);
}

static u64 gpu_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (u64)now.tv_sec * 1000000000u + (u64)now.tv_nsec;
}

void fake_event(struct fake *fake, u8 tag, u32 pid, u64 ago_ns)
{
	struct fake_events events = fake_events_map(fake);
	u32 put = events.header->put, next = (put + 1) % FAKE_RECORDS;
	u16 sequence = (u16)atomic_fetch_add(&fake->rm->event_sequence, 1);

	if (next == atomic_load(&fake->rm->event_get)) {
		events.header->dropped++;
	} else {
		events.records[put] = (struct gp_nv_event_record){.tag = tag,
								  .sequence = sequence,
								  .pid = pid,
								  .ns = gpu_time() - ago_ns};
		__atomic_store_n(&events.header->put, next, __ATOMIC_RELEASE);
	}
	fake_events_unmap(&events);
}

u32 fake_events_size(u32 cmd)
{
	switch (cmd) {
	case GP_NV_CMD_GPU_TIME:
		return sizeof(struct gp_nv_gpu_time);
	case GP_NV_CMD_EVENT_BIND:
		return sizeof(struct gp_nv_event_bind);
	case GP_NV_CMD_EVENT_ENABLE:
		return sizeof(struct gp_nv_event_enable);
	case GP_NV_CMD_EVENT_GET:
		return sizeof(struct gp_nv_event_get);
	default:
		return 0;
	}
}

u32 fake_events_control(const struct fake *fake, u32 cmd, void *params)
{
	u32 deny = atomic_load(&fake->rm->deny_events);

	switch (cmd) {
	case GP_NV_CMD_GPU_TIME:
		if (deny == FAKE_DENY_TIME)
			return GP_NV_NOT_SUPPORTED;
		((struct gp_nv_gpu_time *)params)->ns = gpu_time();
		return GP_NV_OK;
	case GP_NV_CMD_EVENT_BIND:
		if (deny == FAKE_DENY_OLD)
			return GP_NV_NOT_SUPPORTED;
		if (deny == FAKE_DENY_ALL ||
		    (deny == FAKE_DENY_USERS && ((struct gp_nv_event_bind *)params)->all_users))
			return GP_NV_INSUFFICIENT_PERMISSIONS;
		atomic_fetch_add(&fake->rm->event_binds, 1);
		return GP_NV_OK;
	case GP_NV_CMD_EVENT_GET:
		atomic_store(&fake->rm->event_get, ((struct gp_nv_event_get *)params)->record);
		return GP_NV_OK;
	case GP_NV_CMD_EVENT_FLUSH:
		atomic_fetch_add(&fake->rm->event_flushes, 1);
		return deny == FAKE_DENY_FLUSH ? GP_NV_TIMEOUT : GP_NV_OK;
	default:
		return GP_NV_OK;
	}
}

/* The caller's descriptor becomes the memory's, which is what the driver makes of it. */
u32 fake_events_memory(const struct fake *fake, struct gp_nv_map *map)
{
	int fd = open_memory(fake, map->length == HEADER_BYTES);

	if (fd < 0 || dup3(fd, map->fd, O_CLOEXEC) < 0)
		return GP_NV_INVALID_STATE;
	close(fd);
	return GP_NV_OK;
}
