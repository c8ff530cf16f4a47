// SPDX-License-Identifier: MIT
/* ftrace's text: every tracer and viewer, gaps, clocks that go back; and what KFD did. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "logs.h"
#include "trace/read/ftrace.h"
#include "trace/analyse/kfdpath.h"

struct seen {
	size_t count;
	struct gp_event events[64];
	char names[64][48], texts[64][64];
	struct gp_trace_ftrace_stats stats;
	struct gp_trace_kfdpath path;
	int ret;
};

static int keep(void *ctx, const struct gp_event *event)
{
	struct seen *seen = ctx;

	assert_true(seen->count < 64);
	seen->events[seen->count] = *event;
	snprintf(seen->names[seen->count], 48, "%.*s", (int)event->name_len,
		 event->name ? event->name : "");
	snprintf(seen->texts[seen->count], 64, "%.*s", event->text ? (int)event->text_len : 0,
		 event->text ? event->text : "");
	seen->count++;
	return gp_trace_kfdpath_event(&seen->path, event);
}

static void read_fd(struct seen *seen, int fd, struct gp_diag *diag)
{
	struct gp_trace_ftrace_options options = {.name = "trace.txt", .clock = GP_CLOCK_TRACE};

	memset(seen, 0, sizeof(*seen));
	assert_true(fd >= 0);
	seen->ret = gp_trace_ftrace_read(fd, &options, diag, keep, seen, &seen->stats);
	gp_trace_kfdpath_finish(&seen->path);
	close(fd);
}

static void read_fixture(struct seen *seen, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "ftrace/%s", name);
	read_fd(seen, open(fixture(path), O_RDONLY | O_CLOEXEC), NULL);
	assert_int_equal(seen->ret, 0);
}

static void read_text(struct seen *seen, const char *text)
{
	read_fd(seen, test_memory_file(text, strlen(text)), NULL);
}

static void function_lines_have_task_cpu_and_time(void **state)
{
	static struct seen seen;

	(void)state;
	read_fixture(&seen, "function.txt");
	assert_int_equal(seen.stats.events, 5);
	/* The first event tells that 100 were overwritten. */
	assert_int_equal(seen.events[0].kind, GP_EVENT_LOST);
	assert_int_equal(seen.events[0].count, 100);
	assert_string_equal(seen.names[1], "kfd_open");
	assert_string_equal(seen.texts[1], "chrdev_open");
	assert_int_equal(seen.events[1].pid, 501);
	assert_int_equal(seen.events[1].kind, GP_EVENT_ENTER);
	assert_int_equal(seen.events[1].clock, GP_CLOCK_TRACE);
	assert_string_equal(seen.names[2], "kfd_ioctl");
	assert_int_equal(seen.events[2].cpu, 1);
	assert_int_equal(seen.events[2].time_ns, 10000200000);
	assert_string_equal(seen.names[3], "pqm_create_queue");
	assert_int_equal(seen.events[3].pid, 0);
	assert_int_equal(seen.events[4].pid, 501);
	assert_int_equal(seen.events[5].kind, GP_EVENT_LOST);
	assert_int_equal(seen.events[5].count, 17);
	assert_int_equal(seen.stats.lost, 117);
	assert_int_equal(seen.stats.gaps, 2);
	assert_int_equal(seen.stats.unknown, 1);
	assert_int_equal(seen.stats.jumps, 1);
	assert_int_equal(seen.stats.first_jump_line, 15);
	gp_trace_kfdpath_free(&seen.path);
}

static void graph_lines_become_entries_and_returns(void **state)
{
	static struct seen seen;
	const struct gp_trace_function_use *use;

	(void)state;
	read_fixture(&seen, "graph.txt");
	assert_int_equal(seen.events[0].kind, GP_EVENT_MARK);
	assert_string_equal(seen.texts[0], "before");
	assert_string_equal(seen.names[1], "kfd_ioctl");
	assert_int_equal(seen.events[1].pid, 117);
	/* A leaf is both; its end is computed. */
	assert_string_equal(seen.names[4], "allocate_doorbell");
	assert_int_equal(seen.events[5].kind, GP_EVENT_LEAVE);
	assert_int_equal(seen.events[5].duration_ns, 5000);
	assert_int_equal(seen.events[5].time_ns, 50000045000);
	use = gp_trace_kfdpath_find(&seen.path, "init_mqd_v9");
	assert_int_equal(use->timed, 1);
	assert_int_equal(use->total_ns, 2000);
	/* "}" without a comment closes what was opened. */
	assert_int_equal(gp_trace_kfdpath_find(&seen.path, "create_queue_cpsch")->total_ns, 290000);
	assert_int_equal(gp_trace_kfdpath_find(&seen.path, "kfd_ioctl")->total_ns, 360000);
	assert_int_equal(seen.stats.unknown, 0);
	assert_int_equal(seen.stats.jumps, 0);
	/* What was opened before the trace began has no name. */
	assert_string_equal(seen.names[seen.count - 1], "");
	gp_trace_kfdpath_free(&seen.path);
}

static void a_creation_is_divided_into_steps(void **state)
{
	static struct seen seen;
	const struct gp_trace_creation *creation;
	u64 sum = 0;

	(void)state;
	read_fixture(&seen, "graph.txt");
	assert_int_equal(seen.path.creation_count, 1);
	creation = &seen.path.creations[0];
	assert_true(creation->ended);
	assert_int_equal(creation->pid, 117);
	assert_int_equal(creation->length_ns, 340000);
	assert_int_equal(creation->line, 6);
	for (size_t i = 0; i < seen.path.function_count; i++)
		sum += seen.path.functions[i].inside_ns;
	assert_int_equal(sum, 340000); /* every moment is somebody's */
	assert_int_equal(gp_trace_kfdpath_find(&seen.path, "amdkfd_fence_wait_timeout")->inside_ns,
			 200000);
	assert_int_equal(gp_trace_kfdpath_find(&seen.path, "kfd_ioctl")->inside, 0);
	gp_trace_kfdpath_free(&seen.path);
}

static void graph_without_time_or_task_still_has_durations(void **state)
{
	static struct seen seen;

	(void)state;
	read_fixture(&seen, "graph_plain.txt");
	assert_int_equal(seen.stats.events, 6);
	assert_false(seen.events[0].valid & GP_EV_TIME);
	assert_int_equal(gp_trace_kfdpath_find(&seen.path, "kfd_open")->total_ns, 2020);
	assert_int_equal(gp_trace_kfdpath_find(&seen.path, "slow")->total_ns, 1234567125);
	assert_int_equal(seen.path.creation_count, 0);
	gp_trace_kfdpath_free(&seen.path);
}

static void probes_are_the_functions_they_probe(void **state)
{
	static struct seen seen;

	(void)state;
	read_fixture(&seen, "kprobe.txt");
	assert_int_equal(seen.events[0].kind, GP_EVENT_MARK);
	assert_string_equal(seen.texts[0], "suspend");
	assert_string_equal(seen.names[2], "suspend_queues");
	assert_string_equal(seen.texts[2], "n=1 grace=10 mask=0x0");
	assert_int_equal(seen.events[4].kind, GP_EVENT_LEAVE);
	assert_string_equal(seen.names[4], "unmap_queues_cpsch");
	assert_string_equal(seen.texts[4], "ret=0");
	assert_int_equal(gp_trace_kfdpath_find(&seen.path, "unmap_queues_cpsch")->total_ns, 600000);
	assert_int_equal(gp_trace_kfdpath_find(&seen.path, "suspend_queues")->total_ns, 1000000);
	assert_int_equal(seen.events[10].kind, GP_EVENT_POINT);
	assert_string_equal(seen.names[10], "amdgpu_iv");
	assert_int_equal(seen.events[11].kind, GP_EVENT_KFD);
	assert_string_equal(seen.names[11], "CREATE_QUEUE_CPSCH");
	assert_int_equal(seen.stats.lost, 0);
	gp_trace_kfdpath_free(&seen.path);
}

static void a_call_with_nothing_to_unmap_is_not_an_unmap(void **state)
{
	static struct seen seen;

	(void)state;
	read_fixture(&seen, "graph.txt");
	assert_true(seen.path.unmaps.known);
	assert_int_equal(seen.path.unmaps.count, 1);
	assert_int_equal(seen.path.unmaps.line, 12);
	assert_int_equal(seen.path.unmaps.total_ns, 220000);
	gp_trace_kfdpath_free(&seen.path);
	read_text(&seen, "# tracer: function_graph\n"
			 " 1)   0.500 us    |  unmap_queues_cpsch();\n"
			 " 1)               |  unmap_queues_cpsch() {\n"
			 " 1)   3.000 us    |    pm_send_unmap_queue();\n"
			 " 1)   90.000 us   |    amdkfd_fence_wait_timeout();\n"
			 " 1)   100.000 us  |  }\n"
			 " 1)   0.500 us    |  unmap_queues_cpsch();\n");
	assert_int_equal(gp_trace_kfdpath_find(&seen.path, "unmap_queues_cpsch")->count, 3);
	assert_int_equal(seen.path.unmaps.count, 1);
	assert_int_equal(seen.path.unmaps.timed, 1);
	assert_int_equal(seen.path.unmaps.total_ns, 100000);
	gp_trace_kfdpath_free(&seen.path);
	/* Without the functions below it, a trace does not show which calls unmapped something. */
	read_fixture(&seen, "kprobe.txt");
	assert_false(seen.path.unmaps.known);
	assert_int_equal(seen.path.unmaps.count, 0);
	gp_trace_kfdpath_free(&seen.path);
	/* The function tracer records no returns. */
	read_text(&seen, "a-1 [000] 10.000000: unmap_queues_cpsch <-x\n"
			 "a-1 [000] 10.000100: unmap_queues_cpsch <-x\n"
			 "b-2 [001] 10.000150: pm_send_unmap_queue <-x\n"
			 "a-1 [000] 10.000200: pm_send_unmap_queue <-x\n"
			 "a-1 [000] 10.000300: amdkfd_fence_wait_timeout <-x\n");
	assert_int_equal(seen.path.unmaps.count, 1);
	assert_int_equal(seen.path.unmaps.timed, 0);
	gp_trace_kfdpath_free(&seen.path);
}

static void a_creation_without_returns_ends_with_its_runlist(void **state)
{
	static struct seen seen;

	(void)state;
	read_fixture(&seen, "kprobe.txt");
	assert_int_equal(seen.path.creation_count, 1);
	assert_false(seen.path.creations[0].ended);
	assert_int_equal(seen.path.creations[0].length_ns, 300000); /* not the map 100 ms later */
	gp_trace_kfdpath_free(&seen.path);
	read_text(&seen, "a-1 [000] 10.000000: create_queue_cpsch <-x\n"
			 "a-1 [000] 10.000100: allocate_mqd <-x\n"
			 "a-1 [000] 19.000000: map_queues_cpsch <-x\n"
			 "b-2 [000] 19.000001: pqm_create_queue <-x\n"
			 "b-2 [000] 19.000003: kfd_ioctl <-x\n"
			 "b-2 [000] 19.000010: pqm_create_queue <-x\n"
			 "b-2 [000] 19.000020: create_queue_cpsch <-x\n");
	assert_int_equal(seen.path.creation_count, 3);
	assert_int_equal(seen.path.creations[0].length_ns, 100000); /* quiet for 9 s */
	assert_int_equal(seen.path.creations[1].length_ns, 0);
	assert_int_equal(seen.path.creations[2].length_ns, 10000); /* the file ended */
	gp_trace_kfdpath_free(&seen.path);
}

static void trace_cmd_prints_the_same_otherwise(void **state)
{
	static struct seen seen;

	(void)state;
	read_fixture(&seen, "trace_cmd.txt");
	assert_string_equal(seen.names[0], "gether_disconnect");
	assert_int_equal(seen.events[0].pid, 725);
	assert_int_equal(seen.events[1].duration_ns, 2079480);
	assert_string_equal(seen.names[3], "_raw_spin_lock_irqsave");
	assert_int_equal(seen.events[3].kind, GP_EVENT_LEAVE);
	assert_string_equal(seen.names[4], "kfd_open");
	assert_int_equal(seen.events[5].kind, GP_EVENT_POINT);
	assert_int_equal(seen.events[6].kind, GP_EVENT_LOST);
	assert_int_equal(seen.events[6].count, 12);
	assert_int_equal(seen.stats.unknown, 2); /* "is empty", and a duration that was wrapped */
	gp_trace_kfdpath_free(&seen.path);
}

static void counts_match_by_name_start_or_part(void **state)
{
	static struct seen seen;
	const struct gp_trace_function_use *first = NULL;

	(void)state;
	read_fixture(&seen, "graph.txt");
	assert_int_equal(gp_trace_kfdpath_count(&seen.path, GP_MATCH_NAME, "map_queues_cpsch",
						&first),
			 1);
	assert_int_equal(first->line, 15);
	assert_int_equal(gp_trace_kfdpath_count(&seen.path, GP_MATCH_PART, "map_queues_cpsch",
						NULL),
			 2);
	assert_int_equal(gp_trace_kfdpath_count(&seen.path, GP_MATCH_START, "kfd_ioctl", NULL), 2);
	assert_int_equal(gp_trace_kfdpath_count(&seen.path, GP_MATCH_NAME, "nothing", NULL), 0);
	assert_null(gp_trace_kfdpath_find(&seen.path, "nothing"));
	gp_trace_kfdpath_free(&seen.path);
}

static void deep_calls_and_odd_lines_do_no_harm(void **state)
{
	static struct seen seen;
	struct gp_buf text = {0};
	struct gp_trace_ftrace_options options = {.name = "x"};
	struct gp_trace_ftrace_stats stats;
	int fd;

	(void)state;
	for (int i = 0; i < 400; i++)
		gp_buf_puts(&text, " 0)   |  create_queue_cpsch() {\n");
	for (int i = 0; i < 401; i++)
		gp_buf_puts(&text, " 0)  1.0 us |  }\n");
	gp_buf_puts(&text, "a-1 [000] 99999999999999999999.1: f <-g\n5.5 x\n3)\n3) oops | f();\n"
			   "a-1 [000] 1.000000:  <-g\na-1 [000] 1.000000: x\n0) | 3bad();\n"
			   "a-1 [000] 1.0: e: (x\na-1 [000] 1.0: e: (3 <- 4)\n");
	fd = test_memory_file(text.data, text.len);
	assert_int_equal(gp_trace_ftrace_read(fd, &options, NULL, gp_trace_kfdpath_event,
					      &seen.path, &stats),
			 0);
	close(fd);
	assert_int_equal(gp_trace_kfdpath_find(&seen.path, "create_queue_cpsch")->count, 400);
	gp_trace_kfdpath_free(&seen.path);
	gp_buf_free(&text);
}

static void a_text_without_events_is_refused(void **state)
{
	static struct seen seen;
	struct test_diag diag = TEST_DIAG;

	(void)state;
	read_fd(&seen, test_memory_file("hello\n# tracer: nop\n", 20), &diag.diag);
	assert_int_equal(seen.ret, -EINVAL);
	assert_non_null(strstr(diag.text.data, "trace-cmd report"));
	gp_buf_free(&diag.text);
}

/* Memory is for what is different, not for what happens again. */
static void creations_without_end_are_counted_and_the_longest_kept(void **state)
{
	struct gp_trace_kfdpath path = {0};
	struct gp_event event = {.clock = GP_CLOCK_TRACE,
				 .pid = 7,
				 .valid = GP_EV_PID | GP_EV_TIME,
				 .name = "create_queue_cpsch",
				 .name_len = 18};

	(void)state;
	for (u64 i = 0; i < 3 * GP_KFDPATH_CREATIONS; i++) {
		event.line = i + 1;
		event.kind = GP_EVENT_ENTER;
		event.time_ns = i * 1000000;
		assert_int_equal(gp_trace_kfdpath_event(&path, &event), 0);
		event.kind = GP_EVENT_LEAVE;
		event.time_ns += i == 2000 ? 900 : 100;
		assert_int_equal(gp_trace_kfdpath_event(&path, &event), 0);
	}
	gp_trace_kfdpath_finish(&path);
	assert_int_equal(path.creation_count, 3 * GP_KFDPATH_CREATIONS);
	assert_int_equal(path.creation_ended, 3 * GP_KFDPATH_CREATIONS);
	assert_int_equal(path.creation_ns, 300 * GP_KFDPATH_CREATIONS + 800);
	assert_int_equal(path.creation_kept, GP_KFDPATH_CREATIONS);
	assert_int_equal(path.creations[0].line, 1);
	assert_int_equal(path.longest.line, 2001);
	assert_int_equal(path.longest.length_ns, 900);
	gp_trace_kfdpath_free(&path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(function_lines_have_task_cpu_and_time),
		cmocka_unit_test(graph_lines_become_entries_and_returns),
		cmocka_unit_test(a_creation_is_divided_into_steps),
		cmocka_unit_test(graph_without_time_or_task_still_has_durations),
		cmocka_unit_test(probes_are_the_functions_they_probe),
		cmocka_unit_test(a_call_with_nothing_to_unmap_is_not_an_unmap),
		cmocka_unit_test(a_creation_without_returns_ends_with_its_runlist),
		cmocka_unit_test(trace_cmd_prints_the_same_otherwise),
		cmocka_unit_test(counts_match_by_name_start_or_part),
		cmocka_unit_test(deep_calls_and_odd_lines_do_no_harm),
		cmocka_unit_test(a_text_without_events_is_refused),
		cmocka_unit_test(creations_without_end_are_counted_and_the_longest_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
