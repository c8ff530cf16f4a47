// SPDX-License-Identifier: MIT
/*
 * The packets that the driver writes into the HIQ for an update of the runlist, in its order (6.12
 * kfd_device_queue_manager.c, and the packets it sent in corpus/kfd612): the grace period, if it is
 * not the default; the unmap; the request for the fence; the default grace again; the new runlist.
 */
#include <stdio.h>

#include "abi/pm4.h"
#include "vgpu/server/state.h"

static void send(struct gp_vgpu_device *device, u32 opcode, u32 value)
{
	device->packets[device->packet_count++ % GP_VGPU_PACKETS] =
		(struct gp_vgpu_packet){.opcode = opcode, .value = value};
}

static void send_grace(struct gp_vgpu_device *device, u32 field)
{
	send(device, GP_PM4_WRITE_DATA,
	     (GP_PM4_IQ_WAIT_TIME2_BOOT & ~GP_PM4_SCH_WAVE_BITS) | field << GP_PM4_SCH_WAVE_FROM);
}

void gp_vgpu_packets_unmap(struct gp_vgpu_device *device, const struct gp_vgpu_update *update)
{
	u32 grace = update->grace ? update->grace : GP_KFD_GRACE_MIN;

	if (update->grace != GP_KFD_GRACE_DEFAULT)
		send_grace(device, grace & GP_KFD_SCH_WAVE_MASK);
	send(device, GP_PM4_UNMAP_QUEUES, update->all ? GP_PM4_UNMAP_ALL : GP_PM4_UNMAP_NON_STATIC);
	send(device, GP_PM4_QUERY_STATUS, 0);
}

static u32 active_queues(const struct gp_vgpu_server *server, const struct gp_vgpu_device *device)
{
	u32 count = 0;

	for (const struct gp_vgpu_process *p = server->processes; p; p = p->next)
		for (const struct gp_vgpu_queue *queue = p->newest; queue; queue = queue->older)
			count += queue->device == device && gp_vgpu_queue_active(queue);
	return count;
}

void gp_vgpu_packets_switch(struct gp_vgpu_server *server, struct gp_vgpu_device *device,
			    const struct gp_vgpu_update *update, bool was_mapped)
{
	u32 active = active_queues(server, device);

	if (was_mapped) {
		gp_vgpu_packets_unmap(device, update);
		if (update->grace != GP_KFD_GRACE_DEFAULT)
			send_grace(device, GP_KFD_SCH_WAVE_BOOT);
	}
	if (active)
		send(device, GP_PM4_RUN_LIST, active);
}

void gp_vgpu_packet_text(const struct gp_vgpu_packet *packet, char *out, size_t size)
{
	switch (packet->opcode) {
	case GP_PM4_WRITE_DATA:
		snprintf(out, size, "WRITE_DATA %08x", packet->value);
		break;
	case GP_PM4_UNMAP_QUEUES:
		snprintf(out, size, "UNMAP_QUEUES %u", packet->value);
		break;
	case GP_PM4_QUERY_STATUS:
		snprintf(out, size, "QUERY_STATUS");
		break;
	default:
		snprintf(out, size, "RUN_LIST %u", packet->value);
	}
}
