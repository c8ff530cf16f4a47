// SPDX-License-Identifier: MIT
/* Processes and threads that do what a row tells them. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "conformance.h"

/* The actor is a fork of the row, so a function is where it was. */
struct order {
	deed *what;
	u64 args[ARGS];
};

struct answer {
	s64 result;
	u64 out[ARGS];
};

static _Noreturn void act(int socket)
{
	struct self self = {.kfd = -1, .render = -1, .status_fd = -1, .pipe = {-1, -1}};
	struct order order;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Under Yama a process that is no ancestor of ours must be allowed to trace us. */
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	while (recv(socket, &order, sizeof(order), 0) == (ssize_t)sizeof(order)) {
		struct answer answer = {0};

		answer.result = order.what(&self, order.args, answer.out);
		CHECK(send(socket, &answer, sizeof(answer), MSG_NOSIGNAL) ==
		      (ssize_t)sizeof(answer));
	}
	_exit(0);
}

struct actor start_actor(void)
{
	struct actor actor = {0};
	int ends[2];

	CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
	fflush(stdout);
	actor.pid = fork();
	CHECK(actor.pid >= 0);
	if (!actor.pid) {
		close(ends[0]);
		act(ends[1]);
	}
	close(ends[1]);
	actor.socket = ends[0];
	return actor;
}

void actor_begin(struct actor *actor, deed *what, const u64 *args)
{
	struct order order = {.what = what};

	memcpy(order.args, args, sizeof(order.args));
	CHECK(send(actor->socket, &order, sizeof(order), MSG_NOSIGNAL) == (ssize_t)sizeof(order));
}

bool actor_finished(struct actor *actor)
{
	return poll(&(struct pollfd){.fd = actor->socket, .events = POLLIN}, 1, 0) == 1;
}

s64 actor_end(struct actor *actor)
{
	struct answer answer;
	ssize_t n;

	do
		n = recv(actor->socket, &answer, sizeof(answer), 0);
	while (n < 0 && errno == EINTR);
	CHECK(n == (ssize_t)sizeof(answer));
	memcpy(actor->out, answer.out, sizeof(actor->out));
	return answer.result;
}

void actor_kill(struct self *me, struct actor *actor)
{
	siginfo_t info;

	CHECK(kill(actor->pid, SIGKILL) == 0);
	while (waitid(P_PID, (id_t)actor->pid, &info, WEXITED) < 0)
		CHECK(errno == EINTR);
	close(actor->socket);
	wait_gone(me, actor->pid);
}

/* ---- the other thread ---- */

struct helper {
	pthread_t thread;
	struct self *self;
	int ends[2];
};

static void *help(void *context)
{
	struct helper *helper = context;
	struct order order;

	while (recv(helper->ends[1], &order, sizeof(order), 0) == (ssize_t)sizeof(order)) {
		struct answer answer = {0};

		answer.result = order.what(helper->self, order.args, answer.out);
		CHECK(send(helper->ends[1], &answer, sizeof(answer), 0) == (ssize_t)sizeof(answer));
	}
	return NULL;
}

int other_thread_begin(struct self *self, deed *what, const u64 *args)
{
	struct actor actor = {0};

	if (!self->helper) {
		self->helper = calloc(1, sizeof(*self->helper));
		CHECK(self->helper);
		self->helper->self = self;
		CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, self->helper->ends) == 0);
		CHECK(pthread_create(&self->helper->thread, NULL, help, self->helper) == 0);
	}
	actor.socket = self->helper->ends[0];
	actor_begin(&actor, what, args);
	return actor.socket;
}

s64 other_thread(struct self *self, deed *what, const u64 *args, u64 *out)
{
	struct actor actor = {.socket = other_thread_begin(self, what, args)};
	s64 result = actor_end(&actor);

	memcpy(out, actor.out, sizeof(actor.out));
	return result;
}

/* ---- a held clock ---- */

static s64 release_when_asked(struct self *self, const u64 *args, u64 *out)
{
	struct self watcher = {.status_fd = -1};

	(void)self, (void)args, (void)out;
	UNTIL(&watcher, gpu_number(&watcher, "updates_pending") > 0);
	hold_clock(&watcher, NEVER);
	close(watcher.status_fd);
	return 0;
}

void release_begin(struct self *me)
{
	other_thread_begin(me, release_when_asked, LIST(0));
}

void release_end(struct self *me)
{
	struct actor actor = {.socket = me->helper->ends[0]};

	EXPECT(actor_end(&actor), 0);
}

/* ---- scenes ---- */

struct actor start_target(u32 runtime, u32 queues)
{
	struct actor target = start_actor();

	EXPECT(DO(&target, do_open_gpu), 0);
	if (runtime)
		EXPECT(DO(&target, do_runtime, runtime), 0);
	for (u32 i = 0; i < queues; i++)
		EXPECT(DO(&target, do_create, COMPUTE), i);
	return target;
}

void attach(struct self *me, const struct actor *target, u64 mask)
{
	if (me->kfd < 0)
		open_kfd(me);
	EXPECT(ME(me, do_seize, (u64)target->pid), 0);
	EXPECT(ME(me, do_enable, (u64)target->pid, mask), 0);
	CHECK(ME(me, do_snapshot, (u64)target->pid, NEW) >= 0);
}

u32 pipe_bytes(struct self *me)
{
	char bytes[64];
	ssize_t n = read(me->pipe[0], bytes, sizeof(bytes));

	return n < 0 ? 0 : (u32)n;
}
