// SPDX-License-Identifier: MIT
/* The lifeline's process. After fork() from a program with threads: nothing here may allocate,
 * lock or print. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fdpass.h"
#include "base/spawn.h"
#include "gpu/nvrm/call.h"
#include "gpu/nvrm/lifeline_page.h"
#include "gpu/nvrm/objects.h"

#define GP_AGAIN_NS \
	(10 * GP_NS_PER_MS) /* between tries while the holder may still stop something */
#define GP_TRIES 3

struct line {
	const struct gp_nvrm_port *port;
	struct gp_nvrm_page *page;
	int socket, pidfd;
	int files[GP_NVRM_FILES_MAX];
	u32 file_count;
};

/* Takes messages: a descriptor, or just a reason to look at the lease. False: the holder is gone.
 */
static bool drain(struct line *line)
{
	union gp_fdpass room;
	char byte;

	for (;;) {
		struct iovec part = {&byte, 1};
		struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
		ssize_t len;
		int fd;

		gp_fdpass_expect(&message, &room);
		len = recvmsg(line->socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		if (len < 0)
			return errno == EAGAIN || errno == EINTR;
		if (len == 0)
			return false;
		if (!gp_fdpass_take(&message, &fd, 1, NULL))
			continue;
		if (line->file_count < GP_NVRM_FILES_MAX)
			line->files[line->file_count++] = fd;
		else
			close(fd);
	}
}

static bool together(const struct gp_nvrm_entry *a, const struct gp_nvrm_entry *b)
{
	return a->file == b->file && a->client == b->client && a->subdevice == b->subdevice;
}

/* Starts every channel of the table; starting one that runs changes nothing. */
static bool start_channels(const struct line *line)
{
	const struct gp_nvrm_entry *list = line->page->channels;
	u32 count = atomic_load(&line->page->channel_count), channels[GP_NV_DISABLE_MAX];
	bool good = true;

	for (u32 i = 0, n; i < count; i += n) {
		struct gp_nvrm_session session = {line->port, -1, list[i].client};

		for (n = 0;
		     n < GP_NV_DISABLE_MAX && i + n < count && together(&list[i], &list[i + n]);
		     n++)
			channels[n] = list[i + n].object;
		if (list[i].file >= line->file_count)
			continue;
		session.fd = line->files[list[i].file];
		good &= gp_nvrm_switch(&session, list[i].subdevice, channels, n, false) == 0;
	}
	return good;
}

static void restore_timeslices(const struct line *line)
{
	u32 count = atomic_load(&line->page->slice_count);

	for (u32 i = 0; i < count; i++) {
		const struct gp_nvrm_entry *e = &line->page->slices[i];
		struct gp_nvrm_session session = {line->port, -1, e->client};

		if (e->file >= line->file_count)
			continue;
		session.fd = line->files[e->file];
		gp_nvrm_set_timeslice(&session, e->object, e->timeslice);
	}
}

static void nap(void)
{
	struct timespec time = {.tv_nsec = GP_AGAIN_NS};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

static void start_all(const struct line *line)
{
	for (int i = 0; i < GP_TRIES && !start_channels(line); i++)
		nap();
}

static void fire(const struct line *line, u64 lease)
{
	/* A renewal that came first wins. */
	if (!atomic_compare_exchange_strong(&line->page->lease, &lease, GP_LEASE_FIRING))
		return;
	start_all(line);
	atomic_store(&line->page->lease, GP_LEASE_FIRED);
	send(line->socket, "f", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Waits for the end of the target or a message, at most until the lease must be looked at. */
static void rest(struct line *line)
{
	u64 lease = atomic_load(&line->page->lease), now = gp_monotonic_ns(), wait = UINT64_MAX;
	struct pollfd fds[] = {{.fd = line->socket, .events = POLLIN},
			       {.fd = line->pidfd, .events = POLLIN}};
	struct timespec time;

	if (lease > GP_LEASE_FIRED)
		wait = lease > now ? lease - now : 0;
	else if (lease == GP_LEASE_FIRED && atomic_load(&line->page->unsure))
		wait = GP_AGAIN_NS;
	time = gp_timespec(wait);
	ppoll(fds, 2, wait == UINT64_MAX ? NULL : &time, NULL);
	/* The target's end: the driver cleans up once our copies are closed. Channels of a dead
	 * process are not started: its memory is gone. */
	if (fds[1].revents)
		_exit(0);
}

_Noreturn void gp_nvrm_lifeline_run(const struct gp_nvrm_port *port, struct gp_nvrm_page *page,
				    int socket, int pidfd)
{
	struct line line = {.port = port, .page = page, .socket = socket, .pidfd = pidfd};
	const int keep[] = {socket, pidfd};

	gp_spawn_guard("gp-lifeline", keep, GP_ARRAY_SIZE(keep));
	atomic_store(&page->pid, (u32)getpid());
	send(socket, "r", 1, MSG_NOSIGNAL);
	for (;;) {
		bool holder = drain(&line);
		u64 lease;

		rest(&line);
		if (!holder || !drain(&line)) {
			start_all(&line);
			restore_timeslices(&line);
			_exit(0);
		}
		lease = atomic_load(&page->lease);
		if (lease > GP_LEASE_FIRED ? gp_monotonic_ns() >= lease
					   : lease == GP_LEASE_FIRED && atomic_load(&page->unsure))
			fire(&line, lease);
	}
}
