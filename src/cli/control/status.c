// SPDX-License-Identifier: MIT
/* gpreempt status: who holds what, and the queues of a process with their holders. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/parse.h"
#include "cli/ahead.h"
#include "cli/control/status.h"
#include "cli/daemon/daemon_client.h"

enum { OPTION_GROUP = 'g', TIMEOUT_MS = 10000 };

static int set(void *ctx, int id, const char *value)
{
	struct gp_cli_status *status = ctx;

	if (gp_cli_view_has(id))
		return gp_cli_view_set(&status->view, status->command, id, value);
	status->group = value;
	return 0;
}

const char *gp_cli_status_mechanism(u32 mechanism)
{
	return gpreempt_mechanism_name((enum gpreempt_mechanism)mechanism);
}

double gp_cli_status_since(const struct gp_cli_status *status, u64 then_ns)
{
	return ((double)status->now_ns - (double)then_ns) / 1e9;
}

static struct gp_units_text seconds_text(double seconds)
{
	return gp_duration_text(seconds > 0 ? (u64)(seconds * 1e9) : 0);
}

void gp_cli_status_seconds(struct gp_doc *doc, bool known, double seconds)
{
	gp_doc_cell(doc, gp_v_if(known, gp_v_as(gp_v_real(GP_UNIT_REAL, seconds),
						seconds_text(seconds).text)));
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

static void queue_columns(struct gp_doc *doc)
{
	/* clang-format off */
	static const struct {
		const char *key, *title;
		bool optional;
	} columns[] = {
		{"pid", N_("PID"), false},
		{"kfd_id", N_("QUEUE"), false},
		{"hsa_id", NULL, false},
		{"gpu_id", N_("GPU"), false},
		{"type", N_("TYPE"), false},
		{"state", N_("STATE"), false},
		{"ring", N_("RING"), true},
		{"ring_bytes", NULL, false},
		{"object", NULL, false},
		{"read_index", N_("READ"), true},
		{"write_index", N_("WRITE"), true},
		{"hardware_priority", NULL, false},
		{"logical_priority", N_("PRIORITY"), false},
		{"busy", N_("BUSY"), false},
		{"owner_pid", N_("OWNER PID"), true},
		{"held_s", N_("HELD"), true},
	};
	/* clang-format on */

	for (size_t i = 0; i < GP_ARRAY_SIZE(columns); i++) {
		gp_doc_column(doc, columns[i].key, columns[i].title);
		if (columns[i].optional)
			gp_doc_optional(doc);
	}
}

static void queue_row(const struct gp_cli_status *status, struct gp_doc *doc,
		      const struct gpreempt_queue *queue)
{
	u32 valid = queue->valid;
	bool ring = valid & GPREEMPT_QUEUE_RING, pointers = valid & GPREEMPT_QUEUE_POINTERS;
	const char *state = state_name(queue->state);
	char gpu[16];

	snprintf(gpu, sizeof(gpu), "0x%x", queue->gpu_id);
	gp_doc_cell(doc, gp_v_count((u64)queue->pid));
	gp_doc_cell(doc, gp_v_if(valid & GPREEMPT_QUEUE_KFD_ID, gp_v_count(queue->kfd_id)));
	gp_doc_cell(doc, gp_v_if(valid & GPREEMPT_QUEUE_HSA_ID, gp_v_count(queue->hsa_id)));
	gp_doc_cell(doc, gp_v_as(gp_v_count(queue->gpu_id), gpu));
	gp_doc_cell(doc, gp_v_text(type_name(queue->type)));
	gp_doc_cell(doc, state ? gp_v_word(state, gettext(state)) : gp_v_missing());
	if (queue->state != GPREEMPT_QUEUE_RUNNING)
		gp_doc_paint(doc, queue->state == GPREEMPT_QUEUE_ERROR ? GP_RED : GP_YELLOW);
	gp_doc_cell(doc, gp_v_if(ring, gp_v_hex(queue->ring)));
	gp_doc_cell(doc, gp_v_if(ring, gp_v_count(queue->ring_bytes)));
	gp_doc_cell(doc, gp_v_if(valid & GPREEMPT_QUEUE_OBJECT, gp_v_hex(queue->object)));
	gp_doc_cell(doc, gp_v_if(pointers, gp_v_count(queue->read_index)));
	gp_doc_cell(doc, gp_v_if(pointers, gp_v_count(queue->write_index)));
	gp_doc_cell(doc, gp_v_if(valid & GPREEMPT_QUEUE_PRIORITY,
				 gp_v_count((u64)queue->hardware_priority)));
	gp_doc_cell(doc, gp_v_count(queue->logical_priority));
	gp_doc_cell(doc, gp_v_if(valid & GPREEMPT_QUEUE_ACTIVITY, gp_v_bool(queue->busy)));
	gp_doc_cell(doc, gp_v_if(queue->owner_pid > 0, gp_v_count((u64)queue->owner_pid)));
	gp_cli_status_seconds(doc, queue->since_ns, gp_cli_status_since(status, queue->since_ns));
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

static bool any_running(const struct gpreempt_queue *queues, size_t count)
{
	bool any = false;

	for (size_t i = 0; i < count; i++)
		any |= queues[i].state == GPREEMPT_QUEUE_RUNNING;
	return any;
}

static void job_facts(const struct gp_cli_status *status, struct gp_doc *doc,
		      const struct gpreempt_target_info *info)
{
	gp_doc_fact(doc, "pid", NULL, gp_v_if(status->pid != 0, gp_v_count(status->pid)));
	gp_doc_fact(doc, "group", NULL, gp_v_text(status->group));
	gp_doc_fact(doc, "mechanism", NULL, gp_v_text(gp_cli_status_mechanism(info->mechanism)));
	gp_doc_fact(doc, "why", NULL, gp_v_text(info->why));
	gp_doc_fact(doc, "processes", NULL, gp_v_count(info->process_count));
	gp_doc_fact(doc, "priority", NULL, gp_v_count(info->priority));
	gp_doc_fact(doc, "suspended", NULL, gp_v_bool(info->suspended));
	gp_doc_fact(doc, "copy_engines", NULL, gp_v_bool(info->copies));
	gp_doc_fact(doc, "owners", NULL, gp_v_count(info->owner_count));
	gp_doc_fact(doc, "owner_pid", NULL,
		    gp_v_if(info->owner_pid > 0, gp_v_count((u64)info->owner_pid)));
	gp_doc_fact(doc, "held_s", NULL,
		    gp_v_if(info->since_ns,
			    gp_v_real(GP_UNIT_REAL, gp_cli_status_since(status, info->since_ns))));
}

static int show_job(struct gp_cli_status *status, const struct gpreempt_target_info *info,
		    const struct gpreempt_queue *queues, size_t count)
{
	const char *mechanism = gp_cli_status_mechanism(info->mechanism);
	struct gp_doc *doc = gp_doc_new_answer();
	struct gp_proto_msg_ahead ahead;
	bool hinted = status->pid && gp_cli_ahead_read(status->pid, &ahead);
	char name[128], owners[48], owner[GP_PROTO_NAME];
	bool named =
		info->suspended && status->pid && gp_cli_daemon_holds_for(status->pid, owner) > 0;

	gp_cli_target_name(name, sizeof(name), status->pid, status->group);
	snprintf(owners, sizeof(owners), ngettext("%u owner", "%u owners", info->owner_count),
		 info->owner_count);
	if (named)
		gp_doc_line(doc, "%s: held by %s for %s, priority %u", name, owner,
			    seconds_text(gp_cli_status_since(status, info->since_ns)).text,
			    info->priority);
	else if (info->suspended)
		gp_doc_line(doc,
			    status->partly ? _("%s: partly suspended for %s by process %d (%s), "
					       "priority %u")
					   : _("%s: suspended for %s by process %d (%s), priority "
					       "%u"),
			    name, seconds_text(gp_cli_status_since(status, info->since_ns)).text,
			    info->owner_pid, owners, info->priority);
	else if (stopped_by_others(info, queues, count))
		gp_doc_line(doc, "%s: suspended by another user's holder; priority %u", name,
			    info->priority);
	else
		gp_doc_line(doc, "%s: running, priority %u", name, info->priority);
	if (info->copies && info->mechanism == GPREEMPT_NV_SUSPEND)
		gp_doc_line(doc, "copies between host and GPU are suspended as well");
	gp_doc_line(doc, "mechanism %s: %s", mechanism ? mechanism : "?", info->why);
	if (hinted)
		gp_cli_ahead_lines(doc, &ahead);
	job_facts(status, doc, info);
	gp_doc_fact(doc, "owner", NULL, gp_v_if(named, gp_v_text(owner)));
	gp_cli_ahead_facts(doc, hinted, &ahead);
	gp_doc_table(doc, "queues", NULL);
	queue_columns(doc);
	for (size_t i = 0; i < count; i++)
		queue_row(status, doc, &queues[i]);
	status->doc = doc;
	return 0;
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

/* Leaves the named queues, in the order they were named. -ENOENT, after saying so: there is no such
 * queue. */
static int pick(struct gp_cli_status *status, struct gpreempt_queue **queues, size_t *count)
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
			return gp_fail(
				&status->sink.diag, -ENOENT,
				"process %u has no queue with KFD id %u; 'gpreempt status PID' "
				"lists its queues",
				status->pid, status->ids[i]);
		}
		picked[i] = (*queues)[q];
	}
	free(*queues);
	*queues = picked;
	*count = status->id_count;
	return 0;
}

static int one_job(struct gp_cli_status *status)
{
	struct gpreempt_target_info info = {.size = sizeof(info)};
	struct gpreempt_queue *queues = NULL;
	struct gpreempt *context = NULL;
	struct gpreempt_target *target = NULL;
	size_t count = 0;
	int picked, error = gp_cli_target_mute(status->pid, &status->sink.diag);

	if (error)
		return error;
	error = gpreempt_open(&context);
	if (!error && status->group)
		error = gpreempt_group_open(context, status->group, NULL, &target);
	else if (!error)
		error = gpreempt_target_open(context, (int)status->pid, NULL, &target);
	if (!error)
		error = read_job(target, &info, &queues, &count);
	status->now_ns = gp_monotonic_ns();
	status->partly = !error && info.suspended && any_running(queues, count);
	if (!error && status->id_count && (picked = pick(status, &queues, &count)))
		error = picked;
	else if (error)
		gp_cli_target_failed(status->pid, target, 0, error, gpreempt_error(context),
				     status->words, &status->sink.diag);
	else if (status->group && !info.process_count)
		error = gp_fail(&status->sink.diag, -ESRCH, "group '%s': %s", status->group,
				info.why);
	else
		error = show_job(status, &info, queues, count);
	free(queues);
	gpreempt_close(context);
	return error;
}

static int make(void *ctx, struct gp_doc **doc)
{
	struct gp_cli_status *status = ctx;
	int error = status->pid || status->group ? one_job(status) : gp_cli_status_all(status);

	*doc = status->doc;
	status->doc = NULL;
	return error;
}

static int run(const struct gp_command *command, int argc, char **argv)
{
	struct gp_cli_status *status = calloc(1, sizeof(*status));
	int first, result;

	if (!status)
		return GP_EXIT_FAILED;
	status->command = command;
	status->words = argv;
	status->holder.socket = -1;
	gp_command_diag_init(&status->sink, command);
	result = gp_command_parse(command, argc, argv, set, status, &first);
	if (result)
		result = result < 0 ? GP_EXIT_USAGE : GP_EXIT_OK;
	else if (status->group && first < argc)
		result = gp_usage_error(command, "unexpected argument '%s'", argv[argc - 1]);
	else if (first < argc && !gp_argument_pid(argv[first], &status->pid))
		result = gp_usage_error(
			command,
			"'%s' is not a pid; 'gpreempt ps' lists the processes that use a "
			"GPU",
			argv[first]);
	else if (first < argc && gp_cli_queue_arguments(command, argc, argv, first + 1,
							&status->ids, &status->id_count))
		result = GP_EXIT_USAGE;
	else if (gp_cli_view_check(&status->view, command))
		result = GP_EXIT_USAGE;
	else
		result = gp_cli_view_run(&status->view, &status->sink, make, status)
				 ? GP_EXIT_FAILED
				 : GP_EXIT_OK;
	free(status->ids);
	free(status);
	return result;
}

static const struct gp_option options[] = {
	{OPTION_GROUP, "group", GP_REQUIRED_ARGUMENT, "NAME", GP_COMPLETE_NONE,
	 N_("all processes that 'gpreempt run --group NAME' started")},
	GP_VIEW_OPTIONS(N_("print JSON (schema: docs/reference/json.md)")),
	{0},
};

const struct gp_command gp_cli_status = {
	.name = "status",
	.arguments = "[PID [QUEUE...]]",
	.completion = GP_COMPLETE_PID,
	.summary = N_("Show suspensions, their owners and their age"),
	.description = N_(
		"Without PID, lists every suspension of this user (as root: of all users) and the\n"
		"time left on its lease. With PID, lists the queues of the process (or only the\n"
		"named ones), which of them are suspended, and the mechanism that would be used\n"
		"and why. QUEUE is the KFD id that 'gpreempt suspend' takes."),
	.options = options,
	.examples = "  gpreempt status\n"
		    "  gpreempt status 4711\n"
		    "  # ids of its suspended queues\n"
		    "  gpreempt status 4711 --json | jq '.queues[] | select(.state == "
		    "\"suspended\") | .kfd_id'\n",
	.run = run,
};
