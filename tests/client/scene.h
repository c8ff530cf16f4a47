/* SPDX-License-Identifier: MIT */
/* A context with a fake holder behind it, in a directory of its own, for each test. */
#ifndef GP_TEST_LIB_SCENE_H
#define GP_TEST_LIB_SCENE_H

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gpreempt.h"
#include "testlib.h"

#define LIMIT_MS 60000

struct scene {
	char dir[64];
	struct gpreempt *context;
};

static inline int setup(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(place_make(scene->dir, sizeof(scene->dir)));
	setenv("GPREEMPT_DIR", scene->dir, 1);
	setenv("GPREEMPT_HOLDER", getenv("FAKE_HOLDER_PROGRAM"), 1);
	unsetenv("FAKE_HOLDER");
	assert_int_equal(gpreempt_open(&scene->context), 0);
	*state = scene;
	return 0;
}

static inline int holder_pid(const struct scene *scene)
{
	char path[96], text[32] = "";

	snprintf(path, sizeof(path), "%s/holder.lock", scene->dir);
	int fd = open(path, O_RDONLY);
	if (fd < 0)
		return 0;
	assert_true(read(fd, text, sizeof(text) - 1) >= 0);
	close(fd);
	return atoi(text);
}

/* Sends a signal to the holder and, when it kills, waits for its end. */
static inline void signal_holder(const struct scene *scene, int number)
{
	int pidfd = (int)syscall(SYS_pidfd_open, holder_pid(scene), 0);
	struct pollfd end = {.fd = pidfd, .events = POLLIN};

	assert_true(pidfd >= 0);
	assert_int_equal(syscall(SYS_pidfd_send_signal, pidfd, number, NULL, 0), 0);
	if (number == SIGKILL)
		assert_int_equal(poll(&end, 1, LIMIT_MS), 1);
	close(pidfd);
}

static inline int teardown(void **state)
{
	struct scene *scene = *state;
	int pid = holder_pid(scene);
	int pidfd = pid ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	char path[96];
	static const char *const files[] = {"holder.sock", "holder.lock"};

	gpreempt_close(scene->context);
	if (pidfd >= 0) {
		struct pollfd end = {.fd = pidfd, .events = POLLIN};
		assert_int_equal(poll(&end, 1, LIMIT_MS), 1);
		close(pidfd);
	}
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", scene->dir, files[i]);
		unlink(path);
	}
	assert_int_equal(rmdir(scene->dir), 0);
	free(scene);
	return 0;
}

static inline struct gpreempt_target *open_group(struct scene *scene, const char *name)
{
	struct gpreempt_target *target;

	assert_int_equal(gpreempt_group_open(scene->context, name, NULL, &target), 0);
	return target;
}

static inline struct gpreempt_target *open_self(struct scene *scene)
{
	struct gpreempt_target *target;

	assert_int_equal(gpreempt_target_open(scene->context, getpid(), NULL, &target), 0);
	return target;
}

/* The next event, waited for through the descriptor a program would poll. */
static inline struct gpreempt_event next_event(struct gpreempt *context)
{
	struct pollfd readable = {.fd = gpreempt_fd(context), .events = POLLIN};
	struct gpreempt_event event;

	for (;;) {
		assert_int_equal(poll(&readable, 1, LIMIT_MS), 1);
		if (gpreempt_next_event(context, &event))
			return event;
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
