// SPDX-License-Identifier: MIT
/*
 * What libcuda does with time slices while it makes a context: preloaded, it writes a line for each
 * channel group and compute object that is made and each control of a group, with microseconds
 * since the first, to the file in GPBENCH_CALLS.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "abi/nvrm_ioctl.h"

static int file = -1;

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("GPBENCH_CALLS");

	if (path)
		file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static void note(const char *what, unsigned object, unsigned long long value)
{
	static unsigned long long first;
	struct timespec now;
	unsigned long long us;
	char line[128];
	int length;

	clock_gettime(CLOCK_MONOTONIC, &now);
	us = (unsigned long long)now.tv_sec * 1000000 + (unsigned long long)now.tv_nsec / 1000;
	if (!first)
		first = us;
	length = snprintf(line, sizeof(line), "%llu %s %x %llu\n", us - first, what, object, value);
	(void)!write(file, line, (size_t)length);
}

static void look(unsigned long request, const void *arg)
{
	const struct gp_nv_control *control = arg;
	const struct gp_nv_alloc *made = arg;

	if (request == GP_NV_IOC_CONTROL && control->cmd >> 16 == GP_NV_CLASS_GROUP) {
		const struct gp_nv_timeslice *slice = (const void *)(uintptr_t)control->params;
		bool about = control->cmd == GP_NV_CMD_SET_TIMESLICE ||
			     control->cmd == GP_NV_CMD_GET_TIMESLICE;

		note(control->cmd == GP_NV_CMD_SET_TIMESLICE   ? "set"
		     : control->cmd == GP_NV_CMD_GET_TIMESLICE ? "get"
							       : "control",
		     control->object, about && slice ? slice->us : control->cmd);
	} else if (request == GP_NV_IOC_ALLOC || request == GP_NV_IOC_ALLOC64) {
		if (made->class_id == GP_NV_CLASS_GROUP)
			note("group", made->object, made->class_id);
		else if (gp_nv_class_is_compute(made->class_id))
			note("compute", made->object, made->class_id);
	}
}

__attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...)
{
	static int (*real)(int, unsigned long, ...);
	va_list list;
	void *arg;
	int result;

	va_start(list, request);
	arg = va_arg(list, void *);
	va_end(list);
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "ioctl");
	result = real(fd, request, arg);
	if (file >= 0 && !result && arg)
		look(request, arg);
	return result;
}
