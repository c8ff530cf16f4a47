// SPDX-License-Identifier: MIT
/* A process that is traced without a session is let go at its next signal, and gets it. */
#include "testlib.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu/kfd/debug.h"

static int heard[2];

static void handler(int signal)
{
	char byte = (char)signal;

	(void)!write(heard[1], &byte, 1);
}

static pid_t start(void)
{
	pid_t child;
	char byte;

	assert_int_equal(pipe(heard), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		signal(SIGUSR1, handler);
		handler(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(heard[0], &byte, 1), 1);
	return child;
}

static void a_traced_process_gets_its_signal_and_is_let_go(void **state)
{
	struct pollfd one = {.events = POLLIN};
	u32 tracer = 1, uid;
	pid_t child = start();
	siginfo_t info;
	int traced;
	char byte = 0;

	(void)state;
	one.fd = heard[0];
	traced = ptrace(PTRACE_SEIZE, child, NULL, NULL) == 0;
	if (traced) {
		gp_kfd_debug_control.stray((u32)child); /* it runs: nothing to do */
		kill(child, SIGUSR1);
		/* Until it has stopped; the stop stays there to be found. */
		while (waitid(P_PID, (id_t)child, &info, WSTOPPED | WNOWAIT | __WALL) < 0 &&
		       errno == EINTR)
			;
		gp_kfd_debug_control.stray((u32)child);
		if (poll(&one, 1, 60000) == 1 && read(heard[0], &byte, 1) != 1)
			byte = 0;
		assert_int_equal(gp_kfd_debug_status((u32)child, &tracer, &uid), 0);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(heard[0]);
	close(heard[1]);
	if (!traced)
		skip();
	assert_int_equal(byte, SIGUSR1);
	assert_int_equal(tracer, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_traced_process_gets_its_signal_and_is_let_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
