// SPDX-License-Identifier: MIT
#include "gpu/nvrm/swap.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/parse.h"
#include "gpu/nvrm/nvml.h"

enum {
	LIMIT_MS = 10 * 60 * 1000, /* of the helper: 100 GB take two minutes */
	CUDA_NOT_INITIALIZED = 3,
	CUDA_NOT_READY = 600, /* of a lock: its time is over */
	CUDA_TIMEOUT = 909,
	MAPS_MAX = 16 << 20,
};

#define UVM         "/dev/nvidia-uvm"
#define LIBCUDA_END (64ull << 30)

/* ---- in the helper ---- */

/* cuda.h of CUDA 12.8; all arguments are 64 bytes, and zero means the default. */
struct cuda_arguments {
	u32 timeout_ms, reserved0;
	u64 reserved[7];
};
_Static_assert(sizeof(struct cuda_arguments) == 64, "CUcheckpointLockArgs");

struct cuda {
	int (*init)(unsigned int flags);
	int (*state)(int pid, int *state);
	int (*lock)(int pid, struct cuda_arguments *arguments);
	int (*checkpoint)(int pid, struct cuda_arguments *arguments);
	int (*restore)(int pid, struct cuda_arguments *arguments);
	int (*unlock)(int pid, struct cuda_arguments *arguments);
};

static bool take(void *library, const char *name, void *function)
{
	void *found = dlsym(library, name);

	memcpy(function, &found, sizeof(found));
	return found != NULL;
}

static int load_cuda(struct cuda *cuda)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	return library && take(library, "cuInit", &cuda->init) &&
			       take(library, "cuCheckpointProcessGetState", &cuda->state) &&
			       take(library, "cuCheckpointProcessLock", &cuda->lock) &&
			       take(library, "cuCheckpointProcessCheckpoint", &cuda->checkpoint) &&
			       take(library, "cuCheckpointProcessRestore", &cuda->restore) &&
			       take(library, "cuCheckpointProcessUnlock", &cuda->unlock)
		       ? 0
		       : -ENOSYS;
}

static void measure_device(const struct gp_nvrm_nvml *nvml, void *device, u32 pid,
			   struct gp_nvrm_swap *out)
{
	static struct gp_nvrm_nvml_process processes[GP_NVRM_NVML_PROCESSES];
	u32 count = GP_NVRM_NVML_PROCESSES;
	struct gp_nvrm_nvml_memory memory;

	if (nvml->processes(device, &count, processes) == 0) {
		for (u32 i = 0; i < count && i < GP_NVRM_NVML_PROCESSES; i++) {
			if (processes[i].pid != pid || processes[i].bytes == UINT64_MAX)
				continue;
			out->bytes += processes[i].bytes;
			out->valid |= GP_SWAP_BYTES;
		}
	}
	/* A process that is swapped out is on no GPU, and may have been on several: only memory
	 * that all of them together do not have is certainly missing. */
	if (out->state == GP_SWAP_CHECKPOINTED && nvml->memory(device, &memory) == 0) {
		out->free += memory.free;
		out->valid |= GP_SWAP_FREE;
	}
}

/* Without NVML the sizes stay unknown. */
static void measure(u32 pid, struct gp_nvrm_swap *out)
{
	struct gp_nvrm_nvml nvml;
	u32 count = 0;
	void *device;

	if (!gp_nvrm_nvml_load(&nvml) || nvml.count(&count))
		return;
	for (u32 i = 0; i < count; i++) {
		if (nvml.device(i, &device) == 0)
			measure_device(&nvml, device, pid, out);
	}
}

static int look(const struct cuda *cuda, u32 pid, struct gp_nvrm_swap *out)
{
	int state = 0, error = cuda->state((int)pid, &state);

	if (error == CUDA_NOT_INITIALIZED && cuda->init(0) == 0)
		error = cuda->state((int)pid, &state);
	/* What it was before is not what it is. */
	out->valid &= ~(u32)GP_SWAP_STATE;
	if (error) {
		out->cuda = (u32)error;
		return -EIO;
	}
	out->state = (u32)state;
	out->valid |= GP_SWAP_STATE;
	return state <= GP_SWAP_FAILED ? 0 : -EPROTO;
}

/* One step; what the process is then is read, not assumed. */
static int step(const struct cuda *cuda, u32 pid, enum gp_nvrm_swap_step at,
		int (*call)(int, struct cuda_arguments *), u32 timeout_ms, struct gp_nvrm_swap *out)
{
	struct cuda_arguments arguments = {.timeout_ms = timeout_ms};
	int error;

	out->step = at;
	error = call((int)pid, &arguments);
	if (look(cuda, pid, out) && !error)
		return -EIO;
	if (error)
		out->cuda = (u32)error;
	return error == CUDA_NOT_READY || error == CUDA_TIMEOUT ? -ETIMEDOUT : error ? -EIO : 0;
}

static int put_back(const struct cuda *cuda, u32 pid, struct gp_nvrm_swap *out)
{
	int error = 0;

	if (out->state == GP_SWAP_CHECKPOINTED)
		error = step(cuda, pid, GP_SWAP_RESTORE, cuda->restore, 0, out);
	if (!error && out->state == GP_SWAP_LOCKED)
		error = step(cuda, pid, GP_SWAP_UNLOCK, cuda->unlock, 0, out);
	if (!error && out->state != GP_SWAP_RUNNING)
		error = -EIO;
	return error;
}

/* After a step that failed: the process runs, and what failed is kept. A lock may have been given
 * although its call failed, so the state is asked for again. */
static void undo(const struct cuda *cuda, u32 pid, struct gp_nvrm_swap *out)
{
	struct gp_nvrm_swap undone = *out;

	if (look(cuda, pid, &undone) == 0)
		put_back(cuda, pid, &undone);
	out->state = undone.state;
	out->valid = (out->valid & ~(u32)GP_SWAP_STATE) | (undone.valid & GP_SWAP_STATE);
}

static int take_out(const struct cuda *cuda, u32 pid, u32 lock_ms, struct gp_nvrm_swap *out)
{
	int error;

	if (out->state != GP_SWAP_RUNNING)
		return -EBUSY;
	error = step(cuda, pid, GP_SWAP_LOCK, cuda->lock, lock_ms, out);
	if (!error)
		error = step(cuda, pid, GP_SWAP_CHECKPOINT, cuda->checkpoint, 0, out);
	if (!error && out->state != GP_SWAP_CHECKPOINTED)
		error = -EIO;
	if (error)
		undo(cuda, pid, out);
	return error;
}

enum act { LOOK, OUT, BACK };

static int act_on(enum act act, u32 pid, u32 lock_ms, struct gp_nvrm_swap *out)
{
	struct cuda cuda;
	int error = load_cuda(&cuda);

	if (error)
		return error;
	out->step = GP_SWAP_LOOK;
	error = look(&cuda, pid, out);
	if (!error && act != BACK)
		measure(pid, out);
	if (!error && act == OUT)
		error = take_out(&cuda, pid, lock_ms, out);
	if (!error && act == BACK)
		error = put_back(&cuda, pid, out);
	return error;
}

/* ---- the caller ---- */

struct answer {
	int error;
	struct gp_nvrm_swap swap;
};

static void be_helper(int to, enum act act, u32 pid, u32 lock_ms)
{
	struct answer answer = {0};

	/* Ctrl-C is for the caller, which decides what becomes of the process. */
	setsid();
	prctl(PR_SET_NAME, "gp-swap");
	answer.error = act_on(act, pid, lock_ms, &answer.swap);
	_exit(write(to, &answer, sizeof(answer)) == (ssize_t)sizeof(answer) ? 0 : 1);
}

static int await(int from, pid_t helper, struct answer *answer)
{
	u64 end = gp_monotonic_ns() + LIMIT_MS * GP_NS_PER_MS, now;
	struct pollfd poll_for = {.fd = from, .events = POLLIN};
	int ready = 0;

	while ((now = gp_monotonic_ns()) < end && ready <= 0) {
		ready = poll(&poll_for, 1, (int)((end - now) / GP_NS_PER_MS) + 1);
		if (ready < 0 && errno != EINTR)
			break;
	}
	if (ready <= 0) {
		kill(helper, SIGKILL);
		return -ETIME;
	}
	return read(from, answer, sizeof(*answer)) == (ssize_t)sizeof(*answer) ? answer->error
									       : -ECHILD;
}

static int run(enum act act, u32 pid, u32 lock_ms, struct gp_nvrm_swap *out)
{
	u64 start = gp_monotonic_ns();
	struct answer answer = {0};
	int ends[2], error;
	pid_t helper;

	*out = (struct gp_nvrm_swap){0};
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	helper = fork();
	if (helper == 0)
		be_helper(ends[1], act, pid, lock_ms);
	error = helper < 0 ? -errno : 0;
	close(ends[1]);
	if (!error) {
		error = await(ends[0], helper, &answer);
		while (waitpid(helper, NULL, 0) < 0 && errno == EINTR)
			;
	}
	close(ends[0]);
	*out = answer.swap;
	out->took_ns = gp_monotonic_ns() - start;
	return error;
}

int gp_nvrm_swap_look(u32 pid, struct gp_nvrm_swap *out)
{
	return run(LOOK, pid, 0, out);
}

int gp_nvrm_swap_out(u32 pid, u32 lock_ms, struct gp_nvrm_swap *out)
{
	int error = run(OUT, pid, lock_ms, out);
	struct gp_nvrm_swap back;

	/* The helper died or hung in the middle of it. */
	if ((error == -ECHILD || error == -ETIME) && run(BACK, pid, 0, &back) == 0) {
		out->state = back.state;
		out->valid |= back.valid & GP_SWAP_STATE;
	}
	return error;
}

int gp_nvrm_swap_back(u32 pid, struct gp_nvrm_swap *out)
{
	return run(BACK, pid, 0, out);
}

/* ---- before anything is touched ---- */

static bool has_variable(const struct gp_root *root, u32 pid, const char *name)
{
	struct gp_buf text = {0};
	size_t len = strlen(name);
	bool several = false;

	if (gp_root_read(root, 1 << 20, &text, "/proc/%u/environ", pid) == 0) {
		const char *p = gp_buf_str(&text), *end = p + text.len;

		for (; p < end; p += strlen(p) + 1)
			several |= strncmp(p, name, len) == 0 && p[len] == '=' &&
				   atoi(p + len + 1) > 1;
	}
	gp_buf_free(&text);
	return several;
}

/* libcuda maps 2 MiB of the UVM device below 64 GiB in every process (seen, driver 580); managed
 * memory is mapped where mmap() puts it. */
static bool maps_managed(const char *text)
{
	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		const char *p = line += *line == '\n', *end = line + strcspn(line, "\n");
		u64 start;

		if (gp_parse_hex(&p, end, &start) && start >= LIBCUDA_END &&
		    memmem(line, (size_t)(end - line), UVM, strlen(UVM)))
			return true;
		line = end;
	}
	return false;
}

enum gp_nvrm_swap_refusal gp_nvrm_swap_refusal(const struct gp_root *root, u32 pid)
{
	enum gp_nvrm_swap_refusal refusal = GP_SWAP_POSSIBLE;
	struct gp_buf maps = {0};

	if (gp_root_read(root, MAPS_MAX, &maps, "/proc/%u/maps", pid) == 0) {
		const char *text = gp_buf_str(&maps);

		if (strstr(text, "/dev/shm/nccl-") ||
		    (strstr(text, "/libnccl") && (has_variable(root, pid, "WORLD_SIZE") ||
						  has_variable(root, pid, "OMPI_COMM_WORLD_SIZE") ||
						  has_variable(root, pid, "SLURM_NTASKS"))))
			refusal = GP_SWAP_COLLECTIVE;
		else if (maps_managed(text))
			refusal = GP_SWAP_MANAGED;
	}
	gp_buf_free(&maps);
	return refusal;
}
