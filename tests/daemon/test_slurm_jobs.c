// SPDX-License-Identifier: MIT
/* Jobs of Slurm in gpreemptd: which group they have whatever a rule says, and one that is stopped
 * before its first queue. */
#include "owner.h"

#include "base/file.h"

#define GROUPED ACT "[rule all]\nexecutable = *\ngroup = all\n"

/* A host where Slurm has no control groups, whatever this one has; the processes are this one's. */
static char bare[4096];

/* With all directories that lead there. */
static void make_path(const char *path)
{
	char part[sizeof(bare) + 64];

	for (const char *at = path + strlen(bare); *at; at += strcspn(at, "/")) {
		at++;
		snprintf(part, sizeof(part), "%.*s", (int)(at + strcspn(at, "/") - path), path);
		if (mkdir(part, 0700))
			assert_int_equal(errno, EEXIST);
	}
}

static int begin(void **state)
{
	char proc[sizeof(bare) + 8];

	(void)state;
	if (!place_make(bare, sizeof(bare)))
		return -1;
	snprintf(proc, sizeof(proc), "%s/proc", bare);
	return symlink("/proc", proc);
}

static int finish(void **state)
{
	(void)state;
	return place_remove(bare);
}

static struct gp_daemon_client *client_of(struct rig *rig, const struct agent *agent)
{
	return gp_daemon_host_client(rig->daemon, (u32)agent->pid);
}

static u32 held_by(struct rig *rig, struct owner *owner, const char *group, u32 on)
{
	struct gp_proto_msg_named_held held;

	owner_ask(owner, group, on);
	rig_until(rig, owner_has_answer(owner));
	assert_true(gp_wire_fits(&owner->message, sizeof(held), 0, 0));
	memcpy(&held, owner->message.body, sizeof(held));
	return held.held;
}

static void a_rule_does_not_take_a_job_out_of_its_group_of_slurm(void **state)
{
	struct rig *rig = rig_new(GROUPED);
	struct agent *a, *b, *other, *user, *none;
	struct owner owner;

	(void)state;
	rig->daemon->root.dir = bare;
	a = agent_in_group(rig, "slurm-17");
	b = agent_in_group(rig, "slurm-17");
	other = agent_in_group(rig, "slurm-18");
	user = agent_in_group(rig, "mine");
	none = agent_known(rig, 2, 500);
	assert_string_equal(view(rig, a).group, "slurm-17");
	assert_ptr_equal(job_of(rig, a), job_of(rig, b));
	assert_string_equal(view(rig, other).group, "slurm-18");
	/* Others have the rule's. */
	assert_string_equal(view(rig, user).group, "all");
	assert_ptr_equal(job_of(rig, user), job_of(rig, none));
	owner_open(&owner, rig);
	assert_int_equal(held_by(rig, &owner, "slurm-17", 1), 2);
	assert_true(fake_held(a->pid) && fake_held(b->pid));
	assert_false(fake_held(other->pid) || fake_held(user->pid) || fake_held(none->pid));
	close(owner.socket);
	rig_free(rig);
}

/* By the control group that slurmd made, if its agent has no group, and if there is no agent. */
static void the_group_of_slurm_comes_from_the_control_group_as_well(void **state)
{
	struct gp_daemon_config_rule rule = {.given = GP_RULE_GROUP, .group = "all"};
	struct gp_daemon_who slurm = {.slurm_job = 17}, other = {0};
	struct gp_root root = {.dir = bare};
	char group[GP_PROTO_NAME] = "";

	(void)state;
	assert_true(gp_daemon_who_group(&root, &slurm, &rule, group, sizeof(group)));
	assert_string_equal(group, "slurm-17");
	/* Its user's own choice stays without a rule, and is held by the number. */
	snprintf(group, sizeof(group), "mine");
	assert_false(gp_daemon_who_group(&root, &slurm, NULL, group, sizeof(group)));
	assert_string_equal(group, "mine");
	assert_true(gp_daemon_who_group(&root, &slurm, &rule, group, sizeof(group)));
	assert_string_equal(group, "slurm-17");
	snprintf(group, sizeof(group), "mine");
	assert_false(gp_daemon_who_group(&root, &other, &rule, group, sizeof(group)));
	assert_string_equal(group, "all");
	group[0] = 0;
	assert_false(gp_daemon_who_group(&root, &other, NULL, group, sizeof(group)));
	assert_string_equal(group, "");
}

/* Otherwise each name would be a job with a weight of its own. */
static void a_name_alone_is_no_job_where_slurm_has_control_groups(void **state)
{
	static const char *const where[] = {"freezer/slurm", "cpu/slurm_n1",
					    "system.slice/slurmstepd.scope",
					    "system.slice/n1_slurmstepd.scope"};
	struct gp_daemon_config_rule rule = {.given = GP_RULE_GROUP, .group = "bob"};
	struct gp_daemon_who user = {0}, inside = {.slurm_job = 17};
	char path[sizeof(bare) + 64], group[GP_PROTO_NAME];
	struct gp_root root = {.dir = bare};

	(void)state;
	/* Units of systemd. */
	snprintf(path, sizeof(path), "%s/sys/fs/cgroup/system.slice/slurmd.service", bare);
	make_path(path);
	snprintf(path, sizeof(path), "%s/sys/fs/cgroup/system.slice/slurm_exporter.service", bare);
	make_path(path);
	snprintf(group, sizeof(group), "slurm-1");
	assert_true(gp_daemon_who_group(&root, &user, &rule, group, sizeof(group)));
	assert_string_equal(group, "slurm-1");
	for (size_t i = 0; i < GP_ARRAY_SIZE(where); i++) {
		snprintf(path, sizeof(path), "%s/sys/fs/cgroup/%s", bare, where[i]);
		make_path(path);
		snprintf(group, sizeof(group), "slurm-1");
		assert_false(gp_daemon_who_group(&root, &user, &rule, group, sizeof(group)));
		assert_string_equal(group, "bob");
		/* Nor does a job have more than one. */
		snprintf(group, sizeof(group), "slurm-1");
		assert_true(gp_daemon_who_group(&root, &inside, &rule, group, sizeof(group)));
		assert_string_equal(group, "slurm-17");
		assert_int_equal(rmdir(path), 0);
	}
}

/* Each as the kernel shows it: hierarchies of version 1, and the one of version 2. */
static void a_control_group_of_slurm_has_the_number_of_its_job(void **state)
{
	static const struct {
		const char *text;
		u32 job;
	} cases[] = {
		{"3:freezer:/slurm/uid_1000/job_17/step_0\n1:name=systemd:/system.slice\n", 17},
		{"3:freezer:/slurm_n1/uid_1000/job_17/step_batch\n0::/\n", 17},
		{"0::/system.slice/slurmstepd.scope/job_17/step_0/user/task_0\n", 17},
		/* Debian's, which can have several slurmds on a host. */
		{"0::/system.slice/n1_slurmstepd.scope/job_17/step_0/user/task_0\n", 17},
		{"0::/system.slice/docker-x.scope/slurm/uid_0/job_17\n", 17},
		{"0::/system.slice/n1_slurmstepd.scope/system\n", 0},
		{"0::/system.slice/slurmd.service/job_17\n", 0},
		{"0::/system.slice/slurmstepd.scope/job_17x/step_0\n", 0},
		{"0::/system.slice/slurmstepd.scope/myjob_17/step_0\n", 0},
		/* Users make groups there. */
		{"0::/user.slice/user-1000.slice/user@1000.service/slurm/job_17\n", 0},
	};
	char path[sizeof(bare) + 64], file[sizeof(bare) + 80], host[sizeof(bare) + 16];
	struct gp_daemon_who who;

	(void)state;
	snprintf(host, sizeof(host), "%s/host", bare);
	snprintf(path, sizeof(path), "%s/proc/7", host);
	snprintf(file, sizeof(file), "%s/cgroup", path);
	make_path(path);
	for (size_t i = 0; i < GP_ARRAY_SIZE(cases); i++) {
		assert_int_equal(gp_file_write_atomic(file, cases[i].text, strlen(cases[i].text)),
				 0);
		assert_int_equal(gp_daemon_who_read(&(struct gp_root){.dir = host}, 7, &who), 0);
		if (who.slurm_job != cases[i].job)
			fail_msg("job %u: %s", who.slurm_job, cases[i].text);
	}
}

static void a_job_that_is_stopped_before_its_first_queue_is_let_be(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *agent = agent_new(rig, 2, 500);
	struct owner owner;

	(void)state;
	agent->queues = 0;
	snprintf(agent->hello.group, sizeof(agent->hello.group), "slurm-17");
	rig_until(rig, client_of(rig, agent) && client_of(rig, agent)->job);
	assert_int_equal(client_of(rig, agent)->queue_count, 0);
	owner_open(&owner, rig);
	held_by(rig, &owner, "slurm-17", 1);
	/* Slurm stops it, and its agent does not answer the holder any more. */
	kill(agent->pid, SIGSTOP);
	assert_int_equal(waitpid(agent->pid, NULL, WUNTRACED), agent->pid);
	fake_lose(agent->pid);
	rig_until(rig, client_of(rig, agent)->away.stopped);
	rig_run(rig);
	assert_int_equal(client_of(rig, agent)->queue_count, 0);
	kill(agent->pid, SIGCONT);
	rig_until(rig, !client_of(rig, agent)->away.stopped);
	assert_int_equal(held_by(rig, &owner, "slurm-17", 0), 0);
	close(owner.socket);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rule_does_not_take_a_job_out_of_its_group_of_slurm),
		cmocka_unit_test(the_group_of_slurm_comes_from_the_control_group_as_well),
		cmocka_unit_test(a_name_alone_is_no_job_where_slurm_has_control_groups),
		cmocka_unit_test(a_control_group_of_slurm_has_the_number_of_its_job),
		cmocka_unit_test(a_job_that_is_stopped_before_its_first_queue_is_let_be),
	};

	return cmocka_run_group_tests(tests, begin, finish);
}
