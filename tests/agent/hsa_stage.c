// SPDX-License-Identifier: MIT
/*
 * A program with a GPU that does what it is told, a line at a time, and answers each with a line:
 *
 *   queue             a new queue                                  -> queue INDEX
 *   priority Q P      0 low, 1 normal, 2 high (HSA)                -> ok
 *   mask Q HEX        a CU mask of 64 bits                         -> ok
 *   kernel Q GROUPS   a dispatch with a signal and a barrier bit   -> ok
 *   plain Q GROUPS    the same without the barrier bit             -> ok
 *   mute Q GROUPS     the same without a signal                    -> ok
 *   rearm Q HOW       a dispatch that is waited for, then its signal is set for another one
 *                     (HOW: store, silent, add) or destroyed and made again (new)  -> ok
 *   done Q            how many dispatches have completed           -> done COUNT
 *   wait Q            waits for all with a signal                  -> done COUNT
 *   destroy Q                                                      -> ok
 *   fork              a child that looks at its descriptors        -> child STATUS
 *   spawn             posix_spawn() of a program                   -> child STATUS
 *   reinit            shuts HSA down and starts it again           -> ok
 *   exec PROGRAM      becomes another program
 *   closeall          closes every descriptor above 2 it knows of  -> ok (and then KFD is gone)
 *   begin US, end     a request's hints                            -> ok
 *   quit
 */
#include <dlfcn.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../vgpu/programs/hsa_program.h"

#define QUEUES  64
#define SIGNALS 256

struct lane {
	hsa_queue_t *queue;
	hsa_signal_t signals[SIGNALS];
	int sent;
};

static struct hsa_program program;
static uint64_t code;
static struct lane lanes[QUEUES];
static int lane_count;

static void dispatch(struct lane *lane, long groups, int barrier, int with_signal)
{
	hsa_kernel_dispatch_packet_t packet =
		hsa_program_dispatch(code, (uint32_t)(64 * groups), barrier);

	if (with_signal) {
		CHECK(lane->sent < SIGNALS);
		HSA(hsa_signal_create(1, 0, NULL, &lane->signals[lane->sent]));
		packet.completion_signal = lane->signals[lane->sent++];
	}
	hsa_program_submit(lane->queue, &packet);
}

static void set_again(hsa_signal_t *signal, const char *how)
{
	if (!strcmp(how, "store")) {
		hsa_signal_store_relaxed(*signal, 1);
	} else if (!strcmp(how, "silent")) {
		hsa_signal_silent_store_relaxed(*signal, 1);
	} else if (!strcmp(how, "add")) {
		hsa_signal_add_relaxed(*signal, 1);
	} else {
		CHECK(!strcmp(how, "new"));
		HSA(hsa_signal_destroy(*signal));
		/* One of them has its memory. */
		for (int i = 0; i < SIGNALS; i++)
			HSA(hsa_signal_create(1, 0, NULL, signal));
	}
}

/* As programs do that have one signal for each queue: ready for the next packet, which may come
 * much later. */
static void rearm(struct lane *lane, const char *how)
{
	hsa_kernel_dispatch_packet_t packet = hsa_program_dispatch(code, 64, 1);
	hsa_signal_t signal;

	HSA(hsa_signal_create(1, 0, NULL, &signal));
	packet.completion_signal = signal;
	hsa_program_submit(lane->queue, &packet);
	hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
				  HSA_WAIT_STATE_ACTIVE);
	set_again(&signal, how);
}

/* Complete ones, each exactly once and none before the one in front of it. */
static int complete(const struct lane *lane)
{
	int count = 0;

	while (count < lane->sent && hsa_signal_load_scacquire(lane->signals[count]) == 0)
		count++;
	for (int i = count + 1; i < lane->sent; i++)
		CHECK(hsa_signal_load_scacquire(lane->signals[i]) >= 0);
	return count;
}

static void new_queue(void)
{
	CHECK(lane_count < QUEUES);
	lanes[lane_count].queue = hsa_program_queue(&program, 1024);
	printf("queue %d\n", lane_count++);
}

static void destroy(struct lane *lane)
{
	HSA(hsa_queue_destroy(lane->queue));
	lane->queue = NULL;
}

/* The child must be able to leave, and to run another program, whatever the agent had open. */
static void fork_child(void)
{
	int status;
	pid_t child = fork();

	CHECK(child >= 0);
	if (!child) {
		execlp("sh", "sh", "-c",
		       "ls -l /proc/$$/fd | grep -c gpreempt >/dev/null && exit 3; exit 7",
		       (char *)NULL);
		_exit(1);
	}
	CHECK(waitpid(child, &status, 0) == child);
	printf("child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

/* As vfork(): the child runs in this process's memory until it has become another program. */
static void spawn(void)
{
	char *words[] = {(char *)"sh", (char *)"-c", (char *)"exit 9", NULL};
	pid_t child;
	int status;

	CHECK(!posix_spawnp(&child, "sh", NULL, NULL, words, environ));
	CHECK(waitpid(child, &status, 0) == child);
	printf("child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static void begin(void)
{
	program = hsa_program_begin();
	code = hsa_program_kernel(&program);
}

static void hint(int begin, unsigned long deadline_us)
{
	int (*request)(int, uint64_t) =
		(int (*)(int, uint64_t))dlsym(RTLD_DEFAULT, "gpreempt_agent_request");

	CHECK(request && request(begin, deadline_us) == 0);
	printf("ok\n");
}

static int obey(const char *word, long q, const char *rest)
{
	struct lane *lane = &lanes[q >= 0 && q < lane_count ? q : 0];

	if (!strcmp(word, "queue")) {
		new_queue();
	} else if (!strcmp(word, "done")) {
		printf("done %d\n", complete(lane));
	} else if (!strcmp(word, "wait")) {
		if (lane->sent)
			hsa_signal_wait_scacquire(lane->signals[lane->sent - 1],
						  HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
						  HSA_WAIT_STATE_BLOCKED);
		printf("done %d\n", complete(lane));
	} else if (!strcmp(word, "fork")) {
		fork_child();
	} else if (!strcmp(word, "spawn")) {
		spawn();
	} else if (!strcmp(word, "begin") || !strcmp(word, "end")) {
		hint(!strcmp(word, "begin"), (unsigned long)q);
	} else if (!strcmp(word, "quit")) {
		return 0;
	} else {
		if (!strcmp(word, "kernel") || !strcmp(word, "plain"))
			dispatch(lane, atol(rest), !strcmp(word, "kernel"), 1);
		else if (!strcmp(word, "mute"))
			dispatch(lane, atol(rest), 1, 0);
		else if (!strcmp(word, "rearm"))
			rearm(lane, rest);
		else if (!strcmp(word, "destroy"))
			destroy(lane);
		else if (!strcmp(word, "priority"))
			HSA(hsa_amd_queue_set_priority(lane->queue,
						       (hsa_amd_queue_priority_t)atoi(rest)));
		else if (!strcmp(word, "mask")) {
			uint64_t bits = strtoull(rest, NULL, 16);

			HSA(hsa_amd_queue_cu_set_mask(lane->queue, 64, (uint32_t *)&bits));
		} else if (!strcmp(word, "reinit")) {
			HSA(hsa_shut_down());
			begin();
		} else if (!strcmp(word, "closeall")) {
			for (int fd = 3; fd < 4096; fd++)
				close(fd);
		} else {
			CHECK(!"a known word");
		}
		printf("ok\n");
	}
	fflush(stdout);
	return 1;
}

int main(void)
{
	char line[256], word[32], rest[128];

	begin();
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		long q = -1;

		rest[0] = '\0';
		if (sscanf(line, "%31s", word) != 1)
			continue;
		if (!strcmp(word, "exec")) {
			CHECK(sscanf(line, "%*s %127s", rest) == 1);
			execl(rest, rest, (char *)NULL);
			return 1;
		}
		sscanf(line, "%*s %ld %127s", &q, rest);
		if (!obey(word, q, rest))
			break;
	}
	HSA(hsa_shut_down());
	return 0;
}
