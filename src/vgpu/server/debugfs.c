// SPDX-License-Identifier: MIT
/* debugfs hqds, mqds and rls in the text of the 6.12 driver (kfd_debugfs.c and what it calls). */
#include <stdlib.h>
#include <string.h>

#include "abi/pm4.h"
#include "vgpu/server/registers.h"
#include "vgpu/server/state.h"
#include "vgpu/server/tree.h"

#define PIPES          4       /* of MEC 1 */
#define PIPE_QUEUES    8       /* the first ones of each pipe are amdgpu's own */
#define ROW            8       /* dwords in a line */
#define GC_FIRST       0xc914u /* CP_MQD_BASE_ADDR of XCC 0, bytes */
#define SDMA_RLC_BYTES 0x160u
#define GFX942         90400

/* Lines of eight dwords, each with the address of its first in front. */
static void dump(struct gp_buf *out, const char *indent, u32 address, const u32 *words, u32 count)
{
	for (u32 i = 0; i < count; i += ROW) {
		gp_buf_printf(out, "%s%08x:", indent, address + i * 4);
		for (u32 j = i; j < count && j < i + ROW; j++)
			gp_buf_printf(out, " %08x", words[j]);
		gp_buf_puts(out, "\n");
	}
}

static void node_line(const struct gp_vgpu_device *device, struct gp_buf *out)
{
	gp_buf_printf(out, "Node %u, gpu_id %x:\n", device->node, device->file.gpu.gpu_id);
}

/* ---- hqds ---- */

/* The registers of XCC k lie where an MI308X (4 XCCs) shows them; the rest by the same rule. */
static u32 xcc_base(u32 xcc)
{
	return xcc / 2 * 0x100000u + (xcc & 1) * 0xc0000u;
}

static u32 sdma_base(u32 engine)
{
	static const u32 bases[] = {0x4e40, 0x6640, 0xe54c0, 0xe64c0};

	return bases[engine % 4] + engine / 4 * 0x100000u;
}

/* What is mapped on a device, by slot. */
struct mapped {
	const struct gp_vgpu_queue *compute[PIPES * PIPE_QUEUES];
	const struct gp_vgpu_queue *sdma[GP_MODEL_MAX_ENGINES][16];
};

static void collect(struct gp_vgpu_server *server, const struct gp_vgpu_device *device,
		    struct mapped *out)
{
	memset(out, 0, sizeof(*out));
	for (struct gp_vgpu_process *p = server->processes; p; p = p->next) {
		for (u32 id = 0; id < GP_VGPU_MAX_QUEUES; id++) {
			const struct gp_vgpu_queue *queue = p->queues[id];
			struct gp_model_queue_state state;

			if (!queue || queue->device != device ||
			    gp_model_queue_state(device->model, queue->model_queue, &state) ||
			    !state.mapped)
				continue;
			if (!gp_vgpu_is_sdma(queue->args.queue_type) &&
			    state.slot < GP_ARRAY_SIZE(out->compute))
				out->compute[state.slot] = queue;
			else if (gp_vgpu_is_sdma(queue->args.queue_type) &&
				 queue->sdma_engine < GP_MODEL_MAX_ENGINES &&
				 state.slot < GP_ARRAY_SIZE(out->sdma[0]))
				out->sdma[queue->sdma_engine][state.slot] = queue;
		}
	}
}

/* Linux 6.1 does not say which XCC, for it knows of none. */
static void slot_heading(struct gp_buf *out, enum gp_vgpu_server_era era, const char *before,
			 u32 xcc)
{
	if (era == GP_ERA_6_1)
		gp_buf_printf(out, "  ");
	else
		gp_buf_printf(out, "%sInst %u, ", before, xcc);
}

static void compute_slots(enum gp_vgpu_server_era era, const struct gp_vgpu_device *device,
			  const struct mapped *mapped, u32 xcc, struct gp_buf *out)
{
	u32 per_pipe = device->file.chip.slots / PIPES, address = GC_FIRST + xcc_base(xcc);
	u32 words[GP_HQD_WORDS];

	gp_vgpu_hiq(device, xcc, words);
	slot_heading(out, era, "   ", xcc);
	gp_buf_printf(out, "HIQ on MEC 2 Pipe 0 Queue 0\n");
	dump(out, "    ", address, words, GP_HQD_WORDS);
	for (u32 slot = 0; slot < per_pipe * PIPES; slot++) {
		const struct gp_vgpu_queue *queue = mapped->compute[slot];
		struct gp_model_queue_state state;

		memset(words, 0, sizeof(words));
		if (queue && gp_model_queue_state(device->model, queue->model_queue, &state) == 0)
			gp_vgpu_hqd(queue, &state, xcc, words);
		slot_heading(out, era, " ", xcc);
		gp_buf_printf(out, "%sCP Pipe %u, Queue %u\n", era == GP_ERA_6_1 ? "" : " ",
			      slot / per_pipe, PIPE_QUEUES - per_pipe + slot % per_pipe);
		dump(out, "    ", address, words, GP_HQD_WORDS);
	}
}

static void sdma_slots(const struct gp_vgpu_device *device, const struct mapped *mapped,
		       struct gp_buf *out)
{
	static const struct {
		u32 first, offset;
	} ranges[] = {
#define RANGE(index, bytes) {index, bytes},
		GP_SDMA_RANGES(RANGE)
#undef RANGE
	};
	u32 count = device->file.gpu.gfx_version >= GFX942 ? GP_SDMA_WORDS_MAX : GP_SDMA_WORDS_MIN;
	u32 queues = device->file.chip.sdma_queues_per_engine;

	for (u32 i = 0; i < device->file.chip.sdma_engines * queues; i++) {
		u32 engine = i / queues, slot = i % queues, words[GP_SDMA_WORDS_MAX] = {0};
		const struct gp_vgpu_queue *queue = mapped->sdma[engine][slot];
		u32 base = sdma_base(engine) + slot * SDMA_RLC_BYTES;
		struct gp_model_queue_state state;

		if (queue && gp_model_queue_state(device->model, queue->model_queue, &state) == 0)
			gp_vgpu_sdma_slot(queue, &state, words);
		gp_buf_printf(out, "  SDMA Engine %u, RLC %u\n", engine, slot);
		for (u32 r = 0; r < GP_ARRAY_SIZE(ranges); r++) {
			u32 end = r + 1 < GP_ARRAY_SIZE(ranges) ? ranges[r + 1].first : count;

			dump(out, "    ", base + ranges[r].offset, words + ranges[r].first,
			     end - ranges[r].first);
		}
	}
}

void gp_vgpu_debugfs_hqds(struct gp_vgpu_server *server, struct gp_buf *out)
{
	for (u32 i = 0; i < server->device_count; i++) {
		struct gp_vgpu_device *device = &server->devices[i];
		struct mapped mapped;

		node_line(device, out);
		collect(server, device, &mapped);
		for (u32 xcc = 0; xcc < device->file.gpu.xcc_count; xcc++)
			compute_slots(server->options.era, device, &mapped, xcc, out);
		sdma_slots(device, &mapped, out);
	}
}

/* ---- mqds ---- */

/* A process's queues on a device (NULL: on all), newest first as the driver lists them. */
struct queue_list {
	const struct gp_vgpu_queue *items[GP_VGPU_MAX_QUEUES];
	u32 count;
};

static int newest_first(const void *a, const void *b)
{
	const struct gp_vgpu_queue *x = *(const struct gp_vgpu_queue *const *)a;
	const struct gp_vgpu_queue *y = *(const struct gp_vgpu_queue *const *)b;

	return (x->mqd_address < y->mqd_address) - (x->mqd_address > y->mqd_address);
}

static void list_queues(const struct gp_vgpu_process *process, const struct gp_vgpu_device *device,
			struct queue_list *out)
{
	out->count = 0;
	for (u32 id = 0; id < GP_VGPU_MAX_QUEUES; id++)
		if (process->queues[id] && (!device || process->queues[id]->device == device))
			out->items[out->count++] = process->queues[id];
	qsort(out->items, out->count, sizeof(out->items[0]), newest_first);
}

static void queue_descriptor(const struct gp_vgpu_queue *queue, struct gp_buf *out)
{
	const struct gp_vgpu_gpu *gpu = &queue->device->file.gpu;
	u32 words[GP_MQD_WORDS];

	if (gp_vgpu_is_sdma(queue->args.queue_type)) {
		gp_buf_printf(out, "  SDMA queue on device %x\n", gpu->gpu_id);
		gp_vgpu_sdma_mqd(queue, words);
		dump(out, "    ", 0, words, GP_SDMA_MQD_WORDS);
		return;
	}
	gp_buf_printf(out, "  Compute queue on device %x\n", gpu->gpu_id);
	for (u32 xcc = 0; xcc < gpu->xcc_count; xcc++) {
		gp_vgpu_mqd(queue, xcc, words);
		dump(out, "    ", 0, words, GP_MQD_WORDS);
	}
}

void gp_vgpu_debugfs_mqds(struct gp_vgpu_server *server, struct gp_buf *out)
{
	struct queue_list queues;

	for (const struct gp_vgpu_process *p = server->processes; p; p = p->next) {
		if (p->dead)
			continue;
		gp_buf_printf(out, "Process %d PASID 0x%x:\n", (int)p->pid, p->pasid);
		list_queues(p, NULL, &queues);
		for (u32 i = 0; i < queues.count; i++)
			queue_descriptor(queues.items[i], out);
	}
}

/* ---- rls ---- */

#define PM4_HEADER(opcode, words)                                 \
	((u32)GP_PM4_TYPE3 << GP_PM4_TYPE_FROM |                  \
	 (u32)((words)-GP_PM4_COUNT_EXTRA) << GP_PM4_COUNT_FROM | \
	 (u32)(opcode) << GP_PM4_OPCODE_FROM)
#define MAP_PROCESS_WORDS 21 /* gfx90a and gfx942 */
#define PROCESS_QUANTUM   10
#define SH_MEM_BASES      0x00010002u
#define SH_MEM_CONFIG     0x18u
#define DEBUG_TRAPS       14 /* dword; SPI_GDBG_PER_VMID_CNTL with traps on */
#define SDMA_ENABLE       0x80u
#define ONE_QUEUE         (1u << 29)
#define HWS_CHOOSES_SLOT  (1u << 4)
#define RUNLIST_IB        0x00fce000u
#define RUN_LIST_CHAIN    (1u << 20)
#define RUN_LIST_VALID    (1u << 23)

struct words {
	struct gp_buf bytes;
};

static void emit(struct words *list, const u32 *words, size_t count)
{
	gp_buf_add(&list->bytes, words, count * sizeof(*words));
}

static void map_process(const struct gp_vgpu_process *process, u32 queues, struct words *list)
{
	u64 page_table = 0x6080000001ull + (u64)process->pasid * 0x1000;
	u32 words[MAP_PROCESS_WORDS] = {
		PM4_HEADER(GP_PM4_MAP_PROCESS, MAP_PROCESS_WORDS),
		(process->pasid & 0xffff) | PROCESS_QUANTUM << GP_PM4_MAP_PROCESS_QUANTUM,
		(u32)page_table,
		(u32)(page_table >> 32),
		SH_MEM_BASES,
		SH_MEM_CONFIG,
		/* Trap handler and its memory, >> 8: the driver's own, for CWSR. */
		0xffffbf00,
		0xff,
		0xffffbf18,
		0xff,
	};

	words[GP_PM4_MAP_PROCESS_QUEUES] = queues << GP_PM4_MAP_PROCESS_QUEUES_BIT | SDMA_ENABLE;
	if (process->debug.enabled && process->runtime_state)
		words[DEBUG_TRAPS] = 8;
	emit(list, words, MAP_PROCESS_WORDS);
}

static void map_queue(const struct gp_vgpu_queue *queue, struct words *list)
{
	u64 wptr = queue->args.write_pointer_address;
	u32 engine = GP_PM4_ENGINE_COMPUTE << GP_PM4_MAP_QUEUES_ENGINE;
	u32 words[GP_PM4_MAP_QUEUES_WORDS] = {
		PM4_HEADER(GP_PM4_MAP_QUEUES, GP_PM4_MAP_QUEUES_WORDS),
	};

	if (gp_vgpu_is_sdma(queue->args.queue_type) && queue->sdma_engine < 2)
		engine = (GP_PM4_ENGINE_SDMA0 + queue->sdma_engine) << GP_PM4_MAP_QUEUES_ENGINE;
	else if (gp_vgpu_is_sdma(queue->args.queue_type))
		engine = (queue->sdma_engine % 8) << GP_PM4_MAP_QUEUES_ENGINE |
			 (1 + queue->sdma_engine / 8) << GP_PM4_MAP_QUEUES_EXTENDED;
	words[GP_PM4_MAP_QUEUES_FLAGS] = ONE_QUEUE | HWS_CHOOSES_SLOT | engine;
	words[GP_PM4_MAP_QUEUES_DOORBELL] = queue->doorbell << 2;
	words[GP_PM4_MAP_QUEUES_MQD] = (u32)queue->mqd_address;
	words[GP_PM4_MAP_QUEUES_MQD + 1] = (u32)(queue->mqd_address >> 32);
	words[GP_PM4_MAP_QUEUES_WPTR] = (u32)wptr;
	words[GP_PM4_MAP_QUEUES_WPTR + 1] = (u32)(wptr >> 32);
	emit(list, words, GP_PM4_MAP_QUEUES_WORDS);
}

/* The loop is closed when not all fits at once: the firmware starts over and over. */
static void chain(const struct gp_vgpu_device *device, const struct gp_model_stats *stats,
		  struct words *list)
{
	u32 dwords = (u32)(list->bytes.len / 4) + GP_PM4_RUN_LIST_WORDS;
	u32 at_once = GP_MIN(stats->mapped_processes, device->file.chip.vmids);
	u32 words[GP_PM4_RUN_LIST_WORDS] = {
		PM4_HEADER(GP_PM4_RUN_LIST, GP_PM4_RUN_LIST_WORDS),
		RUNLIST_IB,
		0,
		(dwords & 0xfffff) | RUN_LIST_CHAIN | RUN_LIST_VALID | (at_once & 0xf) << 24,
	};

	emit(list, words, GP_PM4_RUN_LIST_WORDS);
}

/* Of the processes with queues on a device the one that joined it last before `limit`. */
static const struct gp_vgpu_process *newest_before(const struct gp_vgpu_server *server, u32 device,
						   u64 limit)
{
	const struct gp_vgpu_process *newest = NULL;

	for (const struct gp_vgpu_process *p = server->processes; p; p = p->next)
		if (p->device_queues[device] && p->joined[device] < limit &&
		    (!newest || p->joined[device] > newest->joined[device]))
			newest = p;
	return newest;
}

static void device_runlist(struct gp_vgpu_server *server, const struct gp_vgpu_device *device,
			   struct gp_buf *out)
{
	struct words list = {0};
	struct gp_model_stats stats;
	struct queue_list queues;
	u32 active = 0;

	/* The driver adds processes at the head of its list. */
	for (const struct gp_vgpu_process *p = newest_before(server, device->index, UINT64_MAX); p;
	     p = newest_before(server, device->index, p->joined[device->index])) {
		list_queues(p, device, &queues);
		map_process(p, queues.count, &list);
		for (u32 i = 0; i < queues.count; i++) {
			if (!gp_vgpu_queue_active(queues.items[i]))
				continue;
			map_queue(queues.items[i], &list);
			active++;
		}
	}
	gp_model_stats(device->model, &stats);
	if (stats.oversubscribed)
		chain(device, &stats, &list);
	node_line(device, out);
	if (list.bytes.error)
		out->error = list.bytes.error;
	else if (!active)
		gp_buf_puts(out, "  No active runlist\n");
	else
		dump(out, "  ", 0, (const u32 *)(const void *)list.bytes.data,
		     (u32)(list.bytes.len / 4));
	gp_buf_free(&list.bytes);
}

void gp_vgpu_debugfs_rls(struct gp_vgpu_server *server, struct gp_buf *out)
{
	for (u32 i = 0; i < server->device_count; i++)
		device_runlist(server, &server->devices[i], out);
}
