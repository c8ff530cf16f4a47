/* SPDX-License-Identifier: MIT */
/* What the tests of the log reader share: run it over text or a file and keep what it said. */
#ifndef GP_TEST_TRACE_LOGS_H
#define GP_TEST_TRACE_LOGS_H

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "testlib.h"
#include "trace/read/amdlog.h"
#include "trace/analyse/queues.h"

#define TEST_EVENTS 64

/* Before a message of interest. */
#define PREFIX ":4:rocvirtual.cpp           :1076: 0000001000 us: [pid:77    tid:0x7f00] "

/* The first events of a log, the queues it used, and what the reader counted. */
struct test_log {
	int ret;
	struct gp_trace_amdlog_stats stats;
	struct test_diag diag;
	struct gp_trace_log_queues *queues;
	const struct gp_trace_log_queue *rows;
	size_t count;
	struct gp_event events[TEST_EVENTS];
	char names[TEST_EVENTS][128];
	size_t event_count;
};

static inline int test_log_event(void *ctx, const struct gp_event *event)
{
	struct test_log *log = ctx;

	if (log->event_count < TEST_EVENTS) {
		log->events[log->event_count] = *event;
		if (event->name)
			snprintf(log->names[log->event_count], 128, "%.*s", (int)event->name_len,
				 event->name);
		log->event_count++;
	}
	return gp_trace_log_queues_event(log->queues, event);
}

static inline void test_log_read(struct test_log *log, int fd, const char *name, bool fast)
{
	struct gp_trace_amdlog_options options = {.name = name, .fast = fast};

	memset(log, 0, sizeof(*log));
	log->diag.diag.emit = test_diag_emit;
	log->queues = gp_trace_log_queues_new();
	assert_non_null(log->queues);
	assert_true(fd >= 0);
	log->ret = gp_trace_amdlog_read(fd, &options, &log->diag.diag, test_log_event, log,
					&log->stats);
	assert_int_equal(gp_trace_log_queues_finish(log->queues), 0);
	log->rows = gp_trace_log_queues_items(log->queues, &log->count);
	close(fd);
}

static inline int test_memory_file(const void *data, size_t len)
{
	int fd = memfd_create("log", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), (ssize_t)len);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static inline void test_log_bytes(struct test_log *log, const void *data, size_t len, bool fast)
{
	test_log_read(log, test_memory_file(data, len), "some.log", fast);
}

static inline void test_log_text(struct test_log *log, const char *text)
{
	test_log_bytes(log, text, strlen(text), false);
}

static inline void test_log_fixture(struct test_log *log, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "amdlog/%s", name);
	test_log_read(log, open(fixture(path), O_RDONLY | O_CLOEXEC), name, false);
}

static inline void test_log_free(struct test_log *log)
{
	gp_trace_log_queues_free(log->queues);
	gp_buf_free(&log->diag.text);
}

/* The row of an address; fails the test when there is none. */
static inline const struct gp_trace_log_queue *test_log_row(const struct test_log *log, u64 address)
{
	for (size_t i = 0; i < log->count; i++)
		if (log->rows[i].address == address)
			return &log->rows[i];
	fail_msg("no queue 0x%llx", (unsigned long long)address);
	return NULL;
}

/* The nth event of a kind; fails the test when there is none. */
static inline const struct gp_event *find_event(const struct test_log *log, enum gp_event_kind kind,
						size_t nth)
{
	for (size_t i = 0; i < log->event_count; i++)
		if (log->events[i].kind == kind && nth-- == 0)
			return &log->events[i];
	fail_msg("no event of kind %d", kind);
	return NULL;
}

#endif
