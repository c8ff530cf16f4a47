// SPDX-License-Identifier: MIT
/* Any bytes as trace.dat: what is read is in the file, nothing is read twice, and it ends. */
#include <sys/mman.h>
#include <unistd.h>

#include "trace/analyse/kfdpath.h"
#include "trace/read/tracedat.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		__builtin_trap();
}

static int take(void *ctx, const struct gp_event *event)
{
	u32 sum = 0;

	/* Every byte that an event has can be read. */
	for (size_t i = 0; i < event->name_len; i++)
		sum += (u8)event->name[i];
	for (size_t i = 0; event->text && i < event->text_len; i++)
		sum += (u8)event->text[i];
	__asm__ volatile("" : : "r"(sum));
	return gp_trace_kfdpath_event(ctx, event);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct gp_trace_tracedat_stats stats;
	struct gp_trace_kfdpath path = {0};

	require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	gp_trace_tracedat_read(fd, "fuzz", NULL, take, &path, &stats);
	gp_trace_kfdpath_finish(&path);
	require(stats.bytes <= (size << 10) + (64u << 20));
	gp_trace_kfdpath_free(&path);
	close(fd);
	return 0;
}
