// SPDX-License-Identifier: MIT
/* What PM4 packets do when the model completes them. Layouts: see abi/pm4.h. */
#include <errno.h>

#include "abi/bits.h"
#include "abi/pm4.h"
#include "vgpu/cp/cp_state.h"

/* A packet under way: its words are read again from where it is. */
struct packet {
	struct gp_vgpu_cp *cp;
	const struct gp_vgpu_cp_ring *ring;
	u64 buffer, at;
	u32 words;
	u64 raw_ns;
};

static u32 word(const struct packet *packet, u32 index)
{
	return index < packet->words ? gp_vgpu_cp_pm4_word(packet->cp, packet->ring, packet->buffer,
							   packet->at + index)
				     : 0;
}

static u64 wide(const struct packet *packet, u32 index)
{
	return gp_join64(word(packet, index), word(packet, index + 1));
}

/* In one store: a thread may poll the place. */
static int store(const struct packet *packet, u64 address, u64 value, size_t size, u64 *fault)
{
	void *target = gp_vgpu_cp_place(packet->cp, packet->ring->gpu_id, address, size);

	*fault = address;
	if (!target || address % sizeof(u32))
		return -EFAULT;
	if (size == sizeof(u64) && address % sizeof(u64) == 0) {
		__atomic_store_n((u64 *)target, value, __ATOMIC_SEQ_CST);
		return 0;
	}
	__atomic_store_n((u32 *)target, (u32)value, __ATOMIC_SEQ_CST);
	if (size == sizeof(u64))
		__atomic_store_n((u32 *)target + 1, (u32)(value >> 32), __ATOMIC_SEQ_CST);
	return 0;
}

static void publish(struct gp_vgpu_cp *cp, const struct gp_vgpu_cp_ring *ring, u64 end)
{
	u64 dwords = ring->queue.ring_bytes / sizeof(u32);

	__atomic_store_n((u32 *)ring->read_pointer, (u32)(end % dwords), __ATOMIC_RELEASE);
	cp->client->shared->mirrors[ring->queue.id].read_index = end;
}

static int write_data(const struct packet *packet, u64 *fault)
{
	u64 address = wide(packet, 2) & ~3ull;
	bool same = word(packet, 1) & GP_PM4_WRITE_SAME;
	int result = 0;

	if (!gp_bits(word(packet, 1), 8, 11)) /* to a register */
		return 0;
	for (u32 i = 4; !result && i < packet->words; i++)
		result = store(packet, same ? address : address + (i - 4) * sizeof(u32),
			       word(packet, i), sizeof(u32), fault);
	return result;
}

static int release_mem(const struct packet *packet, u64 *fault)
{
	u32 data = gp_bits(word(packet, 2), 29, 31), interrupt = gp_bits(word(packet, 2), 24, 26);
	u64 address = wide(packet, 3) & ~3ull;
	int result = 0;

	if (data == GP_PM4_DATA_LOW)
		result = store(packet, address, word(packet, 5), sizeof(u32), fault);
	else if (data == GP_PM4_DATA_WIDE)
		result = store(packet, address, wide(packet, 5), sizeof(u64), fault);
	else if (data == GP_PM4_DATA_CLOCK || data == GP_PM4_DATA_SYSTEM_CLOCK)
		result = store(packet, address, packet->raw_ns / GP_GPU_CLOCK_NS, sizeof(u64),
			       fault);
	if (result || (interrupt != GP_PM4_INTERRUPT && interrupt != GP_PM4_INTERRUPT_CONFIRMED))
		return result;
	/* The thread that it wakes finds the room of this packet free. */
	if (!packet->buffer)
		publish(packet->cp, packet->ring, packet->at + packet->words);
	gp_vgpu_event_set(packet->cp->client, word(packet, 7));
	return 0;
}

static int atomic_mem(const struct packet *packet, u64 *fault)
{
	u32 operation = gp_bits(word(packet, 1), 0, 6);
	size_t size = operation & GP_PM4_ATOMIC_64 ? sizeof(u64) : sizeof(u32);
	u64 address = wide(packet, 2), source = wide(packet, 4), compare = wide(packet, 6);
	void *target = gp_vgpu_cp_place(packet->cp, packet->ring->gpu_id, address, size);

	*fault = address;
	if (!target || address % size)
		return -EFAULT;
	switch (operation & GP_PM4_ATOMIC_OPERATION) {
	case GP_PM4_ATOMIC_SWAP:
		return store(packet, address, source, size, fault);
	case GP_PM4_ATOMIC_COMPARE_SWAP:
		if (size == sizeof(u64)) {
			__atomic_compare_exchange_n((u64 *)target, &compare, source, false,
						    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
		} else {
			u32 low = (u32)compare;

			__atomic_compare_exchange_n((u32 *)target, &low, (u32)source, false,
						    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
		}
		return 0;
	case GP_PM4_ATOMIC_SUB:
		source = -source;
		/* fall through */
	case GP_PM4_ATOMIC_ADD:
		if (size == sizeof(u64))
			__atomic_fetch_add((u64 *)target, source, __ATOMIC_SEQ_CST);
		else
			__atomic_fetch_add((u32 *)target, (u32)source, __ATOMIC_SEQ_CST);
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

static int copy_data(const struct packet *packet, u64 *fault)
{
	u32 what = word(packet, 1);
	size_t size = what & GP_PM4_COPY_WIDE ? sizeof(u64) : sizeof(u32);
	u64 value = wide(packet, 2), from = value;

	switch (gp_bits(what, 0, 3)) {
	case GP_PM4_COPY_MEMORY:
	case GP_PM4_COPY_L2:
		value = 0;
		*fault = from;
		if (gp_vgpu_cp_read(packet->cp, packet->ring->gpu_id, from, &value, size))
			return -EFAULT;
		break;
	case GP_PM4_COPY_IMMEDIATE:
		break;
	case GP_PM4_COPY_CLOCK:
		value = packet->raw_ns / GP_GPU_CLOCK_NS;
		break;
	default: /* registers and counters, of which there are none */
		value = 0;
	}
	if (!gp_bits(what, 8, 11))
		return 0;
	return store(packet, wide(packet, 4), value, size, fault);
}

static int dma_data(const struct packet *packet, u64 *fault)
{
	u32 bytes = gp_bits(word(packet, 6), 0, 25), value = word(packet, 2);
	u32 source = gp_bits(word(packet, 1), 29, 30);

	if (source == GP_PM4_DMA_VALUE)
		return gp_vgpu_cp_fill(packet->cp, packet->ring->gpu_id, wide(packet, 4), &value,
				       sizeof(value), bytes / sizeof(value), fault);
	return gp_vgpu_cp_copy(packet->cp, packet->ring->gpu_id, wide(packet, 4), wide(packet, 2),
			       bytes, fault);
}

static int execute(const struct packet *packet, u64 *fault)
{
	u32 header = word(packet, 0);

	if (gp_bits(header, GP_PM4_TYPE_FROM, GP_PM4_TYPE_TO) != GP_PM4_TYPE3)
		return 0;
	switch (gp_pm4_opcode(header)) {
	case GP_PM4_WRITE_DATA:
		return write_data(packet, fault);
	case GP_PM4_RELEASE_MEM:
		return release_mem(packet, fault);
	case GP_PM4_ATOMIC_MEM:
		return atomic_mem(packet, fault);
	case GP_PM4_COPY_DATA:
		return copy_data(packet, fault);
	case GP_PM4_DMA_DATA:
		return dma_data(packet, fault);
	default:
		return 0;
	}
}

void gp_vgpu_cp_pm4_completed(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring,
			      struct gp_vgpu_cp_record *record, const struct gp_vgpu_done *done)
{
	struct packet packet = {
		.cp = cp,
		.ring = ring,
		.buffer = record->pm4.buffer,
		.raw_ns = done->end_raw_ns,
	};
	u64 fault = 0;

	for (u32 at = 0; at < record->words; at += packet.words) {
		u32 header = gp_vgpu_cp_pm4_word(cp, ring, packet.buffer, record->pm4.at + at);
		int result;

		packet.at = record->pm4.at + at;
		packet.words = gp_vgpu_cp_pm4_words(header);
		if (!packet.words || packet.words > record->words - at)
			break; /* the program changed it */
		result = execute(&packet, &fault);
		if (result == -EFAULT) {
			gp_vgpu_cp_fault(cp, ring, fault);
			return;
		}
		if (result) {
			gp_vgpu_cp_pm4_stop(cp, ring,
					    "a PM4 queue stops at an unknown operation: ", header);
			ring->faulted = true;
			return;
		}
	}
	ring->launched = record->end;
	publish(cp, ring, record->end);
}
