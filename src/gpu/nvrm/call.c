// SPDX-License-Identifier: MIT
#include "gpu/nvrm/call.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "abi/nvrm_events.h"

struct allowed {
	u32 cmd, size;
	bool (*harmless)(const void *params); /* NULL: whatever it says */
};

static bool disable_harmless(const void *params)
{
	const struct gp_nv_disable_channels *p = params;

	return p->disable <= 1 && p->count >= 1 && p->count <= GP_NV_DISABLE_MAX && !p->rewind &&
	       !p->event && !p->only_scheduling;
}

/* 0 would be taken as the shortest by the hardware; ask for what is meant. */
static bool timeslice_harmless(const void *params)
{
	const struct gp_nv_timeslice *p = params;

	return p->us >= 1;
}

static bool handle_info_harmless(const void *params)
{
	const struct gp_nv_handle_info *p = params;

	return p->index == GP_NV_HANDLE_PARENT || p->index == GP_NV_HANDLE_CLASS;
}

static bool stats_harmless(const void *params)
{
	return ((const struct gp_nv_ctxsw_stats *)params)->flags == 0; /* flag 1 resets them */
}

/* The buffer is a new one of the caller's own client: the driver finds no other by its handle. */
static bool bind_harmless(const void *params)
{
	const struct gp_nv_event_bind *p = params;

	return p->level == GP_NV_EVENT_SIMPLE && !p->filter && p->all_users <= 1;
}

static const struct allowed table[] = {
	{GP_NV_CMD_HANDLE_INFO, sizeof(struct gp_nv_handle_info), handle_info_harmless},
	{GP_NV_CMD_SET_TIMESLICE, sizeof(struct gp_nv_timeslice), timeslice_harmless},
	{GP_NV_CMD_GET_TIMESLICE, sizeof(struct gp_nv_timeslice), NULL},
	{GP_NV_CMD_GROUP_INFO, sizeof(struct gp_nv_group_info), NULL},
	{GP_NV_CMD_DISABLE_CHANNELS, sizeof(struct gp_nv_disable_channels), disable_harmless},
	{GP_NV_CMD_CTXSW_STATS, sizeof(struct gp_nv_ctxsw_stats), stats_harmless},
	{GP_NV_CMD_CTXSW_MODES, sizeof(struct gp_nv_ctxsw_modes), NULL},
	{GP_NV_CMD_GPU_ID_INFO, sizeof(struct gp_nv_gpu_id_info), NULL},
	{GP_NV_CMD_GPU_TIME, sizeof(struct gp_nv_gpu_time), NULL},
	{GP_NV_CMD_EVENT_BIND, sizeof(struct gp_nv_event_bind), bind_harmless},
	{GP_NV_CMD_EVENT_ENABLE, sizeof(struct gp_nv_event_enable), NULL},
	{GP_NV_CMD_EVENT_GET, sizeof(struct gp_nv_event_get), NULL},
	{GP_NV_CMD_EVENT_FLUSH, 0, NULL},
};

bool gp_nvrm_call_allowed(u32 cmd, const void *params, u32 size)
{
	for (size_t i = 0; i < GP_ARRAY_SIZE(table); i++) {
		if (table[i].cmd == cmd)
			return (params || !size) && table[i].size == size &&
			       (!table[i].harmless || table[i].harmless(params));
	}
	return false;
}

int gp_nvrm_error(u32 status)
{
	switch (status) {
	case GP_NV_OK:
		return 0;
	case GP_NV_INVALID_CLIENT:
		return -EACCES;
	case GP_NV_INVALID_OBJECT:
	case GP_NV_INVALID_OBJECT_HANDLE:
	case GP_NV_OBJECT_NOT_FOUND:
		return -ENOENT;
	case GP_NV_INSUFFICIENT_PERMISSIONS:
		return -EPERM;
	case GP_NV_INVALID_PARAM_STRUCT:
	case GP_NV_INVALID_ARGUMENT:
		return -EPROTO;
	case GP_NV_NOT_SUPPORTED:
		return -EOPNOTSUPP;
	case GP_NV_TIMEOUT:
		return -ETIMEDOUT;
	default:
		return -EIO;
	}
}

int gp_nvrm_call(const struct gp_nvrm_session *session, u32 object, u32 cmd, void *params, u32 size)
{
	struct gp_nv_control control = {
		.client = session->client,
		.object = object,
		.cmd = cmd,
		.params = (u64)(uintptr_t)params,
		.params_size = size,
		.status = GP_NV_INVALID_STATE,
	};
	int error;

	if (!gp_nvrm_call_allowed(cmd, params, size))
		return -EPERM;
	error = session->port->ioctl(session->port, session->fd, GP_NV_IOC_CONTROL, &control);
	return error ? error : gp_nvrm_error(control.status);
}

static int handle_info(const struct gp_nvrm_session *session, u32 object, u32 index, u32 *result)
{
	struct gp_nv_handle_info info = {.object = object, .index = index};
	int error =
		gp_nvrm_call(session, session->client, GP_NV_CMD_HANDLE_INFO, &info, sizeof(info));

	*result = (u32)info.result;
	return error;
}

int gp_nvrm_class_of(const struct gp_nvrm_session *session, u32 object, u32 *class_id)
{
	return handle_info(session, object, GP_NV_HANDLE_CLASS, class_id);
}

int gp_nvrm_parent_of(const struct gp_nvrm_session *session, u32 object, u32 *parent)
{
	return handle_info(session, object, GP_NV_HANDLE_PARENT, parent);
}

int gp_nvrm_timeslice(const struct gp_nvrm_session *session, u32 group, u64 *us)
{
	struct gp_nv_timeslice slice = {0};
	int error = gp_nvrm_call(session, group, GP_NV_CMD_GET_TIMESLICE, &slice, sizeof(slice));

	*us = slice.us;
	return error;
}

int gp_nvrm_set_timeslice(const struct gp_nvrm_session *session, u32 group, u64 us)
{
	struct gp_nv_timeslice slice = {.us = us};

	return gp_nvrm_call(session, group, GP_NV_CMD_SET_TIMESLICE, &slice, sizeof(slice));
}

int gp_nvrm_hardware_id(const struct gp_nvrm_session *session, u32 group, u32 *id)
{
	struct gp_nv_group_info info = {0};
	int error = gp_nvrm_call(session, group, GP_NV_CMD_GROUP_INFO, &info, sizeof(info));

	*id = info.hardware_id;
	return error;
}

int gp_nvrm_ctxsw_modes(const struct gp_nvrm_session *session, u32 subdevice,
			struct gp_nv_ctxsw_modes *modes)
{
	return gp_nvrm_call(session, subdevice, GP_NV_CMD_CTXSW_MODES, modes, sizeof(*modes));
}

int gp_nvrm_ctxsw_stats(const struct gp_nvrm_session *session, u32 subdevice,
			struct gp_nv_ctxsw_stats *stats)
{
	return gp_nvrm_call(session, subdevice, GP_NV_CMD_CTXSW_STATS, stats, sizeof(*stats));
}

static int switch_list(const struct gp_nvrm_session *session, u32 subdevice, const u32 *channels,
		       u32 count, bool disable)
{
	struct gp_nv_disable_channels p = {.disable = disable, .count = count};

	for (u32 i = 0; i < count; i++) {
		p.clients[i] = session->client;
		p.channels[i] = channels[i];
	}
	return gp_nvrm_call(session, subdevice, GP_NV_CMD_DISABLE_CHANNELS, &p, sizeof(p));
}

int gp_nvrm_switch(const struct gp_nvrm_session *session, u32 subdevice, const u32 *channels,
		   u32 count, bool disable)
{
	int first = 0, error;
	u32 class_id;

	if (count > GP_NV_DISABLE_MAX)
		return -EINVAL;
	error = count ? switch_list(session, subdevice, channels, count, disable) : 0;
	if (!error)
		return 0;
	for (u32 i = 0; i < count; i++) {
		error = switch_list(session, subdevice, &channels[i], 1, disable);
		if (error && gp_nvrm_class_of(session, channels[i], &class_id))
			continue; /* the channel, or the whole client, is gone */
		if (error && !first)
			first = error;
	}
	return first;
}

int gp_nvrm_newest_client(const struct gp_nvrm_port *port, u32 *client)
{
	struct gp_nv_alloc alloc = {.class_id = GP_NV_CLASS_CLIENT, .status = GP_NV_INVALID_STATE};
	struct gp_nv_free release = {0};
	int fd = port->open_control(port), error;

	if (fd < 0)
		return fd;
	error = port->ioctl(port, fd, GP_NV_IOC_ALLOC, &alloc);
	if (!error)
		error = gp_nvrm_error(alloc.status);
	if (!error) {
		*client = alloc.object;
		release.root = release.object = alloc.object;
		port->ioctl(port, fd, GP_NV_IOC_FREE, &release);
	}
	close(fd);
	return error;
}
