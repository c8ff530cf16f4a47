// SPDX-License-Identifier: MIT
#include "proto/swapped.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/parse.h"
#include "proto/directory.h"

enum { TEXT = 256, FIELDS = 6, START_FIELD = 20 }; /* START_FIELD: after the name, from 0 */

static int path_of(u32 pid, char *out, size_t size)
{
	char name[32];

	snprintf(name, sizeof(name), "swapped-%u", pid);
	return gp_proto_directory_path(out, size, name, 1);
}

u64 gp_proto_swapped_start(u32 pid)
{
	const struct gp_root live = {.dir = ""};
	struct gp_buf text = {0};
	const char *p = NULL, *end;
	u64 start = 0;

	/* proc(5): the name is in parentheses and may contain anything; field 22 is the start. */
	if (gp_root_read(&live, 4096, &text, "/proc/%u/stat", pid) == 0)
		p = strrchr(gp_buf_str(&text), ')');
	for (int field = 0; p && field < START_FIELD; field++)
		p = strchr(p + 1, ' ');
	if (p) {
		p++;
		end = p + strspn(p, "0123456789");
		if (!gp_parse_u64(&p, end, &start))
			start = 0;
	}
	gp_buf_free(&text);
	return start;
}

int gp_proto_swapped_write(const struct gp_proto_swapped *swapped)
{
	char path[PATH_MAX], text[TEXT];
	int len, error = path_of(swapped->pid, path, sizeof(path));

	if (error)
		return error;
	len = snprintf(text, sizeof(text), "%u %u %llu %llu %llu %u\n", swapped->pid,
		       swapped->keeper, (unsigned long long)swapped->start,
		       (unsigned long long)swapped->bytes, (unsigned long long)swapped->since_ns,
		       swapped->out);
	return gp_file_write_atomic(path, text, (size_t)len);
}

void gp_proto_swapped_remove(u32 pid)
{
	char path[PATH_MAX];

	if (path_of(pid, path, sizeof(path)) == 0)
		unlink(path);
}

static bool parse(const char *text, struct gp_proto_swapped *out)
{
	const char *p = text, *end = text + strlen(text);
	u64 field[FIELDS];

	for (int i = 0; i < FIELDS; i++) {
		if (!gp_parse_u64(&p, end, &field[i]) || p == end ||
		    *p++ != (i + 1 < FIELDS ? ' ' : '\n'))
			return false;
	}
	*out = (struct gp_proto_swapped){.pid = (u32)field[0],
					 .keeper = (u32)field[1],
					 .start = field[2],
					 .bytes = field[3],
					 .since_ns = field[4],
					 .out = field[5] == 1};
	return p == end && field[0] <= UINT32_MAX && field[1] <= UINT32_MAX;
}

int gp_proto_swapped_find(u32 pid, struct gp_proto_swapped *out)
{
	char path[PATH_MAX];
	struct gp_buf text = {0};
	int error = path_of(pid, path, sizeof(path));

	if (!error)
		error = gp_file_read(path, TEXT, &text);
	if (!error && (!parse(gp_buf_str(&text), out) || out->pid != pid))
		error = -EINVAL;
	gp_buf_free(&text);
	if (error == -EINVAL || (!error && out->start != gp_proto_swapped_start(pid))) {
		unlink(path);
		error = -ENOENT;
	}
	return error;
}

int gp_proto_swapped_read(struct gp_proto_swapped_list *list)
{
	char directory[PATH_MAX];
	const struct gp_root live = {.dir = ""};
	struct gp_names names = {0};
	int error;

	*list = (struct gp_proto_swapped_list){0};
	gp_proto_directory_name(directory, sizeof(directory), "");
	error = gp_root_list(&live, &names, "%s", directory);
	if (error)
		return error == -ENOENT ? 0 : error;
	for (size_t i = 0; i < names.count && !error; i++) {
		const char *p = names.items[i], *end = p + strlen(p);
		struct gp_proto_swapped found;
		u32 pid;

		if (!GP_PARSE_LITERAL(&p, end, "swapped-") || !gp_parse_u32(&p, end, &pid) ||
		    p != end || gp_proto_swapped_find(pid, &found))
			continue;
		error = gp_array_grow((void **)&list->items, list->count, &list->capacity,
				      sizeof(*list->items));
		if (!error)
			list->items[list->count++] = found;
	}
	gp_names_free(&names);
	if (error)
		gp_proto_swapped_free(list);
	return error;
}

void gp_proto_swapped_free(struct gp_proto_swapped_list *list)
{
	free(list->items);
	*list = (struct gp_proto_swapped_list){0};
}
