// SPDX-License-Identifier: MIT
/*
 * rocpd: the SQLite database (NAME_results.db) that rocprofv3 writes by default since ROCm 7.0.
 * Each run in it has its own set of tables, whose names end with the id of the run; a merged file
 * has several sets. Two layouts exist: times and identity in the rows, or by reference in
 * rocpd_timestamp and rocpd_track. The views of the file are not used: they are SQL that somebody
 * else wrote.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "trace/read/rocprof_parts.h"

#ifdef GP_HAVE_SQLITE
#include <sqlite3.h>
#endif

struct reader {
	struct sqlite3 *db;
	const char *file;
	struct gp_diag *diag;
	gp_event_fn fn;
	void *ctx;
	struct gp_trace_rocprof_stats *stats;
	const char *run; /* the suffix of its tables */
};

#ifdef GP_HAVE_SQLITE

#define RUNS_MAX   1024
#define SUFFIX_MAX 128

/* Columns of every query. */
enum {
	Q_NAME,
	Q_PID,
	Q_TID,
	Q_CORRELATION,
	Q_BEGIN,
	Q_END,
	Q_DOMAIN,
	Q_GPU,
	Q_QUEUE,
	Q_STREAM,
	Q_BYTES,
	Q_GRID,
	Q_GROUP = Q_GRID + 3,
	Q_VGPR = Q_GROUP + 3,
	Q_SGPR,
	Q_LDS,
	Q_SCRATCH,
};

static bool number(sqlite3_stmt *row, int column, u64 *value)
{
	sqlite3_int64 found;

	if (column >= sqlite3_column_count(row) ||
	    sqlite3_column_type(row, column) != SQLITE_INTEGER)
		return false;
	found = sqlite3_column_int64(row, column);
	*value = (u64)found;
	return found >= 0;
}

static bool number32(sqlite3_stmt *row, int column, u32 *value)
{
	u64 wide;

	if (!number(row, column, &wide) || wide > UINT32_MAX)
		return false;
	*value = (u32)wide;
	return true;
}

static bool product(sqlite3_stmt *row, int column, u64 *value)
{
	u64 y, z;

	return number(row, column, value) && number(row, column + 1, &y) &&
	       number(row, column + 2, &z) && !__builtin_mul_overflow(*value, y, value) &&
	       !__builtin_mul_overflow(*value, z, value);
}

static void name_of(sqlite3_stmt *row, struct gp_event *event)
{
	const void *text = sqlite3_column_text(row, Q_NAME);

	event->name = text ? text : "";
	event->name_len = (size_t)sqlite3_column_bytes(row, Q_NAME);
}

static void kernel(sqlite3_stmt *row, struct gp_event *event)
{
	if (product(row, Q_GRID, &event->grid) && product(row, Q_GROUP, &event->workgroup))
		event->valid |= GP_EV_GRID;
	if (number32(row, Q_VGPR, &event->vgpr) && number32(row, Q_SGPR, &event->sgpr))
		event->valid |= GP_EV_REGISTERS;
	if (number(row, Q_LDS, &event->lds) && number(row, Q_SCRATCH, &event->scratch))
		event->valid |= GP_EV_LDS;
}

/* A call, a copy or a kernel; false: the row is damaged. */
static bool span(struct reader *reader, sqlite3_stmt *row, struct gp_event *event)
{
	const char *domain = (const char *)sqlite3_column_text(row, Q_DOMAIN);
	u64 begin, end;

	name_of(row, event);
	if (event->kind == GP_EVENT_CALL)
		event->layer = gp_trace_rocprof_layer(domain, event->name, event->name_len);
	if (number32(row, Q_PID, &event->pid))
		event->valid |= GP_EV_PID;
	if (number(row, Q_TID, &event->tid))
		event->valid |= GP_EV_TID;
	if (number(row, Q_CORRELATION, &event->correlation))
		event->valid |= GP_EV_CORRELATION;
	if (number(row, Q_GPU, &event->gpu))
		event->valid |= GP_EV_GPU;
	if (number(row, Q_QUEUE, &event->queue))
		event->valid |= GP_EV_QUEUE;
	if (number(row, Q_STREAM, &event->stream))
		event->valid |= GP_EV_STREAM;
	if (number(row, Q_BYTES, &event->size))
		event->valid |= GP_EV_BYTES;
	if (event->kind == GP_EVENT_KERNEL)
		kernel(row, event);
	return number(row, Q_BEGIN, &begin) && number(row, Q_END, &end) &&
	       gp_trace_rocprof_times(event, begin, end, reader->stats);
}

static bool device(struct reader *reader, sqlite3_stmt *row, struct gp_event *event)
{
	(void)reader;
	name_of(row, event);
	if (!number(row, 1, &event->gpu) || !number(row, 2, &event->count))
		return false;
	event->valid |= GP_EV_GPU | GP_EV_COUNT;
	return true;
}

/* A file that ends early, or has a bad page: what was read before counts. */
static int step_failed(struct reader *reader, int status)
{
	if (status == SQLITE_CORRUPT || status == SQLITE_NOTADB || status == SQLITE_IOERR) {
		reader->stats->cut = true;
		return 0;
	}
	return gp_fail(reader->diag, status == SQLITE_NOMEM ? -ENOMEM : -EIO, "cannot read %s: %s",
		       reader->file, sqlite3_errmsg(reader->db));
}

static int run_query(struct reader *reader, const char *sql, enum gp_event_kind kind,
		     bool (*take)(struct reader *, sqlite3_stmt *, struct gp_event *))
{
	sqlite3_stmt *row = NULL;
	int status = sqlite3_prepare_v2(reader->db, sql, -1, &row, NULL), ret = 0;

	if (status != SQLITE_OK)
		return step_failed(reader, status);
	while (!ret && (status = sqlite3_step(row)) == SQLITE_ROW) {
		struct gp_event event = {.kind = kind, .clock = GP_CLOCK_BOOTTIME};
		u64 backwards = reader->stats->backwards;

		if (take(reader, row, &event)) {
			reader->stats->rows++;
			ret = reader->fn ? reader->fn(reader->ctx, &event) : 0;
		} else if (backwards == reader->stats->backwards) {
			reader->stats->damaged++;
		}
	}
	if (!ret && status != SQLITE_DONE)
		ret = step_failed(reader, status);
	sqlite3_finalize(row);
	return ret;
}

/* Whether a table of this run exists and, with a column, has it. */
static bool has(struct reader *reader, const char *table, const char *column)
{
	static const char sql[] = "SELECT 1 FROM pragma_table_info(?1) WHERE ?2 IS NULL OR name=?2";
	char name[SUFFIX_MAX + 64];
	sqlite3_stmt *row = NULL;
	bool found = false;

	snprintf(name, sizeof(name), "rocpd_%s%s", table, reader->run);
	if (sqlite3_prepare_v2(reader->db, sql, -1, &row, NULL) == SQLITE_OK) {
		sqlite3_bind_text(row, 1, name, -1, SQLITE_STATIC);
		sqlite3_bind_text(row, 2, column, -1, SQLITE_STATIC);
		found = sqlite3_step(row) == SQLITE_ROW;
	}
	sqlite3_finalize(row);
	return found;
}

static void join(struct reader *reader, struct gp_buf *sql, const char *table, const char *on)
{
	gp_buf_printf(sql, " LEFT JOIN \"rocpd_%s%s\" %s", table, reader->run, on);
}

/*
 * One query for rows with a begin and an end. `own`: the columns that only this table has, from
 * Q_BYTES on; `gpu`: it ran on one.
 */
static int read_spans(struct reader *reader, const char *table, const char *name, const char *own,
		      enum gp_event_kind kind)
{
	bool tracks = has(reader, table, "track_id"), gpu = kind == GP_EVENT_KERNEL;
	bool queues = gpu || kind == GP_EVENT_COPY;
	const char *who = tracks ? "K" : "X";
	struct gp_buf sql = {0};
	int ret;

	if (!has(reader, table, NULL))
		return 0;
	gp_buf_printf(&sql,
		      "SELECT %s,COALESCE(P.pid,%s.pid),COALESCE(T.tid,%s.tid),E.correlation_id,"
		      "%s,%s,C.string,%s",
		      name, who, who, tracks ? "B.value" : "X.start",
		      tracks ? "F.value" : "X.\"end\"", gpu ? "A.absolute_index" : "NULL");
	if (queues)
		gp_buf_printf(&sql, ",%s.queue_id,%s.stream_id", who, who);
	else
		gp_buf_printf(&sql, ",NULL,NULL");
	gp_buf_printf(&sql, ",%s FROM \"rocpd_%s%s\" X", own, table, reader->run);
	if (tracks) {
		join(reader, &sql, "track", "K ON K.id=X.track_id");
		join(reader, &sql, "timestamp", "B ON B.id=X.start_id");
		join(reader, &sql, "timestamp", "F ON F.id=X.end_id");
	}
	join(reader, &sql, "info_process", tracks ? "P ON P.id=K.pid" : "P ON P.id=X.pid");
	join(reader, &sql, "info_thread", tracks ? "T ON T.id=K.tid" : "T ON T.id=X.tid");
	join(reader, &sql, "event", "E ON E.id=X.event_id");
	join(reader, &sql, "string", "C ON C.id=E.category_id");
	if (gpu) {
		join(reader, &sql, "info_agent",
		     tracks ? "A ON A.id=K.agent_id" : "A ON A.id=X.agent_id");
		join(reader, &sql, "info_kernel_symbol", "S ON S.id=X.kernel_id");
	} else {
		join(reader, &sql, "string", "N ON N.id=X.name_id");
	}
	ret = sql.error ? sql.error : run_query(reader, gp_buf_str(&sql), kind, span);
	gp_buf_free(&sql);
	return ret;
}

static int read_devices(struct reader *reader)
{
	struct gp_buf sql = {0};
	int ret;

	if (!has(reader, "info_agent", NULL))
		return 0;
	gp_buf_printf(&sql,
		      "SELECT COALESCE(product_name,name),absolute_index,CASE WHEN "
		      "json_valid(extdata) THEN json_extract(extdata,'$.cu_count') END "
		      "FROM \"rocpd_info_agent%s\" WHERE type='GPU'",
		      reader->run);
	ret = sql.error ? sql.error : run_query(reader, gp_buf_str(&sql), GP_EVENT_AGENT, device);
	gp_buf_free(&sql);
	return ret;
}

static int read_run(struct reader *reader)
{
	int ret = read_devices(reader);

	if (!ret)
		ret = read_spans(reader, "region", "N.string", "NULL", GP_EVENT_CALL);
	if (!ret)
		ret = read_spans(reader, "kernel_dispatch",
				 "COALESCE(S.display_name,S.kernel_name)",
				 "NULL,X.grid_size_x,X.grid_size_y,X.grid_size_z,"
				 "X.workgroup_size_x,X.workgroup_size_y,X.workgroup_size_z,"
				 "S.arch_vgpr_count,S.sgpr_count,"
				 "X.group_segment_size,X.private_segment_size",
				 GP_EVENT_KERNEL);
	return ret ? ret : read_spans(reader, "memory_copy", "N.string", "X.size", GP_EVENT_COPY);
}

static bool usable(const char *suffix)
{
	size_t len = strlen(suffix);

	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)suffix[i]) && suffix[i] != '_' && suffix[i] != '-')
			return false;
	return len < SUFFIX_MAX;
}

static int read_runs(struct reader *reader)
{
	static const char base[] = "rocpd_info_process";
	static const char sql[] = "SELECT name FROM sqlite_master WHERE type='table' AND "
				  "name GLOB 'rocpd_info_process*' ORDER BY name";
	sqlite3_stmt *row = NULL;
	int status = sqlite3_prepare_v2(reader->db, sql, -1, &row, NULL), ret = 0;

	for (int i = 0; status == SQLITE_OK && !ret && i < RUNS_MAX; i++) {
		const char *table;
		char suffix[SUFFIX_MAX];

		if (sqlite3_step(row) != SQLITE_ROW)
			break;
		table = (const char *)sqlite3_column_text(row, 0);
		if (!table || !usable(table + sizeof(base) - 1)) {
			reader->stats->damaged++;
			continue;
		}
		snprintf(suffix, sizeof(suffix), "%s", table + sizeof(base) - 1);
		reader->run = suffix;
		reader->stats->kind = GP_ROCPROF_V3_DB;
		ret = read_run(reader);
	}
	if (status != SQLITE_OK)
		ret = step_failed(reader, status);
	sqlite3_finalize(row);
	return ret;
}

static int read_database(struct reader *reader, int fd)
{
	char uri[64];
	int status, ret;

	/* Immutable: nothing is locked or written beside the file. */
	snprintf(uri, sizeof(uri), "file:/proc/self/fd/%d?mode=ro&immutable=1", fd);
	status = sqlite3_open_v2(uri, &reader->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
	if (status != SQLITE_OK) {
		ret = gp_fail(reader->diag, -EIO, "cannot open %s: %s", reader->file,
			      reader->db ? sqlite3_errmsg(reader->db) : sqlite3_errstr(status));
	} else {
		/* Nothing is written; without this, a file that ends early is refused whole. */
		sqlite3_db_config(reader->db, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, NULL);
		sqlite3_db_config(reader->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
		ret = read_runs(reader);
	}
	sqlite3_close(reader->db);
	return ret;
}

#else

static int read_database(struct reader *reader, int fd)
{
	(void)fd;
	return gp_fail(reader->diag, -EOPNOTSUPP,
		       "%s is a SQLite database, but gpreempt was built without SQLite; run "
		       "rocprofv3 with --output-format csv",
		       reader->file);
}
#endif

int gp_trace_rocpd(int fd, const char *name, struct gp_diag *diag, gp_event_fn fn, void *ctx,
		   struct gp_trace_rocprof_stats *stats)
{
	struct reader reader = {.file = name, .diag = diag, .fn = fn, .ctx = ctx, .stats = stats};

	return read_database(&reader, fd);
}
