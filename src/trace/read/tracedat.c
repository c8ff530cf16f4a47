// SPDX-License-Identifier: MIT
#include "trace/read/tracedat.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/i18n.h"
#include "trace/read/tracedat_parts.h"

bool gp_trace_tracedat_is(const char *start, size_t len)
{
	return len >= GP_DAT_MAGIC_LEN && !memcmp(start, GP_DAT_MAGIC, GP_DAT_MAGIC_LEN);
}

/* ---- events of all CPUs, by time ---- */

static bool earlier(const struct gp_trace_dat_reader *reader, size_t a, size_t b)
{
	const struct gp_trace_dat_cpu *x = &reader->cpus[a], *y = &reader->cpus[b];

	return x->time != y->time ? x->time < y->time : a < b;
}

static void sink(struct gp_trace_dat_reader *reader, size_t at)
{
	size_t *heap = reader->heap, moved = heap[at], child;

	while ((child = 2 * at + 1) < reader->heap_count) {
		if (child + 1 < reader->heap_count && earlier(reader, heap[child + 1], heap[child]))
			child++;
		if (!earlier(reader, heap[child], moved))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moved;
}

static int merge(struct gp_trace_dat_reader *reader)
{
	int ret = 0;

	reader->heap = calloc(reader->cpu_count ? reader->cpu_count : 1, sizeof(*reader->heap));
	if (!reader->heap)
		return -ENOMEM;
	for (size_t i = 0; i < reader->cpu_count && ret >= 0; i++) {
		ret = gp_trace_dat_cpu_next(&reader->cpus[i], &reader->pages);
		if (ret > 0)
			reader->heap[reader->heap_count++] = i;
	}
	for (size_t i = reader->heap_count / 2; i-- && ret >= 0;)
		sink(reader, i);
	ret = ret < 0 ? ret : 0;
	while (reader->heap_count && !ret) {
		struct gp_trace_dat_cpu *cpu = &reader->cpus[reader->heap[0]];
		int more;

		ret = gp_trace_dat_event(&reader->context, cpu);
		if (ret)
			break;
		cpu->last_time = cpu->time;
		cpu->gap = false;
		cpu->lost = 0;
		more = gp_trace_dat_cpu_next(cpu, &reader->pages);
		if (more < 0)
			ret = more;
		if (more == 0)
			reader->heap[0] = reader->heap[--reader->heap_count];
		if (reader->heap_count)
			sink(reader, 0);
	}
	return ret;
}

/* ---- the file ---- */

static int read_all(struct gp_trace_dat_reader *reader)
{
	struct gp_trace_tracedat_stats *stats = reader->context.stats;
	int error = gp_trace_dat_open(reader);

	/* What came before the damage may be enough to read events; what said why has said it. */
	if (error == -EINVAL && reader->cpu_count) {
		stats->damaged++;
		error = 0;
	}
	if (!error && !stats->has_time)
		gp_diag(reader->diag, GP_WARNING,
			"%s: the trace clock does not count nanoseconds; times are ignored",
			reader->name);
	stats->cpus = (u32)reader->cpu_count;
	if (!error)
		error = merge(reader);
	else if (error == -EINVAL && reader->text)
		gp_fail(reader->diag, error,
			"%s contains a text trace; convert it with 'trace-cmd report'",
			reader->name);
	else if (error == -EINVAL)
		gp_fail(reader->diag, error, "%s: truncated or damaged before the first event",
			reader->name);
	if (!error && !stats->events)
		error = gp_fail(reader->diag, -EINVAL, "%s: no events", reader->name);
	return error;
}

int gp_trace_tracedat_read(int fd, const char *name, struct gp_diag *diag, gp_event_fn fn,
			   void *ctx, struct gp_trace_tracedat_stats *stats)
{
	struct gp_trace_dat_reader *reader = calloc(1, sizeof(*reader));
	struct stat info;
	int error;

	memset(stats, 0, sizeof(*stats));
	stats->clock = GP_CLOCK_TRACE;
	stats->has_time = true;
	if (!reader)
		return gp_fail(diag, -ENOMEM, "%s: out of memory", name);
	if (fstat(fd, &info)) {
		free(reader);
		return gp_fail(diag, -errno, "cannot read %s: %s", name, strerror(errno));
	}
	reader->name = name;
	reader->diag = diag;
	reader->file = (struct gp_trace_dat_input){.fd = fd, .end = (u64)info.st_size};
	reader->pages =
		(struct gp_trace_dat_pages){.fd = fd,
					    .file_size = (u64)info.st_size,
					    .unpacked = ((u64)info.st_size << 10) + (64u << 20),
					    .stats = stats};
	reader->context.fn = fn;
	reader->context.ctx = ctx;
	reader->context.stats = stats;
	error = read_all(reader);
	gp_trace_dat_formats_free(&reader->context.formats);
	gp_trace_dat_symbols_free(&reader->context.symbols);
	gp_trace_dat_symbols_free(&reader->context.prints);
	for (size_t i = 0; i < reader->cpu_count; i++)
		free(reader->cpus[i].block);
	free(reader->cpus);
	free(reader->heap);
	free(reader);
	return error;
}
