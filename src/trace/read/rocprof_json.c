// SPDX-License-Identifier: MIT
/* The JSON of rocprof v1 (a Chrome trace) and of rocprofv3 (its own tree). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/jsonwalk.h"
#include "trace/read/rocprof_parts.h"
#include "base/string_table.h"

enum {
	P_V1_EVENT,
	P_V1_OTHER,
	P_V3_METADATA,
	P_V3_AGENT,
	P_V3_STRINGS,
	P_V3_SYMBOL,
	P_V3_KERNEL,
	P_V3_HIP,
	P_V3_HSA,
	P_V3_COPY,
};

#define V3 "/rocprofiler-sdk-tool/#/"
static const char *const paths[] = {
	[P_V1_EVENT] = "/traceEvents/#",
	[P_V1_OTHER] = "/otherData",
	[P_V3_METADATA] = V3 "metadata",
	[P_V3_AGENT] = V3 "agents/#",
	[P_V3_STRINGS] = V3 "strings/buffer_records/#",
	[P_V3_SYMBOL] = V3 "kernel_symbols/#",
	[P_V3_KERNEL] = V3 "buffer_records/kernel_dispatch/#",
	[P_V3_HIP] = V3 "buffer_records/hip_api/#",
	[P_V3_HSA] = V3 "buffer_records/hsa_api/#",
	[P_V3_COPY] = V3 "buffer_records/memory_copy/#",
};

/* Chrome pids of a v1 trace: what each stands for, as its metadata say. */
#define TRACKS 1200
enum track { TRACK_UNKNOWN, TRACK_HIP, TRACK_HSA, TRACK_COPY, TRACK_GPU, TRACK_OTHER };

struct reader {
	gp_event_fn fn;
	void *ctx;
	struct gp_trace_rocprof_stats *stats;
	u8 tracks[TRACKS];
	u32 pid; /* v3: of the process whose records come */
	bool has_pid;
	struct gp_strings names;
	struct gp_map symbols;    /* (0, kernel id) -> name */
	struct gp_map operations; /* (kind, operation) -> name */
	u64 kinds;                /* v3: elements of strings/buffer_records so far */
};

/* Numbers are strings in v1 and numbers in v3. */
static bool number(const json_t *object, const char *key, u64 *value)
{
	const json_t *found = json_object_get(object, key);
	const char *p, *end;

	if (json_is_integer(found) && json_integer_value(found) >= 0) {
		*value = (u64)json_integer_value(found);
		return true;
	}
	if (!json_is_string(found))
		return false;
	p = json_string_value(found);
	end = p + json_string_length(found);
	return gp_parse_u64(&p, end, value) && p == end;
}

static bool number32(const json_t *object, const char *key, u32 *value)
{
	u64 wide;

	if (!number(object, key, &wide) || wide > UINT32_MAX)
		return false;
	*value = (u32)wide;
	return true;
}

static void set_name(struct gp_event *event, const json_t *text)
{
	event->name = json_is_string(text) ? json_string_value(text) : "";
	event->name_len = json_is_string(text) ? json_string_length(text) : 0;
}

static int deliver(struct reader *reader, const struct gp_event *event)
{
	reader->stats->rows++;
	return reader->fn ? reader->fn(reader->ctx, event) : 0;
}

/* ---- v1 ---- */

static void v1_track(struct reader *reader, const json_t *value, u64 pid)
{
	const char *name =
		json_string_value(json_object_get(json_object_get(value, "args"), "name"));

	if (!name || pid >= TRACKS)
		return;
	reader->tracks[pid] = !strcmp(name, "CPU HIP API")         ? TRACK_HIP
			      : !strcmp(name, "CPU HSA API")       ? TRACK_HSA
			      : !strcmp(name, "COPY")              ? TRACK_COPY
			      : !strncmp(name, "GPU Barriers", 12) ? TRACK_OTHER
			      : !strncmp(name, "GPU", 3)           ? TRACK_GPU
								   : TRACK_OTHER;
}

static void v1_kernel(const json_t *args, struct gp_event *event)
{
	event->kind = GP_EVENT_KERNEL;
	if (number(args, "gpu-id", &event->gpu))
		event->valid |= GP_EV_GPU;
	if (number(args, "queue-id", &event->queue))
		event->valid |= GP_EV_QUEUE;
	if (number(args, "grd", &event->grid) && number(args, "wgr", &event->workgroup))
		event->valid |= GP_EV_GRID;
	if ((number32(args, "arch_vgpr", &event->vgpr) || number32(args, "vgpr", &event->vgpr)) &&
	    number32(args, "sgpr", &event->sgpr))
		event->valid |= GP_EV_REGISTERS;
	if (number(args, "lds", &event->lds) && number(args, "scr", &event->scratch))
		event->valid |= GP_EV_LDS;
	if (number32(args, "wave_size", &event->wave))
		event->valid |= GP_EV_WAVE;
	if (number(args, "DispatchNs", &event->dispatch_ns) &&
	    number(args, "CompleteNs", &event->complete_ns))
		event->valid |= GP_EV_STAGES;
}

static int v1_event(struct reader *reader, const json_t *value)
{
	struct gp_event event = {.clock = GP_CLOCK_BOOTTIME};
	const json_t *args = json_object_get(value, "args");
	const char *phase = json_string_value(json_object_get(value, "ph"));
	u64 pid, begin, end;

	reader->stats->kind = GP_ROCPROF_V1_JSON;
	if (!phase || !number(value, "pid", &pid))
		return 0; /* the first element is empty, and flows carry nothing else */
	if (*phase == 'M')
		v1_track(reader, value, pid);
	if (*phase != 'X' || pid >= TRACKS || reader->tracks[pid] == TRACK_OTHER)
		return 0;
	if (!number(args, "BeginNs", &begin) || !number(args, "EndNs", &end)) {
		reader->stats->damaged++;
		return 0;
	}
	set_name(&event, json_object_get(value, "name"));
	if (!gp_trace_rocprof_times(&event, begin, end, reader->stats))
		return 0;
	if (number32(args, "pid", &event.pid))
		event.valid |= GP_EV_PID;
	if (number(args, "tid", &event.tid))
		event.valid |= GP_EV_TID;
	switch (reader->tracks[pid]) {
	case TRACK_GPU:
		v1_kernel(args, &event);
		break;
	case TRACK_COPY:
		event.kind = GP_EVENT_COPY;
		break;
	default: {
		const json_t *text = json_object_get(args, "args");

		event.kind = GP_EVENT_CALL;
		event.layer = reader->tracks[pid] == TRACK_HIP ? GP_LAYER_HIP
			      : reader->tracks[pid] == TRACK_HSA
				      ? GP_LAYER_HSA
				      : gp_trace_rocprof_layer(NULL, event.name, event.name_len);
		if (json_is_string(text))
			gp_trace_rocprof_bytes(&event, json_string_value(text),
					       json_string_length(text));
	}
	}
	return deliver(reader, &event);
}

/* rocminfo's output, flattened: "Agent3.Node", "Agent3.ComputeUnit", "Agent3.MarketingName". */
static int v1_other(struct reader *reader, const json_t *value)
{
	char key[64];

	reader->stats->kind = GP_ROCPROF_V1_JSON;
	for (u32 i = 1; i < 1000; i++) {
		struct gp_event event = {.kind = GP_EVENT_AGENT, .clock = GP_CLOCK_BOOTTIME};
		int ret;

		snprintf(key, sizeof(key), "Agent%u.Node", i);
		if (!number(value, key, &event.gpu))
			break;
		snprintf(key, sizeof(key), "Agent%u.ComputeUnit", i);
		if (!number(value, key, &event.count))
			continue;
		snprintf(key, sizeof(key), "Agent%u.MarketingName", i);
		set_name(&event, json_object_get(value, key));
		event.valid = GP_EV_GPU | GP_EV_COUNT;
		ret = deliver(reader, &event);
		if (ret)
			return ret;
	}
	return 0;
}

/* ---- v3 ---- */

static int v3_strings(struct reader *reader, const json_t *value)
{
	const json_t *operations = json_object_get(value, "operations"), *text;
	u64 kind = reader->kinds++;
	size_t i;

	json_array_foreach(operations, i, text)
	{
		u32 id;

		if (!json_is_string(text))
			continue;
		if (gp_strings_add(&reader->names, json_string_value(text),
				   json_string_length(text), &id) ||
		    gp_map_put(&reader->operations, kind, i, id))
			return -ENOMEM;
	}
	return 0;
}

static int v3_symbol(struct reader *reader, const json_t *value)
{
	const json_t *text = json_object_get(value, "formatted_kernel_name");
	u64 kernel;
	u32 id;

	if (!json_is_string(text))
		text = json_object_get(value, "kernel_name");
	if (!json_is_string(text) || !number(value, "kernel_id", &kernel))
		return 0;
	if (gp_strings_add(&reader->names, json_string_value(text), json_string_length(text), &id))
		return -ENOMEM;
	return gp_map_put(&reader->symbols, 0, kernel, id);
}

static void use_name(const struct reader *reader, struct gp_event *event, u32 id)
{
	event->name = id == GP_MAP_NONE ? "" : reader->names.items[id].text;
	event->name_len = id == GP_MAP_NONE ? 0 : reader->names.items[id].len;
}

static bool box(const json_t *object, u64 *value)
{
	u64 x, y, z;

	return number(object, "x", &x) && number(object, "y", &y) && number(object, "z", &z) &&
	       !__builtin_mul_overflow(x, y, value) && !__builtin_mul_overflow(*value, z, value);
}

static void v3_kernel(const struct reader *reader, const json_t *value, struct gp_event *event)
{
	const json_t *info = json_object_get(value, "dispatch_info");
	u64 kernel = 0;

	event->kind = GP_EVENT_KERNEL;
	use_name(reader, event,
		 number(info, "kernel_id", &kernel) ? gp_map_get(&reader->symbols, 0, kernel)
						    : GP_MAP_NONE);
	if (number(json_object_get(info, "agent_id"), "handle", &event->gpu))
		event->valid |= GP_EV_GPU;
	if (number(json_object_get(info, "queue_id"), "handle", &event->queue))
		event->valid |= GP_EV_QUEUE;
	if (box(json_object_get(info, "grid_size"), &event->grid) &&
	    box(json_object_get(info, "workgroup_size"), &event->workgroup))
		event->valid |= GP_EV_GRID;
	if (number(json_object_get(value, "stream_id"), "handle", &event->stream))
		event->valid |= GP_EV_STREAM;
}

static int v3_record(struct reader *reader, size_t which, const json_t *value)
{
	struct gp_event event = {.clock = GP_CLOCK_BOOTTIME};
	u64 begin, end, kind, operation;

	if (!number(value, "start_timestamp", &begin) || !number(value, "end_timestamp", &end)) {
		reader->stats->damaged++;
		return 0;
	}
	if (!gp_trace_rocprof_times(&event, begin, end, reader->stats))
		return 0;
	if (reader->has_pid) {
		event.pid = reader->pid;
		event.valid |= GP_EV_PID;
	}
	if (number(value, "thread_id", &event.tid))
		event.valid |= GP_EV_TID;
	if (number(json_object_get(value, "correlation_id"), "internal", &event.correlation))
		event.valid |= GP_EV_CORRELATION;
	if (which == P_V3_KERNEL) {
		v3_kernel(reader, value, &event);
		return deliver(reader, &event);
	}
	event.kind = which == P_V3_COPY ? GP_EVENT_COPY : GP_EVENT_CALL;
	event.layer = which == P_V3_HIP ? GP_LAYER_HIP : GP_LAYER_HSA;
	use_name(reader, &event,
		 number(value, "kind", &kind) && number(value, "operation", &operation)
			 ? gp_map_get(&reader->operations, kind, operation)
			 : GP_MAP_NONE);
	if (number(value, "bytes", &event.size))
		event.valid |= GP_EV_BYTES;
	return deliver(reader, &event);
}

static int v3_agent(struct reader *reader, const json_t *value)
{
	struct gp_event event = {.kind = GP_EVENT_AGENT, .clock = GP_CLOCK_BOOTTIME};

	if (!number(json_object_get(value, "id"), "handle", &event.gpu) ||
	    !number(value, "cu_count", &event.count))
		return 0;
	event.valid = GP_EV_GPU | GP_EV_COUNT;
	set_name(&event, json_object_get(value, "product_name"));
	return deliver(reader, &event);
}

static int take_value(void *ctx, size_t which, const json_t *value)
{
	struct reader *reader = ctx;

	if (which == P_V1_EVENT)
		return v1_event(reader, value);
	if (which == P_V1_OTHER)
		return v1_other(reader, value);
	reader->stats->kind = GP_ROCPROF_V3_JSON;
	switch (which) {
	case P_V3_METADATA: /* the next process: its kinds are counted from 0 again */
		reader->has_pid = number32(value, "pid", &reader->pid);
		reader->kinds = 0;
		return 0;
	case P_V3_AGENT:
		return v3_agent(reader, value);
	case P_V3_STRINGS:
		return v3_strings(reader, value);
	case P_V3_SYMBOL:
		return v3_symbol(reader, value);
	default:
		return v3_record(reader, which, value);
	}
}

int gp_trace_rocprof_json(int fd, const char *name, struct gp_diag *diag, gp_event_fn fn, void *ctx,
			  struct gp_trace_rocprof_stats *stats)
{
	struct reader *reader = calloc(1, sizeof(*reader));
	struct gp_json_stats json;
	int ret;

	if (!reader)
		return -ENOMEM;
	reader->fn = fn;
	reader->ctx = ctx;
	reader->stats = stats;
	/* What the numbers stand for where the metadata were lost. */
	reader->tracks[1] = TRACK_COPY;
	reader->tracks[2] = TRACK_HIP;
	reader->tracks[3] = TRACK_HSA;
	memset(reader->tracks + 6, TRACK_GPU, 512);
	memset(reader->tracks + 518, TRACK_OTHER, TRACKS - 518);
	ret = gp_json_walk(fd, name, diag, paths, GP_ARRAY_SIZE(paths), take_value, reader, &json);
	stats->damaged += json.refused;
	stats->cut = json.cut;
	gp_strings_free(&reader->names);
	gp_map_free(&reader->symbols);
	gp_map_free(&reader->operations);
	free(reader);
	return ret;
}
