// SPDX-License-Identifier: MIT
/* doctor: what this process may reach. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/parse.h"
#include "inspect/doctor.h"

#define GP_DEBUGFS "/sys/kernel/debug"

static bool group_name(gid_t gid, char *out, size_t size)
{
	struct group entry, *found = NULL;
	char buffer[16384];

	if (getgrgid_r(gid, &entry, buffer, sizeof(buffer), &found) || !found)
		return false;
	return (size_t)snprintf(out, size, "%s", found->gr_name) < size;
}

void gp_inspect_doctor_check_device(struct gp_inspect_device_access *device, const char *path)
{
	struct stat status;

	snprintf(device->path, sizeof(device->path), "%s", path);
	device->checked = true;
	/* access(2) asks for permission, device cgroup included, without opening anything. */
	device->error = access(path, R_OK | W_OK) ? -errno : 0;
	if (stat(path, &status) == 0 &&
	    !group_name(status.st_gid, device->group, sizeof(device->group)))
		snprintf(device->group, sizeof(device->group), "%u", (unsigned int)status.st_gid);
}

void gp_inspect_doctor_render_nodes(const char *dir, struct gp_inspect_doctor *d)
{
	struct gp_names names;

	if (gp_root_list(NULL, &names, "%s", dir))
		return;
	for (size_t i = 0; i < names.count && d->render_count < GP_RENDER_NODES_MAX; i++) {
		struct gp_inspect_device_access *device = &d->render[d->render_count];
		char path[sizeof(device->path)];

		if (strncmp(names.items[i], "renderD", 7) == 0 &&
		    (size_t)snprintf(path, sizeof(path), "%s/%s", dir, names.items[i]) <
			    sizeof(path)) {
			gp_inspect_doctor_check_device(device, path);
			d->render_count++;
		}
	}
	gp_names_free(&names);
}

/* Of our groups those that distributions give the GPU's devices to. */
static void list_groups(struct gp_inspect_doctor *d)
{
	gid_t groups[1024];
	int count = getgroups(GP_ARRAY_SIZE(groups), groups);
	size_t used = 0;

	for (int i = 0; i < count; i++) {
		char name[64];
		int put;

		if (!group_name(groups[i], name, sizeof(name)) ||
		    (strcmp(name, "render") && strcmp(name, "video")))
			continue;
		put = snprintf(d->groups + used, sizeof(d->groups) - used, "%s%s", used ? " " : "",
			       name);
		if (put < 0 || (size_t)put >= sizeof(d->groups) - used)
			break;
		used += (size_t)put;
	}
}

static void read_capabilities(const struct gp_root *root, struct gp_inspect_doctor *d)
{
	static const char mark[] = "\nCapEff:";
	struct gp_buf text = {0};
	const char *p = NULL;

	if (gp_root_read(root, 65536, &text, "/proc/self/status") == 0)
		p = strstr(gp_buf_str(&text), mark);
	if (p) {
		const char *end = text.data + text.len;

		p += sizeof(mark) - 1;
		gp_skip_blanks(&p, end);
		if (gp_parse_hex(&p, end, &d->capabilities))
			d->valid |= GP_DOCTOR_CAPABILITIES;
	}
	gp_buf_free(&text);
}

/* A line of /proc/mounts: "debugfs /sys/kernel/debug debugfs rw,... 0 0". */
static bool debugfs_in(const char *mounts)
{
	for (const char *p = mounts; p && *p; p = strchr(p, '\n')) {
		const char *where;

		p += *p == '\n';
		where = strchr(p, ' ');
		if (where &&
		    strncmp(where + 1, GP_DEBUGFS " debugfs ", strlen(GP_DEBUGFS) + 9) == 0)
			return true;
	}
	return false;
}

static void check_debugfs(const struct gp_root *root, struct gp_inspect_doctor *d)
{
	struct gp_buf text = {0};
	char path[PATH_MAX];
	int fd;

	if (gp_root_read(root, 16u << 20, &text, "/proc/mounts") == 0)
		d->debugfs_mounted = debugfs_in(gp_buf_str(&text));
	gp_buf_free(&text);
	d->debugfs_error = gp_root_path(root, path, sizeof(path), GP_DEBUGFS "/kfd/hqds");
	if (d->debugfs_error)
		return;
	/* Opening reads no register yet; lockdown refuses here already. */
	fd = open(path, O_RDONLY | O_CLOEXEC);
	d->debugfs_error = fd < 0 ? -errno : 0;
	/* A file that is there needs no mount: a saved tree, or a virtual GPU's. */
	if (fd >= 0) {
		d->debugfs_mounted = true;
		close(fd);
	}
}

void gp_inspect_doctor_access(const struct gp_root *root, struct gp_inspect_doctor *d)
{
	check_debugfs(root, d);
	if (gp_root_read_u64(root, &d->ptrace_scope, "/proc/sys/kernel/yama/ptrace_scope") == 0)
		d->valid |= GP_DOCTOR_PTRACE_SCOPE;
	if (!d->live)
		return;
	gp_inspect_doctor_check_device(&d->kfd_device, "/dev/kfd");
	gp_inspect_doctor_check_device(&d->nvidia_device, "/dev/nvidiactl");
	gp_inspect_doctor_render_nodes("/dev/dri", d);
	list_groups(d);
	read_capabilities(root, d);
}
