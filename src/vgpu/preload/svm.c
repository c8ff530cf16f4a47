// SPDX-License-Identifier: MIT
/*
 * SVM ranges: memory that the process allocated and registered with the driver (hipMallocManaged).
 * CPU and GPU share the pages here, so only the attributes are kept, for GET_ATTR and to know what
 * a GPU may touch. The list is sorted and without gaps inside a range; setting attributes splits
 * ranges.
 */
#include "vgpu/preload/parts.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "abi/kfd_driver.h"
#include "vgpu/heap.h"

struct range {
	u64 start, end;
	u32 preferred, prefetch, flags, granularity;
	u32 actual; /* where it was prefetched to; faults of the CPU do not move it back here */
	u32 access, in_place; /* GPUs, a bit each */
};

struct gp_vgpu_svm {
	pthread_mutex_t lock;
	struct range *ranges;
	size_t count, room;
	_Atomic bool used; /* there may be ranges: what munmap() looks at */
};

static const struct range defaults = {
	.preferred = GP_KFD_SVM_LOCATION_UNDEFINED,
	.prefetch = GP_KFD_SVM_LOCATION_UNDEFINED,
	.flags = GP_KFD_SVM_DEFAULT_FLAGS,
	.granularity = GP_KFD_SVM_DEFAULT_GRANULE,
};

struct gp_vgpu_svm *gp_vgpu_svm_create(void)
{
	struct gp_vgpu_svm *svm = gp_vgpu_alloc(sizeof(*svm));

	if (svm)
		pthread_mutex_init(&svm->lock, NULL);
	return svm;
}

void gp_vgpu_svm_destroy(struct gp_vgpu_svm *svm)
{
	if (!svm)
		return;
	gp_vgpu_free(svm->ranges);
	pthread_mutex_destroy(&svm->lock);
	gp_vgpu_free(svm);
}

/* First range that ends after `address`. */
static size_t find(const struct gp_vgpu_svm *svm, u64 address)
{
	size_t low = 0, high = svm->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (svm->ranges[middle].end > address)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Callers have made room. */
static void insert(struct gp_vgpu_svm *svm, size_t at, struct range range)
{
	memmove(&svm->ranges[at + 1], &svm->ranges[at], (svm->count - at) * sizeof(range));
	svm->ranges[at] = range;
	svm->count++;
}

static void split(struct gp_vgpu_svm *svm, u64 address)
{
	size_t at = find(svm, address);
	struct range tail;

	if (at == svm->count || svm->ranges[at].start >= address)
		return;
	tail = svm->ranges[at];
	tail.start = address;
	svm->ranges[at].end = address;
	insert(svm, at + 1, tail);
}

static int make_room(struct gp_vgpu_svm *svm, size_t need)
{
	void *ranges;

	if (need <= svm->room)
		return 0;
	ranges = gp_vgpu_realloc(svm->ranges, need * 2 * sizeof(*svm->ranges));
	if (!ranges)
		return -ENOMEM;
	svm->ranges = ranges;
	svm->room = need * 2;
	return 0;
}

/* Covers [start, end) with ranges that begin and end there; gaps get the defaults. */
static int cover(struct gp_vgpu_svm *svm, u64 start, u64 end)
{
	size_t at;

	/* Two splits, and a gap before, after and between every two ranges. */
	if (make_room(svm, svm->count * 2 + 4))
		return -ENOMEM;
	svm->used = true;
	split(svm, start);
	split(svm, end);
	at = find(svm, start);
	while (start < end) {
		struct range gap = defaults;

		if (at < svm->count && svm->ranges[at].start == start) {
			start = svm->ranges[at++].end;
			continue;
		}
		gap.start = start;
		gap.end = at < svm->count && svm->ranges[at].start < end ? svm->ranges[at].start
									 : end;
		insert(svm, at, gap);
	}
	return 0;
}

/* ---- attributes ---- */

static bool is_location(struct gp_vgpu_client *client, u32 value)
{
	return value == GP_KFD_SVM_LOCATION_SYSMEM || value == GP_KFD_SVM_LOCATION_UNDEFINED ||
	       gp_vgpu_gpu_index(client, value) >= 0;
}

static int check(struct gp_vgpu_client *client, const struct gp_kfd_svm_attribute *attribute)
{
	switch (attribute->type) {
	case GP_KFD_SVM_PREFERRED_LOC:
		return is_location(client, attribute->value) ? 0 : -EINVAL;
	case GP_KFD_SVM_PREFETCH_LOC:
		if (attribute->value == GP_KFD_SVM_LOCATION_UNDEFINED)
			return -EINVAL;
		return is_location(client, attribute->value) ? 0 : -EINVAL;
	case GP_KFD_SVM_ACCESS:
	case GP_KFD_SVM_ACCESS_IN_PLACE:
	case GP_KFD_SVM_NO_ACCESS:
		return gp_vgpu_gpu_index(client, attribute->value) >= 0 ? 0 : -EINVAL;
	case GP_KFD_SVM_SET_FLAGS:
	case GP_KFD_SVM_CLR_FLAGS:
	case GP_KFD_SVM_GRANULARITY:
		return 0;
	default:
		return -EINVAL;
	}
}

static void apply(struct gp_vgpu_client *client, struct range *range,
		  const struct gp_kfd_svm_attribute *attribute)
{
	int gpu = gp_vgpu_gpu_index(client, attribute->value);
	u32 bit = gpu < 0 ? 0 : 1u << gpu;

	switch (attribute->type) {
	case GP_KFD_SVM_PREFERRED_LOC:
		range->preferred = attribute->value;
		break;
	case GP_KFD_SVM_PREFETCH_LOC:
		range->prefetch = attribute->value;
		break;
	case GP_KFD_SVM_ACCESS:
		range->access |= bit;
		range->in_place &= ~bit;
		break;
	case GP_KFD_SVM_ACCESS_IN_PLACE:
		range->access &= ~bit;
		range->in_place |= bit;
		break;
	case GP_KFD_SVM_NO_ACCESS:
		range->access &= ~bit;
		range->in_place &= ~bit;
		break;
	case GP_KFD_SVM_SET_FLAGS:
		range->flags |= attribute->value;
		break;
	case GP_KFD_SVM_CLR_FLAGS:
		range->flags &= ~attribute->value;
		break;
	case GP_KFD_SVM_GRANULARITY:
		range->granularity = attribute->value < GP_KFD_SVM_MAX_GRANULE
					     ? attribute->value
					     : GP_KFD_SVM_MAX_GRANULE;
		break;
	}
}

static bool is_mapped(u64 start, u64 end)
{
	unsigned char present[4096];
	const u64 step = sizeof(present) * GP_KFD_PAGE;

	for (; start < end; start += step)
		if (mincore((void *)(uintptr_t)start, end - start < step ? end - start : step,
			    present))
			return false;
	return true;
}

/* More than the driver's queue of SMI events holds. */
#define MOVES_MAX 16

/* What a prefetch moves; a range in another GPU's memory goes through system memory. */
static u32 moves_note(struct range *range, struct gp_vgpu_migration *moves, u32 count)
{
	struct gp_vgpu_migration move = {
		.page = range->start / GP_KFD_PAGE,
		.pages = (range->end - range->start) / GP_KFD_PAGE,
		.prefetch = range->prefetch,
		.preferred = range->preferred,
	};

	while (range->actual != range->prefetch) {
		move.from = range->actual;
		move.to = range->actual ? GP_KFD_SVM_LOCATION_SYSMEM : range->prefetch;
		range->actual = move.to;
		if (count < MOVES_MAX)
			moves[count++] = move;
	}
	return count;
}

static void moves_report(struct gp_vgpu_client *client, struct gp_vgpu_migration *moves, u32 count)
{
	for (u32 i = 0; i < count; i++) {
		struct gp_vgpu_call call = {
			.kind = GP_VGPU_MIGRATED,
			.payload = &moves[i],
			.payload_size = sizeof(moves[i]),
			.send_fd = -1,
		};

		(void)gp_vgpu_client_request(client, &call);
	}
}

static bool prefetches(const struct gp_kfd_svm_args *args)
{
	for (u32 i = 0; i < args->nattr; i++)
		if (args->attrs[i].type == GP_KFD_SVM_PREFETCH_LOC)
			return true;
	return false;
}

static int set_attributes(struct gp_vgpu_client *client, const struct gp_kfd_svm_args *args,
			  u64 start, u64 end)
{
	struct gp_vgpu_migration moves[MOVES_MAX];
	struct gp_vgpu_svm *svm = client->svm;
	u32 count = 0;
	int error = 0;

	for (u32 i = 0; i < args->nattr && !error; i++)
		error = check(client, &args->attrs[i]);
	if (!error && !is_mapped(start, end))
		error = -EFAULT;
	if (error)
		return error;
	pthread_mutex_lock(&svm->lock);
	error = cover(svm, start, end);
	for (size_t at = find(svm, start); !error && at < svm->count && svm->ranges[at].start < end;
	     at++) {
		for (u32 i = 0; i < args->nattr; i++)
			apply(client, &svm->ranges[at], &args->attrs[i]);
		if (prefetches(args))
			count = moves_note(&svm->ranges[at], moves, count);
	}
	pthread_mutex_unlock(&svm->lock);
	moves_report(client, moves, count);
	return error;
}

/* What all ranges of the stretch have in common. */
static struct range common(const struct gp_vgpu_svm *svm, u64 start, u64 end, u32 *any_flags)
{
	struct range all = defaults;
	bool first = true;

	*any_flags = 0;
	for (size_t at = find(svm, start); start < end; first = false) {
		struct range here = defaults;

		if (at < svm->count && svm->ranges[at].start <= start) {
			here = svm->ranges[at++];
			start = here.end;
		} else {
			start = at < svm->count && svm->ranges[at].start < end
					? svm->ranges[at].start
					: end;
		}
		*any_flags |= here.flags;
		if (first) {
			all = here;
			continue;
		}
		if (all.preferred != here.preferred)
			all.preferred = GP_KFD_SVM_LOCATION_UNDEFINED;
		if (all.prefetch != here.prefetch)
			all.prefetch = GP_KFD_SVM_LOCATION_UNDEFINED;
		all.access &= here.access | here.in_place;
		all.in_place &= here.access | here.in_place;
		all.flags &= here.flags;
		if (here.granularity < all.granularity)
			all.granularity = here.granularity;
	}
	return all;
}

static int get_attributes(struct gp_vgpu_client *client, struct gp_kfd_svm_args *args, u64 start,
			  u64 end)
{
	u32 any_flags;
	struct range all;

	pthread_mutex_lock(&client->svm->lock);
	all = common(client->svm, start, end, &any_flags);
	pthread_mutex_unlock(&client->svm->lock);
	for (u32 i = 0; i < args->nattr; i++) {
		struct gp_kfd_svm_attribute *attribute = &args->attrs[i];
		int gpu = gp_vgpu_gpu_index(client, attribute->value);

		switch (attribute->type) {
		case GP_KFD_SVM_PREFERRED_LOC:
			attribute->value = all.preferred;
			break;
		case GP_KFD_SVM_PREFETCH_LOC:
			attribute->value = all.prefetch;
			break;
		case GP_KFD_SVM_ACCESS:
			if (gpu < 0)
				return -EINVAL;
			if (all.in_place & 1u << gpu)
				attribute->type = GP_KFD_SVM_ACCESS_IN_PLACE;
			else if (!(all.access & 1u << gpu))
				attribute->type = GP_KFD_SVM_NO_ACCESS;
			break;
		case GP_KFD_SVM_SET_FLAGS:
			attribute->value = all.flags;
			break;
		case GP_KFD_SVM_CLR_FLAGS:
			attribute->value = ~any_flags;
			break;
		case GP_KFD_SVM_GRANULARITY:
			attribute->value = all.granularity;
			break;
		default:
			return -EINVAL;
		}
	}
	return 0;
}

int gp_vgpu_ioctl_svm(struct gp_vgpu_client *client, void *data)
{
	struct gp_kfd_svm_args *args = data;
	const u64 page = GP_KFD_PAGE;
	u64 start, end;

	if (!args->start_addr || !args->size || args->start_addr > GP_KFD_USER_END ||
	    args->size > GP_KFD_USER_END - args->start_addr)
		return -EINVAL;
	start = args->start_addr / page * page;
	end = start + args->size / page * page;
	if (end == start)
		return -EINVAL;
	switch (args->op) {
	case GP_KFD_SVM_SET:
		return set_attributes(client, args, start, end);
	case GP_KFD_SVM_GET:
		return get_attributes(client, args, start, end);
	default:
		return -EINVAL;
	}
}

bool gp_vgpu_svm_overlaps(struct gp_vgpu_client *client, u64 va, u64 size)
{
	struct gp_vgpu_svm *svm = client->svm;
	bool found;
	size_t at;

	pthread_mutex_lock(&svm->lock);
	at = find(svm, va);
	found = at < svm->count && svm->ranges[at].start < va + size;
	pthread_mutex_unlock(&svm->lock);
	return found;
}

bool gp_vgpu_svm_covers(struct gp_vgpu_client *client, u32 gpu_index, u64 va, u64 size)
{
	struct gp_vgpu_svm *svm = client->svm;
	u64 end = va + size;
	size_t at;

	if (end < va)
		return false;
	pthread_mutex_lock(&svm->lock);
	for (at = find(svm, va); va < end && at < svm->count; at++) {
		const struct range *range = &svm->ranges[at];

		if (range->start > va || !((range->access | range->in_place) & 1u << gpu_index))
			break;
		va = range->end;
	}
	pthread_mutex_unlock(&svm->lock);
	return va >= end;
}

void gp_vgpu_svm_unmapped(struct gp_vgpu_client *client, u64 va, u64 size)
{
	struct gp_vgpu_svm *svm = client->svm;
	u64 end = va + size;
	size_t first, last;

	if (!svm->used || !size || end < va)
		return;
	end = (end + GP_KFD_PAGE - 1) & ~(u64)(GP_KFD_PAGE - 1);
	pthread_mutex_lock(&svm->lock);
	/* Without memory for two more ranges they stay whole, and stay. */
	if (!make_room(svm, svm->count + 2)) {
		split(svm, va);
		split(svm, end);
		first = find(svm, va);
		for (last = first; last < svm->count && svm->ranges[last].start < end; last++)
			;
		memmove(&svm->ranges[first], &svm->ranges[last],
			(svm->count - last) * sizeof(*svm->ranges));
		svm->count -= last - first;
		svm->used = svm->count > 0;
	}
	pthread_mutex_unlock(&svm->lock);
}
