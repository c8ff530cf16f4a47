// SPDX-License-Identifier: MIT
#include "inspect/kfd_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/read/plain.h"

static int say_live(const struct gp_root *root, const char *name, int error, struct gp_diag *diag)
{
	if (error == -EACCES || error == -EPERM)
		return gp_fail(diag, error,
			       "%s: %s; reading debugfs requires root and a kernel without "
			       "lockdown: use sudo, or read a saved copy with --file",
			       name, strerror(-error));
	if (error == -ENOENT && !gp_root_exists(root, "/sys/class/kfd"))
		return gp_fail(diag, error,
			       "%s: not found, and /sys/class/kfd does not exist: the amdgpu "
			       "driver is not loaded, or this machine has no AMD GPU",
			       name);
	if (error == -ENOENT)
		return gp_fail(diag, error,
			       "%s: not found; debugfs may not be mounted (mount -t debugfs none "
			       "/sys/kernel/debug)",
			       name);
	return gp_fail(diag, error, "%s: cannot read: %s", name, strerror(-error));
}

static bool is_blank(const struct gp_buf *text)
{
	const char *data = gp_buf_str(text);

	for (size_t i = 0; i < text->len; i++) {
		if (!strchr(" \t\r\n", data[i]) || !data[i])
			return false;
	}
	return true;
}

/* A copy of a debugfs file, which may be compressed. */
static int read_copy(const char *path, const char *name, struct gp_diag *diag, struct gp_buf *text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), error;

	if (fd < 0)
		return gp_fail(diag, -errno, "%s: cannot read: %s", name, strerror(errno));
	fd = gp_trace_plain(fd, name, diag);
	if (fd < 0)
		return fd;
	error = gp_file_read_fd(fd, GP_DEBUGFS_LIMIT, text);
	close(fd);
	if (error && error != -EFBIG)
		gp_fail(diag, error, "%s: cannot read: %s", name, strerror(-error));
	return error;
}

int gp_inspect_kfd_input_read(const struct gp_inspect_kfd_query *query, const char *file,
			      const char *path, struct gp_diag *diag,
			      struct gp_inspect_kfd_input *out)
{
	const struct gp_root *root = &query->root;
	const char *stdin_name = query->stdin_name;
	bool is_pipe = file && strcmp(file, "-") == 0;
	int error;

	out->live = !file;
	if (file)
		error = snprintf(out->name, sizeof(out->name), "%s",
				 is_pipe && stdin_name ? stdin_name : file) < (int)sizeof(out->name)
				? 0
				: -ENAMETOOLONG;
	else
		error = gp_root_path(root, out->name, sizeof(out->name), "%s", path);
	if (!error && file)
		error = read_copy(is_pipe ? "/dev/stdin" : file, out->name, diag, &out->text);
	else if (!error)
		error = gp_file_read(out->name, GP_DEBUGFS_LIMIT, &out->text);
	if (error == -EFBIG)
		return gp_fail(diag, error, "%s: larger than %u MiB; not a debugfs file", out->name,
			       GP_DEBUGFS_LIMIT >> 20);
	if (error)
		return file ? error : say_live(root, out->name, error, diag);
	/* An empty text means that there is nothing to list; a copy may have failed as well. */
	if (file && is_blank(&out->text))
		gp_diag(diag, GP_NOTE, "%s is empty: there were no queues, or the copy failed",
			out->name);
	return 0;
}

void gp_inspect_kfd_input_free(struct gp_inspect_kfd_input *input)
{
	gp_buf_free(&input->text);
}

const char *gp_inspect_kfd_command(const char *text, size_t len)
{
	return gp_kfd_text_command(text, len);
}

struct gp_gpu_debugfs_source gp_inspect_kfd_input_source(const struct gp_inspect_kfd_query *query,
							 const struct gp_inspect_kfd_input *input,
							 struct gp_kfd_gfx *gfx)
{
	return (struct gp_gpu_debugfs_source){.name = input->name,
					      .text = gp_buf_str(&input->text),
					      .len = input->text.len,
					      .live = input->live,
					      .partial = query->partial,
					      .gfx_version = gp_kfd_gfx_version,
					      .ctx = gfx};
}

int gp_inspect_kfd_input_judge(int error, struct gp_diag *diag)
{
	if (error == -EBADMSG)
		gp_diag(diag, GP_NOTE, "use --partial to show the intact blocks");
	return error;
}

bool gp_inspect_kfd_query_set_gfx(struct gp_inspect_kfd_query *query, const char *name)
{
	query->gfx_version = gp_kfd_gfx_parse(name);
	return query->gfx_version;
}

int gp_inspect_kfd_query_gfx(const struct gp_inspect_kfd_query *query, struct gp_kfd_gfx *out)
{
	out->forced = query->gfx_version;
	return out->forced ? 0 : gp_kfd_gfx_read(&query->root, out);
}

int gp_inspect_kfd_query_owners(const struct gp_inspect_kfd_query *query, struct gp_kfd_gfx *gfx,
				struct gp_diag *diag, struct gp_kfd_slot_list *out, char *from,
				size_t size)
{
	struct gp_inspect_kfd_input input = {0};
	struct gp_gpu_debugfs_source source;
	/* If the user did not name the file, its absence only leaves the pids unknown. */
	struct gp_diag *sink = query->mqds_file ? diag : NULL;
	int error;

	from[0] = '\0';
	if (query->file && !query->mqds_file)
		return 0;
	error = gp_inspect_kfd_input_read(query, query->mqds_file, GP_DEBUGFS_MQDS, sink, &input);
	if (!error) {
		source = gp_inspect_kfd_input_source(query, &input, gfx);
		/* With --partial the message says what is missing. */
		error = gp_kfd_parse_mqds(&source, query->partial ? diag : sink, out);
		error = gp_inspect_kfd_input_judge(error, sink);
	}
	if (!error)
		snprintf(from, size, "%s", input.name);
	gp_inspect_kfd_input_free(&input);
	return query->mqds_file || error == -ENOMEM ? error : 0;
}

void gp_inspect_kfd_query_filter(const struct gp_inspect_kfd_query *query,
				 struct gp_kfd_slot_list *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++) {
		struct gp_kfd_slot *slot = &list->items[i];

		if ((query->pid && slot->pid != query->pid) ||
		    (query->has_gpu && slot->gpu_id != query->gpu_id)) {
			free(slot->words);
			free(slot->addresses);
			continue;
		}
		list->items[kept++] = *slot;
	}
	list->count = kept;
}
