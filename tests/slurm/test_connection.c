// SPDX-License-Identifier: MIT
/* The plugins and a gpreemptd that is late, refuses, ends or says something else; marks of
 * suspended jobs; and programs of Slurm that hang. The daemon here is a process of the test. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/core.h"
#include "base/file.h"
#include "proto/daemon.h"
#include "proto/directory.h"
#include "proto/wire.h"
#include "slurm/comment.h"
#include "slurm/holds.h"
#include "slurm/marks.h"
#include "testlib.h"

enum { WAIT_MS = 20000, SHORT_MS = 100, MANY_MS = 90000 };

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
		list->accounts[i].job.started_ns = 100;
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

static void an_account_is_of_the_user_and_the_run_of_the_job(void **state)
{
	struct gp_slurm_connection connection = {.fd = -1};
	struct gp_slurm_run run = {.job = 17, .uid = 1000, .begun_ns = 100};
	struct gp_slurm_account account;
	pid_t pid = daemon_start(TWO_USERS);

	(void)state;
	assert_int_equal(gp_slurm_open(&connection, WAIT_MS), 0);
	assert_int_equal(gp_slurm_account(&connection, &run, WAIT_MS, &account), 0);
	assert_int_equal(account.jobs, 1);
	assert_int_equal(account.suspends, 3);
	/* An earlier run of the job was suspended, not this one. */
	run.begun_ns = 101;
	assert_int_equal(gp_slurm_account(&connection, &run, WAIT_MS, &account), 0);
	assert_int_equal(account.jobs, 0);
	run = (struct gp_slurm_run){.job = 18, .uid = 1000};
	assert_int_equal(gp_slurm_account(&connection, &run, WAIT_MS, &account), 0);
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
	u64 end;
	pid_t pid;

	(void)state;
	seen = mmap(NULL, JOBS_SEEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(seen != MAP_FAILED);
	for (u32 job = 1; job <= GP_SLURM_JOBS; job++)
		assert_true(gp_slurm_mark(job, NULL));
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
	end = gp_monotonic_ns() + MANY_MS * GP_NS_PER_MS;
	while (holds.count && gp_monotonic_ns() < end)
		gp_slurm_holds_settle(&holds, gp_monotonic_ns() + SHORT_MS * GP_NS_PER_MS);
	assert_int_equal(holds.count, 0);
	assert_true(holds.connection.fd >= 0);
	assert_int_equal(gp_slurm_holds_ask(&holds, JOBS_SEEN, true, end), 1);
	for (u32 job = 1; job <= GP_SLURM_JOBS; job++) {
		assert_int_equal(seen[job], job > 2 && job < GP_SLURM_JOBS);
		gp_slurm_unmark(job);
	}
	/* A list that is full: the end of the connection ends all holds, and marks remain. */
	kill(pid, SIGSTOP);
	for (u32 job = 1; job < 4 * GP_SLURM_JOBS && holds.connection.fd >= 0; job++)
		assert_int_equal(gp_slurm_holds_ask(&holds, job, true, 0), -ETIME);
	assert_int_equal(holds.connection.fd, -1);
	assert_int_equal(holds.count, GP_SLURM_JOBS);
	assert_int_equal(gp_slurm_holds_open(&holds, 0), -ETIME);
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
	gp_slurm_unmark(17); /* was never there */
	assert_true(gp_slurm_mark(17, NULL));
	assert_true(gp_slurm_mark(17, NULL));
	assert_int_equal(gp_slurm_marks(jobs, 4), 1);
	assert_int_equal(jobs[0], 17);
	assert_true(gp_slurm_mark(4294967295u, NULL));
	assert_int_equal(gp_slurm_marks(jobs, 1), 2);
	gp_slurm_unmark(17);
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

static void make_old_file(const char *name, s64 age_s)
{
	struct timespec at[2] = {{.tv_sec = time(NULL) - age_s}, {.tv_sec = time(NULL) - age_s}};
	char path[sizeof(place) + 32];

	snprintf(path, sizeof(path), "%s/slurm/%s", place, name);
	assert_int_equal(utimensat(AT_FDCWD, path, at, 0), 0);
}

static void make_old(u32 job, s64 age_s)
{
	char name[16];

	assert_true(gp_slurm_mark(job, NULL));
	snprintf(name, sizeof(name), "%u", job);
	make_old_file(name, age_s);
}

/* What the kernel shows of the sockets that slurmstepds listen on. */
static void make_sockets(const char *text)
{
	char path[sizeof(place) + 64];

	snprintf(path, sizeof(path), "%s/proc", place);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/proc/net", place);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/proc/net/unix", place);
	assert_int_equal(gp_file_write_atomic(path, text, strlen(text)), 0);
}

/* A process that hangs in the kernel, and with it who reads what is shown of it. */
static void make_hung_process(void)
{
	char path[sizeof(place) + 64];

	snprintf(path, sizeof(path), "%s/proc/9", place);
	mkdir(path, 0700);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/proc/9/%s", place, i ? "environ" : "cmdline");
		assert_int_equal(mkfifo(path, 0600), 0);
	}
}

static void marks_of_jobs_without_a_step_are_lost_after_a_while(void **state)
{
	struct gp_root root = {.dir = place};
	u32 jobs[8] = {0};

	(void)state;
	alarm(60);
	make_sockets("Num       RefCount Protocol Flags    Type St Inode Path\n"
		     "0: 2 0 10000 0001 01 1 /var/spool/slurmd/gpu_01_18.4294967291\n"
		     "0: 2 0 10000 0001 01 2 /tmp/n1_1\n"
		     "0: 3 0 0 1 3 3\n"
		     "0: 2 0 10000 0001 01 4 n1_21.0\n"
		     "0: 2 0 10000 0001 01 5 /x/n1_19x.0\n");
	make_hung_process();
	make_old(18, 100); /* its step has a socket */
	make_old(19, 100);
	make_old(20, 10);
	make_old(21, 100); /* the path of its socket was too long */
	make_old(1, 100);
	assert_int_equal(gp_slurm_marks_lost(&root, 60, jobs, 8), 2);
	assert_int_equal(jobs[0] + jobs[1], 1 + 19);
	assert_int_equal(gp_slurm_marks_lost(&root, 200, jobs, 8), 0);
	/* Suspended again: its step may only be seen in a while. */
	assert_true(gp_slurm_mark(19, NULL));
	assert_int_equal(gp_slurm_marks_lost(&root, 60, jobs, 8), 1);
	/* What cannot be read says nothing. */
	root.dir = "/nonexistent";
	assert_int_equal(gp_slurm_marks_lost(&root, 60, jobs, 8), 0);
	alarm(0);
	for (u32 job = 18; job <= 21; job++)
		gp_slurm_unmark(job);
	gp_slurm_unmark(1);
}

static void a_job_that_is_over_is_not_marked_until_it_begins_again(void **state)
{
	bool marked = true;
	u32 jobs[4];

	(void)state;
	assert_true(gp_slurm_mark(30, &marked) && marked);
	gp_slurm_mark_over(30);
	assert_false(gp_slurm_is_marked(30));
	/* A suspension that comes late. */
	assert_false(gp_slurm_mark(30, &marked));
	assert_false(marked || gp_slurm_is_marked(30));
	assert_int_equal(gp_slurm_marks(jobs, 4), 0);
	/* It is requeued. */
	gp_slurm_mark_begin(30);
	assert_true(gp_slurm_mark(30, &marked) && marked);
	gp_slurm_unmark(30);
}

static void the_epilog_knows_when_the_run_of_the_job_began(void **state)
{
	char path[sizeof(place) + 32];
	u64 before = gp_monotonic_ns(), begun, second;

	(void)state;
	assert_int_equal(gp_slurm_mark_over(35), 0);
	gp_slurm_mark_begin(35);
	second = gp_monotonic_ns();
	gp_slurm_mark_begin(35); /* its second step */
	begun = gp_slurm_mark_over(35);
	assert_true(begun >= before && begun <= second);
	/* It is requeued. */
	gp_slurm_mark_begin(35);
	assert_true(gp_slurm_mark_over(35) >= second);
	assert_int_equal(gp_slurm_mark_over(35), 0);
	/* From before the last boot. */
	snprintf(path, sizeof(path), "%s/slurm/35.begun", place);
	assert_int_equal(gp_file_write_atomic(path, "18446744073709551614", 20), 0);
	assert_int_equal(gp_slurm_mark_over(35), 0);
	assert_int_not_equal(access(path, F_OK), 0);
	gp_slurm_mark_begin(35);
	gp_slurm_mark_over(35);
}

/* On a node without the task plugin only epilogs see the directory. */
static void what_earlier_epilogs_left_is_removed_by_the_next_one(void **state)
{
	(void)state;
	gp_slurm_mark_over(31);
	gp_slurm_mark_over(32);
	assert_false(gp_slurm_mark(31, NULL) || gp_slurm_mark(32, NULL));
	make_old_file("31.over", 100);
	make_old(33, 100); /* a mark is not */
	gp_slurm_mark_over(34);
	assert_true(gp_slurm_mark(31, NULL));
	assert_false(gp_slurm_mark(32, NULL) || gp_slurm_mark(34, NULL));
	assert_true(gp_slurm_is_marked(33));
	gp_slurm_unmark(31);
	gp_slurm_unmark(33);
}

static bool is_there(const char *name)
{
	char path[sizeof(place) + 32];

	snprintf(path, sizeof(path), "%s/slurm/%s", place, name);
	return access(path, F_OK) == 0;
}

static void what_a_job_without_an_epilog_left_goes_after_a_week(void **state)
{
	const s64 week = 7 * 24 * 3600;
	struct sockaddr_un step = {.sun_family = AF_UNIX};
	int socket_of_38 = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)state;
	for (u32 job = 36; job <= 38; job++)
		gp_slurm_mark_begin(job);
	make_old_file("36.begun", week - 60);
	make_old_file("37.begun", week + 60);
	make_old_file("38.begun", week + 60);
	/* As that of its slurmstepd. */
	assert_true(snprintf(step.sun_path, sizeof(step.sun_path), "%s/n1_38.0", place) <
		    (int)sizeof(step.sun_path));
	assert_int_equal(bind(socket_of_38, (void *)&step, sizeof(step)), 0);
	assert_int_equal(listen(socket_of_38, 1), 0);
	gp_slurm_mark_over(39);
	assert_true(is_there("36.begun"));
	assert_false(is_there("37.begun"));
	assert_true(is_there("38.begun"));
	close(socket_of_38);
	unlink(step.sun_path);
	gp_slurm_mark_over(39);
	assert_false(is_there("38.begun"));
	gp_slurm_mark_over(36);
}

/* The epilog was read by gpreemptd before the request of slurmd, or came between both. */
static void a_hold_that_comes_after_the_epilog_ends(void **state)
{
	static struct gp_slurm_holds holds = {.connection = {.fd = -1}};
	u64 end = gp_monotonic_ns() + WAIT_MS * GP_NS_PER_MS;
	bool marked;
	pid_t pid;

	(void)state;
	seen = mmap(NULL, JOBS_SEEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(seen != MAP_FAILED);
	pid = daemon_start(ANSWERS);
	assert_int_equal(gp_slurm_open(&holds.connection, WAIT_MS), 0);
	for (u32 job = 40; job <= 41; job++) {
		assert_true(gp_slurm_mark(job, &marked) && marked);
		if (job == 40)
			gp_slurm_mark_over(job);
		assert_int_equal(gp_slurm_holds_ask(&holds, job, true, end), 1);
		gp_slurm_holds_watch(&holds, job);
		assert_int_equal(seen[job], 1);
	}
	gp_slurm_holds_check(&holds);
	gp_slurm_holds_settle(&holds, end);
	assert_int_equal(seen[40], 0);
	assert_int_equal(seen[41], 1);
	assert_int_equal(holds.held_count, 1);
	/* One that is owed is not asked for any more. */
	assert_int_equal(gp_slurm_holds_renew(&holds), 1);
	gp_slurm_unmark(41);
	seen[41] = 7;
	gp_slurm_holds_settle(&holds, end);
	assert_int_equal(holds.count, 0);
	assert_int_equal(gp_slurm_holds_ask(&holds, 42, false, end), 1);
	assert_int_equal(seen[41], 7);
	gp_slurm_close(&holds.connection);
	daemon_end(pid);
	munmap(seen, JOBS_SEEN);
	seen = NULL;
}

static void use_up_descriptors(struct rlimit *before)
{
	int next = dup(STDERR_FILENO);
	struct rlimit now;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, before), 0);
	now = (struct rlimit){(rlim_t)next, before->rlim_max};
	close(next);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
}

static void marks_that_cannot_be_looked_at_are_not_gone(void **state)
{
	static struct gp_slurm_holds holds = {.connection = {.fd = -1}};
	u64 end = gp_monotonic_ns() + WAIT_MS * GP_NS_PER_MS;
	char path[sizeof(place) + 32];
	struct rlimit before;
	pid_t pid;

	(void)state;
	seen = mmap(NULL, JOBS_SEEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(seen != MAP_FAILED);
	pid = daemon_start(ANSWERS);
	assert_int_equal(gp_slurm_holds_open(&holds, WAIT_MS), 0);
	assert_true(gp_slurm_mark(60, NULL) && gp_slurm_mark(61, NULL));
	assert_int_equal(gp_slurm_holds_ask(&holds, 60, true, end), 1);
	gp_slurm_holds_watch(&holds, 60);
	snprintf(path, sizeof(path), "%s/slurm", place);
	for (int i = 0; i < 2; i++) {
		if (i)
			assert_int_equal(chmod(path, 0770), 0);
		else
			use_up_descriptors(&before);
		bool is = gp_slurm_is_marked(60);
		int marks = gp_slurm_marks(NULL, 0), renewed = gp_slurm_holds_renew(&holds);

		gp_slurm_holds_check(&holds);
		if (!i)
			assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
		assert_true(is);
		assert_int_equal(marks, i ? -EPERM : -EMFILE);
		assert_int_equal(renewed, marks);
		assert_int_equal(holds.count, 0);
		assert_int_equal(holds.held_count, 1);
	}
	assert_int_equal(chmod(path, 0700), 0);
	/* What is owed besides stays so. */
	kill(pid, SIGSTOP);
	while (!holds.count)
		assert_int_equal(gp_slurm_holds_ask(&holds, 62, false, 0), -ETIME);
	assert_int_equal(gp_slurm_holds_renew(&holds), 2);
	assert_int_equal(holds.count, 3);
	kill(pid, SIGCONT);
	seen[62] = 1;
	while (holds.count && gp_monotonic_ns() < end)
		gp_slurm_holds_settle(&holds, gp_monotonic_ns() + SHORT_MS * GP_NS_PER_MS);
	assert_int_equal(gp_slurm_holds_ask(&holds, 63, true, end), 1);
	assert_true(seen[60] && seen[61] && !seen[62]);
	for (u32 job = 60; job <= 61; job++)
		gp_slurm_unmark(job);
	gp_slurm_close(&holds.connection);
	daemon_end(pid);
	munmap(seen, JOBS_SEEN);
	seen = NULL;
}

static void more_marks_than_there_is_room_for_are_counted(void **state)
{
	enum { MARKS = 300, ROOM = 256 };
	u32 jobs[ROOM], before = (u32)gp_slurm_marks(NULL, 0);

	(void)state;
	for (u32 job = 1000; job < 1000 + MARKS; job++)
		assert_true(gp_slurm_mark(job, NULL));
	assert_int_equal(gp_slurm_marks(jobs, ROOM), before + MARKS);
	for (u32 job = 1000; job < 1000 + MARKS; job++)
		gp_slurm_unmark(job);
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
		cmocka_unit_test(an_account_is_of_the_user_and_the_run_of_the_job),
		cmocka_unit_test(a_gpreemptd_that_does_not_read_ends_no_hold),
		cmocka_unit_test(what_finds_no_room_is_asked_later),
		cmocka_unit_test(a_hold_that_comes_after_the_epilog_ends),
		cmocka_unit_test(marks_of_jobs_without_a_step_are_lost_after_a_while),
		cmocka_unit_test(a_job_that_is_over_is_not_marked_until_it_begins_again),
		cmocka_unit_test(the_epilog_knows_when_the_run_of_the_job_began),
		cmocka_unit_test(what_earlier_epilogs_left_is_removed_by_the_next_one),
		cmocka_unit_test(what_a_job_without_an_epilog_left_goes_after_a_week),
		cmocka_unit_test(marks_that_cannot_be_looked_at_are_not_gone),
		cmocka_unit_test(more_marks_than_there_is_room_for_are_counted),
		cmocka_unit_test(marks_outlive_the_program_that_made_them),
		cmocka_unit_test(a_program_that_hangs_ends_with_the_alarm),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, begin, finish);
}
