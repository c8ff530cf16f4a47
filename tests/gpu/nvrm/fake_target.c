// SPDX-License-Identifier: MIT
/*
 * A CUDA program as the resource manager sees it: does what it is told on its standard input, a
 * word a line, and answers "ok" and maybe a number. It dies with the test that started it.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake.h"

static struct fake fake;
static struct fake_program program;

/* A worker that was forked after the context was made. */
static int fork_child(void)
{
	pid_t parent = getpid(), child = fork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (getppid() == parent)
			pause();
		_exit(0); /* it died before that was set */
	}
	return child;
}

/* As libgpreempt's gpreempt_request_begin() does. */
static int announce(int begin)
{
	int (*request)(int, uint64_t);

	*(void **)&request = dlsym(RTLD_DEFAULT, "gpreempt_agent_request");
	return !request || request(begin, 0);
}

static void *cuda_symbol(const char *name)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

	return library ? dlsym(library, name) : NULL;
}

/* Kernels in the stand-in for libcuda: fake_launches and fake_loads. */
static int count(const char *name, int *number)
{
	int (*function)(void);

	*(void **)&function = cuda_symbol(name);
	if (function)
		*number = function();
	return !function;
}

static int tell(const char *name, int number)
{
	void (*function)(int);

	*(void **)&function = cuda_symbol(name);
	if (function)
		function(number);
	return !function;
}

/* In the context of this number. */
static int use(int context)
{
	return tell("fake_use", context);
}

static void *begin_elsewhere(void *unused)
{
	(void)unused;
	use(1);
	announce(1);
	return NULL;
}

/* A thread is in the middle of an announcement, in a launch that waits for the GPU; another
 * announces and ends its request meanwhile. */
static int announce_beside_a_launch_that_waits(void)
{
	void (*fill)(bool), (*await_waiting)(void);
	pthread_t thread;
	int failed;

	*(void **)&fill = cuda_symbol("fake_fill");
	*(void **)&await_waiting = cuda_symbol("fake_await_waiting");
	if (!fill || !await_waiting)
		return 1;
	fill(true);
	if (pthread_create(&thread, NULL, begin_elsewhere, NULL))
		return 1;
	await_waiting();
	failed = announce(0);
	fill(false);
	pthread_join(thread, NULL);
	return failed;
}

static int obey(const char *word, int *number)
{
	*number = 0;
	if (strcmp(word, "context") == 0)
		return fake_program_context(&fake, &program, false);
	if (strcmp(word, "make") == 0) /* a context that lacks its timeslice */
		return fake_program_make(&fake, &program, false);
	if (strcmp(word, "slice") == 0)
		return fake_program_slice(&fake, &program);
	if (strcmp(word, "mig") == 0)
		return fake_program_context(&fake, &program, true);
	if (strcmp(word, "channel") == 0)
		return fake_program_channel(&fake, &program);
	if (strcmp(word, "copier") == 0)
		return fake_program_copier(&fake, &program);
	if (strcmp(word, "free") == 0)
		return fake_program_free(&fake, &program);
	if (strncmp(word, "churn", 5) == 0)
		return fake_program_churn(&fake, &program, (u32)atoi(word + 5));
	if (strcmp(word, "client") == 0) /* another library, with a device of its own open */
		return fake_program_start(&fake, &program);
	if (strcmp(word, "mps") == 0)
		return prctl(PR_SET_NAME, "nvidia-cuda-mps-server");
	if (strcmp(word, "dup") == 0)
		return dup(program.fd) < 0;
	if (strcmp(word, "begin") == 0 || strcmp(word, "end") == 0)
		return announce(word[0] == 'b');
	if (strcmp(word, "cuda") == 0)
		return !dlopen("libcuda.so.1", RTLD_NOW);
	if (strcmp(word, "launches") == 0)
		return count("fake_launches", number);
	if (strcmp(word, "loads") == 0)
		return count("fake_loads", number);
	if (strcmp(word, "pages") == 0)
		return count("fake_pages", number);
	if (strcmp(word, "pinned") == 0)
		return count("fake_pinned", number);
	if (strcmp(word, "modules") == 0)
		return count("fake_modules", number);
	if (strncmp(word, "use", 3) == 0)
		return use(atoi(word + 3));
	if (strncmp(word, "destroy", 7) == 0)
		return tell("fake_end", atoi(word + 7));
	if (strncmp(word, "fail", 4) == 0)
		return tell("fake_fail", atoi(word + 4));
	if (strcmp(word, "beside") == 0)
		return announce_beside_a_launch_that_waits();
	if (strcmp(word, "fork") == 0)
		*number = fork_child();
	return *number < 0;
}

int main(int argc, char **argv)
{
	char word[64];
	int number, failed;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (argc < 2 || fake_join(&fake, argv[1]))
		return 1;
	if (argc > 2 && strcmp(argv[2], "libc") == 0)
		fake_through_libc(&fake);
	if (fake_program_start(&fake, &program))
		return 1;
	printf("ok 0\n");
	fflush(stdout);
	while (scanf("%63s", word) == 1) {
		if (strcmp(word, "exit") == 0)
			return 0;
		failed = obey(word, &number);
		printf("%s %d\n", failed ? "failed" : "ok", number);
		fflush(stdout);
	}
	return 0;
}
