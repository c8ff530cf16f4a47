/* SPDX-License-Identifier: MIT */
/*
 * A client without a preload library and a server without a model: a block of memory the "GPU" has,
 * a queue or two in it, and the shared rings, driven by hand. Each test plays the server.
 */
#ifndef GP_TEST_FAKE_MACHINE_H
#define GP_TEST_FAKE_MACHINE_H

#include <errno.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "testlib.h"
#include "vgpu/cp/cp_state.h"
#include "vgpu/heap.h"

#define FAKE_MEMORY (4u << 20)
#define FAKE_GPU_ID 0x1234u
#define FAKE_KERNEL 0x40000u /* offset of a kernel descriptor */
#define FAKE_START  1000000u /* CLOCK_MONOTONIC_RAW the server reports */
#define FAKE_END    3000000u

struct fake {
	struct gp_vgpu_client client;
	int bell_fd; /* the server's end */
	u8 *memory;
	u32 used;
	u32 events[64], event_count;
	u64 faults[8];
	u32 fault_count;
	u32 exceptions, said; /* hardware exceptions, lines on stderr */
	char last_said[256];
	u32 seen; /* works taken */
};

static struct fake *fake;      /* the stand-ins below have no other way to find it */
static int fake_lifeline = -1; /* of the next client */

void *gp_vgpu_gpu_pointer(struct gp_vgpu_client *client, u32 gpu_id, u64 va, u64 size)
{
	u64 base = (u64)(uintptr_t)fake->memory;

	(void)client;
	if (gpu_id != FAKE_GPU_ID || va < base || va > base + FAKE_MEMORY ||
	    size > base + FAKE_MEMORY - va)
		return NULL;
	return (void *)(uintptr_t)va;
}

int gp_vgpu_client_exception(struct gp_vgpu_client *client, const struct gp_vgpu_exception *what)
{
	(void)client, (void)what;
	return GP_VGPU_TELL_OLD;
}

void gp_vgpu_event_set(struct gp_vgpu_client *client, u32 event_id)
{
	(void)client;
	fake->events[fake->event_count++ % 64] = event_id;
}

void gp_vgpu_event_hw_exception(struct gp_vgpu_client *client, u32 gpu_id, bool memory_lost)
{
	(void)client;
	(void)memory_lost;
	assert_int_equal(gpu_id, FAKE_GPU_ID);
	__atomic_fetch_add(&fake->exceptions, 1, __ATOMIC_RELEASE);
}

void gp_vgpu_say(const char *text, const char *detail)
{
	(void)text;
	snprintf(fake->last_said, sizeof(fake->last_said), "%s", detail);
	__atomic_fetch_add(&fake->said, 1, __ATOMIC_RELEASE);
}

void gp_vgpu_event_memory_fault(struct gp_vgpu_client *client, u32 gpu_id, u64 va)
{
	(void)client;
	(void)gpu_id;
	fake->faults[fake->fault_count++ % 8] = va;
}

int gp_vgpu_own_fd(int fd)
{
	return fd;
}

void gp_vgpu_client_free(struct gp_vgpu_client *client)
{
	(void)client;
}

void gp_vgpu_close_own(int fd)
{
	close(fd);
}

static inline void *fake_take(u32 size, u32 align)
{
	fake->used = (fake->used + align - 1) / align * align;
	fake->used += size;
	assert_true(fake->used <= FAKE_MEMORY);
	return fake->memory + fake->used - size;
}

static inline u64 va(const void *pointer)
{
	return (u64)(uintptr_t)pointer;
}

static inline int fake_setup(void **state)
{
	int ends[2];

	fake = calloc(1, sizeof(*fake));
	fake->memory =
		mmap(NULL, FAKE_MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fake->client.shared = calloc(1, sizeof(*fake->client.shared));
	fake->client.machine.gpu_count = 1;
	fake->client.machine.gpus[0] = (struct gp_vgpu_gpu){
		.gpu_id = FAKE_GPU_ID,
		.gfx_version = GP_GFX_VERSION_90A,
		.wave_size = 64,
	};
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	fake->client.lifeline = fake_lifeline;
	fake->client.work_fd = fake->client.done_fd = ends[0];
	fake->bell_fd = ends[1];
	snprintf(fake->client.directory, sizeof(fake->client.directory), "/nonexistent");
	assert_non_null(gp_vgpu_cp_get(&fake->client));
	fake->client.cp->running = true; /* the test steps it */
	fake->used = 1u << 20;
	*state = fake;
	return 0;
}

static inline int fake_teardown(void **state)
{
	struct gp_vgpu_cp *cp = fake->client.cp;

	(void)state;
	gp_vgpu_cp_forked(&fake->client);
	munmap(cp->rings, GP_VGPU_MAX_QUEUES * sizeof(*cp->rings));
	munmap(cp->records, GP_CP_RECORDS * sizeof(*cp->records));
	munmap(cp->scratchpad, GP_CP_SCRATCHPAD_BYTES);
	gp_vgpu_free(cp->kernels);
	gp_vgpu_free(cp);
	close(fake->client.work_fd);
	close(fake->bell_fd);
	munmap(fake->memory, FAKE_MEMORY);
	free(fake->client.shared);
	free(fake);
	return 0;
}

static inline bool fake_step(void)
{
	return gp_vgpu_cp_step(fake->client.cp);
}

/* The next work the CP handed over, or NULL. */
static inline const struct gp_vgpu_work *fake_work(void)
{
	struct gp_vgpu_shared *shared = fake->client.shared;

	if (shared->work_ring.consumed == shared->work_ring.produced)
		return NULL;
	fake->seen++;
	return &shared->work[shared->work_ring.consumed++ % GP_VGPU_WORK_SLOTS];
}

static inline void fake_done(const struct gp_vgpu_work *work, u32 kind)
{
	struct gp_vgpu_shared *shared = fake->client.shared;

	shared->done[shared->done_ring.produced++ % GP_VGPU_DONE_SLOTS] = (struct gp_vgpu_done){
		.queue_id = work->queue_id,
		.kind = kind,
		.tag = work->tag,
		.start_raw_ns = FAKE_START,
		.end_raw_ns = FAKE_END,
	};
	fake_step();
}

static inline void fake_run(const struct gp_vgpu_work *work)
{
	struct gp_vgpu_work copy = *work;

	fake_done(&copy, GP_VGPU_LAUNCHED);
	fake_done(&copy, GP_VGPU_COMPLETED);
}

static inline u64 *fake_doorbell(u32 slot)
{
	return &fake->client.cp->doorbells.slices[0].slots[slot];
}

static inline struct gp_amd_signal *fake_signal(s64 value)
{
	struct gp_amd_signal *signal = fake_take(sizeof(*signal), 64);

	*signal = (struct gp_amd_signal){.kind = 1, .value = value};
	return signal;
}

/* An AQL queue as ROCr lays it out, with an interrupt signal for errors. */
struct fake_queue {
	struct gp_amd_queue *amd;
	struct gp_amd_signal *inactive;
	u8 *ring;
	u32 packets, slot;
};

static inline struct fake_queue fake_queue(u32 id, u32 packets)
{
	struct fake_queue queue = {
		.amd = fake_take(sizeof(*queue.amd), 256),
		.inactive = fake_signal(0),
		.ring = fake_take(packets * GP_AQL_PACKET_BYTES, 4096),
		.packets = packets,
		.slot = id,
	};
	struct gp_vgpu_cp_queue added = {
		.id = id,
		.type = GP_KFD_QUEUE_COMPUTE_AQL,
		.ring = va(queue.ring),
		.ring_bytes = packets * GP_AQL_PACKET_BYTES,
		.read_pointer = va(&queue.amd->read_dispatch_id),
		.write_pointer = va(&queue.amd->write_dispatch_id),
		.doorbell_slot = id,
	};

	memset(queue.amd, 0, sizeof(*queue.amd));
	queue.amd->hsa_queue.base_address = va(queue.ring);
	queue.amd->hsa_queue.size = packets;
	queue.amd->queue_inactive_signal = va(queue.inactive);
	for (u32 i = 0; i < packets; i++)
		queue.ring[i * GP_AQL_PACKET_BYTES] = GP_AQL_INVALID;
	assert_int_equal(gp_vgpu_cp_add(&fake->client, &added), 0);
	return queue;
}

static inline void fake_put(struct fake_queue *queue, const void *packet)
{
	u64 index = queue->amd->write_dispatch_id;

	memcpy(queue->ring + index % queue->packets * GP_AQL_PACKET_BYTES, packet,
	       GP_AQL_PACKET_BYTES);
	queue->amd->write_dispatch_id = index + 1;
	*fake_doorbell(queue->slot) = index;
}

static inline u16 fake_header(const struct fake_queue *queue, u64 index)
{
	u16 header;

	memcpy(&header, queue->ring + index % queue->packets * GP_AQL_PACKET_BYTES, 2);
	return header;
}

/* A kernel whose code is not known: descriptor and a few words of code behind it. */
static inline u64 fake_kernel(const u32 *code, u32 words)
{
	struct gp_kernel_descriptor *descriptor = fake_take(256 + 256, 256);

	memset(descriptor, 0, 512);
	descriptor->entry_offset = 256;
	descriptor->rsrc1 = 3; /* 32 VGPRs on gfx90a */
	if (code)
		memcpy((u8 *)descriptor + 256, code, words * sizeof(*code));
	return va(descriptor);
}

static inline struct gp_aql_dispatch fake_dispatch(u64 kernel)
{
	return (struct gp_aql_dispatch){
		.header = GP_AQL_KERNEL_DISPATCH,
		.setup = 1,
		.workgroup_x = 256,
		.workgroup_y = 1,
		.workgroup_z = 1,
		.grid_x = 1000,
		.grid_y = 1,
		.grid_z = 1,
		.kernel_object = kernel,
	};
}

#endif
