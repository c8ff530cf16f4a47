// SPDX-License-Identifier: MIT
/* The JSON text of `gpreempt vgpu status`. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "vgpu/server/state.h"

/* "0xffff0000ffff", the highest CU first; null: all of them. */
static json_t *mask_json(const u64 *mask)
{
	char text[2 + GP_MODEL_CU_WORDS * 16 + 1], *p = text;
	size_t words = GP_MODEL_CU_WORDS;

	while (words && !mask[words - 1])
		words--;
	if (!words)
		return json_null();
	for (size_t i = words; i-- > 0;)
		p += snprintf(p, (size_t)(text + sizeof(text) - p),
			      i + 1 == words ? "0x%llx" : "%016llx", (unsigned long long)mask[i]);
	return json_string(text);
}

static json_t *queue_json(const struct gp_vgpu_queue *queue)
{
	static const char *const types[] = {"compute", "sdma", "aql", "sdma-xgmi",
					    "sdma-by-engine"};
	u32 type = queue->args.queue_type;
	struct gp_model_queue_state state = {0};
	bool known = gp_model_queue_state(queue->device->model, queue->model_queue, &state) == 0;

	return json_pack("{s:I, s:I, s:s, s:I, s:I, s:b, s:b, s:o, s:I, s:I, s:I, s:o, s:o, s:o}",
			 "id", (json_int_t)queue->id, "gpu_id",
			 (json_int_t)queue->device->file.gpu.gpu_id, "type",
			 type < GP_ARRAY_SIZE(types) ? types[type] : "?", "priority",
			 (json_int_t)queue->priority, "percentage", (json_int_t)queue->percent,
			 "suspended", queue->suspended, "evicted", queue->evicted, "ring",
			 gp_json_hex(queue->args.ring_base_address), "submitted",
			 (json_int_t)(queue->completed + queue->in_flight), "launched",
			 (json_int_t)queue->launched, "completed", (json_int_t)queue->completed,
			 "mapped", known ? json_boolean(state.mapped) : json_null(), "cu_ns",
			 gp_json_u64_if(known, state.cu_ns), "cu_mask", mask_json(queue->cu_mask));
}

/* Calls of the process that wait for a debugger: a DESTROY of a suspended queue, RUNTIME_ENABLE. */
static json_int_t blocked(const struct gp_vgpu_process *process)
{
	json_int_t count = 0;

	for (const struct gp_vgpu_request *r = process->parked; r; r = r->next)
		count++;
	return count;
}

/* Calls that wait for their turn, or that others wait for: the process's line. */
static json_int_t in_line(const struct gp_vgpu_process *process)
{
	json_int_t count = 0;

	for (const struct gp_vgpu_request *r = process->requests; r; r = r->next)
		count++;
	return count;
}

static json_t *process_json(const struct gp_vgpu_server *server,
			    const struct gp_vgpu_process *process, bool with_queues)
{
	static const char *const states[] = {"disabled", "enabled", "enabled-busy",
					     "enabled-error"};
	json_t *queues = with_queues ? json_array() : json_null(), *vram = json_object();

	for (u32 id = 0; with_queues && id < GP_VGPU_MAX_QUEUES; id++)
		if (process->queues[id])
			json_array_append_new(queues, queue_json(process->queues[id]));
	for (u32 i = 0; i < server->device_count; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%u", server->devices[i].file.gpu.gpu_id);
		json_object_set_new(vram, name, json_integer((json_int_t)process->vram_used[i]));
	}
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:b, s:s, s:o, s:o, s:o}", "pid",
			 (json_int_t)process->pid, "queue_count", (json_int_t)process->queue_count,
			 "pasid", (json_int_t)process->pasid, "blocked", blocked(process),
			 "in_line", in_line(process), "trap_debug",
			 process->debug.enabled && process->runtime_state == GP_KFD_RUNTIME_ENABLED,
			 "runtime",
			 process->runtime_state < GP_ARRAY_SIZE(states)
				 ? states[process->runtime_state]
				 : "?",
			 "debugger",
			 process->debug.enabled && process->debug.debugger
				 ? json_integer(process->debug.debugger->pid)
				 : json_null(),
			 "vram_bytes", vram, "queues", queues);
}

static json_t *model_json(const struct gp_vgpu_device *device)
{
	struct gp_model_stats stats;

	gp_model_stats(device->model, &stats);
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:I, s:I}", "now_ns",
			 (json_int_t)stats.now_ns, "updates", (json_int_t)stats.updates,
			 "rotations", (json_int_t)stats.rotations, "saved_bytes",
			 (json_int_t)stats.saved_bytes, "restored_bytes",
			 (json_int_t)stats.restored_bytes, "busy_cu_ns",
			 (json_int_t)stats.busy_cu_ns, "switch_ns", (json_int_t)stats.switch_ns,
			 "oversubscribed", stats.oversubscribed, "mapped_queues",
			 (json_int_t)stats.mapped_queues, "mapped_processes",
			 (json_int_t)stats.mapped_processes);
}

/* Updates that are asked for or under way; those that are over are in the model's figures. */
static json_int_t pending(const struct gp_vgpu_device *device)
{
	json_int_t count = 0;

	for (const struct gp_vgpu_update *update = device->updates; update; update = update->next)
		count++;
	return count;
}

/* What the driver sent last, oldest first. */
static json_t *packets_json(const struct gp_vgpu_device *device)
{
	u64 count = GP_MIN(device->packet_count, (u64)GP_VGPU_PACKETS);
	json_t *packets = json_array();
	char text[32];

	for (u64 i = device->packet_count - count; i < device->packet_count; i++) {
		gp_vgpu_packet_text(&device->packets[i % GP_VGPU_PACKETS], text, sizeof(text));
		json_array_append_new(packets, json_string(text));
	}
	return packets;
}

static json_t *device_json(const struct gp_vgpu_device *device)
{
	const struct gp_vgpu_gpufile *file = &device->file;

	return json_pack(
		"{s:I, s:I, s:I, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:b, s:I, s:b, s:I, s:o, "
		"s:I, s:o}",
		"node", (json_int_t)device->node, "gpu_id", (json_int_t)file->gpu.gpu_id,
		"render_minor", (json_int_t)file->gpu.render_minor, "gpu", file->name, "title",
		file->title, "personality", gp_vgpu_personality_name(file->personality),
		"gfx_version", (json_int_t)file->gpu.gfx_version, "cus",
		(json_int_t)file->gpu.cu_count, "xccs", (json_int_t)file->gpu.xcc_count,
		"vram_bytes", (json_int_t)file->gpu.vram_bytes, "vram_used",
		(json_int_t)device->vram_used, "hung", device->hung, "resets",
		(json_int_t)device->resets, "mes", 0, "updates_pending", pending(device), "packets",
		packets_json(device), "packets_sent", (json_int_t)device->packet_count, "model",
		model_json(device));
}

/* With the queues of all processes, or without when that would not fit in a message. */
static char *status_text(struct gp_vgpu_server *server, bool with_queues)
{
	static const char *const eras[] = {[GP_ERA_6_1] = "6.1",
					   [GP_ERA_6_5] = "6.5",
					   [GP_ERA_6_12] = "6.12",
					   [GP_ERA_6_16] = "6.16",
					   [GP_ERA_7_0] = "7.0"};
	json_t *devices = json_array(), *processes = json_array(), *json;
	char *text;

	for (u32 i = 0; i < server->device_count; i++)
		json_array_append_new(devices, device_json(&server->devices[i]));
	for (const struct gp_vgpu_process *p = server->processes; p; p = p->next)
		if (!p->dead)
			json_array_append_new(processes, process_json(server, p, with_queues));
	json = json_pack(
		"{s:i, s:s, s:I, s:s, s:I, s:b, s:I, s:b, s:I, s:b, s:b, s:I, s:o, s:o, s:O?}",
		"version", 1, "directory", server->options.directory, "speed_permille",
		(json_int_t)server->options.speed_permille, "era", eras[server->options.era],
		"seed", (json_int_t)server->options.seed, "runtime_enable",
		server->options.runtime_enable, "preemption_timeout_ms",
		(json_int_t)server->options.preemption_timeout_ms, "checkpoint",
		server->options.checkpoint, "sched_policy", (json_int_t)server->options.policy,
		"gpu_recovery", server->options.recovery, "held",
		server->due_ns >= server->hold_at_ns, "freed_writes",
		(json_int_t)server->freed_writes, "gpus", devices, "processes", processes,
		"figures", server->device_count ? server->devices[0].file.figures : NULL);
	text = json ? json_dumps(json, JSON_COMPACT) : NULL;
	json_decref(json);
	return text;
}

int gp_vgpu_server_status(struct gp_vgpu_server *server, struct gp_buf *out)
{
	char *text = status_text(server, true);

	if (text && strlen(text) > GP_VGPU_PAYLOAD_MAX) {
		free(text);
		text = status_text(server, false);
	}
	if (!text)
		return -ENOMEM;
	gp_buf_puts(out, text);
	free(text);
	return out->error;
}
