// SPDX-License-Identifier: MIT
/* What every kind of control shares. */
#include "gpu/control.h"

#include <stdlib.h>

void gp_gpu_control_queues_free(struct gp_gpu_control_queues *queues)
{
	free(queues->items);
	*queues = (struct gp_gpu_control_queues){0};
}
