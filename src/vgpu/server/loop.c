// SPDX-License-Identifier: MIT
/* One thread, one epoll: sockets, rings, time and signals. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/i18n.h"
#include "vgpu/server/server.h"

#define EVENTS     64
#define KIND_MASK  7u /* pointers are aligned to 8 at least */
#define STALLED_MS 1  /* a client that must first read its dones does not ring for that */
#define PAUSED_MS  10 /* until descriptors are looked for again */
#define NS_PER_S   1000000000ull

int gp_vgpu_server_watch(struct gp_vgpu_server *vm, int fd, u32 kind, void *object)
{
	struct epoll_event event = {.events = EPOLLIN};

	event.data.u64 = (u64)(uintptr_t)object | kind;
	return epoll_ctl(vm->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

void gp_vgpu_server_unwatch(struct gp_vgpu_server *vm, int fd)
{
	if (vm->epoll_fd >= 0)
		(void)epoll_ctl(vm->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

static void drain(int fd)
{
	u64 count;

	(void)!read(fd, &count, sizeof(count));
}

/* Taken, or it would end the process when signals are let through again. */
static void take_signal(struct gp_vgpu_server *vm)
{
	struct signalfd_siginfo info;

	while (read(vm->signal_fd, &info, sizeof(info)) > 0)
		vm->stopping = true;
}

static void work_rung(struct gp_vgpu_server *vm, struct gp_vgpu_server_process *process)
{
	char bytes[512];

	if (process->dead)
		return;
	/* Nothing to read for ever: it shut its side down, which no correct client does. */
	if (recv(process->bell_fd, bytes, sizeof(bytes), MSG_DONTWAIT) == 0)
		process->condemned = true;
	else if (gp_vgpu_server_ring_read(vm, process) == -EPROTO)
		process->condemned = true;
}

static void dispatch(struct gp_vgpu_server *vm, const struct epoll_event *event)
{
	void *object = (void *)(uintptr_t)(event->data.u64 & ~(u64)KIND_MASK);

	switch (event->data.u64 & KIND_MASK) {
	case GP_VM_WATCH_LISTEN:
		gp_vgpu_server_connection_accept(vm);
		break;
	case GP_VM_WATCH_TIMER:
		drain(vm->timer_fd);
		vm->armed_ns = 0;
		break;
	case GP_VM_WATCH_SIGNAL:
		take_signal(vm);
		break;
	case GP_VM_WATCH_CONNECTION:
		if (!((struct gp_vgpu_server_connection *)object)->closed)
			gp_vgpu_server_connection_readable(vm, object);
		break;
	case GP_VM_WATCH_WORK:
		work_rung(vm, object);
		break;
	default:
		((struct gp_vgpu_server_process *)object)->condemned = true; /* its pid has ended */
	}
}

/* Sets the timer to a model time; the clock may have passed it. */
static void arm(struct gp_vgpu_server *vm, u64 next)
{
	struct itimerspec spec = {0};
	u64 delay;

	if (next == vm->armed_ns)
		return;
	vm->armed_ns = next;
	if (next != GP_MODEL_NEVER) {
		delay = gp_vgpu_server_raw_time(vm, next) -
			gp_vgpu_server_raw_time(vm, gp_vgpu_server_now(vm)) + 1;
		spec.it_value.tv_sec = (time_t)(delay / NS_PER_S);
		spec.it_value.tv_nsec = (long)(delay % NS_PER_S);
	}
	(void)timerfd_settime(vm->timer_fd, 0, &spec, NULL);
}

/* How long epoll may sleep: 0 when something is due, for ever when the timer will tell. */
static int sleep_ms(struct gp_vgpu_server *vm)
{
	u64 next;

	gp_vgpu_server_tick(vm);
	next = gp_vgpu_server_next(vm);
	if (next <= gp_vgpu_server_now(vm))
		return 0;
	/* Held: it does not come by itself. */
	if (next > vm->hold_at_ns)
		next = vm->hold_at_ns > vm->due_ns ? vm->hold_at_ns : GP_MODEL_NEVER;
	arm(vm, next);
	for (const struct gp_vgpu_server_process *p = vm->processes; p; p = p->next)
		if (p->stalled)
			return STALLED_MS;
	return vm->accept_paused ? PAUSED_MS : -1;
}

static void turn(struct gp_vgpu_server *vm)
{
	struct epoll_event events[EVENTS];
	int count = epoll_wait(vm->epoll_fd, events, EVENTS, sleep_ms(vm));

	gp_vgpu_server_tick(vm);
	gp_vgpu_server_advance(vm);
	for (int i = 0; i < count; i++)
		dispatch(vm, &events[i]);
	gp_vgpu_server_advance(vm);
	gp_vgpu_server_accept_again(vm);
	gp_vgpu_server_connections_reap(vm);
}

/* They stay blocked: one that comes while the machine is taken down must not cut that short. */
static int watch_signals(struct gp_vgpu_server *vm)
{
	sigset_t stop;

	sigemptyset(&stop);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGHUP);
	vm->signal_fd = signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK);
	if (vm->signal_fd < 0)
		return -errno;
	/* A debugger's pipe may have no reader; that must not end the server. */
	sigaddset(&stop, SIGPIPE);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	return gp_vgpu_server_watch(vm, vm->signal_fd, GP_VM_WATCH_SIGNAL, NULL);
}

int gp_vgpu_server_run(struct gp_vgpu_server *vm, int ready_fd)
{
	int error;

	vm->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (vm->timer_fd < 0)
		return gp_fail(vm->diag, -errno, "cannot make a timer: %s", strerror(errno));
	error = gp_vgpu_server_watch(vm, vm->timer_fd, GP_VM_WATCH_TIMER, NULL);
	if (!error)
		error = watch_signals(vm);
	if (error)
		return gp_fail(vm->diag, error, "cannot watch events: %s", strerror(-error));
	gp_vgpu_server_accept_begin(vm);
	if (ready_fd >= 0) {
		(void)!write(ready_fd, "\n", 1);
		close(ready_fd);
	}
	while (!vm->stopping)
		turn(vm);
	return 0;
}
