// SPDX-License-Identifier: MIT
/* gpreempt.ko on the stand-in: TAP, one line per row. See amdgpu.c. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gpreempt_uapi.h"

#define PARAMETERS "/sys/module/amdgpu/parameters/"
#define LONG_LEASE 600000
#define TRIES      2000

static int device, pidfd;

static void fails(const char *gpu)
{
	int fd = open(PARAMETERS "fails", O_WRONLY);

	if (fd < 0 || write(fd, gpu, strlen(gpu)) < 0)
		perror(PARAMETERS "fails");
	close(fd);
}

/* "0,0": it runs on both GPUs. */
static bool evicted_is(const char *expected)
{
	char text[32] = "";
	int fd = open(PARAMETERS "evicted", O_RDONLY);
	ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	close(fd);
	text[strcspn(text, "\n")] = '\0';
	if (size > 0 && strcmp(text, expected) == 0)
		return true;
	printf("# evicted is %s, not %s\n", text, expected);
	return false;
}

static int evict(unsigned int lease_ms)
{
	struct gpreempt_evict args = {.pidfd = pidfd, .lease_ms = lease_ms};

	return ioctl(device, GPREEMPT_IOC_EVICT, &args) ? -errno : 0;
}

static int restore(void)
{
	struct gpreempt_restore args = {.pidfd = pidfd, .flags = GPREEMPT_RESTORE_WHOLLY};

	return ioctl(device, GPREEMPT_IOC_RESTORE, &args) ? -errno : 0;
}

static bool counts_gpus(void)
{
	struct gpreempt_info info = {0};

	return ioctl(device, GPREEMPT_IOC_INFO, &info) == 0 && info.gpus == 2 &&
	       info.abi == GPREEMPT_ABI;
}

static bool evicts_and_restores(void)
{
	return evict(LONG_LEASE) == 0 && evicted_is("1,1") && restore() == 0 && evicted_is("0,0");
}

/* Either GPU: what the other one was told is taken back as well. */
static bool time_out_is_undone(void)
{
	bool ok = true;

	for (int gpu = 0; gpu < 2 && ok; gpu++) {
		fails(gpu ? "1" : "0");
		ok = evict(LONG_LEASE) == -ETIME && evicted_is("0,0") && restore() == -ENOENT;
	}
	fails("-1");
	return ok && evicts_and_restores();
}

static bool lease_ends(void)
{
	struct gpreempt_state state = {.pidfd = pidfd, .evicted = 1};

	if (evict(50))
		return false;
	for (int i = 0; i < TRIES && state.evicted; i++) {
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
		if (ioctl(device, GPREEMPT_IOC_STATE, &state))
			return false;
	}
	return evicted_is("0,0");
}

static bool pidfd_is_checked(void)
{
	struct gpreempt_evict args = {.pidfd = device, .lease_ms = 50};

	return ioctl(device, GPREEMPT_IOC_EVICT, &args) == -1 && errno == EBADF;
}

int main(void)
{
	static const struct {
		const char *rule;
		bool (*row)(void);
	} rows[] = {
		{"the module finds two GPUs", counts_gpus},
		{"a process is evicted on both, and restored", evicts_and_restores},
		{"an eviction that one GPU does not answer is undone on both", time_out_is_undone},
		{"a lease ends", lease_ends},
		{"a descriptor that is not a pidfd is EBADF", pidfd_is_checked},
	};
	pid_t child = fork();
	int failed = 0;

	if (!child)
		for (;;)
			pause();
	pidfd = (int)syscall(SYS_pidfd_open, child, 0);
	device = open(GPREEMPT_DEVICE, O_RDWR | O_CLOEXEC);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool ok = pidfd >= 0 && device >= 0 && rows[i].row();

		printf("%sok - %s\n", ok ? "" : "not ", rows[i].rule);
		failed += !ok;
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return failed > 0;
}
