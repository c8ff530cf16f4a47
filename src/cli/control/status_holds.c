// SPDX-License-Identifier: MIT
/* gpreempt status without a process: every suspension of this user, or of all users for root. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/control/status.h"
#include "cli/daemon/daemon_client.h"
#include "proto/swapped.h"

enum { TIMEOUT_MS = 10000, OTHER_MS = 1000 };

static void hold_row(struct gp_cli_status *status, struct gp_doc *doc,
		     const struct gp_proto_msg_hold *hold)
{
	bool copies = hold->flags & GP_SUSPEND_COPIES;
	char owner[GP_PROTO_NAME];

	/* gpreemptd may hold it for another program. */
	gp_wire_text(owner, sizeof(owner), hold->owner, sizeof(hold->owner));
	if (strcmp(owner, "gpreemptd") == 0 && !status->daemon_away)
		status->daemon_away = gp_cli_daemon_holds_for((u32)hold->pid, owner) < 0;

	gp_doc_cell(doc, gp_v_count((u64)hold->pid));
	gp_doc_cell(doc, hold->queues ? gp_v_count(hold->queues)
				      : gp_v_as(gp_v_missing(),
						copies ? _("all, with copies") : _("all")));
	gp_doc_cell(doc, gp_v_text(gp_cli_status_mechanism(hold->mechanism)));
	gp_doc_cell(doc, gp_v_bool(copies));
	gp_doc_cell(doc, gp_v_count((u64)hold->owner_pid));
	gp_doc_cell(doc, gp_v_text(owner));
	gp_cli_status_seconds(doc, true, gp_cli_status_since(status, hold->since_ns));
	gp_cli_status_seconds(doc, true, -gp_cli_status_since(status, hold->lease_ends_ns));
}

/* Memory that was moved to the host, which no holder knows of. */
static void swapped_table(const struct gp_cli_status *status, struct gp_doc *doc,
			  const struct gp_proto_swapped_list *list)
{
	if (!list->count) {
		gp_doc_fact(doc, "swapped", NULL, gp_v_json(json_array()));
		return;
	}
	gp_doc_table(doc, "swapped", NULL);
	gp_doc_column(doc, "pid", "PID");
	gp_doc_column(doc, "bytes", N_("SWAPPED OUT"));
	gp_doc_right(doc);
	gp_doc_column(doc, "out", NULL);
	gp_doc_column(doc, "owner_pid", "OWNER PID");
	gp_doc_column(doc, "held_s", "HELD");
	gp_doc_right(doc);
	for (size_t i = 0; i < list->count; i++) {
		const struct gp_proto_swapped *one = &list->items[i];

		gp_doc_cell(doc, gp_v_count(one->pid));
		gp_doc_cell(doc, gp_v_number(GP_UNIT_BYTES, one->bytes));
		gp_doc_cell(doc, gp_v_bool(one->out));
		gp_doc_cell(doc, gp_v_count(one->keeper));
		gp_cli_status_seconds(doc, true, gp_cli_status_since(status, one->since_ns));
	}
}

/* Only root may ask the holders of other users. */
static bool sees_all(void)
{
	return geteuid() == 0;
}

static void hold_table(struct gp_cli_status *status, struct gp_doc *doc)
{
	gp_doc_table(doc, "holds", NULL);
	gp_doc_if_empty(doc, !sees_all() ? N_("You hold nothing suspended.")
			     : status->holder_pid || status->others ? N_("Nothing is suspended.")
								    : N_("Nothing is suspended: no "
									 "holder is running."));
	gp_doc_column(doc, "pid", "PID");
	gp_doc_column(doc, "queues", "QUEUES");
	gp_doc_right(doc);
	gp_doc_column(doc, "mechanism", "MECHANISM");
	gp_doc_column(doc, "copy_engines", NULL);
	gp_doc_column(doc, "owner_pid", "OWNER PID");
	gp_doc_column(doc, "owner", "OWNER");
	gp_doc_column(doc, "held_s", "HELD");
	gp_doc_right(doc);
	gp_doc_column(doc, "lease_left_s", "LEASE LEFT");
	gp_doc_right(doc);
	for (size_t i = 0; i < status->hold_count; i++)
		hold_row(status, doc, &status->holds[i]);
}

static void show_holds(struct gp_cli_status *status)
{
	struct gp_doc *doc = gp_doc_new_answer();
	struct gp_proto_swapped_list swapped = {0};

	(void)gp_proto_swapped_read(&swapped);
	gp_doc_fact(doc, "holder", NULL, gp_v_count((u64)status->holder_pid));
	if (status->hold_count || !swapped.count)
		hold_table(status, doc);
	else
		gp_doc_fact(doc, "holds", NULL, gp_v_json(json_array()));
	swapped_table(status, doc, &swapped);
	gp_proto_swapped_free(&swapped);
	gp_doc_fact(doc, "all_users", NULL, gp_v_bool(sees_all()));
	if (!sees_all())
		gp_doc_line(doc, "Suspensions by root and other users are not visible to you: "
				 "'sudo gpreempt status' lists them, and 'gpreempt top' shows the "
				 "jobs that gpreemptd holds.");
	status->doc = doc;
}

/* The holds of one holder are added to those of the others. */
static int add_holds(struct gp_cli_status *status, int timeout_ms)
{
	struct gp_cli_holds holds = {0};
	int error = gp_cli_holder_connect(&status->holder, timeout_ms);

	if (!error)
		error = gp_cli_holder_holds(&status->holder, &holds, timeout_ms);
	for (size_t i = 0; !error && i < holds.count; i++) {
		if (gp_array_grow((void **)&status->holds, status->hold_count, &status->hold_room,
				  sizeof(*status->holds)))
			error = -ENOMEM;
		else
			status->holds[status->hold_count++] = holds.items[i];
	}
	free(holds.items);
	gp_cli_holder_close(&status->holder);
	return error;
}

/* Another user's that does not answer is named, and the rest is shown all the same. */
static int add_other(void *data, struct gp_cli_holder *holder)
{
	struct gp_cli_status *status = data;
	int error = add_holds(status, OTHER_MS);

	if (error && error != -ENOENT)
		gp_diag(&status->sink.diag, GP_WARNING,
			"cannot query the holder (pid %d) of user %u: %s", (int)holder->pid,
			(unsigned int)holder->uid, strerror(-error));
	status->others += !error;
	return 0;
}

int gp_cli_status_all(struct gp_cli_status *status)
{
	int error = gp_cli_holder_check_directory(&status->sink.diag);

	if (error)
		return error;
	error = add_holds(status, TIMEOUT_MS);
	if (error == -ENOENT) {
		status->holder.pid = 0;
		error = 0;
	}
	status->holder_pid = status->holder.pid;
	if (error == -ETIME)
		gp_fail(&status->sink.diag, error,
			"the holder (pid %d) does not answer; use 'gpreempt release --all' to end "
			"it",
			(int)status->holder.pid);
	else if (error)
		gp_fail(&status->sink.diag, error,
			"cannot ask the holder: %s; 'gpreempt release --all' ends a holder that "
			"hangs",
			strerror(-error));
	(void)gp_cli_holder_each_other(&status->holder, add_other, status);
	status->now_ns = gp_monotonic_ns();
	if (!error || status->hold_count)
		show_holds(status);
	free(status->holds);
	status->holds = NULL;
	status->hold_count = status->hold_room = 0;
	return error;
}
