// SPDX-License-Identifier: MIT
#include "gpu/gpu.h"

#include <stdio.h>
#include <stdlib.h>

void gp_gpu_list_free(struct gp_gpu_list *list)
{
	free(list->items);
	*list = (struct gp_gpu_list){0};
}

void gp_gpu_process_list_free(struct gp_gpu_process_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->items[i].usages);
		free(list->items[i].queues);
	}
	free(list->items);
	*list = (struct gp_gpu_process_list){0};
}

void gp_kfd_slot_list_free(struct gp_kfd_slot_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->items[i].words);
		free(list->items[i].addresses);
	}
	free(list->items);
	*list = (struct gp_kfd_slot_list){0};
}

void gp_gpu_state_free(struct gp_gpu_state *state)
{
	gp_kfd_slot_list_free(&state->slots);
	gp_kfd_slot_list_free(&state->descriptors);
	*state = (struct gp_gpu_state){0};
}

const char *gp_kfd_queue_type_name(enum gp_gpu_queue_type type)
{
	switch (type) {
	case GP_QUEUE_COMPUTE:
		return "compute";
	case GP_QUEUE_SDMA:
		return "sdma";
	case GP_QUEUE_SDMA_XGMI:
		return "xgmi";
	case GP_QUEUE_OTHER:
	case GP_QUEUE_TYPES:
		break;
	}
	return "other";
}

void gp_kfd_gfx_name(u32 gfx_version, char *out, size_t size)
{
	/* major * 10000 + minor * 100 + stepping; the stepping is printed in hex (gfx90a). */
	snprintf(out, size, "gfx%u%u%x", gfx_version / 10000, gfx_version / 100 % 100,
		 gfx_version % 100);
}
