// SPDX-License-Identifier: MIT
#include "inspect/mechanism.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "abi/kfd_ioctl.h"
#include "base/core.h"
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

/* An error means that it cannot work, a warning that it is unknown. Clauses are joined. */
static void keep(struct gp_diag *diag, enum gp_severity severity, const char *text)
{
	struct gp_inspect_judgement *out = gp_container(diag, struct gp_inspect_judgement, diag);
	size_t len = strlen(out->reason);

	if (severity != GP_NOTE)
		out->verdict = severity == GP_ERROR ? GP_VERDICT_CANNOT : GP_VERDICT_UNKNOWN;
	snprintf(out->reason + len, sizeof(out->reason) - len, "%s", text);
}

/* True when there is a KFD with a GPU to open; otherwise gives the reason. */
static bool has_kfd(const struct gp_inspect_doctor *d, struct gp_inspect_judgement *out)
{
	if (!d->kfd_present && !d->amdgpu_loaded)
		gp_diag(&out->diag, GP_ERROR, "no KFD: the amdgpu driver is not loaded");
	else if (!d->kfd_present)
		gp_diag(&out->diag, GP_ERROR,
			"amdgpu is loaded without KFD: the kernel lacks CONFIG_HSA_AMD, or no "
			"device is supported");
	else if (d->amd.count == 0)
		gp_diag(&out->diag, GP_ERROR,
			"KFD lists no GPUs: none is supported, or the device cgroup hides all of "
			"them");
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
		gp_diag(&out->diag, GP_ERROR,
			"/dev/kfd is absent; if this is a container, pass the device to it");
	else if (device->error == -EPERM)
		gp_diag(&out->diag, GP_ERROR,
			"/dev/kfd: %s: blocked by this container's device cgroup",
			strerror(-device->error));
	else
		gp_diag(&out->diag, GP_ERROR, "/dev/kfd: %s: join the group '%s'",
			strerror(-device->error), device->group[0] ? device->group : "render");
	return false;
}

static void note_unchecked(const struct gp_inspect_doctor *d, struct gp_inspect_judgement *out)
{
	if (out->verdict == GP_VERDICT_CAN && !d->kfd_device.checked)
		gp_diag(&out->diag, GP_NOTE, "; access to /dev/kfd was not checked");
}

static void judge_agent(const struct gp_inspect_doctor *d, struct gp_inspect_judgement *out)
{
	if (!has_kfd(d, out) || !may_open_kfd(d, out))
		return;
	if ((d->valid & GP_DOCTOR_CWSR) && d->cwsr_enable == 0)
		gp_diag(&out->diag, GP_WARNING,
			"cwsr_enable=0: waves are not saved, so suspending a queue may have to "
			"wait until its kernels end");
	else if ((d->valid & GP_DOCTOR_SCHED_POLICY) && d->sched_policy == GP_NO_HWS)
		gp_diag(&out->diag, GP_WARNING,
			"sched_policy=2 disables the hardware scheduler: this mode is untested");
	else
		gp_diag(&out->diag, GP_NOTE, "for programs started with 'gpreempt run'");
	note_unchecked(d, out);
}

static void judge_cumask(const struct gp_inspect_doctor *d, struct gp_inspect_judgement *out)
{
	if (!has_kfd(d, out) || !may_open_kfd(d, out))
		return;
	gp_diag(&out->diag, GP_NOTE,
		"for programs started with 'gpreempt run'; limits their compute units instead of "
		"suspending them");
	note_unchecked(d, out);
}

/* Whether another process of the same user can be attached to. */
static bool may_attach(const struct gp_inspect_doctor *d, struct gp_inspect_judgement *out)
{
	enum gp_severity severity = d->valid & GP_DOCTOR_CAPABILITIES ? GP_ERROR : GP_WARNING;

	if (!(d->valid & GP_DOCTOR_PTRACE_SCOPE) || d->ptrace_scope == 0)
		return true;
	if (d->ptrace_scope >= 3) {
		gp_diag(&out->diag, GP_ERROR,
			"ptrace_scope 3 forbids attaching to any process until the next boot");
		return false;
	}
	if (gp_inspect_doctor_capable(d, GP_CAP_SYS_PTRACE))
		return true;
	if (d->ptrace_scope == 1)
		gp_diag(&out->diag, severity,
			"ptrace_scope 1 allows attaching only to descendants; run as root or "
			"set kernel.yama.ptrace_scope to 0");
	else
		gp_diag(&out->diag, severity,
			"ptrace_scope 2 requires CAP_SYS_PTRACE for attaching; run as root");
	return false;
}

static bool debug_version(const struct gp_inspect_doctor *d, struct gp_inspect_judgement *out)
{
	if (!(d->valid & GP_DOCTOR_KFD_VERSION)) {
		gp_diag(&out->diag, GP_WARNING,
			"the KFD version is unknown: it does not follow from the version of this "
			"kernel or of a DKMS driver; on the live system, --probe asks the driver");
		return false;
	}
	if (d->kfd_major == 1 && d->kfd_minor < GP_KFD_MINOR_DEBUG) {
		gp_diag(&out->diag, GP_ERROR,
			"KFD 1.%u is too old: the debug trap needs 1.13 (Linux 6.5)", d->kfd_minor);
		return false;
	}
	if ((d->valid & GP_DOCTOR_SCHED_POLICY) && d->sched_policy == GP_NO_HWS) {
		gp_diag(&out->diag, GP_ERROR,
			"sched_policy=2: KFD has no debug trap without the hardware scheduler");
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
			gp_diag(&out->diag, GP_WARNING,
				"cannot read the capabilities of GPU node %u (%s)", gpu->node, gfx);
			return false;
		}
		/* The runtime skips RUNTIME_ENABLE altogether when one GPU lacks the bit. */
		if (!(gpu->capability & GP_KFD_CAP_TRAP_DEBUG_FW)) {
			gp_diag(&out->diag, GP_ERROR,
				"GPU node %u (%s): MEC firmware %u does not support debugging "
				"(capability bit 29 is not set)",
				gpu->node, gfx, gpu->firmware);
			return false;
		}
		if ((gpu->valid & GP_GPU_GFX) && gpu->gfx_version >= GP_GFX_MES) {
			gp_diag(&out->diag, GP_WARNING,
				"GPU node %u (%s) is scheduled by MES, which is untested and "
				"ignores the grace period",
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
	if (!(d->valid & GP_DOCTOR_ROCR_VERSION))
		gp_diag(&out->diag, GP_WARNING,
			"supported by the driver, but no ROCr with a known version was found; a "
			"program can be suspended only if its ROCr calls RUNTIME_ENABLE");
	else if (d->rocr_major < 5 || (d->rocr_major == 5 && d->rocr_minor <= GP_ROCR_NEVER_MINOR))
		gp_diag(&out->diag, GP_ERROR,
			"ROCr %u.%u.%u never calls RUNTIME_ENABLE: start programs with 'gpreempt "
			"run'",
			d->rocr_major, d->rocr_minor, d->rocr_patch);
	else if (d->rocr_major < 6 || (d->rocr_major == 6 && d->rocr_minor < GP_ROCR_ALWAYS_MINOR))
		gp_diag(&out->diag, GP_WARNING,
			"supported by the driver; it is unknown whether ROCr %u.%u.%u calls "
			"RUNTIME_ENABLE on this kernel",
			d->rocr_major, d->rocr_minor, d->rocr_patch);
	else
		gp_diag(&out->diag, GP_NOTE,
			gp_inspect_doctor_capable(d, GP_CAP_SYS_PTRACE)
				? N_("for running processes of all users")
				: N_("for running processes of this user"));
	note_unchecked(d, out);
}

static void judge_module(const struct gp_inspect_doctor *d, struct gp_inspect_judgement *out)
{
	if (!has_kfd(d, out))
		return;
	if (d->module_loaded)
		gp_diag(&out->diag, GP_NOTE,
			"gpreempt.ko is loaded; root and the group of /dev/gpreempt can use it");
	else if ((d->valid & GP_DOCTOR_KERNEL) && !d->amdgpu_dkms &&
		 (d->kernel_major < 6 || (d->kernel_major == 6 && d->kernel_minor < 1)))
		gp_diag(&out->diag, GP_ERROR,
			"kernel %s is too old: the module needs amdgpu from Linux 6.1 or later",
			d->kernel);
	else if (d->modules_disabled)
		gp_diag(&out->diag, GP_ERROR,
			"kernel.modules_disabled=1: modules cannot be loaded until the next boot");
	else if ((d->valid & GP_DOCTOR_LOCKDOWN) && strcmp(d->lockdown, "none"))
		gp_diag(&out->diag, GP_ERROR,
			"kernel lockdown (%s): modules must be signed with a trusted key",
			d->lockdown);
	else if (d->signed_modules_only)
		gp_diag(&out->diag, GP_ERROR,
			"module.sig_enforce=1: modules must be signed with a trusted key");
	else if ((d->valid & GP_DOCTOR_CAPABILITIES) &&
		 !gp_inspect_doctor_capable(d, GP_CAP_SYS_MODULE))
		gp_diag(&out->diag, GP_ERROR, "loading a module needs root (CAP_SYS_MODULE)");
	else if (d->amdgpu_dkms)
		gp_diag(&out->diag, GP_WARNING,
			"load gpreempt.ko as root; for a DKMS driver without type information "
			"(BTF), build it with the driver's source: make -C kernel/module "
			"DRIVER=/usr/src/amdgpu-VERSION");
	else
		gp_diag(&out->diag, GP_NOTE,
			"load gpreempt.ko as root; to build it, install the headers of Linux %s "
			"(see kernel/module); tested on Linux 6.1 and 6.12",
			d->kernel[0] ? d->kernel : "?");
}

static void judge_patched(const struct gp_inspect_doctor *d, struct gp_inspect_judgement *out)
{
	if (!has_kfd(d, out))
		return;
	if (!d->kfd_sched[0])
		gp_diag(&out->diag, GP_ERROR,
			d->amdgpu_dkms ? N_("needs an amdgpu driver with the built-in gpreempt "
					    "scheduler; this is a stock DKMS driver")
				       : N_("needs an amdgpu driver with the built-in gpreempt "
					    "scheduler; this is the stock in-tree driver"));
	else if (strcmp(d->kfd_sched, "off") == 0)
		gp_diag(&out->diag, GP_NOTE,
			"the built-in scheduler is off: to enable it, write a policy such as "
			"'priority' to /sys/module/amdgpu/parameters/kfd_sched");
	else
		gp_diag(&out->diag, GP_NOTE,
			"the driver itself schedules by logical priority (policy %s)",
			d->kfd_sched);
}

/* True when the NVIDIA driver is there, reachable and of a branch that was tried. */
static bool has_nvidia(const struct gp_inspect_doctor *d, struct gp_inspect_judgement *out)
{
	const struct gp_nvrm_branch *branch = gp_nvrm_branch(d->nvidia_version);

	if (!d->nvidia_version[0]) {
		gp_diag(&out->diag, GP_ERROR,
			"no NVIDIA driver (/proc/driver/nvidia/version is absent)");
		return false;
	}
	if (d->nvidia_device.checked && d->nvidia_device.error) {
		gp_diag(&out->diag, GP_ERROR, "/dev/nvidiactl: %s",
			strerror(-d->nvidia_device.error));
		return false;
	}
	if (!branch) {
		gp_diag(&out->diag, GP_WARNING,
			"driver %s is from an unverified branch; set GPREEMPT_NVRM_FORCE=1 to try "
			"it anyway",
			d->nvidia_version);
		return false;
	}
	if (!branch->tried) {
		gp_diag(&out->diag, GP_WARNING,
			"driver %s is untested; its headers show the same interface as the tested "
			"branch (580)",
			d->nvidia_version);
		return false;
	}
	return true;
}

/* Own programs need nothing more; running ones need the right to ptrace them. */
static void say_nvidia(const struct gp_inspect_doctor *d, struct gp_inspect_judgement *out)
{
	struct gp_inspect_judgement attach = {.diag.emit = keep};

	if (!may_attach(d, &attach)) {
		gp_diag(&out->diag, GP_NOTE,
			"driver %s; only for programs started with 'gpreempt run' (%s)",
			d->nvidia_version, attach.reason);
		return;
	}
	gp_diag(&out->diag, GP_NOTE,
		gp_inspect_doctor_capable(d, GP_CAP_SYS_PTRACE)
			? N_("driver %s; for processes of all users")
			: N_("driver %s; for processes of this user"),
		d->nvidia_version);
	if (d->nvidia.count > 1)
		gp_diag(&out->diag, GP_NOTE,
			"; multiple GPUs have been tested only with a simulated driver");
	if (d->nvidia_mig)
		gp_diag(&out->diag, GP_NOTE, "; MIG has been tested only with a simulated driver");
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
		gp_diag(&out->diag, GP_WARNING,
			"driver %s uses the proprietary kernel modules; only the open kernel "
			"modules have been tested",
			d->nvidia_version);
	else
		say_nvidia(d, out);
}

const struct gp_inspect_mechanism gp_inspect_mechanisms[] = {
	{"kfd-agent", N_("process or queue"), true, judge_agent},
	{"kfd-cumask", N_("queue (compute units)"), false, judge_cumask},
	{"kfd-debug", N_("running process"), true, judge_debug},
	{"kfd-module", N_("process"), true, judge_module},
	{"kfd-patched", N_("queue"), true, judge_patched},
	{"nv-timeslice", N_("process (time slice)"), true, judge_timeslice},
	{"nv-suspend", N_("process"), true, judge_suspend},
	{0},
};

void gp_inspect_judge(const struct gp_inspect_mechanism *mechanism,
		      const struct gp_inspect_doctor *d, struct gp_inspect_judgement *out)
{
	*out = (struct gp_inspect_judgement){.diag.emit = keep};
	mechanism->judge(d, out);
}
