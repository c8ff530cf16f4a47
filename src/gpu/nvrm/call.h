/* SPDX-License-Identifier: MIT */
/*
 * Every call this project makes to NVIDIA's resource manager, and the one place that lets it
 * through: a control that is not in the table of call.c, of another size, or with a field that
 * would lose work is refused with -EPERM and never reaches the driver. No call here stops a
 * runlist, uses the debugger or changes objects of another client.
 *
 * Functions return 0 or -errno (see gp_nvrm_error()). They allocate nothing and are
 * async-signal-safe.
 */
#ifndef GP_GPU_NVRM_CALL_H
#define GP_GPU_NVRM_CALL_H

#include "abi/nvrm_ioctl.h"
#include "gpu/nvrm/port.h"

/* A client of the manager, over a descriptor of the open file that made it: the manager knows it
 * on no other. */
struct gp_nvrm_session {
	const struct gp_nvrm_port *port;
	int fd;
	u32 client;
};

/* The gate. The typed calls below use it; nothing else may talk to the driver. */
int gp_nvrm_call(const struct gp_nvrm_session *session, u32 object, u32 cmd, void *params,
		 u32 size);
/* Whether the gate lets it through. */
bool gp_nvrm_call_allowed(u32 cmd, const void *params, u32 size);

/* -ENOENT: the object does not exist, -EACCES: the client is not of this descriptor, -EPERM:
 * refused, -EPROTO: this driver wants another layout, -EOPNOTSUPP, -ETIMEDOUT, otherwise -EIO. */
int gp_nvrm_error(u32 status);

int gp_nvrm_class_of(const struct gp_nvrm_session *session, u32 object, u32 *class_id);
int gp_nvrm_parent_of(const struct gp_nvrm_session *session, u32 object, u32 *parent);
int gp_nvrm_timeslice(const struct gp_nvrm_session *session, u32 group, u64 *us);
int gp_nvrm_set_timeslice(const struct gp_nvrm_session *session, u32 group, u64 us);
int gp_nvrm_hardware_id(const struct gp_nvrm_session *session, u32 group, u32 *id);
int gp_nvrm_ctxsw_modes(const struct gp_nvrm_session *session, u32 subdevice,
			struct gp_nv_ctxsw_modes *modes);
int gp_nvrm_ctxsw_stats(const struct gp_nvrm_session *session, u32 subdevice,
			struct gp_nv_ctxsw_stats *stats);
/*
 * Stops (disable) or starts channels of the session's client, at most GP_NV_DISABLE_MAX. When the
 * manager refuses the list, for example because a channel was freed meanwhile, each channel is
 * tried alone: missing ones are ignored; the first other failure is returned.
 */
int gp_nvrm_switch(const struct gp_nvrm_session *session, u32 subdevice, const u32 *channels,
		   u32 count, bool disable);
/* The number of the newest client on this machine: a client of our own, made and freed. */
int gp_nvrm_newest_client(const struct gp_nvrm_port *port, u32 *client);

#endif
