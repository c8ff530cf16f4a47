// SPDX-License-Identifier: MIT
/*
 * A launch hook as gpreempt could have one, to measure what it would gain: preloaded, it launches
 * an empty kernel in a stream of its own before each cudaGraphLaunch(), so that the GPU begins to
 * change over while the host still builds the launch. Nothing happens until hook_enable().
 */
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static const char kernel[] = ".version 6.0\n"
			     ".target sm_50\n"
			     ".address_size 64\n"
			     ".visible .entry nothing()\n"
			     "{\n"
			     " ret;\n"
			     "}\n";

static struct {
	int on;
	int (*real)(void *graph, void *stream);
	int (*launch)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
		      unsigned by, unsigned bz, unsigned shared, void *stream, void **parameters,
		      void **extra);
	void *function, *stream;
} hook;

EXPORT int hook_enable(int on);
EXPORT int cudaGraphLaunch(void *graph, void *stream);

/* The runtime may be in a scope of its own, where RTLD_NEXT does not look. */
static int find_runtime(struct dl_phdr_info *info, size_t size, void *data)
{
	void *library, *symbol;

	(void)size;
	if (!strstr(info->dlpi_name, "libcudart"))
		return 0;
	library = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
	symbol = library ? dlsym(library, "cudaGraphLaunch") : NULL;
	memcpy(data, &symbol, sizeof(symbol));
	return symbol != NULL;
}

static int set_up(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD), *module;
	int (*load)(void **, const void *);
	int (*function)(void **, void *, const char *);
	int (*stream)(void **, unsigned);

	if (!library)
		return 1;
	*(void **)&load = dlsym(library, "cuModuleLoadData");
	*(void **)&function = dlsym(library, "cuModuleGetFunction");
	*(void **)&stream = dlsym(library, "cuStreamCreate");
	*(void **)&hook.launch = dlsym(library, "cuLaunchKernel");
	return load(&module, kernel) || function(&hook.function, module, "nothing") ||
	       stream(&hook.stream, 1);
}

static void touch(void)
{
	hook.launch(hook.function, 1, 1, 1, 1, 1, 1, 0, hook.stream, NULL, NULL);
}

/* In the context that is current. 0: it is ready. */
int hook_enable(int on)
{
	if (on && !hook.function && set_up())
		return 1;
	if (on)
		touch(); /* loads the kernel */
	hook.on = on;
	return 0;
}

int cudaGraphLaunch(void *graph, void *stream)
{
	if (!hook.real)
		dl_iterate_phdr(find_runtime, &hook.real);
	if (!hook.real)
		return 999;
	if (hook.on)
		touch();
	return hook.real(graph, stream);
}
