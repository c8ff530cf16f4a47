// SPDX-License-Identifier: MIT
/* The databases of rocprofv3 in both layouts, merged, damaged and foreign. */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include "logs.h"
#include "trace/read/rocprof.h"
#include "trace/read/source.h"

struct seen {
	size_t count;
	struct gp_event events[16];
	char names[16][64];
	int stop_at;
};

struct place {
	char directory[32], path[64];
};

static int make_place(void **state)
{
	static struct place place;

	snprintf(place.directory, sizeof(place.directory), "/tmp/gpreempt-rocpd-XXXXXX");
	assert_non_null(mkdtemp(place.directory));
	snprintf(place.path, sizeof(place.path), "%s/7_results.db", place.directory);
	*state = &place;
	return 0;
}

static int remove_place(void **state)
{
	struct place *place = *state;

	unlink(place->path);
	return rmdir(place->directory);
}

static void run_sql(const char *path, const char *sql)
{
	sqlite3 *db;
	char *error = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &error) != SQLITE_OK)
		fail_msg("%s", error);
	sqlite3_close(db);
}

/* What both layouts have; RUN is the suffix of the tables. */
#define COMMON(RUN)                                                                                \
	"CREATE TABLE rocpd_string" RUN "(id INTEGER, string TEXT);"                               \
	"INSERT INTO rocpd_string" RUN " VALUES(1,'HIP_RUNTIME_API'),(2,'MARKER_CORE_API'),"       \
	"(3,'KERNEL_DISPATCH'),(4,'MEMORY_COPY'),(5,'hipLaunchKernel'),(6,'hip step 1'),"          \
	"(7,'MEMORY_COPY_HOST_TO_DEVICE');"                                                        \
	"CREATE TABLE rocpd_info_process" RUN "(id INTEGER, pid INTEGER);"                         \
	"INSERT INTO rocpd_info_process" RUN " VALUES(1,4711);"                                    \
	"CREATE TABLE rocpd_info_thread" RUN "(id INTEGER, tid INTEGER);"                          \
	"INSERT INTO rocpd_info_thread" RUN " VALUES(1,4712);"                                     \
	"CREATE TABLE rocpd_info_agent" RUN "(id INTEGER, type TEXT, absolute_index INTEGER,"      \
	"name TEXT, product_name TEXT, extdata TEXT);"                                             \
	"INSERT INTO rocpd_info_agent" RUN " VALUES(1,'CPU',0,'cpu','CPU','{}'),"                  \
	"(2,'GPU',4,'gfx942','AMD Instinct MI308X','{\"cu_count\":80}');"                          \
	"CREATE TABLE rocpd_info_kernel_symbol" RUN "(id INTEGER, kernel_name TEXT,"               \
	"display_name TEXT, sgpr_count INTEGER, arch_vgpr_count INTEGER);"                         \
	"INSERT INTO rocpd_info_kernel_symbol" RUN " VALUES(9,'_Z4gemm.kd','gemm(float*)',32,64);" \
	"CREATE TABLE rocpd_event" RUN "(id INTEGER, category_id INTEGER,"                         \
	"correlation_id INTEGER);"                                                                 \
	"INSERT INTO rocpd_event" RUN " VALUES(1,1,100),(2,2,101),(3,3,100),(4,4,102);"

#define SIZES \
	"workgroup_size_x,workgroup_size_y,workgroup_size_z,grid_size_x,grid_size_y,grid_size_z"

/* Times and identity in the rows. */
#define DIRECT(RUN)                                                                               \
	COMMON(RUN)                                                                               \
	"CREATE TABLE rocpd_region" RUN                                                           \
	"(id INTEGER, pid INTEGER, tid INTEGER, start BIGINT, \"end\" BIGINT, name_id INTEGER,"   \
	"event_id INTEGER);"                                                                      \
	"INSERT INTO rocpd_region" RUN " VALUES(1,1,1,1000,1500,5,1),(2,1,1,900,2000,6,2);"       \
	"CREATE TABLE rocpd_kernel_dispatch" RUN                                                  \
	"(id INTEGER, pid INTEGER, tid INTEGER, agent_id INTEGER, kernel_id INTEGER,"             \
	"queue_id INTEGER, stream_id INTEGER, start BIGINT, \"end\" BIGINT,"                      \
	"private_segment_size INTEGER, group_segment_size INTEGER," SIZES ", event_id INTEGER);"  \
	"INSERT INTO rocpd_kernel_dispatch" RUN                                                   \
	" VALUES(1,1,1,2,9,3,2,1600,1900,16,256,64,2,1,640,4,1,3),"                               \
	"(2,1,1,2,9,3,2,1900,1800,0,0,64,1,1,64,1,1,3),(3,1,1,2,9,3,2,NULL,1800,0,0,1,1,1,1,1,1," \
	"3);"                                                                                     \
	"CREATE TABLE rocpd_memory_copy" RUN                                                      \
	"(id INTEGER, pid INTEGER, tid INTEGER, start BIGINT, \"end\" BIGINT, name_id INTEGER,"   \
	"size INTEGER, queue_id INTEGER, stream_id INTEGER, event_id INTEGER);"                   \
	"INSERT INTO rocpd_memory_copy" RUN " VALUES(1,1,1,500,700,7,4096,3,2,4);"

/* The same by reference. */
#define TRACKS(RUN)                                                                              \
	COMMON(RUN)                                                                              \
	"CREATE TABLE rocpd_track" RUN                                                           \
	"(id INTEGER, pid INTEGER, tid INTEGER, agent_id INTEGER, queue_id INTEGER,"             \
	"stream_id INTEGER);"                                                                    \
	"INSERT INTO rocpd_track" RUN " VALUES(1,1,1,NULL,NULL,NULL),(2,1,1,2,3,2);"             \
	"CREATE TABLE rocpd_timestamp" RUN "(id INTEGER, value BIGINT);"                         \
	"INSERT INTO rocpd_timestamp" RUN " VALUES(1,1000),(2,1500),(3,900),(4,2000),(5,1600),"  \
	"(6,1900),(7,500),(8,700),(9,1800);"                                                     \
	"CREATE TABLE rocpd_region" RUN                                                          \
	"(id INTEGER, track_id INTEGER, name_id INTEGER, start_id INTEGER, end_id INTEGER,"      \
	"event_id INTEGER);"                                                                     \
	"INSERT INTO rocpd_region" RUN " VALUES(1,1,5,1,2,1),(2,1,6,3,4,2);"                     \
	"CREATE TABLE rocpd_kernel_dispatch" RUN                                                 \
	"(id INTEGER, track_id INTEGER, kernel_id INTEGER, start_id INTEGER, end_id INTEGER,"    \
	"private_segment_size INTEGER, group_segment_size INTEGER," SIZES ", event_id INTEGER);" \
	"INSERT INTO rocpd_kernel_dispatch" RUN " VALUES(1,2,9,5,6,16,256,64,2,1,640,4,1,3),"    \
	"(2,2,9,6,9,0,0,64,1,1,64,1,1,3),(3,2,9,77,9,0,0,1,1,1,1,1,1,3);"                        \
	"CREATE TABLE rocpd_memory_copy" RUN                                                     \
	"(id INTEGER, track_id INTEGER, start_id INTEGER, end_id INTEGER, name_id INTEGER,"      \
	"size INTEGER, event_id INTEGER);"                                                       \
	"INSERT INTO rocpd_memory_copy" RUN " VALUES(1,2,7,8,7,4096,4);"

static int keep(void *ctx, const struct gp_event *event)
{
	struct seen *seen = ctx;

	assert_true(seen->count < GP_ARRAY_SIZE(seen->events));
	seen->events[seen->count] = *event;
	snprintf(seen->names[seen->count], 64, "%.*s", (int)event->name_len, event->name);
	seen->count++;
	return seen->stop_at && (int)seen->count == seen->stop_at ? 9 : 0;
}

static int read_db(struct seen *seen, const struct place *place, struct gp_diag *diag,
		   struct gp_trace_rocprof_stats *stats)
{
	int fd = open(place->path, O_RDONLY | O_CLOEXEC), ret;

	assert_true(fd >= 0);
	ret = gp_trace_rocprof_read(fd, place->path, diag, keep, seen, stats);
	close(fd);
	return ret;
}

static void check_run(const struct seen *seen, size_t at)
{
	const struct gp_event *device = &seen->events[at], *call = device + 1, *marker = call + 1,
			      *kernel = marker + 1, *copy = kernel + 1;

	assert_int_equal(device->kind, GP_EVENT_AGENT);
	assert_int_equal(device->gpu, 4);
	assert_int_equal(device->count, 80);
	assert_string_equal(seen->names[at], "AMD Instinct MI308X");

	assert_int_equal(call->kind, GP_EVENT_CALL);
	assert_int_equal(call->layer, GP_LAYER_HIP);
	assert_int_equal(call->pid, 4711);
	assert_int_equal(call->tid, 4712);
	assert_int_equal(call->time_ns, 1000);
	assert_int_equal(call->duration_ns, 500);
	assert_int_equal(call->correlation, 100);
	assert_string_equal(seen->names[at + 1], "hipLaunchKernel");

	assert_int_equal(marker->layer, GP_LAYER_OTHER);
	assert_string_equal(seen->names[at + 2], "hip step 1");

	assert_int_equal(kernel->kind, GP_EVENT_KERNEL);
	assert_string_equal(seen->names[at + 3], "gemm(float*)");
	assert_int_equal(kernel->valid & (GP_EV_GPU | GP_EV_QUEUE | GP_EV_STREAM | GP_EV_GRID),
			 GP_EV_GPU | GP_EV_QUEUE | GP_EV_STREAM | GP_EV_GRID);
	assert_int_equal(kernel->gpu, 4);
	assert_int_equal(kernel->queue, 3);
	assert_int_equal(kernel->stream, 2);
	assert_int_equal(kernel->time_ns, 1600);
	assert_int_equal(kernel->duration_ns, 300);
	assert_int_equal(kernel->grid, 2560);
	assert_int_equal(kernel->workgroup, 128);
	assert_int_equal(kernel->vgpr, 64);
	assert_int_equal(kernel->sgpr, 32);
	assert_int_equal(kernel->lds, 256);
	assert_int_equal(kernel->scratch, 16);

	assert_int_equal(copy->kind, GP_EVENT_COPY);
	assert_string_equal(seen->names[at + 4], "MEMORY_COPY_HOST_TO_DEVICE");
	assert_int_equal(copy->size, 4096);
	assert_int_equal(copy->queue, 3);
}

static void both_layouts_give_the_same_events(void **state)
{
	static const char *const layouts[] = {DIRECT("_a1"), TRACKS("_a1")};

	for (size_t i = 0; i < GP_ARRAY_SIZE(layouts); i++) {
		struct place *place = *state;
		struct seen seen = {0};
		struct gp_trace_rocprof_stats stats;

		unlink(place->path);
		run_sql(place->path, layouts[i]);
		assert_int_equal(read_db(&seen, place, NULL, &stats), 0);
		assert_int_equal(stats.kind, GP_ROCPROF_V3_DB);
		assert_int_equal(gp_trace_rocprof_version(stats.kind), 3);
		assert_int_equal(seen.count, 5);
		assert_int_equal(stats.rows, 5);
		assert_int_equal(stats.backwards, 1);
		assert_int_equal(stats.damaged, 1);
		check_run(&seen, 0);
	}
}

static void every_run_of_a_merged_file_is_read(void **state)
{
	struct seen seen = {0};
	struct gp_trace_rocprof_stats stats;
	struct place *place = *state;

	run_sql(place->path, DIRECT("_a1") TRACKS("_b2"));
	assert_int_equal(read_db(&seen, place, NULL, &stats), 0);
	assert_int_equal(seen.count, 10);
	check_run(&seen, 0);
	check_run(&seen, 5);

	memset(&seen, 0, sizeof(seen));
	seen.stop_at = 2;
	assert_int_equal(read_db(&seen, place, NULL, &stats), 9);
	assert_int_equal(seen.count, 2);
}

static void nothing_is_written_beside_the_file(void **state)
{
	struct seen seen = {0};
	struct gp_trace_rocprof_stats stats;
	struct place *place = *state;

	run_sql(place->path, "PRAGMA journal_mode=WAL;" DIRECT("_a1"));
	assert_int_equal(chmod(place->directory, 0500), 0);
	assert_int_equal(read_db(&seen, place, NULL, &stats), 0);
	assert_int_equal(chmod(place->directory, 0700), 0);
	assert_int_equal(seen.count, 5);
}

static void a_database_cut_short_gives_what_was_complete(void **state)
{
	struct place *place = *state;
	struct gp_trace_rocprof_stats stats;
	struct seen seen = {0};
	struct stat info;

	run_sql(place->path, DIRECT("_a1"));
	assert_int_equal(stat(place->path, &info), 0);
	assert_int_equal(truncate(place->path, info.st_size - 4096), 0);
	assert_int_equal(read_db(&seen, place, NULL, &stats), 0);
	assert_true(stats.cut);
	assert_in_range(seen.count, 1, 4);
	for (off_t size = info.st_size; size > 16; size -= 777) {
		memset(&seen, 0, sizeof(seen));
		assert_int_equal(truncate(place->path, size), 0);
		assert_int_equal(read_db(&seen, place, NULL, &stats), 0);
	}
}

static void another_database_is_no_kind(void **state)
{
	struct place *place = *state;
	struct gp_trace_rocprof_stats stats;
	enum gp_trace_source_kind kind;
	struct seen seen = {0};
	int fd;

	run_sql(place->path, "CREATE TABLE t(x); CREATE TABLE \"rocpd_info_process';--\"(x)");
	assert_int_equal(read_db(&seen, place, NULL, &stats), 0);
	assert_int_equal(stats.kind, GP_ROCPROF_NONE);
	assert_int_equal(stats.damaged, 1);
	assert_int_equal(seen.count, 0);

	fd = open(place->path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(gp_trace_source_identify(fd, place->path, &kind), 0);
	assert_int_equal(kind, GP_SOURCE_ROCPROF);
	close(fd);
}

int main(void)
{
#define ROCPD_TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)
	const struct CMUnitTest tests[] = {
		ROCPD_TEST(both_layouts_give_the_same_events),
		ROCPD_TEST(every_run_of_a_merged_file_is_read),
		ROCPD_TEST(nothing_is_written_beside_the_file),
		ROCPD_TEST(a_database_cut_short_gives_what_was_complete),
		ROCPD_TEST(another_database_is_no_kind),
	};

	return cmocka_run_group_tests_name("rocpd", tests, NULL, NULL);
}
