// SPDX-License-Identifier: MIT
/*
 * Context switches of an NVIDIA GPU, as its firmware (FECS) records them: a client of our own with
 * an event buffer bound to the GPU, which the driver fills and this process reads through a
 * read-only mapping. Nothing in the mapping is trusted: an index outside of the buffer ends the
 * reading, a record that makes no sense counts as lost.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "gpu/nvrm/activity.h"
#include "gpu/nvrm/call.h"

enum {
	RECORDS = 4096,
	HEADER_BYTES = 4096,
	RECORD_BYTES = RECORDS * sizeof(struct gp_nv_event_record),
	FIRST_HANDLE = 0x67700000,
};
#define LATEST_NS (10 * GP_NS_PER_S) /* a record that is older or newer than this is garbage */

struct gp_gpu_activity {
	struct gp_nvrm_session session;
	int gpu, header_fd, record_fd;
	u32 subdevice, buffer, next;
	const struct gp_nv_event_header *header;
	const struct gp_nv_event_record *records;
	u32 get;
	bool started; /* a record was read: `sequence` is the one expected next */
	u16 sequence;
	u64 last_ns;
};

static int make(struct gp_gpu_activity *a, u32 parent, u32 class_id, void *params, u32 size,
		u32 *handle)
{
	struct gp_nv_alloc alloc = {
		.root = a->session.client,
		.parent = parent,
		.object = class_id == GP_NV_CLASS_CLIENT ? 0 : a->next++,
		.class_id = class_id,
		.params = (u64)(uintptr_t)params,
		.params_size = size,
		.status = GP_NV_INVALID_STATE,
	};
	const struct gp_nvrm_port *port = a->session.port;
	int error = port->ioctl(port, a->session.fd, GP_NV_IOC_ALLOC, &alloc);

	*handle = alloc.object;
	return error ? error : gp_nvrm_error(alloc.status);
}

static int make_memory(struct gp_gpu_activity *a, u64 bytes, u32 *handle)
{
	struct gp_nv_memory_params params = {.attr = GP_NV_ATTR_WRITE_BACK,
					     .attr2 = GP_NV_ATTR2_READ_ONLY,
					     .bytes = bytes};

	return make(a, a->session.client, GP_NV_CLASS_DEVICELESS, &params, sizeof(params), handle);
}

static int map(struct gp_gpu_activity *a, u32 memory, u64 bytes, int *fd, const void **at)
{
	const struct gp_nvrm_port *port = a->session.port;
	struct gp_nv_map request = {.client = a->session.client,
				    .device = a->session.client,
				    .memory = memory,
				    .length = bytes,
				    .status = GP_NV_INVALID_STATE,
				    .flags = GP_NV_MAP_READ_ONLY};
	void *address;
	int error;

	*fd = port->open_control(port);
	if (*fd < 0)
		return *fd;
	request.fd = *fd;
	error = port->ioctl(port, a->session.fd, GP_NV_IOC_MAP, &request);
	if (!error)
		error = gp_nvrm_error(request.status);
	if (error)
		return error;
	address = mmap(NULL, bytes, PROT_READ, MAP_SHARED, *fd, 0);
	if (address == MAP_FAILED)
		return -errno;
	*at = address;
	return 0;
}

/* The driver numbers its devices by itself; with one GPU there is nothing to ask. */
static int device_of(struct gp_gpu_activity *a, u32 gpu_id, u32 *minor, u32 *device)
{
	struct gp_gpu_list gpus = {0};
	struct gp_nv_gpu_id_info info = {0};
	int error = gp_nvrm_ops.discover(&a->session.port->root, NULL, &gpus);
	const struct gp_gpu *gpu = NULL;

	for (size_t i = 0; !error && i < gpus.count; i++) {
		if (gpus.items[i].gpu_id == gpu_id)
			gpu = &gpus.items[i];
	}
	*minor = gpu ? gpu->node : 0;
	*device = 0;
	if (!error && !gpu)
		error = -ENODEV;
	if (!error && gpus.count > 1 && !(gpu->valid & GP_GPU_PCI))
		error = -EOPNOTSUPP;
	if (!error && gpus.count > 1) {
		info.gpu_id = gpu->pci_domain << 16 | gpu->pci_bus << 8 | gpu->pci_device;
		error = gp_nvrm_call(&a->session, a->session.client, GP_NV_CMD_GPU_ID_INFO, &info,
				     sizeof(info));
		*device = info.device_instance;
	}
	gp_gpu_list_free(&gpus);
	return error;
}

/* Switches of all users need root; those of one's own may not. */
static int bind_buffer(struct gp_gpu_activity *a)
{
	struct gp_nv_event_bind bind = {.buffer = a->buffer,
					.record_bytes = sizeof(struct gp_nv_event_record),
					.level = GP_NV_EVENT_SIMPLE,
					.all_users = 1};
	int error =
		gp_nvrm_call(&a->session, a->subdevice, GP_NV_CMD_EVENT_BIND, &bind, sizeof(bind));

	if (error != -EPERM)
		return error;
	bind.all_users = 0;
	return gp_nvrm_call(&a->session, a->subdevice, GP_NV_CMD_EVENT_BIND, &bind, sizeof(bind));
}

static int make_objects(struct gp_gpu_activity *a, u32 gpu_id)
{
	const struct gp_nvrm_port *port = a->session.port;
	struct gp_nv_device_params device = {0};
	u32 minor, handle, zero = 0;
	struct gp_nv_event_buffer_params params = {
		.record_bytes = sizeof(struct gp_nv_event_record),
		.record_count = RECORDS,
		.free_threshold = RECORDS / 2,
	};
	s32 control = a->session.fd;
	int error = make(a, 0, GP_NV_CLASS_CLIENT, NULL, 0, &a->session.client);

	if (!error)
		error = device_of(a, gpu_id, &minor, &device.device_id);
	if (error)
		return error;
	a->gpu = port->open_gpu(port, minor);
	if (a->gpu < 0)
		return a->gpu;
	error = port->ioctl(port, a->gpu, GP_NV_IOC_REGISTER, &control);
	if (!error)
		error = make(a, a->session.client, GP_NV_CLASS_DEVICE, &device, sizeof(device),
			     &handle);
	if (!error)
		error = make(a, handle, GP_NV_CLASS_SUBDEVICE, &zero, sizeof(zero), &a->subdevice);
	if (!error)
		error = make_memory(a, HEADER_BYTES, &params.header_memory);
	if (!error)
		error = make_memory(a, RECORD_BYTES, &params.record_memory);
	params.subdevice = a->subdevice;
	if (!error)
		error = make(a, a->session.client, GP_NV_CLASS_EVENT_BUFFER, &params,
			     sizeof(params), &a->buffer);
	if (!error)
		error = map(a, params.header_memory, HEADER_BYTES, &a->header_fd,
			    (const void **)&a->header);
	if (!error)
		error = map(a, params.record_memory, RECORD_BYTES, &a->record_fd,
			    (const void **)&a->records);
	return error;
}

static void close_activity(struct gp_gpu_activity *a)
{
	if (a->header)
		munmap((void *)a->header, HEADER_BYTES);
	if (a->records)
		munmap((void *)a->records, RECORD_BYTES);
	/* The client goes with its descriptor, and the buffer with the client. */
	if (a->header_fd >= 0)
		close(a->header_fd);
	if (a->record_fd >= 0)
		close(a->record_fd);
	if (a->gpu >= 0)
		close(a->gpu);
	if (a->session.fd >= 0)
		close(a->session.fd);
	free(a);
}

int gp_nvrm_activity_open(const struct gp_nvrm_port *port, u32 gpu_id, struct gp_gpu_activity **out)
{
	struct gp_nv_event_enable enable = {.enable = 1, .keep = 1};
	struct gp_gpu_activity *a = calloc(1, sizeof(*a));
	char version[32];
	int error;

	if (!a)
		return -ENOMEM;
	a->gpu = a->header_fd = a->record_fd = -1;
	a->next = FIRST_HANDLE;
	a->session.port = port;
	a->session.fd = -1;
	error = gp_nvrm_driver_version(&port->root, version, sizeof(version)) &&
				gp_nvrm_branch(version)
			? 0
			: -EOPNOTSUPP;
	if (!error)
		error = a->session.fd = port->open_control(port);
	if (error >= 0)
		error = make_objects(a, gpu_id);
	if (!error)
		error = bind_buffer(a);
	if (!error)
		error = gp_nvrm_call(&a->session, a->buffer, GP_NV_CMD_EVENT_ENABLE, &enable,
				     sizeof(enable));
	if (error) {
		close_activity(a);
		return error == -EACCES ? -EPERM : error;
	}
	a->get = __atomic_load_n(&a->header->get, __ATOMIC_ACQUIRE) % RECORDS;
	*out = a;
	return 0;
}

/* ---- reading ---- */

/* What has to be added to a record's time. Where the driver does not tell the GPU's time, the
 * newest record cannot be from the future. */
static u64 clock_offset(struct gp_gpu_activity *a, u64 now, u64 newest)
{
	struct gp_nv_gpu_time time = {0};
	int error =
		gp_nvrm_call(&a->session, a->subdevice, GP_NV_CMD_GPU_TIME, &time, sizeof(time));

	if (!error)
		now = now / 2 + gp_monotonic_ns() / 2;
	return now - (error || !time.ns ? newest : time.ns);
}

/* Sequence numbers also count records that the driver dropped. */
static u64 gap_before(struct gp_gpu_activity *a, const struct gp_nv_event_record *record)
{
	u16 gap = a->started ? (u16)(record->sequence - a->sequence) : 0;

	a->started = true;
	a->sequence = (u16)(record->sequence + 1);
	return gap;
}

static bool take(struct gp_gpu_activity *a, const struct gp_nv_event_record *record, u64 offset,
		 u64 now, struct gp_gpu_switch *out)
{
	u64 at = record->ns + offset;

	if ((record->tag != GP_NV_ACTIVE_START && record->tag != GP_NV_ACTIVE_END) || !record->ns)
		return false;
	if (at > now + LATEST_NS || at + LATEST_NS < now || record->ns < a->last_ns)
		return false;
	a->last_ns = record->ns;
	*out = (struct gp_gpu_switch){
		.at_ns = GP_MIN(at, now),
		.pid = record->pid,
		.begins = record->tag == GP_NV_ACTIVE_START,
	};
	return true;
}

static int read_activity(struct gp_gpu_activity *a, struct gp_gpu_switch *out, size_t room,
			 u64 *lost, u64 *until)
{
	u64 now = gp_monotonic_ns(), gap = 0, offset;
	struct gp_nv_event_get get = {0};
	size_t count = 0;
	u32 put;
	int error = gp_nvrm_call(&a->session, a->buffer, GP_NV_CMD_EVENT_FLUSH, NULL, 0);

	if (error)
		return error;
	put = __atomic_load_n(&a->header->put, __ATOMIC_ACQUIRE);
	if (put >= RECORDS)
		return -EIO;
	*until = now;
	offset = put == a->get ? 0
			       : clock_offset(a, now, a->records[(put + RECORDS - 1) % RECORDS].ns);
	now = gp_monotonic_ns();
	for (; a->get != put && count < room; a->get = (a->get + 1) % RECORDS) {
		struct gp_nv_event_record record = a->records[a->get];

		gap += gap_before(a, &record);
		if (take(a, &record, offset, now, &out[count]))
			count++;
		else
			gap++;
	}
	*lost += gap;
	get.record = a->get;
	error = gp_nvrm_call(&a->session, a->buffer, GP_NV_CMD_EVENT_GET, &get, sizeof(get));
	return error ? error : (int)count;
}

static int open_system(const struct gp_root *root, u32 gpu_id, struct gp_gpu_activity **out)
{
	if (!gp_root_is_live(root))
		return -EOPNOTSUPP;
	return gp_nvrm_activity_open(&gp_nvrm_port_system, gpu_id, out);
}

const struct gp_gpu_activity_ops gp_nvrm_activity = {
	.open = open_system,
	.read = read_activity,
	.close = close_activity,
};
