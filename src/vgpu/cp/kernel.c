// SPDX-License-Identifier: MIT
/*
 * Facts about each kernel object: registers from its descriptor, its name, the cost of that name,
 * and whether it is one of the copy kernels. A direct-mapped table of fixed size: a collision costs
 * a look-up. An entry is checked against the descriptor at every use and against the list of ROCr
 * now and then, because the addresses of an unloaded module are used again.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vgpu/cp/cp_state.h"
#include "vgpu/heap.h"

#define ENTRIES       4096    /* power of two */
#define CHECK_NS      100000  /* less than unloading and loading a module takes */
#define CHECK_NONE_NS 5000000 /* for one without a name, whose look-up is long */
#define DEFAULT_NS    10000   /* a workgroup, when the cost file is missing */
#define COSTS_MAX     65536
#define LOOKS         8 /* at the list before a kernel counts as not in it */

struct entry {
	bool used;
	u64 checked_ns;
	struct gp_kernel_descriptor descriptor;
	struct gp_vgpu_cp_kernel kernel;
	struct gp_vgpu_cp_name name;
};

struct gp_vgpu_cp_kernels {
	u64 r_debug;
	const struct gp_gpufile_kernel *costs;
	u32 cost_count;
	struct entry entries[ENTRIES];
};

static void costs_map(struct gp_vgpu_cp_kernels *kernels, const char *directory)
{
	char path[sizeof(((struct gp_vgpu_client *)0)->directory) + sizeof(GP_VGPU_KERNELS) + 1];
	struct stat status;
	void *costs;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, GP_VGPU_KERNELS);
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (!syscall(SYS_fstat, fd, &status) &&
	    status.st_size >= (off_t)sizeof(struct gp_gpufile_kernel) &&
	    status.st_size <= (off_t)(COSTS_MAX * sizeof(struct gp_gpufile_kernel))) {
		costs = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (costs != MAP_FAILED) {
			kernels->costs = costs;
			kernels->cost_count = (u32)((u64)status.st_size / sizeof(*kernels->costs));
		}
	}
	syscall(SYS_close, fd);
}

struct gp_vgpu_cp_kernels *gp_vgpu_cp_kernels_new(struct gp_vgpu_client *client)
{
	struct gp_vgpu_cp_kernels *kernels = gp_vgpu_alloc(sizeof(*kernels));

	if (!kernels)
		return NULL;
	costs_map(kernels, client->directory);
	return kernels;
}

/* Called when a queue is added: ROCr is loaded by then, and the lock of ld.so can be taken. */
void gp_vgpu_cp_kernels_attach(struct gp_vgpu_cp_kernels *kernels)
{
	if (!kernels->r_debug)
		kernels->r_debug = gp_vgpu_cp_loader_find();
}

static u64 cost_of(const struct gp_vgpu_cp_kernels *kernels, const char *name)
{
	for (u32 i = 0; i < kernels->cost_count; i++) {
		const struct gp_gpufile_kernel *cost = &kernels->costs[i];

		if (!strncmp(name, cost->name, strnlen(cost->name, sizeof(cost->name))))
			return cost->workgroup_ns;
	}
	return DEFAULT_NS;
}

static const char *rocr_name(enum gp_vgpu_cp_blit blit)
{
	switch (blit) {
	case GP_CP_ROCR_COPY_ALIGNED:
		return "__rocr_copyAligned";
	case GP_CP_ROCR_COPY_MISALIGNED:
		return "__rocr_copyMisaligned";
	default:
		return "__rocr_fill";
	}
}

static enum gp_vgpu_cp_blit hip_blit(struct gp_vgpu_cp *cp, u32 gpu_id,
				     const struct gp_vgpu_cp_name *name)
{
	char layout[GP_CP_LAYOUT], text[sizeof(name->name) + sizeof(layout) + 16];
	bool known = gp_vgpu_cp_arguments_find(cp, gpu_id, name, layout);
	enum gp_vgpu_cp_blit blit =
		known ? gp_vgpu_cp_blit_by_name(name->name, layout) : GP_CP_BLIT_UNKNOWN;

	if (blit != GP_CP_BLIT_UNKNOWN)
		return blit;
	snprintf(text, sizeof(text), "%s(%s)", name->name, known ? layout : "no metadata");
	gp_vgpu_say("unknown arguments of a kernel of HIP, its queue fails (use a ROCm version of "
		    "docs/reference/virtual-gpu.md): ",
		    text);
	return blit;
}

/*
 * Code that begins like a copy kernel of ROCr, is none that is known, and is in no code object.
 * Others may be changing the list of code objects, so one look at it is not enough.
 */
static bool is_unknown_rocr(struct gp_vgpu_cp *cp, u32 gpu_id, struct entry *entry, const u32 *code)
{
	char text[9 * GP_CP_BLIT_CODE_WORDS + 1] = "";

	if (!cp->kernels->r_debug || !gp_vgpu_cp_is_rocr(code, GP_CP_BLIT_CODE_WORDS))
		return false;
	for (u32 i = 0; i < LOOKS && !entry->name.name[0]; i++) {
		sched_yield();
		gp_vgpu_cp_name_find(cp, gpu_id, cp->kernels->r_debug, entry->kernel.object,
				     &entry->name);
	}
	if (entry->name.name[0])
		return false;
	for (u32 i = 0; i < GP_CP_BLIT_CODE_WORDS; i++)
		snprintf(text + 9 * i, sizeof(text) - 9 * i, "%08x ", code[i]);
	text[strlen(text) - 1] = 0;
	gp_vgpu_say("unknown copy kernel of ROCr, its queue fails (use a ROCm version of "
		    "docs/reference/virtual-gpu.md): ",
		    text);
	return true;
}

static void entry_fill(struct gp_vgpu_cp *cp, u32 gpu_index, u64 object,
		       const struct gp_kernel_descriptor *descriptor, struct entry *entry)
{
	const struct gp_vgpu_gpu *gpu = &cp->client->machine.gpus[gpu_index];
	struct gp_vgpu_cp_kernel *kernel = &entry->kernel;
	u32 code[GP_CP_BLIT_CODE_WORDS] = {0};

	entry->used = true;
	entry->descriptor = *descriptor;
	memset(&entry->name, 0, sizeof(entry->name));
	*kernel = (struct gp_vgpu_cp_kernel){
		.object = object,
		.vgprs = gp_kernel_vgprs(descriptor->rsrc1, gpu->gfx_version),
		.kernarg_bytes = descriptor->kernarg_bytes,
	};
	if (!gp_vgpu_cp_read(cp, gpu->gpu_id, object + (u64)descriptor->entry_offset, code,
			     sizeof(code)))
		kernel->blit = gp_vgpu_cp_blit_by_code(code, GP_CP_BLIT_CODE_WORDS);
	if (kernel->blit != GP_CP_BLIT_NONE) {
		kernel->workgroup_ns = cost_of(cp->kernels, rocr_name(kernel->blit));
		return;
	}
	gp_vgpu_cp_name_find(cp, gpu->gpu_id, cp->kernels->r_debug, object, &entry->name);
	if (!entry->name.name[0] && is_unknown_rocr(cp, gpu->gpu_id, entry, code))
		kernel->blit = GP_CP_BLIT_UNKNOWN;
	kernel->workgroup_ns = cost_of(cp->kernels, entry->name.name);
	if (gp_vgpu_cp_is_hip(entry->name.name))
		kernel->blit = hip_blit(cp, gpu->gpu_id, &entry->name);
}

static bool entry_holds(struct entry *entry, u64 object,
			const struct gp_kernel_descriptor *descriptor, u64 now)
{
	if (!entry->used || entry->kernel.object != object ||
	    memcmp(&entry->descriptor, descriptor, sizeof(*descriptor)))
		return false;
	if (now - entry->checked_ns < CHECK_NS)
		return true;
	if (!entry->name.name[0]) {
		/* Recognised by its code, or not in the list: look again only now and then. */
		return entry->kernel.blit != GP_CP_BLIT_NONE ||
		       now - entry->checked_ns < CHECK_NONE_NS;
	}
	if (!gp_vgpu_cp_name_holds(&entry->name))
		return false;
	entry->checked_ns = now;
	return true;
}

int gp_vgpu_cp_kernel(struct gp_vgpu_cp *cp, u32 gpu_index, u64 object,
		      struct gp_vgpu_cp_kernel *out)
{
	u32 gpu_id = cp->client->machine.gpus[gpu_index].gpu_id;
	struct gp_kernel_descriptor descriptor;
	struct entry *entry;
	u64 now = gp_vgpu_cp_now();

	if (!object || object % GP_KERNEL_DESCRIPTOR_ALIGN ||
	    gp_vgpu_cp_read(cp, gpu_id, object, &descriptor, sizeof(descriptor)))
		return -EFAULT;
	entry = &cp->kernels
			 ->entries[(object / GP_KERNEL_DESCRIPTOR_ALIGN * 0x9e3779b97f4a7c15ull) >>
				   52];
	if (!entry_holds(entry, object, &descriptor, now)) {
		entry_fill(cp, gpu_index, object, &descriptor, entry);
		entry->checked_ns = now;
	}
	*out = entry->kernel;
	return 0;
}
