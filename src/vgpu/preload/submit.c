// SPDX-License-Identifier: MIT
/*
 * Command submission on the render node, as far as it does nothing: contexts, lists of buffers, and
 * commands of NOPs, which are complete at once. Graphics and video are not modelled; commands that
 * would have an effect are refused.
 */
#include <errno.h>
#include <string.h>

#include "vgpu/preload/memory.h"

#define CHUNKS_MAX 64
#define NOP_SDMA   0x00000000u
#define NOP_PM4    0xffff1000u
#define NOP_PM4_2  0x80000000u

/* Under the lock: its last submission, or NULL. */
static u64 *context_find(struct gp_vgpu_memory *memory, u32 gpu, u32 id)
{
	u64 *submitted = id && id <= GP_VGPU_CONTEXTS ? &memory->contexts[gpu][id - 1] : NULL;

	return submitted && *submitted ? submitted : NULL;
}

static int context_add(struct gp_vgpu_memory *memory, u32 gpu, union gp_amdgpu_ctx *args)
{
	for (u32 i = 0; i < GP_VGPU_CONTEXTS; i++) {
		if (memory->contexts[gpu][i])
			continue;
		memory->contexts[gpu][i] = 1;
		memset(args, 0, sizeof(*args));
		args->out.id = i + 1;
		return 0;
	}
	return -ENOMEM;
}

int gp_vgpu_submit_context(struct gp_vgpu_client *client, u32 gpu, union gp_amdgpu_ctx *args)
{
	struct gp_vgpu_memory *memory = client->memory;
	u32 operation = args->in.operation;
	int error = 0;
	u64 *context;

	pthread_mutex_lock(&memory->lock);
	context = context_find(memory, gpu, args->in.id);
	if (operation == GP_AMDGPU_CTX_ALLOC) {
		error = context_add(memory, gpu, args);
	} else if (operation < GP_AMDGPU_CTX_ALLOC || operation > GP_AMDGPU_CTX_QUERY2 ||
		   !context) {
		error = -EINVAL;
	} else {
		if (operation == GP_AMDGPU_CTX_FREE)
			*context = 0;
		memset(args, 0, sizeof(*args)); /* never reset */
	}
	pthread_mutex_unlock(&memory->lock);
	return error;
}

int gp_vgpu_submit_list(struct gp_vgpu_client *client, union gp_amdgpu_bo_list *args)
{
	u32 operation = args->in.operation, handle = args->in.handle;

	if (operation > GP_AMDGPU_BO_LIST_UPDATE)
		return -EINVAL;
	memset(args, 0, sizeof(*args));
	if (operation == GP_AMDGPU_BO_LIST_CREATE)
		handle = __atomic_add_fetch(&client->memory->lists, 1, __ATOMIC_RELAXED);
	args->out.handle = handle;
	return 0;
}

static int commands_check(struct gp_vgpu_client *client, u32 gpu,
			  const struct gp_amdgpu_cs_ib *commands)
{
	u32 gpu_id = client->machine.gpus[gpu].gpu_id;
	const u8 *at = gp_vgpu_gpu_pointer(client, gpu_id, commands->va, commands->bytes);

	if (!at || commands->bytes % sizeof(u32))
		return -EINVAL;
	for (u32 i = 0; i < commands->bytes; i += sizeof(u32)) {
		u32 word;

		if (gp_vgpu_copy_in(&word, (u64)(uintptr_t)(at + i), sizeof(word)))
			return -EFAULT;
		if (word != NOP_SDMA && word != NOP_PM4 && word != NOP_PM4_2)
			return -EOPNOTSUPP;
	}
	return 0;
}

static int chunk_check(struct gp_vgpu_client *client, u32 gpu, u64 pointer)
{
	struct gp_amdgpu_cs_chunk chunk;
	struct gp_amdgpu_cs_ib commands;

	if (gp_vgpu_copy_in(&chunk, pointer, sizeof(chunk)))
		return -EFAULT;
	switch (chunk.id) {
	case GP_AMDGPU_CHUNK_IB:
		if (chunk.words * sizeof(u32) < sizeof(commands))
			return -EINVAL;
		return gp_vgpu_copy_in(&commands, chunk.data, sizeof(commands))
			       ? -EFAULT
			       : commands_check(client, gpu, &commands);
	case GP_AMDGPU_CHUNK_FENCE:
	case GP_AMDGPU_CHUNK_DEPENDENCIES:
	case GP_AMDGPU_CHUNK_BO_HANDLES:
		return 0;
	default:
		return -EINVAL;
	}
}

int gp_vgpu_submit_commands(struct gp_vgpu_client *client, u32 gpu, union gp_amdgpu_cs *args)
{
	struct gp_vgpu_memory *memory = client->memory;
	u64 pointers[CHUNKS_MAX], *context, number = 0;
	u32 count = args->in.chunk_count, id = args->in.context;
	int error = 0;

	if (!count || count > CHUNKS_MAX)
		return -EINVAL;
	if (gp_vgpu_copy_in(pointers, args->in.chunks, count * sizeof(*pointers)))
		return -EFAULT;
	for (u32 i = 0; !error && i < count; i++)
		error = chunk_check(client, gpu, pointers[i]);
	if (error)
		return error;
	pthread_mutex_lock(&memory->lock);
	context = context_find(memory, gpu, id);
	if (context)
		number = (*context)++;
	pthread_mutex_unlock(&memory->lock);
	args->out.handle = number;
	return context ? 0 : -EINVAL;
}

int gp_vgpu_submit_wait(struct gp_vgpu_client *client, u32 gpu, union gp_amdgpu_wait_cs *args)
{
	u32 id = args->in.context;
	bool found;

	pthread_mutex_lock(&client->memory->lock);
	found = context_find(client->memory, gpu, id);
	pthread_mutex_unlock(&client->memory->lock);
	if (!found)
		return -EINVAL;
	memset(args, 0, sizeof(*args));
	return 0;
}
