// SPDX-License-Identifier: MIT
/* Programs that the daemon starts: their lines and their end, neither of which it waits for. */
#include "rig.h"

struct seen {
	char lines[64];
	bool ended;
	int status;
};

static void on_line(struct gp_daemon_child *child, const char *line)
{
	struct seen *seen = child->owner;
	size_t used = strlen(seen->lines);

	snprintf(seen->lines + used, sizeof(seen->lines) - used, "%s,", line);
}

static void on_end(struct gp_daemon_child *child, int status)
{
	struct seen *seen = child->owner;

	seen->ended = true;
	seen->status = status;
}

static struct gp_daemon_child *start(struct rig *rig, const char *script, struct seen *seen)
{
	const char *argv[] = {"/bin/sh", "-c", script, NULL};
	struct gp_daemon_child *child = gp_daemon_child_start(rig->daemon, argv, false);

	assert_non_null(child);
	*seen = (struct seen){0};
	child->owner = seen;
	child->line = on_line;
	child->ended = on_end;
	return child;
}

static void all_lines_come_before_the_end(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct seen seen;

	(void)state;
	start(rig, "echo one; echo two; exit 3", &seen);
	rig_until(rig, seen.ended);
	assert_string_equal(seen.lines, "one,two,");
	assert_true(WIFEXITED(seen.status) && WEXITSTATUS(seen.status) == 3);
	assert_true(gp_list_empty(&rig->daemon->children));
	rig_free(rig);
}

static void a_program_that_closes_its_output_is_not_waited_for(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct seen seen;
	struct gp_daemon_child *child =
		start(rig, "echo here; exec >&- 2>&-; exec sleep 600", &seen);

	(void)state;
	rig_until(rig, child->watch.fd < 0);
	assert_string_equal(seen.lines, "here,");
	assert_false(seen.ended);
	kill(child->pid, SIGTERM);
	rig_until(rig, seen.ended);
	assert_true(WIFSIGNALED(seen.status));
	rig_free(rig);
}

static void its_end_is_seen_while_another_has_its_output(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct seen seen;
	pid_t other;

	(void)state;
	start(rig, "sleep 600 & echo $!", &seen);
	rig_until(rig, seen.ended);
	other = (pid_t)atoi(seen.lines);
	assert_true(other > 1);
	kill(other, SIGKILL);
	rig_free(rig);
}

static void those_that_are_left_end_with_the_daemon(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct seen seen;
	pid_t pid = start(rig, "exec sleep 600", &seen)->pid;

	(void)state;
	rig_stop(rig);
	assert_int_equal(kill(pid, 0), -1);
	assert_false(seen.ended);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_lines_come_before_the_end),
		cmocka_unit_test(a_program_that_closes_its_output_is_not_waited_for),
		cmocka_unit_test(its_end_is_seen_while_another_has_its_output),
		cmocka_unit_test(those_that_are_left_end_with_the_daemon),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
