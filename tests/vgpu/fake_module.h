/* SPDX-License-Identifier: MIT */
/*
 * Code objects for tests of the command processor: an ELF image with symbols and metadata, in the
 * list that ROCr keeps for debuggers, and kernels of it that are dispatched on a queue of the fake
 * machine.
 */
#ifndef GP_TEST_FAKE_MODULE_H
#define GP_TEST_FAKE_MODULE_H

#include <elf.h>
#include <link.h>

#include "fake_machine.h"

/* ROCr's list of code objects, exported by this program as libhsa-runtime64 does. */
extern struct r_debug _amdgpu_r_debug;
__attribute__((visibility("default"))) struct r_debug _amdgpu_r_debug;

/* An ELF image with one symbol of 64 bytes per name, 64 bytes apart. */
struct module {
	struct link_map map;
	char uri[128];
	struct {
		Elf64_Ehdr header;
		Elf64_Shdr sections[3];
		Elf64_Phdr segment;
		Elf64_Sym symbols[16];
		char strings[1024];
		struct {
			Elf64_Nhdr header;
			char owner[8];
			u8 text[1024];
		} note;
	} elf;
};

/* MessagePack, as short as LLVM writes it. */
static inline u32 text_put(u8 *to, const char *text)
{
	u32 length = (u32)strlen(text);

	to[0] = (u8)(0xa0 | length);
	if (length < 32) {
		memcpy(to + 1, text, length);
		return length + 1;
	}
	to[0] = 0xd9;
	to[1] = (u8)length;
	memcpy(to + 2, text, length);
	return length + 2;
}

/* One argument of a layout such as "p8 v4"; every second size is a 32-bit number, for variety. */
static inline u32 argument_put(u8 *to, char letter, u32 size, bool wide)
{
	static const char *const kinds[] = {"by_value", "global_buffer", "image", "queue",
					    "hidden_none"};
	u32 at = 0;

	to[at++] = 0x83;
	at += text_put(to + at, ".offset");
	to[at++] = 0;
	at += text_put(to + at, ".size");
	if (wide) {
		u8 number[] = {0xce, 0, 0, 0, (u8)size};

		memcpy(to + at, number, sizeof(number));
		at += sizeof(number);
	} else {
		to[at++] = (u8)size;
	}
	at += text_put(to + at, ".value_kind");
	return at + text_put(to + at, kinds[strchr("vpi?h", letter) - "vpi?h"]);
}

/* {"amdhsa.kernels": [{".args": [...], ".max": 1.0, ".name": name}], "amdhsa.version": [1, 2]} */
static inline u32 metadata_put(u8 *to, const char *name, const char *layout)
{
	u32 at = 0, count = 0, count_at;

	to[at++] = 0x82;
	at += text_put(to + at, "amdhsa.kernels");
	to[at++] = 0x91;
	to[at++] = 0x83;
	at += text_put(to + at, ".args");
	to[at++] = 0xdc;
	to[at++] = 0;
	count_at = at++;
	for (const char *text = layout; *text; count++) {
		u32 size = (u32)strtoul(text + 1, NULL, 10);

		at += argument_put(to + at, *text, size, count & 1);
		text += strcspn(text, " ");
		text += *text == ' ';
	}
	to[count_at] = (u8)count;
	at += text_put(to + at, ".max");
	to[at] = 0xcb;
	at += 9;
	at += text_put(to + at, ".name");
	at += text_put(to + at, name);
	at += text_put(to + at, "amdhsa.version");
	to[at++] = 0x92;
	to[at++] = 1;
	to[at++] = 2;
	return at;
}

static inline void module_load(struct module *module, const char *const *names, u32 count,
			       u64 address, const char *scheme)
{
	u32 at = 1;

	memset(&module->elf, 0, sizeof(module->elf));
	memcpy(module->elf.header.e_ident, ELFMAG, SELFMAG);
	module->elf.header.e_shoff =
		offsetof(struct module, elf.sections) - offsetof(struct module, elf);
	module->elf.header.e_shentsize = sizeof(Elf64_Shdr);
	module->elf.header.e_shnum = 3;
	module->elf.sections[1] = (Elf64_Shdr){
		.sh_type = SHT_DYNSYM,
		.sh_offset = offsetof(struct module, elf.symbols) - offsetof(struct module, elf),
		.sh_size = sizeof(module->elf.symbols),
		.sh_link = 2,
	};
	module->elf.sections[2] = (Elf64_Shdr){
		.sh_type = SHT_STRTAB,
		.sh_offset = offsetof(struct module, elf.strings) - offsetof(struct module, elf),
		.sh_size = sizeof(module->elf.strings),
	};
	for (u32 i = 0; i < count; i++) {
		module->elf.symbols[i + 1] = (Elf64_Sym){
			.st_name = at,
			.st_value = 0x1000 + i * 512,
			.st_size = 64,
		};
		at += (u32)snprintf(module->elf.strings + at, sizeof(module->elf.strings) - at,
				    "%s.kd", names[i]) +
		      1;
	}
	module->elf.header.e_phoff =
		offsetof(struct module, elf.segment) - offsetof(struct module, elf);
	module->elf.header.e_phentsize = sizeof(Elf64_Phdr);
	module->elf.header.e_phnum = 1;
	snprintf(module->uri, sizeof(module->uri), "%s%d#offset=0x%llx&size=%zu", scheme, getpid(),
		 (unsigned long long)va(&module->elf), sizeof(module->elf));
	module->map = (struct link_map){.l_addr = address - 0x1000, .l_name = module->uri};
	_amdgpu_r_debug = (struct r_debug){.r_version = 7, .r_map = &module->map};
}

/* A queue, a kernel of that name, its arguments at `arguments`, dispatched and completed. */
static u64 *arguments;
static struct module module;
static struct fake_queue queue;

static inline int blit_setup(void **state)
{
	static const char *const none[] = {"nothing"};

	fake_setup(state);
	module_load(&module, none, 1, 0x1000, "memory://");
	arguments = fake_take(256, 256);
	memset(arguments, 0, 256);
	queue = fake_queue(1, 64);
	return 0;
}

/* A kernel whose code object has metadata with these arguments; NULL: it has none. */
static inline u64 named_kernel(const char *name, const char *layout)
{
	u64 kernel = fake_kernel(NULL, 0);

	module_load(&module, &name, 1, kernel, "memory://");
	if (!layout)
		return kernel;
	module.elf.note.header = (Elf64_Nhdr){
		.n_namesz = 7,
		.n_descsz = metadata_put(module.elf.note.text, name, layout),
		.n_type = 32,
	};
	strcpy(module.elf.note.owner, "AMDGPU");
	module.elf.segment = (Elf64_Phdr){
		.p_type = PT_NOTE,
		.p_offset = offsetof(struct module, elf.note) - offsetof(struct module, elf),
		.p_filesz = sizeof(module.elf.note),
	};
	return kernel;
}

static inline void launch(u64 kernel)
{
	struct gp_aql_dispatch packet = fake_dispatch(kernel);

	packet.kernarg_address = va(arguments);
	fake_put(&queue, &packet);
	fake_step();
}

static inline void run(u64 kernel)
{
	launch(kernel);
	fake_run(fake_work());
}

static inline u8 *bytes_new(u32 size, u8 seed)
{
	u8 *bytes = fake_take(size, 64);

	for (u32 i = 0; i < size; i++)
		bytes[i] = (u8)(seed ? i * 7 + seed : 0);
	return bytes;
}

#endif
