// SPDX-License-Identifier: MIT
/* The smaller sources: libhsakmt's lines, lists of processes, decisions, readings of clocks. */
#include <errno.h>
#include <unistd.h>

#include "logs.h"
#include "trace/read/clocks.h"
#include "trace/read/decision_log.h"
#include "trace/read/hsakmt.h"
#include "trace/analyse/inquiry.h"
#include "trace/read/smi.h"

struct seen {
	size_t count;
	struct gp_event events[16];
	char names[16][48], texts[16][64];
};

static int keep(void *ctx, const struct gp_event *event)
{
	struct seen *seen = ctx;

	assert_true(seen->count < 16);
	seen->events[seen->count] = *event;
	snprintf(seen->names[seen->count], 48, "%.*s", event->name ? (int)event->name_len : 0,
		 event->name ? event->name : "");
	snprintf(seen->texts[seen->count], 64, "%.*s", event->text ? (int)event->text_len : 0,
		 event->text ? event->text : "");
	seen->count++;
	return 0;
}

/* ---- libhsakmt ---- */

static const char hsakmt_text[] =
	"a program's own line\n"
	"SVM alignment default order is 9.acquiring VM for f7bc using 7\n"
	"[hsaKmtAllocMemoryAlign] node 1 address 0x7f00 size 4096 from host\n"
	"\n"
	"Allocating GTT for CWSR";

static void sentences_of_libhsakmt_are_found(void **state)
{
	struct gp_trace_hsakmt_stats stats;
	struct seen seen = {0};
	int fd = test_memory_file(hsakmt_text, strlen(hsakmt_text));

	(void)state;
	assert_int_equal(gp_trace_hsakmt_read(fd, "x", NULL, keep, &seen, &stats), 0);
	assert_int_equal(seen.count, 4);
	assert_int_equal(stats.unknown, 1);
	/* Two in one line, where a newline is missing. */
	assert_string_equal(seen.texts[0], "SVM alignment default order is 9.");
	assert_string_equal(seen.texts[1], "acquiring VM for f7bc using 7");
	assert_int_equal(seen.events[1].line, 2);
	assert_int_equal(seen.events[1].kind, GP_EVENT_POINT);
	assert_int_equal(seen.events[2].kind, GP_EVENT_API_ENTER);
	assert_string_equal(seen.names[2], "hsaKmtAllocMemoryAlign");
	assert_string_equal(seen.texts[2], "node 1 address 0x7f00 size 4096 from host");
	/* They tell no time. */
	assert_false(seen.events[2].valid & GP_EV_TIME);
	close(fd);
	fd = test_memory_file("nothing\n", 8);
	assert_int_equal(gp_trace_hsakmt_read(fd, "x", NULL, keep, &seen, &stats), -EINVAL);
	close(fd);
}

/* ---- lists of processes ---- */

static int read_smi(const char *text, struct seen *seen, struct gp_trace_smi_stats *stats)
{
	int fd = test_memory_file(text, strlen(text));
	int ret;

	memset(seen, 0, sizeof(*seen));
	ret = gp_trace_smi_read(fd, "x", NULL, keep, seen, stats);
	close(fd);
	return ret;
}

static void processes_of_rocm_smi(void **state)
{
	static const char text[] =
		"WARNING: AMD GPU device(s) is/are in a low-power state.\n\n"
		"============ ROCm System Management Interface ============\n"
		"KFD process information:\n"
		"PID   \tPROCESS NAME \tGPU(s)\tVRAM USED  \tSDMA USED\tCU OCCUPANCY\t\n"
		"2728  \tllama: server\t1     \t302239744  \t0        \tUNKNOWN     \t\n"
		"417281\tpython3      \t8     \t22630404096\t0        \t37          \t\r\n"
		"none  \tbroken       \t1     \t0          \t0        \t0           \t\n"
		"===========================================================\n"
		"PID 12 is not a row\n";
	struct gp_trace_smi_stats stats;
	struct seen seen;

	(void)state;
	assert_int_equal(read_smi(text, &seen, &stats), 0);
	assert_int_equal(seen.count, 2);
	assert_int_equal(stats.damaged, 1);
	assert_int_equal(seen.events[0].kind, GP_EVENT_PROCESS);
	assert_int_equal(seen.events[0].pid, 2728);
	assert_string_equal(seen.names[0], "llama: server");
	assert_int_equal(seen.events[0].size, 302239744);
	assert_int_equal(seen.events[0].count, 1);
	assert_string_equal(seen.texts[0], ""); /* UNKNOWN is no number */
	assert_string_equal(seen.texts[1], "37");
	assert_int_equal(seen.events[1].line, 7);
	assert_false(seen.events[1].valid & GP_EV_GPU);
	assert_int_equal(read_smi("No KFD PIDs currently running\n", &seen, &stats), 0);
	assert_int_equal(seen.count, 0);
	assert_int_equal(read_smi("PID of something\n", &seen, &stats), -EINVAL);
}

static void tabs_of_rocm_smi_may_have_become_blanks(void **state)
{
	static const char text[] =
		"===================== KFD Processes ======================\n"
		"PID     PROCESS NAME    GPU(s)  VRAM USED       SDMA USED       CU OCCUPANCY\n"
		"4711    llama: server 2 1       10737418240     0               304\n"
		"1234567 python3         8       4096            0               UNKNOWN\n"
		"===========================================================\n";
	struct gp_trace_smi_stats stats;
	struct seen seen;

	(void)state;
	assert_int_equal(read_smi(text, &seen, &stats), 0);
	assert_int_equal(stats.damaged, 0);
	assert_int_equal(seen.count, 2);
	assert_int_equal(seen.events[0].pid, 4711);
	assert_string_equal(seen.names[0], "llama: server 2");
	assert_int_equal(seen.events[0].size, 10737418240);
	assert_int_equal(seen.events[0].count, 1);
	assert_string_equal(seen.texts[0], "304");
	assert_int_equal(seen.events[1].pid, 1234567);
	assert_string_equal(seen.names[1], "python3");
	assert_int_equal(seen.events[1].count, 8);
	assert_string_equal(seen.texts[1], "");
}

static void processes_of_amd_smi(void **state)
{
	static const char text[] = "GPU: 0\n    PROCESS_INFO:\n        NAME: N/A\n        PID: 77\n"
				   "        MEMORY_USAGE:\n            VRAM_MEM: 1.5 KB\n"
				   "        CU_OCCUPANCY: 12\n"
				   "    PROCESS_INFO:\n        NAME: a: b\n        PID: 78\n"
				   "            VRAM_MEM: 10 XB\n"
				   "GPU: 1\n    PROCESS_INFO: No running processes detected\n"
				   "GPU: 2\n    PROCESS_INFO: N/A\n"
				   "GPU: 3\n    PROCESS_INFO:\n        PID: 0\n";
	static const char json[] =
		" [{\"gpu\": 3, \"process_list\": [{\"process_info\": {\"name\": \"x\", \"pid\": "
		"9, "
		"\"mem_usage\": {\"value\": 2, \"unit\": \"MB\"}}}, {\"process_info\": {}}]},"
		" {\"other\": 1}]";
	struct gp_trace_smi_stats stats;
	struct seen seen;

	(void)state;
	assert_int_equal(read_smi(text, &seen, &stats), 0);
	assert_int_equal(seen.count, 2);
	assert_int_equal(stats.damaged, 1);
	assert_string_equal(seen.names[0], "");
	assert_int_equal(seen.events[0].size, 1536);
	assert_string_equal(seen.texts[0], "12");
	assert_string_equal(seen.names[1], "a: b");
	assert_int_equal(seen.events[1].gpu, 0);
	assert_false(seen.events[1].valid & GP_EV_BYTES);
	assert_int_equal(read_smi(json, &seen, &stats), 0);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.events[0].pid, 9);
	assert_int_equal(seen.events[0].gpu, 3);
	assert_int_equal(seen.events[0].size, 2 << 20);
	assert_int_equal(read_smi("[{\"gpu\": 3, ", &seen, &stats), -EINVAL);
}

/* In a container amd-smi knows the process and not its memory. */
static void memory_that_amd_smi_does_not_know_is_not_zero(void **state)
{
	static const char *const unknown[] = {"\"N/A\"", "{\"value\": \"N/A\", \"unit\": \"B\"}",
					      "{\"value\": 3, \"unit\": \"furlongs\"}", "null"};
	struct gp_trace_smi_stats stats;
	struct seen seen;
	char text[256];

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(unknown); i++) {
		snprintf(text, sizeof(text),
			 "[{\"gpu\": 0, \"process_list\": [{\"process_info\": {\"pid\": 9, "
			 "\"memory_usage\": {\"vram_mem\": %s}}}]}]",
			 unknown[i]);
		assert_int_equal(read_smi(text, &seen, &stats), 0);
		assert_int_equal(seen.count, 1);
		assert_false(seen.events[0].valid & (GP_EV_BYTES | GP_EV_SIZE));
	}
}

/* ---- decisions ---- */

static const char decisions_text[] =
	"{\"id\": 5, \"monotonic_ns\": 1000, \"time_ns\": 1, \"kind\": \"suspend\", \"why\": "
	"\"inversion\", \"observed\": true, \"job\": {\"id\": 1, \"pid\": 42, \"name\": \"t\"}, "
	"\"error\": 0, \"waited_ns\": null}\n"
	"{\"id\": 9, \"monotonic_ns\": 3000, \"kind\": \"resume\", \"why\": \"clear\", "
	"\"job\": {\"id\": 1, \"pid\": 42}, \"waited_ns\": 2000, \"error\": 0}\n"
	"not JSON\n"
	"{\"id\": 10, \"monotonic_ns\": 3500, \"kind\": \"done\", \"why\": null, "
	"\"operation\": \"resume\", \"job\": null, \"error\": -110}\n"
	"{\"id\": 1, \"monotonic_ns\": 9000, \"kind\": \"came\"}\n"
	"{\"id\": 2, \"monotonic_ns\": 9";

static void decisions_are_events_and_missing_ones_a_gap(void **state)
{
	struct gp_trace_decision_log_stats stats;
	struct seen seen = {0};
	int fd = test_memory_file(decisions_text, strlen(decisions_text));

	(void)state;
	assert_int_equal(gp_trace_decision_log_read(fd, "x", NULL, keep, &seen, &stats), 0);
	assert_int_equal(stats.decisions, 4);
	assert_int_equal(stats.damaged, 2);
	assert_int_equal(stats.lost, 3);
	assert_int_equal(stats.gaps, 1);
	assert_int_equal(seen.events[0].kind, GP_EVENT_DECISION);
	assert_string_equal(seen.names[0], "suspend");
	assert_string_equal(seen.texts[0], "inversion");
	assert_int_equal(seen.events[0].time_ns, 1000);
	assert_int_equal(seen.events[0].clock, GP_CLOCK_MONOTONIC);
	assert_int_equal(seen.events[0].pid, 42);
	assert_true(seen.events[0].partial);
	assert_int_equal(seen.events[1].kind, GP_EVENT_LOST);
	assert_int_equal(seen.events[1].count, 3);
	assert_int_equal(seen.events[2].duration_ns, 2000);
	assert_string_equal(seen.texts[3], "resume");
	assert_int_equal(seen.events[3].count, 110);
	assert_false(seen.events[3].valid & GP_EV_PID);
	close(fd);
	fd = test_memory_file("{}\n", 3);
	assert_int_equal(gp_trace_decision_log_read(fd, "x", NULL, keep, &seen, &stats), -EINVAL);
	close(fd);
}

/* ---- clocks ---- */

static const char clocks_text[] =
	"{\"clocks\": [{\"monotonic_ns\": 1000, \"monotonic_raw_ns\": 900, \"boottime_ns\": 6000, "
	"\"realtime_ns\": 1, \"error_ns\": 3}, {\"monotonic_ns\": 2000, \"monotonic_raw_ns\": "
	"1890, "
	"\"boottime_ns\": 7000, \"realtime_ns\": 1, \"error_ns\": 5}, {\"monotonic_ns\": -1}]}";

static void readings_relate_clocks_and_tell_their_drift(void **state)
{
	struct gp_trace_clocks clocks = {0};
	struct gp_trace_alignment a;
	int fd = test_memory_file(clocks_text, strlen(clocks_text));

	(void)state;
	assert_int_equal(gp_trace_clocks_read(fd, "x", NULL, &clocks), 0);
	assert_int_equal(clocks.count, 2);
	gp_trace_clocks_align(&clocks, GP_CLOCK_BOOTTIME, &a);
	assert_int_equal(a.offset_ns, 5000);
	assert_int_equal(a.residual_ns, 5); /* only what reading costs */
	gp_trace_clocks_align(&clocks, GP_CLOCK_MONOTONIC_RAW, &a);
	assert_int_equal(a.offset_ns, -100);
	assert_int_equal(a.residual_ns, 10 + 5); /* and the drift in between */
	close(fd);
	fd = test_memory_file("{\"clocks\": []}", 14);
	assert_int_equal(gp_trace_clocks_read(fd, "x", NULL, &clocks), -EINVAL);
	close(fd);
	memset(&clocks, 0, sizeof(clocks));
	gp_trace_clocks_align(&clocks, GP_CLOCK_BOOTTIME, &a);
	assert_false(a.known);
}

/* ---- together ---- */

static void the_inquiry_knows_each_by_its_content(void **state)
{
	static const char smi[] = "PID\tPROCESS NAME\tGPU(s)\tVRAM USED\n42\tpython3\t1\t4096\n";
	static const char *const texts[] = {hsakmt_text, smi, decisions_text, clocks_text};
	static const enum gp_trace_source_kind kinds[] = {GP_SOURCE_HSAKMT, GP_SOURCE_SMI,
							  GP_SOURCE_DECISIONS, GP_SOURCE_CLOCKS};
	struct gp_trace_inquiry inquiry;
	struct gp_doc *doc;
	json_t *json;

	(void)state;
	assert_int_equal(gp_trace_inquiry_init(&inquiry, GP_CLOCK_TRACE), 0);
	for (size_t i = 0; i < 4; i++) {
		int fd = test_memory_file(texts[i], strlen(texts[i]));

		assert_int_equal(gp_trace_inquiry_add(&inquiry, fd, "dir/file", NULL), 0);
		assert_int_equal(inquiry.inputs[i]->kind, kinds[i]);
		close(fd);
	}
	assert_int_equal(gp_trace_inquiry_finish(&inquiry), 0);
	assert_int_equal(inquiry.hsakmt_calls, 1);
	doc = gp_trace_inquiry_doc(&inquiry);
	json = gp_doc_json(doc);
	assert_non_null(json);
	json_t *rows = json_object_get(json_object_get(json, "processes"), "rows");

	assert_int_equal(json_integer_value(json_object_get(json_array_get(rows, 0), "pid")), 42);
	json_t *decisions = json_object_get(json, "decisions");

	assert_int_equal(json_integer_value(json_object_get(decisions, "suspends")), 1);
	assert_int_equal(json_integer_value(json_object_get(decisions, "failed")), 1);
	assert_int_equal(json_integer_value(json_object_get(decisions, "held_ns")), 2000);
	json_t *pairs = json_object_get(json_object_get(json, "clocks"), "pairs");

	assert_int_equal(json_array_size(pairs), 2);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(pairs, 0), "behind_ns")),
			 100);
	json_decref(json);
	gp_doc_free(doc);
	gp_trace_inquiry_free(&inquiry);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sentences_of_libhsakmt_are_found),
		cmocka_unit_test(processes_of_rocm_smi),
		cmocka_unit_test(tabs_of_rocm_smi_may_have_become_blanks),
		cmocka_unit_test(processes_of_amd_smi),
		cmocka_unit_test(memory_that_amd_smi_does_not_know_is_not_zero),
		cmocka_unit_test(decisions_are_events_and_missing_ones_a_gap),
		cmocka_unit_test(readings_relate_clocks_and_tell_their_drift),
		cmocka_unit_test(the_inquiry_knows_each_by_its_content),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
