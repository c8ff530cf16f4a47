// SPDX-License-Identifier: MIT
/* The holders of all users, for root: the kernel lists every socket that listens, by its path. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "proto/directory.h"

#define LISTENS 0x10000 /* __SO_ACCEPTCON */
#define NAME    "/holder.sock"
#define VIRTUAL "/run" NAME

/* The path of a holder's socket that listens, from a line of /proc/net/unix; NULL: it is none. */
static char *listener(char *line)
{
	unsigned int flags;
	char *path = strchr(line, '/');
	size_t length;

	if (!path || sscanf(line, "%*s %*s %*s %x", &flags) != 1 || !(flags & LISTENS))
		return NULL;
	length = strcspn(path, "\n");
	path[length] = '\0';
	if (length <= strlen(NAME) || length >= sizeof(((struct sockaddr_un *)0)->sun_path) ||
	    strcmp(path + length - strlen(NAME), NAME) != 0)
		return NULL;
	/* Of a virtual machine (proto/directory.h): its GPUs are not this one's. */
	return length >= strlen(VIRTUAL) && strcmp(path + length - strlen(VIRTUAL), VIRTUAL) == 0
		       ? NULL
		       : path;
}

void gp_proto_directory_each_holder(void (*found)(void *data, const char *directory,
						  unsigned int owner),
				    void *data)
{
	const char *dir = getenv("GPREEMPT_DIR"), *machine = getenv("GPREEMPT_VGPU");
	char line[512];
	FILE *file;

	if (geteuid() != 0 || (dir && *dir) || (machine && *machine))
		return;
	file = fopen("/proc/net/unix", "re");
	while (file && fgets(line, sizeof(line), file)) {
		char *path = listener(line);
		unsigned int owner;

		/* Another directory of root's was chosen by whoever uses it. */
		if (!path || gp_proto_directory_owner(path, &owner) || owner == 0)
			continue;
		*strrchr(path, '/') = '\0';
		found(data, path, owner);
	}
	if (file)
		fclose(file);
}
