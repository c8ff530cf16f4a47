// SPDX-License-Identifier: MIT
/*
 * What a client may say, from its bytes: messages through the check and, when they are ioctls,
 * through the handlers of a machine without sockets; the rest as slots and indices of the work
 * ring. The machine has a process with two queues, a debugger that holds it, and a bystander whose
 * packet must complete whatever the others do.
 */
#include "fake_server.h"

#define VICTIM    100
#define ATTACKER  200
#define BYSTANDER 300

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct gp_vgpu_process *prepare(struct fake_server *fake)
{
	struct gp_vgpu_process *victim = process_add(fake, VICTIM);
	struct gp_vgpu_process *attacker = process_add(fake, ATTACKER);
	struct gp_vgpu_process *bystander = process_add(fake, BYSTANDER);

	runtime_enable(fake, victim, 1);
	create(fake, victim);
	create(fake, attacker);
	create_on(fake, attacker, 0, GP_KFD_QUEUE_SDMA);
	create(fake, bystander);
	set_tracer(fake, VICTIM, ATTACKER);
	enable(fake, attacker, VICTIM);
	return attacker;
}

/* One message; false when the attacker was cut off. */
static bool say(struct fake_server *fake, struct gp_vgpu_process *attacker, const uint8_t *data,
		size_t size)
{
	struct gp_vgpu_request *request;
	struct gp_vgpu_header header;
	const u8 *payload;

	if (gp_vgpu_message_check(data, size, &header, &payload))
		return false;
	if (header.kind == GP_VGPU_EXCEPTION) {
		struct gp_vgpu_exception what;

		memcpy(&what, payload, sizeof(what));
		(void)gp_vgpu_debug_exception(&fake->server, attacker, &what);
		return true;
	}
	if (header.kind != GP_VGPU_IOCTL) {
		gp_vgpu_request_cancel(&fake->server, NULL, header.sequence);
		return true;
	}
	request = calloc(1, sizeof(*request));
	request->header = header;
	request->process = attacker;
	request->received_fd = header.flags & 4 ? dup(2) : -1;
	request->send_fd = -1;
	if (header.payload_size) {
		request->payload = malloc(header.payload_size);
		memcpy(request->payload, payload, header.payload_size);
	}
	gp_vgpu_request_submit(&fake->server, request);
	return true;
}

/* The rest of the input lies in the ring. */
static bool ring(struct fake_server *fake, struct gp_vgpu_process *attacker, const uint8_t *data,
		 size_t size)
{
	struct gp_vgpu_shared *shared = attacker->shared;

	if (size < 8)
		return true;
	memcpy(&shared->done_ring.consumed, data + 4, 4);
	memcpy(shared->work, data + 8, GP_MIN(size - 8, sizeof(shared->work)));
	memcpy(&shared->work_ring.produced, data, 4);
	shared->work_ring.produced %= 2 * GP_VGPU_WORK_SLOTS;
	return gp_vgpu_ring_read(&fake->server, attacker) != -EPROTO;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fake_server *fake = fake_start(1, size & 1 ? GP_ERA_6_5 : GP_ERA_6_12, GP_COMPAT);
	struct gp_vgpu_process *attacker = prepare(fake);
	struct gp_vgpu_process *bystander = gp_vgpu_process_find(&fake->server, BYSTANDER);
	struct gp_vgpu_work work = kernel(0, 1, MS);
	bool alive = true, held_off;

	fake->server.options.checkpoint = size & 2;
	fake->server.options.recovery = size & 4;
	fake->server.devices[0].file.gpu.gfx_version = size & 8 ? 110000 : 90010;
	/* Each message has its length before it, 16 bits; what follows the last is the ring. */
	while (alive && size >= 2) {
		size_t len = (size_t)(data[0] | data[1] << 8);

		data += 2;
		size -= 2;
		if (!len || len > size)
			break;
		alive = say(fake, attacker, data, len);
		data += len;
		size -= len;
	}
	if (alive)
		alive = ring(fake, attacker, data, size);
	pass(fake, 5 * MS);
	if (!alive)
		process_end(fake, attacker);
	ring_put(bystander, &work);
	gp_vgpu_ring_read(&fake->server, bystander);
	/* Kernels of the attacker may be long; without it they go. */
	if (alive)
		process_end(fake, attacker);
	if (gp_vgpu_queue(bystander, 0))
		(void)update_percent(fake, bystander, 0, 100);
	pass(fake, 20000 * MS);
	/* A reset and a pause by its tracer are what the driver does to it, too. */
	held_off = fake->server.devices[0].hung || fake->server.devices[0].resets ||
		   bystander->paused || bystander->evictions[0];
	if (!held_off && completed(bystander) != 1)
		__builtin_trap();
	fake_stop(fake);
	return 0;
}
