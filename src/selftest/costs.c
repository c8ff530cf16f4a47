// SPDX-License-Identifier: MIT
/* The costs that follow from the times of --calibrate. */
#include "selftest/calibrate.h"

static u64 minus(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

/* What both have and what each queue adds. `packet`: a part of both that is not of the queues. */
static void split(u64 few, u64 few_queues, u64 many, u64 many_queues, u64 packet, u64 *all,
		  u64 *queue)
{
	*all = *queue = 0;
	/* With one of the two missing, neither is known. */
	if (!few || !many)
		return;
	*queue = minus(many, few) / (many_queues > few_queues ? many_queues - few_queues : 1);
	*all = minus(few, few_queues * *queue + packet);
}

void gp_selftest_costs_take(struct gp_selftest_costs *costs, const struct gp_selftest_shortest *few,
			    const struct gp_selftest_shortest *many)
{
	split(few->unmap.ns, few->queues, many->unmap.ns, many->queues, 0, &costs->unmap_ns,
	      &costs->unmap_queue_ns);
	split(few->map.ns, few->queues, many->map.ns, many->queues,
	      costs->dispatch_ns + costs->complete_ns, &costs->map_ns, &costs->map_queue_ns);
}

/* What waves add, as a part that does not depend on their bytes and a rate. */
static void split_waves(u64 idle, u64 few, u64 few_bytes, u64 many, u64 many_bytes, u64 *fixed,
			u64 *rate)
{
	*fixed = *rate = 0;
	if (!idle || few <= idle || many <= few || many_bytes <= few_bytes)
		return;
	*rate = ((many_bytes - few_bytes) * 1000 + (many - few) / 2) / (many - few);
	*fixed = *rate ? minus(few - idle, few_bytes * 1000 / *rate) : 0;
	if (!*fixed)
		*rate = 0;
}

void gp_selftest_costs_take_waves(struct gp_selftest_costs *costs,
				  const struct gp_selftest_shortest *idle,
				  const struct gp_selftest_shortest *few,
				  const struct gp_selftest_shortest *many)
{
	split_waves(idle->unmap.ns, few->unmap.ns, few->bytes, many->unmap.ns, many->bytes,
		    &costs->save_ns, &costs->save_bytes_per_us);
	split_waves(idle->map.ns, few->map.ns, few->bytes, many->map.ns, many->bytes,
		    &costs->restore_ns, &costs->restore_bytes_per_us);
}
