// SPDX-License-Identifier: MIT
/* The costs that follow from the times of --calibrate, and whether they are known well enough. */
#include "selftest/calibrate.h"

enum { SURE = 10 }; /* a doubt of at most this part of a cost */

static u64 minus(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

static u64 sure(u64 cost, u64 doubt)
{
	return doubt <= cost / SURE ? cost : 0;
}

bool gp_selftest_costs_take_packets(struct gp_selftest_costs *costs,
				    const struct gp_selftest_figure *pipelined,
				    const struct gp_selftest_figure *serial)
{
	costs->dispatch_ns = sure(pipelined->ns, pipelined->doubt);
	costs->complete_ns = pipelined->ns && serial->ns ? sure(minus(serial->ns, pipelined->ns),
								serial->doubt + pipelined->doubt)
							 : 0;
	return costs->dispatch_ns && costs->complete_ns;
}

/* What both have and what each queue adds. `packet`: a part of both that is not of the queues,
 * NULL: there is none. */
static void split(const struct gp_selftest_least *few, u64 few_queues,
		  const struct gp_selftest_least *many, u64 many_queues,
		  const struct gp_selftest_figure *packet, u64 *all, u64 *queue)
{
	u64 between = many_queues > few_queues ? many_queues - few_queues : 1, each, doubt;

	*all = *queue = 0;
	/* With one of the two missing, neither is known. */
	if (!few->ns || !many->ns)
		return;
	each = minus(many->ns, few->ns) / between;
	doubt = (gp_selftest_least_doubt(few) + gp_selftest_least_doubt(many)) / between;
	*queue = sure(each, doubt);
	doubt = gp_selftest_least_doubt(few) + few_queues * doubt;
	if (!packet)
		*all = sure(minus(few->ns, few_queues * each), doubt);
	else if (packet->ns)
		*all = sure(minus(few->ns, few_queues * each + packet->ns), doubt + packet->doubt);
}

bool gp_selftest_costs_take(struct gp_selftest_costs *costs,
			    const struct gp_selftest_figure *serial,
			    const struct gp_selftest_shortest *few,
			    const struct gp_selftest_shortest *many)
{
	split(&few->unmap, few->queues, &many->unmap, many->queues, NULL, &costs->unmap_ns,
	      &costs->unmap_queue_ns);
	split(&few->map, few->queues, &many->map, many->queues, serial, &costs->map_ns,
	      &costs->map_queue_ns);
	return costs->unmap_ns && costs->unmap_queue_ns && costs->map_ns && costs->map_queue_ns;
}

struct gp_selftest_figure gp_selftest_costs_grace(const struct gp_selftest_shortest *crowd,
						  const struct gp_selftest_shortest *graceful,
						  u32 longer)
{
	u64 doubt =
		gp_selftest_least_doubt(&crowd->unmap) + gp_selftest_least_doubt(&graceful->unmap);

	return (struct gp_selftest_figure){.ns = minus(graceful->unmap.ns, crowd->unmap.ns) /
						 longer,
					   .doubt = doubt / longer};
}

/* What waves add, as a part that does not depend on their bytes and a rate. */
static void split_waves(const struct gp_selftest_least *idle, const struct gp_selftest_least *few,
			u64 few_bytes, const struct gp_selftest_least *many, u64 many_bytes,
			u64 *fixed, u64 *rate)
{
	u64 bytes = minus(many_bytes, few_bytes), more = minus(many->ns, few->ns);
	u64 few_doubt = gp_selftest_least_doubt(few);
	u64 more_doubt = few_doubt + gp_selftest_least_doubt(many);

	*fixed = *rate = 0;
	if (!idle->ns || few->ns <= idle->ns || !more || !bytes)
		return;
	*fixed = sure(minus(few->ns - idle->ns, few_bytes * more / bytes),
		      gp_selftest_least_doubt(idle) + few_doubt + few_bytes * more_doubt / bytes);
	if (sure(more, more_doubt))
		*rate = (bytes * 1000 + more / 2) / more;
}

bool gp_selftest_costs_take_waves(struct gp_selftest_costs *costs,
				  const struct gp_selftest_shortest *idle,
				  const struct gp_selftest_shortest *few,
				  const struct gp_selftest_shortest *many)
{
	split_waves(&idle->unmap, &few->unmap, few->bytes, &many->unmap, many->bytes,
		    &costs->save_ns, &costs->save_bytes_per_us);
	split_waves(&idle->map, &few->map, few->bytes, &many->map, many->bytes, &costs->restore_ns,
		    &costs->restore_bytes_per_us);
	return costs->save_ns && costs->save_bytes_per_us && costs->restore_ns &&
	       costs->restore_bytes_per_us;
}
