// SPDX-License-Identifier: MIT
/*
 * Coming and going: nothing happens when the library is loaded. The first KFD ioctl makes the
 * agent; fork and exit are told then. The library is never unloaded (-z nodelete), and what the
 * program's last destructors still do with a GPU finds everything in place: at exit only the
 * socket's name goes.
 */
#include "agent/interpose.h"

#include <stdlib.h>

static void forked(void)
{
	struct gp_agent *agent = gp_agent_if_any();

	/* The parent's sockets are let go at once: whoever talks to it must see it end. */
	if (agent && agent->pid)
		gp_agent_forked(agent);
}

__attribute__((destructor)) static void leave(void)
{
	struct gp_agent *agent = gp_agent_if_any();

	if (agent)
		gp_agent_remove_socket(agent);
}

void gp_agent_prepare(struct gp_agent *agent)
{
	(void)agent;
	pthread_atfork(NULL, NULL, forked);
}
