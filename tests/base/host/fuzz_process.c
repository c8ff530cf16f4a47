// SPDX-License-Identifier: MIT
/*
 * The parsers of text about processes: cgroup, status, stat and topology properties. The first byte
 * chooses one, so that each seed directory holds all kinds.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/kfd/kfd.h"
#include "base/host/container.h"
#include "base/host/process.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gp_kfd_property wanted[] = {{.key = "simd_count"}, {.key = "num_xcc"}};
	struct gp_process process = {0};
	struct gp_container container;
	char label[300];
	char *text;

	if (size == 0)
		return 0;
	/* A copy of the exact size, so that reading past the end is seen. */
	text = malloc(size - 1 ? size - 1 : 1);
	if (!text)
		return 0;
	memcpy(text, data + 1, size - 1);
	switch (data[0]) {
	case 'c':
		if (gp_container_parse_cgroup(text, size - 1, &container)) {
			if (!container.id[0] || !container.runtime[0])
				abort();
			gp_container_label(&container, label, sizeof(label));
		}
		break;
	case 's':
		gp_process_parse_status(text, size - 1, &process);
		if (process.nspid_count > GP_NSPID_MAX)
			abort();
		break;
	case 't':
		gp_process_parse_stat(text, size - 1, &process);
		if (strlen(process.comm) >= sizeof(process.comm))
			abort();
		break;
	default:
		if (gp_kfd_parse_properties(text, size - 1, wanted, GP_ARRAY_SIZE(wanted)) > size)
			abort();
	}
	free(text);
	return 0;
}
