// SPDX-License-Identifier: MIT
/* libgpreempt and its holder: one that starts, is replaced, dies, hangs or talks rubbish. */
#include "scene.h"

#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "client/client.h"

/* Started by a program under `gpreempt run`, the holder would have an agent inside. */
static void the_holder_does_not_inherit_the_agent(void **state)
{
	struct scene *scene = *state;
	struct gpreempt_target *target = open_self(scene);
	char path[64], text[65536] = "";
	ssize_t length;
	int fd;

	signal_holder(scene, SIGKILL);
	setenv("LD_PRELOAD",
	       "/no/libgpreempt_agent.so:/no/other.so /no/libgpreempt_agent_auto.so /no/third.so",
	       1);
	setenv("HSA_TOOLS_LIB", "/no/libgpreempt_agent.so", 1);
	int status = gpreempt_target_suspend(target, NULL);
	unsetenv("LD_PRELOAD");
	unsetenv("HSA_TOOLS_LIB");
	assert_int_equal(status, 3);
	snprintf(path, sizeof(path), "/proc/%d/environ", holder_pid(scene));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	assert_true(length > 0);
	assert_null(memmem(text, (size_t)length, "libgpreempt_agent", 17));
	assert_non_null(memmem(text, (size_t)length, "LD_PRELOAD=/no/other.so /no/third.so", 37));
	assert_null(memmem(text, (size_t)length, "HSA_TOOLS_LIB=", 14));
}

static void forbid_pidfd_open(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = 4, .filter = code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(77);
}

/* An old kernel, or a container's filter. */
static void no_child_is_left_where_there_are_no_pidfds(void **state)
{
	struct scene *scene = *state;
	int status;

	signal_holder(scene, SIGKILL);
	pid_t child = fork();
	if (child == 0) {
		struct gpreempt *context;

		forbid_pidfd_open();
		if (gpreempt_open(&context))
			_exit(1);
		/* Whatever was started to start the holder was waited for. */
		_exit(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD ? 0 : 2);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

static void a_dead_holder_is_replaced_and_the_lease_is_known_to_be_lost(void **state)
{
	struct scene *scene = *state;
	struct gpreempt_target *target = open_self(scene);
	int first = holder_pid(scene);

	assert_int_equal(gpreempt_target_suspend(target, NULL), 3);
	signal_holder(scene, SIGKILL);
	struct gpreempt_event event = next_event(scene->context);
	assert_int_equal(event.kind, GPREEMPT_EVENT_LEASE_LOST);
	assert_ptr_equal(event.target, target);
	assert_int_equal(gpreempt_target_renew(target), -ENOLCK);
	assert_int_equal(gpreempt_target_resume(target), 0);
	assert_int_equal(gpreempt_target_suspend(target, NULL), 3);
	assert_int_not_equal(holder_pid(scene), first);
}

static void a_holder_that_ended_while_nothing_was_asked_is_replaced_without_a_word(void **state)
{
	struct scene *scene = *state;
	struct gpreempt_target *target = open_self(scene);

	signal_holder(scene, SIGKILL);
	assert_int_equal(gpreempt_target_suspend(target, NULL), 3);
	assert_int_equal(gpreempt_target_resume(target), 3);
	signal_holder(scene, SIGKILL);
	assert_true(gpreempt_target_suspend_async(target, NULL) > 0);
	assert_int_equal(next_event(scene->context).result, 3);
	signal_holder(scene, SIGKILL);
	gpreempt_target_close(open_group(scene, "another"));
}

static u32 shown_share(struct gpreempt_target *target)
{
	struct gpreempt_target_info info = {.size = sizeof(info)};

	assert_int_equal(gpreempt_target_info(target, &info), 0);
	return info.priority;
}

static void a_new_holder_is_told_of_shares(void **state)
{
	struct scene *scene = *state;
	struct gpreempt_target *one = open_group(scene, "shares"),
			       *other = open_group(scene, "shares");

	assert_int_equal(gpreempt_target_share(one, 250), 0);
	assert_true(gpreempt_target_share_async(other, GPREEMPT_SHARE_AT(500, 100)) > 0);
	assert_int_equal(next_event(scene->context).result, 0);
	signal_holder(scene, SIGKILL);
	assert_int_equal(shown_share(one), 250);
	assert_int_equal(shown_share(other), GPREEMPT_SHARE_AT(500, 100));
	assert_int_equal(gpreempt_target_share(one, 1000), 0);
	signal_holder(scene, SIGKILL);
	assert_int_equal(shown_share(one), 1000); /* its priority: none was told */
	/* What cannot share is suspended all the same. */
	one = open_self(scene);
	assert_int_equal(gpreempt_target_share(one, 250), -EOPNOTSUPP);
	assert_true(gpreempt_target_share_async(one, 250) > 0);
	assert_int_equal(next_event(scene->context).result, -EOPNOTSUPP);
	signal_holder(scene, SIGKILL);
	assert_int_equal(gpreempt_target_suspend(one, NULL), 3);
}

/* It is stopped, say: whoever calls for something else would wait for it. */
static void nobody_waits_for_a_program_that_does_not_take_its_share_again(void **state)
{
	struct scene *scene = *state;
	struct gpreempt_target *target = open_group(scene, "hang");

	assert_true(gpreempt_target_share_async(target, 250) > 0);
	signal_holder(scene, SIGKILL);
	assert_int_equal(next_event(scene->context).result, -ECONNRESET);
	assert_int_equal(gpreempt_target_set_priority(target, 7), 0);
}

static void a_holder_that_dies_in_a_call_is_a_clear_error(void **state)
{
	struct scene *scene = *state;
	struct gpreempt_target *target = open_group(scene, "die");
	struct gpreempt_target *other = open_self(scene);

	assert_int_equal(gpreempt_target_suspend(target, NULL), -ECONNRESET);
	assert_non_null(strstr(gpreempt_error(scene->context), "ended"));
	assert_int_equal(gpreempt_target_suspend(other, NULL), 3);
	/* An asynchronous call that was under way ends too. */
	int ticket = gpreempt_target_suspend_async(target, NULL);
	assert_true(ticket > 0);
	struct gpreempt_event event = next_event(scene->context);
	assert_int_equal(event.kind, GPREEMPT_EVENT_DONE);
	assert_int_equal(event.ticket, ticket);
	assert_int_equal(event.result, -ECONNRESET);
	event = next_event(scene->context);
	assert_int_equal(event.kind, GPREEMPT_EVENT_LEASE_LOST);
	assert_ptr_equal(event.target, other);
}

static void rubbish_ends_the_connection_and_not_the_program(void **state)
{
	struct scene *scene = *state;
	struct gpreempt_target *target = open_group(scene, "malformed");

	assert_int_equal(gpreempt_target_suspend(target, NULL), -EPROTO);
	assert_int_equal(gpreempt_target_suspend(open_self(scene), NULL), 3);
}

static void a_holder_that_cannot_start_says_why(void **state)
{
	struct scene *scene = *state;
	struct gpreempt *context;

	gpreempt_close(scene->context);
	scene->context = NULL;
	struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, holder_pid(scene), 0),
			     .events = POLLIN};
	if (end.fd >= 0) {
		assert_int_equal(poll(&end, 1, LIMIT_MS), 1);
		close(end.fd);
	}
	setenv("FAKE_HOLDER", "fail", 1);
	assert_int_equal(gpreempt_open(&context), -ECONNREFUSED);
	assert_string_equal(gpreempt_error(NULL), "the holder could not start: it was told not to");
	setenv("GPREEMPT_HOLDER", "/no/such/program", 1);
	assert_int_equal(gpreempt_open(&context), -ENOENT);
	assert_non_null(strstr(gpreempt_error(NULL), "/no/such/program"));
	assert_null(context);
}

/* One that an update left running: the program is told, and goes on. */
static void a_holder_of_another_version_is_named(void **state)
{
	struct scene *scene = *state;
	struct gpreempt *context;

	kill(holder_pid(scene), SIGKILL);
	setenv("FAKE_HOLDER", "old", 1);
	assert_int_equal(gpreempt_open(&context), -EPROTONOSUPPORT);
	assert_non_null(strstr(gpreempt_error(NULL), "is a different version"));
	assert_null(context);
	unsetenv("FAKE_HOLDER");
}

static void *open_and_close(void *result)
{
	struct gpreempt *context;
	int error = gpreempt_open(&context);

	if (!error)
		gpreempt_close(context);
	*(int *)result = error;
	return NULL;
}

static void many_that_start_it_at_once_all_reach_one(void **state)
{
	struct scene *scene = *state;
	enum { MANY = 8 };
	pthread_t threads[MANY];
	int results[MANY];

	/* The first holder ends meanwhile, too. */
	gpreempt_close(scene->context);
	scene->context = NULL;
	for (int i = 0; i < MANY; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, open_and_close, &results[i]), 0);
	for (int i = 0; i < MANY; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(results[i], 0);
	}
}

static int open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static void nothing_is_left_open(void **state)
{
	struct scene *scene = *state;
	int before = open_descriptors();

	for (int i = 0; i < 10; i++) {
		struct gpreempt *context;
		struct gpreempt_target *target;

		assert_int_equal(gpreempt_open(&context), 0);
		assert_int_equal(gpreempt_target_open(context, getpid(), NULL, &target), 0);
		assert_int_equal(gpreempt_group_open(context, "refused", NULL, &target),
				 -EOPNOTSUPP);
		gpreempt_close(context);
	}
	gpreempt_target_close(open_self(scene));
	assert_int_equal(open_descriptors(), before);
}

/* Needs a time-out to pass: a hung holder cannot be told from a slow one any other way. */
static void a_hung_holder_is_given_up(void **state)
{
	struct scene *scene = *state;
	struct gpreempt_target *target = open_group(scene, "hang");
	struct gpreempt_suspend_options options = {.size = sizeof(options), .timeout_ms = 1};
	int ticket;

	scene->context->extra_ms = 100;
	ticket = gpreempt_target_suspend_async(target, &options);
	assert_true(ticket > 0);
	assert_int_equal(gpreempt_target_suspend(target, &options), -ETIME);
	assert_non_null(strstr(gpreempt_error(scene->context), "release --all"));
	struct gpreempt_event event = next_event(scene->context);
	assert_int_equal(event.ticket, ticket);
	assert_int_equal(event.result, -ETIME);
	/* And with nobody waiting for an answer, by the descriptor alone. */
	ticket = gpreempt_target_suspend_async(target, &options);
	event = next_event(scene->context);
	assert_int_equal(event.ticket, ticket);
	assert_int_equal(event.result, -ETIME);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_holder_does_not_inherit_the_agent),
		TEST(no_child_is_left_where_there_are_no_pidfds),
		TEST(a_dead_holder_is_replaced_and_the_lease_is_known_to_be_lost),
		TEST(a_holder_that_ended_while_nothing_was_asked_is_replaced_without_a_word),
		TEST(a_new_holder_is_told_of_shares),
		TEST(nobody_waits_for_a_program_that_does_not_take_its_share_again),
		TEST(a_holder_that_dies_in_a_call_is_a_clear_error),
		TEST(rubbish_ends_the_connection_and_not_the_program),
		TEST(a_holder_that_cannot_start_says_why),
		TEST(a_holder_of_another_version_is_named),
		TEST(many_that_start_it_at_once_all_reach_one),
		TEST(nothing_is_left_open),
		TEST(a_hung_holder_is_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
