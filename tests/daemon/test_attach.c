// SPDX-License-Identifier: MIT
/* Processes without an agent: found by rule, their rings read from outside, stopped and let go. */
#include "rig.h"

#include "gpu/rings.h"

/* This program only: another test's, with a GPU of its own, is nobody's business here. */
#define RULE                                                                             \
	"[rule own]\nexecutable = */test_daemon_attach\nattach = yes\n[daemon]\nmode = " \
	"act\nlease = 60s\n"                                                             \
	"max_suspend = 600s\noperation_timeout = 60s\nscan_interval = 50ms\n"            \
	"read_slowest = 5ms\n" PROMPT

/* Where a queue object's indices are; it lies at the same address in both processes. */
enum { OBJECT_BYTES = 4096, WRITE_INDEX = 0x38 / 8, READ_INDEX = 0x80 / 8 };

struct victim {
	pid_t pid;
	volatile u64 *object;
};

/* The driver's list shows it with one queue; everything else of /proc is real. */
static void show(struct rig *rig, const struct victim *victim)
{
	const char *const files[][2] = {{"gpuid", "4711"}, {"size", "4096"}, {"type", "0"}};
	char path[256];

	snprintf(path, sizeof(path), "%s/sys", rig->directory);
	mkdir(path, 0755);
	for (const char *p = "class/kfd/kfd/proc/"; p && *p;
	     p = strchr(p, '/') ? strchr(p, '/') + 1 : NULL) {
		const char *all = "class/kfd/kfd/proc/";

		snprintf(path, sizeof(path), "%s/sys/%.*s", rig->directory,
			 (int)(strchr(p, '/') - all), all);
		mkdir(path, 0755);
	}
	snprintf(path, sizeof(path), "%s/sys/class/kfd/kfd/proc/%d", rig->directory, victim->pid);
	mkdir(path, 0755);
	strcat(path, "/queues");
	mkdir(path, 0755);
	strcat(path, "/0");
	assert_int_equal(mkdir(path, 0755), 0);
	for (size_t i = 0; i < GP_ARRAY_SIZE(files); i++) {
		char file[300];

		snprintf(file, sizeof(file), "%s/%s", path, files[i][0]);
		assert_int_equal(gp_file_write_atomic(file, files[i][1], strlen(files[i][1])), 0);
	}
	snprintf(path, sizeof(path), "%s/proc", rig->directory);
	(void)!symlink("/proc", path);
}

static void victim_start(struct rig *rig, struct victim *victim)
{
	victim->object =
		mmap(NULL, OBJECT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(victim->object, MAP_FAILED);
	victim->pid = fork();
	if (victim->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	fake.queue[0] = (struct gpreempt_queue){
		.pid = victim->pid,
		.gpu_id = GPU,
		.valid = GPREEMPT_QUEUE_KFD_ID | GPREEMPT_QUEUE_RING | GPREEMPT_QUEUE_OBJECT,
		.kfd_id = 0,
		.ring = 0x1000,
		.object = (u64)(uintptr_t)victim->object,
	};
	fake.queue_count = 1;
	show(rig, victim);
	rig->daemon->root.dir = rig->directory;
	gp_daemon_attach_configure(rig->daemon);
}

static void victim_end(struct victim *victim)
{
	kill(victim->pid, SIGKILL);
	waitpid(victim->pid, NULL, 0);
	munmap((void *)victim->object, OBJECT_BYTES);
}

static void one_that_a_rule_names_is_read_and_stopped(void **state)
{
	struct rig *rig = rig_new(RULE);
	struct victim victim;
	struct agent *high;
	struct gp_daemon_client *client;

	(void)state;
	victim_start(rig, &victim);
	rig_until(rig, gp_daemon_host_client(rig->daemon, (u32)victim.pid));
	client = gp_daemon_host_client(rig->daemon, (u32)victim.pid);
	assert_true(client->attached);
	assert_int_equal(client->queue_count, 1);
	/* The session begins with a stop and a start of a moment. */
	assert_int_equal(fake.suspends, 1);
	assert_int_equal(fake.resumes, 1);
	victim.object[WRITE_INDEX] = 5;
	high = agent_known(rig, 1, 2000);
	work(rig, high, true);
	rig_until(rig, fake_held(victim.pid));
	assert_int_equal(client->queues[0].backlog, 5);
	work(rig, high, false);
	assert_false(fake_held(victim.pid));
	victim_end(&victim);
	rig_until(rig, !gp_daemon_host_client(rig->daemon, (u32)victim.pid));
	assert_int_equal(rig->daemon->attached_count, 0);
	rig_free(rig);
}

static void nothing_is_read_while_nobody_could_be_affected(void **state)
{
	struct rig *rig = rig_new(RULE);
	struct victim victim;

	(void)state;
	victim_start(rig, &victim);
	rig_until(rig, gp_daemon_host_client(rig->daemon, (u32)victim.pid));
	rig_run(rig);
	/* One job alone: no timer for its rings. */
	assert_false(gp_timer_armed(&rig->daemon->read_timer));
	victim_end(&victim);
	rig_free(rig);
}

static void an_agent_is_taken_instead_when_it_comes(void **state)
{
	struct rig *rig = rig_new(RULE);
	struct victim victim;
	struct agent *agent;

	(void)state;
	victim_start(rig, &victim);
	rig_until(rig, gp_daemon_host_client(rig->daemon, (u32)victim.pid));
	gp_daemon_attach_forget(rig->daemon, (u32)victim.pid);
	assert_null(gp_daemon_host_client(rig->daemon, (u32)victim.pid));
	assert_int_equal(rig->daemon->attached_count, 0);
	/* And one that has an agent is never attached. */
	agent = agent_known(rig, 0, 1000);
	show(rig, &(struct victim){.pid = agent->pid});
	gp_daemon_attach_configure(rig->daemon);
	rig_until(rig, gp_daemon_host_client(rig->daemon, (u32)victim.pid));
	assert_int_equal(rig->daemon->job_count, 2);
	assert_false(gp_daemon_host_client(rig->daemon, (u32)agent->pid)->attached);
	victim_end(&victim);
	rig_free(rig);
}

static void without_a_rule_nobody_is_attached(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct victim victim;

	(void)state;
	victim_start(rig, &victim);
	assert_false(gp_timer_armed(&rig->daemon->scan_timer));
	victim_end(&victim);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_a_rule_names_is_read_and_stopped),
		cmocka_unit_test(nothing_is_read_while_nobody_could_be_affected),
		cmocka_unit_test(an_agent_is_taken_instead_when_it_comes),
		cmocka_unit_test(without_a_rule_nobody_is_attached),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
