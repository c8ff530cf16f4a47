/* SPDX-License-Identifier: MIT */
/*
 * A virtual GPU without sockets: devices with models, processes and queues put together by
 * hand, for what looks at them (files, debugfs, status).
 */
#ifndef GP_TEST_SMALL_MACHINE_H
#define GP_TEST_SMALL_MACHINE_H

#include "tree.h"
#include "vgpu/server/server.h"

struct small_machine {
	struct tree tree;
	struct gp_vgpu_server server;
	struct test_diag diag;
};

#define SMALL_RING 0x7f0000100000ull

static inline void small_machine_make(struct small_machine *m, const char *gpu, u32 count,
				      enum gp_vgpu_personality personality)
{
	struct gp_vgpu_gpufile file;

	memset(m, 0, sizeof(*m));
	m->diag.diag.emit = test_diag_emit;
	tree_make(&m->tree);
	m->server.options.directory = m->tree.dir;
	m->server.options.era = GP_ERA_6_12;
	m->server.options.speed_permille = 1000;
	m->server.options.preemption_timeout_ms = 9000;
	m->server.diag = &m->diag.diag;
	assert_int_equal(gp_vgpu_gpufile_load(gpu, personality, &m->diag.diag, &file), 0);
	m->server.device_count = count;
	for (u32 i = 0; i < count; i++) {
		struct gp_vgpu_device *device = &m->server.devices[i];
		struct gp_model_config config = {.max_processes = 32,
						 .max_queues = 64,
						 .max_work = 256,
						 .seed = 1};
		size_t size;

		gp_vgpu_gpufile_place(&device->file, &file, i, count);
		config.chip = device->file.chip;
		device->node = i + 1;
		device->index = i;
		size = gp_model_memory(&config);
		assert_true(size > 0);
		device->model_memory = calloc(1, size);
		assert_int_equal(gp_model_init(&device->model, device->model_memory, size, &config),
				 0);
	}
	gp_vgpu_gpufile_free(&file);
}

static inline struct gp_vgpu_process *small_process(struct small_machine *m, pid_t pid)
{
	struct gp_vgpu_process *process = calloc(1, sizeof(*process)), **end = &m->server.processes;

	process->pid = pid;
	process->pasid = 0x8000 + ++m->server.next_pasid;
	process->shared = calloc(1, sizeof(*process->shared));
	for (u32 i = 0; i < m->server.device_count; i++)
		assert_int_equal(gp_model_process_add(m->server.devices[i].model,
						      &process->model_process[i]),
				 0);
	while (*end)
		end = &(*end)->next;
	*end = process;
	return process;
}

static inline struct gp_vgpu_queue *
small_queue(struct small_machine *m, struct gp_vgpu_process *process, u32 device, u32 id, u32 type)
{
	struct gp_vgpu_queue *queue = calloc(1, sizeof(*queue));
	struct gp_vgpu_device *d = &m->server.devices[device];
	bool sdma = type != GP_KFD_QUEUE_COMPUTE && type != GP_KFD_QUEUE_COMPUTE_AQL;
	struct gp_model_queue_config config = {.type = sdma ? GP_MODEL_SDMA : GP_MODEL_COMPUTE,
					       .priority = 7,
					       .enabled = true};
	u64 base = SMALL_RING + (u64)process->pid * 0x10000000 + id * 0x100000ull;

	queue->id = id;
	queue->process = process;
	queue->device = d;
	queue->percent = 100;
	queue->priority = 7;
	queue->mqd_address = 0x1000000000ull + ++m->server.next_mqd * 0x100000;
	queue->doorbell = 0x800 + 0x800 * process->index + 2 * id;
	queue->args = (struct gp_kfd_create_queue_args){
		.ring_base_address = base,
		.ring_size = 65536,
		.read_pointer_address = base + 0x20080,
		.write_pointer_address = base + 0x20038,
		.queue_type = type,
		.queue_percentage = 100,
		.queue_priority = 7,
		.queue_id = id,
		.eop_buffer_address = sdma ? 0 : base + 0x30000,
		.eop_buffer_size = sdma ? 0 : 4096,
		.ctx_save_restore_address = sdma ? 0 : base + 0x40000,
		.ctx_save_restore_size = sdma ? 0 : (u32)d->file.gpu.cwsr_bytes,
		.ctl_stack_size = sdma ? 0 : d->file.gpu.ctl_stack_bytes,
	};
	assert_int_equal(gp_model_queue_add(d->model, process->model_process[device], &config,
					    &queue->model_queue),
			 0);
	process->queues[id] = queue;
	process->queue_count++;
	if (!process->device_queues[device]++)
		process->joined[device] = queue->mqd_address;
	return queue;
}

/* Takes a queue off the hardware, or lets it on again, at the next update. */
static inline void small_enable(struct gp_vgpu_queue *queue, bool enabled)
{
	struct gp_model_queue_config config = {.type = queue->args.queue_type == GP_KFD_QUEUE_SDMA
							       ? GP_MODEL_SDMA
							       : GP_MODEL_COMPUTE,
					       .priority = queue->priority,
					       .enabled = enabled};

	queue->suspended = !enabled;
	assert_int_equal(gp_model_queue_set(queue->device->model, queue->model_queue, &config), 0);
}

/* Brings the wanted state onto the hardware. */
static inline void small_update(struct small_machine *m)
{
	for (u32 i = 0; i < m->server.device_count; i++) {
		struct gp_model *model = m->server.devices[i].model;
		struct gp_model_action action;
		u64 now;

		assert_int_equal(gp_model_runlist_update(model, 0, 0, 1), 0);
		while ((now = gp_model_next(model)) != GP_MODEL_NEVER) {
			gp_model_advance(model, now);
			while (gp_model_take(model, &action))
				;
		}
	}
}

static inline void small_machine_free(struct small_machine *m)
{
	while (m->server.processes) {
		struct gp_vgpu_process *process = m->server.processes;

		m->server.processes = process->next;
		for (u32 id = 0; id < GP_VGPU_MAX_QUEUES; id++)
			free(process->queues[id]);
		free(process->shared);
		free(process);
	}
	for (u32 i = 0; i < m->server.device_count; i++) {
		gp_vgpu_gpufile_free(&m->server.devices[i].file);
		free(m->server.devices[i].model_memory);
	}
	gp_buf_free(&m->diag.text);
	tree_remove(&m->tree);
}

/* A file of the machine's tree; the buffer is the caller's. */
static inline void small_read(struct small_machine *m, const char *path, struct gp_buf *out)
{
	char full[PATH_MAX];

	snprintf(full, sizeof(full), "%s/root%s", m->tree.dir, path);
	gp_buf_free(out);
	assert_int_equal(gp_file_read(full, 16u << 20, out), 0);
}

#endif
