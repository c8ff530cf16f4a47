// SPDX-License-Identifier: MIT
/* What was recorded, as trace.dat of version 6 (trace-cmd.dat.v6.5): descriptions of the events
 * that were on, the driver's symbols, and the pages of each CPU's ring buffer as the kernel has
 * them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"
#include "trace/capture/symbols.h"
#include "trace/capture/tracefs.h"

#define MAGIC        "\x17\x08\x44tracing"
#define MAGIC_LEN    10
#define KIND_LEN     10 /* "options  ", "flyrecord", with their NUL */
#define OPTION_CLOCK 4
#define PART_MAX     (64u << 20)
#define PAGE_MAX     (1u << 20)
#define CPUS_MAX     8192

/* ---- numbers and texts ---- */

/* Little endian, as every machine with this driver is. */
static void put_number(struct gp_buf *out, u64 value, u32 size)
{
	gp_buf_add(out, &value, size);
}

static void put_string(struct gp_buf *out, const char *text)
{
	gp_buf_add(out, text, strlen(text) + 1);
}

static void put_block(struct gp_buf *out, const struct gp_buf *text, u32 length_size)
{
	put_number(out, text->len, length_size);
	gp_buf_add(out, gp_buf_str(text), text->len);
}

/* A file of tracefs with its length in front. */
static int put_file(const struct gp_capture_tracefs *trace, struct gp_buf *out, u32 length_size,
		    const char *path)
{
	struct gp_root root = {.dir = trace->dir};
	struct gp_buf text = {0};
	int error = gp_root_read(&root, PART_MAX, &text, "%s", path);

	if (!error)
		put_block(out, &text, length_size);
	gp_buf_free(&text);
	return error;
}

/* ---- parts ---- */

/* "\tfield: char data;\toffset:16;\tsize:4080;": a page is what is before its data, and these. */
static int find_page_size(const struct gp_capture_tracefs *trace, u32 *size)
{
	struct gp_root root = {.dir = trace->dir};
	struct gp_buf text = {0};
	int error = gp_root_read(&root, PART_MAX, &text, "/events/header_page");
	const char *end = gp_buf_str(&text) + text.len, *data, *p;
	u32 offset = 0, len = 0;

	data = error ? NULL : strstr(gp_buf_str(&text), "char data;");
	p = data ? strstr(data, "offset:") : NULL;
	if (p)
		p += strlen("offset:");
	if (p && gp_parse_u32(&p, end, &offset) && (p = strstr(p, "size:")) != NULL) {
		p += strlen("size:");
		gp_parse_u32(&p, end, &len);
	}
	gp_buf_free(&text);
	if (!error && (!len || offset > PAGE_MAX || len > PAGE_MAX))
		error = -EBADMSG;
	*size = offset + len;
	return error;
}

/* The descriptions of the events of a system; none if it does not exist. */
static int put_system(const struct gp_capture_tracefs *trace, struct gp_buf *out,
		      const char *system)
{
	struct gp_root root = {.dir = trace->dir};
	struct gp_names names = {0};
	size_t place = out->len;
	u32 count = 0;
	int error = gp_root_list(&root, &names, "/events/%s", system);

	put_number(out, 0, 4);
	for (size_t i = 0; i < names.count && !error; i++) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "/events/%s/%s/format", system, names.items[i]);
		error = put_file(trace, out, 8, path);
		count += !error;
		/* Switches of the whole system are beside its events. */
		if (error == -ENOTDIR || error == -ENOENT)
			error = 0;
	}
	gp_names_free(&names);
	if (!out->error)
		memcpy(out->data + place, &count, sizeof(count));
	return error == -ENOENT ? 0 : error;
}

static int put_systems(const struct gp_capture_tracefs *trace, struct gp_buf *out)
{
	const char *const systems[] = {trace->name, "amdkfd"};
	int error = put_system(trace, out, "ftrace");

	put_number(out, GP_ARRAY_SIZE(systems), 4);
	for (size_t i = 0; i < GP_ARRAY_SIZE(systems) && !error; i++) {
		put_string(out, systems[i]);
		error = put_system(trace, out, systems[i]);
	}
	return error;
}

static int put_symbols(const struct gp_root *root, struct gp_buf *out)
{
	struct gp_buf text = {0}, kept = {0};
	int error = gp_root_read(root, PART_MAX, &text, "/proc/kallsyms");

	/* Without addresses, the function of a probe cannot be determined. */
	if (!error && !gp_capture_symbols_of_driver(gp_buf_str(&text), text.len, &kept))
		error = -EACCES;
	if (!error)
		put_block(out, &kept, 4);
	error = error ? error : kept.error;
	gp_buf_free(&text);
	gp_buf_free(&kept);
	return error;
}

/* A list that a kernel may lack. */
static int put_list(const struct gp_capture_tracefs *trace, struct gp_buf *out, u32 length_size,
		    const char *path)
{
	int error = put_file(trace, out, length_size, path);

	if (error != -ENOENT)
		return error;
	put_number(out, 0, length_size);
	return 0;
}

/* ---- pages ---- */

/* How many CPUs, counted by the highest number. */
static int count_cpus(const struct gp_capture_tracefs *trace, u32 *count)
{
	struct gp_root root = {.dir = trace->dir};
	struct gp_names names = {0};
	int error = gp_root_list(&root, &names, "/instances/%s/per_cpu", trace->name);

	*count = 0;
	for (size_t i = 0; i < names.count; i++) {
		const char *p = names.items[i], *end = p + strlen(p);
		u32 number;

		if (GP_PARSE_LITERAL(&p, end, "cpu") && gp_parse_u32(&p, end, &number) &&
		    number < CPUS_MAX && number >= *count)
			*count = number + 1;
	}
	gp_names_free(&names);
	return !error && !*count ? -ENOENT : error;
}

/* The kernel gives a page at a time, whole, until there is none. */
static int copy_pages(int from, int fd, u8 *page, u32 page_size, u64 *size)
{
	for (;;) {
		ssize_t got = read(from, page, page_size);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return errno == EAGAIN ? 0 : -errno;
		if (got == 0)
			return 0;
		memset(page + got, 0, page_size - (size_t)got);
		int error = gp_file_write_fd(fd, page, page_size);

		if (error)
			return error;
		*size += page_size;
	}
}

static int save_cpu(const struct gp_capture_tracefs *trace, u32 cpu, int fd, u8 *page,
		    u32 page_size, u64 *size)
{
	char path[PATH_MAX];
	int from, error;

	if (snprintf(path, sizeof(path), "%s/instances/%s/per_cpu/cpu%u/trace_pipe_raw", trace->dir,
		     trace->name, cpu) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	from = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	/* One that was never there. */
	if (from < 0)
		return errno == ENOENT ? 0 : -errno;
	error = copy_pages(from, fd, page, page_size, size);
	close(from);
	return error;
}

/* Behind `at`, the head's length: the pages, then where each CPU's are, at `table`. */
static int save_pages(const struct gp_capture_tracefs *trace, int fd, u32 page_size, u32 cpus,
		      u64 at, u64 table)
{
	u8 *page = malloc(page_size);
	struct gp_buf places = {0};
	u64 sum = 0;
	int error = page ? 0 : -ENOMEM;

	for (u32 cpu = 0; cpu < cpus && !error; cpu++) {
		u64 size = 0;

		error = save_cpu(trace, cpu, fd, page, page_size, &size);
		put_number(&places, at + sum, 8);
		put_number(&places, size, 8);
		sum += size;
	}
	free(page);
	error = error ? error : places.error;
	if (!error) {
		ssize_t put = pwrite(fd, places.data, places.len, (off_t)table);

		error = put == (ssize_t)places.len ? 0 : put < 0 ? -errno : -EIO;
	}
	gp_buf_free(&places);
	return error ? error : sum ? 0 : -ENODATA;
}

/* Everything before the pages; *table is where their places will be. */
static int put_head(const struct gp_capture_tracefs *trace, const struct gp_root *root,
		    struct gp_buf *out, u32 page_size, u32 cpus, u64 *table)
{
	static const char clock[] = "[mono]"; /* as gp_capture_tracefs_start() sets it */
	int error;

	gp_buf_add(out, MAGIC, MAGIC_LEN);
	put_string(out, "6");
	put_number(out, 0, 1); /* little endian */
	put_number(out, sizeof(long), 1);
	put_number(out, page_size, 4);
	put_string(out, "header_page");
	error = put_file(trace, out, 8, "/events/header_page");
	put_string(out, "header_event");
	if (!error)
		error = put_file(trace, out, 8, "/events/header_event");
	if (!error)
		error = put_systems(trace, out);
	if (!error)
		error = put_symbols(root, out);
	if (!error)
		error = put_list(trace, out, 4, "/printk_formats");
	if (!error)
		error = put_list(trace, out, 8, "/saved_cmdlines");
	put_number(out, cpus, 4);
	gp_buf_add(out, "options  ", KIND_LEN);
	put_number(out, OPTION_CLOCK, 2);
	put_number(out, sizeof(clock), 4);
	gp_buf_add(out, clock, sizeof(clock));
	put_number(out, 0, 2);
	gp_buf_add(out, "flyrecord", KIND_LEN);
	*table = out->len;
	for (u32 i = 0; i < 2 * cpus; i++)
		put_number(out, 0, 8);
	while (!out->error && out->len % page_size)
		put_number(out, 0, 1);
	return error ? error : out->error;
}

int gp_capture_tracefs_save_binary(const struct gp_capture_tracefs *trace,
				   const struct gp_root *root, int fd)
{
	struct gp_buf head = {0};
	u32 page_size = 0, cpus = 0;
	u64 table = 0;
	int error = find_page_size(trace, &page_size);

	if (!error)
		error = count_cpus(trace, &cpus);
	if (!error)
		error = put_head(trace, root, &head, page_size, cpus, &table);
	if (!error)
		error = gp_file_write_fd(fd, head.data, head.len);
	if (!error)
		error = save_pages(trace, fd, page_size, cpus, head.len, table);
	gp_buf_free(&head);
	return error;
}
