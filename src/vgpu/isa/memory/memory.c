// SPDX-License-Identifier: MIT
/* Memory of the host, by pages that the runner remembers. */
#include "vgpu/isa/vector/lanes.h"

void *gp_isa_address_slow(struct gp_isa_runner *runner, u64 va, bool write)
{
	u64 page = va / GP_ISA_PAGE_BYTES;
	u8 *memory = runner->host->page(runner->host->data, page * GP_ISA_PAGE_BYTES, write);

	if (!memory)
		return NULL;
	runner->pages[page % GP_ISA_PAGES] = (struct gp_isa_page){page + 1, memory, write};
	return memory + va % GP_ISA_PAGE_BYTES;
}

static u32 part_of(u64 va, u32 bytes)
{
	u32 rest = GP_ISA_PAGE_BYTES - (u32)(va % GP_ISA_PAGE_BYTES);

	return bytes < rest ? bytes : rest;
}

bool gp_isa_load(struct gp_isa_runner *runner, struct gp_isa_wave *wave, u64 va, void *to,
		 u32 bytes)
{
	for (u32 done = 0, part; done < bytes; done += part) {
		const void *from = gp_isa_address(runner, va + done, false);

		part = part_of(va + done, bytes - done);
		if (!from) {
			wave->fault = va + done;
			return false;
		}
		memcpy((u8 *)to + done, from, part);
	}
	return true;
}

bool gp_isa_store(struct gp_isa_runner *runner, struct gp_isa_wave *wave, u64 va, const void *from,
		  u32 bytes)
{
	for (u32 done = 0, part; done < bytes; done += part) {
		void *to = gp_isa_address(runner, va + done, true);

		part = part_of(va + done, bytes - done);
		if (!to) {
			wave->fault = va + done;
			return false;
		}
		memcpy(to, (const u8 *)from + done, part);
	}
	return true;
}
