// SPDX-License-Identifier: MIT
/* Recording the kernel's pages: what is written is read again by the reader of trace.dat. */
#include <fcntl.h>

#include "../read/dat_make.h"
#include "fake_tracefs.h"
#include "trace/capture/symbols.h"
#include "trace/analyse/inquiry.h"
#include "trace/read/tracedat.h"

#define CREATE_QUEUE 0xffffffffc0a00010ull
#define HEADER_PAGE                                                 \
	"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"  \
	"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n" \
	"\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n"

static const char symbols_text[] = "ffffffff81000000 T schedule\n"
				   "ffffffffc0a00000 d data\t[amdgpu]\n"
				   "ffffffffc0a00010 t kfd_ioctl_create_queue\t[amdgpu]\n"
				   "ffffffffc0a00020 t pqm_create_queue\t[amdgpu]\n"
				   "ffffffffc0b00000 t other\t[other]\n";

/* A file below the fake's tracefs; ~ is its instance's and group's name. */
static void put(const struct fake *fake, const struct gp_capture_tracefs *trace, const char *path,
		const void *data, size_t len)
{
	const char *mark = strchr(path, '~');
	char full[512];

	snprintf(full, sizeof(full), "/sys/kernel/tracing/%.*s%s%s",
		 mark ? (int)(mark - path) : (int)strlen(path), path, mark ? trace->name : "",
		 mark ? mark + 1 : "");
	tree_write(&fake->tree, full, data, len);
}

static void put_text(const struct fake *fake, const struct gp_capture_tracefs *trace,
		     const char *path, const char *text)
{
	put(fake, trace, path, text, strlen(text));
}

/* A creation of a queue of 300 ns on CPU 2, in two pages, and the start of another on CPU 0; CPU 1
 * was never there. */
static void put_pages(const struct fake *fake, const struct gp_capture_tracefs *trace)
{
	u64 probe = CREATE_QUEUE, other = CREATE_QUEUE + 0x10, leave[3] = {CREATE_QUEUE, 0, 0};
	struct dat dat = {0};

	dat_page(&dat, 1000000);
	dat_record(&dat, 100, DAT_PROBE, 501, &probe, 8);
	dat_page_end(&dat, 0);
	dat_page(&dat, 1000300);
	dat_record(&dat, 100, DAT_RETURN, 501, leave, 20);
	dat_page_end(&dat, 0);
	put(fake, trace, "instances/~/per_cpu/cpu2/trace_pipe_raw", dat.pages[0].data,
	    dat.pages[0].len);
	dat_page(&dat, 1000000);
	dat_record(&dat, 200, DAT_PROBE, 502, &other, 8);
	dat_page_end(&dat, 1);
	put(fake, trace, "instances/~/per_cpu/cpu0/trace_pipe_raw", dat.pages[1].data,
	    dat.pages[1].len);
	dat_free(&dat);
}

static struct fake *fake_binary(struct gp_capture_tracefs *trace)
{
	struct fake *fake = fake_new(symbols_text);

	*trace = (struct gp_capture_tracefs){0};
	assert_int_equal(gp_capture_tracefs_find(trace, &fake->tree.root, NULL), 0);
	trace->ops = &fake_ops;
	trace->ctx = fake;
	gp_capture_tracefs_name(trace);
	assert_int_equal(gp_capture_tracefs_start(trace, &fake->tree.root, NULL), 0);
	put_text(fake, trace, "events/header_page", HEADER_PAGE);
	put_text(fake, trace, "events/header_event", "# compressed entry header\n");
	put_text(fake, trace, "events/ftrace/function/format", dat_ftrace[0]);
	put_text(fake, trace, "events/~/enable", "0\n");
	put_text(fake, trace, "events/~/p0/format", dat_events[1]);
	put_text(fake, trace, "events/~/r0/format", dat_events[2]);
	put_text(fake, trace, "saved_cmdlines", "501 gemm\n");
	put_pages(fake, trace);
	return fake;
}

static void drop(struct fake *fake, struct gp_capture_tracefs *trace)
{
	gp_capture_tracefs_restore(trace);
	fake_free(fake);
}

struct seen {
	struct gp_event events[4];
	char names[4][48];
	size_t count;
};

static int keep(void *ctx, const struct gp_event *event)
{
	struct seen *seen = ctx;

	assert_true(seen->count < 4);
	seen->events[seen->count] = *event;
	snprintf(seen->names[seen->count++], 48, "%.*s", (int)event->name_len, event->name);
	return 0;
}

static void pages_of_the_kernel_become_a_trace_dat(void **state)
{
	struct gp_trace_tracedat_stats stats;
	struct test_diag diag = TEST_DIAG;
	struct gp_capture_tracefs trace;
	struct fake *fake = fake_binary(&trace);
	struct seen seen = {0};
	int fd = memfd_create("trace.dat", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(gp_capture_tracefs_save_binary(&trace, &fake->tree.root, fd), 0);
	assert_int_equal(gp_trace_tracedat_read(fd, "trace.dat", &diag.diag, keep, &seen, &stats),
			 0);
	assert_string_equal(gp_buf_str(&diag.text), "");
	assert_int_equal(stats.version, 6);
	assert_int_equal(stats.clock, GP_CLOCK_MONOTONIC);
	assert_int_equal(stats.unknown + stats.damaged + stats.gaps, 0);
	assert_int_equal(seen.count, 3);
	assert_int_equal(seen.events[0].kind, GP_EVENT_ENTER);
	assert_string_equal(seen.names[0], "kfd_ioctl_create_queue");
	assert_int_equal(seen.events[0].time_ns, 1000100);
	assert_int_equal(seen.events[0].cpu, 2);
	assert_string_equal(seen.names[1], "pqm_create_queue");
	assert_int_equal(seen.events[1].cpu, 0);
	assert_int_equal(seen.events[2].kind, GP_EVENT_LEAVE);
	assert_int_equal(seen.events[2].time_ns, 1000400);
	close(fd);
	gp_buf_free(&diag.text);
	drop(fake, &trace);
}

/* A page of another size is told by the kernel's own description. */
static void larger_pages_are_kept_whole(void **state)
{
	struct gp_trace_tracedat_stats stats;
	struct gp_capture_tracefs trace;
	struct fake *fake = fake_binary(&trace);
	struct seen seen = {0};
	struct gp_buf page = {0};
	struct dat dat = {0};
	u64 probe = CREATE_QUEUE;
	int fd = memfd_create("trace.dat", MFD_CLOEXEC);

	(void)state;
	put_text(fake, &trace, "events/header_page",
		 "\tfield: char data;\toffset:16;\tsize:8176;\tsigned:1;\n");
	dat_page(&dat, 1000000);
	dat_record(&dat, 100, DAT_PROBE, 501, &probe, 8);
	dat_page_end(&dat, 0);
	for (int i = 0; i < 2; i++) {
		gp_buf_add(&page, dat.pages[0].data, DAT_PAGE);
		while (page.len % 8192)
			gp_buf_add(&page, "", 1);
	}
	put(fake, &trace, "instances/~/per_cpu/cpu2/trace_pipe_raw", page.data, page.len);
	put_text(fake, &trace, "instances/~/per_cpu/cpu0/trace_pipe_raw", "");
	assert_int_equal(gp_capture_tracefs_save_binary(&trace, &fake->tree.root, fd), 0);
	assert_int_equal(gp_trace_tracedat_read(fd, "trace.dat", NULL, keep, &seen, &stats), 0);
	assert_int_equal(seen.count, 2);
	assert_int_equal(stats.damaged, 0);
	close(fd);
	gp_buf_free(&page);
	dat_free(&dat);
	drop(fake, &trace);
}

static void what_cannot_be_kept_says_why(void **state)
{
	struct gp_capture_tracefs trace;
	struct fake *fake = fake_binary(&trace);
	int fd = memfd_create("trace.dat", MFD_CLOEXEC);

	(void)state;
	put_text(fake, &trace, "instances/~/per_cpu/cpu2/trace_pipe_raw", "");
	put_text(fake, &trace, "instances/~/per_cpu/cpu0/trace_pipe_raw", "");
	assert_int_equal(gp_capture_tracefs_save_binary(&trace, &fake->tree.root, fd), -ENODATA);
	put_text(fake, &trace, "events/header_page", "nothing");
	assert_int_equal(gp_capture_tracefs_save_binary(&trace, &fake->tree.root, fd), -EBADMSG);
	put_text(fake, &trace, "events/header_page", HEADER_PAGE);
	tree_text(&fake->tree, "/proc/kallsyms",
		  "0000000000000000 t kfd_ioctl_create_queue\t[amdgpu]\n");
	assert_int_equal(gp_capture_tracefs_save_binary(&trace, &fake->tree.root, fd), -EACCES);
	close(fd);
	drop(fake, &trace);
}

static void symbols_of_the_driver_are_kept(void **state)
{
	static const char built_in[] = "ffffffff81000000 T schedule\n"
				       "ffffffff81000010 d data\nbroken\n"
				       "ffffffff81000020 t pqm_create_queue";
	struct gp_buf out = {0};

	(void)state;
	assert_true(gp_capture_symbols_of_driver(symbols_text, strlen(symbols_text), &out));
	assert_string_equal(gp_buf_str(&out),
			    "ffffffffc0a00010 t kfd_ioctl_create_queue\t[amdgpu]\n"
			    "ffffffffc0a00020 t pqm_create_queue\t[amdgpu]\n");
	gp_buf_free(&out);
	assert_true(gp_capture_symbols_of_driver(built_in, strlen(built_in), &out));
	assert_string_equal(gp_buf_str(&out), "ffffffff81000000 T schedule\n"
					      "ffffffff81000020 t pqm_create_queue");
	gp_buf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_of_the_kernel_become_a_trace_dat),
		cmocka_unit_test(larger_pages_are_kept_whole),
		cmocka_unit_test(what_cannot_be_kept_says_why),
		cmocka_unit_test(symbols_of_the_driver_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
