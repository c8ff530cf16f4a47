// SPDX-License-Identifier: MIT
/*
 * A kernel for a GPU that gpreempt was not built for: compiled by hiprtc, where ROCm has it, in a
 * process of its own, because HIP starts a runtime of its own when it is loaded.
 */
#include "selftest/work.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/host/program.h"
#include "base/spawn.h"

#define SOURCE_MAX (64u << 10)
#define CODE_MAX   (4u << 20)

/* Functions return a hiprtcResult: 0 is success. hip/hiprtc.h of ROCm 5.2. */
struct hiprtc {
	int (*create)(void **program, const char *source, const char *name, int headers,
		      const char **header, const char **include);
	int (*compile)(void *program, int count, const char **options);
	int (*log_size)(void *program, size_t *size);
	int (*log)(void *program, char *text);
	int (*code_size)(void *program, size_t *size);
	int (*code)(void *program, char *code);
};

static int say(const char *what, const char *detail)
{
	printf("%s%s%.100s\n", what, *detail ? ": " : "", detail);
	fflush(stdout);
	return 1;
}

static void *open_library(void)
{
	/* A library of its own since ROCm 5.3; part of HIP before. */
	static const char *const names[] = {
		"libhiprtc.so",   "libhiprtc.so.7", "libhiprtc.so.6",
		"libhiprtc.so.5", "libamdhip64.so", "libamdhip64.so.5",
	};
	char why[160];
	void *found = NULL;

	for (size_t i = 0; !found && i < sizeof(names) / sizeof(names[0]); i++) {
		found = gp_selftest_rocm_open(names[i], why, sizeof(why));
		if (found && !dlsym(found, "hiprtcCompileProgram"))
			found = NULL;
	}
	return found;
}

static bool find_functions(void *library, struct hiprtc *hiprtc)
{
	const struct {
		void *function;
		const char *name;
	} names[] = {
		{&hiprtc->create, "hiprtcCreateProgram"},
		{&hiprtc->compile, "hiprtcCompileProgram"},
		{&hiprtc->log_size, "hiprtcGetProgramLogSize"},
		{&hiprtc->log, "hiprtcGetProgramLog"},
		{&hiprtc->code_size, "hiprtcGetCodeSize"},
		{&hiprtc->code, "hiprtcGetCode"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *found = dlsym(library, names[i].name);

		if (!found)
			return false;
		memcpy(names[i].function, &found, sizeof(found));
	}
	return true;
}

static char *read_source(void)
{
	char path[PATH_MAX];
	char *source;
	FILE *file;

	if (gp_program_beside("lib/gpreempt/selftest-kernel.cl", "lib/selftest-kernel.cl", path,
			      sizeof(path)))
		return NULL;
	file = fopen(path, "rb");
	source = file ? calloc(1, SOURCE_MAX) : NULL;
	if (source && !fread(source, 1, SOURCE_MAX - 1, file)) {
		free(source);
		source = NULL;
	}
	if (file)
		fclose(file);
	return source;
}

/* The compiler's first complaint. */
static int say_log(const struct hiprtc *hiprtc, void *program)
{
	size_t size = 0;
	char *text = NULL;

	if (!hiprtc->log_size(program, &size) && size)
		text = calloc(1, size + 1);
	if (text && !hiprtc->log(program, text))
		text[strcspn(text, "\n")] = '\0';
	int status = say("hiprtc cannot compile the kernel", text ? text : "");
	free(text);
	return status;
}

static int write_code(const struct hiprtc *hiprtc, void *program)
{
	size_t size = 0;
	char *code;

	if (hiprtc->code_size(program, &size) || !size)
		return say("hiprtc produced no code", "");
	code = malloc(size);
	int status = !code || hiprtc->code(program, code) ? say("hiprtc produced no code", "") : 0;
	if (!status && (fwrite(code, 1, size, stdout) != size || fflush(stdout)))
		status = say("cannot write the code", strerror(errno));
	free(code);
	return status;
}

int gp_selftest_work_compile(const char *gfx)
{
	struct hiprtc hiprtc;
	char option[64];
	const char *options[] = {option, "-O2"};
	void *library = open_library(), *program = NULL;
	char *source;

	if (!library || !find_functions(library, &hiprtc))
		return say("hiprtc is not installed", "");
	source = read_source();
	if (!source)
		return say("the kernel source is not installed", "");
	snprintf(option, sizeof(option), "--offload-arch=%s", gfx);
	if (hiprtc.create(&program, source, "selftest-kernel.cl", 0, NULL, NULL))
		return say("hiprtc rejected the kernel source", "");
	if (hiprtc.compile(program, 2, options))
		return say_log(&hiprtc, program);
	return write_code(&hiprtc, program);
}

/* ---- the other side ---- */

static size_t take_all(int fd, char *out, size_t room)
{
	size_t used = 0;
	ssize_t got;

	while (used < room) {
		got = read(fd, out + used, room - used);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		used += (size_t)got;
	}
	return used;
}

/* One pipe for both: the code, or the sentence that says why there is none. HIP's own words on
 * stderr are nobody's concern. */
static pid_t spawn(const char *gfx, int *from)
{
	int pipes[2];
	pid_t child;

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return -1;
	child = fork();
	if (child == 0) {
		if (!gp_spawn_silence() && dup2(pipes[1], STDOUT_FILENO) >= 0)
			execl("/proc/self/exe", "gpreempt-selftest-work", "--compile", gfx, NULL);
		_exit(127);
	}
	close(pipes[1]);
	if (child < 0)
		close(pipes[0]);
	*from = pipes[0];
	return child;
}

void *gp_selftest_work_compiled(const char *gfx, size_t *size, char *why, size_t room)
{
	char *code = malloc(CODE_MAX + 1);
	int from;
	pid_t child = code ? spawn(gfx, &from) : -1;

	*size = 0;
	if (child > 0) {
		*size = take_all(from, code, CODE_MAX);
		close(from);
		if (gp_spawn_wait(child) == 0 && *size)
			return code;
	}
	if (code) {
		code[*size] = '\0';
		code[strcspn(code, "\n")] = '\0';
	}
	snprintf(why, room, "this build has no kernel for %.31s; %.100s", gfx,
		 code && *code ? code : "hiprtc could not be run");
	free(code);
	return NULL;
}
