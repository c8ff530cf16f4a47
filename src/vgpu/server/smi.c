// SPDX-License-Identifier: MIT
/*
 * SMI_EVENTS: a descriptor on which a client writes a filter and reads lines of text. Here it is
 * one end of a socket pair; the filter is read when there is an event to send.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "vgpu/server/state.h"

#define FIFO_BYTES 1024 /* the driver's: a message that does not fit is lost */

/* Descriptors of one process: each is one of the server's as well. */
#define MAX_OF_PROCESS 32

struct gp_vgpu_smi {
	struct gp_vgpu_smi *next;
	u32 gpu_id;
	pid_t pid;
	u64 filter;
	int fd;
};

/* Bits of the filter are event numbers less one. */
#define SMI_EVENT_FIRST 1
#define SMI_EVENT_LAST  63

/* False when the client has closed it. */
static bool read_filter(struct gp_vgpu_smi *smi)
{
	u64 filter[FIFO_BYTES / sizeof(u64)];
	ssize_t got;

	while ((got = recv(smi->fd, filter, sizeof(filter), MSG_DONTWAIT)) > 0)
		if (got >= (ssize_t)sizeof(u64))
			smi->filter = filter[(size_t)got / sizeof(u64) - 1];
	return got < 0 && (errno == EAGAIN || errno == EINTR);
}

static void forget_closed(struct gp_vgpu_server *server)
{
	struct gp_vgpu_smi **at = &server->smi, *smi;

	while ((smi = *at)) {
		if (read_filter(smi)) {
			at = &smi->next;
			continue;
		}
		*at = smi->next;
		close(smi->fd);
		free(smi);
	}
}

static unsigned int event_number(const char *text)
{
	return (unsigned int)strtoul(text, NULL, 16);
}

void gp_vgpu_smi_event(struct gp_vgpu_server *server, u32 gpu_id, pid_t pid, const char *text)
{
	unsigned int event = event_number(text);

	if (event < SMI_EVENT_FIRST || event > SMI_EVENT_LAST)
		return;
	forget_closed(server);
	for (struct gp_vgpu_smi *smi = server->smi; smi; smi = smi->next)
		if (smi->gpu_id == gpu_id && (!pid || smi->pid == pid) &&
		    smi->filter >> (event - 1) & 1)
			(void)!send(smi->fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL);
}

#define PREFETCH 0 /* KFD_MIGRATE_TRIGGER_PREFETCH */

void gp_vgpu_smi_migration(struct gp_vgpu_server *server, pid_t pid,
			   const struct gp_vgpu_migration *what)
{
	u32 gpu_id = what->to ? what->to : what->from;
	char text[96]; /* KFD_SMI_EVENT_MSG_SIZE */

	snprintf(text, sizeof(text), "5 %llu -%d @%llx(%llx) %x->%x %x:%x %d\n",
		 (unsigned long long)gp_clock_ns(CLOCK_BOOTTIME), (int)pid,
		 (unsigned long long)what->page, (unsigned long long)what->pages, what->from,
		 what->to, what->prefetch, what->preferred, PREFETCH);
	gp_vgpu_smi_event(server, gpu_id, pid, text);
	snprintf(text, sizeof(text), "6 %llu -%d @%llx(%llx) %x->%x %d\n",
		 (unsigned long long)gp_clock_ns(CLOCK_BOOTTIME), (int)pid,
		 (unsigned long long)what->page, (unsigned long long)what->pages, what->from,
		 what->to, PREFETCH);
	gp_vgpu_smi_event(server, gpu_id, pid, text);
}

static int open_events(struct gp_vgpu_server *server, struct gp_vgpu_request *request, u32 gpu_id)
{
	struct gp_vgpu_smi *smi;
	u32 count = 0;
	int ends[2];

	for (smi = server->smi; smi; smi = smi->next)
		count += smi->pid == request->process->pid;
	if (count >= MAX_OF_PROCESS)
		return -EMFILE;
	smi = calloc(1, sizeof(*smi));
	if (!smi)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends)) {
		free(smi);
		return -errno;
	}
	smi->gpu_id = gpu_id;
	smi->pid = request->process->pid;
	smi->fd = ends[0];
	smi->next = server->smi;
	server->smi = smi;
	request->send_fd = ends[1];
	return 0;
}

int gp_vgpu_serve_smi_events(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	const struct gp_kfd_smi_events_args *args = GP_VGPU_ARGS(request, gp_kfd_smi_events_args);

	forget_closed(server);
	return gp_vgpu_device(server, args->gpuid) ? open_events(server, request, args->gpuid)
						   : -EINVAL;
}

void gp_vgpu_smi_close(struct gp_vgpu_server *server)
{
	struct gp_vgpu_smi *smi;

	while ((smi = server->smi)) {
		server->smi = smi->next;
		close(smi->fd);
		free(smi);
	}
}
