// SPDX-License-Identifier: MIT
/* Common to all mechanisms. */
#include "gpu/control.h"

#include <stdlib.h>

void gp_gpu_control_queues_free(struct gp_gpu_control_queues *queues)
{
	free(queues->items);
	*queues = (struct gp_gpu_control_queues){0};
}
