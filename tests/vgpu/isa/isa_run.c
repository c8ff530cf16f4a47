// SPDX-License-Identifier: MIT
/*
 * Runs kernels of a code object on the instruction executor, without a virtual GPU: what the
 * differential tests compare with the same source compiled for the host.
 *
 * usage: isa_run gfx90a|gfx942 CODE INPUT OUTPUT BYTES ITEMS GROUP [CASES]
 *        isa_run gfx90a|gfx942 CODE INPUT OUTPUT BYTES KERNEL:ITEMS:GROUP...
 * Every kernel is called as (const void *input, void *output, unsigned chosen) with ITEMS
 * work-items in groups of GROUP, for each `chosen` below CASES (1); its BYTES of output, zeroed
 * before, are appended to OUTPUT, in the order of the kernels' names. Or the named kernels, in this
 * order, one after the other with the same output, which is written once. Prints instructions and
 * seconds of CPU time.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "vgpu/cp/launch.h"

#define KERNELS_MAX   4096
#define REGIONS_MAX   8
#define SCRATCH_LANE  65536u
#define KERNARG_BYTES 4096
#define CHOSEN_AT     16 /* in the arguments */
#define PAGE          4096ull
#define RELATIVE64    13 /* R_AMDGPU_RELATIVE64 */
#define BUDGET        (1u << 30)

struct region {
	u64 start, end;
};

struct machine {
	struct region regions[REGIONS_MAX];
	u32 region_count;
	u8 *image; /* of the code object */
	u64 image_bytes;
	u8 *scratch, *kernarg;
	struct gp_isa_host host;
	struct gp_isa_runner runner;
	struct gp_isa_wave *waves[GP_ISA_GROUP_WAVES];
	u8 *lds;
	u64 instructions;
};

struct kernel {
	char name[64];
	u64 descriptor;
};

static void die(const char *what, const char *detail)
{
	fprintf(stderr, "isa_run: %s: %s\n", what, detail);
	exit(2);
}

static void *map(struct machine *machine, u64 bytes)
{
	u64 size = (bytes + PAGE - 1) / PAGE * PAGE;
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || machine->region_count == REGIONS_MAX)
		die("memory", strerror(errno));
	machine->regions[machine->region_count++] =
		(struct region){(u64)(uintptr_t)memory, (u64)(uintptr_t)memory + size};
	return memory;
}

static void *host_page(void *data, u64 va, bool write)
{
	const struct machine *machine = data;

	(void)write;
	for (u32 i = 0; i < machine->region_count; i++)
		if (va >= machine->regions[i].start && va < machine->regions[i].end)
			return (void *)(uintptr_t)va;
	return NULL;
}

static u64 host_clock(void *data, bool real)
{
	(void)data;
	(void)real;
	return 0;
}

static void host_message(void *data, u32 message, u32 m0)
{
	(void)data;
	(void)message;
	(void)m0;
}

static u8 *file_read(const char *path, u64 *bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	u8 *content;

	if (fd < 0 || fstat(fd, &status))
		die(path, strerror(errno));
	content = malloc((size_t)status.st_size + 1);
	if (!content || read(fd, content, (size_t)status.st_size) != status.st_size)
		die(path, "cannot be read");
	close(fd);
	*bytes = (u64)status.st_size;
	return content;
}

/* ---- the code object ---- */

static void load_segments(struct machine *machine, const u8 *file)
{
	const Elf64_Ehdr *header = (const void *)file;
	const Elf64_Phdr *segments = (const void *)(file + header->e_phoff);

	for (u32 i = 0; i < header->e_phnum; i++)
		if (segments[i].p_type == PT_LOAD)
			machine->image_bytes = GP_MAX(machine->image_bytes,
						      segments[i].p_vaddr + segments[i].p_memsz);
	machine->image = map(machine, machine->image_bytes);
	for (u32 i = 0; i < header->e_phnum; i++)
		if (segments[i].p_type == PT_LOAD)
			memcpy(machine->image + segments[i].p_vaddr, file + segments[i].p_offset,
			       segments[i].p_filesz);
}

static void relocate(struct machine *machine, const u8 *file)
{
	const Elf64_Ehdr *header = (const void *)file;
	const Elf64_Shdr *sections = (const void *)(file + header->e_shoff);

	for (u32 i = 0; i < header->e_shnum; i++) {
		const Elf64_Rela *relocations = (const void *)(file + sections[i].sh_offset);

		if (sections[i].sh_type != SHT_RELA)
			continue;
		for (u64 k = 0; k < sections[i].sh_size / sizeof(*relocations); k++) {
			u64 value = (u64)(uintptr_t)machine->image + (u64)relocations[k].r_addend;

			if (ELF64_R_TYPE(relocations[k].r_info) == RELATIVE64)
				memcpy(machine->image + relocations[k].r_offset, &value,
				       sizeof(value));
		}
	}
}

static int by_name(const void *a, const void *b)
{
	const struct kernel *x = a, *y = b;

	return strverscmp(x->name, y->name);
}

static u32 find_kernels(const u8 *file, struct kernel *kernels)
{
	const Elf64_Ehdr *header = (const void *)file;
	const Elf64_Shdr *sections = (const void *)(file + header->e_shoff);
	u32 count = 0;

	for (u32 i = 0; i < header->e_shnum; i++) {
		const Elf64_Sym *symbols = (const void *)(file + sections[i].sh_offset);
		const char *names;

		if (sections[i].sh_type != SHT_DYNSYM)
			continue;
		names = (const char *)file + sections[sections[i].sh_link].sh_offset;
		for (u64 k = 0; k < sections[i].sh_size / sizeof(*symbols); k++) {
			const char *name = names + symbols[k].st_name;
			size_t length = strlen(name);

			if (length < 4 || strcmp(name + length - 3, ".kd") != 0 ||
			    count == KERNELS_MAX)
				continue;
			snprintf(kernels[count].name, sizeof(kernels->name), "%.*s",
				 (int)length - 3, name);
			kernels[count++].descriptor = symbols[k].st_value;
		}
	}
	qsort(kernels, count, sizeof(*kernels), by_name);
	return count;
}

/* ---- running ---- */

static void fail(struct machine *machine, const char *kernel, enum gp_isa_stop stop,
		 const struct gp_isa_wave *wave)
{
	static const char *const why[] = {"",
					  "waits",
					  "at a barrier",
					  "ended",
					  "memory fault",
					  "trap",
					  "illegal instruction",
					  "not implemented"};
	char text[GP_ISA_NAME];

	gp_isa_describe(&machine->runner, wave, text);
	fprintf(stderr, "isa_run: %s: %s: %s at offset 0x%llx, address 0x%llx\n", kernel, why[stop],
		text, (unsigned long long)(wave->pc - (u64)(uintptr_t)machine->image),
		(unsigned long long)wave->fault);
	exit(1);
}

static void run_group(struct machine *machine, const struct gp_isa_launch *launch, const u32 id[3],
		      const char *name)
{
	struct gp_isa_group group = {
		.lds = machine->lds,
		.lds_bytes = launch->lds_bytes,
		.waves = gp_isa_waves(launch, id),
	};
	enum gp_isa_stop stop;
	u32 failed = 0;

	memset(machine->lds, 0, launch->lds_bytes);
	for (u32 i = 0; i < group.waves; i++)
		gp_isa_start(launch, id, i, i, &group, machine->waves[i]);
	stop = gp_isa_run_group(&machine->runner, &group, machine->waves, BUDGET, &failed);
	for (u32 i = 0; i < group.waves; i++)
		machine->instructions += machine->waves[i]->executed;
	if (stop != GP_ISA_ENDED)
		fail(machine, name, stop, machine->waves[failed]);
}

static void run_kernel(struct machine *machine, const struct kernel *kernel, u32 items, u32 size)
{
	const struct gp_kernel_descriptor *descriptor =
		(const void *)(machine->image + kernel->descriptor);
	struct gp_aql_dispatch packet = {
		.setup = 1,
		.workgroup_x = (u16)size,
		.workgroup_y = 1,
		.workgroup_z = 1,
		.grid_x = items,
		.grid_y = 1,
		.grid_z = 1,
		.private_segment_bytes = SCRATCH_LANE,
		.group_segment_bytes = descriptor->group_segment_bytes,
		.kernel_object = (u64)(uintptr_t)descriptor,
		.kernarg_address = (u64)(uintptr_t)machine->kernarg,
	};
	u64 base = (u64)(uintptr_t)machine->scratch;
	struct gp_amd_queue queue = {
		.compute_tmpring_size = GP_ISA_GROUP_WAVES | SCRATCH_LANE * GP_ISA_LANES / 1024
								     << 12,
		/* Base, swizzle; elements of 4 bytes, 64 lanes, each lane its own. */
		.scratch_resource_descriptor = {(u32)base, (u32)(base >> 32) | 1u << 31,
						SCRATCH_LANE * GP_ISA_LANES * GP_ISA_GROUP_WAVES,
						4u << 12 | 1u << 19 | 3u << 21 | 1u << 23},
		.scratch_backing_memory_location = base,
		.scratch_backing_memory_byte_size =
			(u64)SCRATCH_LANE * GP_ISA_LANES * GP_ISA_GROUP_WAVES,
		.scratch_wave64_lane_byte_size = SCRATCH_LANE,
	};
	struct gp_vgpu_cp_packet from = {.packet = &packet,
					 .descriptor = descriptor,
					 .queue = &queue};
	struct gp_isa_launch launch;
	u32 count[3];

	gp_vgpu_cp_launch(machine->runner.gfx, &from, &launch);
	gp_isa_groups(&launch, count);
	for (u32 x = 0; x < count[0]; x++)
		run_group(machine, &launch, (u32[]){x, 0, 0}, kernel->name);
}

static void machine_init(struct machine *machine, const char *gfx)
{
	machine->host = (struct gp_isa_host){
		.data = machine,
		.page = host_page,
		.clock = host_clock,
		.message = host_message,
		.shared_base = 1ull << 48,
		.private_base = 2ull << 48,
	};
	machine->runner.host = &machine->host;
	machine->runner.gfx = strcmp(gfx, "gfx942") ? GP_ISA_GFX90A : GP_ISA_GFX942;
	machine->runner.cache = calloc(1, gp_isa_cache_bytes());
	machine->scratch = map(machine, (u64)SCRATCH_LANE * GP_ISA_LANES * GP_ISA_GROUP_WAVES);
	machine->kernarg = map(machine, KERNARG_BYTES);
	machine->lds = malloc(GP_GFX9_LDS_MAX);
	for (u32 i = 0; i < GP_ISA_GROUP_WAVES; i++)
		machine->waves[i] = aligned_alloc(64, (sizeof(struct gp_isa_wave) + 63) / 64 * 64);
	if (!machine->runner.cache || !machine->lds || !machine->waves[GP_ISA_GROUP_WAVES - 1])
		die("memory", "not enough");
}

/* Every kernel with output of its own. */
static void run_all(struct machine *machine, const struct kernel *kernels, u32 count, char **argv,
		    void *output, u64 bytes, FILE *out)
{
	u32 items = (u32)strtoul(argv[0], NULL, 0), group = (u32)strtoul(argv[1], NULL, 0);
	u32 cases = argv[2] ? (u32)strtoul(argv[2], NULL, 0) : 1;

	for (u32 i = 0; i < count; i++)
		for (u32 chosen = 0; chosen < cases; chosen++) {
			memset(output, 0, bytes);
			memcpy(machine->kernarg + CHOSEN_AT, &chosen, sizeof(chosen));
			run_kernel(machine, &kernels[i], items, group);
			if (fwrite(output, 1, bytes, out) != bytes)
				die("output", strerror(errno));
		}
}

/* NAME:ITEMS:GROUP */
static void run_named(struct machine *machine, const struct kernel *kernels, u32 count,
		      const char *call)
{
	char name[sizeof(kernels->name)];
	u32 items, group;

	if (sscanf(call, "%63[^:]:%u:%u", name, &items, &group) != 3)
		die("usage", call);
	for (u32 i = 0; i < count; i++)
		if (!strcmp(kernels[i].name, name)) {
			run_kernel(machine, &kernels[i], items, group);
			return;
		}
	die("no such kernel", name);
}

static double own_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	static struct kernel kernels[KERNELS_MAX];
	static struct machine machine;
	u64 bytes, out_bytes, input_bytes, addresses[2];
	u8 *file, *input, *content, *output;
	bool named;
	double from;
	u32 count;
	FILE *out;

	named = argc > 6 && strchr(argv[6], ':');
	if (argc < 7 || (!named && argc != 8 && argc != 9))
		die("usage", "isa_run GFX CODE INPUT OUTPUT BYTES ITEMS GROUP [CASES]");
	machine_init(&machine, argv[1]);
	file = file_read(argv[2], &bytes);
	load_segments(&machine, file);
	relocate(&machine, file);
	count = find_kernels(file, kernels);
	content = file_read(argv[3], &input_bytes);
	input = map(&machine, input_bytes);
	memcpy(input, content, input_bytes);
	out_bytes = strtoull(argv[5], NULL, 0);
	output = map(&machine, out_bytes);
	out = fopen(argv[4], "we");
	if (!out)
		die(argv[4], strerror(errno));
	addresses[0] = (u64)(uintptr_t)input;
	addresses[1] = (u64)(uintptr_t)output;
	memcpy(machine.kernarg, addresses, sizeof(addresses));
	from = own_seconds();
	if (named) {
		for (int i = 6; i < argc; i++)
			run_named(&machine, kernels, count, argv[i]);
		if (fwrite(output, 1, out_bytes, out) != out_bytes)
			die(argv[4], strerror(errno));
	} else {
		run_all(&machine, kernels, count, argv + 6, output, out_bytes, out);
	}
	if (fclose(out))
		die(argv[4], strerror(errno));
	printf("%u kernels, %llu instructions, %.3f s\n", named ? (u32)argc - 6 : count,
	       (unsigned long long)machine.instructions, own_seconds() - from);
	free(content);
	free(file);
	return 0;
}
