// SPDX-License-Identifier: MIT
#include "trace/capture/tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/i18n.h"
#include "base/parse.h"
#include "trace/capture/symbols.h"

#define SYMBOLS_MAX (64u << 20)
#define PROBES_MAX  (16u << 20)
/* For each CPU. A creation of a queue writes some 50 events of 60 bytes. */
#define BUFFER_KIB "4096"

/* ---- files ---- */

static int live_make(void *ctx, const char *path)
{
	(void)ctx;
	return mkdir(path, 0700) ? -errno : 0;
}

static int live_remove(void *ctx, const char *path)
{
	(void)ctx;
	return rmdir(path) ? -errno : 0;
}

static int live_put(void *ctx, const char *path, const char *text)
{
	size_t len = strlen(text);
	ssize_t put;
	int fd, error = 0;

	(void)ctx;
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	do
		put = write(fd, text, len);
	while (put < 0 && errno == EINTR);
	if (put != (ssize_t)len)
		error = put < 0 ? -errno : -EIO;
	close(fd);
	return error;
}

const struct gp_capture_tracefs_ops gp_capture_tracefs_live = {live_make, live_remove, live_put};

static int put(const struct gp_capture_tracefs *trace, const char *file, const char *text)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", trace->dir, file) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	return trace->ops->put(trace->ctx, path, text);
}

/* A file of our instance. */
static int put_own(const struct gp_capture_tracefs *trace, const char *file, const char *text)
{
	char path[256];

	if (snprintf(path, sizeof(path), "instances/%s/%s", trace->name, file) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	return put(trace, path, text);
}

static void instance_path(const struct gp_capture_tracefs *trace, char *out, size_t size)
{
	snprintf(out, size, "%s/instances/%s", trace->dir, trace->name);
}

/* ---- where ---- */

int gp_capture_tracefs_find(struct gp_capture_tracefs *trace, const struct gp_root *root,
			    struct gp_diag *diag)
{
	static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	char real[PATH_MAX];
	int error = -ENOENT;

	trace->ops = &gp_capture_tracefs_live;
	for (size_t i = 0; i < GP_ARRAY_SIZE(places); i++) {
		char path[PATH_MAX];

		if (gp_root_path(root, path, sizeof(path), "%s/instances", places[i]))
			continue;
		if (access(path, R_OK | W_OK | X_OK)) {
			if (errno != ENOENT)
				error = -errno;
			continue;
		}
		*strrchr(path, '/') = '\0';
		/* Whoever restores may have another working directory. */
		if (!realpath(path, real) ||
		    snprintf(trace->dir, sizeof(trace->dir), "%s", real) >= (int)sizeof(trace->dir))
			return -ENAMETOOLONG;
		return 0;
	}
	if (error == -ENOENT && !gp_root_exists(root, "/sys/class/kfd"))
		gp_diag(diag, GP_WARNING,
			"cannot trace KFD: /sys/class/kfd does not exist (needs amdkfd)");
	else if (error == -ENOENT)
		gp_diag(diag, GP_WARNING,
			"cannot trace KFD: tracefs is not mounted on /sys/kernel/tracing (mount -t "
			"tracefs nodev /sys/kernel/tracing)");
	else
		gp_diag(diag, GP_WARNING, "cannot trace KFD: %s: %s (try as root)", places[0],
			strerror(-error));
	return error;
}

void gp_capture_tracefs_name(struct gp_capture_tracefs *trace)
{
	char path[PATH_MAX];

	/* A pid is unique, but a killed trace may have left something under the same one. */
	for (int i = 0; i < 100; i++) {
		snprintf(trace->name, sizeof(trace->name), "gpreempt_%d_%d", (int)getpid(), i);
		instance_path(trace, path, sizeof(path));
		if (access(path, F_OK) && errno == ENOENT)
			return;
	}
}

/* ---- probes ---- */

static int define(const struct gp_capture_tracefs *trace, const struct gp_capture_symbol *symbol,
		  size_t number)
{
	char place[192], text[512];
	int error;

	if (symbol->multiple)
		snprintf(place, sizeof(place), "0x%llx", (unsigned long long)symbol->address);
	else
		snprintf(place, sizeof(place), "%s%.*s", symbol->module ? "amdgpu:" : "",
			 (int)symbol->len, symbol->name);
	if (symbol->multiple && !symbol->address)
		return -EACCES;
	snprintf(text, sizeof(text), "p:%s/p%zu %s\n", trace->name, number, place);
	error = put(trace, "kprobe_events", text);
	if (error)
		return error;
	/* By address a return is refused (seen on 6.1): such a function has its entries only. */
	snprintf(text, sizeof(text), "r:%s/r%zu %s ret=$retval:s32\n", trace->name, number, place);
	put(trace, "kprobe_events", text);
	return 0;
}

static int define_all(struct gp_capture_tracefs *trace, const struct gp_root *root,
		      struct gp_diag *diag)
{
	struct gp_capture_symbol symbols[GP_TRACEFS_PROBES];
	struct gp_buf text = {0};
	int error = gp_root_read(root, SYMBOLS_MAX, &text, "/proc/kallsyms"), last = 0;
	bool kcq_seen = false;

	trace->wanted = gp_capture_symbols_wanted();
	if (!error)
		trace->functions = gp_capture_symbols_find(gp_buf_str(&text), text.len, symbols,
							   GP_ARRAY_SIZE(symbols));
	for (size_t i = 0; i < trace->functions; i++) {
		bool kcq = memmem(symbols[i].name, symbols[i].len, "_kcq", 4);

		error = define(trace, &symbols[i], i);
		if (kcq)
			trace->kcq = !error && (trace->kcq || !kcq_seen);
		kcq_seen |= kcq;
		trace->probes += !error;
		trace->refused += error != 0;
		last = error ? error : last;
	}
	gp_buf_free(&text);
	if (trace->probes) {
		if (trace->refused)
			gp_diag(diag, GP_WARNING,
				"KFD functions traced: %zu; refused by the kernel: %zu (%s)",
				trace->probes, trace->refused, strerror(-last));
		return 0;
	}
	if (!trace->functions)
		gp_diag(diag, GP_WARNING,
			"cannot trace KFD: the kernel has no KFD functions (needs amdkfd)");
	else
		gp_diag(diag, GP_WARNING,
			"cannot trace KFD: the kernel refused probes (kprobe_events: %s)",
			strerror(-last));
	return last ? last : -ENOENT;
}

int gp_capture_tracefs_start(struct gp_capture_tracefs *trace, const struct gp_root *root,
			     struct gp_diag *diag)
{
	char path[PATH_MAX], group[64];
	int error;

	instance_path(trace, path, sizeof(path));
	error = trace->ops->make(trace->ctx, path);
	if (error) {
		gp_diag(diag, GP_WARNING, "cannot trace KFD: cannot create %s: %s", path,
			strerror(-error));
		return error;
	}
	error = put_own(trace, "tracing_on", "0");
	/* The AMD log's clock: what is compared has one clock. */
	if (!error)
		error = put_own(trace, "trace_clock", "mono");
	if (error) {
		gp_diag(diag, GP_WARNING, "cannot trace KFD: %s: %s (try as root)", path,
			strerror(-error));
		return error;
	}
	/* A smaller buffer than requested loses old events; the trace reports that. */
	put_own(trace, "buffer_size_kb", BUFFER_KIB);
	error = define_all(trace, root, diag);
	if (!error) {
		snprintf(group, sizeof(group), "events/%s/enable", trace->name);
		error = put_own(trace, group, "1");
		if (error)
			gp_diag(diag, GP_WARNING, "cannot trace KFD: %s/%s: %s (try as root)", path,
				group, strerror(-error));
	}
	if (put_own(trace, "events/amdkfd/enable", "1") == 0) {
		trace->tracepoints++;
		error = 0;
	}
	return error ? error : put_own(trace, "tracing_on", "1");
}

int gp_capture_tracefs_stop(struct gp_capture_tracefs *trace)
{
	return put_own(trace, "tracing_on", "0");
}

int gp_capture_tracefs_save(const struct gp_capture_tracefs *trace, int fd)
{
	char path[PATH_MAX], buffer[65536];
	int from, error = 0;
	ssize_t got;

	instance_path(trace, path, sizeof(path) - 8);
	strcat(path, "/trace");
	from = open(path, O_RDONLY | O_CLOEXEC);
	if (from < 0)
		return -errno;
	while (!error && (got = read(from, buffer, sizeof(buffer))) != 0) {
		if (got > 0)
			error = gp_file_write_fd(fd, buffer, (size_t)got);
		else if (errno != EINTR)
			error = -errno;
	}
	close(from);
	return error;
}

/* ---- back ---- */

/* "r10:GROUP/NAME place": the name, when it is in our group. */
static bool of_group(const char *line, const char *end, const char *group, const char **name,
		     size_t *len)
{
	const char *colon = memchr(line, ':', (size_t)(end - line)), *p;

	if (!colon || memchr(line, ' ', (size_t)(colon - line)))
		return false;
	p = colon + 1;
	if (!gp_parse_text(&p, end, group, strlen(group)) || !GP_PARSE_LITERAL(&p, end, "/"))
		return false;
	*name = p;
	while (p < end && *p != ' ')
		p++;
	*len = (size_t)(p - *name);
	return true;
}

static int remove_probes(const struct gp_capture_tracefs *trace)
{
	struct gp_root root = {.dir = trace->dir};
	struct gp_buf text = {0};
	int error = gp_root_read(&root, PROBES_MAX, &text, "/kprobe_events"), first = 0;
	const char *p = gp_buf_str(&text), *end = p + text.len;

	/* A kernel without kprobes has no probes. */
	if (error == -ENOENT)
		return 0;
	while (!error && p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p)), *name;
		const char *stop = newline ? newline : end;
		char command[160];
		size_t len;

		if (of_group(p, stop, trace->name, &name, &len)) {
			snprintf(command, sizeof(command), "-:%s/%.*s\n", trace->name, (int)len,
				 name);
			int failed = put(trace, "kprobe_events", command);

			first = first ? first : failed;
		}
		p = stop + 1;
	}
	gp_buf_free(&text);
	return error ? error : first;
}

int gp_capture_tracefs_restore(const struct gp_capture_tracefs *trace)
{
	char path[PATH_MAX], group[64];
	int error, removed;

	instance_path(trace, path, sizeof(path));
	snprintf(group, sizeof(group), "events/%s/enable", trace->name);
	/* Probes that are switched on cannot be removed. */
	put_own(trace, "tracing_on", "0");
	put_own(trace, group, "0");
	error = remove_probes(trace);
	removed = trace->ops->remove(trace->ctx, path);
	if (removed == -ENOENT)
		removed = 0;
	return error ? error : removed;
}
