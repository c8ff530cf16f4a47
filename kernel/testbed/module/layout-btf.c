// SPDX-License-Identifier: GPL-2.0
/* Where the members of the driver's structures are: the type information (BTF) that comes with it. */
#include <linux/btf.h>

#include "fakegpu.h"

struct reader {
	s32 (*find)(const char *name, u32 kind, struct btf **btf);
	const struct btf_type *(*type)(const struct btf *btf, u32 id);
	const char *(*name)(const struct btf *btf, u32 offset);
	void (*put)(struct btf *btf);
};

static struct reader reader;

s64 fg_layout_offset(const struct fg_member *want)
{
	const struct btf_type *type;
	const struct btf_member *member;
	struct btf *btf = NULL;
	s32 id = reader.find(want->type, BTF_KIND_STRUCT, &btf);
	s64 result = -1;
	u32 i;

	if (id < 0)
		return -1;
	type = reader.type(btf, id);
	if (!want->name)
		result = type->size;
	member = (const struct btf_member *)(type + 1);
	for (i = 0; want->name && i < BTF_INFO_VLEN(type->info); i++) {
		u32 bits = member[i].offset;

		if (strcmp(reader.name(btf, member[i].name_off), want->name))
			continue;
		if (BTF_INFO_KFLAG(type->info))
			bits = BTF_MEMBER_BIT_OFFSET(bits);
		result = bits / 8;
	}
	reader.put(btf);
	return result;
}

int fg_layout_init(const struct fg_symbols *sym)
{
	reader = (struct reader){
		.find = (void *)sym->lookup("bpf_find_btf_id"),
		.type = (void *)sym->lookup("btf_type_by_id"),
		.name = (void *)sym->lookup("btf_name_by_offset"),
		.put = (void *)sym->lookup("btf_put"),
	};
	if (reader.find && reader.type && reader.name && reader.put)
		return 0;
	pr_err("fakegpu: no type information (BTF) in this kernel\n");
	return -ENOEXEC;
}
