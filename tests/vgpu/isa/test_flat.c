// SPDX-License-Identifier: MIT
/* FLAT, GLOBAL and SCRATCH: loads and stores, apertures, LDS; atomics are in
 * test_memory_atomics.c. */
#include "transfers.h"

#define WINDOW 0x8000 /* of the data that the patterns use */

static u32 data_byte(u32 lane, u32 at)
{
	(void)lane;
	return at;
}

/* Private memory: lanes are interleaved by dwords. */
static u32 private_byte(u32 lane, u32 at)
{
	return at / 4 * 256 + lane * 4 + at % 4;
}

static void pair_put(struct machine *m, u32 lane, u64 address)
{
	m->wave->v[0][lane] = (u32)address;
	m->wave->v[1][lane] = (u32)(address >> 32);
}

static void address_64(struct machine *m, u32 lane, u32 at)
{
	pair_put(m, lane, MACHINE_DATA + at + 4);
}

static void address_flat(struct machine *m, u32 lane, u32 at)
{
	pair_put(m, lane, MACHINE_DATA + at - 8);
}

static void address_saddr(struct machine *m, u32 lane, u32 at)
{
	gp_isa_set_pair(m->wave, 4, MACHINE_DATA - 0x80000000);
	m->wave->v[0][lane] = at + 0x80000000 - 16;
}

static void address_shared(struct machine *m, u32 lane, u32 at)
{
	pair_put(m, lane, MACHINE_SHARED + at - 8);
}

static void address_private(struct machine *m, u32 lane, u32 at)
{
	pair_put(m, lane, MACHINE_PRIVATE + at - 8);
}

static void address_scratch(struct machine *m, u32 lane, u32 at)
{
	m->wave->v[0][lane] = at + 4;
}

static void address_scratch_both(struct machine *m, u32 lane, u32 at)
{
	m->wave->s[4] = 100;
	m->wave->v[0][lane] = at - 100 + 4;
}

static struct space data_space(struct machine *m, void (*address)(struct machine *, u32, u32))
{
	return (struct space){m->data, 2 * WINDOW, WINDOW, data_byte, address};
}

static struct space private_space(struct machine *m, void (*address)(struct machine *, u32, u32))
{
	return (struct space){
		.memory = m->scratch,
		.memory_bytes = MACHINE_SCRATCH_LANE_BYTES * GP_ISA_LANES,
		.range = MACHINE_SCRATCH_LANE_BYTES,
		.byte_at = private_byte,
		.address = address,
	};
}

static const struct transfer global_loads[] = {
	{{0xdc409ffc, 0x027f0000 /* global_load_ubyte v2, v[0:1], off offset:-4 */},
	 1,
	 false,
	 WHOLE,
	 2},
	{{0xdc449ffc, 0x027f0000 /* global_load_sbyte v2, v[0:1], off offset:-4 */},
	 1,
	 true,
	 WHOLE,
	 2},
	{{0xdc489ffc, 0x027f0000 /* global_load_ushort v2, v[0:1], off offset:-4 */},
	 2,
	 false,
	 WHOLE,
	 2},
	{{0xdc4c9ffc, 0x027f0000 /* global_load_sshort v2, v[0:1], off offset:-4 */},
	 2,
	 true,
	 WHOLE,
	 2},
	{{0xdc509ffc, 0x027f0000 /* global_load_dword v2, v[0:1], off offset:-4 */},
	 4,
	 false,
	 WHOLE,
	 2},
	{{0xdc549ffc, 0x027f0000 /* global_load_dwordx2 v[2:3], v[0:1], off offset:-4 */},
	 8,
	 false,
	 WHOLE,
	 2},
	{{0xdc589ffc, 0x027f0000 /* global_load_dwordx3 v[2:4], v[0:1], off offset:-4 */},
	 12,
	 false,
	 WHOLE,
	 2},
	{{0xdc5c9ffc, 0x027f0000 /* global_load_dwordx4 v[2:5], v[0:1], off offset:-4 */},
	 16,
	 false,
	 WHOLE,
	 2},
	{{0xdc809ffc, 0x027f0000 /* global_load_ubyte_d16 v2, v[0:1], off offset:-4 */},
	 1,
	 false,
	 LOW,
	 2},
	{{0xdc849ffc, 0x027f0000 /* global_load_ubyte_d16_hi v2, v[0:1], off offset:-4 */},
	 1,
	 false,
	 HIGH,
	 2},
	{{0xdc889ffc, 0x027f0000 /* global_load_sbyte_d16 v2, v[0:1], off offset:-4 */},
	 1,
	 true,
	 LOW,
	 2},
	{{0xdc8c9ffc, 0x027f0000 /* global_load_sbyte_d16_hi v2, v[0:1], off offset:-4 */},
	 1,
	 true,
	 HIGH,
	 2},
	{{0xdc909ffc, 0x027f0000 /* global_load_short_d16 v2, v[0:1], off offset:-4 */},
	 2,
	 false,
	 LOW,
	 2},
	{{0xdc949ffc, 0x027f0000 /* global_load_short_d16_hi v2, v[0:1], off offset:-4 */},
	 2,
	 false,
	 HIGH,
	 2},
	{{0xdc589ffc, 0x04ff0000 /* global_load_dwordx3 a[4:6], v[0:1], off offset:-4 */},
	 12,
	 false,
	 WHOLE,
	 256 + 4},
};

static const struct transfer global_stores[] = {
	{{0xdc609ffc, 0x007f0200 /* global_store_byte v[0:1], v2, off offset:-4 */},
	 1,
	 false,
	 WHOLE,
	 2},
	{{0xdc689ffc, 0x007f0200 /* global_store_short v[0:1], v2, off offset:-4 */},
	 2,
	 false,
	 WHOLE,
	 2},
	{{0xdc709ffc, 0x007f0200 /* global_store_dword v[0:1], v2, off offset:-4 */},
	 4,
	 false,
	 WHOLE,
	 2},
	{{0xdc749ffc, 0x007f0200 /* global_store_dwordx2 v[0:1], v[2:3], off offset:-4 */},
	 8,
	 false,
	 WHOLE,
	 2},
	{{0xdc789ffc, 0x007f0200 /* global_store_dwordx3 v[0:1], v[2:4], off offset:-4 */},
	 12,
	 false,
	 WHOLE,
	 2},
	{{0xdc7c9ffc, 0x007f0200 /* global_store_dwordx4 v[0:1], v[2:5], off offset:-4 */},
	 16,
	 false,
	 WHOLE,
	 2},
	{{0xdc649ffc, 0x007f0200 /* global_store_byte_d16_hi v[0:1], v2, off offset:-4 */},
	 1,
	 false,
	 HIGH,
	 2},
	{{0xdc6c9ffc, 0x007f0200 /* global_store_short_d16_hi v[0:1], v2, off offset:-4 */},
	 2,
	 false,
	 HIGH,
	 2},
	{{0xdc7c9ffc, 0x00ff0400 /* global_store_dwordx4 v[0:1], a[4:7], off offset:-4 */},
	 16,
	 false,
	 WHOLE,
	 256 + 4},
};

static const struct transfer saddr_loads[] = {
	{{0xdc408010, 0x02040000 /* global_load_ubyte v2, v0, s[4:5] offset:16 */},
	 1,
	 false,
	 WHOLE,
	 2},
	{{0xdc448010, 0x02040000 /* global_load_sbyte v2, v0, s[4:5] offset:16 */},
	 1,
	 true,
	 WHOLE,
	 2},
	{{0xdc488010, 0x02040000 /* global_load_ushort v2, v0, s[4:5] offset:16 */},
	 2,
	 false,
	 WHOLE,
	 2},
	{{0xdc4c8010, 0x02040000 /* global_load_sshort v2, v0, s[4:5] offset:16 */},
	 2,
	 true,
	 WHOLE,
	 2},
	{{0xdc508010, 0x02040000 /* global_load_dword v2, v0, s[4:5] offset:16 */},
	 4,
	 false,
	 WHOLE,
	 2},
	{{0xdc548010, 0x02040000 /* global_load_dwordx2 v[2:3], v0, s[4:5] offset:16 */},
	 8,
	 false,
	 WHOLE,
	 2},
	{{0xdc588010, 0x02040000 /* global_load_dwordx3 v[2:4], v0, s[4:5] offset:16 */},
	 12,
	 false,
	 WHOLE,
	 2},
	{{0xdc5c8010, 0x02040000 /* global_load_dwordx4 v[2:5], v0, s[4:5] offset:16 */},
	 16,
	 false,
	 WHOLE,
	 2},
	{{0xdc808010, 0x02040000 /* global_load_ubyte_d16 v2, v0, s[4:5] offset:16 */},
	 1,
	 false,
	 LOW,
	 2},
	{{0xdc848010, 0x02040000 /* global_load_ubyte_d16_hi v2, v0, s[4:5] offset:16 */},
	 1,
	 false,
	 HIGH,
	 2},
	{{0xdc888010, 0x02040000 /* global_load_sbyte_d16 v2, v0, s[4:5] offset:16 */},
	 1,
	 true,
	 LOW,
	 2},
	{{0xdc8c8010, 0x02040000 /* global_load_sbyte_d16_hi v2, v0, s[4:5] offset:16 */},
	 1,
	 true,
	 HIGH,
	 2},
	{{0xdc908010, 0x02040000 /* global_load_short_d16 v2, v0, s[4:5] offset:16 */},
	 2,
	 false,
	 LOW,
	 2},
	{{0xdc948010, 0x02040000 /* global_load_short_d16_hi v2, v0, s[4:5] offset:16 */},
	 2,
	 false,
	 HIGH,
	 2},
	{{0xdc588010, 0x04840000 /* global_load_dwordx3 a[4:6], v0, s[4:5] offset:16 */},
	 12,
	 false,
	 WHOLE,
	 256 + 4},
};

static const struct transfer saddr_stores[] = {
	{{0xdc608010, 0x00040200 /* global_store_byte v0, v2, s[4:5] offset:16 */},
	 1,
	 false,
	 WHOLE,
	 2},
	{{0xdc688010, 0x00040200 /* global_store_short v0, v2, s[4:5] offset:16 */},
	 2,
	 false,
	 WHOLE,
	 2},
	{{0xdc708010, 0x00040200 /* global_store_dword v0, v2, s[4:5] offset:16 */},
	 4,
	 false,
	 WHOLE,
	 2},
	{{0xdc748010, 0x00040200 /* global_store_dwordx2 v0, v[2:3], s[4:5] offset:16 */},
	 8,
	 false,
	 WHOLE,
	 2},
	{{0xdc788010, 0x00040200 /* global_store_dwordx3 v0, v[2:4], s[4:5] offset:16 */},
	 12,
	 false,
	 WHOLE,
	 2},
	{{0xdc7c8010, 0x00040200 /* global_store_dwordx4 v0, v[2:5], s[4:5] offset:16 */},
	 16,
	 false,
	 WHOLE,
	 2},
	{{0xdc648010, 0x00040200 /* global_store_byte_d16_hi v0, v2, s[4:5] offset:16 */},
	 1,
	 false,
	 HIGH,
	 2},
	{{0xdc6c8010, 0x00040200 /* global_store_short_d16_hi v0, v2, s[4:5] offset:16 */},
	 2,
	 false,
	 HIGH,
	 2},
	{{0xdc7c8010, 0x00840400 /* global_store_dwordx4 v0, a[4:7], s[4:5] offset:16 */},
	 16,
	 false,
	 WHOLE,
	 256 + 4},
};

static const struct transfer flat_loads[] = {
	{{0xdc400008, 0x02000000 /* flat_load_ubyte v2, v[0:1] offset:8 */}, 1, false, WHOLE, 2},
	{{0xdc440008, 0x02000000 /* flat_load_sbyte v2, v[0:1] offset:8 */}, 1, true, WHOLE, 2},
	{{0xdc480008, 0x02000000 /* flat_load_ushort v2, v[0:1] offset:8 */}, 2, false, WHOLE, 2},
	{{0xdc4c0008, 0x02000000 /* flat_load_sshort v2, v[0:1] offset:8 */}, 2, true, WHOLE, 2},
	{{0xdc500008, 0x02000000 /* flat_load_dword v2, v[0:1] offset:8 */}, 4, false, WHOLE, 2},
	{{0xdc540008, 0x02000000 /* flat_load_dwordx2 v[2:3], v[0:1] offset:8 */},
	 8,
	 false,
	 WHOLE,
	 2},
	{{0xdc580008, 0x02000000 /* flat_load_dwordx3 v[2:4], v[0:1] offset:8 */},
	 12,
	 false,
	 WHOLE,
	 2},
	{{0xdc5c0008, 0x02000000 /* flat_load_dwordx4 v[2:5], v[0:1] offset:8 */},
	 16,
	 false,
	 WHOLE,
	 2},
	{{0xdc800008, 0x02000000 /* flat_load_ubyte_d16 v2, v[0:1] offset:8 */}, 1, false, LOW, 2},
	{{0xdc840008, 0x02000000 /* flat_load_ubyte_d16_hi v2, v[0:1] offset:8 */},
	 1,
	 false,
	 HIGH,
	 2},
	{{0xdc880008, 0x02000000 /* flat_load_sbyte_d16 v2, v[0:1] offset:8 */}, 1, true, LOW, 2},
	{{0xdc8c0008, 0x02000000 /* flat_load_sbyte_d16_hi v2, v[0:1] offset:8 */},
	 1,
	 true,
	 HIGH,
	 2},
	{{0xdc900008, 0x02000000 /* flat_load_short_d16 v2, v[0:1] offset:8 */}, 2, false, LOW, 2},
	{{0xdc940008, 0x02000000 /* flat_load_short_d16_hi v2, v[0:1] offset:8 */},
	 2,
	 false,
	 HIGH,
	 2},
	{{0xdc580008, 0x04800000 /* flat_load_dwordx3 a[4:6], v[0:1] offset:8 */},
	 12,
	 false,
	 WHOLE,
	 256 + 4},
};

static const struct transfer flat_stores[] = {
	{{0xdc600008, 0x00000200 /* flat_store_byte v[0:1], v2 offset:8 */}, 1, false, WHOLE, 2},
	{{0xdc680008, 0x00000200 /* flat_store_short v[0:1], v2 offset:8 */}, 2, false, WHOLE, 2},
	{{0xdc700008, 0x00000200 /* flat_store_dword v[0:1], v2 offset:8 */}, 4, false, WHOLE, 2},
	{{0xdc740008, 0x00000200 /* flat_store_dwordx2 v[0:1], v[2:3] offset:8 */},
	 8,
	 false,
	 WHOLE,
	 2},
	{{0xdc780008, 0x00000200 /* flat_store_dwordx3 v[0:1], v[2:4] offset:8 */},
	 12,
	 false,
	 WHOLE,
	 2},
	{{0xdc7c0008, 0x00000200 /* flat_store_dwordx4 v[0:1], v[2:5] offset:8 */},
	 16,
	 false,
	 WHOLE,
	 2},
	{{0xdc640008, 0x00000200 /* flat_store_byte_d16_hi v[0:1], v2 offset:8 */},
	 1,
	 false,
	 HIGH,
	 2},
	{{0xdc6c0008, 0x00000200 /* flat_store_short_d16_hi v[0:1], v2 offset:8 */},
	 2,
	 false,
	 HIGH,
	 2},
	{{0xdc7c0008, 0x00800400 /* flat_store_dwordx4 v[0:1], a[4:7] offset:8 */},
	 16,
	 false,
	 WHOLE,
	 256 + 4},
};

static const struct transfer scratch_loads[] = {
	{{0xdc405ffc, 0x027f0000 /* scratch_load_ubyte v2, v0, off offset:-4 */},
	 1,
	 false,
	 WHOLE,
	 2},
	{{0xdc445ffc, 0x027f0000 /* scratch_load_sbyte v2, v0, off offset:-4 */},
	 1,
	 true,
	 WHOLE,
	 2},
	{{0xdc485ffc, 0x027f0000 /* scratch_load_ushort v2, v0, off offset:-4 */},
	 2,
	 false,
	 WHOLE,
	 2},
	{{0xdc4c5ffc, 0x027f0000 /* scratch_load_sshort v2, v0, off offset:-4 */},
	 2,
	 true,
	 WHOLE,
	 2},
	{{0xdc505ffc, 0x027f0000 /* scratch_load_dword v2, v0, off offset:-4 */},
	 4,
	 false,
	 WHOLE,
	 2},
	{{0xdc545ffc, 0x027f0000 /* scratch_load_dwordx2 v[2:3], v0, off offset:-4 */},
	 8,
	 false,
	 WHOLE,
	 2},
	{{0xdc585ffc, 0x027f0000 /* scratch_load_dwordx3 v[2:4], v0, off offset:-4 */},
	 12,
	 false,
	 WHOLE,
	 2},
	{{0xdc5c5ffc, 0x027f0000 /* scratch_load_dwordx4 v[2:5], v0, off offset:-4 */},
	 16,
	 false,
	 WHOLE,
	 2},
	{{0xdc805ffc, 0x027f0000 /* scratch_load_ubyte_d16 v2, v0, off offset:-4 */},
	 1,
	 false,
	 LOW,
	 2},
	{{0xdc845ffc, 0x027f0000 /* scratch_load_ubyte_d16_hi v2, v0, off offset:-4 */},
	 1,
	 false,
	 HIGH,
	 2},
	{{0xdc885ffc, 0x027f0000 /* scratch_load_sbyte_d16 v2, v0, off offset:-4 */},
	 1,
	 true,
	 LOW,
	 2},
	{{0xdc8c5ffc, 0x027f0000 /* scratch_load_sbyte_d16_hi v2, v0, off offset:-4 */},
	 1,
	 true,
	 HIGH,
	 2},
	{{0xdc905ffc, 0x027f0000 /* scratch_load_short_d16 v2, v0, off offset:-4 */},
	 2,
	 false,
	 LOW,
	 2},
	{{0xdc945ffc, 0x027f0000 /* scratch_load_short_d16_hi v2, v0, off offset:-4 */},
	 2,
	 false,
	 HIGH,
	 2},
	{{0xdc585ffc, 0x04ff0000 /* scratch_load_dwordx3 a[4:6], v0, off offset:-4 */},
	 12,
	 false,
	 WHOLE,
	 256 + 4},
};

static const struct transfer scratch_stores[] = {
	{{0xdc605ffc, 0x007f0200 /* scratch_store_byte v0, v2, off offset:-4 */},
	 1,
	 false,
	 WHOLE,
	 2},
	{{0xdc685ffc, 0x007f0200 /* scratch_store_short v0, v2, off offset:-4 */},
	 2,
	 false,
	 WHOLE,
	 2},
	{{0xdc705ffc, 0x007f0200 /* scratch_store_dword v0, v2, off offset:-4 */},
	 4,
	 false,
	 WHOLE,
	 2},
	{{0xdc745ffc, 0x007f0200 /* scratch_store_dwordx2 v0, v[2:3], off offset:-4 */},
	 8,
	 false,
	 WHOLE,
	 2},
	{{0xdc785ffc, 0x007f0200 /* scratch_store_dwordx3 v0, v[2:4], off offset:-4 */},
	 12,
	 false,
	 WHOLE,
	 2},
	{{0xdc7c5ffc, 0x007f0200 /* scratch_store_dwordx4 v0, v[2:5], off offset:-4 */},
	 16,
	 false,
	 WHOLE,
	 2},
	{{0xdc645ffc, 0x007f0200 /* scratch_store_byte_d16_hi v0, v2, off offset:-4 */},
	 1,
	 false,
	 HIGH,
	 2},
	{{0xdc6c5ffc, 0x007f0200 /* scratch_store_short_d16_hi v0, v2, off offset:-4 */},
	 2,
	 false,
	 HIGH,
	 2},
	{{0xdc7c5ffc, 0x00ff0400 /* scratch_store_dwordx4 v0, a[4:7], off offset:-4 */},
	 16,
	 false,
	 WHOLE,
	 256 + 4},
};

static const struct transfer both_loads[] = {
	{{0xdc407ffc, 0x02040000 /* scratch_load_ubyte v2, v0, s4 offset:-4 */},
	 1,
	 false,
	 WHOLE,
	 2},
	{{0xdc447ffc, 0x02040000 /* scratch_load_sbyte v2, v0, s4 offset:-4 */}, 1, true, WHOLE, 2},
	{{0xdc487ffc, 0x02040000 /* scratch_load_ushort v2, v0, s4 offset:-4 */},
	 2,
	 false,
	 WHOLE,
	 2},
	{{0xdc4c7ffc, 0x02040000 /* scratch_load_sshort v2, v0, s4 offset:-4 */},
	 2,
	 true,
	 WHOLE,
	 2},
	{{0xdc507ffc, 0x02040000 /* scratch_load_dword v2, v0, s4 offset:-4 */},
	 4,
	 false,
	 WHOLE,
	 2},
	{{0xdc547ffc, 0x02040000 /* scratch_load_dwordx2 v[2:3], v0, s4 offset:-4 */},
	 8,
	 false,
	 WHOLE,
	 2},
	{{0xdc587ffc, 0x02040000 /* scratch_load_dwordx3 v[2:4], v0, s4 offset:-4 */},
	 12,
	 false,
	 WHOLE,
	 2},
	{{0xdc5c7ffc, 0x02040000 /* scratch_load_dwordx4 v[2:5], v0, s4 offset:-4 */},
	 16,
	 false,
	 WHOLE,
	 2},
	{{0xdc807ffc, 0x02040000 /* scratch_load_ubyte_d16 v2, v0, s4 offset:-4 */},
	 1,
	 false,
	 LOW,
	 2},
	{{0xdc847ffc, 0x02040000 /* scratch_load_ubyte_d16_hi v2, v0, s4 offset:-4 */},
	 1,
	 false,
	 HIGH,
	 2},
	{{0xdc887ffc, 0x02040000 /* scratch_load_sbyte_d16 v2, v0, s4 offset:-4 */},
	 1,
	 true,
	 LOW,
	 2},
	{{0xdc8c7ffc, 0x02040000 /* scratch_load_sbyte_d16_hi v2, v0, s4 offset:-4 */},
	 1,
	 true,
	 HIGH,
	 2},
	{{0xdc907ffc, 0x02040000 /* scratch_load_short_d16 v2, v0, s4 offset:-4 */},
	 2,
	 false,
	 LOW,
	 2},
	{{0xdc947ffc, 0x02040000 /* scratch_load_short_d16_hi v2, v0, s4 offset:-4 */},
	 2,
	 false,
	 HIGH,
	 2},
	{{0xdc587ffc, 0x04840000 /* scratch_load_dwordx3 a[4:6], v0, s4 offset:-4 */},
	 12,
	 false,
	 WHOLE,
	 256 + 4},
};

static const struct transfer both_stores[] = {
	{{0xdc607ffc, 0x00040200 /* scratch_store_byte v0, v2, s4 offset:-4 */},
	 1,
	 false,
	 WHOLE,
	 2},
	{{0xdc687ffc, 0x00040200 /* scratch_store_short v0, v2, s4 offset:-4 */},
	 2,
	 false,
	 WHOLE,
	 2},
	{{0xdc707ffc, 0x00040200 /* scratch_store_dword v0, v2, s4 offset:-4 */},
	 4,
	 false,
	 WHOLE,
	 2},
	{{0xdc747ffc, 0x00040200 /* scratch_store_dwordx2 v0, v[2:3], s4 offset:-4 */},
	 8,
	 false,
	 WHOLE,
	 2},
	{{0xdc787ffc, 0x00040200 /* scratch_store_dwordx3 v0, v[2:4], s4 offset:-4 */},
	 12,
	 false,
	 WHOLE,
	 2},
	{{0xdc7c7ffc, 0x00040200 /* scratch_store_dwordx4 v0, v[2:5], s4 offset:-4 */},
	 16,
	 false,
	 WHOLE,
	 2},
	{{0xdc647ffc, 0x00040200 /* scratch_store_byte_d16_hi v0, v2, s4 offset:-4 */},
	 1,
	 false,
	 HIGH,
	 2},
	{{0xdc6c7ffc, 0x00040200 /* scratch_store_short_d16_hi v0, v2, s4 offset:-4 */},
	 2,
	 false,
	 HIGH,
	 2},
	{{0xdc7c7ffc, 0x00840400 /* scratch_store_dwordx4 v0, a[4:7], s4 offset:-4 */},
	 16,
	 false,
	 WHOLE,
	 256 + 4},
};
static void global_by_register_pair(void **state)
{
	struct machine *m = *state;
	struct space space = data_space(m, address_64);

	loads_check(m, global_loads, GP_ARRAY_SIZE(global_loads), &space);
	stores_check(m, global_stores, GP_ARRAY_SIZE(global_stores), &space);
}

static void global_by_scalar_base(void **state)
{
	struct machine *m = *state;
	struct space space = data_space(m, address_saddr);

	loads_check(m, saddr_loads, GP_ARRAY_SIZE(saddr_loads), &space);
	stores_check(m, saddr_stores, GP_ARRAY_SIZE(saddr_stores), &space);
}

static void flat_in_memory(void **state)
{
	struct machine *m = *state;
	struct space space = data_space(m, address_flat);

	loads_check(m, flat_loads, GP_ARRAY_SIZE(flat_loads), &space);
	stores_check(m, flat_stores, GP_ARRAY_SIZE(flat_stores), &space);
}

static void flat_in_lds(void **state)
{
	struct machine *m = *state;
	struct space space = data_space(m, address_shared);

	space.memory = m->lds;
	loads_check(m, flat_loads, GP_ARRAY_SIZE(flat_loads), &space);
	stores_check(m, flat_stores, GP_ARRAY_SIZE(flat_stores), &space);
}

static void flat_in_private_memory(void **state)
{
	struct machine *m = *state;
	struct space space = private_space(m, address_private);

	loads_check(m, flat_loads, GP_ARRAY_SIZE(flat_loads), &space);
	stores_check(m, flat_stores, GP_ARRAY_SIZE(flat_stores), &space);
}

static void scratch_by_register(void **state)
{
	struct machine *m = *state;
	struct space space = private_space(m, address_scratch);

	loads_check(m, scratch_loads, GP_ARRAY_SIZE(scratch_loads), &space);
	stores_check(m, scratch_stores, GP_ARRAY_SIZE(scratch_stores), &space);
}

static void scratch_by_both_registers(void **state)
{
	struct machine *m = *state;
	struct space space = private_space(m, address_scratch_both);

	loads_check(m, both_loads, GP_ARRAY_SIZE(both_loads), &space);
	stores_check(m, both_stores, GP_ARRAY_SIZE(both_stores), &space);
}

static u32 word_at(const u8 *memory, u32 at)
{
	u32 word;

	memcpy(&word, memory + at, sizeof(word));
	return word;
}

static void words_put(u8 *memory, u32 bytes)
{
	for (u32 i = 0; i < bytes; i += 4) {
		u32 word = 0x5a000000 + i;

		memcpy(memory + i, &word, sizeof(word));
	}
}

static void scratch_by_scalar_or_nothing(void **state)
{
	struct machine *m = *state;

	words_put(m->scratch, MACHINE_SCRATCH_LANE_BYTES * GP_ISA_LANES);
	m->wave->s[4] = 16;
	if (m->runner.gfx == GP_ISA_GFX942)
		RUN(m, 0xdc504004, 0x02040000 /* scratch_load_dword v2, off, s4 offset:4 */,
		    0xdc544008, 0x047f0000 /* scratch_load_dwordx2 v[4:5], off, off offset:8 */);
	else
		RUN(m, 0xdc504004, 0x02040000 /* scratch_load_dword v2, off, s4 offset:4 */);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		assert_int_equal(m->wave->v[2][lane], 0x5a000000 + 5 * 256 + lane * 4);
		if (m->runner.gfx != GP_ISA_GFX942)
			continue;
		assert_int_equal(m->wave->v[4][lane], 0x5a000000 + 2 * 256 + lane * 4);
		assert_int_equal(m->wave->v[5][lane], 0x5a000000 + 3 * 256 + lane * 4);
	}
}

/* Lanes of one instruction in all three kinds of memory. */
static void flat_in_all_memories_at_once(void **state)
{
	struct machine *m = *state;
	const u64 bases[] = {MACHINE_DATA, MACHINE_SHARED, MACHINE_PRIVATE};

	words_put(m->data, 0x1000);
	words_put(m->lds, 0x1000);
	words_put(m->scratch, MACHINE_SCRATCH_LANE_BYTES * GP_ISA_LANES);
	gp_isa_set_pair(m->wave, GP_ISA_EXEC, ~4ull);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		pair_put(m, lane, bases[lane % 3] + lane / 3 * 8);
		m->wave->v[4][lane] = m->wave->v[5][lane] = 1000 + lane;
	}
	RUN(m, 0xdc540000, 0x02000000 /* flat_load_dwordx2 v[2:3], v[0:1] */, 0xdc740004,
	    0x00000400 /* flat_store_dwordx2 v[0:1], v[4:5] offset:4 */);
	assert_int_equal(m->wave->v[2][2], 0);
	for (u32 lane = 3; lane < GP_ISA_LANES; lane++) {
		u32 at = lane / 3 * 8, row = at / 4 * 256 + lane * 4;

		assert_int_equal(m->wave->v[2][lane], 0x5a000000 + (lane % 3 < 2 ? at : row));
		assert_int_equal(m->wave->v[3][lane],
				 0x5a000000 + (lane % 3 < 2 ? at + 4 : row + 256));
		if (lane % 3 == 0)
			assert_int_equal(word_at(m->data, at + 4), 1000 + lane);
		if (lane % 3 == 1)
			assert_int_equal(word_at(m->lds, at + 4), 1000 + lane);
		if (lane % 3 == 2)
			assert_int_equal(word_at(m->scratch, row + 256), 1000 + lane);
	}
	assert_int_equal(word_at(m->scratch, 256 + 2 * 4), 0x5a000000 + 256 + 2 * 4);
}

/* A load to LDS puts a dword per lane at M0 + offset + 4 * lane. */
static void lds_filled_from_memory(void **state)
{
	struct machine *m = *state;
	bool new = m->runner.gfx == GP_ISA_GFX942;

	words_put(m->data, 0x1000);
	words_put(m->scratch, MACHINE_SCRATCH_LANE_BYTES * GP_ISA_LANES);
	m->data[7] = 0x80;
	gp_isa_set_pair(m->wave, 4, MACHINE_DATA);
	gp_isa_set_pair(m->wave, GP_ISA_EXEC, ~2ull);
	m->wave->s[GP_ISA_M0] = 0x103; /* dwords */
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		m->wave->v[0][lane] = (63 - lane) * 4;
	if (new)
		RUN(m, 0xdca88004, 0x00040000 /* global_load_lds_dword v0, s[4:5] offset:4 */);
	else
		RUN(m, 0xdc50a004, 0x00040000 /* global_load_dword v0, s[4:5] offset:4 lds */);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		assert_int_equal(word_at(m->lds, 0x104 + lane * 4),
				 lane == 1    ? 0
				 : lane == 63 ? 0x80000004 /* m->data[7] */
					      : 0x5a000000 + (63 - lane) * 4 + 4);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		m->wave->v[0][lane] = 7;
	if (!new) {
		RUN(m, 0xdc44a000, 0x00040000 /* global_load_sbyte v0, s[4:5] lds */);
		assert_int_equal(word_at(m->lds, 0x100), 0xffffff80);
		return;
	}
	RUN(m, 0xdc9c8000, 0x00040000 /* global_load_lds_sbyte v0, s[4:5] */);
	assert_int_equal(word_at(m->lds, 0x100), 0xffffff80);
	RUN(m, 0xdc988000, 0x00040000 /* global_load_lds_ubyte v0, s[4:5] */);
	assert_int_equal(word_at(m->lds, 0x100), 0x80);
	RUN(m, 0xdca09fff, 0x00040000 /* global_load_lds_ushort v0, s[4:5] offset:-1 */);
	assert_int_equal(word_at(m->lds, 0xff), 0x8000);
	RUN(m, 0xdca49fff, 0x00040000 /* global_load_lds_sshort v0, s[4:5] offset:-1 */);
	assert_int_equal(word_at(m->lds, 0xff), 0xffff8000);
	m->wave->s[6] = 8;
	RUN(m, 0xdca84004, 0x00060000 /* scratch_load_lds_dword off, s6 offset:4 */);
	assert_int_equal(word_at(m->lds, 0x104 + 40), 0x5a000000 + 3 * 256 + 40);
	RUN(m, 0xdc984004, 0x00060000 /* scratch_load_lds_ubyte off, s6 offset:4 */);
	assert_int_equal(word_at(m->lds, 0x104 + 40), (3 * 256 + 40) & 0xff);
	RUN(m, 0xdc9c4004, 0x00060000 /* scratch_load_lds_sbyte off, s6 offset:4 */);
	assert_int_equal(word_at(m->lds, 0x104 + 36 * 4), 0xffffff90); /* 3 * 256 + 36 * 4 */
	RUN(m, 0xdca04004, 0x00060000 /* scratch_load_lds_ushort off, s6 offset:4 */);
	assert_int_equal(word_at(m->lds, 0x104 + 40), 3 * 256 + 40);
	m->scratch[3 * 256 + 41] = 0x80;
	RUN(m, 0xdca44004, 0x00060000 /* scratch_load_lds_sshort off, s6 offset:4 */);
	assert_int_equal(word_at(m->lds, 0x104 + 40), 0xffff8028);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(global_by_register_pair, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(global_by_scalar_base, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(flat_in_memory, machine_gfx90a, machine_down),
		cmocka_unit_test_setup_teardown(flat_in_lds, machine_gfx90a, machine_down),
		cmocka_unit_test_setup_teardown(flat_in_private_memory, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(scratch_by_register, machine_gfx90a, machine_down),
		cmocka_unit_test_setup_teardown(scratch_by_both_registers, machine_gfx942,
						machine_down),
		cmocka_unit_test_setup_teardown(scratch_by_scalar_or_nothing, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(scratch_by_scalar_or_nothing, machine_gfx942,
						machine_down),
		cmocka_unit_test_setup_teardown(flat_in_all_memories_at_once, machine_gfx942,
						machine_down),
		cmocka_unit_test_setup_teardown(lds_filled_from_memory, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(lds_filled_from_memory, machine_gfx942,
						machine_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
