// SPDX-License-Identifier: MIT
/*
 * What Debian's ROCm does with priorities and queues (2.7), and a stock ROCr program suspended from
 * outside (6.12, R2): a plain program with the libraries goes through it step by step.
 */
#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "conformance.h"

#define ACTOR_ENV      "GP_ROCM_ACTOR" /* its path; the build sets it where it made the program */
#define NOT_INSTALLED  77
#define HIP_RING_BYTES "262144"

struct program {
	pid_t pid;
	FILE *in, *out;
};

/* The library is there, or the row is skipped. */
static void wait_ready(struct program *program)
{
	char line[64];
	int status;

	if (fgets(line, sizeof(line), program->out)) {
		EXPECT(strcmp(line, "ready\n"), 0);
		return;
	}
	CHECK(waitpid(program->pid, &status, 0) == program->pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_INSTALLED)
		skip("the library is not installed");
	EXPECT(status, 0);
	CHECK(!"the program left early");
}

static struct program start_program(const char *mode)
{
	const char *path = getenv(ACTOR_ENV);
	struct program program;
	int in[2], out[2];

	if (!path)
		skip("ROCm's libraries and headers are not installed");
	CHECK(pipe(in) == 0 && pipe(out) == 0);
	program.pid = fork();
	CHECK(program.pid >= 0);
	if (!program.pid) {
		char *argv[] = {(char *)path, (char *)mode, NULL};

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		close(in[1]);
		close(out[0]);
		execv(path, argv);
		_exit(NOT_INSTALLED);
	}
	close(in[0]);
	close(out[1]);
	program.in = fdopen(in[1], "w");
	program.out = fdopen(out[0], "r");
	CHECK(program.in && program.out);
	wait_ready(&program);
	return program;
}

static void next_step(struct program *program)
{
	fputc('\n', program->in);
	fflush(program->in);
	wait_ready(program);
}

static void end_program(struct self *me, struct program *program)
{
	CHECK(kill(program->pid, SIGKILL) == 0);
	CHECK(waitpid(program->pid, NULL, 0) == program->pid);
	wait_gone(me, program->pid);
}

/* The queues of a process with rings of that size ("" = any); how many of which priority. */
static u32 count_queues(struct self *me, pid_t pid, const char *size, u32 priorities[16])
{
	char path[512];
	struct dirent *entry;
	u32 count = 0;
	DIR *queues;

	memset(priorities, 0, 16 * sizeof(*priorities));
	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d/queues", (int)pid);
	queues = opendir(path);
	CHECK(queues);
	while ((entry = readdir(queues))) {
		struct queue_view queue;
		char *text;

		snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d/queues/%s/size", (int)pid,
			 entry->d_name);
		text = *entry->d_name == '.' ? NULL : slurp(path);
		if (text && (!*size || strcmp(text, size) == 0)) {
			queue = look(me, pid, (u32)atoi(entry->d_name));
			CHECK(queue.exists && queue.priority < 16);
			priorities[queue.priority]++;
			count++;
		}
		free(text);
	}
	closedir(queues);
	return count;
}

static void hsakmt_priorities(struct self *me)
{
	static const u32 expected[] = {0, 3, 5, 7, 9, 11, 15};
	struct program program = start_program("hsakmt");

	for (u32 id = 0; id < GP_ARRAY_SIZE(expected); id++) {
		struct queue_view queue = look(me, program.pid, id);

		EXPECT(queue.exists, 1);
		EXPECT(queue.priority, expected[id]);
		EXPECT(queue.percentage, 100);
	}
	end_program(me, &program);
}

static void rocr_priorities(struct self *me)
{
	struct program program = start_program("rocr");
	u32 priorities[16];
	u64 updates;

	EXPECT(count_queues(me, program.pid, "65536", priorities), 1);
	EXPECT(priorities[7], 1);
	updates = figure(me, "updates");
	next_step(&program);
	EXPECT(figure(me, "updates"), updates + 1);
	EXPECT(count_queues(me, program.pid, "65536", priorities), 1);
	EXPECT(priorities[15], 1);
	next_step(&program);
	EXPECT(count_queues(me, program.pid, "65536", priorities), 1);
	EXPECT(priorities[0], 1);
	end_program(me, &program);
}

static void hip_pools(struct self *me)
{
	struct program program = start_program("hip");
	u32 priorities[16];

	/* 18 streams were made: four queues for each priority, which the streams share. */
	EXPECT(count_queues(me, program.pid, HIP_RING_BYTES, priorities), 12);
	EXPECT(priorities[0], 4);
	EXPECT(priorities[7], 4);
	EXPECT(priorities[15], 4);
	end_program(me, &program);
}

static void stock_rocr_suspended(struct self *me)
{
	struct program program = start_program("kernel");
	u64 pid = (u64)program.pid, then;
	u32 id = 0;

	/* The queue that runs something. */
	UNTIL(me, look(me, program.pid, id).cu_ns > 0 || look(me, program.pid, ++id % 4).cu_ns > 0);
	id %= 4;
	open_kfd(me);
	EXPECT(ME(me, do_seize, pid), 0);
	EXPECT(ME(me, do_enable, pid, 0), 0);
	CHECK(ME(me, do_snapshot, pid, NEW) > 0);
	EXPECT(ME(me, do_suspend, pid, 1, id), 1);
	then = look_settled(me, program.pid, id).cu_ns;
	EXPECT(look(me, program.pid, id).mapped, 0);
	EXPECT(look(me, program.pid, id).completed, 0);
	EXPECT(ME(me, do_suspend, pid, 1, id), 1); /* time goes by */
	EXPECT(look_settled(me, program.pid, id).cu_ns, then);
	EXPECT(ME(me, do_resume, pid, 1, id), 1);
	UNTIL(me, look(me, program.pid, id).cu_ns > then);
	end_program(me, &program);
}

const struct row rows_library[] = {
	{"kfd 2.7/3", "libhsakmt maps -3..3 to 0, 3, 5, 7, 9, 11, 15", hsakmt_priorities, ROCM,
	 NULL},
	{"kfd 2.7/4", "ROCr creates at 7 and sets priorities with UPDATE_QUEUE: high 15, low 0",
	 rocr_priorities, ROCM, NULL},
	{"kfd 2.7/5, kfd 2.7/6",
	 "HIP keeps three pools of queues, one a priority: 12 a process by default", hip_pools,
	 ROCM, NULL},
	{"6.12 R2", "stock ROCr with RUNTIME_ENABLE is suspended in mid-kernel from outside",
	 stock_rocr_suspended, ROCM | DEBUGGER, NULL},
	{0},
};
