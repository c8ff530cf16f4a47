/* SPDX-License-Identifier: MIT */
/*
 * The channel groups of one process, found from outside: over copies of its descriptors, the
 * resource manager is asked which handles exist and what they are.
 *
 * A full scan tries a few hundred handles: clients from the newest of the machine downwards (found
 * by making one), and in each client the handles from the first that libcuda uses upwards until a
 * run of them does not exist. Rescans try only handles that can be new.
 */
#ifndef GP_GPU_NVRM_OBJECTS_H
#define GP_GPU_NVRM_OBJECTS_H

#include "gpu/nvrm/call.h"

/* Runs of absent handles that end a scan. Handles of freed objects are not used again soon, so a
 * program that allocated much has such runs; each try costs about 3 us on an H200. */
#define GP_NVRM_GAP_QUICK 16u    /* at a suspend */
#define GP_NVRM_GAP_FULL  512u   /* at attach and now and then */
#define GP_NVRM_GAP_LAST  16384u /* when nothing was found otherwise */

#define GP_NVRM_FILES_MAX 16u

/* A copy of one of the process's descriptors of the control device. */
struct gp_nvrm_file {
	int fd;     /* ours */
	u32 number; /* the process's */
	u32 newest; /* number up to which its clients are known; 0: not scanned */
};

struct gp_nvrm_client {
	u32 file, handle;
	u32 top; /* the handle after the last that existed */
};

struct gp_nvrm_subdevice {
	u32 client, device, handle; /* client: an index, here and below */
};

struct gp_nvrm_channel {
	u32 client, group, handle; /* group: its handle */
	bool compute;              /* a compute object is on it */
	bool stopped;              /* by the owner of this table */
};

struct gp_nvrm_group {
	u32 client, device, handle;
	u32 id;             /* its handle, unless another client's group has the same */
	bool compute;       /* one of its channels is: a group that runs kernels */
	bool suspended;     /* wanted so by the owner of this table, channels made later included */
	bool failed;        /* the manager refused to stop or start it */
	bool gone;          /* it was freed; the table is made anew at the next look */
	u64 timeslice;      /* us, as found or as the program set it last; 0: not read */
	u64 timeslice_set;  /* us, as set by us; 0: it is as found */
	u64 timeslice_read; /* us, as the driver said last; 0: not read */
};

struct gp_nvrm_objects {
	const struct gp_nvrm_port *port;
	u32 gpu_id; /* of all groups; 0: not known */
	struct gp_nvrm_file files[GP_NVRM_FILES_MAX];
	u32 file_count;
	struct gp_nvrm_client *clients;
	struct gp_nvrm_subdevice *subdevices;
	struct gp_nvrm_channel *channels;
	struct gp_nvrm_group *groups;
	size_t client_count, client_room, subdevice_count, subdevice_room;
	size_t channel_count, channel_room, group_count, group_room;
	u64 calls; /* made by scans so far */
};

/* Scans everything. Files must have been added. Descriptors stay the caller's until free. */
int gp_nvrm_objects_scan(struct gp_nvrm_objects *objects);
/* Looks for groups and channels beyond the known ones. 1: there are new ones. */
int gp_nvrm_objects_extend(struct gp_nvrm_objects *objects, u32 gap);
/* Scans again from the start; keeps the state of groups that still exist. 1: something changed. */
int gp_nvrm_objects_renew(struct gp_nvrm_objects *objects);
void gp_nvrm_objects_free(struct gp_nvrm_objects *objects);

struct gp_nvrm_session gp_nvrm_objects_session(const struct gp_nvrm_objects *objects, u32 client);
/* A subdevice of the group's client, of the group's own device when there is one; 0: none. */
u32 gp_nvrm_objects_subdevice(const struct gp_nvrm_objects *objects,
			      const struct gp_nvrm_group *group);

#endif
