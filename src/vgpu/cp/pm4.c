// SPDX-License-Identifier: MIT
/*
 * PM4 compute queues, which kfdtest drives. Packets are handed over as commands, like those of
 * SDMA: a dispatch alone, or a stretch of packets that need no wave. A wait for memory begins a
 * command, because everything before it must be done when it looks. Effects happen, in order, when
 * the model completes the command, and so does the read pointer. Registers that a dispatch needs
 * are noted when their packet is fetched.
 *
 * A packet of an unknown kind stops the queue, and so do indirect buffers that chain to each other
 * without end. Hardware would hang there and be reset; here a line on stderr names the packet, and
 * the program gets the event of a hardware exception.
 */
#include <stdio.h>
#include <string.h>

#include "abi/bits.h"
#include "vgpu/cp/cp_state.h"
#include "vgpu/heap.h"

#define COMMAND_WORDS 4096 /* of one command, so that none takes too long */
#define CHAIN_MAX     4096 /* indirect buffers that one packet of the ring may lead to */

u32 gp_vgpu_cp_pm4_word(struct gp_vgpu_cp *cp, const struct gp_vgpu_cp_ring *ring, u64 buffer,
			u64 at)
{
	u32 word = 0;

	if (buffer) {
		if (gp_vgpu_cp_read(cp, ring->gpu_id, buffer + at * sizeof(word), &word,
				    sizeof(word)))
			return GP_PM4_UNREADABLE;
		return word;
	}
	memcpy(&word, ring->base + at * sizeof(word) % ring->queue.ring_bytes, sizeof(word));
	return word;
}

u32 gp_vgpu_cp_pm4_words(u32 header)
{
	u32 count = gp_bits(header, GP_PM4_COUNT_FROM, GP_PM4_COUNT_TO);

	switch (gp_bits(header, GP_PM4_TYPE_FROM, GP_PM4_TYPE_TO)) {
	case GP_PM4_TYPE3:
		if (gp_pm4_opcode(header) == GP_PM4_NOP && count == GP_PM4_NOP_ALONE)
			return 1;
		return count + GP_PM4_COUNT_EXTRA;
	case GP_PM4_TYPE2: /* a filler */
		return 1;
	default:
		return 0;
	}
}

/* Where the next packet is: in an indirect buffer, or in the ring. */
struct place {
	u64 buffer; /* 0 = ring */
	u64 at, end;
};

static struct place place_of(const struct gp_vgpu_cp_ring *ring, u64 written)
{
	if (ring->pm4.buffer)
		return (struct place){ring->pm4.buffer, ring->pm4.at, ring->pm4.end};
	return (struct place){0, ring->fetched, written};
}

/* Goes on behind `words` of the current place. */
static void advance(struct gp_vgpu_cp_ring *ring, u64 words)
{
	if (!ring->pm4.buffer) {
		ring->fetched += words;
		return;
	}
	ring->pm4.at += words;
	if (ring->pm4.at < ring->pm4.end)
		return;
	ring->pm4.buffer = 0;
	ring->pm4.chained = 0;
	ring->fetched += GP_PM4_INDIRECT_WORDS;
}

void gp_vgpu_cp_pm4_stop(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring, const char *why,
			 u64 where)
{
	char text[32];

	snprintf(text, sizeof(text), "0x%08llx", (unsigned long long)where);
	gp_vgpu_say(why, text);
	ring->hold = GP_CP_HALTED;
	gp_vgpu_event_hw_exception(cp->client, ring->gpu_id, false);
}

static void stop_at(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring, u32 header)
{
	gp_vgpu_cp_pm4_stop(cp, ring, "a PM4 queue stops at an unknown packet: ", header);
}

/* ---- packets that take effect when they are fetched ---- */

static void registers_note(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring,
			   const struct place *from, u32 words)
{
	u32 first = gp_bits(gp_vgpu_cp_pm4_word(cp, ring, from->buffer, from->at + 1), 0, 15);

	for (u32 i = 2; i < words; i++) {
		gp_vgpu_cp_pm4_register(ring, GP_PM4_SH_BASE + first + i - 2,
					gp_vgpu_cp_pm4_word(cp, ring, from->buffer, from->at + i));
	}
}

/* An indirect buffer, or from one to the next (chain). */
static bool buffer_enter(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring,
			 const struct place *from)
{
	u32 lo = gp_vgpu_cp_pm4_word(cp, ring, from->buffer, from->at + 1);
	u32 hi = gp_vgpu_cp_pm4_word(cp, ring, from->buffer, from->at + 2);
	u32 size = gp_vgpu_cp_pm4_word(cp, ring, from->buffer, from->at + 3);
	u64 address = gp_join64(lo & ~3u, gp_bits(hi, 0, 15));
	u64 words = gp_bits(size, 0, 19);

	if (from->buffer && !(size & GP_PM4_INDIRECT_CHAIN)) {
		stop_at(cp, ring, gp_vgpu_cp_pm4_word(cp, ring, from->buffer, from->at));
		return false;
	}
	if (++ring->pm4.chained > CHAIN_MAX) {
		gp_vgpu_cp_pm4_stop(
			cp, ring,
			"a PM4 queue stops in a chain of indirect buffers without end: ", address);
		return false;
	}
	if (!words) {
		advance(ring, GP_PM4_INDIRECT_WORDS);
		return true;
	}
	if (!gp_vgpu_cp_pointer(cp, ring->gpu_id, address, words * sizeof(u32))) {
		gp_vgpu_cp_fault(cp, ring, address);
		return false;
	}
	ring->pm4.buffer = address;
	ring->pm4.at = 0;
	ring->pm4.end = words;
	return true;
}

/* ---- waits ---- */

static bool is_met(u32 function, u32 value, u32 reference)
{
	switch (function) {
	case 1:
		return value < reference;
	case 2:
		return value <= reference;
	case 3:
		return value == reference;
	case 4:
		return value != reference;
	case 5:
		return value >= reference;
	case 6:
		return value > reference;
	default:
		return true;
	}
}

/* Registers have nothing to wait for. */
static bool wait_over(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring, const struct place *from)
{
	u32 what = gp_vgpu_cp_pm4_word(cp, ring, from->buffer, from->at + 1), value;
	u64 address = gp_join64(gp_vgpu_cp_pm4_word(cp, ring, from->buffer, from->at + 2) & ~3u,
				gp_vgpu_cp_pm4_word(cp, ring, from->buffer, from->at + 3));

	if (ring->in_flight)
		return false;
	if (gp_bits(what, 4, 5) != GP_PM4_WAIT_MEMORY || gp_bits(what, 6, 7))
		return true;
	if (gp_vgpu_cp_read(cp, ring->gpu_id, address, &value, sizeof(value))) {
		gp_vgpu_cp_fault(cp, ring, address);
		return false;
	}
	return is_met(gp_bits(what, 0, 2),
		      value & gp_vgpu_cp_pm4_word(cp, ring, from->buffer, from->at + 5),
		      gp_vgpu_cp_pm4_word(cp, ring, from->buffer, from->at + 4));
}

/* ---- fetch ---- */

enum kind { EFFECT, NOTHING, DISPATCH, WAIT, BUFFER, UNKNOWN };

static enum kind kind_of(u32 header)
{
	if (gp_bits(header, GP_PM4_TYPE_FROM, GP_PM4_TYPE_TO) == GP_PM4_TYPE2)
		return NOTHING;
	switch (gp_pm4_opcode(header)) {
	case GP_PM4_NOP:
	case GP_PM4_ACQUIRE_MEM:
	case GP_PM4_EVENT_WRITE:
	case GP_PM4_SET_SH_REG:
	case GP_PM4_SET_UCONFIG_REG:
		return NOTHING;
	case GP_PM4_WRITE_DATA:
	case GP_PM4_RELEASE_MEM:
	case GP_PM4_ATOMIC_MEM:
	case GP_PM4_COPY_DATA:
	case GP_PM4_DMA_DATA:
		return EFFECT;
	case GP_PM4_DISPATCH_DIRECT:
		return DISPATCH;
	case GP_PM4_WAIT_REG_MEM:
		return WAIT;
	case GP_PM4_INDIRECT_BUFFER:
		return BUFFER;
	default:
		return UNKNOWN;
	}
}

static bool hand_over(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring, const struct place *from,
		      u64 words, struct gp_vgpu_work *work, struct gp_isa_launch *launch)
{
	struct gp_vgpu_cp_record *record = gp_vgpu_cp_record_take(cp, ring);

	if (!record) {
		gp_vgpu_free(launch);
		return false;
	}
	record->launch = launch;
	record->words = work->flags & GP_VGPU_KERNEL ? 0 : (u32)words;
	record->pm4.buffer = from->buffer;
	record->pm4.at = from->at;
	advance(ring, words);
	record->end = ring->fetched;
	gp_vgpu_cp_submit(cp, record, work);
	return true;
}

static bool dispatch(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring, const struct place *from,
		     u32 words)
{
	struct gp_isa_launch *launch = NULL;
	struct gp_vgpu_work work;
	u32 sizes[4];

	for (u32 i = 0; i < GP_ARRAY_SIZE(sizes); i++)
		sizes[i] = gp_vgpu_cp_pm4_word(cp, ring, from->buffer, from->at + 1 + i);
	gp_vgpu_cp_pm4_dispatch(cp, ring, sizes, &work, &launch);
	return hand_over(cp, ring, from, words, &work, launch);
}

/* Words of the packets that belong to one command, the first of which is at `from`. */
static u64 stretch(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring, const struct place *from)
{
	struct place next = *from;

	while (next.at < next.end && next.at - from->at < COMMAND_WORDS) {
		u32 header = gp_vgpu_cp_pm4_word(cp, ring, next.buffer, next.at);
		u32 words = gp_vgpu_cp_pm4_words(header);
		enum kind kind = kind_of(header);

		if (!words || words > next.end - next.at || (kind != EFFECT && kind != NOTHING))
			break;
		if (kind == NOTHING && gp_pm4_opcode(header) == GP_PM4_SET_SH_REG)
			registers_note(cp, ring, &next, words);
		next.at += words;
	}
	return next.at - from->at;
}

/* The doorbell carries the write pointer; memory has it for a queue that was not mapped. */
static u64 written_so_far(const struct gp_vgpu_cp_ring *ring)
{
	u64 memory = __atomic_load_n(ring->write_pointer, __ATOMIC_ACQUIRE);
	u64 rung = *ring->doorbell;

	return rung != UINT64_MAX && rung > memory ? rung : memory;
}

bool gp_vgpu_cp_pm4_fetch(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring)
{
	u64 written = written_so_far(ring);
	struct place from = place_of(ring, written);
	struct gp_vgpu_work work = {.flags = GP_VGPU_BARRIER};
	u32 header, words;
	enum kind kind;

	cp->client->shared->mirrors[ring->queue.id].write_index = written;
	if (from.at >= from.end)
		return false;
	if (written - ring->fetched > ring->queue.ring_bytes / sizeof(u32)) {
		ring->hold = GP_CP_HALTED;
		return false;
	}
	header = gp_vgpu_cp_pm4_word(cp, ring, from.buffer, from.at);
	words = gp_vgpu_cp_pm4_words(header);
	kind = kind_of(header);
	if (!words || kind == UNKNOWN) {
		stop_at(cp, ring, header);
		return false;
	}
	if (words > from.end - from.at) /* not all of it is there yet */
		return false;
	switch (kind) {
	case BUFFER:
		return words == GP_PM4_INDIRECT_WORDS && buffer_enter(cp, ring, &from);
	case WAIT:
		if (!wait_over(cp, ring, &from)) {
			if (ring->hold == GP_CP_READY)
				ring->hold = GP_CP_WAITING;
			return false;
		}
		return hand_over(cp, ring, &from, words, &work, NULL);
	case DISPATCH:
		return dispatch(cp, ring, &from, words);
	default:
		return hand_over(cp, ring, &from, stretch(cp, ring, &from), &work, NULL);
	}
}
