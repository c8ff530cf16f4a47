/* SPDX-License-Identifier: MIT */
/* A fake manager and a program that uses it, for tests of gpu/nvrm. */
#ifndef GP_NVRM_RIG_H
#define GP_NVRM_RIG_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fake.h"
#include "gpu/nvrm/lifeline.h"
#include "gpu/nvrm/nvrm.h"
#include "gpu/nvrm/target.h"
#include "testlib.h"

/* Long enough for a lease never to end by itself in a test. */
#define RIG_FOR_EVER (3600ull * 1000000000u)

struct rig {
	struct fake fake;
	pid_t pid;
	int pidfd;
	FILE *to, *from;
	struct test_diag sink;
	struct gp_gpu_control *control;
};

static inline int rig_say(struct rig *rig, const char *word)
{
	char answer[16] = "";
	int number = -1;

	fprintf(rig->to, "%s\n", word);
	fflush(rig->to);
	assert_int_equal(fscanf(rig->from, "%15s %d", answer, &number), 2);
	assert_string_equal(answer, "ok");
	return number;
}

/* Starts a program; `variable` is put into its environment when not NULL. */
static inline void rig_program(struct rig *rig, const char *variable)
{
	int to[2], from[2], number;
	char answer[16];

	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	rig->pid = fork();
	assert_true(rig->pid >= 0);
	if (rig->pid == 0) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		if (variable)
			putenv(strdup(variable));
		execl(getenv("GP_FAKE_TARGET"), "fake_target", rig->fake.dir, NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	rig->to = fdopen(to[1], "w");
	rig->from = fdopen(from[0], "r");
	rig->pidfd = (int)syscall(SYS_pidfd_open, rig->pid, 0);
	assert_true(rig->pidfd >= 0);
	assert_int_equal(fscanf(rig->from, "%15s %d", answer, &number), 2);
}

static inline void rig_make(struct rig *rig, const char *branch)
{
	*rig = (struct rig){.sink = TEST_DIAG};
	assert_int_equal(fake_create(&rig->fake, branch), 0);
	rig_program(rig, NULL);
}

/* False, when this machine does not let one process copy another's descriptors. */
static inline bool rig_can_copy(const struct rig *rig)
{
	int fd = (int)syscall(SYS_pidfd_getfd, rig->pidfd, 0, 0);

	if (fd < 0)
		return errno != EPERM && errno != ENOSYS;
	close(fd);
	return true;
}

static inline void rig_end_program(struct rig *rig)
{
	if (!rig->pid)
		return;
	fclose(rig->to);
	fclose(rig->from);
	kill(rig->pid, SIGKILL);
	waitpid(rig->pid, NULL, 0);
	close(rig->pidfd);
	rig->pid = 0;
}

static inline void rig_remove(struct rig *rig)
{
	if (rig->control)
		gp_nvrm_control.detach(rig->control);
	rig_end_program(rig);
	gp_buf_free(&rig->sink.text);
	fake_destroy(&rig->fake);
}

static inline void rig_attach(struct rig *rig)
{
	assert_int_equal(gp_nvrm_attach(&rig->fake.port, rig->pidfd, (u32)rig->pid, NULL,
					&rig->control),
			 0);
	gp_nvrm_control_lease(rig->control, RIG_FOR_EVER);
}

static inline void rig_counts(const struct rig *rig, u32 compute, u32 stopped)
{
	struct fake_count count = fake_channels(&rig->fake);

	assert_int_equal(count.compute, compute);
	assert_int_equal(count.compute_stopped, stopped);
	assert_int_equal(count.copy_stopped, 0);
}

static inline void rig_all_counts(const struct rig *rig, u32 compute_stopped, u32 copy_stopped)
{
	struct fake_count count = fake_channels(&rig->fake);

	assert_int_equal(count.compute_stopped, compute_stopped);
	assert_int_equal(count.copy_stopped, copy_stopped);
}

/* For every test: skips where the machine forbids what all of them need. */
#define RIG(rig, branch)                                                               \
	do {                                                                           \
		rig_make(&(rig), branch);                                              \
		if (!rig_can_copy(&(rig))) {                                           \
			rig_remove(&(rig));                                            \
			print_message("pidfd_getfd is not allowed on this machine\n"); \
			skip();                                                        \
		}                                                                      \
	} while (0)

#endif
