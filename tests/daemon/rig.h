/* SPDX-License-Identifier: MIT */
/*
 * The daemon's tests: a daemon in this process, driven step by step, and agents that the test
 * plays. Each agent has a process of its own (it does nothing but listen once, so that the kernel
 * says who it is), while the test answers on its socket. Nothing waits for time to pass: steps are
 * taken until what is expected has happened, and a minute without it is a failure.
 */
#ifndef GP_TESTS_DAEMON_RIG_H
#define GP_TESTS_DAEMON_RIG_H

#include "testlib.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/daemon.h"
#include "fake_library.h"
#include "gpu/gpu.h"
#include "proto/directory.h"

enum { GPU = 4711, QUEUE = 3, NVIDIA_QUEUE = 0x5c000000, PATIENCE_S = 60 };

struct agent {
	pid_t pid;
	int listen, socket, memory_fd;
	struct gp_proto_activity *memory; /* NULL: not sealed, so not shared */
	struct gp_proto_msg_hello hello;
	u32 queues;  /* how many, with ids from QUEUE on */
	u32 lower;   /* its streams' priority than its own, by so much */
	u32 gpu_id;  /* NVIDIA's have no place in the memory: ids are from NVIDIA_QUEUE on */
	bool silent; /* does not answer */
	bool old;    /* speaks version 1 of the protocol */
	bool unsealed;
	bool blind;     /* has nothing to show yet */
	bool old_ruled; /* does not know GP_MSG_AGENT_RULED */
	struct gp_proto_msg_value ruled;
	u32 ruled_count;
	u32 questions;
	struct gp_wire_message message;
};

struct rig {
	char directory[64];
	struct gp_daemon *daemon;
	struct test_diag said;
	struct agent *agent[32];
	size_t agents;
};

/* What the driver says of every queue: 1, 0 or -errno; and a process that it does not know. */
static int rig_listed = 1;
static pid_t rig_listed_except;
static u32 rig_lookups; /* how often it was asked */
/* The user of the agents that are made from now on; root's tests may change it. */
static uid_t rig_agent_uid;

static inline int rig_lists_queue(const struct gp_root *root, u32 pid, u32 gpu_id, u32 queue)
{
	(void)root, (void)gpu_id, (void)queue;
	rig_lookups++;
	return (pid_t)pid == rig_listed_except ? 0 : rig_listed;
}

static inline void rig_start(struct rig *rig, const char *text)
{
	struct gp_daemon_config config;

	rig->daemon = calloc(1, sizeof(*rig->daemon));
	if (gp_daemon_config_parse("rig", text, strlen(text), &rig->said.diag, &config) ||
	    gp_daemon_init(rig->daemon, &config, NULL, &rig->said.diag))
		fail_msg("%s", gp_buf_str(&rig->said.text));
	rig->daemon->lists_queue = rig_lists_queue;
	if (gp_daemon_start(rig->daemon))
		fail_msg("%s", gp_buf_str(&rig->said.text));
}

static inline void rig_stop(struct rig *rig)
{
	gp_daemon_free(rig->daemon);
	free(rig->daemon);
	rig->daemon = NULL;
}

static inline struct rig *rig_new(const char *config)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	rig->said = (struct test_diag)TEST_DIAG;
	assert_non_null(place_make(rig->directory, sizeof(rig->directory)));
	setenv("GPREEMPT_DIR", rig->directory, 1);
	fake_reset();
	rig_listed = 1;
	rig_listed_except = 0;
	rig_agent_uid = geteuid();
	rig_start(rig, config);
	return rig;
}

static inline void agent_end(struct agent *agent)
{
	if (agent->pid > 0) {
		kill(agent->pid, SIGKILL);
		waitpid(agent->pid, NULL, 0);
	}
	agent->pid = 0;
	if (agent->socket >= 0)
		close(agent->socket);
	agent->socket = -1;
	if (agent->listen >= 0)
		close(agent->listen);
	agent->listen = -1;
}

static inline void rig_free(struct rig *rig)
{
	if (rig->daemon)
		rig_stop(rig);
	for (size_t i = 0; i < rig->agents; i++) {
		agent_end(rig->agent[i]);
		if (rig->agent[i]->memory)
			munmap(rig->agent[i]->memory, sizeof(struct gp_proto_activity));
		close(rig->agent[i]->memory_fd);
		free(rig->agent[i]);
	}
	gp_buf_free(&rig->said.text);
	place_remove(rig->directory);
	assert_int_equal(fake.broken_rules, 0);
	free(rig);
}

/* ---- agents ---- */

static inline struct agent *agent_new(struct rig *rig, u32 job_class, u32 priority)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct agent *agent = calloc(1, sizeof(*agent));
	char shown[128];
	int ready[2];

	rig->agent[rig->agents++] = agent;
	agent->socket = -1;
	agent->queues = 1;
	agent->gpu_id = GPU;
	agent->hello = (struct gp_proto_msg_hello){.job_class = job_class,
						   .priority = priority,
						   .weight = 1,
						   .name = "program"};
	agent->memory_fd = memfd_create("activity", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_int_equal(ftruncate(agent->memory_fd, sizeof(struct gp_proto_activity)), 0);
	agent->memory = mmap(NULL, sizeof(struct gp_proto_activity), PROT_READ | PROT_WRITE,
			     MAP_SHARED, agent->memory_fd, 0);
	assert_ptr_not_equal(agent->memory, MAP_FAILED);
	agent->memory->magic = GP_ACTIVITY_MAGIC;
	agent->memory->slots = GP_ACTIVITY_SLOTS;
	agent->listen = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/agents/.%zu", rig->directory,
		 rig->agents);
	assert_int_equal(bind(agent->listen, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(pipe(ready), 0);
	/* Who listens is who the kernel tells the daemon about. */
	agent->pid = fork();
	if (agent->pid == 0) {
		/* Nothing of the daemon's may live on here, its lock least of all. */
		for (int fd = 3; fd < 1024; fd++) {
			if (fd != agent->listen && fd != ready[1])
				close(fd);
		}
		if (listen(agent->listen, 8) == 0 && setreuid(rig_agent_uid, rig_agent_uid) == 0 &&
		    /* Afterwards: another user would forget it. */
		    prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && write(ready[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], shown, 1), 1);
	close(ready[0]);
	close(ready[1]);
	snprintf(shown, sizeof(shown), "%s/agents/%zu.sock", rig->directory, rig->agents);
	assert_int_equal(rename(address.sun_path, shown), 0);
	return agent;
}

static inline void agent_say(struct agent *agent, u16 type, const void *body, size_t size)
{
	gp_wire_send(agent->socket, type, 0, 0, body, size, -1);
}

static inline void agent_queues(struct agent *agent)
{
	_Alignas(8) char
		room[sizeof(struct gp_proto_msg_queues) + 8 * sizeof(struct gp_proto_msg_queue)];
	struct gp_proto_msg_queues *list = (struct gp_proto_msg_queues *)room;

	*list = (struct gp_proto_msg_queues){.count = agent->queues};
	for (u32 i = 0; i < agent->queues; i++)
		list->queues[i] = (struct gp_proto_msg_queue){
			.gpu_id = agent->gpu_id,
			.valid = GPREEMPT_QUEUE_KFD_ID | GPREEMPT_QUEUE_RING,
			.kfd_id = (gp_gpu_is_nvidia(agent->gpu_id) ? NVIDIA_QUEUE : QUEUE) + i,
			.ring = 0x1000 * (i + 1),
			.logical_priority = agent->hello.priority - agent->lower,
		};
	gp_wire_send(agent->socket, agent->message.header.type, agent->message.header.serial,
		     (s32)agent->queues, list,
		     sizeof(*list) + agent->queues * sizeof(list->queues[0]), -1);
}

static inline void agent_answer(struct agent *agent)
{
	const struct gp_proto_msg *ask = &agent->message.header;

	agent->questions++;
	if (agent->silent)
		return;
	switch (ask->type) {
	case GP_MSG_HELLO:
		if (agent->old) {
			struct gp_proto_msg old = {.version = 1,
						   .type = GP_MSG_HELLO,
						   .size = sizeof(old),
						   .status = -EPROTO};

			send(agent->socket, &old, sizeof(old), MSG_NOSIGNAL);
			break;
		}
		gp_wire_send(agent->socket, ask->type, ask->serial, 0, &agent->hello,
			     sizeof(agent->hello), -1);
		break;
	case GP_MSG_AGENT_WATCH:
		if (agent->blind) {
			gp_wire_refuse(agent->socket, ask, -ENODEV, GP_SAY_NO_DESCRIPTOR);
			break;
		}
		if (!agent->unsealed)
			fcntl(agent->memory_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
		gp_wire_send(agent->socket, ask->type, ask->serial, 0, NULL, 0, agent->memory_fd);
		break;
	case GP_MSG_AGENT_QUEUES:
		agent_queues(agent);
		break;
	case GP_MSG_AGENT_RULED:
		agent->ruled = *(const struct gp_proto_msg_value *)agent->message.body;
		agent->ruled_count++;
		if (agent->old_ruled)
			gp_wire_refuse(agent->socket, ask, -EOPNOTSUPP, GP_SAY_UNKNOWN_REQUEST);
		else
			gp_wire_send(agent->socket, ask->type, ask->serial, 0, NULL, 0, -1);
		break;
	default:
		fail_msg("the daemon asked an agent for %u", ask->type);
	}
}

static inline bool agent_serve(struct agent *agent)
{
	bool any = false;

	if (agent->listen >= 0 && agent->socket < 0) {
		agent->socket = accept4(agent->listen, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		any |= agent->socket >= 0;
	}
	while (agent->socket >= 0) {
		int error = gp_wire_receive(agent->socket, &agent->message, 0);

		if (error == -EAGAIN)
			break;
		any = true;
		if (error) {
			close(agent->socket);
			agent->socket = -1;
			break;
		}
		agent_answer(agent);
	}
	return any;
}

/* Steps until neither the daemon nor the agents have anything to do at once. */
static inline void rig_run(struct rig *rig)
{
	bool any = true;

	/* On a machine that stands still timers may always be due again. */
	for (int most = 100000; any && most; most--) {
		any = gp_loop_step(&rig->daemon->loop, 0) > 0;
		for (size_t i = 0; i < rig->agents; i++)
			any |= agent_serve(rig->agent[i]);
	}
}

static inline bool rig_late(u64 start)
{
	return gp_monotonic_ns() - start > PATIENCE_S * GP_NS_PER_S;
}

/* Steps until something is true that needs time to pass. */
#define rig_until(rig, condition)                                           \
	do {                                                                \
		u64 start_ns = gp_monotonic_ns();                           \
		for (rig_run(rig); !(condition); rig_run(rig)) {            \
			if (rig_late(start_ns))                             \
				fail_msg("never happened: %s", #condition); \
			gp_loop_step(&(rig)->daemon->loop, 10);             \
		}                                                           \
	} while (0)

/* The program's queue gets work, or has done it. */
static inline void agent_edge(struct agent *agent, u32 queue, bool busy)
{
	struct gp_proto_msg_edge edge = {.now_ns = gp_monotonic_ns(), .busy = busy, .queue = queue};

	__atomic_store_n(&agent->memory->slot[queue].state,
			 busy ? GP_ACTIVITY_BUSY : GP_ACTIVITY_DRAINED, __ATOMIC_SEQ_CST);
	agent_say(agent, GP_MSG_AGENT_EDGE, &edge, sizeof(edge));
}

static inline void work(struct rig *rig, struct agent *agent, bool busy)
{
	agent_edge(agent, QUEUE, busy);
	rig_run(rig);
}

/* Until the daemon knows all about it. */
static inline void agent_await(struct rig *rig, const struct agent *agent)
{
	rig_until(rig, gp_daemon_host_client(rig->daemon, (u32)agent->pid) &&
			       gp_daemon_host_client(rig->daemon, (u32)agent->pid)->queue_count);
}

static inline struct agent *agent_known(struct rig *rig, u32 job_class, u32 priority)
{
	struct agent *agent = agent_new(rig, job_class, priority);

	agent_await(rig, agent);
	return agent;
}

/* One that can leave the GPU with all its queues. */
static inline struct agent *agent_can_park(struct rig *rig, u32 job_class, u32 priority)
{
	struct agent *agent = agent_new(rig, job_class, priority);

	agent->memory->features = GP_ACTIVITY_PARKS;
	agent_await(rig, agent);
	return agent;
}

static inline struct gp_daemon_job *job_of(struct rig *rig, const struct agent *agent)
{
	return gp_daemon_host_client(rig->daemon, (u32)agent->pid)->job;
}

/* A new configuration, while it runs. */
static inline void reload_as(struct rig *rig, const char *text)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/conf", rig->directory);
	assert_int_equal(gp_file_write_atomic(path, text, strlen(text)), 0);
	rig->daemon->config_path = path;
	assert_int_equal(gp_daemon_reload(rig->daemon), 0);
	rig_run(rig);
}

/* Lines of the record of a kind, and of a reason (GP_SCHED_WHYS: any), about an agent's job. */
static inline u32 lines(struct rig *rig, const struct agent *agent, u32 kind, u32 why)
{
	u32 count = 0;

	for (u64 id = gp_daemon_record_first(&rig->daemon->record); id < rig->daemon->record.next;
	     id++) {
		const struct gp_proto_msg_decision *line =
			gp_daemon_record_at(&rig->daemon->record, id);

		count += line->kind == kind && (why == GP_SCHED_WHYS || line->why == why) &&
			 line->job_pid == (u32)agent->pid;
	}
	return count;
}

/* No hysteresis and no estimates: every inversion is acted upon at once. */
#define PROMPT                                                                                    \
	"[device *]\nmin_run = 0\nturn = 1us\nlinger = 0\nhint = 1s\nunknown = 0\nage_step = 0\n" \
	"suspend_cost = 0\nresume_cost = 0\n"
#define ACT \
	"[daemon]\nmode = act\nlease = 60s\nmax_suspend = 600s\noperation_timeout = 60s\n" PROMPT

#endif
