// SPDX-License-Identifier: MIT
/* The plugins and a gpreemptd that is late, refuses, ends or says something else; marks of
 * suspended jobs; and programs of Slurm that hang. The daemon here is a process of the test. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/core.h"
#include "proto/daemon.h"
#include "proto/directory.h"
#include "proto/wire.h"
#include "slurm/comment.h"
#include "slurm/holds.h"
#include "slurm/marks.h"
#include "testlib.h"

enum { WAIT_MS = 20000, SHORT_MS = 100 };

enum how { ANSWERS, ANSWERS_TWICE, LATE_ONCE, REFUSES, FLOODS, TWO_USERS };

static char place[4096];

/* What gpreemptd was last asked for, by the number of the job; NULL: it does not matter. */
#define JOBS_SEEN 8192
static u8 *seen;

static void see(const struct gp_wire_message *ask)
{
	const struct gp_proto_msg_named_hold *hold = (const void *)ask->body;
	unsigned job = 0;

	if (seen && ask->header.type == GP_MSG_DAEMON_HOLD &&
	    sscanf(hold->group, "slurm-%u", &job) == 1 && job < JOBS_SEEN)
		seen[job] = hold->on != 0;
}

static int listen_here(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%.80s/%s", place, GP_DAEMON_SOCKET);
	unlink(address.sun_path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 4), 0);
	return fd;
}

static void send_accounts(int client, u32 serial)
{
	size_t size =
		sizeof(struct gp_proto_msg_accounts) + 2 * sizeof(struct gp_proto_msg_account);
	struct gp_proto_msg_accounts *list = calloc(1, size);

	assert_non_null(list);
	list->count = 2;
	for (int i = 0; i < 2; i++) {
		list->accounts[i].job.uid = i ? 2000 : 1000;
		list->accounts[i].job.suspends = i ? 5 : 3;
		strcpy(list->accounts[i].job.group, "slurm-17");
	}
	gp_wire_send(client, GP_MSG_DAEMON_ACCOUNTS, serial, 2, list, size, -1);
	free(list);
}

/* One client; asks are answered as `how` says. */
static void serve(int listener, enum how how)
{
	static struct gp_wire_message ask;
	struct gp_proto_msg_named_held held = {.processes = 1, .held = 1};
	struct gp_proto_msg_hello hello = {0};
	int client = accept(listener, NULL, NULL);
	u32 first = 0;

	while (gp_wire_receive(client, &ask, -1) == 0) {
		u32 serial = ask.header.serial;

		see(&ask);
		if (ask.header.type == GP_MSG_HELLO) {
			gp_wire_send(client, GP_MSG_HELLO, serial, 0, &hello, sizeof(hello), -1);
		} else if (how == FLOODS) {
			/* Others than the one that is waited for, and no end of them. */
			while (gp_wire_send(client, ask.header.type, serial + 1000, 0, &held,
					    sizeof(held), -1) != -EPIPE)
				usleep(5000);
			return;
		} else if (how == REFUSES) {
			gp_wire_refuse(client, &ask.header, -EOPNOTSUPP, GP_SAY_HOLD_OBSERVES);
		} else if (how == TWO_USERS) {
			send_accounts(client, serial);
		} else if (how == LATE_ONCE && !first) {
			first = serial;
		} else {
			held.held = first ? 9 : 1;
			if (first)
				gp_wire_send(client, ask.header.type, first, 0, &held, sizeof(held),
					     -1);
			held.held = 1;
			/* The second of two is one that nobody waits for. */
			for (int i = how == ANSWERS_TWICE ? 0 : 1; i < 2; i++)
				gp_wire_send(client, ask.header.type, serial, 0, &held,
					     sizeof(held), -1);
		}
	}
}

static pid_t daemon_start(enum how how)
{
	int listener = listen_here();
	pid_t pid = fork();

	if (pid == 0) {
		serve(listener, how);
		_exit(0);
	}
	close(listener);
	return pid;
}

static void daemon_end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static int begin(void **state)
{
	(void)state;
	if (!place_make(place, sizeof(place)))
		return -1;
	return setenv("GPREEMPT_DIR", place, 1);
}

static int finish(void **state)
{
	(void)state;
	return place_remove(place);
}

/* ---- gpreemptd ---- */

static void a_late_answer_is_not_taken_for_the_next_one(void **state)
{
	struct gp_slurm_connection connection = {.fd = -1};
	pid_t pid = daemon_start(LATE_ONCE);

	(void)state;
	assert_int_equal(gp_slurm_open(&connection, WAIT_MS), 0);
	assert_int_equal(gp_slurm_hold(&connection, 1, true, SHORT_MS), -ETIME);
	assert_true(connection.fd >= 0); /* the hold stays */
	assert_int_equal(gp_slurm_hold(&connection, 2, true, WAIT_MS), 1);
	gp_slurm_close(&connection);
	daemon_end(pid);
}

static void other_messages_do_not_prolong_the_wait(void **state)
{
	struct gp_slurm_connection connection = {.fd = -1};
	pid_t pid = daemon_start(FLOODS);

	(void)state;
	assert_int_equal(gp_slurm_open(&connection, WAIT_MS), 0);
	alarm(60);
	assert_int_equal(gp_slurm_hold(&connection, 1, true, SHORT_MS), -ETIME);
	alarm(0);
	gp_slurm_close(&connection);
	daemon_end(pid);
}

static void a_refusal_leaves_the_holds_of_other_jobs(void **state)
{
	struct gp_slurm_connection connection = {.fd = -1};
	pid_t pid = daemon_start(REFUSES);

	(void)state;
	assert_int_equal(gp_slurm_open(&connection, WAIT_MS), 0);
	assert_int_equal(gp_slurm_hold(&connection, 1, true, WAIT_MS), -EOPNOTSUPP);
	assert_true(connection.fd >= 0);
	assert_false(gp_slurm_ended(&connection));
	gp_slurm_close(&connection);
	daemon_end(pid);
}

static void the_end_of_gpreemptd_is_noticed(void **state)
{
	struct gp_slurm_connection connection = {.fd = -1};
	pid_t pid = daemon_start(ANSWERS);

	(void)state;
	assert_true(gp_slurm_ended(&connection));
	assert_int_equal(gp_slurm_open(&connection, WAIT_MS), 0);
	assert_false(gp_slurm_ended(&connection));
	assert_int_equal(gp_slurm_hold(&connection, 1, true, WAIT_MS), 1);
	daemon_end(pid);
	assert_true(gp_slurm_ended(&connection));
	/* Another one: what is open is closed. */
	pid = daemon_start(ANSWERS);
	assert_int_equal(gp_slurm_open(&connection, WAIT_MS), 0);
	assert_int_equal(gp_slurm_hold(&connection, 1, true, WAIT_MS), 1);
	gp_slurm_close(&connection);
	daemon_end(pid);
}

static void an_answer_that_was_not_read_does_not_hide_the_end(void **state)
{
	struct gp_slurm_connection connection = {.fd = -1};
	struct pollfd more = {.events = POLLIN};
	pid_t pid = daemon_start(ANSWERS_TWICE);

	(void)state;
	assert_int_equal(gp_slurm_open(&connection, WAIT_MS), 0);
	assert_int_equal(gp_slurm_hold(&connection, 1, true, WAIT_MS), 1);
	more.fd = connection.fd;
	assert_int_equal(poll(&more, 1, WAIT_MS), 1);
	assert_false(gp_slurm_ended(&connection));
	daemon_end(pid);
	assert_true(gp_slurm_ended(&connection));
	gp_slurm_close(&connection);
}

static void an_account_is_of_the_user_of_the_job(void **state)
{
	struct gp_slurm_connection connection = {.fd = -1};
	struct gp_slurm_account account;
	pid_t pid = daemon_start(TWO_USERS);

	(void)state;
	assert_int_equal(gp_slurm_open(&connection, WAIT_MS), 0);
	assert_int_equal(gp_slurm_account(&connection, 17, 1000, WAIT_MS, &account), 0);
	assert_int_equal(account.jobs, 1);
	assert_int_equal(account.suspends, 3);
	assert_int_equal(gp_slurm_account(&connection, 18, 1000, WAIT_MS, &account), 0);
	assert_int_equal(account.jobs, 0);
	gp_slurm_close(&connection);
	daemon_end(pid);
}

static void a_gpreemptd_that_does_not_read_ends_no_hold(void **state)
{
	struct gp_slurm_connection connection = {.fd = -1};
	pid_t pid = daemon_start(ANSWERS);
	int status = 0;

	(void)state;
	assert_int_equal(gp_slurm_open(&connection, WAIT_MS), 0);
	kill(pid, SIGSTOP);
	/* More than its socket takes. */
	for (u32 job = 1; job <= 4096; job++) {
		status = gp_slurm_hold(&connection, job, true, 0);
		assert_true(status == -ETIME || (job > 1 && status == -EAGAIN));
	}
	assert_int_equal(status, -EAGAIN);
	assert_true(connection.fd >= 0);
	kill(pid, SIGCONT);
	/* Answers that nobody read leave no room for this one, until they are. */
	for (u64 end = gp_monotonic_ns() + WAIT_MS * GP_NS_PER_MS;
	     (status == -ETIME || status == -EAGAIN) && gp_monotonic_ns() < end;)
		status = gp_slurm_hold(&connection, 17, true, SHORT_MS);
	assert_int_equal(status, 1);
	gp_slurm_close(&connection);
	daemon_end(pid);
}

/* More holds than the socket takes, of a gpreemptd that does not read for a while. */
static void what_finds_no_room_is_asked_later(void **state)
{
	static struct gp_slurm_holds holds = {.connection = {.fd = -1}};
	u64 end = gp_monotonic_ns() + WAIT_MS * GP_NS_PER_MS;
	pid_t pid;

	(void)state;
	seen = mmap(NULL, JOBS_SEEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(seen != MAP_FAILED);
	for (u32 job = 1; job <= GP_SLURM_JOBS; job++)
		gp_slurm_mark(job, true);
	pid = daemon_start(ANSWERS);
	assert_int_equal(gp_slurm_open(&holds.connection, WAIT_MS), 0);
	kill(pid, SIGSTOP);
	assert_int_equal(gp_slurm_holds_renew(&holds), GP_SLURM_JOBS);
	gp_slurm_holds_settle(&holds, 0);
	assert_in_range(holds.count, 1, GP_SLURM_JOBS - 1);
	/* Asked for and not, both are resumed meanwhile. */
	assert_int_equal(gp_slurm_holds_ask(&holds, 1, false, 0), -ETIME);
	assert_int_equal(gp_slurm_holds_ask(&holds, 2, false, 0), -ETIME);
	assert_int_equal(gp_slurm_holds_ask(&holds, GP_SLURM_JOBS, false, 0), -ETIME);
	kill(pid, SIGCONT);
	while (holds.count && gp_monotonic_ns() < end)
		gp_slurm_holds_settle(&holds, gp_monotonic_ns() + SHORT_MS * GP_NS_PER_MS);
	assert_int_equal(holds.count, 0);
	assert_true(holds.connection.fd >= 0);
	assert_int_equal(gp_slurm_holds_ask(&holds, JOBS_SEEN, true, end), 1);
	for (u32 job = 1; job <= GP_SLURM_JOBS; job++) {
		assert_int_equal(seen[job], job > 2 && job < GP_SLURM_JOBS);
		gp_slurm_mark(job, false);
	}
	/* A list that is full: the end of the connection ends all holds, and marks remain. */
	kill(pid, SIGSTOP);
	for (u32 job = 1; job < 4 * GP_SLURM_JOBS && holds.connection.fd >= 0; job++)
		assert_int_equal(gp_slurm_holds_ask(&holds, job, true, 0), -ETIME);
	assert_int_equal(holds.connection.fd, -1);
	assert_int_equal(holds.count, GP_SLURM_JOBS);
	assert_int_equal(gp_slurm_holds_renew(&holds), 0);
	assert_int_equal(holds.count, 0);
	daemon_end(pid);
	munmap(seen, JOBS_SEEN);
	seen = NULL;
}

/* ---- marks ---- */

static void marks_outlive_the_program_that_made_them(void **state)
{
	u32 jobs[4] = {0};
	char path[sizeof(place) + 32];
	struct stat status;

	(void)state;
	assert_int_equal(gp_slurm_marks(NULL, 0), 0);
	gp_slurm_mark(17, false); /* was never there */
	gp_slurm_mark(17, true);
	gp_slurm_mark(17, true);
	assert_int_equal(gp_slurm_marks(jobs, 4), 1);
	assert_int_equal(jobs[0], 17);
	gp_slurm_mark(4294967295u, true);
	assert_int_equal(gp_slurm_marks(jobs, 1), 2);
	gp_slurm_mark(17, false);
	assert_int_equal(gp_slurm_marks(jobs, 4), 1);
	assert_int_equal(jobs[0], 4294967295u);
	/* Other files are not jobs. */
	snprintf(path, sizeof(path), "%s/slurm/x17", place);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(gp_slurm_marks(jobs, 4), 1);
	snprintf(path, sizeof(path), "%s/slurm", place);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0700);
}

static void make_old(u32 job, s64 age_s)
{
	struct timespec at[2] = {{.tv_sec = time(NULL) - age_s}, {.tv_sec = time(NULL) - age_s}};
	char path[sizeof(place) + 32];

	gp_slurm_mark(job, true);
	snprintf(path, sizeof(path), "%s/slurm/%u", place, job);
	assert_int_equal(utimensat(AT_FDCWD, path, at, 0), 0);
}

static void make_process(u32 pid, const char *file, const void *data, size_t size)
{
	char path[sizeof(place) + 64];

	snprintf(path, sizeof(path), "%s/proc", place);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/proc/%u", place, pid);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/proc/%u/%s", place, pid, file);
	assert_int_equal(gp_file_write_atomic(path, data, size), 0);
}

static void marks_of_jobs_without_a_process_are_lost_after_a_while(void **state)
{
	static const char environment[] = "A=1\0SLURM_JOB_ID=18\0B=";
	struct gp_root root = {.dir = place};
	u32 jobs[4] = {0};

	(void)state;
	make_process(9, "environ", environment, sizeof(environment));
	make_old(18, 100); /* has a process */
	make_old(19, 100);
	make_old(20, 10);
	assert_int_equal(gp_slurm_marks_lost(&root, 60, jobs, 4), 1);
	assert_int_equal(jobs[0], 19);
	assert_int_equal(gp_slurm_marks_lost(&root, 200, jobs, 4), 0);
	/* What cannot be read says nothing. */
	root.dir = "/nonexistent";
	assert_int_equal(gp_slurm_marks_lost(&root, 60, jobs, 4), 0);
	for (u32 job = 18; job <= 20; job++)
		gp_slurm_mark(job, false);
}

static void a_process_without_its_environment_belongs_to_the_job_of_its_group(void **state)
{
	static const char v2[] = "0::/system.slice/slurmstepd.scope/job_21/step_0/user/task_0\n";
	static const char v1[] = "9:freezer:/slurm/uid_0/job_22\n1:name=systemd:/x/job_23x/job_2\n";
	struct gp_root root = {.dir = place};
	u32 jobs[4] = {0};

	(void)state;
	make_process(10, "cgroup", v2, sizeof(v2) - 1);
	make_process(11, "cgroup", v1, sizeof(v1) - 1);
	make_old(21, 100);
	make_old(22, 100);
	make_old(23, 100);
	assert_int_equal(gp_slurm_marks_lost(&root, 60, jobs, 4), 1);
	assert_int_equal(jobs[0], 23);
	/* Suspended again: its processes may only be seen in a while. */
	gp_slurm_mark(23, true);
	assert_int_equal(gp_slurm_marks_lost(&root, 60, jobs, 4), 0);
	for (u32 job = 21; job <= 23; job++)
		gp_slurm_mark(job, false);
}

static void more_marks_than_there_is_room_for_are_counted(void **state)
{
	enum { MARKS = 300, ROOM = 256 };
	u32 jobs[ROOM], before = (u32)gp_slurm_marks(NULL, 0);

	(void)state;
	for (u32 job = 1000; job < 1000 + MARKS; job++)
		gp_slurm_mark(job, true);
	assert_int_equal(gp_slurm_marks(jobs, ROOM), before + MARKS);
	for (u32 job = 1000; job < 1000 + MARKS; job++)
		gp_slurm_mark(job, false);
	assert_int_equal(gp_slurm_marks(jobs, ROOM), before);
}

/* ---- programs of Slurm ---- */

/* As in the epilog, with a sacct that hangs: nothing of it is left when the alarm comes. */
static void a_program_that_hangs_ends_with_the_alarm(void **state)
{
	char path[sizeof(place) + 32];
	struct gp_buf text = {0};
	u64 end = gp_monotonic_ns() + WAIT_MS * GP_NS_PER_MS;
	pid_t pid, hung = 0;
	int status, file;

	(void)state;
	snprintf(path, sizeof(path), "%s/hung", place);
	setenv("TEST_HUNG", path, 1);
	pid = fork();
	if (pid == 0) {
		signal(SIGALRM, SIG_DFL);
		file = open("/dev/null", O_WRONLY);
		dup2(file, STDOUT_FILENO);
		gp_slurm_comment_add(17, "text");
		_exit(0);
	}
	/* The alarm comes when the program runs. */
	while (hung <= 0 && gp_monotonic_ns() < end) {
		gp_buf_free(&text);
		if (gp_file_read(path, 64, &text) == 0 && text.len &&
		    text.data[text.len - 1] == '\n')
			hung = (pid_t)atoi(gp_buf_str(&text));
		usleep(10000);
	}
	gp_buf_free(&text);
	assert_true(hung > 0);
	kill(pid, SIGALRM);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
	while (kill(hung, 0) == 0 && gp_monotonic_ns() < end)
		usleep(10000);
	assert_true(kill(hung, 0) < 0 && errno == ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_late_answer_is_not_taken_for_the_next_one),
		cmocka_unit_test(other_messages_do_not_prolong_the_wait),
		cmocka_unit_test(a_refusal_leaves_the_holds_of_other_jobs),
		cmocka_unit_test(the_end_of_gpreemptd_is_noticed),
		cmocka_unit_test(an_answer_that_was_not_read_does_not_hide_the_end),
		cmocka_unit_test(an_account_is_of_the_user_of_the_job),
		cmocka_unit_test(a_gpreemptd_that_does_not_read_ends_no_hold),
		cmocka_unit_test(what_finds_no_room_is_asked_later),
		cmocka_unit_test(marks_of_jobs_without_a_process_are_lost_after_a_while),
		cmocka_unit_test(a_process_without_its_environment_belongs_to_the_job_of_its_group),
		cmocka_unit_test(more_marks_than_there_is_room_for_are_counted),
		cmocka_unit_test(marks_outlive_the_program_that_made_them),
		cmocka_unit_test(a_program_that_hangs_ends_with_the_alarm),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, begin, finish);
}
