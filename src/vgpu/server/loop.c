// SPDX-License-Identifier: MIT
/*
 * One thread, one epoll: sockets, rings, time and signals. A turn handles a batch of events between
 * two advances of model time, which is why base/loop, with one event per step, is not used here.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/i18n.h"
#include "vgpu/server/state.h"

#define EVENTS     64
#define KIND_MASK  7u /* pointers are aligned to 8 at least */
#define STALLED_MS 1  /* a client that must first read its dones does not ring for that */
#define PAUSED_MS  10 /* until descriptors are looked for again */

int gp_vgpu_watch(struct gp_vgpu_server *server, int fd, u32 kind, void *object)
{
	struct epoll_event event = {.events = EPOLLIN};

	event.data.u64 = (u64)(uintptr_t)object | kind;
	return epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

void gp_vgpu_unwatch(struct gp_vgpu_server *server, int fd)
{
	if (server->epoll_fd >= 0)
		(void)epoll_ctl(server->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

static void drain(int fd)
{
	u64 count;

	(void)!read(fd, &count, sizeof(count));
}

/* Taken, or it would end the process when signals are let through again. */
static void take_signal(struct gp_vgpu_server *server)
{
	struct signalfd_siginfo info;

	while (read(server->signal_fd, &info, sizeof(info)) > 0)
		server->stopping = true;
}

/* By identity: at the same path there may be a new machine by now. */
void gp_vgpu_server_look_home(struct gp_vgpu_server *server)
{
	struct stat ours, there, socket;
	char events[4096];

	if (server->home_fd < 0)
		return;
	while (read(server->inotify_fd, events, sizeof(events)) > 0)
		;
	server->gone = fstat(server->home_fd, &ours) || stat(server->options.directory, &there) ||
		       ours.st_ino != there.st_ino || ours.st_dev != there.st_dev;
	server->homeless = server->gone || fstatat(server->home_fd, GP_VGPU_SOCKET, &socket, 0);
}

static void work_rung(struct gp_vgpu_server *server, struct gp_vgpu_process *process)
{
	char bytes[512];

	if (process->dead)
		return;
	/* The client shut its side down, which no correct client does. */
	if (recv(process->bell_fd, bytes, sizeof(bytes), MSG_DONTWAIT) == 0)
		process->condemned = true;
	else if (gp_vgpu_ring_read(server, process) == -EPROTO)
		process->condemned = true;
}

static void dispatch(struct gp_vgpu_server *server, const struct epoll_event *event)
{
	void *object = (void *)(uintptr_t)(event->data.u64 & ~(u64)KIND_MASK);

	switch (event->data.u64 & KIND_MASK) {
	case GP_VGPU_WATCH_LISTEN:
		gp_vgpu_connection_accept(server);
		break;
	case GP_VGPU_WATCH_TIMER:
		drain(server->timer_fd);
		server->armed_ns = 0;
		break;
	case GP_VGPU_WATCH_SIGNAL:
		take_signal(server);
		break;
	case GP_VGPU_WATCH_HOME:
		gp_vgpu_server_look_home(server);
		break;
	case GP_VGPU_WATCH_CONNECTION:
		if (!((struct gp_vgpu_connection *)object)->closed)
			gp_vgpu_connection_readable(server, object);
		break;
	case GP_VGPU_WATCH_WORK:
		work_rung(server, object);
		break;
	default:
		((struct gp_vgpu_process *)object)->condemned = true; /* its pid has ended */
	}
}

/* Sets the timer to a model time; the clock may have passed it. */
static void arm(struct gp_vgpu_server *server, u64 next)
{
	struct itimerspec spec = {0};
	u64 delay;

	if (next == server->armed_ns)
		return;
	server->armed_ns = next;
	if (next != GP_MODEL_NEVER) {
		delay = gp_vgpu_server_raw_time(server, next) -
			gp_vgpu_server_raw_time(server, gp_vgpu_server_now(server)) + 1;
		spec.it_value = gp_timespec(delay);
	}
	(void)timerfd_settime(server->timer_fd, 0, &spec, NULL);
}

/* How long epoll may sleep: 0 if something is due, -1 if the timer is set. */
static int sleep_ms(struct gp_vgpu_server *server)
{
	u64 next;

	gp_vgpu_server_tick(server);
	next = gp_vgpu_server_next(server);
	if (next <= gp_vgpu_server_now(server))
		return 0;
	/* Held: it does not come by itself. */
	if (next > server->hold_at_ns)
		next = server->hold_at_ns > server->due_ns ? server->hold_at_ns : GP_MODEL_NEVER;
	arm(server, next);
	for (const struct gp_vgpu_process *p = server->processes; p; p = p->next)
		if (p->stalled)
			return STALLED_MS;
	return server->accept_paused ? PAUSED_MS : -1;
}

static void turn(struct gp_vgpu_server *server)
{
	struct epoll_event events[EVENTS];
	int count = epoll_wait(server->epoll_fd, events, EVENTS, sleep_ms(server));

	gp_vgpu_server_tick(server);
	gp_vgpu_server_advance(server);
	for (int i = 0; i < count; i++)
		dispatch(server, &events[i]);
	gp_vgpu_server_advance(server);
	gp_vgpu_accept_again(server);
	gp_vgpu_connections_reap(server);
}

/* They stay blocked: one that comes while the machine is taken down must not cut that short. */
static int watch_signals(struct gp_vgpu_server *server)
{
	sigset_t stop;

	sigemptyset(&stop);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGHUP);
	server->signal_fd = signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK);
	if (server->signal_fd < 0)
		return -errno;
	/* A debugger's pipe may have no reader; that must not end the server. */
	sigaddset(&stop, SIGPIPE);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	return gp_vgpu_watch(server, server->signal_fd, GP_VGPU_WATCH_SIGNAL, NULL);
}

/* Without it a machine whose directory is deleted stays until it is killed. */
static void watch_home(struct gp_vgpu_server *server)
{
	const char *directory = server->options.directory;

	server->home_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	server->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (server->home_fd >= 0 && server->inotify_fd >= 0 &&
	    inotify_add_watch(server->inotify_fd, directory,
			      IN_DELETE | IN_MOVED_FROM | IN_ATTRIB | IN_MOVE_SELF) >= 0)
		(void)gp_vgpu_watch(server, server->inotify_fd, GP_VGPU_WATCH_HOME, NULL);
}

int gp_vgpu_server_run(struct gp_vgpu_server *server, int ready_fd)
{
	int error;

	server->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (server->timer_fd < 0)
		return gp_fail(
			server->diag, -errno,
			"cannot create a timer: %s; check the limit of open files (ulimit -n)",
			strerror(errno));
	error = gp_vgpu_watch(server, server->timer_fd, GP_VGPU_WATCH_TIMER, NULL);
	if (!error)
		error = watch_signals(server);
	if (error)
		return gp_fail(
			server->diag, error,
			"cannot wait for events: %s; check the limit of open files (ulimit -n)",
			strerror(-error));
	watch_home(server);
	gp_vgpu_accept_begin(server);
	if (ready_fd >= 0) {
		(void)!write(ready_fd, "\n", 1);
		close(ready_fd);
	}
	/* Programs that use it go on; after the last one nothing can reach it. A session that ends
	 * deletes $XDG_RUNTIME_DIR, and the machine with it. */
	while (!server->stopping && !(server->homeless && !server->processes))
		turn(server);
	return 0;
}
