// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What the functions and structures of amdgpu are, from the type information
 * (BTF) of the running kernel and of the amdgpu that is loaded. known.c does
 * it for a driver without, whose source was given when this was built.
 */
#define pr_fmt(fmt) "gpreempt: " fmt

#include <linux/btf.h>
#include <linux/module.h>
#include <linux/static_call.h>

#include "gpreempt.h"

#define SIGNATURE_SIZE		GP_SIGNATURE_SIZE

/* Prototypes for the calls; there are no such functions. */
s32 gp_find_btf_id(const char *name, u32 kind, struct btf **btf);
const char *gp_btf_name(const struct btf *btf, u32 offset);
struct module *gp_btf_module(const struct btf *btf);
void gp_btf_put(struct btf *btf);

DEFINE_STATIC_CALL_NULL(find_btf_id, gp_find_btf_id);
DEFINE_STATIC_CALL_NULL(btf_name, gp_btf_name);
DEFINE_STATIC_CALL_NULL(btf_module, gp_btf_module);
DEFINE_STATIC_CALL_NULL(btf_release, gp_btf_put);

static const struct btf_type *plain_type(const struct btf *btf, u32 id)
{
	const struct btf_type *type = btf_type_by_id(btf, id);

	while (type) {
		switch (BTF_INFO_KIND(type->info)) {
		case BTF_KIND_TYPEDEF:
		case BTF_KIND_CONST:
		case BTF_KIND_VOLATILE:
		case BTF_KIND_RESTRICT:
		case BTF_KIND_TYPE_TAG:
			type = btf_type_by_id(btf, type->type);
			break;
		default:
			return type;
		}
	}
	return NULL;
}

/* "u32", "mm_struct *", "kfd_node **", "u8 *[]"; what is not known is "?". */
static void append_type(char *out, const struct btf *btf, u32 id)
{
	const struct btf_type *type = plain_type(btf, id);
	char stars[4] = "";
	size_t depth = 0;
	bool array = type && BTF_INFO_KIND(type->info) == BTF_KIND_ARRAY;

	if (array) {
		id = ((const struct btf_array *)(type + 1))->type;
		type = plain_type(btf, id);
	}

	if (!id) {
		strlcat(out, "void", SIGNATURE_SIZE);
		return;
	}
	while (type && BTF_INFO_KIND(type->info) == BTF_KIND_PTR &&
	       depth < sizeof(stars) - 1) {
		stars[depth++] = '*';
		if (!type->type) {
			strlcat(out, "void", SIGNATURE_SIZE);
			goto stars;
		}
		type = plain_type(btf, type->type);
	}
	if (type && BTF_INFO_KIND(type->info) == BTF_KIND_INT) {
		u32 form = *(const u32 *)(type + 1);
		/* Whether char is depends on the compiler's options. */
		bool is_signed = type->size > 1 &&
				 BTF_INT_ENCODING(form) & BTF_INT_SIGNED;
		size_t used = strlen(out);

		snprintf(out + used, SIGNATURE_SIZE - used, "%c%u",
			 is_signed ? 's' : 'u', type->size * 8);
	} else if (type && type->name_off) {
		strlcat(out, static_call(btf_name)(btf, type->name_off),
			SIGNATURE_SIZE);
	} else {
		strlcat(out, "?", SIGNATURE_SIZE);
	}
stars:
	if (depth)
		strlcat(out, " ", SIGNATURE_SIZE);
	strlcat(out, stars, SIGNATURE_SIZE);
	if (array)
		strlcat(out, "[]", SIGNATURE_SIZE);
}

/* As "s32 (mm_struct *, u32)". */
static void write_signature(char *out, const struct btf *btf, u32 id)
{
	const struct btf_type *function = btf_type_by_id(btf, id), *prototype;
	const struct btf_param *param;
	u32 i;

	out[0] = '\0';
	prototype = function ? btf_type_by_id(btf, function->type) : NULL;
	if (!prototype ||
	    BTF_INFO_KIND(prototype->info) != BTF_KIND_FUNC_PROTO)
		return;
	append_type(out, btf, prototype->type);
	strlcat(out, " (", SIGNATURE_SIZE);
	param = (const struct btf_param *)(prototype + 1);
	for (i = 0; i < BTF_INFO_VLEN(prototype->info); i++) {
		if (i)
			strlcat(out, ", ", SIGNATURE_SIZE);
		append_type(out, btf, param[i].type);
	}
	strlcat(out, ")", SIGNATURE_SIZE);
}

/* As in gp_inspect_check(); the owner is NULL for the kernel, and referenced. */
static int read_signature(const char *name, char *out, struct module **owner)
{
	struct btf *btf = NULL;
	s32 id = static_call(find_btf_id)(name, BTF_KIND_FUNC, &btf);

	if (id < 0)
		return -ENOENT;
	write_signature(out, btf, id);
	*owner = static_call(btf_module)(btf);
	static_call(btf_release)(btf);
	return 0;
}

bool gp_inspect_is(const char *name, const char *signature)
{
	char found[SIGNATURE_SIZE];
	struct module *owner;

	if (read_signature(name, found, &owner))
		return false;
	module_put(owner);
	return !strcmp(found, signature);
}

int gp_inspect_check(const char *name, const char *expected, bool in_driver)
{
	char found[SIGNATURE_SIZE];
	struct module *owner;

	if (read_signature(name, found, &owner)) {
		pr_err("no type information (BTF) for %s: for a %s that was not built with the kernel, build this module with DRIVER=\n",
		       name, in_driver ? GP_DRIVER : "kernel");
		return -ENOEXEC;
	}
	if (in_driver && owner && !strcmp(owner->name, GP_DRIVER)) {
		gp_driver_found(owner);
	} else if (in_driver || owner) {
		pr_err("%s is in %s\n", name, owner ? owner->name : "the kernel");
		module_put(owner);
		return -ENOEXEC;
	}
	if (strcmp(found, expected)) {
		pr_err("%s is %s, known is %s\n", name, found, expected);
		return -ENOEXEC;
	}
	return 0;
}

/*
 * Where a structure of amdgpu has its member, which must be of that type; -1
 * and a line in the log when it is not. An array is "type[]".
 */
int gp_holder_member(const char *structure, const char *name, const char *expected)
{
	char found[SIGNATURE_SIZE] = "nowhere";
	const struct btf_type *type;
	const struct btf_member *member;
	struct btf *btf = NULL;
	s32 id = static_call(find_btf_id)(structure, BTF_KIND_STRUCT, &btf);
	int offset = -1;
	u32 i;

	if (id < 0)
		goto out;
	type = btf_type_by_id(btf, id);
	member = (const struct btf_member *)(type + 1);
	for (i = 0; i < BTF_INFO_VLEN(type->info); i++) {
		u32 bits = member[i].offset;

		if (strcmp(static_call(btf_name)(btf, member[i].name_off),
			   name))
			continue;
		found[0] = '\0';
		append_type(found, btf, member[i].type);
		if (BTF_INFO_KFLAG(type->info))
			bits = BTF_MEMBER_BIT_OFFSET(bits);
		offset = bits / 8;
	}
	static_call(btf_release)(btf);
out:
	if (offset >= 0 && !strcmp(found, expected))
		return offset;
	pr_err("%s.%s is %s, known is %s\n", structure, name, found, expected);
	return -1;
}

/* ---- the kernel's own functions that read BTF ---- */

int gp_inspect_init(void)
{
	int error;

	if (!GP_FIND(find_btf_id, "bpf_find_btf_id") ||
	    !GP_FIND(btf_name, "btf_name_by_offset") ||
	    !GP_FIND(btf_module, "btf_try_get_module") ||
	    !GP_FIND(btf_release, "btf_put"))
		return -ENOENT;
	/* They had to be trusted in order to be asked. */
	error = gp_inspect_check("bpf_find_btf_id", "s32 (u8 *, u32, btf **)", false);
	if (!error)
		error = gp_inspect_check("btf_name_by_offset", "u8 * (btf *, u32)",
				 false);
	if (!error)
		error = gp_inspect_check("btf_try_get_module", "module * (btf *)", false);
	if (!error)
		error = gp_inspect_check("btf_put", "void (btf *)", false);
	return error;
}
