/* SPDX-License-Identifier: MIT */
/*
 * Loads and stores of every width, for tests of the formats that have them: an operation, a kind of
 * memory, and a check of registers and memory over patterns of addresses and lanes. What must come
 * out is computed here byte by byte.
 */
#ifndef GP_TESTS_VGPU_ISA_TRANSFERS_H
#define GP_TESTS_VGPU_ISA_TRANSFERS_H

#include "machine.h"

#define TRANSFER_ROWS 4

enum half { WHOLE, LOW, HIGH };

/* Data are in the rows from `row` on; `sign`: bytes and shorts are extended with their sign. */
struct transfer {
	u32 words[2];
	u32 bytes;
	bool sign;
	enum half half;
	u32 row;
};

/* A kind of memory: how a lane's address gets into registers, and where its bytes are. */
struct space {
	u8 *memory;
	u32 memory_bytes;
	u32 range; /* addresses are below, from 0 on */
	u32 (*byte_at)(u32 lane, u32 at);
	void (*address)(struct machine *machine, u32 lane, u32 at);
};

enum pattern { FOLLOWING, ACROSS, BACKWARDS, ALIGNED, MISALIGNED, SAME, STRIDES, PATTERNS };

static inline u32 pattern_address(enum pattern pattern, u32 lane, u32 bytes, u32 range, u64 *seed)
{
	u32 last = range - bytes, unit = bytes < 4 ? bytes : 4;

	switch (pattern) {
	case FOLLOWING:
		return (64 + lane * bytes) % last / unit * unit;
	case ACROSS:
		return (4096 - 32 + lane * bytes) % last;
	case BACKWARDS:
		return ((GP_ISA_LANES - lane) * bytes) % last / unit * unit;
	case ALIGNED:
		return machine_random(seed) % last / unit * unit;
	case MISALIGNED:
		return machine_random(seed) % last;
	case SAME:
		return 128;
	default:
		return lane * 4097 % last;
	}
}

static inline u64 pattern_lanes(u32 n, u64 *seed)
{
	const u64 fixed[] = {~0ull, 1ull << 63, 0, 0xffffffff};

	return n < GP_ARRAY_SIZE(fixed) ? fixed[n]
					: machine_random(seed) | (u64)machine_random(seed) << 32;
}

static inline void transfer_fill(struct machine *machine, const struct space *space, u32 row,
				 u64 *seed)
{
	for (u32 i = 0; i < space->memory_bytes; i += sizeof(u32)) {
		u32 word = machine_random(seed);

		memcpy(space->memory + i, &word, sizeof(word));
	}
	for (u32 i = 0; i < TRANSFER_ROWS; i++)
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			machine->wave->v[row + i][lane] = machine_random(seed);
}

/* Dword i of what a load gives. */
static inline u32 transfer_loaded(const struct transfer *op, const struct space *space, u32 lane,
				  u32 at, u32 i)
{
	u32 value = 0, count = op->bytes < 4 ? op->bytes : 4;

	for (u32 b = 0; b < count; b++)
		value |= (u32)space->memory[space->byte_at(lane, at + 4 * i + b)] << 8 * b;
	if (op->sign && count == 1 && value & 0x80)
		value |= 0xffffff00;
	if (op->sign && count == 2 && value & 0x8000)
		value |= 0xffff0000;
	return op->half == WHOLE ? value : op->half == LOW ? value & 0xffff : value << 16;
}

static inline void load_check(struct machine *machine, const struct transfer *op,
			      const struct space *space, enum pattern pattern, u64 lanes, u64 seed)
{
	static u32 before[TRANSFER_ROWS][GP_ISA_LANES];
	u32 at[GP_ISA_LANES];

	transfer_fill(machine, space, op->row, &seed);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		at[lane] = pattern_address(pattern, lane, op->bytes, space->range, &seed);
		space->address(machine, lane, lanes >> lane & 1 ? at[lane] : 0xfffffff0);
	}
	memcpy(before, machine->wave->v[op->row], sizeof(before));
	gp_isa_set_pair(machine->wave, GP_ISA_EXEC, lanes);
	machine_run_to_end(machine, op->words, GP_ARRAY_SIZE(op->words));
	for (u32 i = 0; i < TRANSFER_ROWS; i++)
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
			u32 want = before[i][lane];

			if (lanes >> lane & 1 && i < (op->bytes + 3) / 4)
				want = transfer_loaded(op, space, lane, at[lane], i);
			if (machine->wave->v[op->row + i][lane] != want)
				fail_msg("%08x pattern %u lanes %llx: dword %u of lane %u is %08x, "
					 "not %08x",
					 op->words[0], pattern, (unsigned long long)lanes, i, lane,
					 machine->wave->v[op->row + i][lane], want);
		}
}

static inline void store_check(struct machine *machine, const struct transfer *op,
			       const struct space *space, enum pattern pattern, u64 lanes, u64 seed)
{
	u8 *want = malloc(space->memory_bytes);
	u32 at;

	transfer_fill(machine, space, op->row, &seed);
	memcpy(want, space->memory, space->memory_bytes);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		at = pattern_address(pattern, lane, op->bytes, space->range, &seed);
		space->address(machine, lane, lanes >> lane & 1 ? at : 0xfffffff0);
		for (u32 b = 0; lanes >> lane & 1 && b < op->bytes; b++)
			want[space->byte_at(lane, at + b)] =
				(u8)(machine->wave->v[op->row + b / 4][lane] >>
				     (8 * (b % 4) + (op->half == HIGH ? 16 : 0)));
	}
	gp_isa_set_pair(machine->wave, GP_ISA_EXEC, lanes);
	machine_run_to_end(machine, op->words, GP_ARRAY_SIZE(op->words));
	for (u32 i = 0; i < space->memory_bytes; i++)
		if (space->memory[i] != want[i])
			fail_msg("%08x pattern %u lanes %llx: byte %x is %02x, not %02x",
				 op->words[0], pattern, (unsigned long long)lanes, i,
				 space->memory[i], want[i]);
	free(want);
}

static inline void loads_check(struct machine *machine, const struct transfer *ops, u32 count,
			       const struct space *space)
{
	u64 seed = 1;

	for (u32 i = 0; i < count; i++)
		for (enum pattern pattern = 0; pattern < PATTERNS; pattern++)
			for (u32 n = 0; n < 6; n++)
				load_check(machine, &ops[i], space, pattern,
					   pattern_lanes(n, &seed), ++seed);
}

static inline void stores_check(struct machine *machine, const struct transfer *ops, u32 count,
				const struct space *space)
{
	u64 seed = 2;

	for (u32 i = 0; i < count; i++)
		for (enum pattern pattern = 0; pattern < PATTERNS; pattern++)
			for (u32 n = 0; n < 6; n++)
				store_check(machine, &ops[i], space, pattern,
					    pattern_lanes(n, &seed), ++seed);
}

#endif
