// SPDX-License-Identifier: MIT
/*
 * Loaded by the runtime alone (HSA_TOOLS_LIB without LD_PRELOAD), our ioctl() is in front of
 * nobody. Then the runtime's own reference to it is changed: hsa_init() calls us before the first
 * queue.
 */
#include "agent/interpose.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct object {
	const ElfW(Sym) * symbols;
	const char *strings;
	const ElfW(Rela) * plt, *data;
	size_t plt_count, data_count;
};

/* On glibc the loader has added the base to these addresses already. */
static void read_dynamic(const ElfW(Dyn) * entry, struct object *out)
{
	for (; entry->d_tag != DT_NULL; entry++) {
		switch (entry->d_tag) {
		case DT_SYMTAB:
			out->symbols = (const ElfW(Sym) *)entry->d_un.d_ptr;
			break;
		case DT_STRTAB:
			out->strings = (const char *)entry->d_un.d_ptr;
			break;
		case DT_JMPREL:
			out->plt = (const ElfW(Rela) *)entry->d_un.d_ptr;
			break;
		case DT_PLTRELSZ:
			out->plt_count = entry->d_un.d_val / sizeof(ElfW(Rela));
			break;
		case DT_RELA:
			out->data = (const ElfW(Rela) *)entry->d_un.d_ptr;
			break;
		case DT_RELASZ:
			out->data_count = entry->d_un.d_val / sizeof(ElfW(Rela));
			break;
		default:
			break;
		}
	}
}

static void patch(const struct object *object, const ElfW(Rela) * relocation, size_t count,
		  ElfW(Addr) base)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < count; i++) {
		u32 type = (u32)ELF64_R_TYPE(relocation[i].r_info);
		const ElfW(Sym) *symbol = &object->symbols[ELF64_R_SYM(relocation[i].r_info)];
		void **place = (void **)(base + relocation[i].r_offset);

		if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) ||
		    strcmp(object->strings + symbol->st_name, "ioctl") != 0 ||
		    *place == (void *)gp_agent_ioctl)
			continue;
		/* It may have been made read-only after relocation; nothing depends on that. */
		if (mprotect((void *)((uintptr_t)place & ~(page - 1)), page,
			     PROT_READ | PROT_WRITE) == 0)
			__atomic_store_n(place, (void *)gp_agent_ioctl, __ATOMIC_RELEASE);
	}
}

static int visit(struct dl_phdr_info *info, size_t size, void *data)
{
	struct object object = {0};

	(void)size, (void)data;
	/* Where the thunk is: on its own, or inside the runtime. */
	if (!strstr(info->dlpi_name, "libhsakmt") && !strstr(info->dlpi_name, "libhsa-runtime64"))
		return 0;
	for (u32 i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			read_dynamic((const ElfW(Dyn) *)(info->dlpi_addr +
							 info->dlpi_phdr[i].p_vaddr),
				     &object);
	if (!object.symbols || !object.strings)
		return 0;
	patch(&object, object.plt, object.plt_count, info->dlpi_addr);
	patch(&object, object.data, object.data_count, info->dlpi_addr);
	return 0;
}

void gp_agent_patch_runtime(void)
{
	if (dlsym(RTLD_DEFAULT, "ioctl") != (void *)gp_agent_ioctl)
		dl_iterate_phdr(visit, NULL);
}
