/* SPDX-License-Identifier: MIT */
/* Events and their waiters, after amdkfd/kfd_events.c. events.c owns them, wait.c waits. */
#ifndef GP_VGPU_PRELOAD_EVENTS_H
#define GP_VGPU_PRELOAD_EVENTS_H

#include "abi/kfd_driver.h"
#include "vgpu/preload/parts.h"

struct gp_vgpu_event;

/* One call of WAIT_EVENTS; `word` is its futex and changes at every wake-up. */
struct gp_vgpu_sleeper {
	_Atomic u32 word;
};

/* One event of one such call. */
struct gp_vgpu_waiter {
	struct gp_vgpu_event *event; /* NULL once the event was destroyed */
	struct gp_vgpu_waiter *previous, *next;
	struct gp_vgpu_sleeper *sleeper;
	bool listed, activated, age_enabled;
	bool waits; /* was not activated from the start, so a set event is for it */
};

union gp_vgpu_event_data {
	struct gp_kfd_hsa_memory_exception_data memory;
	struct gp_kfd_hsa_hw_exception_data hardware;
};

struct gp_vgpu_event {
	u32 id, type;
	bool auto_reset, signaled;
	u64 age;
	struct gp_vgpu_waiter *waiters;
	union gp_vgpu_event_data data;
};

struct gp_vgpu_events {
	pthread_mutex_t lock;
	struct gp_vgpu_event *signals[GP_KFD_SIGNAL_EVENT_LIMIT]; /* by id; 0 is never given out */
	struct gp_vgpu_event **others;                            /* by id - FIRST_NONSIGNAL */
	u32 other_count;
	u32 signal_count; /* of events, and the reserved one */
	u32 lowest_free;  /* no signal id below it is free */
	_Atomic u64 *page;
	u64 page_offset; /* of an event page of our own making */
	bool own_page;
	u32 slots; /* of the page user space has mapped */
};

/* Under the lock. */
struct gp_vgpu_event *gp_vgpu_event_find(struct gp_vgpu_events *events, u32 id);
void gp_vgpu_event_fire(struct gp_vgpu_event *event);
void gp_vgpu_sleeper_wake(struct gp_vgpu_sleeper *sleeper);

#endif
