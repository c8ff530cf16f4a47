// SPDX-License-Identifier: MIT
/*
 * amdlog_read [--fast] FILE: the log reader and the queue analysis with nothing around them. Prints
 * "pid address dispatches barriers" a queue, as amdlog_naive.py does.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "trace/read/amdlog.h"
#include "trace/analyse/queues.h"

static void emit(struct gp_diag *diag, enum gp_severity severity, const char *text)
{
	(void)diag;
	(void)severity;
	fprintf(stderr, "amdlog_read: %s\n", text);
}

int main(int argc, char **argv)
{
	bool fast = argc == 3 && strcmp(argv[1], "--fast") == 0;
	struct gp_diag diag = {.emit = emit};
	struct gp_trace_amdlog_options options = {.name = argv[argc - 1], .fast = fast};
	struct gp_trace_amdlog_stats stats;
	struct gp_trace_log_queues *queues;
	const struct gp_trace_log_queue *rows;
	size_t count;
	int fd, ret;

	if (argc != 2 + fast) {
		fprintf(stderr, "usage: amdlog_read [--fast] FILE\n");
		return 2;
	}
	fd = open(argv[argc - 1], O_RDONLY | O_CLOEXEC);
	queues = gp_trace_log_queues_new();
	if (fd < 0 || !queues) {
		perror(argv[argc - 1]);
		return 1;
	}
	ret = gp_trace_amdlog_read(fd, &options, &diag, gp_trace_log_queues_event, queues, &stats);
	if (ret == 0)
		ret = gp_trace_log_queues_finish(queues);
	rows = gp_trace_log_queues_items(queues, &count);
	for (size_t i = 0; i < count && ret == 0; i++)
		printf("%u 0x%llx %llu %llu\n", rows[i].pid, (unsigned long long)rows[i].address,
		       (unsigned long long)rows[i].dispatches,
		       (unsigned long long)rows[i].barriers);
	gp_trace_log_queues_free(queues);
	close(fd);
	return ret ? 1 : 0;
}
