/* SPDX-License-Identifier: MIT */
/*
 * The NVIDIA control as the benchmarks use it: by pid, with a thread that keeps the lease. Also
 * built as libnvctl.so, for programs in Python. Functions return 0 or -errno.
 */
#ifndef GP_BENCH_NVCTL_H
#define GP_BENCH_NVCTL_H

#include <stdint.h>

struct nvctl;

/* What an operation took. */
struct nvctl_took {
	uint64_t total_ns, driver_ns;
	uint32_t queues;
};

/* Messages of a refusal go to standard error. */
int nvctl_open(uint32_t pid, struct nvctl **out);
void nvctl_close(struct nvctl *control);
int nvctl_suspend(struct nvctl *control, struct nvctl_took *took);
int nvctl_resume(struct nvctl *control, struct nvctl_took *took);
int nvctl_share(struct nvctl *control, uint32_t thousandths);
/* The share whose timeslice is about `us`. */
uint32_t nvctl_share_for(uint64_t us);
/* Renews the lease and looks for what is new; to be called a few times per lease while suspended.
 */
int nvctl_pump(struct nvctl *control);
uint64_t nvctl_calls(const struct nvctl *control);
/* Text of the `index`-th group, as a JSON object; -ENOENT after the last. */
int nvctl_describe(struct nvctl *control, uint32_t index, char *out, uint32_t size);
int nvctl_release(uint32_t pid);

#endif
