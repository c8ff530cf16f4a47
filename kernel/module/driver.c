// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What neither amdgpu nor the kernel exports. A kprobe that is never armed
 * gives the address, the type information (BTF) of the running kernel and of
 * the amdgpu that is loaded gives the signature: a function that is not
 * exactly what was expected is not called.
 *
 * The calls are static calls, patched to direct ones: the hardware's and the
 * compiler's checks of indirect branches (IBT, kCFI) refuse functions whose
 * address nobody was meant to take.
 */
#define pr_fmt(fmt) "gpreempt: " fmt

#include <linux/btf.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/sched/task.h>
#include <linux/static_call.h>

#include "gpreempt.h"

#define DRIVER			"amdgpu"
#define TRIGGER_SUSPEND		3	/* KFD_QUEUE_EVICTION_TRIGGER_SUSPEND */
#define SCHED_POLICY_NO_HWS	2	/* KFD_SCHED_POLICY_NO_HWS */
#define MAX_NODES		256	/* the index is a u8 */
#define SIGNATURE_SIZE		96

/* A test builds a module that expects something else here. */
#ifndef QUIESCE_SIGNATURE
#define QUIESCE_SIGNATURE "s32 (mm_struct *, u32)"
#endif

/* Prototypes for the calls; there are no such functions. */
int gp_quiesce_mm(struct mm_struct *mm, u32 trigger);
int gp_resume_mm(struct mm_struct *mm);
int gp_enum_devices(u8 index, void **device);
struct task_struct *gp_pidfd_get_task(int pidfd, unsigned int *flags);
s32 gp_find_btf_id(const char *name, u32 kind, struct btf **btf);
const char *gp_btf_name(const struct btf *btf, u32 offset);
struct module *gp_btf_module(const struct btf *btf);
void gp_btf_put(struct btf *btf);

DEFINE_STATIC_CALL_NULL(quiesce_mm, gp_quiesce_mm);
DEFINE_STATIC_CALL_NULL(resume_mm, gp_resume_mm);
DEFINE_STATIC_CALL_NULL(enum_devices, gp_enum_devices);
DEFINE_STATIC_CALL_NULL(pidfd_task, gp_pidfd_get_task);
DEFINE_STATIC_CALL_NULL(find_btf_id, gp_find_btf_id);
DEFINE_STATIC_CALL_NULL(btf_name, gp_btf_name);
DEFINE_STATIC_CALL_NULL(btf_module, gp_btf_module);
DEFINE_STATIC_CALL_NULL(btf_release, gp_btf_put);

static struct module *driver;
/* The driver's restore needs a VM on each of the process's GPUs: vms.c. */
static bool needs_vms;

/* ---- addresses ---- */

/*
 * After the landing pad for indirect branches, if there is one: fit for
 * direct calls only. @name may be "module:function".
 */
void *gp_inspect_find(const char *name)
{
	struct kprobe probe = {
		.symbol_name = name,
		.flags = KPROBE_FLAG_DISABLED,
	};
	void *address;

	if (register_kprobe(&probe))
		return NULL;
	address = probe.addr;
	unregister_kprobe(&probe);
	return address;
}

#define FIND(call, name)						\
	({								\
		void *address_ = gp_inspect_find(name);				\
									\
		if (address_)						\
			static_call_update(call, address_);		\
		else							\
			pr_err("this kernel has no %s\n", name);	\
		address_;						\
	})

/* ---- signatures ---- */

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

/*
 * Whether the function has that signature, and where it is: in amdgpu, of
 * which a reference is taken once, or (@in_driver false) in the kernel.
 */
int gp_inspect_check(const char *name, const char *expected, bool in_driver)
{
	char found[SIGNATURE_SIZE];
	struct module *owner;
	struct btf *btf = NULL;
	s32 id = static_call(find_btf_id)(name, BTF_KIND_FUNC, &btf);

	if (id < 0) {
		pr_err("no type information (BTF) for %s: a %s that was not built with the kernel is not known here\n",
		       name, in_driver ? DRIVER : "kernel");
		return -ENOEXEC;
	}
	write_signature(found, btf, id);
	owner = static_call(btf_module)(btf);
	static_call(btf_release)(btf);
	if (in_driver && owner && !strcmp(owner->name, DRIVER)) {
		if (!driver)
			driver = owner;
		else
			module_put(owner);
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

/* ---- the kernel ---- */

/* 0 when BTF can be read and the functions of the kernel are as expected. */
static int find_in_kernel(void)
{
	int error;

	if (!FIND(find_btf_id, "bpf_find_btf_id") ||
	    !FIND(btf_name, "btf_name_by_offset") ||
	    !FIND(btf_module, "btf_try_get_module") ||
	    !FIND(btf_release, "btf_put") ||
	    !FIND(pidfd_task, "pidfd_get_task"))
		return -ENOENT;
	/* The first ones had to be trusted in order to be asked. */
	error = gp_inspect_check("bpf_find_btf_id", "s32 (u8 *, u32, btf **)", false);
	if (!error)
		error = gp_inspect_check("btf_name_by_offset", "u8 * (btf *, u32)",
				 false);
	if (!error)
		error = gp_inspect_check("btf_try_get_module", "module * (btf *)", false);
	if (!error)
		error = gp_inspect_check("btf_put", "void (btf *)", false);
	if (!error)
		error = gp_inspect_check("pidfd_get_task",
				 "task_struct * (s32, u32 *)", false);
	return error;
}

/* ---- amdgpu ---- */

/* An int among amdgpu's parameters, or -1. */
static int driver_parameter(const char *name)
{
	u32 i;

	for (i = 0; i < driver->num_kp; i++)
		if (!strcmp(driver->kp[i].name, name) &&
		    driver->kp[i].ops == &param_ops_int)
			return *(const int *)driver->kp[i].arg;
	return -1;
}

/*
 * A process need not have a VM on every GPU. Restoring one that has not was an
 * access through NULL until the debug trap came (6.5), and still is where the
 * driver puts queues on the hardware itself.
 */
static int check_age(void)
{
	needs_vms = !gp_inspect_find(DRIVER ":kfd_dbg_trap_enable");
	return needs_vms ? gp_vms_init() : 0;
}

/* Devices had no nodes below them before 6.5 either. */
static int check_devices(void)
{
	return gp_inspect_check("kfd_topology_enum_kfd_devices",
			needs_vms ? "s32 (u8, kfd_dev **)" :
				    "s32 (u8, kfd_node **)", true);
}

static int check_policy(void)
{
	int policy = driver_parameter("sched_policy");

	if (policy < 0 || policy == SCHED_POLICY_NO_HWS) {
		pr_err("%s.sched_policy=%d: restoring a process could crash it without the hardware scheduler\n",
		       DRIVER, policy);
		return -ENOEXEC;
	}
	return 0;
}

static int find_in_driver(void)
{
	void *quiesce = gp_inspect_find(DRIVER ":kgd2kfd_quiesce_mm");
	void *resume, *devices;
	int error;

	if (!quiesce) {
		pr_err("no kgd2kfd_quiesce_mm: %s is not loaded, or has no KFD\n",
		       DRIVER);
		return -ENOENT;
	}
	error = check_age();
	if (!error)
		error = gp_inspect_check("kgd2kfd_quiesce_mm", QUIESCE_SIGNATURE, true);
	if (!error)
		error = gp_inspect_check("kgd2kfd_resume_mm", "s32 (mm_struct *)", true);
	if (!error)
		error = check_devices();
	if (error)
		return error;
	/* It cannot leave any more: what is found now is what will be called. */
	quiesce = FIND(quiesce_mm, DRIVER ":kgd2kfd_quiesce_mm");
	resume = FIND(resume_mm, DRIVER ":kgd2kfd_resume_mm");
	devices = FIND(enum_devices, DRIVER ":kfd_topology_enum_kfd_devices");
	if (!quiesce || !resume || !devices)
		return -ENOENT;
	return check_policy();
}

int gp_driver_get(void)
{
	int error = find_in_kernel();

	if (!error)
		error = find_in_driver();
	if (error) {
		pr_err("not loading\n");
		gp_driver_put();
	}
	return error;
}

void gp_driver_put(void)
{
	if (driver)
		module_put(driver);
	driver = NULL;
}

u32 gp_driver_gpus(void)
{
	void *device;
	u32 i, count = 0;

	for (i = 0; i < MAX_NODES; i++) {
		if (static_call(enum_devices)(i, &device))
			break;
		count += device != NULL;
	}
	return count;
}

/*
 * KFD counts evictions per process and GPU. Its own always come in pairs, and
 * so do ours; but when one fails, what was counted differs:
 *  - EIO (a reset is under way): counted on every GPU;
 *  - anything else: on the GPU that failed, and taken back on those before it.
 * A restore that takes back more than was counted would undo an eviction of
 * KFD itself, that is, let queues run on memory that has moved. So with
 * several GPUs the process is left off on the one that does not answer.
 */
static void take_back(struct mm_struct *mm, int error)
{
	if (error == -ESRCH)
		return;
	if (error == -EIO || gp_driver_gpus() == 1)
		static_call(resume_mm)(mm);
	else
		pr_warn("eviction failed (%d): its process stays off on the GPU that does not answer\n",
			error);
}

int gp_driver_evict(struct mm_struct *mm)
{
	int error = needs_vms ? gp_vms_check(mm) : 0;

	if (error)
		return error;
	error = static_call(quiesce_mm)(mm, TRIGGER_SUSPEND);
	if (error)
		take_back(mm, error);
	return error;
}

int gp_driver_restore(struct mm_struct *mm)
{
	return static_call(resume_mm)(mm);
}

struct task_struct *gp_task_of_pidfd(int pidfd)
{
	unsigned int flags;

	return static_call(pidfd_task)(pidfd, &flags);
}
