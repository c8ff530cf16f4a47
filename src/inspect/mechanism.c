// SPDX-License-Identifier: MIT
#include "inspect/mechanism.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "abi/kfd_ioctl.h"
#include "base/i18n.h"
#include "gpu/nvrm/nvrm.h"

#define GP_NO_HWS            2      /* amdgpu's sched_policy without the hardware scheduler */
#define GP_GFX_MES           110000 /* from gfx11 on another firmware (MES) schedules */
#define GP_ROCR_NEVER_MINOR  2      /* ROCr 5.2 and older never call RUNTIME_ENABLE */
#define GP_ROCR_ALWAYS_MINOR 3      /* ROCr 6.3 and newer do */

const char *gp_inspect_verdict_word(enum gp_inspect_verdict verdict)
{
	static const char *const words[] = {
		[GP_VERDICT_CAN] = "can",
		[GP_VERDICT_CANNOT] = "cannot",
		[GP_VERDICT_UNKNOWN] = "unknown",
	};

	return words[verdict];
}

__attribute__((format(printf, 3, 4))) static void
say(struct gp_inspect_judgement *out, enum gp_inspect_verdict verdict, const char *format, ...)
{
	va_list args;

	out->verdict = verdict;
	va_start(args, format);
	vsnprintf(out->reason, sizeof(out->reason), format, args);
	va_end(args);
}

/* True when there is a KFD with a GPU to open; otherwise says what is missing. */
static bool has_kfd(const struct gp_inspect_doctor *d, struct gp_inspect_judgement *out)
{
	if (!d->kfd_present && !d->amdgpu_loaded)
		say(out, GP_VERDICT_CANNOT, _("no KFD here: the amdgpu driver is not loaded"));
	else if (!d->kfd_present)
		say(out, GP_VERDICT_CANNOT,
		    _("amdgpu is loaded without KFD: a kernel built without CONFIG_HSA_AMD, or no "
		      "supported device"));
	else if (d->amd.count == 0)
		say(out, GP_VERDICT_CANNOT,
		    _("KFD lists no GPU: none is supported, or the device cgroup hides them all"));
	else
		return true;
	return false;
}

static bool may_open_kfd(const struct gp_inspect_doctor *d, struct gp_inspect_judgement *out)
{
	const struct gp_inspect_device_access *device = &d->kfd_device;

	if (!device->checked || device->error == 0)
		return true;
	if (device->error == -ENOENT)
		say(out, GP_VERDICT_CANNOT,
		    _("/dev/kfd is absent: pass the device to this container"));
	else if (device->error == -EPERM)
		say(out, GP_VERDICT_CANNOT,
		    _("/dev/kfd: %s: the device cgroup of this container forbids it"),
		    strerror(-device->error));
	else
		say(out, GP_VERDICT_CANNOT, _("/dev/kfd: %s: join the group '%s'"),
		    strerror(-device->error), device->group[0] ? device->group : "render");
	return false;
}

static void judge_agent(const struct gp_inspect_doctor *d, struct gp_inspect_judgement *out)
{
	if (!has_kfd(d, out) || !may_open_kfd(d, out))
		return;
	if ((d->valid & GP_DOC_CWSR) && d->cwsr_enable == 0)
		say(out, GP_VERDICT_UNKNOWN,
		    _("cwsr_enable=0: waves are not saved, so a queue may stop only when its "
		      "kernels end"));
	else if ((d->valid & GP_DOC_SCHED_POLICY) && d->sched_policy == GP_NO_HWS)
		say(out, GP_VERDICT_UNKNOWN,
		    _("sched_policy=2: not tried without the hardware scheduler"));
	else
		say(out, GP_VERDICT_CAN, "%s%s", _("for programs started under gpreempt run"),
		    d->kfd_device.checked ? "" : _("; access to /dev/kfd was not checked"));
}

static void judge_cumask(const struct gp_inspect_doctor *d, struct gp_inspect_judgement *out)
{
	if (!has_kfd(d, out) || !may_open_kfd(d, out))
		return;
	say(out, GP_VERDICT_CAN, "%s%s",
	    _("for programs started under gpreempt run; shares compute units, stops nothing"),
	    d->kfd_device.checked ? "" : _("; access to /dev/kfd was not checked"));
}

/* Whether another process of the same user can be attached to. */
static bool may_attach(const struct gp_inspect_doctor *d, struct gp_inspect_judgement *out)
{
	enum gp_inspect_verdict verdict =
		d->valid & GP_DOC_CAPABILITIES ? GP_VERDICT_CANNOT : GP_VERDICT_UNKNOWN;

	if (!(d->valid & GP_DOC_PTRACE_SCOPE) || d->ptrace_scope == 0)
		return true;
	if (d->ptrace_scope >= 3) {
		say(out, GP_VERDICT_CANNOT,
		    _("ptrace_scope 3: nothing can be attached to until the next boot"));
		return false;
	}
	if (gp_doctor_capable(d, GP_CAP_SYS_PTRACE))
		return true;
	if (d->ptrace_scope == 1)
		say(out, verdict,
		    _("ptrace_scope 1: only own children can be attached to; run as root or set "
		      "kernel.yama.ptrace_scope to 0"));
	else
		say(out, verdict, _("ptrace_scope 2: attaching needs CAP_SYS_PTRACE; run as root"));
	return false;
}

static bool debug_version(const struct gp_inspect_doctor *d, struct gp_inspect_judgement *out)
{
	if (!(d->valid & GP_DOC_KFD_VERSION)) {
		say(out, GP_VERDICT_UNKNOWN,
		    _("the KFD version is not known (a DKMS driver does not follow the kernel's "
		      "release); --probe asks the driver"));
		return false;
	}
	if (d->kfd_major == 1 && d->kfd_minor < GP_KFD_MINOR_DEBUG) {
		say(out, GP_VERDICT_CANNOT,
		    _("kernel %s has KFD 1.%u; the debug trap needs 1.13 (Linux 6.5)"), d->kernel,
		    d->kfd_minor);
		return false;
	}
	if ((d->valid & GP_DOC_SCHED_POLICY) && d->sched_policy == GP_NO_HWS) {
		say(out, GP_VERDICT_CANNOT,
		    _("sched_policy=2: KFD has no debug trap without the hardware scheduler"));
		return false;
	}
	return true;
}

static bool debug_gpus(const struct gp_inspect_doctor *d, struct gp_inspect_judgement *out)
{
	for (size_t i = 0; i < d->amd.count; i++) {
		const struct gp_gpu *gpu = &d->amd.items[i];
		char gfx[16] = "?";

		if (gpu->valid & GP_GPU_GFX)
			gp_kfd_gfx_name(gpu->gfx_version, gfx, sizeof(gfx));
		if (!(gpu->valid & GP_GPU_CAPABILITY)) {
			say(out, GP_VERDICT_UNKNOWN,
			    _("the capabilities of GPU node %u (%s) are not readable"), gpu->node,
			    gfx);
			return false;
		}
		/* The runtime skips RUNTIME_ENABLE altogether when one GPU lacks the bit. */
		if (!(gpu->capability & GP_KFD_CAP_TRAP_DEBUG_FW)) {
			say(out, GP_VERDICT_CANNOT,
			    _("GPU node %u (%s, MEC firmware %u) does not announce debugging "
			      "firmware (capability bit 29)"),
			    gpu->node, gfx, gpu->firmware);
			return false;
		}
		if ((gpu->valid & GP_GPU_GFX) && gpu->gfx_version >= GP_GFX_MES) {
			say(out, GP_VERDICT_UNKNOWN,
			    _("GPU node %u (%s) is scheduled by MES: not tried, and the grace "
			      "period is ignored there"),
			    gpu->node, gfx);
			return false;
		}
	}
	return true;
}

static void judge_debug(const struct gp_inspect_doctor *d, struct gp_inspect_judgement *out)
{
	if (!has_kfd(d, out) || !debug_version(d, out) || !debug_gpus(d, out) ||
	    !may_open_kfd(d, out) || !may_attach(d, out))
		return;
	if (!(d->valid & GP_DOC_ROCR_VERSION))
		say(out, GP_VERDICT_UNKNOWN,
		    _("the driver allows it; no ROCr of known version was found, and a program "
		      "can only be suspended if its ROCr calls RUNTIME_ENABLE"));
	else if (d->rocr_major < 5 || (d->rocr_major == 5 && d->rocr_minor <= GP_ROCR_NEVER_MINOR))
		say(out, GP_VERDICT_CANNOT,
		    _("ROCr %u.%u.%u never calls RUNTIME_ENABLE: start programs with gpreempt run"),
		    d->rocr_major, d->rocr_minor, d->rocr_patch);
	else if (d->rocr_major < 6 || (d->rocr_major == 6 && d->rocr_minor < GP_ROCR_ALWAYS_MINOR))
		say(out, GP_VERDICT_UNKNOWN,
		    _("the driver allows it; whether ROCr %u.%u.%u calls RUNTIME_ENABLE on this "
		      "kernel was not verified"),
		    d->rocr_major, d->rocr_minor, d->rocr_patch);
	else
		say(out, GP_VERDICT_CAN, "%s%s%s", _("running processes of this user"),
		    gp_doctor_capable(d, GP_CAP_SYS_PTRACE) ? _(", and of others") : "",
		    d->kfd_device.checked ? "" : _("; access to /dev/kfd was not checked"));
}

static void judge_module(const struct gp_inspect_doctor *d, struct gp_inspect_judgement *out)
{
	if (!has_kfd(d, out))
		return;
	if (d->module_loaded)
		say(out, GP_VERDICT_CAN,
		    _("gpreempt.ko is loaded; /dev/gpreempt is for root and its group"));
	else if ((d->valid & GP_DOC_KERNEL) && !d->amdgpu_dkms &&
		 (d->kernel_major < 6 || (d->kernel_major == 6 && d->kernel_minor < 1)))
		say(out, GP_VERDICT_CANNOT,
		    _("kernel %s: the module needs the amdgpu of Linux 6.1"), d->kernel);
	else if (d->modules_disabled)
		say(out, GP_VERDICT_CANNOT,
		    _("kernel.modules_disabled=1: no module can be loaded until the next boot"));
	else if ((d->valid & GP_DOC_LOCKDOWN) && strcmp(d->lockdown, "none"))
		say(out, GP_VERDICT_CANNOT,
		    _("kernel lockdown (%s): a module must be signed with a key this machine "
		      "trusts"),
		    d->lockdown);
	else if (d->signed_modules_only)
		say(out, GP_VERDICT_CANNOT,
		    _("module.sig_enforce: a module must be signed with a key this machine "
		      "trusts"));
	else if ((d->valid & GP_DOC_CAPABILITIES) && !gp_doctor_capable(d, GP_CAP_SYS_MODULE))
		say(out, GP_VERDICT_CANNOT, _("loading a module needs root (CAP_SYS_MODULE)"));
	else if (d->amdgpu_dkms)
		say(out, GP_VERDICT_UNKNOWN,
		    _("the module stays out where amdgpu comes without type information (BTF), as "
		      "DKMS usually builds it"));
	else
		say(out, GP_VERDICT_CAN,
		    _("as root, with the headers of kernel %s to build it (kernel/module); tried "
		      "on Linux 6.1 and 6.12"),
		    d->kernel[0] ? d->kernel : "?");
}

static void judge_patched(const struct gp_inspect_doctor *d, struct gp_inspect_judgement *out)
{
	if (!has_kfd(d, out))
		return;
	if (!d->kfd_sched[0])
		say(out, GP_VERDICT_CANNOT,
		    _("needs an amdgpu built with the scheduler inside; this one is %s"),
		    d->amdgpu_dkms ? _("a stock DKMS driver") : _("the kernel's own"));
	else if (strcmp(d->kfd_sched, "off") == 0)
		say(out, GP_VERDICT_CAN,
		    _("the driver has the scheduler inside, and it is off: write a policy to "
		      "/sys/module/amdgpu/parameters/kfd_sched"));
	else
		say(out, GP_VERDICT_CAN,
		    _("the driver schedules by logical priority itself (policy %s)"), d->kfd_sched);
}

/* True when the NVIDIA driver is there, reachable and of a branch that was tried. */
static bool has_nvidia(const struct gp_inspect_doctor *d, struct gp_inspect_judgement *out)
{
	const struct gp_nvrm_branch *branch = gp_nvrm_branch(d->nvidia_version);

	if (!d->nvidia_version[0]) {
		say(out, GP_VERDICT_CANNOT,
		    _("no NVIDIA driver (/proc/driver/nvidia/version is absent)"));
		return false;
	}
	if (d->nvidia_device.checked && d->nvidia_device.error) {
		say(out, GP_VERDICT_CANNOT, _("/dev/nvidiactl: %s"),
		    strerror(-d->nvidia_device.error));
		return false;
	}
	if (!branch) {
		say(out, GP_VERDICT_UNKNOWN,
		    _("driver %s is of a branch whose calls were not checked: refused unless "
		      "GPREEMPT_NVRM_FORCE=1"),
		    d->nvidia_version);
		return false;
	}
	if (!branch->tried) {
		say(out, GP_VERDICT_UNKNOWN,
		    _("driver %s has the calls of the branch that was tried (580), by its headers "
		      "alone"),
		    d->nvidia_version);
		return false;
	}
	return true;
}

/* For own programs nothing more is needed; for running ones the right to ptrace them. */
static void say_nvidia(const struct gp_inspect_doctor *d, struct gp_inspect_judgement *out)
{
	struct gp_inspect_judgement attach = {0};
	char text[256];

	snprintf(text, sizeof(text), _("driver %s; processes of this user"), d->nvidia_version);
	if (may_attach(d, &attach))
		say(out, GP_VERDICT_CAN, "%s%s%s", text,
		    d->nvidia.count > 1 ? _("; several GPUs were tried on a stand-in only") : "",
		    d->nvidia_mig ? _("; MIG was tried on a stand-in only") : "");
	else
		say(out, GP_VERDICT_CAN,
		    _("driver %s; programs started under gpreempt run only (%s)"),
		    d->nvidia_version, attach.reason);
}

static void judge_timeslice(const struct gp_inspect_doctor *d, struct gp_inspect_judgement *out)
{
	if (has_nvidia(d, out))
		say_nvidia(d, out);
}

static void judge_suspend(const struct gp_inspect_doctor *d, struct gp_inspect_judgement *out)
{
	if (!has_nvidia(d, out))
		return;
	if (!d->nvidia_open)
		say(out, GP_VERDICT_UNKNOWN,
		    _("driver %s has the closed kernel modules; tried with the open ones only"),
		    d->nvidia_version);
	else
		say_nvidia(d, out);
}

const struct gp_inspect_mechanism gp_inspect_mechanisms[] = {
	{"kfd-agent", N_("process or queue"), true, judge_agent},
	{"kfd-cumask", N_("queue (shares)"), false, judge_cumask},
	{"kfd-debug", N_("running process"), true, judge_debug},
	{"kfd-module", N_("process"), true, judge_module},
	{"kfd-patched", N_("queue"), true, judge_patched},
	{"nv-timeslice", N_("process (shares)"), true, judge_timeslice},
	{"nv-suspend", N_("process"), true, judge_suspend},
	{0},
};
