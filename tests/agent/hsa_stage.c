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
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../vgpu/programs/check.h"

#define HSA(call) CHECK((call) == HSA_STATUS_SUCCESS)
#define QUEUES    64
#define SIGNALS   256

struct lane {
	hsa_queue_t *queue;
	hsa_signal_t signals[SIGNALS];
	int sent;
};

static hsa_agent_t cpu, gpu;
static uint64_t code;
static struct lane lanes[QUEUES];
static int lane_count;

static hsa_status_t agent(hsa_agent_t found, void *data)
{
	hsa_device_type_t type;

	(void)data;
	HSA(hsa_agent_get_info(found, HSA_AGENT_INFO_DEVICE, &type));
	if (type == HSA_DEVICE_TYPE_CPU && !cpu.handle)
		cpu = found;
	if (type == HSA_DEVICE_TYPE_GPU && !gpu.handle)
		gpu = found;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t pool(hsa_amd_memory_pool_t found, void *data)
{
	*(hsa_amd_memory_pool_t *)data = found;
	return HSA_STATUS_INFO_BREAK;
}

static void dispatch(struct lane *lane, long groups, int barrier, int with_signal)
{
	hsa_kernel_dispatch_packet_t packet = {0};
	uint64_t index = hsa_queue_add_write_index_relaxed(lane->queue, 1);
	char *slot = (char *)lane->queue->base_address + index % lane->queue->size * 64;

	packet.header = (uint16_t)(HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
				   barrier << HSA_PACKET_HEADER_BARRIER);
	packet.setup = 1;
	packet.workgroup_size_x = 64;
	packet.workgroup_size_y = packet.workgroup_size_z = 1;
	packet.grid_size_x = (uint32_t)(64 * groups);
	packet.grid_size_y = packet.grid_size_z = 1;
	packet.kernel_object = code;
	if (with_signal) {
		CHECK(lane->sent < SIGNALS);
		HSA(hsa_signal_create(1, 0, NULL, &lane->signals[lane->sent]));
		packet.completion_signal = lane->signals[lane->sent++];
	}
	memcpy(slot + 4, (char *)&packet + 4, 60);
	__atomic_store_n((uint32_t *)slot, packet.header | (uint32_t)packet.setup << 16,
			 __ATOMIC_RELEASE);
	hsa_signal_store_screlease(lane->queue->doorbell_signal, (hsa_signal_value_t)index);
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
	HSA(hsa_queue_create(gpu, 1024, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX, UINT32_MAX,
			     &lanes[lane_count].queue));
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
	hsa_amd_memory_pool_t host;
	void *memory;

	cpu.handle = gpu.handle = 0;
	HSA(hsa_init());
	HSA(hsa_iterate_agents(agent, NULL));
	CHECK(hsa_amd_agent_iterate_memory_pools(cpu, pool, &host) == HSA_STATUS_INFO_BREAK);
	HSA(hsa_amd_memory_pool_allocate(host, 4096, 0, &memory));
	HSA(hsa_amd_agents_allow_access(1, &gpu, NULL, memory));
	memset(memory, 0, 4096);
	code = (uint64_t)(uintptr_t)memory;
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
