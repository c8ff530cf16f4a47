// SPDX-License-Identifier: MIT
/*
 * Names of kernels. ROCr lists the code objects it has loaded for debuggers, in the form ld.so uses
 * (struct r_debug at _amdgpu_r_debug). Each has one symbol of 64 bytes, the descriptor, per kernel.
 * The symbols are in what was loaded, in GPU memory, behind its ELF header; where they are not, the
 * list says by URI where the image came from, in memory (which its owner may have freed) or in a
 * file. The list belongs to other threads and may change while it is read: no read can crash, every
 * length is bounded, and the worst outcome is a kernel without a name.
 */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

#include "vgpu/cp/code_image.h"

#define MODULES_MAX  4096
#define SECTIONS_MAX 1024
#define SYMBOLS_MAX  (1u << 20)
#define CHUNK        64 /* symbols read at a time */
#define ROCR         "libhsa-runtime64.so"
#define LIST         "_amdgpu_r_debug"
#define SUFFIX       ".kd"

static int find_rocr(struct dl_phdr_info *info, size_t size, void *data)
{
	const char *base = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
	char *path = data;

	(void)size;
	base = base ? base + 1 : info->dlpi_name;
	if (!base || strncmp(base, ROCR, strlen(ROCR)) || strlen(info->dlpi_name) >= GP_CP_URI_MAX)
		return 0;
	strcpy(path, info->dlpi_name);
	return 1;
}

u64 gp_vgpu_cp_loader_find(void)
{
	void *symbol = dlsym(RTLD_DEFAULT, LIST), *library;
	char path[GP_CP_URI_MAX];

	if (symbol)
		return (u64)(uintptr_t)symbol;
	/* A program may have loaded it for itself alone (RTLD_LOCAL). */
	if (!dl_iterate_phdr(find_rocr, path))
		return 0;
	library = dlopen(path, RTLD_NOLOAD | RTLD_LAZY);
	if (!library)
		return 0;
	symbol = dlsym(library, LIST);
	dlclose(library);
	return (u64)(uintptr_t)symbol;
}

/* A symbol table: where in the image, and where the names are. */
struct table {
	u64 symbols, count, strings;
};

/* The name of the 64-byte symbol at `value` in this symbol table. */
static bool table_find(const struct gp_vgpu_cp_image *image, const struct table *table, u64 value,
		       char *name, size_t size)
{
	u64 count = table->count < SYMBOLS_MAX ? table->count : SYMBOLS_MAX;
	Elf64_Sym symbols[CHUNK];

	for (u64 at = 0; at < count; at += CHUNK) {
		u64 part = count - at < CHUNK ? count - at : CHUNK;

		if (!gp_vgpu_cp_image_read(image, table->symbols + at * sizeof(Elf64_Sym), symbols,
					   part * sizeof(Elf64_Sym)))
			return false;
		for (u64 i = 0; i < part; i++) {
			if (symbols[i].st_value == value &&
			    symbols[i].st_size == sizeof(struct gp_kernel_descriptor))
				return gp_vgpu_cp_image_string(image,
							       table->strings + symbols[i].st_name,
							       name, size);
		}
	}
	return false;
}

/* In a file's sections. */
static bool sections_find(const struct gp_vgpu_cp_image *image, u64 value, char *name, size_t size)
{
	Elf64_Shdr section, strings;
	Elf64_Ehdr header;

	if (!gp_vgpu_cp_image_header(image, &header) || header.e_shentsize != sizeof(Elf64_Shdr) ||
	    header.e_shnum > SECTIONS_MAX)
		return false;
	for (u32 i = 0; i < header.e_shnum; i++) {
		struct table table;

		if (!gp_vgpu_cp_image_read(image, header.e_shoff + i * sizeof(section), &section,
					   sizeof(section)))
			return false;
		if ((section.sh_type != SHT_DYNSYM && section.sh_type != SHT_SYMTAB) ||
		    section.sh_link >= header.e_shnum ||
		    !gp_vgpu_cp_image_read(image,
					   header.e_shoff + section.sh_link * sizeof(section),
					   &strings, sizeof(strings)))
			continue;
		table = (struct table){section.sh_offset, section.sh_size / sizeof(Elf64_Sym),
				       strings.sh_offset};
		if (table_find(image, &table, value, name, size))
			return true;
	}
	return false;
}

/* Addresses of the dynamic symbols of a loaded image, from its dynamic section. */
static bool dynamic_read(const struct gp_vgpu_cp_image *image, const Elf64_Phdr *segment,
			 struct table *table)
{
	u64 hash = 0, count = segment->p_memsz / sizeof(Elf64_Dyn);
	u32 buckets_chains[2]; /* DT_HASH begins with both counts; there is a chain per symbol */
	Elf64_Dyn entry;

	*table = (struct table){0};
	for (u64 i = 0; i < count && i < SECTIONS_MAX; i++) {
		if (!gp_vgpu_cp_image_read(image, segment->p_vaddr + i * sizeof(entry), &entry,
					   sizeof(entry)) ||
		    entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_SYMTAB)
			table->symbols = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_STRTAB)
			table->strings = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_HASH)
			hash = entry.d_un.d_ptr;
	}
	if (!hash || !table->symbols || !table->strings ||
	    !gp_vgpu_cp_image_read(image, hash, buckets_chains, sizeof(buckets_chains)))
		return false;
	table->count = buckets_chains[1];
	return true;
}

/* In what was loaded. */
static bool segments_find(const struct gp_vgpu_cp_image *image, u64 value, char *name, size_t size)
{
	Elf64_Phdr segment;
	struct table table;
	Elf64_Ehdr header;

	if (!gp_vgpu_cp_image_header(image, &header) || header.e_phentsize != sizeof(segment))
		return false;
	for (u32 i = 0; i < header.e_phnum && i < SECTIONS_MAX; i++) {
		if (!gp_vgpu_cp_image_read(image, header.e_phoff + i * sizeof(segment), &segment,
					   sizeof(segment)))
			return false;
		if (segment.p_type == PT_DYNAMIC)
			return dynamic_read(image, &segment, &table) &&
			       table_find(image, &table, value, name, size);
	}
	return false;
}

static bool module_find(struct gp_vgpu_cp *cp, u32 gpu_id, const struct link_map *module,
			u64 kernel_object, char *name, size_t size)
{
	const struct gp_vgpu_cp_image memory = {.fd = -1, .size = UINT64_MAX};
	struct gp_vgpu_cp_image image = {cp, gpu_id, -1, module->l_addr,
					 UINT64_MAX - module->l_addr};
	char uri[GP_CP_URI_MAX];
	bool found;

	if (!module->l_name || kernel_object < module->l_addr)
		return false;
	if (segments_find(&image, kernel_object - module->l_addr, name, size))
		return true;
	if (!gp_vgpu_cp_image_string(&memory, (u64)(uintptr_t)module->l_name, uri, sizeof(uri)) ||
	    !gp_vgpu_cp_image_open(uri, &image))
		return false;
	found = sections_find(&image, kernel_object - module->l_addr, name, size);
	gp_vgpu_cp_image_close(&image);
	return found;
}

void gp_vgpu_cp_name_find(struct gp_vgpu_cp *cp, u32 gpu_id, u64 r_debug, u64 kernel_object,
			  struct gp_vgpu_cp_name *out)
{
	char name[sizeof(out->name) + sizeof(SUFFIX)];
	struct link_map module;
	struct r_debug list;
	size_t length;

	memset(out, 0, sizeof(*out));
	if (!r_debug || gp_vgpu_copy_in(&list, r_debug, sizeof(list)))
		return;
	out->node = (u64)(uintptr_t)list.r_map;
	for (u32 i = 0; out->node && i < MODULES_MAX; i++) {
		if (gp_vgpu_copy_in(&module, out->node, sizeof(module)))
			break;
		if (module_find(cp, gpu_id, &module, kernel_object, name, sizeof(name))) {
			length = strlen(name);
			if (length > strlen(SUFFIX) &&
			    !strcmp(name + length - strlen(SUFFIX), SUFFIX))
				name[length - strlen(SUFFIX)] = 0;
			name[sizeof(out->name) - 1] = 0;
			memcpy(out->name, name, sizeof(out->name));
			out->load_address = module.l_addr;
			out->uri = (u64)(uintptr_t)module.l_name;
			return;
		}
		out->node = (u64)(uintptr_t)module.l_next;
	}
	out->node = 0;
}

bool gp_vgpu_cp_name_holds(const struct gp_vgpu_cp_name *name)
{
	struct link_map module;

	return name->node && !gp_vgpu_copy_in(&module, name->node, sizeof(module)) &&
	       module.l_addr == name->load_address && (u64)(uintptr_t)module.l_name == name->uri;
}
