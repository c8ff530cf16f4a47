// SPDX-License-Identifier: MIT
/* Hints to the agent in this process, if there is one. */
#include <dlfcn.h>
#include <string.h>

#include "client/client.h"

#define AGENT_REQUEST "gpreempt_agent_request"

/* Looked up each time: the agent may be loaded later than this library, or unloaded. */
static int tell(int begin, uint64_t deadline_us)
{
	void *found = dlsym(RTLD_DEFAULT, AGENT_REQUEST);
	int (*request)(int, uint64_t);

	/* ISO C knows no cast from an object to a function. */
	memcpy(&request, &found, sizeof(request));
	return request ? request(begin, deadline_us) : 0;
}

int gpreempt_request_begin(uint64_t deadline_us)
{
	return tell(1, deadline_us);
}

int gpreempt_request_end(void)
{
	return tell(0, 0);
}
