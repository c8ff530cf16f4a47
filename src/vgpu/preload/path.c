// SPDX-License-Identifier: MIT
/*
 * Which paths belong to the virtual GPU, and where they are in its tree. The tree is made of
 * real files, so nothing but the name changes; files whose content follows the state of the machine
 * are brought up to date by the server before they are looked at.
 */
#include "vgpu/preload/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "abi/drm.h"
#include "abi/kfd_driver.h"

enum match {
	WHOLE,   /* the name and what is below it */
	START,   /* any name that starts so */
	OVERLAY, /* below it, where the tree has something; else the real file */
	EXACT,   /* the name itself: a directory that lists the machine's devices alone */
};

static const struct {
	const char *prefix;
	u32 length;
	enum match match;
	bool live; /* the server refreshes it */
} places[] = {
#define PLACE(path, match, live)                    \
	{                                           \
		path, sizeof(path) - 1, match, live \
	}
	PLACE("/sys/class/kfd/kfd/proc", WHOLE, true),
	PLACE("/sys/devices/virtual/kfd/kfd/proc", WHOLE, true),
	PLACE("/sys/kernel/debug/kfd", WHOLE, true),
	PLACE("/sys/class/kfd", WHOLE, false),
	PLACE("/sys/devices/virtual/kfd", WHOLE, false),
	PLACE("/sys/module/amdgpu", WHOLE, false),
	PLACE("/sys/class/drm", WHOLE, false),
	PLACE("/sys/dev/char/226:", START, false),
	PLACE("/dev/kfd", WHOLE, false),
	PLACE("/dev/dri", WHOLE, false),
	PLACE("/proc/modules", WHOLE, false),
	PLACE("/sys/bus/pci/devices", EXACT, false),
	PLACE("/sys/bus/pci/devices/", OVERLAY, false),
	PLACE("/sys/devices/pci", OVERLAY, false),
#undef PLACE
};

static bool matches(const char *path, size_t place)
{
	u32 length = places[place].length;

	if (strncmp(path, places[place].prefix, length) != 0)
		return false;
	if (places[place].match == EXACT)
		return path[length] == '\0' || (path[length] == '/' && path[length + 1] == '\0');
	return places[place].match != WHOLE || path[length] == '\0' || path[length] == '/';
}

/* Figures of a GPU that change, however its device is reached. */
static bool is_live(const char *path, size_t place)
{
	static const char *const names[] = {"/mem_info_vram_used", "/mem_info_vis_vram_used",
					    "/gpu_busy_percent", "/gpu_metrics"};
	const char *name = strrchr(path, '/');

	if (places[place].live)
		return true;
	for (size_t i = 0; path[1] == 's' && i < GP_ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static bool exists(const char *path)
{
	int saved = errno;
	bool yes = syscall(SYS_faccessat, -1, path, F_OK) == 0;

	errno = saved;
	return yes;
}

void gp_vgpu_number(char *out, u32 value)
{
	char digits[16];
	size_t count = 0;

	do
		digits[count++] = (char)('0' + value % 10);
	while (value /= 10);
	while (count)
		*out++ = digits[--count];
	*out = '\0';
}

const char *gp_vgpu_path(const char *path, char buffer[GP_VGPU_PATH_MAX])
{
	const char *tree = gp_vgpu_root();
	size_t tree_length, length;

	if (!tree || !path || path[0] != '/' ||
	    (path[1] != 's' && path[1] != 'd' && path[1] != 'p'))
		return path;
	for (size_t i = 0; i < GP_ARRAY_SIZE(places); i++) {
		if (!matches(path, i))
			continue;
		tree_length = strlen(tree);
		length = strlen(path);
		if (tree_length + length >= GP_VGPU_PATH_MAX)
			return path;
		memcpy(buffer, tree, tree_length);
		memcpy(buffer + tree_length, path, length + 1);
		if (places[i].match == OVERLAY && !exists(buffer))
			return path;
		if (is_live(path, i))
			gp_vgpu_refresh(path);
		return buffer;
	}
	return path;
}

/* ---- relative paths ---- */

/* "a/../b/./c" becomes "b/c"; in place, without looking at links: the tree has none in these. */
static void tidy(char *path)
{
	char *out = path;

	for (char *in = path; *in;) {
		size_t length = strcspn(in + 1, "/") + 1;

		if (length == 3 && !memcmp(in, "/..", 3)) {
			while (out > path && *--out != '/')
				;
		} else if (length > 1 && !(length == 2 && in[1] == '.')) {
			memmove(out, in, length);
			out += length;
		}
		in += length;
	}
	*out = '\0';
}

/*
 * The whole name of a path that starts somewhere else than at the root, as the machine has it: a
 * directory of its tree, where chdir() or an open directory led to, counts as what it stands for.
 * False when it is none of the machine's names. *in_tree: it starts inside the tree.
 */
static bool whole_name(int directory, const char *path, char out[GP_VGPU_PATH_MAX], bool *in_tree)
{
	char link[32] = "/proc/self/cwd";
	long length;

	if (directory != AT_FDCWD) {
		strcpy(link, "/proc/self/fd/");
		gp_vgpu_number(link + strlen(link), (u32)directory);
	}
	length = syscall(SYS_readlinkat, AT_FDCWD, link, out, GP_VGPU_PATH_MAX - 1);
	if (length <= 0 || (size_t)length + strlen(path) + 2 > GP_VGPU_PATH_MAX)
		return false;
	out[length] = '\0';
	*in_tree = strstr(out, "/" GP_VGPU_ROOT "/") != NULL;
	out[length] = '/';
	strcpy(out + length + 1, path);
	tidy(out);
	if (*in_tree)
		gp_vgpu_path_strip(out);
	for (size_t i = 0; i < GP_ARRAY_SIZE(places); i++)
		if (matches(out, i))
			return true;
	return false;
}

const char *gp_vgpu_path_at(int directory, const char *path, char buffer[GP_VGPU_PATH_MAX],
			    bool *inside)
{
	char name[GP_VGPU_PATH_MAX];
	const char *place = path;
	bool in_tree = false;
	int saved = errno;

	*inside = false;
	if (path && path[0] && path[0] != '/' && gp_vgpu_root()) {
		if (whole_name(directory, path, name, &in_tree)) {
			place = gp_vgpu_path(name, buffer); /* also brings it up to date */
			*inside = in_tree || place == buffer;
		}
		errno = saved;
		return place == buffer ? buffer : path;
	}
	place = gp_vgpu_path(path, buffer);
	*inside = place == buffer;
	return place;
}

static bool strip(char *path, const char *tree)
{
	size_t length = strlen(tree);

	if (!length || strncmp(path, tree, length) != 0 || path[length] != '/')
		return false;
	memmove(path, path + length, strlen(path + length) + 1);
	return true;
}

/* Where the tree is without links in its name, as the kernel says it. Not realpath(): ours calls
 * this. */
static void resolve(const char *tree, char out[GP_VGPU_PATH_MAX])
{
	char link[32] = "/proc/self/fd/";
	int fd = (int)syscall(SYS_openat, AT_FDCWD, tree, O_PATH | O_CLOEXEC);
	long length = -1;

	if (fd >= 0) {
		gp_vgpu_number(link + strlen(link), (u32)fd);
		length = syscall(SYS_readlinkat, AT_FDCWD, link, out, GP_VGPU_PATH_MAX - 1);
		syscall(SYS_close, fd);
	}
	out[length > 0 ? length : 0] = '\0';
}

void gp_vgpu_path_strip(char *path)
{
	const char *tree = gp_vgpu_root();
	char resolved[GP_VGPU_PATH_MAX];
	int saved = errno;

	if (!tree || strip(path, tree))
		return;
	resolve(tree, resolved);
	strip(path, resolved);
	errno = saved;
}

struct gp_vgpu_node gp_vgpu_path_node(const char *path)
{
	static const char render[] = "/dev/dri/renderD", card[] = "/dev/dri/card";
	const struct gp_vgpu_node none = {GP_VGPU_FD_NONE, 0};
	struct gp_vgpu_node device = {GP_VGPU_FD_RENDER, 0};
	const char *number;
	char *end;

	if (!path || path[0] != '/' || path[1] != 'd' || !gp_vgpu_root())
		return none;
	if (!strcmp(path, "/dev/kfd"))
		return (struct gp_vgpu_node){GP_VGPU_FD_KFD, 0};
	if (!strncmp(path, render, sizeof(render) - 1))
		number = path + sizeof(render) - 1;
	else if (!strncmp(path, card, sizeof(card) - 1))
		number = path + sizeof(card) - 1;
	else
		return none;
	if (*number < '0' || *number > '9')
		return none;
	device.minor = (u32)strtoul(number, &end, 10);
	return *end ? none : device;
}

void gp_vgpu_node_stat(struct gp_vgpu_node device, struct stat *st)
{
	if (device.kind == GP_VGPU_FD_NONE)
		return;
	st->st_mode = S_IFCHR | 0666;
	st->st_size = 0;
	st->st_rdev = device.kind == GP_VGPU_FD_KFD ? makedev(GP_KFD_MAJOR, 0)
						    : makedev(GP_DRM_MAJOR, device.minor);
}
