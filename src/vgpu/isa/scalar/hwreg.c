// SPDX-License-Identifier: MIT
/* Registers of the hardware that s_getreg and s_setreg name. */
#include "vgpu/isa/scalar/scalar.h"

enum hwreg {
	MODE = 1,
	STATUS = 2,
	TRAPSTS = 3,
	HW_ID = 4,
	GPR_ALLOC = 5,
	LDS_ALLOC = 6,
	IB_STS = 7,
	SH_MEM_BASES = 15,
	TBA_LO = 16,
	TBA_HI = 17,
	TMA_LO = 18,
	TMA_HI = 19,
	XCC_ID = 20, /* gfx942 */
};

/* Bits of STATUS that follow from other state. */
#define STATUS_MADE (GP_ISA_STATUS_SCC | GP_ISA_STATUS_EXECZ | GP_ISA_STATUS_VCCZ)

u32 gp_isa_status(const struct gp_isa_wave *wave)
{
	return (wave->status & ~(u32)STATUS_MADE) | (wave->scc ? GP_ISA_STATUS_SCC : 0) |
	       (gp_isa_exec(wave) ? 0 : GP_ISA_STATUS_EXECZ) |
	       (gp_isa_pair(wave, GP_ISA_VCC) ? 0 : GP_ISA_STATUS_VCCZ);
}

bool gp_isa_hwreg_read(const struct gp_isa_runner *runner, const struct gp_isa_wave *wave,
		       u32 number, u32 *value)
{
	const struct gp_isa_host *host = runner->host;

	switch (number) {
	case MODE:
		*value = wave->mode;
		return true;
	case STATUS:
		*value = gp_isa_status(wave);
		return true;
	case TRAPSTS:
		*value = wave->trapsts;
		return true;
	case HW_ID:
		*value = wave->hw_id;
		return true;
	case GPR_ALLOC:
		*value = wave->gpr_alloc;
		return true;
	case LDS_ALLOC:
		*value = wave->lds_alloc;
		return true;
	case IB_STS: /* counters: nothing is outstanding between two instructions */
		*value = 0;
		return true;
	case SH_MEM_BASES:
		*value = (u32)(host->private_base >> 48) | (u32)(host->shared_base >> 48) << 16;
		return true;
	case TBA_LO:
	case TBA_HI:
		*value = (u32)(wave->trap_base >> (number == TBA_HI ? 32 : 0));
		return true;
	case TMA_LO:
	case TMA_HI:
		*value = (u32)(wave->trap_memory >> (number == TMA_HI ? 32 : 0));
		return true;
	case XCC_ID:
		*value = wave->xcc_id;
		return runner->gfx == GP_ISA_GFX942;
	default:
		return false;
	}
}

bool gp_isa_hwreg_write(struct gp_isa_wave *wave, u32 number, u32 mask, u32 value)
{
	bool privileged = wave->status & GP_ISA_STATUS_PRIV;

	switch (number) {
	case MODE:
		wave->mode = (wave->mode & ~mask) | (value & mask);
		return true;
	case TRAPSTS:
		wave->trapsts = (wave->trapsts & ~mask) | (value & mask);
		return true;
	case STATUS:
		if (!privileged) /* writes of programs are ignored */
			return true;
		if (mask & GP_ISA_STATUS_SCC)
			wave->scc = value & GP_ISA_STATUS_SCC;
		wave->status = (wave->status & ~mask) | (value & mask);
		return true;
	case IB_STS:
		return true;
	default:
		return false;
	}
}
