// SPDX-License-Identifier: MIT
/*
 * An allocator for LD_PRELOAD that has one lock and calls munmap() with it held in every call, as
 * jemalloc and others do now and then. What calls it with a lock that munmap() takes, or from
 * within munmap(), stands still for ever.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CHUNK    (256ul << 20) /* the only mapping, unless a program is greedy */
#define SMALLEST 5             /* log2 */
#define CLASSES  43
#define PAGE     4096ul
#define NOWHERE  (64ul << 10)

struct block {
	struct block *next; /* free */
	size_t class;
};
_Static_assert(sizeof(struct block) == 16, "what follows is aligned");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *spare[CLASSES];
static char *chunk;
static size_t left;

size_t malloc_usable_size(void *memory);
void *memalign(size_t alignment, size_t bytes);

static void *map(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

/* Nothing is there: the tests look for holes where something was. */
static void unmap_something(void)
{
	munmap((void *)NOWHERE, PAGE);
}

static struct block *cut(size_t bytes)
{
	struct block *block;

	if (bytes > left) {
		size_t size = bytes > CHUNK ? bytes : CHUNK;

		chunk = map(size);
		left = chunk ? size : 0;
		if (!chunk)
			return NULL;
	}
	block = (struct block *)(void *)chunk;
	chunk += bytes;
	left -= bytes;
	return block;
}

void *malloc(size_t bytes)
{
	size_t class = 0;
	struct block *block;

	if (bytes > PTRDIFF_MAX / 4) {
		errno = ENOMEM;
		return NULL;
	}
	while (((size_t)1 << (class + SMALLEST)) < bytes + sizeof(*block))
		class ++;
	pthread_mutex_lock(&lock);
	unmap_something();
	block = spare[class];
	if (block)
		spare[class] = block->next;
	else
		block = cut((size_t)1 << (class + SMALLEST));
	pthread_mutex_unlock(&lock);
	if (!block) {
		errno = ENOMEM;
		return NULL;
	}
	block->next = NULL;
	block->class = class;
	return block + 1;
}

/* An aligned one has this in front, and the block that it lies in. */
#define ALIGNED SIZE_MAX

void free(void *memory)
{
	struct block *block = memory;

	if (!memory)
		return;
	if ((--block)->class == ALIGNED)
		block = block->next;
	pthread_mutex_lock(&lock);
	unmap_something();
	block->next = spare[block->class];
	spare[block->class] = block;
	pthread_mutex_unlock(&lock);
}

void *calloc(size_t count, size_t bytes)
{
	void *memory = bytes && count > SIZE_MAX / bytes ? NULL : malloc(count * bytes);

	return memory ? memset(memory, 0, count * bytes) : NULL;
}

size_t malloc_usable_size(void *memory)
{
	struct block *block = memory;
	size_t before = sizeof(*block);

	if (!memory)
		return 0;
	if ((--block)->class == ALIGNED) {
		block = block->next;
		before = (size_t)((char *)memory - (char *)block);
	}
	return ((size_t)1 << (block->class + SMALLEST)) - before;
}

void *realloc(void *old, size_t bytes)
{
	size_t room = malloc_usable_size(old);
	void *memory;

	if (old && bytes <= room)
		return old;
	memory = malloc(bytes);
	if (memory && old) {
		memcpy(memory, old, room);
		free(old);
	}
	return memory;
}

void *memalign(size_t alignment, size_t bytes)
{
	struct block *block, *front;
	uintptr_t at;

	if (alignment <= sizeof(*block))
		return malloc(bytes);
	block = malloc(bytes + alignment + sizeof(*block));
	if (!block)
		return NULL;
	at = ((uintptr_t)block + sizeof(*block) + alignment - 1) & ~(uintptr_t)(alignment - 1);
	front = (struct block *)at - 1;
	front->next = block - 1;
	front->class = ALIGNED;
	return (void *)at;
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	return memalign(alignment, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t bytes)
{
	*out = memalign(alignment, bytes);
	return *out ? 0 : ENOMEM;
}
