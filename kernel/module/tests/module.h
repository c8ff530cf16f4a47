/* SPDX-License-Identifier: MIT */
/*
 * The rows of gpreempt.ko: processes with queues on the fake GPU (actors of the conformance test),
 * held through /dev/gpreempt by the row itself or by actors. Every process has its own holder, as
 * long as no actor is started after the row opened the device.
 */
#ifndef GP_TEST_MODULE_H
#define GP_TEST_MODULE_H

#include "conformance.h"
#include "gpreempt_uapi.h"

#define PID(actor) ((u64)(actor).pid)
#define LONG_LEASE 600000 /* ms: outlives every row */

/* The device, opened once in a process. */
int device(void);
void close_device(void);
int pidfd_of(u64 pid);

deed do_hold;      /* pid, lease -> depth */
deed do_let_go;    /* pid, flags -> depth; out: holders */
deed do_renew;     /* pid or 0, lease -> renewed */
deed do_churn;     /* seed, number, pid, pid: tries everything, at random */
deed do_pause;     /* 1: KFD evicts the actor itself (CRIU), 0: and restores it */

#define RESET    "/sys/kernel/debug/fakegpu/reset"
#define HANG     "/sys/module/fakegpu/parameters/hang"
#define HANG_GPU "/sys/module/fakegpu/parameters/hang_gpu"
#define TIMEOUT  "/sys/module/amdgpu/parameters/queue_preemption_timeout_ms"

void write_to(const char *path, const char *text);
u32 gpus_of_machine(struct self *me);
/* An eviction that fails on one GPU is taken back on every one of them. */
bool failure_is_undone(struct self *me);
/* Rows of several.c. */
void several_are_evicted(struct self *me);
void one_does_not_answer(struct self *me);

struct gpreempt_state state_of(u64 pid);
struct gpreempt_statistics statistics(void);
void is_on(struct self *me, const struct actor *actor, u32 id, bool on);
void comes_on(struct self *me, const struct actor *actor, u32 id);
/* A target whose queue 0 works on an endless kernel. */
struct actor start_busy(struct self *me, u32 queues);

#endif
