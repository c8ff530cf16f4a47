// SPDX-License-Identifier: MIT
/*
 * Compute units: a program's queues are narrowed to a share of each GPU, inside whatever mask the
 * program set itself. Bits of a mask are dealt over the shader engines by the driver, so a run of
 * them is spread evenly.
 */
#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NODES_MAX  256
#define GFX10      100000 /* from here on two CUs are one WGP, and the driver takes pairs only */
#define PROPERTIES "/sys/devices/virtual/kfd/kfd/topology/nodes/%u/%s"

static int read_file(u32 node, const char *name, char *out, size_t size)
{
	char path[128];
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), PROPERTIES, node, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	length = read(fd, out, size - 1);
	close(fd);
	out[length > 0 ? length : 0] = '\0';
	return length > 0 ? 0 : -EIO;
}

static u32 number(const char *text)
{
	u32 value = 0;

	while (*text >= '0' && *text <= '9')
		value = value * 10 + (u32)(*text++ - '0');
	return value;
}

static u32 property(const char *text, const char *name)
{
	size_t length = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, length) == 0 && line[length] == ' ')
			return number(line + length + 1);
	}
	return 0;
}

static void read_gpus(struct gp_agent *agent)
{
	char text[4096];

	for (u32 node = 0; node < NODES_MAX && agent->gpu_count < GP_AGENT_GPUS; node++) {
		struct gp_agent_gpu *gpu = &agent->gpu[agent->gpu_count];
		u32 per_cu;
		int error = read_file(node, "gpu_id", text, sizeof(text));

		if (error == -ENOENT)
			break;
		gpu->gpu_id = error ? 0 : number(text); /* 0: a CPU, or not ours to use */
		if (!gpu->gpu_id || read_file(node, "properties", text, sizeof(text)))
			continue;
		per_cu = property(text, "simd_per_cu");
		gpu->cus = per_cu ? property(text, "simd_count") / per_cu : 0;
		gpu->step = property(text, "gfx_target_version") >= GFX10 ? 2 : 1;
		if (gpu->cus && gpu->cus <= GP_AGENT_MASK_WORDS * 32)
			agent->gpu_count++;
	}
}

static const struct gp_agent_gpu *find_gpu(struct gp_agent *agent, u32 gpu_id)
{
	if (!agent->gpu_count)
		read_gpus(agent);
	for (u32 i = 0; i < agent->gpu_count; i++)
		if (agent->gpu[i].gpu_id == gpu_id)
			return &agent->gpu[i];
	return NULL;
}

static bool bit(const u32 *mask, u32 i)
{
	return mask[i / 32] >> (i % 32) & 1;
}

static void set(u32 *mask, u32 i, u32 count)
{
	for (u32 end = i + count; i < end; i++)
		mask[i / 32] |= 1u << (i % 32);
}

static bool allows(const struct gp_agent_queue *queue, u32 i)
{
	return !queue->mask_bits || (i < queue->mask_bits && bit(queue->mask, i));
}

/*
 * What the queue may use: of the CUs the program allows it, those in the share; when there is none
 * of them, as many of its own as the share is large. Never none. Returns the number of bits.
 */
static u32 effective_mask(const struct gp_agent *agent, const struct gp_agent_queue *queue,
			  const struct gp_agent_gpu *gpu, u32 *out)
{
	u32 step = gpu->step, steps = gpu->cus / step, taken = 0;
	u32 from = (u32)((u64)steps * agent->share_first / GP_SHARE_ALL);
	u32 want = (u32)((u64)steps * agent->share / GP_SHARE_ALL);

	memset(out, 0, GP_AGENT_MASK_WORDS * sizeof(out[0]));
	want = want ? want : 1;
	for (u32 i = from; i < steps && taken < want; i++) {
		if (!allows(queue, i * step))
			continue;
		set(out, i * step, step);
		taken++;
	}
	for (u32 i = 0; i < steps && !taken; i++)
		if (allows(queue, i * step)) {
			set(out, i * step, step);
			taken++;
		}
	return (gpu->cus + 31) / 32 * 32;
}

static int apply(struct gp_agent *agent, struct gp_agent_queue *queue)
{
	const struct gp_agent_gpu *gpu = find_gpu(agent, queue->gpu_id);
	u32 mask[GP_AGENT_MASK_WORDS];
	struct gp_kfd_set_cu_mask_args args = {.queue_id = queue->id,
					       .cu_mask_ptr = (uintptr_t)mask};

	if (!gpu)
		return -EOPNOTSUPP;
	if (agent->share == GP_SHARE_ALL && queue->mask_bits) {
		memcpy(mask, queue->mask, sizeof(mask));
		args.num_cu_mask = queue->mask_bits;
	} else {
		args.num_cu_mask = effective_mask(agent, queue, gpu, mask);
	}
	if (gp_agent_call(agent, agent->kfd, GP_KFD_IOC_SET_CU_MASK, &args) < 0)
		return -errno;
	queue->narrowed = agent->share != GP_SHARE_ALL;
	return 0;
}

static bool has_cus(const struct gp_agent_queue *queue)
{
	return queue->used && !queue->leaving &&
	       (queue->type == GP_KFD_QUEUE_COMPUTE || queue->type == GP_KFD_QUEUE_COMPUTE_AQL);
}

static int apply_all(struct gp_agent *agent, bool same)
{
	bool whole = agent->share == GP_SHARE_ALL;
	int error = 0;

	for (u32 id = 0; id < agent->highest; id++) {
		struct gp_agent_queue *queue = &agent->queue[id];

		/* No call that changes nothing. */
		if (!has_cus(queue) || (whole ? !queue->narrowed : same && queue->narrowed))
			continue;
		int one = apply(agent, queue);
		error = error ? error : one;
	}
	return error;
}

int gp_agent_set_share(struct gp_agent *agent, const struct gp_agent_owner *owner, u32 first,
		       u32 thousandths)
{
	bool same = agent->share == thousandths && agent->share_first == first;

	if (!thousandths || thousandths > GP_SHARE_ALL || first >= GP_SHARE_ALL)
		return -EINVAL;
	agent->share = thousandths;
	agent->share_first = first;
	agent->share_by = (u32)(owner - agent->owner) + 1;
	return apply_all(agent, same);
}

int gp_agent_drop_share(struct gp_agent *agent, const struct gp_agent_owner *owner)
{
	if (agent->share_by != (u32)(owner - agent->owner) + 1)
		return 0;
	agent->share = GP_SHARE_ALL;
	agent->share_first = agent->share_by = 0;
	return apply_all(agent, false);
}

int gp_agent_lift_share(struct gp_agent *agent)
{
	return agent->share == GP_SHARE_ALL ? apply_all(agent, false) : 0;
}

void gp_agent_share_queue(struct gp_agent *agent, struct gp_agent_queue *queue)
{
	if (agent->share != GP_SHARE_ALL && has_cus(queue))
		apply(agent, queue);
}

/* The program's own mask is remembered; while there is a share the driver gets the part inside. */
int gp_agent_set_cu_mask(struct gp_agent *agent, int fd, unsigned long request, void *data)
{
	struct gp_kfd_set_cu_mask_args mine;
	const struct gp_kfd_set_cu_mask_args *args = &mine;
	struct gp_agent_queue *queue = NULL, before;
	int result, error;

	if (_IOC_SIZE(request) < sizeof(*args) || !gp_agent_take_args(data, &mine, sizeof(mine)))
		return gp_agent_call(agent, fd, request, data);
	pthread_mutex_lock(&agent->lock);
	if (args->queue_id < GP_AGENT_QUEUES && agent->queue[args->queue_id].used &&
	    args->num_cu_mask && args->num_cu_mask % 32 == 0)
		queue = &agent->queue[args->queue_id];
	if (queue) {
		before = *queue;
		queue->mask_bits = args->num_cu_mask < GP_AGENT_MASK_WORDS * 32
					   ? args->num_cu_mask
					   : GP_AGENT_MASK_WORDS * 32;
		if (!gp_agent_peek(agent, args->cu_mask_ptr, queue->mask, queue->mask_bits / 8)) {
			*queue = before;
			queue = NULL;
		}
	}
	if (queue && agent->share != GP_SHARE_ALL && has_cus(queue)) {
		error = -apply(agent, queue);
		result = error ? -1 : 0;
	} else {
		result = gp_agent_call(agent, fd, request, data);
		error = errno;
	}
	if (result < 0 && queue)
		*queue = before;
	pthread_mutex_unlock(&agent->lock);
	errno = error;
	return result;
}
