// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/parse.h"
#include "base/csv.h"
#include "base/map.h"
#include "trace/read/rocprof_parts.h"

/* Every column that says something, under all its spellings; the rest (counters) is left alone. */
enum column {
	C_NAME,
	C_BEGIN,
	C_END,
	C_DISPATCH,
	C_COMPLETE,
	C_PID,
	C_TID,
	C_GPU,
	C_QUEUE,
	C_STREAM,
	C_GRID,
	C_GRID_Y,
	C_GRID_Z,
	C_GROUP,
	C_GROUP_Y,
	C_GROUP_Z,
	C_LDS,
	C_SCRATCH,
	C_VGPR,
	C_SGPR,
	C_WAVE,
	C_CORRELATION,
	C_CALLS,
	C_TOTAL,
	C_MIN,
	C_DOMAIN,
	C_FUNCTION,
	C_DIRECTION,
	C_AGENT_NODE,
	C_AGENT_CUS,
	C_AGENT_NAME,
	C_DISPATCH_ID,
	C_COUNTER,
	C_ALLOCATION,
	C_ALLOC_FLAGS,
	C_SAMPLE,
	COLUMNS,
};

static const struct {
	const char *title;
	enum column column;
} titles[] = {
	{"KernelName", C_NAME},
	{"Kernel_Name", C_NAME},
	{"Name", C_NAME},
	{"BeginNs", C_BEGIN},
	{"Start_Timestamp", C_BEGIN},
	{"Begin_Timestamp", C_BEGIN},
	{"EndNs", C_END},
	{"End_Timestamp", C_END},
	{"DispatchNs", C_DISPATCH},
	{"CompleteNs", C_COMPLETE},
	{"pid", C_PID},
	{"Process_Id", C_PID},
	{"tid", C_TID},
	{"Thread_Id", C_TID},
	{"gpu-id", C_GPU},
	{"GPU_ID", C_GPU},
	{"Agent_Id", C_GPU},
	{"queue-id", C_QUEUE},
	{"Queue_Id", C_QUEUE},
	{"Stream_Id", C_STREAM},
	{"grd", C_GRID},
	{"Grid_Size", C_GRID},
	{"Grid_Size_X", C_GRID},
	{"Grid_Size_Y", C_GRID_Y},
	{"Grid_Size_Z", C_GRID_Z},
	{"wgr", C_GROUP},
	{"Workgroup_Size", C_GROUP},
	{"Workgroup_Size_X", C_GROUP},
	{"Workgroup_Size_Y", C_GROUP_Y},
	{"Workgroup_Size_Z", C_GROUP_Z},
	{"lds", C_LDS},
	{"LDS_Block_Size", C_LDS},
	{"Group_Segment_Size", C_LDS},
	{"LDS_Per_Workgroup", C_LDS},
	{"scr", C_SCRATCH},
	{"Scratch_Size", C_SCRATCH},
	{"Private_Segment_Size", C_SCRATCH},
	{"Scratch_Per_Workitem", C_SCRATCH},
	{"vgpr", C_VGPR},
	{"arch_vgpr", C_VGPR},
	{"VGPR_Count", C_VGPR},
	{"sgpr", C_SGPR},
	{"SGPR_Count", C_SGPR},
	{"wave_size", C_WAVE},
	{"Correlation_Id", C_CORRELATION},
	{"Calls", C_CALLS},
	{"TotalDurationNs", C_TOTAL},
	{"MinNs", C_MIN},
	{"Domain", C_DOMAIN},
	{"Function", C_FUNCTION},
	{"Direction", C_DIRECTION},
	{"Node_Id", C_AGENT_NODE},
	{"Cu_Count", C_AGENT_CUS},
	{"Product_Name", C_AGENT_NAME},
	{"Model_Name", C_AGENT_NAME},
	{"Dispatch_ID", C_DISPATCH_ID},
	{"Counter_Name", C_COUNTER},
	{"Allocation_Size", C_ALLOCATION},
	{"Alloc_Flags", C_ALLOC_FLAGS},
	{"Sample_Timestamp", C_SAMPLE},
};

#define NO_COLUMN SIZE_MAX

struct reader {
	const char *file;
	gp_event_fn fn;
	void *ctx;
	struct gp_trace_rocprof_stats *stats;
	size_t place[COLUMNS];
	enum gp_trace_layer layer; /* of a summary, by the file's name */
	struct gp_map dispatches;  /* of a file with counters: (pid, dispatch) */
};

static bool has(const struct reader *reader, enum column column)
{
	return reader->place[column] != NO_COLUMN;
}

static const struct gp_field *field(const struct reader *reader, const struct gp_csv_record *record,
				    enum column column)
{
	size_t place = reader->place[column];

	return place < record->count ? &record->fields[place] : NULL;
}

static bool number(const struct reader *reader, const struct gp_csv_record *record,
		   enum column column, u64 *value)
{
	const struct gp_field *found = field(reader, record, column);

	return found && gp_field_u64(found, value);
}

static bool number32(const struct reader *reader, const struct gp_csv_record *record,
		     enum column column, u32 *value)
{
	u64 wide;

	if (!number(reader, record, column, &wide) || wide > UINT32_MAX)
		return false;
	*value = (u32)wide;
	return true;
}

/* A summary's rows do not say whose they are; the file's name does. */
static enum gp_trace_layer file_layer(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	if (strcasestr(name, "hip_"))
		return GP_LAYER_HIP;
	if (strcasestr(name, "hsa_"))
		return GP_LAYER_HSA;
	if (strcasestr(name, "copy_stats"))
		return GP_LAYER_COPY;
	if (strcasestr(name, "kernel_stats") || !strcasestr(name, "_stats"))
		return GP_LAYER_KERNEL;
	return GP_LAYER_OTHER;
}

static enum gp_trace_rocprof_kind kernel_kind(const struct reader *reader)
{
	return has(reader, C_DISPATCH) || has(reader, C_WAVE)     ? GP_ROCPROF_V1_KERNELS
	       : has(reader, C_GROUP_Y) || has(reader, C_COUNTER) ? GP_ROCPROF_V3_KERNELS
	       : has(reader, C_DISPATCH_ID) && has(reader, C_GPU) ? GP_ROCPROF_V2_KERNELS
								  : GP_ROCPROF_V1_KERNELS;
}

/* The header row decides what the file is; banners before it are passed over. */
static void take_header(struct reader *reader, const struct gp_csv_record *record)
{
	for (size_t c = 0; c < COLUMNS; c++)
		reader->place[c] = NO_COLUMN;
	for (size_t i = 0; i < record->count; i++) {
		for (size_t t = 0; t < GP_ARRAY_SIZE(titles); t++) {
			if (record->fields[i].len == strlen(titles[t].title) &&
			    strcasecmp(record->fields[i].text, titles[t].title) == 0 &&
			    reader->place[titles[t].column] == NO_COLUMN)
				reader->place[titles[t].column] = i;
		}
	}
	if (has(reader, C_CALLS) && has(reader, C_TOTAL) && has(reader, C_NAME))
		reader->stats->kind =
			has(reader, C_MIN) ? GP_ROCPROF_V3_STATS : GP_ROCPROF_V1_STATS;
	else if (has(reader, C_FUNCTION) && has(reader, C_BEGIN) && has(reader, C_END))
		reader->stats->kind = GP_ROCPROF_V3_CALLS;
	else if (has(reader, C_DIRECTION) && has(reader, C_BEGIN) && has(reader, C_END))
		reader->stats->kind = GP_ROCPROF_V3_COPIES;
	else if (has(reader, C_AGENT_NODE) && has(reader, C_AGENT_CUS))
		reader->stats->kind = GP_ROCPROF_V3_AGENTS;
	else if (has(reader, C_NAME) && has(reader, C_GROUP))
		reader->stats->kind = kernel_kind(reader);
	else if (has(reader, C_ALLOCATION))
		reader->stats->kind = GP_ROCPROF_V3_ALLOCATIONS;
	else if (has(reader, C_ALLOC_FLAGS))
		reader->stats->kind = GP_ROCPROF_V3_SCRATCH;
	else if (has(reader, C_SAMPLE))
		reader->stats->kind = GP_ROCPROF_V3_SAMPLES;
}

static bool product(const struct reader *reader, const struct gp_csv_record *record,
		    enum column first, u64 *value)
{
	u64 more;

	if (!number(reader, record, first, value))
		return false;
	for (enum column c = first + 1; c <= first + 2; c++) {
		if (!has(reader, c))
			continue;
		if (!number(reader, record, c, &more) ||
		    __builtin_mul_overflow(*value, more, value))
			return false;
	}
	return true;
}

/* "Agent 4", "GPU 0" and 4 are all the number. */
static bool agent(const struct gp_field *from, u64 *value)
{
	const char *p, *end;

	if (!from)
		return false;
	p = from->text;
	end = p + from->len;
	while (p < end && !gp_is_digit(*p))
		p++;
	return gp_parse_u64(&p, end, value) && p == end;
}

static void identity(const struct reader *reader, const struct gp_csv_record *record,
		     struct gp_event *event)
{
	if (number32(reader, record, C_PID, &event->pid))
		event->valid |= GP_EV_PID;
	if (number(reader, record, C_TID, &event->tid))
		event->valid |= GP_EV_TID;
	if (number(reader, record, C_CORRELATION, &event->correlation))
		event->valid |= GP_EV_CORRELATION;
}

static bool times(const struct reader *reader, const struct gp_csv_record *record,
		  struct gp_event *event)
{
	u64 begin, end;

	return number(reader, record, C_BEGIN, &begin) && number(reader, record, C_END, &end) &&
	       gp_trace_rocprof_times(event, begin, end, reader->stats);
}

static bool kernel(const struct reader *reader, const struct gp_csv_record *record,
		   struct gp_event *event)
{
	event->kind = GP_EVENT_KERNEL;
	identity(reader, record, event);
	/* In counter mode there are no times; a kernel ran all the same. */
	if (has(reader, C_BEGIN) && !times(reader, record, event))
		return false;
	if (agent(field(reader, record, C_GPU), &event->gpu))
		event->valid |= GP_EV_GPU;
	if (number(reader, record, C_QUEUE, &event->queue))
		event->valid |= GP_EV_QUEUE;
	if (number(reader, record, C_STREAM, &event->stream))
		event->valid |= GP_EV_STREAM;
	if (product(reader, record, C_GRID, &event->grid) &&
	    product(reader, record, C_GROUP, &event->workgroup))
		event->valid |= GP_EV_GRID;
	if (number32(reader, record, C_VGPR, &event->vgpr) &&
	    number32(reader, record, C_SGPR, &event->sgpr))
		event->valid |= GP_EV_REGISTERS;
	if (number(reader, record, C_LDS, &event->lds) &&
	    number(reader, record, C_SCRATCH, &event->scratch))
		event->valid |= GP_EV_LDS;
	if (number32(reader, record, C_WAVE, &event->wave))
		event->valid |= GP_EV_WAVE;
	if (number(reader, record, C_DISPATCH, &event->dispatch_ns) &&
	    number(reader, record, C_COMPLETE, &event->complete_ns))
		event->valid |= GP_EV_STAGES;
	return true;
}

static bool total(const struct reader *reader, const struct gp_csv_record *record,
		  struct gp_event *event)
{
	event->kind = GP_EVENT_TOTAL;
	event->layer = reader->layer;
	if (!number(reader, record, C_CALLS, &event->count) ||
	    !number(reader, record, C_TOTAL, &event->duration_ns))
		return false;
	event->valid |= GP_EV_COUNT | GP_EV_DURATION;
	return true;
}

static bool call(const struct reader *reader, const struct gp_csv_record *record,
		 struct gp_event *event)
{
	const struct gp_field *domain = field(reader, record, C_DOMAIN);

	event->kind = GP_EVENT_CALL;
	event->layer =
		gp_trace_rocprof_layer(domain ? domain->text : NULL, event->name, event->name_len);
	identity(reader, record, event);
	return times(reader, record, event);
}

static bool device(const struct reader *reader, const struct gp_csv_record *record,
		   struct gp_event *event)
{
	event->kind = GP_EVENT_AGENT;
	if (!number(reader, record, C_AGENT_NODE, &event->gpu) ||
	    !number(reader, record, C_AGENT_CUS, &event->count))
		return false;
	event->valid |= GP_EV_GPU | GP_EV_COUNT;
	return true;
}

static bool take_row(struct reader *reader, const struct gp_csv_record *record,
		     struct gp_event *event)
{
	switch (reader->stats->kind) {
	case GP_ROCPROF_V1_STATS:
	case GP_ROCPROF_V3_STATS:
		return total(reader, record, event);
	case GP_ROCPROF_V3_CALLS:
		return call(reader, record, event);
	case GP_ROCPROF_V3_COPIES:
		event->kind = GP_EVENT_COPY;
		identity(reader, record, event);
		return times(reader, record, event);
	case GP_ROCPROF_V3_AGENTS:
		return device(reader, record, event);
	default:
		return kernel(reader, record, event);
	}
}

/* Counter collection writes a row per dispatch and counter: true for all but the first of one. */
static int dispatch_repeats(struct reader *reader, const struct gp_csv_record *record,
			    bool *repeats)
{
	u64 dispatch, pid = 0;

	*repeats = false;
	if (!has(reader, C_COUNTER) || !number(reader, record, C_DISPATCH_ID, &dispatch))
		return 0;
	number(reader, record, C_PID, &pid);
	*repeats = gp_map_get(&reader->dispatches, pid, dispatch) != GP_MAP_NONE;
	return *repeats ? 0 : gp_map_put(&reader->dispatches, pid, dispatch, 0);
}

static int take_record(void *ctx, const struct gp_csv_record *record)
{
	struct reader *reader = ctx;
	struct gp_event event = {.clock = GP_CLOCK_BOOTTIME, .line = record->line};
	const struct gp_field *name;
	u64 backwards = reader->stats->backwards;
	bool repeats;

	if (reader->stats->kind == GP_ROCPROF_NONE) {
		take_header(reader, record);
		return 0;
	}
	if (gp_trace_rocprof_beside(reader->stats->kind))
		return 0;
	if (dispatch_repeats(reader, record, &repeats))
		return -ENOMEM;
	if (repeats)
		return 0;
	name = field(reader, record,
		     has(reader, C_FUNCTION)    ? C_FUNCTION
		     : has(reader, C_DIRECTION) ? C_DIRECTION
		     : has(reader, C_AGENT_CUS) ? C_AGENT_NAME
						: C_NAME);
	if (name) {
		event.name = name->text;
		event.name_len = name->len;
	}
	if (!name || !take_row(reader, record, &event)) {
		if (backwards == reader->stats->backwards) {
			reader->stats->damaged++;
			if (!reader->stats->first_bad_line)
				reader->stats->first_bad_line = record->line;
		}
		return 0;
	}
	reader->stats->rows++;
	return reader->fn ? reader->fn(reader->ctx, &event) : 0;
}

int gp_trace_rocprof_csv(int fd, const char *name, struct gp_diag *diag, gp_event_fn fn, void *ctx,
			 struct gp_trace_rocprof_stats *stats)
{
	struct reader reader = {.file = name, .fn = fn, .ctx = ctx, .stats = stats};
	struct gp_csv_stats csv;
	int ret;

	reader.layer = file_layer(name);
	ret = gp_csv_read(fd, name, diag, take_record, &reader, &csv);
	gp_map_free(&reader.dispatches);
	stats->damaged += csv.damaged;
	if (csv.first_bad_line &&
	    (!stats->first_bad_line || csv.first_bad_line < stats->first_bad_line))
		stats->first_bad_line = csv.first_bad_line;
	return ret;
}
