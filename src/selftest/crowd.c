// SPDX-License-Identifier: MIT
/*
 * A crowd, for --calibrate: one dispatch of the self-test's kernel in the second queue that puts a
 * known number of waves, with a known number of registers, on every compute unit. It runs until
 * `stop`; on a virtual GPU, whose kernels compute nothing, for the time of its cost file.
 */
#include <elf.h>
#include <string.h>
#include <time.h>

#include "abi/aql.h"
#include "selftest/work.h"

enum {
	QUEUE = 1,
	WAVE = 64,
	WAVES = GP_WORK_GROUP / WAVE,
	LDS_BYTES = 65536, /* of a CU */
	/* Linux 6.12 kfd_queue.c: SGPRs 0x4000 and hardware registers 0x1000 per CU over 40 waves,
	 * 8 bytes of control stack. */
	WAVE_FIXED_BYTES = 0x5000 / 40 + 8,
	GROUPS_PER_CU = 8, /* at most */
	PARTS = 4,         /* the small crowd is one of them */
	LAUNCH_S = 60,
};

/* ---- registers ---- */

static const void *at(const void *code, size_t size, uint64_t offset, uint64_t bytes)
{
	return offset <= size && bytes <= size - offset ? (const char *)code + offset : NULL;
}

/* The file offset of an address, or UINT64_MAX. */
static uint64_t offset_of(const void *code, size_t size, const Elf64_Ehdr *head, uint64_t address)
{
	for (uint32_t i = 0; i < head->e_phnum; i++) {
		const Elf64_Phdr *part =
			at(code, size, head->e_phoff + i * sizeof(*part), sizeof(*part));

		if (part && part->p_type == PT_LOAD && address >= part->p_vaddr &&
		    address - part->p_vaddr < part->p_filesz)
			return part->p_offset + (address - part->p_vaddr);
	}
	return UINT64_MAX;
}

static uint64_t symbol_address(const void *code, size_t size, const Elf64_Ehdr *head,
			       const Elf64_Shdr *table, const char *name)
{
	const Elf64_Shdr *strings =
		at(code, size, head->e_shoff + table->sh_link * sizeof(*strings), sizeof(*strings));

	for (uint64_t i = 0; strings && i < table->sh_size / sizeof(Elf64_Sym); i++) {
		const Elf64_Sym *symbol =
			at(code, size, table->sh_offset + i * sizeof(*symbol), sizeof(*symbol));
		const char *text = symbol ? at(code, size, strings->sh_offset + symbol->st_name,
					       strlen(name) + 1)
					  : NULL;

		if (text && strcmp(text, name) == 0)
			return symbol->st_value;
	}
	return UINT64_MAX;
}

/* RSRC1 of the kernel's descriptor; 0: not found. */
uint32_t gp_selftest_work_rsrc1(const void *code, size_t size, const char *name)
{
	const Elf64_Ehdr *head = at(code, size, 0, sizeof(*head));

	if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0)
		return 0;
	for (uint32_t i = 0; i < head->e_shnum; i++) {
		const Elf64_Shdr *table =
			at(code, size, head->e_shoff + i * sizeof(*table), sizeof(*table));
		uint64_t address;

		if (!table || table->sh_type != SHT_DYNSYM)
			continue;
		address = symbol_address(code, size, head, table, name);
		const struct gp_kernel_descriptor *found =
			address == UINT64_MAX ? NULL
					      : at(code, size, offset_of(code, size, head, address),
						   sizeof(*found));
		struct gp_kernel_descriptor descriptor;

		if (!found)
			continue;
		memcpy(&descriptor, found, sizeof(descriptor));
		return descriptor.rsrc1;
	}
	return 0;
}

/* "gfx90a" and "gfx942" are CDNA 2 and later. */
static uint32_t registers(const struct gp_selftest_work_kernel *kernel)
{
	bool cdna2 = strcmp(kernel->gfx, "gfx90a") == 0 || strncmp(kernel->gfx, "gfx94", 5) == 0 ||
		     strncmp(kernel->gfx, "gfx95", 5) == 0;

	return kernel->rsrc1 ? gp_kernel_vgprs(kernel->rsrc1, cdna2 ? GP_GFX_VERSION_90A : 90000)
			     : 0;
}

long gp_selftest_work_group_bytes(struct gp_selftest_kernel_work *work)
{
	uint32_t vgprs = registers(&work->kernel);

	if (work->kernel.source == GP_WORK_BARRIERS || !vgprs)
		return gp_selftest_work_fail(work, "no kernel with a known number of registers");
	return (long)(WAVES * (vgprs * WAVE * sizeof(uint32_t) + WAVE_FIXED_BYTES) +
		      work->kernel.group_bytes);
}

/* ---- the dispatch ---- */

static long groups_of(struct gp_selftest_kernel_work *work, bool many)
{
	uint32_t units = 0, vgprs = registers(&work->kernel), each = GROUPS_PER_CU;
	int status = work->hsa.agent_get_info(work->gpu, GP_HSA_INFO_UNITS, &units);

	if (status)
		return gp_selftest_work_fail_hsa(work, "hsa_agent_get_info", status);
	if (vgprs && GP_GFX90A_VGPRS / vgprs < each)
		each = GP_GFX90A_VGPRS / vgprs;
	if (work->kernel.group_bytes && LDS_BYTES / work->kernel.group_bytes < each)
		each = LDS_BYTES / work->kernel.group_bytes;
	if (!units || !each)
		return gp_selftest_work_fail(work, "the kernel does not fit on a compute unit");
	return (long)(many ? units * each : (units * each + PARTS - 1) / PARTS);
}

/* Its own words: a crowd has more work items than the other kernels. */
static long make_words(struct gp_selftest_kernel_work *work, long groups)
{
	size_t items = (size_t)groups * GP_WORK_GROUP, size = 2 * items * sizeof(uint32_t);
	struct gp_selftest_work_arguments arguments;
	char *own = work->kernel.arguments + (size_t)QUEUE * work->kernel.kernarg_bytes;
	void *memory = NULL;
	int status = work->hsa.pool_allocate(work->host_pool, size, 0, &memory);

	if (!status)
		status = work->hsa.allow_access(1, &work->gpu, NULL, memory);
	if (status)
		return gp_selftest_work_fail_hsa(work, "hsa_amd_memory_pool_allocate", status);
	memset(memory, 0, size);
	memcpy(&arguments, own, GP_WORK_ARGUMENT_BYTES);
	arguments.done = (uintptr_t)memory;
	arguments.bad = (uintptr_t)memory + items * sizeof(uint32_t);
	memcpy(own, &arguments, GP_WORK_ARGUMENT_BYTES);
	work->crowd = groups;
	return 0;
}

static long wait_for_launch(struct gp_selftest_kernel_work *work, uint64_t index)
{
	time_t begin = time(NULL);

	while (work->hsa.queue_read_index(work->queues[QUEUE]) <= index) {
		if (time(NULL) - begin > LAUNCH_S)
			return gp_selftest_work_fail(work, "the kernel is not launched");
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	/* The packet processor is past it; the waves follow. */
	nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	return 0;
}

bool gp_selftest_work_crowd_runs(struct gp_selftest_kernel_work *work)
{
	return work->crowd && work->hsa.signal_load(work->done[QUEUE][0]) == 1;
}

long gp_selftest_work_crowd(struct gp_selftest_kernel_work *work, bool many)
{
	const struct gp_selftest_work_kernel *kernel = &work->kernel;
	uint64_t index;
	long groups;

	if (work->queue_count <= QUEUE || gp_selftest_work_group_bytes(work) < 0)
		return gp_selftest_work_fail(work, "no kernel with a known number of registers");
	if (gp_selftest_work_crowd_runs(work))
		return work->crowd;
	groups = groups_of(work, many);
	if (groups < 0 || (work->crowd != groups && make_words(work, groups) < 0))
		return -1;
	struct gp_aql_dispatch dispatch = {
		.header = GP_AQL_KERNEL_DISPATCH | GP_AQL_HEADER_BARRIER | GP_WORK_FENCES,
		.setup = 1,
		.workgroup_x = GP_WORK_GROUP,
		.workgroup_y = 1,
		.workgroup_z = 1,
		.grid_x = (uint32_t)groups * GP_WORK_GROUP,
		.grid_y = 1,
		.grid_z = 1,
		.private_segment_bytes = kernel->private_bytes,
		.group_segment_bytes = kernel->group_bytes,
		.kernel_object = kernel->object,
		.kernarg_address =
			(uintptr_t)kernel->arguments + (size_t)QUEUE * kernel->kernarg_bytes,
		.completion_signal = work->done[QUEUE][0],
	};
	__atomic_store_n(kernel->stop, 0, __ATOMIC_SEQ_CST);
	work->hsa.signal_store(work->done[QUEUE][0], 1);
	index = work->hsa.queue_read_index(work->queues[QUEUE]);
	gp_selftest_work_push(work, QUEUE, &dispatch);
	return wait_for_launch(work, index) < 0 ? -1 : groups;
}
