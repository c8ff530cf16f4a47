// SPDX-License-Identifier: MIT
/* doctor: is this a container, and what does it share with the host? */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "inspect/doctor.h"

/* The first namespaces of a kernel have fixed numbers (include/linux/proc_ns.h). */
#define FIRST_USERS "user:[4026531837]"
#define FIRST_PIDS  "pid:[4026531836]"
#define DIRECTORY   "/run/gpreempt"

static bool other_namespace(const struct gp_root *root, const char *name, const char *first)
{
	char link[64];

	return gp_root_readlink(root, link, sizeof(link), "/proc/self/ns/%s", name) == 0 &&
	       strcmp(link, first) != 0;
}

static bool seccomp_is_on(const struct gp_root *root)
{
	static const char mark[] = "\nSeccomp:";
	struct gp_buf text = {0};
	const char *p = NULL;
	bool on = false;

	if (gp_root_read(root, 65536, &text, "/proc/self/status") == 0)
		p = strstr(gp_buf_str(&text), mark);
	if (p) {
		p += sizeof(mark) - 1;
		p += strspn(p, " \t");
		on = *p == '2';
	}
	gp_buf_free(&text);
	return on;
}

void gp_inspect_doctor_container(const struct gp_root *root, struct gp_inspect_doctor *d)
{
	const char *named = d->live ? getenv("container") : NULL;

	d->shared_directory = gp_root_exists(root, DIRECTORY);
	d->own_pids = other_namespace(root, "pid", FIRST_PIDS);
	d->own_users = other_namespace(root, "user", FIRST_USERS);
	d->seccomp = seccomp_is_on(root);
	if (named && *named && strlen(named) < sizeof(d->container))
		snprintf(d->container, sizeof(d->container), "%s", named);
	else if (gp_root_exists(root, "/run/.containerenv"))
		snprintf(d->container, sizeof(d->container), "podman");
	else if (gp_root_exists(root, "/.dockerenv"))
		snprintf(d->container, sizeof(d->container), "docker");
}
