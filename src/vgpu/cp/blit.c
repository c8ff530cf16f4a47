// SPDX-License-Identifier: MIT
/*
 * ROCr's own copy and fill kernels carry data that matters (code objects reach VRAM through them),
 * so they are performed. They are not in any code object; ROCr writes them into memory itself.
 * They are known by how they begin: each loads its arguments, whose number and shape differ.
 * Argument blocks are those of ROCr 5.2.3's amd_blit_kernel.h.
 */
#include <errno.h>
#include <string.h>

#include "vgpu/cp/cp_state.h"

/* SMEM instructions of gfx8 and gfx9, base s[0:1] (CDNA 2 ISA guide, 13.2): two dwords each. */
#define S_LOAD_DWORD(target, offset)   0xc0020000u | (target) << 6, (offset)
#define S_LOAD_DWORDX4(target, offset) 0xc00a0000u | (target) << 6, (offset)
#define S_WAITCNT_LGKM                 0xbf8c007fu
#define S_WAITCNT_VM_HIGH              0xc000u /* more of the other counter on gfx9: no matter */

static const u32 copy_aligned[] = {
	S_LOAD_DWORDX4(4, 0x00),  S_LOAD_DWORDX4(8, 0x10),  S_LOAD_DWORDX4(12, 0x20),
	S_LOAD_DWORDX4(16, 0x30), S_LOAD_DWORDX4(20, 0x40), S_LOAD_DWORD(24, 0x50),
};
static const u32 copy_misaligned[] = {
	S_LOAD_DWORDX4(4, 0x00), S_LOAD_DWORDX4(8, 0x10), S_LOAD_DWORDX4(12, 0x20),
	S_LOAD_DWORD(16, 0x30),  S_WAITCNT_LGKM,
};
#define S_LSHL_S2_6 0x8e028602u /* the work item's number: s2 << 6 */
#define V_ADD_S2_V0 0x32000002u
static const u32 fill[] = {
	S_LOAD_DWORDX4(4, 0x00), S_LOAD_DWORDX4(8, 0x10), S_WAITCNT_LGKM, S_LSHL_S2_6, V_ADD_S2_V0,
};

struct copy_aligned_arguments {
	struct {
		u64 from, to;
	} phases[4];
	u64 from_end, to_end;
	u32 work_items, pad;
};

struct copy_misaligned_arguments {
	struct {
		u64 from, to;
	} phases[2];
	u64 from_end, to_end;
	u32 work_items, pad;
};

struct fill_arguments {
	u64 phases[2];
	u64 end;
	u32 value;
	u32 work_items;
};

/* ROCr 5 has the code of gfx8 for all, later ones that of each generation. */
static bool begins(const u32 *code, u32 words, const u32 *pattern, u32 pattern_words)
{
	for (u32 i = 0; i < pattern_words; i++) {
		u32 spare = pattern[i] == S_WAITCNT_LGKM ? S_WAITCNT_VM_HIGH : 0;

		if (i >= words || (code[i] & ~spare) != pattern[i])
			return false;
	}
	return true;
}

enum gp_vgpu_cp_blit gp_vgpu_cp_blit_by_code(const u32 *code, u32 words)
{
	if (begins(code, words, copy_aligned, GP_ARRAY_SIZE(copy_aligned)))
		return GP_CP_ROCR_COPY_ALIGNED;
	if (begins(code, words, copy_misaligned, GP_ARRAY_SIZE(copy_misaligned)))
		return GP_CP_ROCR_COPY_MISALIGNED;
	if (begins(code, words, fill, GP_ARRAY_SIZE(fill)))
		return GP_CP_ROCR_FILL;
	return GP_CP_BLIT_NONE;
}

/* All of them have loaded their first pair of addresses by then. */
bool gp_vgpu_cp_is_rocr(const u32 *code, u32 words)
{
	static const u32 first[] = {S_LOAD_DWORDX4(4, 0x00)};

	return begins(code, words, first, GP_ARRAY_SIZE(first));
}

static int copy(struct gp_vgpu_cp *cp, u32 gpu_id, u64 to, u64 from, u64 end, u64 *fault)
{
	return end < from ? 0 : gp_vgpu_cp_copy(cp, gpu_id, to, from, end - from, fault);
}

int gp_vgpu_cp_blit(struct gp_vgpu_cp *cp, u32 gpu_id, enum gp_vgpu_cp_blit blit, u64 kernarg,
		    u64 *fault)
{
	union {
		struct copy_aligned_arguments aligned;
		struct copy_misaligned_arguments misaligned;
		struct fill_arguments fill;
	} a;
	size_t size = blit == GP_CP_ROCR_COPY_ALIGNED      ? sizeof(a.aligned)
		      : blit == GP_CP_ROCR_COPY_MISALIGNED ? sizeof(a.misaligned)
							   : sizeof(a.fill);

	if (blit > GP_CP_ROCR_FILL)
		return gp_vgpu_cp_blit_hip(cp, gpu_id, blit, kernarg, fault);
	*fault = kernarg;
	if (gp_vgpu_cp_read(cp, gpu_id, kernarg, &a, size))
		return -EFAULT;
	switch (blit) {
	case GP_CP_ROCR_COPY_ALIGNED:
		return copy(cp, gpu_id, a.aligned.phases[0].to, a.aligned.phases[0].from,
			    a.aligned.from_end, fault);
	case GP_CP_ROCR_COPY_MISALIGNED:
		return copy(cp, gpu_id, a.misaligned.phases[0].to, a.misaligned.phases[0].from,
			    a.misaligned.from_end, fault);
	case GP_CP_ROCR_FILL:
		if (a.fill.end < a.fill.phases[0])
			return 0;
		return gp_vgpu_cp_fill(cp, gpu_id, a.fill.phases[0], &a.fill.value, sizeof(u32),
				       (a.fill.end - a.fill.phases[0]) / sizeof(u32), fault);
	default:
		return 0;
	}
}
