/* SPDX-License-Identifier: MIT */
/*
 * The instruction sets of gfx90a (CDNA 2) and gfx942 (CDNA 3): waves, the work-group they share,
 * and a function that executes instructions of a wave. Pure: it knows no queues, no time and no
 * threads; memory, clocks and messages are functions of the host.
 *
 * A wave can be left between any two instructions and continued later, on another thread as well:
 * everything it is made of is in struct gp_isa_wave, struct gp_isa_group and the memory of the
 * host.
 *
 * An instruction that is not implemented stops the wave with GP_ISA_REFUSED and its name. It never
 * computes something else.
 */
#ifndef GP_VGPU_ISA_ISA_H
#define GP_VGPU_ISA_ISA_H

#include "base/core.h"

#define GP_ISA_LANES      64
#define GP_ISA_SCALARS    128 /* by operand code: s0 to s101, then the registers below */
#define GP_ISA_VECTORS    256
#define GP_ISA_MARGIN     32 /* rows behind the last register that a wide operand may reach */
#define GP_ISA_PAGE_BYTES 4096u
#define GP_ISA_NAME       48
#define GP_ISA_GWS        64

/* Scalar registers with a name, by their operand code. */
enum gp_isa_scalar {
	GP_ISA_FLAT_SCRATCH = 102,
	GP_ISA_XNACK_MASK = 104,
	GP_ISA_VCC = 106,
	GP_ISA_TTMP = 108, /* ttmp0 to ttmp15 */
	GP_ISA_M0 = 124,
	GP_ISA_EXEC = 126,
};

enum gp_isa_gfx {
	GP_ISA_GFX90A = 1u << 0,
	GP_ISA_GFX942 = 1u << 1,
	GP_ISA_BOTH = GP_ISA_GFX90A | GP_ISA_GFX942,
};

/* Why a wave does not go on with the next instruction. */
enum gp_isa_stop {
	GP_ISA_RUNNING = 0, /* its instructions are used up; call again */
	GP_ISA_WAITS,       /* s_sleep or the like: others should run first */
	GP_ISA_AT_BARRIER,  /* until all waves of the group are, or have ended */
	GP_ISA_SAVED,       /* by its trap handler: s_endpgm_saved */
	GP_ISA_ENDED,
	GP_ISA_FAULT,   /* memory: wave->fault is the address; the instruction has not completed */
	GP_ISA_TRAPPED, /* s_trap: wave->trap is its number */
	GP_ISA_ILLEGAL, /* no such instruction, or operands that it cannot have */
	GP_ISA_REFUSED, /* not implemented: gp_isa_describe() names it */
};

/* What the host gives. Called by the thread that runs the wave. */
struct gp_isa_host {
	void *data;
	/* CPU address of the page of 4 KiB at this GPU address, or NULL. The answer is kept until
	 * gp_isa_forget_pages(). */
	void *(*page)(void *data, u64 va, bool write);
	u64 (*clock)(void *data, bool real); /* s_memrealtime, s_memtime */
	void (*message)(void *data, u32 message, u32 m0);
	/* Bases of the apertures in the flat address space, each of 4 GiB. */
	u64 shared_base, private_base;
	u64 *gws; /* GP_ISA_GWS words of global wave sync, or NULL */
};

#define GP_ISA_PAGES 64 /* remembered; power of two */

struct gp_isa_page {
	u64 page; /* address / GP_ISA_PAGE_BYTES, + 1; 0 = none */
	u8 *memory;
	bool writable;
};

#define GP_ISA_CACHE 4096 /* decoded instructions; power of two */

struct gp_isa_inst;

/* Of one thread that runs waves: pages and decoded instructions that it remembers. */
struct gp_isa_runner {
	const struct gp_isa_host *host;
	enum gp_isa_gfx gfx;
	struct gp_isa_page pages[GP_ISA_PAGES];
	u32 csr; /* the floating-point environment that is set now; 0 = the thread's own */
	struct gp_isa_inst *cache; /* gp_isa_cache_bytes() of memory, zeroed */
};

/* The waves of a work-group share this. Waves that a barrier holds go on when all waves that have
 * not ended have arrived. */
struct gp_isa_group {
	u8 *lds;
	u32 lds_bytes;
	u32 waves, ended, at_barrier;
	u32 barrier; /* counts the barriers that all waves passed */
};

/* Bits of the registers STATUS and MODE that instructions read. */
enum gp_isa_status {
	GP_ISA_STATUS_SCC = 1u << 0,
	GP_ISA_STATUS_USER_PRIORITY = 3u << 3,
	GP_ISA_STATUS_PRIV = 1u << 5,
	GP_ISA_STATUS_EXECZ = 1u << 9,
	GP_ISA_STATUS_VCCZ = 1u << 10,
	GP_ISA_STATUS_IN_GROUP = 1u << 11,
	GP_ISA_STATUS_HALT = 1u << 13,
	GP_ISA_STATUS_VALID = 1u << 16,
	GP_ISA_STATUS_DEBUG_USER = 1u << 20,
	GP_ISA_STATUS_DEBUG_SYSTEM = 1u << 21,
};
#define GP_ISA_MODE_ROUND_32   0x3u  /* 0 nearest even, 1 up, 2 down, 3 to zero */
#define GP_ISA_MODE_ROUND_64   0xcu  /* of f64 and f16 */
#define GP_ISA_MODE_DENORM_32  0x30u /* bit 4 keeps denormals in sources, bit 5 in results */
#define GP_ISA_MODE_DENORM_64  0xc0u
#define GP_ISA_MODE_DX10_CLAMP (1u << 8)
#define GP_ISA_MODE_IEEE       (1u << 9)
#define GP_ISA_MODE_FP16_OVFL  (1u << 23)
#define GP_ISA_MODE_GPR_IDX    (1u << 27) /* s_set_gpr_idx_on: M0 moves vector registers */
#define GP_ISA_MODE_SKIP       (1u << 28) /* s_setvskip: no vector instructions */

struct gp_isa_wave {
	u64 pc;
	u32 s[GP_ISA_SCALARS]; /* pairs are little-endian: exec is s[126] and s[127] */
	bool scc;
	u32 status; /* but for SCC, EXECZ and VCCZ, which are made from others */
	u32 mode, trapsts;
	u32 hw_id, xcc_id, gpr_alloc, lds_alloc; /* of s_getreg, as the hardware has them */
	u64 trap_base, trap_memory;              /* TBA and TMA of s_getreg */
	u64 doorbell;    /* what s_sendmsg(MSG_GET_DOORBELL) puts into EXEC */
	u64 save;        /* the same of MSG_SAVEWAVE: where its trap handler saves it */
	u32 barrier;     /* group->barrier when it arrived */
	bool at_barrier; /* has arrived and was not released */
	bool gws_waits;  /* the same at a barrier of all groups, since this round */
	u32 gws_round;
	enum gp_isa_stop stop;
	u64 fault;
	u32 trap;
	u64 executed; /* instructions */
	u64 scratch;  /* GPU address of this wave's private memory, lanes interleaved by 4 bytes */
	u32 scratch_lane_bytes; /* of each lane; an access beyond faults */
	struct gp_isa_group *group;
	/* Rows of 64 lanes: v0 to v255, then a0 to a255. */
	_Alignas(32) u32 v[2 * GP_ISA_VECTORS + GP_ISA_MARGIN][GP_ISA_LANES];
};

/* Whether this processor has what the lanes are compiled for (AVX2, FMA, F16C). */
bool gp_isa_supported(void);
size_t gp_isa_cache_bytes(void);
void gp_isa_forget_pages(struct gp_isa_runner *runner);

/*
 * Executes up to `budget` instructions of the wave. Anything but GP_ISA_RUNNING, GP_ISA_WAITS and
 * GP_ISA_AT_BARRIER is final. Changes the floating-point environment of the thread and puts it
 * back.
 */
enum gp_isa_stop gp_isa_run(struct gp_isa_runner *runner, struct gp_isa_wave *wave, u32 budget);

/* "v_mqsad_u32_u8" or "unknown d3c00000 00000000", for messages about GP_ISA_ILLEGAL and
 * GP_ISA_REFUSED. */
void gp_isa_describe(struct gp_isa_runner *runner, const struct gp_isa_wave *wave,
		     char text[GP_ISA_NAME]);

#endif
