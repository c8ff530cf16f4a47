#include <errno.h>

#include "vkfd/server/server.h"

static bool kind_ok(const struct gp_vkfd_request *header)
{
	switch (header->kind) {
	case GP_VKFD_HELLO:
		return header->payload_size == sizeof(struct gp_vkfd_hello);
	case GP_VKFD_IOCTL:
	case GP_VKFD_CANCEL:
	case GP_VKFD_STATUS:
	case GP_VKFD_STOP:
		return true;
	case GP_VKFD_EXCEPTION:
		return header->payload_size == sizeof(struct gp_vkfd_exception);
	case GP_VKFD_CLOCK:
		return header->payload_size == sizeof(struct gp_vkfd_clock);
	case GP_VKFD_REFRESH:
		return header->payload_size > 0;
	default:
		return false;
	}
}

int gp_vm_message_check(const void *data, size_t len, struct gp_vkfd_request *header,
			const u8 **payload)
{
	if (len < sizeof(*header))
		return -EPROTO;
	memcpy(header, data, sizeof(*header));
	if (header->version != GP_VKFD_VERSION || header->args_size > GP_VKFD_ARGS_MAX ||
	    header->payload_size > GP_VKFD_PAYLOAD_MAX ||
	    header->payload_size != len - sizeof(*header) || !kind_ok(header))
		return -EPROTO;
	/* What the caller did not send reads as zero, as in the driver. */
	memset(header->args + header->args_size, 0, GP_VKFD_ARGS_MAX - header->args_size);
	*payload = (const u8 *)data + sizeof(*header);
	return 0;
}
