// SPDX-License-Identifier: MIT
#include "vgpu/heap.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/types.h"

/* Then the sanitizer is the application's allocator, and is to see what is wrong with our blocks.
 */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED true
#endif
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

#define ALIGNMENT   64u
#define PAGE        4096u
#define RANGE_BYTES (256u << 20) /* addresses */
#define CHUNK_BYTES (256u << 10) /* small blocks are cut from these */
#define CUT_MAX     (32u << 10)
#define KEPT_MAX    (1u << 20)
#define SMALLEST    7 /* log2 */
#define STEPS       4 /* sizes between two powers of two */
#define CLASSES     ((20 - SMALLEST) * STEPS + 1)

/* In front of each block. */
struct block {
	_Alignas(ALIGNMENT) struct block *next; /* free ones */
	size_t bytes;                           /* with this */
	u32 class;                              /* CLASSES: a mapping of its own */
};
_Static_assert(sizeof(struct block) == ALIGNMENT, "what follows is aligned");

/* The library has one client per process, and one heap. */
static struct {
	pthread_mutex_t lock;
	struct block *free[CLASSES];
	u8 *chunk;
	size_t left; /* of the chunk */
	bool reserved;
	u8 *range, *range_end; /* reserved addresses that are left */
} heap = {.lock = PTHREAD_MUTEX_INITIALIZER};

static size_t class_bytes(u32 class)
{
	size_t power = (size_t)1 << (class / STEPS + SMALLEST);

	return (power + power / STEPS * (class % STEPS) + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

static u32 class_of(size_t bytes)
{
	u32 class = 0;

	if (bytes > KEPT_MAX)
		return CLASSES;
	while (class_bytes(class) < bytes)
		class ++;
	return class;
}

static void *pages_map(size_t bytes, int protection, int flags)
{
	void *at = (void *)syscall(SYS_mmap, NULL, bytes, protection,
				   MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

/* With the lock. A forked child goes on with what its parent left. */
static void *addresses_take(size_t bytes)
{
	u8 *at;

	if (!heap.reserved) {
		heap.reserved = true;
		at = pages_map(RANGE_BYTES, PROT_NONE, MAP_NORESERVE);
		heap.range_end = at ? at + RANGE_BYTES : NULL;
		heap.range = at;
	}
	bytes = (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
	at = heap.range;
	if (!at || (size_t)(heap.range_end - at) < bytes)
		return NULL;
	heap.range = at + bytes;
	return at;
}

/* With the lock. These stay as long as the process. */
static void *pages_take(size_t bytes)
{
	void *at = addresses_take(bytes);

	if (at && syscall(SYS_mprotect, at, bytes, PROT_READ | PROT_WRITE) == 0)
		return at;
	return pages_map(bytes, PROT_READ | PROT_WRITE, 0);
}

/* Of a chunk, with the lock. */
static struct block *chunk_cut(size_t bytes)
{
	struct block *block;

	if (heap.left < bytes) {
		u8 *chunk = pages_take(CHUNK_BYTES);

		if (!chunk)
			return NULL;
		heap.chunk = chunk;
		heap.left = CHUNK_BYTES;
	}
	block = (struct block *)(void *)heap.chunk;
	heap.chunk += bytes;
	heap.left -= bytes;
	return block;
}

static struct block *block_take(u32 class, size_t bytes, bool *fresh)
{
	struct block *block;

	*fresh = true;
	if (bytes > CUT_MAX && class == CLASSES)
		return pages_map(bytes, PROT_READ | PROT_WRITE, 0);
	pthread_mutex_lock(&heap.lock);
	block = heap.free[class];
	if (block) {
		heap.free[class] = block->next;
		*fresh = false;
	} else {
		block = bytes <= CUT_MAX ? chunk_cut(bytes) : pages_take(bytes);
	}
	pthread_mutex_unlock(&heap.lock);
	return block;
}

void *gp_vgpu_addresses(size_t bytes)
{
	void *at;

	pthread_mutex_lock(&heap.lock);
	at = addresses_take(bytes);
	pthread_mutex_unlock(&heap.lock);
	return at;
}

static void *alloc_sanitized(size_t bytes)
{
	void *memory = NULL;

	if (posix_memalign(&memory, ALIGNMENT, bytes ? bytes : 1))
		return NULL;
	return memset(memory, 0, bytes);
}

void *gp_vgpu_alloc(size_t bytes)
{
	size_t whole = bytes + sizeof(struct block);
	struct block *block;
	bool fresh;
	u32 class;

	if (SANITIZED)
		return alloc_sanitized(bytes);
	if (whole < bytes || whole > SIZE_MAX - PAGE)
		return NULL;
	class = class_of(whole);
	whole = class < CLASSES ? class_bytes(class) : (whole + PAGE - 1) & ~(size_t)(PAGE - 1);
	block = block_take(class, whole, &fresh);
	if (!block)
		return NULL;
	block->bytes = whole;
	block->class = class;
	if (!fresh)
		memset(block + 1, 0, bytes);
	return block + 1;
}

void *gp_vgpu_realloc(void *old, size_t bytes)
{
	const struct block *block = old ? (struct block *)old - 1 : NULL;
	size_t room = block && !SANITIZED ? block->bytes - sizeof(*block) : 0;
	void *memory;

	if (SANITIZED)
		return old ? realloc(old, bytes) : alloc_sanitized(bytes);
	if (block && bytes <= room)
		return old;
	memory = gp_vgpu_alloc(bytes);
	if (memory && old) {
		memcpy(memory, old, room);
		gp_vgpu_free(old);
	}
	return memory;
}

void gp_vgpu_free(void *memory)
{
	struct block *block = memory ? (struct block *)memory - 1 : NULL;

	if (SANITIZED)
		free(memory);
	if (SANITIZED || !block)
		return;
	if (block->class == CLASSES) {
		syscall(SYS_munmap, block, block->bytes);
		return;
	}
	pthread_mutex_lock(&heap.lock);
	block->next = heap.free[block->class];
	heap.free[block->class] = block;
	pthread_mutex_unlock(&heap.lock);
}

void gp_vgpu_heap_forked(void)
{
	pthread_mutex_init(&heap.lock, NULL);
	memset(heap.free, 0, sizeof(heap.free));
	heap.left = 0;
}
