// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "abi/bits.h"
#include "abi/sdma.h"
#include "vgpu/cp/cp_state.h"

/*
 * SDMA packets are handed over as commands: at most one packet that moves data, with the small ones
 * around it (times, fences, atomics, traps). A poll begins a command, because what it looks at must
 * not be looked at before everything earlier is done. All effects happen, in order, when the model
 * completes the command.
 */

static u32 word_at(const struct gp_vgpu_cp_ring *ring, u64 byte)
{
	u64 offset = byte % ring->queue.ring_bytes;
	u32 word;

	memcpy(&word, ring->base + offset, sizeof(word));
	return word;
}

/* Dwords of the packet at `byte`, 0 for one that is not known. Reads no further than `limit`. */
static u64 packet_words(const struct gp_vgpu_cp_ring *ring, u64 byte, u64 limit)
{
	u32 header = word_at(ring, byte);

	switch (gp_sdma_op(header)) {
	case GP_SDMA_NOP:
		return 1 + gp_bits(header, 16, 29);
	case GP_SDMA_COPY:
		if (gp_sdma_sub_op(header) == GP_SDMA_COPY_LINEAR)
			return GP_SDMA_COPY_LINEAR_DWORDS +
			       (header & GP_SDMA_COPY_BROADCAST ? GP_SDMA_COPY_TARGET_DWORDS : 0);
		return gp_sdma_sub_op(header) == GP_SDMA_COPY_RECT ? GP_SDMA_COPY_RECT_DWORDS : 0;
	case GP_SDMA_WRITE:
		if (gp_sdma_sub_op(header) != GP_SDMA_WRITE_LINEAR)
			return 0;
		if (limit - byte < GP_SDMA_WRITE_FIXED_DWORDS * sizeof(u32))
			return GP_SDMA_WRITE_FIXED_DWORDS + 1;
		return GP_SDMA_WRITE_FIXED_DWORDS + 1 + gp_bits(word_at(ring, byte + 12), 0, 19);
	case GP_SDMA_FENCE:
		return GP_SDMA_FENCE_DWORDS;
	case GP_SDMA_TRAP:
		return GP_SDMA_TRAP_DWORDS;
	case GP_SDMA_POLL_REGMEM:
		return GP_SDMA_POLL_DWORDS;
	case GP_SDMA_ATOMIC:
		return GP_SDMA_ATOMIC_DWORDS;
	case GP_SDMA_CONST_FILL:
		return GP_SDMA_FILL_DWORDS;
	case GP_SDMA_TIMESTAMP:
		return GP_SDMA_TIMESTAMP_DWORDS;
	case GP_SDMA_GCR:
		return GP_SDMA_GCR_DWORDS;
	default:
		return 0;
	}
}

static u64 data_bytes(const u32 *words)
{
	switch (gp_sdma_op(words[0])) {
	case GP_SDMA_COPY:
		if (gp_sdma_sub_op(words[0]) == GP_SDMA_COPY_LINEAR)
			return gp_sdma_copy_bytes(words[1]);
		return ((gp_bits(words[11], 0, 13) + 1ull) * (gp_bits(words[11], 16, 29) + 1ull) *
			(gp_bits(words[12], 0, 10) + 1ull))
		       << gp_bits(words[0], 29, 31);
	case GP_SDMA_WRITE:
		return (gp_bits(words[3], 0, 19) + 1ull) * sizeof(u32);
	case GP_SDMA_CONST_FILL:
		return gp_sdma_fill_elements(words[0], words[4]) << gp_bits(words[0], 30, 31);
	default:
		return 0;
	}
}

static bool poll_met(u32 function, u32 value, u32 reference)
{
	switch (function) {
	case GP_SDMA_LT:
		return value < reference;
	case GP_SDMA_LE:
		return value <= reference;
	case GP_SDMA_EQ:
		return value == reference;
	case GP_SDMA_NE:
		return value != reference;
	case GP_SDMA_GE:
		return value >= reference;
	case GP_SDMA_GT:
		return value > reference;
	default:
		return true;
	}
}

/* The other kind polls a register: that is an HDP flush, and it is over at once. */
static bool polls_memory(u32 header)
{
	return header >> 31;
}

/* Whether the poll at `byte` lets the engine go on. */
static bool poll_over(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring, u64 byte)
{
	u32 header = word_at(ring, byte), value;
	u64 address = gp_join64(word_at(ring, byte + 4), word_at(ring, byte + 8));

	if (ring->in_flight)
		return false;
	if (gp_vgpu_cp_read(cp, ring->gpu_id, address, &value, sizeof(value))) {
		gp_vgpu_cp_fault(cp, ring, address);
		return false;
	}
	return poll_met(gp_bits(header, 28, 30), value & word_at(ring, byte + 16),
			word_at(ring, byte + 12));
}

struct command {
	u64 end;
	u64 bytes;
	u32 words;
	bool data;
	u32 word[GP_CP_SDMA_WORDS];
};

enum take { TAKEN, FULL, BLOCKED, UNKNOWN };

/* Adds the packet at command->end, if it belongs to this command. */
static enum take take_packet(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring, u64 limit,
			     struct command *command)
{
	u64 count = packet_words(ring, command->end, limit);
	u32 *words = command->word + command->words;
	u32 op = gp_sdma_op(word_at(ring, command->end));

	if (!count || (op == GP_SDMA_WRITE && count > GP_CP_SDMA_WORDS))
		return UNKNOWN;
	if (limit - command->end < count * sizeof(u32))
		return FULL;
	if (op == GP_SDMA_POLL_REGMEM && polls_memory(word_at(ring, command->end))) {
		if (command->words)
			return FULL;
		if (!poll_over(cp, ring, command->end))
			return BLOCKED;
	} else if (op != GP_SDMA_NOP && op != GP_SDMA_GCR && op != GP_SDMA_POLL_REGMEM) {
		if (command->words + count > GP_CP_SDMA_WORDS)
			return FULL;
		for (u64 i = 0; i < count; i++)
			words[i] = word_at(ring, command->end + i * sizeof(u32));
		if (data_bytes(words)) {
			if (command->data)
				return FULL;
			command->data = true;
			command->bytes = data_bytes(words);
		}
		command->words += (u32)count;
	}
	command->end += count * sizeof(u32);
	return TAKEN;
}

static void stop(struct gp_vgpu_cp_ring *ring)
{
	char text[16];

	snprintf(text, sizeof(text), "0x%08x", word_at(ring, ring->fetched));
	gp_vgpu_say("an SDMA queue stops at an unknown packet: ", text);
	ring->hold = GP_CP_HALTED;
}

bool gp_vgpu_cp_sdma_fetch(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring)
{
	u64 limit = __atomic_load_n(ring->write_pointer, __ATOMIC_ACQUIRE) & ~3ull;
	struct command command = {.end = ring->fetched};
	struct gp_vgpu_work work = {.flags = GP_VGPU_BARRIER};
	struct gp_vgpu_cp_record *record;
	enum take take = FULL;

	cp->client->shared->mirrors[ring->queue.id].write_index = limit;
	if (limit <= ring->fetched)
		return false;
	if (limit - ring->fetched > ring->queue.ring_bytes) {
		ring->hold = GP_CP_HALTED;
		return false;
	}
	while (command.end < limit && (take = take_packet(cp, ring, limit, &command)) == TAKEN)
		;
	if (command.end == ring->fetched) {
		if (take == UNKNOWN)
			stop(ring);
		else if (take == BLOCKED && ring->hold == GP_CP_READY)
			ring->hold = GP_CP_WAITING;
		return false;
	}
	record = gp_vgpu_cp_record_take(cp, ring);
	if (!record)
		return false;
	ring->fetched = command.end;
	record->end = command.end;
	record->words = command.words;
	memcpy(record->sdma, command.word, command.words * sizeof(u32));
	work.bytes = command.bytes;
	gp_vgpu_cp_submit(cp, record, &work);
	return true;
}
