// SPDX-License-Identifier: MIT
/* What the kernels do. See fake_cuda.h. */
#include "kernels.h"
#include "fake_cuda.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "page.h"
#include "selftest/cuda_kernel.h"

#define PAUSE_NS      100000
#define DEFAULT_US    2048u /* the timeslice of one round */
#define CHUNKS_PER_US 50u

static u32 look(u64 page, size_t at)
{
	return __atomic_load_n((u32 *)(uintptr_t)(page + at), __ATOMIC_SEQ_CST);
}

static u32 after(u32 x, u64 steps)
{
	u32 a = GP_CUDA_A, c = GP_CUDA_C, all_a = 1, all_c = 0;

	_Static_assert(LCG_A == GP_CUDA_A && LCG_C == GP_CUDA_C, "one congruence");
	for (; steps; steps >>= 1) {
		if (steps & 1) {
			all_c = a * all_c + c;
			all_a *= a;
		}
		c *= a + 1;
		a *= a;
	}
	return all_a * x + all_c;
}

/* ---- the self-test ---- */

static void count_end(u64 page, u32 index)
{
	__atomic_fetch_add((u32 *)(uintptr_t)(page + GP_CUDA_DONE + 4 * (u64)index),
			   fake_cuda_has_fault("twice") && index == 3 ? 2 : 1, __ATOMIC_SEQ_CST);
}

/* Returns rounds. The page's stop is read before the channel: the host sets it only after it has
 * stopped the channels, so that nothing ends behind a suspension's back. */
static u64 do_rounds(struct context *c, u64 page)
{
	u64 *progress = (u64 *)(uintptr_t)(page + GP_CUDA_PROGRESS), rounds = 0;
	u32 stop;

	do {
		sleep_ns(PAUSE_NS);
		stop = look(page, GP_CUDA_STOP);
		fake_cuda_wait(c->channel);
		c->credit += fake_cuda_has_fault("slice") ? DEFAULT_US
							  : atomic_load(&c->group->timeslice);
		rounds += c->credit / DEFAULT_US;
		__atomic_fetch_add(progress, c->credit / DEFAULT_US, __ATOMIC_SEQ_CST);
		c->credit %= DEFAULT_US;
	} while (!stop || !rounds);
	return rounds;
}

static void do_work(struct context *c, const struct launch *l)
{
	u64 steps = do_rounds(c, l->a[0]) * GP_CUDA_STEPS;
	u32 *x = (u32 *)(uintptr_t)l->a[1];
	u64 *all = (u64 *)(uintptr_t)l->a[2];

	for (u32 i = 0; i < l->blocks * l->threads; i++) {
		x[i] = after(x[i], steps);
		all[i] += steps - (fake_cuda_has_fault("register") && i == 7);
	}
	count_end(l->a[0], (u32)l->a[4]);
}

static void do_gate(struct context *c, const struct launch *l)
{
	u32 go;

	do {
		sleep_ns(PAUSE_NS);
		go = look(l->a[0], GP_CUDA_GO);
		fake_cuda_wait(c->channel);
	} while (!go);
	count_end(l->a[0], 0);
}

/* ---- the benchmark ---- */

static void do_tick(struct context *c, const struct launch *l)
{
	volatile u64 *progress = (volatile u64 *)(uintptr_t)l->a[0];
	u64 done = 0;

	while (done < l->a[3]) {
		u64 step = l->a[3] - done < 1000 ? l->a[3] - done : 1000;

		sleep_ns(step * 1000 / CHUNKS_PER_US);
		fake_cuda_wait(c->channel);
		done += step;
		*progress = l->a[1] + done;
	}
	(*(u64 *)(uintptr_t)l->a[2])++;
}

static void do_endless(struct context *c, const struct launch *l)
{
	struct page *page = (struct page *)(uintptr_t)l->a[0];
	u32 *x = (u32 *)(uintptr_t)l->a[2];
	u64 *n = (u64 *)(uintptr_t)l->a[3], chunks = 0;

	while (!page->stop) {
		sleep_ns(20000);
		fake_cuda_wait(c->channel);
		page->progress = ++chunks;
	}
	for (u32 i = 0; i < l->blocks * l->threads; i++) {
		n[i] = i ? 1024 : 64 * (chunks % 1000);
		x[i] = after(i * 747796405u + 12345u, n[i]);
	}
}

/* ---- the agent: it "waits" as long as the word is less than what it waits for ---- */

static void do_ahead(struct context *c, const struct launch *l)
{
	c->flag = (const u32 *)(uintptr_t)l->a[0];
	if (l->a[1])
		c->until = (u32)l->a[1];
	c->launches++;
	c->last_thread = (int)syscall(SYS_gettid);
}

static void do_nothing(struct context *c, const struct launch *l)
{
	(void)l;
	c->other_launches++;
}

const struct kernel fake_kernels[FAKE_KERNELS] = {
	{.name = "gate", .sizes = "8", .run = do_gate},
	{.name = "work", .sizes = "88884", .run = do_work},
	{.name = "tick", .sizes = "88888", .run = do_tick},
	{.name = "endless", .sizes = "88888", .run = do_endless},
	{.name = "gpreempt_ahead", .sizes = "84", .run = do_ahead, .at_once = true},
	{.name = "nothing", .sizes = "", .run = do_nothing},
};
