// SPDX-License-Identifier: MIT
/* gpreemptd itself: its version, and the metrics of a process that every exporter has. */
#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/parse.h"
#include "daemon/daemon.h"
#include "daemon/metrics/metrics_write.h"

/* Pages: all, and those in memory. */
static bool memory_pages(u64 *all, u64 *resident)
{
	struct gp_buf text = {0};
	const char *p, *end;
	bool known;

	if (gp_file_read("/proc/self/statm", 4096, &text)) {
		gp_buf_free(&text);
		return false;
	}
	p = gp_buf_str(&text);
	end = p + text.len;
	known = gp_parse_u64(&p, end, all) && GP_PARSE_LITERAL(&p, end, " ") &&
		gp_parse_u64(&p, end, resident);
	gp_buf_free(&text);
	return known;
}

static bool open_files(u64 *count)
{
	DIR *dir = opendir("/proc/self/fd");

	if (!dir)
		return false;
	*count = 0;
	for (struct dirent *entry; (entry = readdir(dir));)
		*count += entry->d_name[0] != '.';
	closedir(dir);
	--*count; /* the directory */
	return true;
}

static u64 ns_of(const struct timeval *time)
{
	return (u64)time->tv_sec * GP_NS_PER_S + (u64)time->tv_usec * GP_NS_PER_US;
}

/* When the daemon started, by the wall clock; kept, because that clock can be set. */
static u64 start_time(struct gp_daemon *daemon)
{
	struct timespec now;

	if (!daemon->metrics.started_wall_ns) {
		clock_gettime(CLOCK_REALTIME, &now);
		daemon->metrics.started_wall_ns = (u64)now.tv_sec * GP_NS_PER_S + (u64)now.tv_nsec -
						  (gp_monotonic_ns() - daemon->started_ns);
	}
	return daemon->metrics.started_wall_ns;
}

void gp_daemon_metrics_process(struct gp_daemon *daemon, struct gp_buf *out)
{
	struct rusage usage;
	struct rlimit limit;
	u64 all, resident, files;
	u64 page = (u64)sysconf(_SC_PAGESIZE);

	gp_daemon_metrics_describe(out, "build_info", "gauge",
				   "Version and compiler of gpreemptd; always 1.");
	gp_daemon_metrics_series(out, "build_info");
	gp_daemon_metrics_label(out, "version", GP_VERSION);
	gp_daemon_metrics_label(out, "compiler", __VERSION__);
	gp_daemon_metrics_value(out, 1);
	gp_daemon_metrics_describe(out, "process_start_time_seconds", "gauge",
				   "Start of gpreemptd, in seconds since 1970.");
	gp_daemon_metrics_series(out, "process_start_time_seconds");
	gp_daemon_metrics_seconds(out, start_time(daemon));
	if (getrusage(RUSAGE_SELF, &usage) == 0) {
		gp_daemon_metrics_describe(out, "process_cpu_seconds_total", "counter",
					   "CPU time of gpreemptd, user and system.");
		gp_daemon_metrics_series(out, "process_cpu_seconds_total");
		gp_daemon_metrics_seconds(out, ns_of(&usage.ru_utime) + ns_of(&usage.ru_stime));
	}
	if (memory_pages(&all, &resident)) {
		gp_daemon_metrics_number(out, "process_virtual_memory_bytes", "gauge",
					 "Virtual memory of gpreemptd.", all * page);
		gp_daemon_metrics_number(out, "process_resident_memory_bytes", "gauge",
					 "Resident memory of gpreemptd.", resident * page);
	}
	if (open_files(&files))
		gp_daemon_metrics_number(out, "process_open_fds", "gauge",
					 "Open file descriptors of gpreemptd.", files);
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		gp_daemon_metrics_number(out, "process_max_fds", "gauge",
					 "Maximum number of open file descriptors.",
					 limit.rlim_cur);
}
