// SPDX-License-Identifier: MIT
/* A machine's status as text. */
#include <stdio.h>
#include <string.h>

#include "base/i18n.h"
#include "vgpu/program/program.h"

static u64 number(const json_t *object, const char *key)
{
	return (u64)json_integer_value(json_object_get(object, key));
}

static const char *text(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value ? value : "-";
}

/* 90010 is gfx90a: two decimal digits of minor and stepping, the stepping in hex. */
static void gfx_name(u64 version, char *out, size_t size)
{
	snprintf(out, size, "gfx%llu%llu%llx", (unsigned long long)(version / 10000),
		 (unsigned long long)(version / 100 % 100), (unsigned long long)(version % 100));
}

void gp_vgpu_describe(const json_t *status, char *out, size_t size)
{
	const json_t *gpus = json_object_get(status, "gpus"), *gpu = json_array_get(gpus, 0);
	char name[32], count[16] = "";

	gfx_name(number(gpu, "gfx_version"), name, sizeof(name));
	if (json_array_size(gpus) > 1)
		snprintf(count, sizeof(count), "%zu x ", json_array_size(gpus));
	snprintf(out, size,
		 ngettext("%s%s, shown as %s with %llu CUs in %llu XCC (personality %s)",
			  "%s%s, shown as %s with %llu CUs in %llu XCCs (personality %s)",
			  number(gpu, "xccs")),
		 count, text(gpu, "title"), name, (unsigned long long)number(gpu, "cus"),
		 (unsigned long long)number(gpu, "xccs"), text(gpu, "personality"));
	/* ROCm takes the name that programs print from its own list of gfx90a products. */
	if (strcmp(text(gpu, "personality"), "compat") == 0)
		snprintf(out + strlen(out), size - strlen(out), "%s",
			 _("; programs may print MI210, a product with that gfx"));
}

static void print_machine(const json_t *status)
{
	char line[256];
	u64 speed = number(status, "speed_permille");

	gp_vgpu_describe(status, line, sizeof(line));
	puts(line);
	printf(_("directory %s, behaves like Linux %s, speed %llu.%03llu, seed %llu%s\n"),
	       text(status, "directory"), text(status, "era"), (unsigned long long)(speed / 1000),
	       (unsigned long long)(speed % 1000), (unsigned long long)number(status, "seed"),
	       json_is_true(json_object_get(status, "runtime_enable"))
		       ? _(", calls RUNTIME_ENABLE for every program")
		       : "");
}

static void print_gpus(const json_t *status)
{
	const json_t *gpu;
	size_t i;

	json_array_foreach(json_object_get(status, "gpus"), i, gpu)
	{
		const json_t *model = json_object_get(gpu, "model");

		printf(_("node %llu: gpu_id %llx, renderD%llu, %llu of %llu MiB used, mapped "
			 "queues %llu (processes %llu), runlist updates %llu%s\n"),
		       (unsigned long long)number(gpu, "node"),
		       (unsigned long long)number(gpu, "gpu_id"),
		       (unsigned long long)number(gpu, "render_minor"),
		       (unsigned long long)number(gpu, "vram_used") >> 20,
		       (unsigned long long)number(gpu, "vram_bytes") >> 20,
		       (unsigned long long)number(model, "mapped_queues"),
		       (unsigned long long)number(model, "mapped_processes"),
		       (unsigned long long)number(model, "updates"),
		       json_is_true(json_object_get(gpu, "hung")) ? _("; HUNG") : "");
	}
}

static void print_processes(const json_t *status)
{
	const json_t *processes = json_object_get(status, "processes"), *process;
	size_t i;

	if (json_array_size(processes) == 0)
		puts(_("not used by any process"));
	json_array_foreach(processes, i, process)
	{
		const json_t *queues = json_object_get(process, "queues");
		u64 stopped = 0;

		/* By a debugger, or by percentage 0, which is how an agent does it. */
		for (size_t q = 0; q < json_array_size(queues); q++) {
			const json_t *queue = json_array_get(queues, q);

			stopped += json_is_true(json_object_get(queue, "suspended")) ||
				   !number(queue, "percentage");
		}
		printf(_("process %llu: queues %llu, suspended queues %llu, RUNTIME_ENABLE state: "
			 "%s\n"),
		       (unsigned long long)number(process, "pid"),
		       (unsigned long long)number(process, "queue_count"),
		       (unsigned long long)stopped, text(process, "runtime"));
	}
}

/* Every figure with its source: an assumption must not be taken for a measurement. */
static void print_figures(const json_t *status)
{
	json_t *figures = json_object_get(status, "figures"), *figure;
	const char *name;

	json_object_foreach(figures, name, figure)
	{
		char range[48] = "";

		if (json_object_get(figure, "low"))
			snprintf(range, sizeof(range), "%llu..%llu",
				 (unsigned long long)number(figure, "low"),
				 (unsigned long long)number(figure, "high"));
		printf("  %-28s %14llu  %-9s  %-18s  %s\n", name,
		       (unsigned long long)number(figure, "value"), text(figure, "kind"), range,
		       text(figure, "source"));
	}
}

int gp_vgpu_print_status(const json_t *status)
{
	print_machine(status);
	print_gpus(status);
	print_processes(status);
	printf("\n%s\n", _("Model parameters and their sources:"));
	print_figures(status);
	return 0;
}
