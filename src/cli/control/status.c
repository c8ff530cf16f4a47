// SPDX-License-Identifier: MIT
/* gpreempt status: who holds what, and the queues of a process with their holders. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/parse.h"
#include "show/table.h"
#include "show/term.h"
#include "base/clock.h"
#include "cli/control/target_command.h"

enum { OPTION_JSON = 'j', OPTION_GROUP = 'g', TIMEOUT_MS = 10000 };

struct status {
	const struct gp_command *command;
	struct gp_command_diag sink;
	const char *group;
	u32 pid;
	u32 *ids; /* only these queues; NULL: all */
	size_t id_count;
	bool json;
	u64 now_ns;
	struct gp_cli_holder holder;
};

static int set(void *ctx, int id, const char *value)
{
	struct status *status = ctx;

	if (id == OPTION_JSON)
		status->json = true;
	else
		status->group = value;
	return 0;
}

static const char *mechanism_name(u32 mechanism)
{
	return gpreempt_mechanism_name((enum gpreempt_mechanism)mechanism);
}

/* Seconds since a moment; negative before it. */
static double seconds_since(const struct status *status, u64 then_ns)
{
	return ((double)status->now_ns - (double)then_ns) / 1e9;
}

static int print_json(json_t *json)
{
	int error = gp_json_print(stdout, json, false);

	json_decref(json);
	return error;
}

static int print_table(struct gp_table *table)
{
	int error = gp_table_print(table, stdout, gp_term_colour(stdout));

	gp_table_free(table);
	return error;
}

/* ---- every suspension ---- */

static int show_holds_json(const struct status *status, const struct gp_cli_holds *holds)
{
	json_t *list = json_array();

	for (size_t i = 0; i < holds->count; i++) {
		const struct gp_proto_msg_hold *hold = &holds->items[i];
		json_t *item = json_pack("{si}", "pid", hold->pid);

		json_object_set_new(item, "queues", gp_json_u64_if(hold->queues, hold->queues));
		json_object_set_new(item, "mechanism",
				    gp_json_str(mechanism_name(hold->mechanism)));
		json_object_set_new(item, "copy_engines",
				    json_boolean(hold->flags & GP_SUSPEND_COPIES));
		json_object_set_new(item, "owner_pid", json_integer(hold->owner_pid));
		json_object_set_new(item, "owner",
				    gp_json_text(hold->owner,
						 strnlen(hold->owner, sizeof(hold->owner))));
		json_object_set_new(item, "held_s",
				    json_real(seconds_since(status, hold->since_ns)));
		json_object_set_new(item, "lease_left_s",
				    json_real(-seconds_since(status, hold->lease_ends_ns)));
		json_array_append_new(list, item);
	}
	return print_json(json_pack("{si so}", "holder", (int)status->holder.pid, "holds", list));
}

static int show_holds(const struct status *status, const struct gp_cli_holds *holds)
{
	struct gp_table *table = gp_table_new();
	char owner[GP_PROTO_NAME];

	gp_table_column(table, _("PID"), GP_RIGHT);
	gp_table_column(table, _("QUEUES"), GP_RIGHT);
	gp_table_column(table, _("MECHANISM"), GP_LEFT);
	gp_table_column(table, _("HELD"), GP_RIGHT);
	gp_table_column(table, _("LEASE"), GP_RIGHT);
	gp_table_column(table, _("OWNER"), GP_LEFT);
	gp_table_column(table, _("OWNER PID"), GP_RIGHT);
	for (size_t i = 0; i < holds->count; i++) {
		const struct gp_proto_msg_hold *hold = &holds->items[i];

		gp_wire_text(owner, sizeof(owner), hold->owner, sizeof(hold->owner));
		gp_table_cellf(table, "%d", hold->pid);
		if (hold->queues)
			gp_table_cellf(table, "%u", hold->queues);
		else
			gp_table_cell(table, hold->flags & GP_SUSPEND_COPIES ? _("all, copies")
									     : _("all"));
		gp_table_cell(table, mechanism_name(hold->mechanism));
		gp_table_cellf(table, "%.1f s", seconds_since(status, hold->since_ns));
		gp_table_cellf(table, "%.2f s", -seconds_since(status, hold->lease_ends_ns));
		gp_table_cell(table, owner);
		gp_table_cellf(table, "%d", hold->owner_pid);
	}
	return print_table(table);
}

static int all_holds(struct status *status)
{
	struct gp_cli_holds holds = {0};
	int error = gp_cli_holder_connect(&status->holder, TIMEOUT_MS);

	if (!error)
		error = gp_cli_holder_holds(&status->holder, &holds, TIMEOUT_MS);
	status->now_ns = gp_monotonic_ns();
	if (error == -ENOENT) {
		status->holder.pid = 0;
		error = 0;
	}
	if (error == -ETIME)
		gp_fail(&status->sink.diag, error,
			"the holder (pid %d) does not answer; 'gpreempt release --all' ends it",
			(int)status->holder.pid);
	else if (error)
		gp_fail(&status->sink.diag, error, "cannot ask the holder: %s", strerror(-error));
	else if (status->json)
		error = show_holds_json(status, &holds);
	else if (holds.count)
		error = show_holds(status, &holds);
	else
		puts(status->holder.pid ? _("Nothing is suspended.")
					: _("Nothing is suspended: no holder runs."));
	free(holds.items);
	gp_cli_holder_close(&status->holder);
	return error;
}

/* ---- one job ---- */

static const char *state_name(u32 state)
{
	static const char *const names[] = {N_("running"), N_("suspended"), N_("failed")};

	return state < GP_ARRAY_SIZE(names) ? names[state] : NULL;
}

static const char *type_name(u32 type)
{
	static const char *const names[] = {"compute", "sdma", "aql", "sdma-xgmi"};

	return type < GP_ARRAY_SIZE(names) ? names[type] : NULL;
}

static json_t *queue_json(const struct status *status, const struct gpreempt_queue *queue)
{
	u32 valid = queue->valid;
	bool busy_known = valid & GPREEMPT_QUEUE_ACTIVITY;
	json_t *json = json_pack("{si}", "pid", queue->pid);

	json_object_set_new(json, "kfd_id",
			    gp_json_u64_if(valid & GPREEMPT_QUEUE_KFD_ID, queue->kfd_id));
	json_object_set_new(json, "hsa_id",
			    gp_json_u64_if(valid & GPREEMPT_QUEUE_HSA_ID, queue->hsa_id));
	json_object_set_new(json, "gpu_id", json_integer(queue->gpu_id));
	json_object_set_new(json, "type", gp_json_str(type_name(queue->type)));
	json_object_set_new(json, "state", gp_json_str(state_name(queue->state)));
	json_object_set_new(json, "ring", gp_json_hex_if(valid & GPREEMPT_QUEUE_RING, queue->ring));
	json_object_set_new(json, "ring_bytes",
			    gp_json_u64_if(valid & GPREEMPT_QUEUE_RING, queue->ring_bytes));
	json_object_set_new(json, "object",
			    gp_json_hex_if(valid & GPREEMPT_QUEUE_OBJECT, queue->object));
	json_object_set_new(json, "read_index",
			    gp_json_u64_if(valid & GPREEMPT_QUEUE_POINTERS, queue->read_index));
	json_object_set_new(json, "write_index",
			    gp_json_u64_if(valid & GPREEMPT_QUEUE_POINTERS, queue->write_index));
	json_object_set_new(json, "hardware_priority",
			    gp_json_u64_if(valid & GPREEMPT_QUEUE_PRIORITY,
					   queue->hardware_priority));
	json_object_set_new(json, "logical_priority", json_integer(queue->logical_priority));
	json_object_set_new(json, "busy", busy_known ? json_boolean(queue->busy) : json_null());
	json_object_set_new(json, "owner_pid",
			    gp_json_u64_if(queue->owner_pid > 0, (u64)queue->owner_pid));
	json_object_set_new(json, "held_s",
			    queue->since_ns ? json_real(seconds_since(status, queue->since_ns))
					    : json_null());
	return json;
}

static int show_job_json(const struct status *status, const struct gpreempt_target_info *info,
			 const struct gpreempt_queue *queues, size_t count)
{
	json_t *list = json_array(), *json = json_object();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, queue_json(status, &queues[i]));
	json_object_set_new(json, "pid", gp_json_u64_if(status->pid != 0, status->pid));
	json_object_set_new(json, "group", gp_json_str(status->group));
	json_object_set_new(json, "mechanism", gp_json_str(mechanism_name(info->mechanism)));
	json_object_set_new(json, "why", gp_json_str(info->why));
	json_object_set_new(json, "processes", json_integer(info->process_count));
	json_object_set_new(json, "priority", json_integer(info->priority));
	json_object_set_new(json, "suspended", json_boolean(info->suspended));
	json_object_set_new(json, "copy_engines", json_boolean(info->copies));
	json_object_set_new(json, "owners", json_integer(info->owner_count));
	json_object_set_new(json, "owner_pid",
			    gp_json_u64_if(info->owner_pid > 0, (u64)info->owner_pid));
	json_object_set_new(json, "held_s",
			    info->since_ns ? json_real(seconds_since(status, info->since_ns))
					   : json_null());
	json_object_set_new(json, "queues", list);
	return print_json(json);
}

static void queue_columns(struct gp_table *table)
{
	gp_table_column(table, _("QUEUE"), GP_RIGHT);
	gp_table_column(table, _("PID"), GP_RIGHT);
	gp_table_column(table, _("GPU"), GP_RIGHT);
	gp_table_column(table, _("TYPE"), GP_LEFT);
	gp_table_column(table, _("STATE"), GP_LEFT);
	gp_table_column(table, _("BUSY"), GP_LEFT);
	gp_table_column(table, _("RING"), GP_LEFT);
	gp_table_optional(table);
	gp_table_column(table, _("READ"), GP_RIGHT);
	gp_table_optional(table);
	gp_table_column(table, _("WRITE"), GP_RIGHT);
	gp_table_optional(table);
	gp_table_column(table, _("PRIORITY"), GP_RIGHT);
	gp_table_column(table, _("HELD"), GP_RIGHT);
	gp_table_optional(table);
	gp_table_column(table, _("OWNER PID"), GP_RIGHT);
	gp_table_optional(table);
}

/* A cell when it is known. */
#define CELL_IF(table, known, ...)                          \
	do {                                                \
		if (known)                                  \
			gp_table_cellf(table, __VA_ARGS__); \
		else                                        \
			gp_table_missing(table);            \
	} while (0)

static void queue_row(const struct status *status, struct gp_table *table,
		      const struct gpreempt_queue *queue)
{
	u32 valid = queue->valid;
	bool pointers = valid & GPREEMPT_QUEUE_POINTERS;
	const char *state = state_name(queue->state);

	CELL_IF(table, valid & GPREEMPT_QUEUE_KFD_ID, "%u", queue->kfd_id);
	gp_table_cellf(table, "%d", queue->pid);
	gp_table_cellf(table, "%x", queue->gpu_id);
	gp_table_cell(table, type_name(queue->type));
	gp_table_cell(table, state ? gettext(state) : NULL);
	if (queue->state != GPREEMPT_QUEUE_RUNNING)
		gp_table_paint(table, queue->state == GPREEMPT_QUEUE_ERROR ? GP_RED : GP_YELLOW);
	CELL_IF(table, valid & GPREEMPT_QUEUE_ACTIVITY, "%s", queue->busy ? _("yes") : _("no"));
	CELL_IF(table, valid & GPREEMPT_QUEUE_RING, "0x%llx", (unsigned long long)queue->ring);
	CELL_IF(table, pointers, "%llu", (unsigned long long)queue->read_index);
	CELL_IF(table, pointers, "%llu", (unsigned long long)queue->write_index);
	gp_table_cellf(table, "%u", queue->logical_priority);
	CELL_IF(table, queue->since_ns, "%.1f s", seconds_since(status, queue->since_ns));
	CELL_IF(table, queue->owner_pid > 0, "%d", queue->owner_pid);
}

/* Each user has a holder of its own, which knows nothing of the others'. */
static bool stopped_by_others(const struct gpreempt_target_info *info,
			      const struct gpreempt_queue *queues, size_t count)
{
	bool all = count && !info->suspended;

	for (size_t i = 0; i < count; i++)
		all &= queues[i].state == GPREEMPT_QUEUE_SUSPENDED;
	return all;
}

static int show_job(const struct status *status, const struct gpreempt_target_info *info,
		    const struct gpreempt_queue *queues, size_t count)
{
	struct gp_table *table = gp_table_new();
	char name[128];

	gp_cli_target_name(name, sizeof(name), status->pid, status->group);
	if (info->suspended)
		printf(ngettext("%s: suspended for %.1f s by process %d (%u owner), priority %u\n",
				"%s: suspended for %.1f s by process %d (%u owners), priority %u\n",
				info->owner_count),
		       name, seconds_since(status, info->since_ns), info->owner_pid,
		       info->owner_count, info->priority);
	else if (stopped_by_others(info, queues, count))
		printf(_("%s: stopped, by the holder of another user; priority %u\n"), name,
		       info->priority);
	else
		printf(_("%s: running, priority %u\n"), name, info->priority);
	if (info->copies && info->mechanism == GPREEMPT_NV_SUSPEND)
		puts(_("its copies between host and GPU are stopped as well"));
	printf(_("mechanism %s: %s\n\n"),
	       mechanism_name(info->mechanism) ? mechanism_name(info->mechanism) : "?", info->why);
	queue_columns(table);
	for (size_t i = 0; i < count; i++)
		queue_row(status, table, &queues[i]);
	return print_table(table);
}

static int read_job(struct gpreempt_target *target, struct gpreempt_target_info *info,
		    struct gpreempt_queue **queues, size_t *count)
{
	size_t room = GPREEMPT_QUEUES_MAX;

	*queues = calloc(room, sizeof(**queues));
	if (!*queues)
		return -ENOMEM;
	/* The queues first: asking for them brings the priority it was started with. */
	int total = gpreempt_target_queues(target, *queues, room);
	if (total < 0)
		return total;
	int error = gpreempt_target_info(target, info);
	if (error < 0)
		return error;
	*count = (size_t)total < room ? (size_t)total : room;
	return 0;
}

/* Leaves the named queues, in the order they were named. -ENOENT: there is no such queue. */
static int pick(const struct status *status, struct gpreempt_queue **queues, size_t *count)
{
	struct gpreempt_queue *picked = calloc(status->id_count, sizeof(*picked));

	if (!picked)
		return -ENOMEM;
	for (size_t i = 0; i < status->id_count; i++) {
		size_t q = 0;

		while (q < *count && !((*queues)[q].valid & GPREEMPT_QUEUE_KFD_ID &&
				       (*queues)[q].kfd_id == status->ids[i]))
			q++;
		if (q == *count) {
			free(picked);
			return -ENOENT;
		}
		picked[i] = (*queues)[q];
	}
	free(*queues);
	*queues = picked;
	*count = status->id_count;
	return 0;
}

static int one_job(struct status *status)
{
	struct gpreempt_target_info info = {.size = sizeof(info)};
	struct gpreempt_queue *queues = NULL;
	struct gpreempt *context = NULL;
	struct gpreempt_target *target;
	size_t count = 0;
	int error = gpreempt_open(&context);

	if (!error && status->group)
		error = gpreempt_group_open(context, status->group, NULL, &target);
	else if (!error)
		error = gpreempt_target_open(context, (int)status->pid, NULL, &target);
	if (!error)
		error = read_job(target, &info, &queues, &count);
	if (!error && status->id_count)
		error = pick(status, &queues, &count);
	status->now_ns = gp_monotonic_ns();
	if (error == -ENOENT && status->id_count)
		gp_fail(&status->sink.diag, error, "process %u has no such queue", status->pid);
	else if (error && !gp_cli_target_elsewhere(status->pid, "status", &status->sink.diag))
		gp_fail(&status->sink.diag, error, "%s", gpreempt_error(context));
	else if (error)
		; /* it was said */
	else if (status->group && !info.process_count)
		error = gp_fail(&status->sink.diag, -ESRCH, "group '%s': %s", status->group,
				info.why);
	else if (status->json)
		error = show_job_json(status, &info, queues, count);
	else
		error = show_job(status, &info, queues, count);
	free(queues);
	gpreempt_close(context);
	return error;
}

static int run(const struct gp_command *command, int argc, char **argv)
{
	struct status *status = calloc(1, sizeof(*status));
	int first, result;

	if (!status)
		return GP_EXIT_FAILED;
	status->command = command;
	status->holder.socket = -1;
	gp_command_diag_init(&status->sink, command);
	result = gp_command_parse(command, argc, argv, set, status, &first);
	if (result)
		result = result < 0 ? GP_EXIT_USAGE : GP_EXIT_OK;
	else if (status->group && first < argc)
		result =
			gp_usage_error(command, "there is nothing to do with '%s'", argv[argc - 1]);
	else if (first < argc && !gp_argument_pid(argv[first], &status->pid))
		result = gp_usage_error(command, "'%s' is not a pid", argv[first]);
	else if (first < argc && gp_cli_queue_arguments(command, argc, argv, first + 1,
							&status->ids, &status->id_count))
		result = GP_EXIT_USAGE;
	else if (status->pid || status->group)
		result = one_job(status) ? GP_EXIT_FAILED : GP_EXIT_OK;
	else
		result = all_holds(status) ? GP_EXIT_FAILED : GP_EXIT_OK;
	free(status->ids);
	free(status);
	return result;
}

static const struct gp_option options[] = {
	{OPTION_GROUP, "group", GP_REQUIRED_ARGUMENT, "NAME", GP_COMPLETE_NONE,
	 N_("all processes that 'gpreempt run --group NAME' started")},
	{OPTION_JSON, "json", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("print JSON (schema: docs/reference/json.md)")},
	{0},
};

const struct gp_command gp_cli_status = {
	.name = "status",
	.arguments = "[PID [QUEUE...]]",
	.completion = GP_COMPLETE_PID,
	.summary = N_("Show suspensions, their owners and their age"),
	.description = N_("Without PID: every suspension of this user, with what is left of its "
			  "lease. With\nPID: its queues (or the named ones), which of them are "
			  "suspended, and the mechanism\nthat would be used and why. QUEUE is the "
			  "KFD id that 'gpreempt suspend' takes."),
	.options = options,
	.examples = "  gpreempt status\n"
		    "  gpreempt status 4711\n"
		    "  # ids of its suspended queues\n"
		    "  gpreempt status 4711 --json | jq '.queues[] | select(.state == "
		    "\"suspended\") | .kfd_id'\n",
	.run = run,
};
