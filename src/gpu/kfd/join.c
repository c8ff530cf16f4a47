// SPDX-License-Identifier: MIT
/*
 * The process of a hardware slot or a runlist entry, from the queue descriptors. Each lookup uses a
 * sorted array of keys, so that it stays n log n even if many descriptors share a key.
 */
#include <stdlib.h>
#include <string.h>

#include "abi/bits.h"
#include "abi/kfd_hqd.h"
#include "gpu/kfd/debugfs.h"

#define GP_KEY_PARTS 4

struct gp_gpu_key {
	u64 part[GP_KEY_PARTS];
};

struct gp_gpu_index_item {
	struct gp_gpu_key key;
	const struct gp_kfd_slot *slot;
};

struct gp_gpu_index {
	struct gp_gpu_index_item *items;
	size_t count;
};

/* Fills the key of a slot or descriptor; false when it has none. */
typedef bool (*gp_key_of)(const struct gp_kfd_slot *slot, struct gp_gpu_key *key);

static u64 place(const struct gp_kfd_slot *slot)
{
	return (u64)slot->gpu_id << 8 | slot->kind;
}

/*
 * Everything that a slot and its descriptor both hold: a ring base alone is a virtual address,
 * which two processes may share, and the descriptor of the true owner may be missing. What is
 * decoded of one kind of queue has the same fields on both sides (an SDMA descriptor does not hold
 * its own address), so a field is either compared or unknown to both.
 */
static bool key_queue(const struct gp_kfd_slot *slot, struct gp_gpu_key *key)
{
	*key = (struct gp_gpu_key){{place(slot), slot->ring,
				    slot->valid & GP_SLOT_MQD ? slot->mqd_address : 0,
				    slot->valid & GP_SLOT_DOORBELL ? slot->doorbell : 0}};
	return slot->valid & GP_SLOT_REGISTERS;
}

/* A block that was not decoded: the words that a descriptor and its slot have in common. */
static bool key_raw(const struct gp_kfd_slot *slot, struct gp_gpu_key *key)
{
	size_t skip = slot->node == GP_SLOT_NO_NODE ? GP_MQD_BLOCK : 0;
	const u32 *w;

	if ((slot->valid & GP_SLOT_REGISTERS) || slot->kind != GP_SLOT_COMPUTE ||
	    slot->word_count < skip + GP_HQD_WORDS)
		return false;
	w = slot->words + skip;
	*key = (struct gp_gpu_key){{place(slot),
				    gp_join64(w[GP_CP_MQD_BASE_ADDR], w[GP_CP_MQD_BASE_ADDR_HI]),
				    gp_join64(w[GP_CP_HQD_PQ_BASE], w[GP_CP_HQD_PQ_BASE_HI])}};
	return key->part[1] && key->part[2];
}

static bool key_mqd(const struct gp_kfd_slot *slot, struct gp_gpu_key *key)
{
	*key = (struct gp_gpu_key){{slot->gpu_id, slot->mqd_address, slot->doorbell}};
	return slot->valid & GP_SLOT_MQD;
}

/* SDMA descriptors do not hold their own address; doorbells are unique on a device. */
static bool key_sdma_doorbell(const struct gp_kfd_slot *slot, struct gp_gpu_key *key)
{
	*key = (struct gp_gpu_key){{slot->gpu_id, slot->doorbell}};
	return slot->kind == GP_SLOT_SDMA && (slot->valid & GP_SLOT_DOORBELL);
}

static bool key_pasid(const struct gp_kfd_slot *slot, struct gp_gpu_key *key)
{
	*key = (struct gp_gpu_key){{slot->pasid}};
	return slot->pasid;
}

static int compare_keys(const struct gp_gpu_key *a, const struct gp_gpu_key *b)
{
	for (size_t i = 0; i < GP_KEY_PARTS; i++) {
		if (a->part[i] != b->part[i])
			return a->part[i] < b->part[i] ? -1 : 1;
	}
	return 0;
}

static int compare_items(const void *a, const void *b)
{
	const struct gp_gpu_index_item *x = a, *y = b;
	int order = compare_keys(&x->key, &y->key);

	if (order)
		return order;
	return x->slot->pid == y->slot->pid ? 0 : x->slot->pid < y->slot->pid ? -1 : 1;
}

/* Without memory the index is empty, and lookups find nothing. */
static struct gp_gpu_index index_build(const struct gp_kfd_slot_list *list, gp_key_of key_of)
{
	struct gp_gpu_index index = {.items = calloc(list->count + 1, sizeof(*index.items))};

	for (size_t i = 0; index.items && i < list->count; i++) {
		struct gp_gpu_index_item *item = &index.items[index.count];

		item->slot = &list->items[i];
		if (key_of(item->slot, &item->key))
			index.count++;
	}
	if (index.count)
		qsort(index.items, index.count, sizeof(*index.items), compare_items);
	return index;
}

/* Number of items before the key, or before and equal to it. */
static size_t index_bound(const struct gp_gpu_index *index, const struct gp_gpu_key *key,
			  bool after)
{
	size_t low = 0, high = index->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = compare_keys(&index->items[middle].key, key);

		if (order < 0 || (after && order == 0))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The descriptor with this key, if all that have it are one process's; otherwise NULL. */
static const struct gp_kfd_slot *index_find(const struct gp_gpu_index *index,
					    const struct gp_gpu_key *key)
{
	size_t first = index_bound(index, key, false), end = index_bound(index, key, true);

	if (first == end || index->items[first].slot->pid != index->items[end - 1].slot->pid)
		return NULL;
	return index->items[first].slot;
}

static u32 find_owner(const struct gp_gpu_index *index, const struct gp_kfd_slot *slot,
		      gp_key_of key_of)
{
	const struct gp_kfd_slot *descriptor;
	struct gp_gpu_key key;

	if (!key_of(slot, &key))
		return 0;
	descriptor = index_find(index, &key);
	return descriptor ? descriptor->pid : 0;
}

void gp_kfd_slots_join(struct gp_kfd_slot_list *slots, const struct gp_kfd_slot_list *descriptors)
{
	struct gp_gpu_index queues = index_build(descriptors, key_queue);
	struct gp_gpu_index raw = index_build(descriptors, key_raw);

	for (size_t i = 0; i < slots->count; i++) {
		struct gp_kfd_slot *slot = &slots->items[i];

		slot->pid = 0;
		if (!(slot->valid & GP_SLOT_REGISTERS))
			slot->pid = find_owner(&raw, slot, key_raw);
		else if (slot->active && slot->kind != GP_SLOT_HIQ)
			slot->pid = find_owner(&queues, slot, key_queue);
	}
	free(queues.items);
	free(raw.items);
}

static void join_queue(struct gp_kfd_runlist_entry *entry,
		       const struct gp_kfd_runlist_entry *process,
		       const struct gp_gpu_index *by_mqd, const struct gp_gpu_index *by_doorbell)
{
	struct gp_gpu_key key = {{entry->gpu_id, entry->mqd_address, entry->doorbell}};
	bool sdma = entry->extended_engine || entry->engine;
	const struct gp_kfd_slot *descriptor;

	if (sdma)
		key = (struct gp_gpu_key){{entry->gpu_id, entry->doorbell}};
	descriptor = index_find(sdma ? by_doorbell : by_mqd, &key);
	/* Addresses and doorbells are given again; a PASID that is another's says that they were.
	 */
	if (descriptor && process && descriptor->pasid && descriptor->pasid != process->pasid)
		descriptor = NULL;
	entry->pid = descriptor ? descriptor->pid : 0;
	entry->ring = descriptor ? descriptor->ring : 0;
}

/* A process without a mapped queue is known by its PASID, where the kernel prints it. */
static void join_process(struct gp_kfd_runlist_entry *entry, const struct gp_gpu_index *index)
{
	struct gp_gpu_key key = {{entry->pasid}};
	const struct gp_kfd_slot *descriptor = index_find(index, &key);

	entry->pid = descriptor ? descriptor->pid : 0;
}

void gp_kfd_runlist_join(struct gp_kfd_runlist *list, const struct gp_kfd_slot_list *descriptors)
{
	struct gp_gpu_index by_mqd = index_build(descriptors, key_mqd);
	struct gp_gpu_index by_doorbell = index_build(descriptors, key_sdma_doorbell);
	struct gp_gpu_index by_pasid = index_build(descriptors, key_pasid);
	struct gp_kfd_runlist_entry *process = NULL;

	for (size_t i = 0; i < list->count; i++) {
		struct gp_kfd_runlist_entry *entry = &list->items[i];

		if (entry->kind == GP_RUNLIST_PROCESS) {
			process = entry;
			join_process(entry, &by_pasid);
		} else if (entry->kind == GP_RUNLIST_QUEUE) {
			if (process && process->gpu_id != entry->gpu_id)
				process = NULL;
			join_queue(entry, process, &by_mqd, &by_doorbell);
			if (process && entry->pid)
				process->pid = entry->pid;
		}
	}
	free(by_mqd.items);
	free(by_doorbell.items);
	free(by_pasid.items);
}
