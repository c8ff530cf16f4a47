// SPDX-License-Identifier: MIT
/* Starting the GPU program, asking it, ending it. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/i18n.h"
#include "base/spawn.h"
#include "selftest/selftest.h"

#define WORK      "gpreempt-selftest-work"
#define CUDA_WORK "gpreempt-selftest-cuda"
#define ANSWER_MS 180000 /* longer than the program itself waits */

__attribute__((format(printf, 3, 4))) static int fail(struct gp_selftest_program *program,
						      int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(program->error, sizeof(program->error), format, args);
	va_end(args);
	return error;
}

/* Beside this program: the GPU program, and in a build tree `gpreempt`, which is in bin/ when
 * installed. */
static int find(const char *const *places, char *out, size_t size)
{
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (length <= 0)
		return -ENOENT;
	self[length] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return -ENOENT;
	*slash = '\0';
	for (; *places; places++)
		if (snprintf(out, size, "%s/%s", self, *places) < (int)size &&
		    access(out, X_OK) == 0)
			return 0;
	return -ENOENT;
}

static _Noreturn void become(char *const *argv, int in, int out, pid_t parent)
{
	/* Nothing of it stays when we are killed. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	/* Ctrl-C is for us; we end it. */
	setpgid(0, 0);
	gp_spawn_reset_signals();
	if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0)
		_exit(127);
	execv(argv[0], argv);
	_exit(127);
}

/* pipes: to it, from it. */
static int spawn(struct gp_selftest_program *program, char *const *argv, int pipes[4])
{
	pid_t self = getpid(), child;

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(pipes + 2, O_CLOEXEC) < 0) {
		int error = -errno;

		close(pipes[0]);
		close(pipes[1]);
		return error;
	}
	child = fork();
	if (child == 0)
		become(argv, pipes[0], pipes[3], self);
	int error = child < 0 ? -errno : 0;
	close(pipes[0]);
	close(pipes[3]);
	if (child < 0) {
		close(pipes[1]);
		close(pipes[2]);
		return error;
	}
	program->pid = child;
	program->to = pipes[1];
	program->from = pipes[2];
	return 0;
}

/* One line; the program writes nothing it was not asked for. */
static int read_line(struct gp_selftest_program *program, char *line, size_t size)
{
	struct pollfd files[2] = {{.fd = program->from, .events = POLLIN},
				  {.fd = program->place->signals, .events = POLLIN}};
	size_t length = 0;

	while (length + 1 < size) {
		int ready = poll(files, 2, ANSWER_MS);

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready == 0)
			return fail(program, -ETIME,
				    _("the test program does not answer, so nothing was tested; "
				      "dmesg may "
				      "show a GPU hang"));
		if (gp_selftest_interrupted(program->place))
			return fail(program, -EINTR, "%s", strerror(EINTR));
		ssize_t got = read(program->from, line + length, 1);
		if (got <= 0)
			return fail(program, -EPIPE,
				    _("the test program ended early, so nothing was tested; run "
				      "'gpreempt "
				      "doctor' to see whether GPU programs can run here"));
		if (line[length] == '\n')
			break;
		length++;
	}
	line[length] = '\0';
	return 0;
}

/* "bad REASON", or what should not have come. */
static int refuse(struct gp_selftest_program *program, const char *line)
{
	if (strncmp(line, "bad ", 4) == 0)
		return fail(program, -EIO, "%s", line + 4);
	return fail(program, -EIO, _("unexpected reply from the test program: %s"), line);
}

static long take_answer(struct gp_selftest_program *program)
{
	char line[sizeof(program->error)];
	int error = read_line(program, line, sizeof(line));

	if (error)
		return error;
	if (strncmp(line, "ok ", 3) == 0)
		return strtol(line + 3, NULL, 10);
	return refuse(program, line);
}

/* "ok QUEUES SOURCE [WHY]" */
static int take_introduction(struct gp_selftest_program *program, u32 queues)
{
	static const struct {
		const char *word;
		enum gp_selftest_work work;
	} sources[] = {{"barriers", GP_SELFTEST_BARRIERS},
		       {"kernel", GP_SELFTEST_KERNEL},
		       {"hiprtc", GP_SELFTEST_HIPRTC}};
	char line[sizeof(program->error)], source[16] = "";
	int error = read_line(program, line, sizeof(line)), length = 0;
	unsigned int made = 0;

	if (error)
		return error;
	if (sscanf(line, "ok %u %15s %n", &made, source, &length) != 2 || made != queues)
		return refuse(program, line);
	for (size_t i = 0; i < GP_ARRAY_SIZE(sources); i++)
		if (strcmp(source, sources[i].word) == 0)
			program->work = sources[i].work;
	snprintf(program->work_reason, sizeof(program->work_reason), "%s", line + length);
	return 0;
}

/* For the program: AMD's by its node, NVIDIA's by its address. */
static void name_gpu(const struct gp_gpu *gpu, char *out, size_t size)
{
	if (!gp_gpu_is_nvidia(gpu->gpu_id))
		snprintf(out, size, "%u", gpu->node);
	else if (gpu->valid & GP_GPU_PCI)
		snprintf(out, size, "%04x:%02x:%02x.%x", gpu->pci_domain, gpu->pci_bus,
			 gpu->pci_device, gpu->pci_function);
	else
		snprintf(out, size, "-");
}

int gp_selftest_program_start(struct gp_selftest_program *program, struct gp_selftest_place *place,
			      const struct gp_selftest_report *report, bool agent, u32 queues)
{
	bool nvidia = gp_gpu_is_nvidia(report->gpu->gpu_id);
	const char *const works[] = {nvidia ? CUDA_WORK : WORK, NULL};
	static const char *const commands[] = {"gpreempt", "../../bin/gpreempt", NULL};
	char work[PATH_MAX], command[PATH_MAX], gpu_text[32], queues_text[16];
	char run[] = "run", dashes[] = "--", virtual[] = "virtual";
	char *argv[] = {command,
			run,
			dashes,
			work,
			gpu_text,
			queues_text,
			report->executes ? NULL : virtual,
			NULL};
	int pipes[4], error;

	*program = (struct gp_selftest_program){.place = place, .to = -1, .from = -1};
	if (find(works, work, sizeof(work)))
		return fail(program, -ENOENT,
			    _("%s is missing from this installation of gpreempt; install gpreempt "
			      "again ('make install', or its package)"),
			    works[0]);
	if (agent && find(commands, command, sizeof(command)))
		return fail(program, -ENOENT,
			    _("%s is missing from this installation of gpreempt; install gpreempt "
			      "again ('make install', or its package)"),
			    "gpreempt");
	name_gpu(report->gpu, gpu_text, sizeof(gpu_text));
	snprintf(queues_text, sizeof(queues_text), "%u", queues);
	error = spawn(program, agent ? argv : argv + 3, pipes);
	if (error)
		return fail(program, error, _("cannot run %s: %s"), work, strerror(-error));
	return take_introduction(program, queues);
}

long gp_selftest_program_ask(struct gp_selftest_program *program, enum gp_selftest_command command)
{
	char letter = (char)command;

	if (write(program->to, &letter, 1) != 1)
		return fail(program, -EPIPE,
			    _("the test program ended early, so nothing was tested; run 'gpreempt "
			      "doctor' to see whether GPU programs can run here"));
	return take_answer(program);
}

void gp_selftest_program_end(struct gp_selftest_program *program)
{
	if (!program->pid)
		return;
	kill(program->pid, SIGKILL);
	while (waitpid(program->pid, NULL, 0) < 0 && errno == EINTR)
		;
	close(program->to);
	close(program->from);
	program->pid = 0;
}
