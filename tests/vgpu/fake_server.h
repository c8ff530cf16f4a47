/* SPDX-License-Identifier: MIT */
/*
 * A machine without sockets: requests are handed over directly, replies are collected, time is a
 * number and other processes are a table. One call is one ioctl, run to its end.
 */
#ifndef GP_TEST_FAKE_SERVER_H
#define GP_TEST_FAKE_SERVER_H

#include <errno.h>
#include <unistd.h>

#include "testlib.h"
#include "vgpu/server/state.h"

#define GPU_ID   0x5f6cu
#define TASKS    16
#define PAGE     4096u
#define MS       1000000ull
#define NEW_MASK GP_KFD_EC_MASK(GP_KFD_EC_QUEUE_NEW)
#define ANSWERS  64
#define NOT_YET  INT64_MIN

struct fake_task {
	pid_t tid, tgid, tracer;
	bool kernel;
};

/* The answer to a request, by its sequence. */
struct answer {
	bool here;
	s64 result;
	u8 args[GP_VGPU_ARGS_MAX];
	u32 payload[GP_KFD_MAX_QUEUES * 16];
	u32 payload_bytes;
	int fd;
};

struct fake_server {
	struct gp_vgpu_server server;
	u64 now;
	struct fake_task tasks[TASKS];
	u32 task_count;
	u32 sequence;
	struct answer answers[ANSWERS];
	u32 tree_changes, tree_gone;
	/* The last writes into clients' memory. */
	struct {
		pid_t pid;
		u64 address;
		u32 words[4];
	} writes[8];
	u32 write_count;
	struct test_diag diag;
};

static inline struct fake_server *fake_of(struct gp_vgpu_server *server)
{
	return (struct fake_server *)server;
}

/* Stand-ins for the files of the machine. */
int gp_vgpu_tree_create(struct gp_vgpu_server *server)
{
	(void)server;
	return 0;
}

int gp_vgpu_tree_refresh(struct gp_vgpu_server *server, const char *path)
{
	(void)server;
	(void)path;
	return 0;
}

void gp_vgpu_tree_process(struct gp_vgpu_server *server, struct gp_vgpu_process *process)
{
	(void)process;
	fake_of(server)->tree_changes++;
}

void gp_vgpu_tree_process_gone(struct gp_vgpu_server *server, struct gp_vgpu_process *process)
{
	(void)process;
	fake_of(server)->tree_gone++;
}

int gp_vgpu_server_status(struct gp_vgpu_server *server, struct gp_buf *out)
{
	(void)server;
	gp_buf_puts(out, "{}");
	return 0;
}

static u64 fake_raw(void *context)
{
	return ((struct fake_server *)context)->now;
}

static int fake_task(void *context, pid_t tid, struct gp_vgpu_server_task *out)
{
	const struct fake_server *fake = context;

	for (u32 i = 0; i < fake->task_count; i++)
		if (fake->tasks[i].tid == tid) {
			*out = (struct gp_vgpu_server_task){.tgid = fake->tasks[i].tgid,
							    .tracer = fake->tasks[i].tracer,
							    .has_memory = !fake->tasks[i].kernel};
			return 0;
		}
	return -ESRCH;
}

static void fake_reply(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	struct answer *answer = &fake_of(server)->answers[request->header.sequence % ANSWERS];

	answer->here = true;
	answer->result = request->result;
	memcpy(answer->args, request->header.args, sizeof(answer->args));
	answer->payload_bytes = request->payload_out;
	assert_true(request->payload_out <= sizeof(answer->payload));
	if (request->payload_out)
		memcpy(answer->payload, request->payload, request->payload_out);
	answer->fd = request->send_fd;
	request->send_fd = -1;
}

static void fake_write(void *context, pid_t pid, u64 address, const void *data, size_t size)
{
	struct fake_server *fake = context;
	u32 at = fake->write_count++ % GP_ARRAY_SIZE(fake->writes);

	fake->writes[at].pid = pid;
	fake->writes[at].address = address;
	memcpy(fake->writes[at].words, data, GP_MIN(size, sizeof(fake->writes[at].words)));
}

static const struct gp_model_chip fake_chip = {
	.xcc_count = 2,
	.cu_per_xcc = 4,
	.simd_per_cu = 4,
	.waves_per_simd = 8,
	.wave_size = 64,
	.vgpr_per_simd = 512,
	.lds_per_cu = 65536,
	.slots = 24,
	.vmids = 8,
	.sdma_engines = 3,
	.sdma_queues_per_engine = 8,
	.quantum_ns = 10 * MS,
	.dispatch_ns = 1000,
	.complete_ns = 1000,
	.unmap_ns = 20000,
	.unmap_queue_ns = 1000,
	.map_ns = 20000,
	.map_queue_ns = 1000,
	.save_ns = 5000,
	.restore_ns = 5000,
	.save_bytes_per_us = 100000,
	.restore_bytes_per_us = 100000,
	.wave_fixed_bytes = 512,
	.clock_khz = 1024000,
	.sdma_bytes_per_us = 10000,
	.sdma_packet_ns = 1000,
};

static inline struct gp_vgpu_gpufile fake_gpu(enum gp_vgpu_personality personality)
{
	struct gp_vgpu_gpufile file = {
		.name = "fake",
		.title = "Fake",
		.personality = personality,
		.chip = fake_chip,
		.gpu = {.gpu_id = GPU_ID,
			.render_minor = 128,
			.gfx_version = 90010,
			.cu_count = 8,
			.xcc_count = 1,
			.vram_bytes = 64ull << 20,
			.cwsr_bytes = 16 * PAGE,
			.ctl_stack_bytes = 2 * PAGE},
		.sdma_engines = 2,
		.sdma_xgmi_engines = 1,
		.capability = GP_KFD_CAP_TRAP_DEBUG,
	};

	return file;
}

static inline struct fake_server *fake_start(u32 gpus, enum gp_vgpu_server_era era,
					     enum gp_vgpu_personality personality)
{
	struct fake_server *fake = calloc(1, sizeof(*fake));
	struct gp_vgpu_gpufile file = fake_gpu(personality);
	struct gp_vgpu_server_options options = {.directory = "/nowhere",
						 .speed_permille = 1000,
						 .era = era,
						 .gpu_count = gpus,
						 .preemption_timeout_ms = 9000};
	struct gp_vgpu_server_host host = {.raw_ns = fake_raw,
					   .task = fake_task,
					   .reply = fake_reply,
					   .write = fake_write,
					   .context = fake};

	assert_non_null(fake);
	fake->diag.diag.emit = test_diag_emit;
	fake->now = 1000 * MS;
	assert_int_equal(gp_vgpu_server_init(&fake->server, &options, &file, &host,
					     &fake->diag.diag),
			 0);
	return fake;
}

static inline void fake_stop(struct fake_server *fake)
{
	for (u32 i = 0; i < ANSWERS; i++)
		if (fake->answers[i].here && fake->answers[i].fd > 2)
			close(fake->answers[i].fd);
	gp_vgpu_server_fini(&fake->server);
	gp_buf_free(&fake->diag.text);
	free(fake);
}

static inline u32 gpu_id(const struct fake_server *fake, u32 index)
{
	return fake->server.devices[index].file.gpu.gpu_id;
}

static inline void task_add(struct fake_server *fake, pid_t tid, pid_t tgid, pid_t tracer)
{
	assert_true(fake->task_count < TASKS);
	fake->tasks[fake->task_count++] = (struct fake_task){tid, tgid, tracer, false};
}

static inline void set_tracer(struct fake_server *fake, pid_t tid, pid_t tracer)
{
	for (u32 i = 0; i < fake->task_count; i++)
		if (fake->tasks[i].tid == tid)
			fake->tasks[i].tracer = tracer;
}

/* A process that has opened /dev/kfd. */
static inline struct gp_vgpu_process *process_add(struct fake_server *fake, pid_t pid)
{
	struct gp_vgpu_process *process = gp_vgpu_process_add(&fake->server, pid);

	task_add(fake, pid, pid, 0);
	assert_non_null(process);
	assert_int_equal(gp_vgpu_process_share(process), 0);
	return process;
}

static inline void process_end(struct fake_server *fake, struct gp_vgpu_process *process)
{
	pid_t pid = process->pid;

	for (u32 i = 0; i < fake->task_count; i++)
		if (fake->tasks[i].tgid == pid)
			fake->tasks[i].tid = fake->tasks[i].tgid = -1;
	gp_vgpu_process_remove(&fake->server, process);
	gp_vgpu_bury(&fake->server);
}

/* Lets `ns` pass, stopping at everything that happens on the way. */
static inline void pass(struct fake_server *fake, u64 ns)
{
	u64 end = fake->now + ns;

	for (;;) {
		u64 next;

		gp_vgpu_server_tick(&fake->server);
		gp_vgpu_server_advance(&fake->server);
		next = gp_vgpu_server_next(&fake->server);
		if (next == GP_MODEL_NEVER || gp_vgpu_server_raw_time(&fake->server, next) > end)
			break;
		if (gp_vgpu_server_raw_time(&fake->server, next) > fake->now)
			fake->now = gp_vgpu_server_raw_time(&fake->server, next);
	}
	fake->now = end;
	gp_vgpu_server_tick(&fake->server);
	gp_vgpu_server_advance(&fake->server);
}

struct call {
	struct gp_vgpu_process *process;
	pid_t tid; /* 0: the process's first thread */
	u32 nr, flags;
	void *args;
	u32 args_size;
	const void *payload;
	u32 payload_size;
	int fd;
};

/* Hands the request over; its sequence. */
static inline u32 begin(struct fake_server *fake, const struct call *call)
{
	struct gp_vgpu_request *request = calloc(1, sizeof(*request));
	struct answer *answer = &fake->answers[++fake->sequence % ANSWERS];

	memset(answer, 0, sizeof(*answer));
	answer->fd = -1;
	request->header = (struct gp_vgpu_header){.version = GP_VGPU_VERSION,
						  .kind = GP_VGPU_IOCTL,
						  .sequence = fake->sequence,
						  .tid = call->tid ? call->tid : call->process->pid,
						  .ioctl_nr = call->nr,
						  .args_size = call->args_size,
						  .payload_size = call->payload_size,
						  .flags = call->flags};
	memcpy(request->header.args, call->args, call->args_size);
	request->process = call->process;
	request->received_fd = call->fd > 0 ? call->fd : -1;
	request->send_fd = -1;
	if (call->payload_size) {
		request->payload = malloc(call->payload_size);
		memcpy(request->payload, call->payload, call->payload_size);
	}
	gp_vgpu_server_tick(&fake->server);
	gp_vgpu_request_submit(&fake->server, request);
	gp_vgpu_server_advance(&fake->server);
	return fake->sequence;
}

static inline struct answer *answer_of(struct fake_server *fake, u32 sequence)
{
	return &fake->answers[sequence % ANSWERS];
}

/* The result when it is there, NOT_YET while the ioctl blocks. */
static inline s64 result_of(struct fake_server *fake, u32 sequence)
{
	const struct answer *answer = answer_of(fake, sequence);

	return answer->here ? answer->result : NOT_YET;
}

/* Runs until the answer comes or nothing happens any more; args are copied back. */
static inline s64 run(struct fake_server *fake, const struct call *call)
{
	u32 sequence = begin(fake, call);

	while (!answer_of(fake, sequence)->here &&
	       gp_vgpu_server_next(&fake->server) != GP_MODEL_NEVER) {
		u64 next =
			gp_vgpu_server_raw_time(&fake->server, gp_vgpu_server_next(&fake->server));

		pass(fake, next > fake->now ? next - fake->now : 0);
	}
	if (answer_of(fake, sequence)->here)
		memcpy(call->args, answer_of(fake, sequence)->args, call->args_size);
	return result_of(fake, sequence);
}

#define CALL(fake_, process_, request_, args_)                          \
	run(fake_, &(struct call){.process = (process_),                \
				  .nr = _IOC_NR(GP_KFD_IOC_##request_), \
				  .args = (args_),                      \
				  .args_size = sizeof(*(args_))})

static inline void signal_to(struct fake_server *fake, u32 sequence)
{
	gp_vgpu_request_cancel(&fake->server, NULL, sequence);
	gp_vgpu_server_advance(&fake->server);
}

/* Device-wide preemptions so far, those under way finished. */
static inline u64 updates(struct fake_server *fake, u32 device)
{
	struct gp_model_stats stats;

	pass(fake, MS);
	gp_model_stats(fake->server.devices[device].model, &stats);
	return stats.updates;
}

/* ---- the calls tests make most ---- */

static inline struct gp_kfd_create_queue_args queue_args(const struct fake_server *fake, u32 device,
							 u32 type)
{
	return (struct gp_kfd_create_queue_args){
		.ring_base_address = 0x7f0000000000ull,
		.write_pointer_address = 0x7f0000100038ull,
		.read_pointer_address = 0x7f0000100080ull,
		.ring_size = 65536,
		.gpu_id = gpu_id(fake, device),
		.queue_type = type,
		.queue_percentage = 100,
		.queue_priority = 7,
		.eop_buffer_address = 0x7f0000200000ull,
		.eop_buffer_size = PAGE,
		.ctx_save_restore_address = 0x7f0000300000ull,
		.ctx_save_restore_size = 16 * PAGE,
		.ctl_stack_size = 2 * PAGE,
	};
}

/* Its id, or -errno. */
static inline s64 create_on(struct fake_server *fake, struct gp_vgpu_process *process, u32 device,
			    u32 type)
{
	struct gp_kfd_create_queue_args args = queue_args(fake, device, type);
	s64 result = CALL(fake, process, CREATE_QUEUE, &args);

	return result ? result : args.queue_id;
}

static inline s64 create(struct fake_server *fake, struct gp_vgpu_process *process)
{
	return create_on(fake, process, 0, GP_KFD_QUEUE_COMPUTE_AQL);
}

static inline s64 destroy(struct fake_server *fake, struct gp_vgpu_process *process, u32 id)
{
	struct gp_kfd_destroy_queue_args args = {.queue_id = id};

	return CALL(fake, process, DESTROY_QUEUE, &args);
}

static inline s64 update_full(struct fake_server *fake, struct gp_vgpu_process *process,
			      struct gp_kfd_update_queue_args args)
{
	return CALL(fake, process, UPDATE_QUEUE, &args);
}

static inline s64 update_percent(struct fake_server *fake, struct gp_vgpu_process *process, u32 id,
				 u32 percent)
{
	return update_full(fake, process,
			   (struct gp_kfd_update_queue_args){.ring_base_address = 0x7f0000000000,
							     .queue_id = id,
							     .ring_size = 65536,
							     .queue_percentage = percent,
							     .queue_priority = 7});
}

static inline s64 runtime_enable(struct fake_server *fake, struct gp_vgpu_process *process,
				 u32 mode)
{
	struct gp_kfd_runtime_enable_args args = {.r_debug = 0x1234, .mode_mask = mode};

	return CALL(fake, process, RUNTIME_ENABLE, &args);
}

/* DBG_TRAP with an array of ids, which comes back in place. */
static inline s64 trap(struct fake_server *fake, struct gp_vgpu_process *caller, pid_t tid,
		       struct gp_kfd_dbg_trap_args *args, u32 flags, u32 *ids, u32 count)
{
	struct call call = {.process = caller,
			    .tid = tid,
			    .nr = _IOC_NR(GP_KFD_IOC_DBG_TRAP),
			    .flags = flags,
			    .args = args,
			    .args_size = sizeof(*args),
			    .payload = ids,
			    .payload_size = ids ? count * (u32)sizeof(*ids) : 0};
	s64 result = run(fake, &call);
	const struct answer *answer = answer_of(fake, fake->sequence);

	if (ids && answer->payload_bytes)
		memcpy(ids, answer->payload, answer->payload_bytes);
	return result;
}

/* ENABLE with a descriptor of its own (the write end of a pipe unless given). */
static inline s64 enable_from(struct fake_server *fake, struct gp_vgpu_process *caller, pid_t tid,
			      pid_t target, u64 mask, int fd)
{
	struct gp_kfd_dbg_trap_args args = {
		.pid = (u32)target,
		.op = GP_KFD_DBG_ENABLE,
		.enable = {.exception_mask = mask, .rinfo_size = 16},
	};

	return run(fake, &(struct call){.process = caller,
					.tid = tid,
					.nr = _IOC_NR(GP_KFD_IOC_DBG_TRAP),
					.args = &args,
					.args_size = sizeof(args),
					.fd = fd});
}

static inline s64 enable(struct fake_server *fake, struct gp_vgpu_process *caller, pid_t target)
{
	return enable_from(fake, caller, 0, target, 0, dup(2));
}

static inline s64 simple_op(struct fake_server *fake, struct gp_vgpu_process *caller, pid_t target,
			    u32 op)
{
	struct gp_kfd_dbg_trap_args args = {.pid = (u32)target, .op = op};

	return trap(fake, caller, 0, &args, 0, NULL, 0);
}

static inline s64 snapshot(struct fake_server *fake, struct gp_vgpu_process *caller, pid_t target,
			   u64 clear)
{
	struct gp_kfd_dbg_trap_args args = {
		.pid = (u32)target,
		.op = GP_KFD_DBG_GET_QUEUE_SNAPSHOT,
		.queue_snapshot = {.exception_mask = clear, .num_queues = 1024, .entry_size = 64},
	};
	s64 result = trap(fake, caller, 0, &args, 0, NULL, 0);

	return result ? result : args.queue_snapshot.num_queues;
}

static inline s64 suspend(struct fake_server *fake, struct gp_vgpu_process *caller, pid_t target,
			  u32 *ids, u32 count)
{
	struct gp_kfd_dbg_trap_args args = {
		.pid = (u32)target,
		.op = GP_KFD_DBG_SUSPEND_QUEUES,
		.suspend_queues = {.num_queues = count},
	};

	return trap(fake, caller, 0, &args, ids ? 0 : GP_VGPU_NULL_ARRAY, ids, count);
}

static inline s64 resume(struct fake_server *fake, struct gp_vgpu_process *caller, pid_t target,
			 u32 *ids, u32 count)
{
	struct gp_kfd_dbg_trap_args args = {
		.pid = (u32)target,
		.op = GP_KFD_DBG_RESUME_QUEUES,
		.resume_queues = {.num_queues = count},
	};

	return trap(fake, caller, 0, &args, ids ? 0 : GP_VGPU_NULL_ARRAY, ids, count);
}

/* ---- the client's side of the rings ---- */

static inline void ring_put(struct gp_vgpu_process *process, const struct gp_vgpu_work *work)
{
	struct gp_vgpu_ring *ring = &process->shared->work_ring;

	process->shared->work[ring->produced % GP_VGPU_WORK_SLOTS] = *work;
	ring->produced++;
}

static inline bool ring_get(struct gp_vgpu_process *process, struct gp_vgpu_done *done)
{
	struct gp_vgpu_ring *ring = &process->shared->done_ring;

	if (ring->produced == ring->consumed)
		return false;
	*done = process->shared->done[ring->consumed++ % GP_VGPU_DONE_SLOTS];
	return true;
}

/* A kernel that fills the GPU (8 CUs) for `ns`. */
static inline struct gp_vgpu_work kernel(u32 queue, u64 tag, u64 ns)
{
	return (struct gp_vgpu_work){.queue_id = queue,
				     .flags = GP_VGPU_KERNEL,
				     .tag = tag,
				     .workgroups = 8,
				     .workgroup_ns = ns,
				     .waves_per_workgroup = 32,
				     .vgprs = 64};
}

static inline u32 completed(struct gp_vgpu_process *process)
{
	struct gp_vgpu_done done;
	u32 count = 0;

	while (ring_get(process, &done))
		count += done.kind == GP_VGPU_COMPLETED;
	return count;
}

#endif
