// SPDX-License-Identifier: MIT
/* A kernel for this GPU: found beside the program or made by hiprtc, loaded, given memory, and
 * checked afterwards. */
#include "selftest/work.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/host/program.h"

#define SYMBOL         "gpreempt_selftest"
#define CODE_MAX       (4u << 20)
#define STEPS          32         /* a round is some ten microseconds: it hears `stop` soon */
#define ROUNDS         (1u << 22) /* minutes: it ends even if nobody tells it to */
#define SEED           20011u
#define ALIGNMENT      256u
#define ARGUMENT_BYTES GP_WORK_ARGUMENT_BYTES

/* ---- which one ---- */

/* "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-" to "gfx90a". */
static long read_gfx(struct gp_selftest_kernel_work *work)
{
	char name[256] = "";
	uint32_t length = 0;
	uint64_t isa;
	const char *gfx;
	int status = work->hsa.agent_get_info(work->gpu, GP_HSA_INFO_ISA, &isa);

	if (!status)
		status = work->hsa.isa_get_info(isa, GP_HSA_ISA_LENGTH, &length);
	if (!status && length < sizeof(name))
		status = work->hsa.isa_get_info(isa, GP_HSA_ISA_NAME, name);
	if (status)
		return gp_selftest_work_fail_hsa(work, "hsa_isa_get_info_alt", status);
	gfx = strstr(name, "gfx");
	if (!gfx)
		return gp_selftest_work_fail(work,
					     "the runtime reports an unknown ISA '%s' for the GPU",
					     name);
	snprintf(work->kernel.gfx, sizeof(work->kernel.gfx), "%.*s", (int)strcspn(gfx, ":"), gfx);
	return 0;
}

static void *read_whole(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	char *code = file ? malloc(CODE_MAX) : NULL;

	*size = code ? fread(code, 1, CODE_MAX, file) : 0;
	if (file)
		fclose(file);
	if (*size)
		return code;
	free(code);
	return NULL;
}

/* "" outside of a self-test. */
static void kept_path(const char *gfx, char *out, size_t size)
{
	const char *directory = getenv("GPREEMPT_DIR");

	*out = '\0';
	if (directory && snprintf(out, size, "%s/kernel-%s.co", directory, gfx) >= (int)size)
		*out = '\0';
}

static void keep(const char *path, const void *code, size_t size)
{
	FILE *file = fopen(path, "wbx");
	bool whole = file && fwrite(code, 1, size, file) == size;

	if (file && (fclose(file) != 0 || !whole))
		remove(path);
}

static void *find_code(struct gp_selftest_work_kernel *kernel, size_t *size)
{
	char installed[96], built[96], path[PATH_MAX];
	void *code = NULL;

	snprintf(installed, sizeof(installed), "lib/gpreempt/selftest-%s.co", kernel->gfx);
	snprintf(built, sizeof(built), "lib/selftest-%s.co", kernel->gfx);
	if (!gp_program_beside(installed, built, path, sizeof(path)))
		code = read_whole(path, size);
	if (code) {
		kernel->source = GP_WORK_BUILT;
		return code;
	}
	/* The compiler takes a second, and this program is started once for each row of the table:
	 * what the first one got is kept with the run's sockets, which nobody else can write to. */
	kept_path(kernel->gfx, path, sizeof(path));
	code = *path ? read_whole(path, size) : NULL;
	if (!code) {
		code = gp_selftest_work_compiled(kernel->gfx, size, kernel->why,
						 sizeof(kernel->why));
		if (code && *path)
			keep(path, code, *size);
	}
	if (code)
		kernel->source = GP_WORK_HIPRTC;
	return code;
}

/* ---- loading it ---- */

static const char *load_code(struct gp_selftest_kernel_work *work, const void *code, size_t size,
			     int *status)
{
	struct gp_selftest_hsa *hsa = &work->hsa;
	struct gp_selftest_work_kernel *kernel = &work->kernel;
	uint64_t reader, executable, symbol;

	*status = hsa->reader_create(code, size, &reader);
	if (*status)
		return "hsa_code_object_reader_create_from_memory";
	*status = hsa->executable_create(1, 0, NULL, &executable); /* full profile, default */
	if (*status)
		return "hsa_executable_create_alt";
	*status = hsa->executable_load(executable, work->gpu, reader, NULL, NULL);
	if (*status)
		return "hsa_executable_load_agent_code_object";
	*status = hsa->executable_freeze(executable, NULL);
	if (*status)
		return "hsa_executable_freeze";
	*status = hsa->executable_symbol(executable, SYMBOL ".kd", &work->gpu, &symbol);
	if (*status)
		return "hsa_executable_get_symbol_by_name";
	const struct {
		int what;
		void *value;
	} wanted[] = {
		{GP_HSA_KERNEL_OBJECT, &kernel->object},
		{GP_HSA_KERNARG_BYTES, &kernel->kernarg_bytes},
		{GP_HSA_GROUP_BYTES, &kernel->group_bytes},
		{GP_HSA_PRIVATE_BYTES, &kernel->private_bytes},
	};
	for (size_t i = 0; !*status && i < sizeof(wanted) / sizeof(wanted[0]); i++)
		*status = hsa->symbol_get_info(symbol, wanted[i].what, wanted[i].value);
	return "hsa_executable_symbol_get_info";
}

static long make_memory(struct gp_selftest_kernel_work *work)
{
	struct gp_selftest_work_kernel *kernel = &work->kernel;
	size_t queues = work->queue_count, words = queues * sizeof(struct gp_selftest_work_words);
	size_t one = (kernel->kernarg_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	size_t size = ALIGNMENT + words + queues * one;
	void *memory = NULL;
	int status = work->hsa.pool_allocate(work->host_pool, size, 0, &memory);

	if (status)
		return gp_selftest_work_fail_hsa(work, "hsa_amd_memory_pool_allocate", status);
	status = work->hsa.allow_access(1, &work->gpu, NULL, memory);
	if (status)
		return gp_selftest_work_fail_hsa(work, "hsa_amd_agents_allow_access", status);
	memset(memory, 0, size);
	kernel->stop = memory;
	kernel->words = (void *)((char *)memory + ALIGNMENT);
	kernel->arguments = (char *)memory + ALIGNMENT + words;
	for (size_t q = 0; q < queues; q++) {
		struct gp_selftest_work_arguments arguments = {
			.stop = (uintptr_t)kernel->stop,
			.done = (uintptr_t)kernel->words[q].done,
			.bad = (uintptr_t)kernel->words[q].bad,
			.seed = SEED + (uint32_t)q,
			.steps = STEPS,
			.most = ROUNDS,
		};

		memcpy(kernel->arguments + q * one, &arguments, ARGUMENT_BYTES);
	}
	kernel->kernarg_bytes = (uint32_t)one;
	return 0;
}

long gp_selftest_work_kernel(struct gp_selftest_kernel_work *work)
{
	struct gp_selftest_work_kernel *kernel = &work->kernel;
	size_t size;
	void *code;
	int status;

	if (read_gfx(work) < 0)
		return -1;
	if (!work->host_pool) {
		snprintf(kernel->why, sizeof(kernel->why), "the runtime lists no host memory");
		return 0;
	}
	code = find_code(kernel, &size);
	if (!code)
		return 0;
	const char *call = load_code(work, code, size, &status);
	kernel->rsrc1 = gp_selftest_work_rsrc1(code, size, SYMBOL ".kd");
	free(code);
	if (status)
		return gp_selftest_work_fail_hsa(work, call, status);
	if (kernel->kernarg_bytes < ARGUMENT_BYTES)
		return gp_selftest_work_fail(work, "the kernel takes only %u bytes of arguments",
					     kernel->kernarg_bytes);
	return make_memory(work);
}

/* ---- afterwards ---- */

long gp_selftest_work_check(struct gp_selftest_kernel_work *work)
{
	uint32_t times = (uint32_t)(work->submitted * (GP_WORK_PACKETS - 1));

	if (work->kernel.source == GP_WORK_BARRIERS || work->is_virtual)
		return 0;
	for (uint32_t q = 0; q < work->queue_count; q++) {
		const struct gp_selftest_work_words *words = &work->kernel.words[q];

		for (uint32_t i = 0; i < GP_WORK_ITEMS; i++) {
			uint32_t bad = words->bad[i];

			if (bad)
				return gp_selftest_work_fail(
					work,
					"work item %u of queue %u found wrong values in%s%s%s%s%s",
					i, q, bad & 1 ? " vector registers" : "",
					bad & 2 ? " scalar registers" : "", bad & 4 ? " LDS" : "",
					bad & 8 ? " masked lanes" : "",
					bad & 16 ? " accumulation registers" : "");
			if (words->done[i] != times)
				return gp_selftest_work_fail(
					work, "work item %u of queue %u ran %u times, not %u", i, q,
					words->done[i], times);
		}
	}
	return 0;
}
