// SPDX-License-Identifier: MIT
/* rocprof's files of every version: CSV, JSON, damage; and the CSV and JSON readers beneath. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "logs.h"
#include "base/csv.h"
#include "base/jsonwalk.h"
#include "trace/read/rocprof.h"

struct seen {
	size_t count;
	struct gp_event events[32];
	char names[32][96];
	int stop_at;
};

static int keep(void *ctx, const struct gp_event *event)
{
	struct seen *seen = ctx;

	assert_true(seen->count < 32);
	seen->events[seen->count] = *event;
	snprintf(seen->names[seen->count], 96, "%.*s", (int)event->name_len, event->name);
	seen->count++;
	return seen->stop_at && (int)seen->count == seen->stop_at ? 9 : 0;
}

static struct gp_trace_rocprof_stats read_file(struct seen *seen, const char *name)
{
	struct gp_trace_rocprof_stats stats;
	char path[128];
	int fd;

	memset(seen, 0, sizeof(*seen));
	snprintf(path, sizeof(path), "rocprof/%s", name);
	fd = open(fixture(path), O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(gp_trace_rocprof_read(fd, name, NULL, keep, seen, &stats), 0);
	close(fd);
	assert_int_equal(stats.rows, seen->count);
	return stats;
}

static struct gp_trace_rocprof_stats read_text(struct seen *seen, const char *name,
					       const char *text)
{
	struct gp_trace_rocprof_stats stats;
	int fd = test_memory_file(text, strlen(text));

	memset(seen, 0, sizeof(*seen));
	assert_int_equal(gp_trace_rocprof_read(fd, name, NULL, keep, seen, &stats), 0);
	close(fd);
	return stats;
}

static void v1_kernels_have_names_with_commas_quotes_and_newlines(void **state)
{
	struct seen seen;
	struct gp_trace_rocprof_stats stats = read_file(&seen, "v1/results.csv");

	(void)state;
	assert_int_equal(stats.kind, GP_ROCPROF_V1_KERNELS);
	assert_int_equal(seen.count, 2);
	assert_string_equal(seen.names[1], "std::pair<int, \"x,y\">::sum\n(int) [clone .kd]");
	assert_int_equal(seen.events[1].line, 4);
	assert_int_equal(seen.events[1].queue, 1);
	assert_int_equal(seen.events[0].gpu, 3);
	assert_int_equal(seen.events[0].pid, 4711);
	assert_int_equal(seen.events[0].grid, 8192);
	assert_int_equal(seen.events[0].vgpr, 12);
	assert_int_equal(seen.events[0].wave, 64);
	assert_int_equal(seen.events[1].lds, 512);
	assert_int_equal(seen.events[0].time_ns, 5040000);
	assert_int_equal(seen.events[0].duration_ns, 10000);
	assert_int_equal(seen.events[0].complete_ns, 5052000);
	assert_int_equal(seen.events[0].clock, GP_CLOCK_BOOTTIME);
}

static void a_summary_belongs_to_the_layer_of_its_file(void **state)
{
	struct seen seen;

	(void)state;
	assert_int_equal(read_file(&seen, "v1/results.hip_stats.csv").kind, GP_ROCPROF_V1_STATS);
	assert_int_equal(seen.events[0].layer, GP_LAYER_HIP);
	assert_int_equal(seen.events[0].count, 2);
	assert_int_equal(seen.events[0].duration_ns, 3000000);
	read_file(&seen, "v1/results.hsa_stats.csv");
	assert_int_equal(seen.events[0].layer, GP_LAYER_HSA);
	read_file(&seen, "v1/results.copy_stats.csv");
	assert_int_equal(seen.events[0].layer, GP_LAYER_COPY);
	assert_int_equal(read_file(&seen, "v3/host/77_hip_api_stats.csv").kind,
			 GP_ROCPROF_V3_STATS);
	read_text(&seen, "results.stats.csv", "Name,Calls,TotalDurationNs\nk,1,2\n");
	assert_int_equal(seen.events[0].layer, GP_LAYER_KERNEL);
	read_text(&seen, "dir_hip_x/1_marker_api_stats.csv", "Name,Calls,TotalDurationNs\nk,1,2\n");
	assert_int_equal(seen.events[0].layer, GP_LAYER_OTHER);
}

static void columns_are_found_by_name_in_every_generation(void **state)
{
	struct seen seen;
	struct gp_trace_rocprof_stats stats;

	(void)state;
	/* Old columns, a counter among them, no quotes. */
	stats = read_text(
		&seen, "a.csv",
		"Index,KernelName,gpu-id,queue-id,queue-index,pid,tid,grd,wgr,lds,scr,vgpr,"
		"sgpr,fbar,sig,WriteSize,DispatchNs,BeginNs,EndNs,CompleteNs\r\n"
		"0,\"k.kd\",0,1,0,5,6,64,32,1,2,3,4,0,0x7f,4,10,20,30,40\r\n");
	assert_int_equal(stats.kind, GP_ROCPROF_V1_KERNELS);
	assert_int_equal(seen.events[0].sgpr, 4);
	assert_int_equal(seen.events[0].duration_ns, 10);
	assert_false(seen.events[0].valid & GP_EV_WAVE);
	/* Counters only: a kernel without times. */
	read_text(&seen, "b.csv",
		  "Index,KernelName,gpu-id,queue-id,pid,tid,grd,wgr,lds,scr,vgpr,sgpr,TCC_sum\n"
		  "0,\"k\",0,0,5,6,64,32,0,0,4,24,1048576.0000000000\n");
	assert_int_equal(seen.count, 1);
	assert_false(seen.events[0].valid & GP_EV_TIME);
	/* rocprofv2. */
	stats = read_text(
		&seen, "c.csv",
		"Dispatch_ID,GPU_ID,Queue_ID,PID,TID,Grid_Size,Workgroup_Size,"
		"LDS_Per_Workgroup,Scratch_Per_Workitem,Arch_VGPR,Accum_VGPR,SGPR,Wave_Size,"
		"Kernel_Name,Start_Timestamp,End_Timestamp,Correlation_ID\n\n"
		"1,4,2,5,6,64,32,0,0,8,0,16,64,\"k\",100,150,9\n");
	assert_int_equal(seen.events[0].queue, 2);
	assert_int_equal(seen.events[0].duration_ns, 50);
	assert_int_equal(seen.events[0].vgpr, 8);
	/* rocprofv3 of 6.2: integer agents, other names. */
	stats = read_text(
		&seen, "d.csv",
		"\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Thread_Id\",\"Dispatch_Id\",\"Kernel_Id\","
		"\"Kernel_Name\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\","
		"\"Private_Segment_Size\",\"Group_Segment_Size\",\"Workgroup_Size_X\","
		"\"Workgroup_Size_Y\",\"Workgroup_Size_Z\",\"Grid_Size_X\",\"Grid_Size_Y\","
		"\"Grid_Size_Z\"\n\"KERNEL_DISPATCH\",8,1,25,1,10,\"k\",15,400,407,0,1024,256,"
		"1,1,8192,2,2\n");
	assert_int_equal(stats.kind, GP_ROCPROF_V3_KERNELS);
	assert_int_equal(seen.events[0].gpu, 8);
	assert_int_equal(seen.events[0].grid, 32768);
	assert_int_equal(seen.events[0].lds, 1024);
	assert_false(seen.events[0].valid & GP_EV_REGISTERS);
}

static void v3_rows_that_are_damaged_or_run_backwards_are_counted(void **state)
{
	struct seen seen;
	struct gp_trace_rocprof_stats stats = read_file(&seen, "v3/host/77_kernel_trace.csv");

	(void)state;
	assert_int_equal(stats.kind, GP_ROCPROF_V3_KERNELS);
	assert_int_equal(seen.count, 2);
	assert_int_equal(seen.events[0].gpu, 4);
	assert_int_equal(seen.events[0].workgroup, 128);
	assert_int_equal(stats.backwards, 1);
	assert_int_equal(stats.damaged, 1);
	assert_int_equal(stats.first_bad_line, 5);
}

static void v3_calls_copies_and_agents(void **state)
{
	struct seen seen;

	(void)state;
	assert_int_equal(read_file(&seen, "v3/host/77_hip_api_trace.csv").kind,
			 GP_ROCPROF_V3_CALLS);
	assert_int_equal(seen.events[0].layer, GP_LAYER_HIP);
	assert_int_equal(seen.events[2].layer, GP_LAYER_OTHER);
	assert_string_equal(seen.names[2], "my range, mine");
	assert_int_equal(seen.events[3].layer, GP_LAYER_HIP);
	assert_int_equal(seen.events[1].correlation, 5);
	assert_int_equal(read_file(&seen, "v3/host/77_memory_copy_trace.csv").kind,
			 GP_ROCPROF_V3_COPIES);
	assert_string_equal(seen.names[0], "MEMORY_COPY_HOST_TO_DEVICE");
	assert_int_equal(read_file(&seen, "v3/host/77_agent_info.csv").kind, GP_ROCPROF_V3_AGENTS);
	assert_int_equal(seen.events[1].count, 304);
	assert_string_equal(seen.names[1], "SomeGPU");
}

static void v1_json_tells_tracks_apart_and_knows_the_devices(void **state)
{
	struct seen seen;
	struct gp_trace_rocprof_stats stats = read_file(&seen, "v1/results.json");

	(void)state;
	assert_int_equal(stats.kind, GP_ROCPROF_V1_JSON);
	assert_false(stats.cut);
	assert_int_equal(seen.count, 10); /* 1 kernel, 4 HIP, 1 HSA, 2 copies, 2 devices */
	assert_int_equal(seen.events[0].kind, GP_EVENT_KERNEL);
	assert_int_equal(seen.events[0].dispatch_ns, 5000000);
	assert_int_equal(seen.events[1].layer, GP_LAYER_HIP);
	assert_int_equal(seen.events[1].size, 4096);
	assert_int_equal(seen.events[2].layer, GP_LAYER_HSA);
	assert_int_equal(seen.events[3].kind, GP_EVENT_COPY);
	assert_int_equal(seen.events[9].kind, GP_EVENT_AGENT);
	assert_int_equal(seen.events[9].count, 80);
	assert_string_equal(seen.names[9], "SomeGPU");
}

static void v3_json_joins_names_by_id_and_process(void **state)
{
	struct seen seen;
	struct gp_trace_rocprof_stats stats = read_file(&seen, "v3.json");

	(void)state;
	assert_int_equal(stats.kind, GP_ROCPROF_V3_JSON);
	assert_int_equal(stats.damaged, 1);
	assert_int_equal(seen.count, 7);
	assert_int_equal(seen.events[0].kind, GP_EVENT_AGENT);
	assert_string_equal(seen.names[1], "add(\"q\", \\ int)");
	assert_int_equal(seen.events[1].grid, 1024);
	assert_int_equal(seen.events[1].pid, 77);
	assert_int_equal(seen.events[1].stream, 2);
	assert_string_equal(seen.names[2], "");
	assert_string_equal(seen.names[3], "hipLaunchKernel");
	assert_string_equal(seen.names[4], "hsa_queue_create");
	assert_int_equal(seen.events[5].kind, GP_EVENT_COPY);
	assert_int_equal(seen.events[5].size, 4096);
	assert_string_equal(seen.names[6], "first_of_next");
	assert_int_equal(seen.events[6].pid, 78);
}

static void counters_do_not_multiply_kernels(void **state)
{
	static const char head[] = "\"Correlation_Id\",\"Dispatch_Id\",\"Agent_Id\",\"Queue_Id\","
				   "\"Process_Id\",\"Thread_Id\",\"Grid_Size\",\"Kernel_Name\","
				   "\"Workgroup_Size\",\"Counter_Name\",\"Counter_Value\","
				   "\"Start_Timestamp\",\"End_Timestamp\"\n";
	struct gp_trace_rocprof_stats stats;
	struct seen seen;
	char text[2048];

	(void)state;
	snprintf(text, sizeof(text), "%s%s%s%s%s", head,
		 "1,1,4,1,77,77,64,\"a\",64,\"SQ_WAVES\",8,100,200\n",
		 "2,2,4,1,77,77,64,\"a\",64,\"SQ_WAVES\",8,300,400\n",
		 "1,1,4,1,77,77,64,\"a\",64,\"GRBM_COUNT\",8,100,200\n"
		 "2,2,4,1,77,77,64,\"a\",64,\"GRBM_COUNT\",8,300,400\n",
		 "1,1,4,1,78,78,64,\"a\",64,\"SQ_WAVES\",8,100,200\n");
	stats = read_text(&seen, "7_counter_collection.csv", text);
	assert_int_equal(stats.kind, GP_ROCPROF_V3_KERNELS);
	assert_int_equal(stats.damaged, 0);
	assert_int_equal(stats.rows, 3);
	assert_int_equal(seen.events[1].time_ns, 300);
	assert_int_equal(seen.events[2].pid, 78);
}

static void the_domain_of_a_row_decides_not_its_name(void **state)
{
	struct seen seen;

	(void)state;
	read_text(&seen, "7_marker_api_trace.csv",
		  "\"Domain\",\"Function\",\"Process_Id\",\"Thread_Id\",\"Correlation_Id\","
		  "\"Start_Timestamp\",\"End_Timestamp\"\n"
		  "\"MARKER_CORE_API\",\"hip phase\",1,1,1,10,20\n"
		  "\"MARKER_CORE_API\",\"hsa_like\",1,1,1,10,20\n"
		  "\"HIP_RUNTIME_API\",\"hipMalloc\",1,1,1,10,20\n"
		  "\"HSA_CORE_API\",\"hsa_queue_create\",1,1,1,10,20\n");
	assert_int_equal(seen.count, 4);
	assert_int_equal(seen.events[0].layer, GP_LAYER_OTHER);
	assert_int_equal(seen.events[1].layer, GP_LAYER_OTHER);
	assert_int_equal(seen.events[2].layer, GP_LAYER_HIP);
	assert_int_equal(seen.events[3].layer, GP_LAYER_HSA);
}

static void files_beside_the_matter_are_known_by_name(void **state)
{
	static const struct {
		const char *text;
		enum gp_trace_rocprof_kind kind;
	} files[] = {
		{"\"Kind\",\"Operation\",\"Agent_Id\",\"Allocation_Size\",\"Address\"\n1,2,3,4,5\n",
		 GP_ROCPROF_V3_ALLOCATIONS},
		{"\"Kind\",\"Operation\",\"Agent_Id\",\"Queue_Id\",\"Alloc_Flags\"\n1,2,3,4,5\n",
		 GP_ROCPROF_V3_SCRATCH},
		{"\"Sample_Timestamp\",\"Exec_Mask\",\"Dispatch_Id\"\n1,2,3\n",
		 GP_ROCPROF_V3_SAMPLES},
	};

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(files); i++) {
		struct seen seen;
		struct gp_trace_rocprof_stats stats = read_text(&seen, "x.csv", files[i].text);

		assert_int_equal(stats.kind, files[i].kind);
		assert_int_equal(stats.rows + stats.damaged, 0);
		assert_true(gp_trace_rocprof_beside(stats.kind));
	}
	assert_false(gp_trace_rocprof_beside(GP_ROCPROF_V3_KERNELS));
}

static void json_that_is_cut_gives_what_was_complete(void **state)
{
	struct seen seen;
	struct gp_trace_rocprof_stats stats;
	struct gp_buf text = {0};

	(void)state;
	assert_int_equal(gp_file_read(fixture("rocprof/v1/results.json"), 1 << 20, &text), 0);
	strstr(text.data, "hsa_queue_create")[0] = '\0';
	stats = read_text(&seen, "x.json", text.data);
	assert_true(stats.cut);
	assert_int_equal(seen.count, 2);
	stats = read_text(&seen, "x.json", "{\"traceEvents\":[{}}");
	assert_true(stats.cut);
	stats = read_text(&seen, "x.json",
			  "{\"traceEvents\":[{\"ph\":\"X\",\"pid\":2,\"args\":{}},{bad},"
			  "{\"ph\":\"X\",\"pid\":2,\"name\":\"h\xffp\",\"args\":{\"BeginNs\":\"5\","
			  "\"EndNs\":\"4\"}},{\"ph\":\"X\",\"pid\":2,\"name\":\"h\xffp\",\"args\":{"
			  "\"BeginNs\":\"5\",\"EndNs\":\"6\"}}]}");
	assert_int_equal(stats.damaged, 2);
	assert_int_equal(stats.backwards, 1);
	assert_int_equal(seen.count, 1);
	assert_string_equal(seen.names[0], "h?p");
	gp_buf_free(&text);
}

static void what_is_not_rocprofs_is_no_kind(void **state)
{
	struct seen seen;
	struct test_diag diag = TEST_DIAG;
	struct gp_trace_rocprof_stats stats;
	int ends[2];

	(void)state;
	assert_int_equal(read_text(&seen, "x.csv", "a,b\n1,2\n").kind, GP_ROCPROF_NONE);
	assert_int_equal(read_text(&seen, "x.json", "{\"a\":[1,2,{\"b\":{}}]}").kind,
			 GP_ROCPROF_NONE);
	assert_int_equal(read_text(&seen, "x", "").kind, GP_ROCPROF_NONE);
	assert_string_equal(gp_trace_rocprof_kind_name(GP_ROCPROF_NONE), "unknown");
	assert_int_equal(gp_trace_rocprof_version(GP_ROCPROF_V3_JSON), 3);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(gp_trace_rocprof_read(ends[0], "pipe", &diag.diag, keep, &seen, &stats),
			 -ESPIPE);
	close(ends[0]);
	close(ends[1]);
	gp_buf_free(&diag.text);
}

static void a_callback_stops_every_reader(void **state)
{
	static const char *const files[] = {"v1/results.csv", "v1/results.json", "v3.json"};
	struct gp_trace_rocprof_stats stats;

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(files); i++) {
		struct seen seen = {.stop_at = 1};
		char path[64];
		int fd;

		snprintf(path, sizeof(path), "rocprof/%s", files[i]);
		fd = open(fixture(path), O_RDONLY | O_CLOEXEC);
		assert_int_equal(gp_trace_rocprof_read(fd, path, NULL, keep, &seen, &stats), 9);
		assert_int_equal(seen.count, 1);
		close(fd);
	}
}

/* ---- CSV ---- */

struct rows {
	char text[4096];
};

static int keep_row(void *ctx, const struct gp_csv_record *record)
{
	struct rows *rows = ctx;
	size_t len = strlen(rows->text);

	len += (size_t)snprintf(rows->text + len, sizeof(rows->text) - len,
				"%llu:", (unsigned long long)record->line);
	for (size_t i = 0; i < record->count; i++)
		len += (size_t)snprintf(rows->text + len, sizeof(rows->text) - len, "[%.8s]",
					record->fields[i].text);
	snprintf(rows->text + len, sizeof(rows->text) - len, "\n");
	return 0;
}

static struct gp_csv_stats read_csv(struct rows *rows, const char *text, size_t len)
{
	struct gp_csv_stats stats;
	int fd = test_memory_file(text, len);

	memset(rows, 0, sizeof(*rows));
	assert_int_equal(gp_csv_read(fd, "x", NULL, keep_row, rows, &stats), 0);
	close(fd);
	return stats;
}

static void csv_fields_are_unquoted(void **state)
{
	struct rows rows;
	const char *text = "a,\"b,\"\"c\"\"\nd\",\n\n\r\n\"x\"y,z\r\nlast,\"q\"";

	(void)state;
	read_csv(&rows, text, strlen(text));
	assert_string_equal(rows.text, "1:[a][b,\"c\"\nd][]\n5:[xy][z]\n6:[last][q]\n");
}

static void csv_goes_on_behind_a_quote_nobody_closed(void **state)
{
	struct rows rows;
	struct gp_csv_stats stats;
	size_t size = GP_CSV_RECORD_MAX * 4;
	char *text = malloc(size);
	const char *small = "a,\"b\nc,d\n";

	(void)state;
	stats = read_csv(&rows, small, strlen(small));
	assert_string_equal(rows.text, "2:[c][d]\n");
	assert_int_equal(stats.damaged, 1);
	assert_int_equal(stats.first_bad_line, 1);
	memset(text, 'x', size);
	text[0] = '"';
	text[10] = '\n';
	memcpy(text + size - 6, "\ne,f\n", 5);
	text[size - 1] = '\n';
	stats = read_csv(&rows, text, size);
	assert_int_equal(stats.damaged, 2); /* the open quote, then a line that is too long */
	assert_non_null(strstr(rows.text, "[e][f]\n"));
	/* More fields than there is room for. */
	memset(text, ',', GP_CSV_FIELDS_MAX + 1);
	memcpy(text + GP_CSV_FIELDS_MAX + 1, "\ng\n", 3);
	stats = read_csv(&rows, text, GP_CSV_FIELDS_MAX + 4);
	assert_int_equal(stats.damaged, 1);
	assert_string_equal(rows.text, "2:[g]\n");
	free(text);
}

static void csv_numbers_are_whole_fields(void **state)
{
	u64 value;

	(void)state;
	assert_true(gp_field_u64(&(struct gp_field){"12.75", 5}, &value));
	assert_int_equal(value, 12);
	assert_false(gp_field_u64(&(struct gp_field){"12x", 3}, &value));
	assert_false(gp_field_u64(&(struct gp_field){"", 0}, &value));
	assert_false(gp_field_u64(&(struct gp_field){"-1", 2}, &value));
}

static int count_value(void *ctx, size_t which, const json_t *value)
{
	(void)which;
	assert_non_null(value);
	++*(int *)ctx;
	return 0;
}

static void json_walks_only_where_it_was_told(void **state)
{
	static const char *const paths[] = {"/a/#", "/b/c"};
	const char *text =
		"banner\n{\"x\":{\"a\":[{}]},\"a\":[{\"s\":\"}\\\"]\"},[1],5],\"b\":{\"c\":{}},"
		"\"k\\u0061\":[{}]} trailing";
	struct gp_json_stats stats;
	struct gp_buf deep = {0};
	int fd = test_memory_file(text, strlen(text)), count = 0;

	(void)state;
	assert_int_equal(gp_json_walk(fd, "x", NULL, paths, 2, count_value, &count, &stats), 0);
	assert_int_equal(count, 3);
	assert_false(stats.cut);
	close(fd);
	for (int i = 0; i < 100; i++)
		gp_buf_puts(&deep, "[");
	fd = test_memory_file(deep.data, deep.len);
	assert_int_equal(gp_json_walk(fd, "x", NULL, paths, 2, count_value, &count, &stats), 0);
	assert_true(stats.cut);
	close(fd);
	gp_buf_free(&deep);
	/* A key longer than any of ours matches nothing, and its path does not overflow. */
	gp_buf_puts(&deep, "{");
	for (int i = 0; i < 10; i++) {
		gp_buf_puts(&deep, "\"");
		for (int k = 0; k < 200; k++)
			gp_buf_puts(&deep, "k");
		gp_buf_puts(&deep, "\":{");
	}
	fd = test_memory_file(deep.data, deep.len);
	assert_int_equal(gp_json_walk(fd, "x", NULL, paths, 2, count_value, &count, &stats), 0);
	close(fd);
	gp_buf_free(&deep);
}

static void compressed_files_are_named(void **state)
{
	struct test_diag diag = TEST_DIAG;
	struct gp_csv_stats csv;
	struct gp_json_stats json;
	int fd = test_memory_file("\x28\xb5\x2f\xfd and the rest", 17), count = 0;

	(void)state;
	assert_int_equal(gp_csv_read(fd, "x", &diag.diag, keep_row, NULL, &csv), -EINVAL);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(gp_json_walk(fd, "x", &diag.diag, NULL, 0, count_value, &count, &json),
			 -EINVAL);
	close(fd);
	fd = open(".", O_RDONLY | O_CLOEXEC);
	assert_int_equal(gp_csv_read(fd, "x", &diag.diag, keep_row, NULL, &csv), -EISDIR);
	assert_int_equal(gp_json_walk(fd, "x", &diag.diag, NULL, 0, count_value, &count, &json),
			 -EISDIR);
	close(fd);
	assert_int_equal(diag.errors, 4);
	gp_buf_free(&diag.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(v1_kernels_have_names_with_commas_quotes_and_newlines),
		cmocka_unit_test(a_summary_belongs_to_the_layer_of_its_file),
		cmocka_unit_test(columns_are_found_by_name_in_every_generation),
		cmocka_unit_test(v3_rows_that_are_damaged_or_run_backwards_are_counted),
		cmocka_unit_test(v3_calls_copies_and_agents),
		cmocka_unit_test(v1_json_tells_tracks_apart_and_knows_the_devices),
		cmocka_unit_test(v3_json_joins_names_by_id_and_process),
		cmocka_unit_test(counters_do_not_multiply_kernels),
		cmocka_unit_test(the_domain_of_a_row_decides_not_its_name),
		cmocka_unit_test(files_beside_the_matter_are_known_by_name),
		cmocka_unit_test(json_that_is_cut_gives_what_was_complete),
		cmocka_unit_test(what_is_not_rocprofs_is_no_kind),
		cmocka_unit_test(a_callback_stops_every_reader),
		cmocka_unit_test(csv_fields_are_unquoted),
		cmocka_unit_test(csv_goes_on_behind_a_quote_nobody_closed),
		cmocka_unit_test(csv_numbers_are_whole_fields),
		cmocka_unit_test(json_walks_only_where_it_was_told),
		cmocka_unit_test(compressed_files_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
