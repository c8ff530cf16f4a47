/* SPDX-License-Identifier: MIT */
/*
 * The stand-in's event buffer: one of one GPU, in two files that all processes map. A test writes
 * what the firmware would have recorded, and says what goes wrong.
 */
#ifndef GP_FAKE_EVENTS_H
#define GP_FAKE_EVENTS_H

#include "abi/nvrm_events.h"
#include "fake.h"

#define FAKE_RECORDS 4096u

struct fake_events {
	struct gp_nv_event_header *header;
	struct gp_nv_event_record *records;
};

/* Records of now (`ago_ns` before it), as the driver would add them: a full buffer drops them. */
void fake_event(struct fake *fake, u8 tag, u32 pid, u64 ago_ns);
/* The memory behind it, to spoil. */
struct fake_events fake_events_map(const struct fake *fake);
void fake_events_unmap(const struct fake_events *events);

/* For fake.c: the calls. */
u32 fake_events_control(const struct fake *fake, u32 cmd, void *params);
u32 fake_events_size(u32 cmd);
u32 fake_events_memory(const struct fake *fake, struct gp_nv_map *map);

#endif
