// SPDX-License-Identifier: MIT
/*
 * Whether a packet from a program is a message. It is the only place that looks at sizes: handlers
 * may rely on them.
 */
#include <errno.h>

#include "vgpu/server/state.h"

static bool kind_ok(const struct gp_vgpu_header *header)
{
	switch (header->kind) {
	case GP_VGPU_HELLO:
		return header->payload_size == sizeof(struct gp_vgpu_hello);
	case GP_VGPU_IOCTL:
	case GP_VGPU_CANCEL:
	case GP_VGPU_STATUS:
	case GP_VGPU_STOP:
		return true;
	case GP_VGPU_EXCEPTION:
		return header->payload_size == sizeof(struct gp_vgpu_exception);
	case GP_VGPU_CLOCK:
		return header->payload_size == sizeof(struct gp_vgpu_clock);
	case GP_VGPU_MIGRATED:
		return header->payload_size == sizeof(struct gp_vgpu_migration);
	case GP_VGPU_REFRESH:
		return header->payload_size > 0;
	default:
		return false;
	}
}

int gp_vgpu_message_check(const void *data, size_t len, struct gp_vgpu_header *header,
			  const u8 **payload)
{
	if (len < sizeof(*header))
		return -EPROTO;
	memcpy(header, data, sizeof(*header));
	if (header->version != GP_VGPU_VERSION || header->args_size > GP_VGPU_ARGS_MAX ||
	    header->payload_size > GP_VGPU_PAYLOAD_MAX ||
	    header->payload_size != len - sizeof(*header) || !kind_ok(header))
		return -EPROTO;
	/* What the caller did not send reads as zero, as in the driver. */
	memset(header->args + header->args_size, 0, GP_VGPU_ARGS_MAX - header->args_size);
	*payload = (const u8 *)data + sizeof(*header);
	return 0;
}
