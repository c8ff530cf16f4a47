// SPDX-License-Identifier: MIT
#include "inspect/advice.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/kfd_ioctl.h"
#include "base/i18n.h"

#define NO_HWS          2
#define GFX_MES         110000
#define KCQ_RECOMMENDED 2
#define REBOOT          N_("then rebuild the initramfs (update-initramfs -u, or dracut -f) and reboot")
#define LOGIN_AGAIN     N_("then log in again")

struct list {
	struct gp_inspect_advice *items;
	size_t count;
};

static struct gp_inspect_advice *add(struct list *list, enum gp_inspect_weight weight,
				     const char *id, const char *text)
{
	struct gp_inspect_advice *advice;

	if (list->count == GP_ADVICE_MAX)
		return &list->items[GP_ADVICE_MAX - 1];
	advice = &list->items[list->count++];
	*advice = (struct gp_inspect_advice){.id = id, .weight = weight};
	snprintf(advice->text, sizeof(advice->text), "%s", text);
	return advice;
}

const char *gp_inspect_weight_word(enum gp_inspect_weight weight)
{
	static const char *const words[] = {
		[GP_ADVICE_STOPS] = "stops",
		[GP_ADVICE_COSTS] = "costs",
		[GP_ADVICE_KNOW] = "know",
	};

	return words[weight];
}

const char *gp_inspect_scheduler(const struct gp_inspect_doctor *d)
{
	if (!d->kfd_present || !d->amd.count)
		return NULL;
	if ((d->valid & GP_DOCTOR_MES) && d->mes == 1)
		return "mes";
	for (size_t i = 0; i < d->amd.count; i++)
		if ((d->amd.items[i].valid & GP_GPU_GFX) && d->amd.items[i].gfx_version >= GFX_MES)
			return "mes";
	if (!(d->valid & GP_DOCTOR_SCHED_POLICY))
		return NULL;
	return d->sched_policy == NO_HWS ? "none" : "cpsch";
}

/* ---- parameters of the driver ---- */

static void advise_driver(const struct gp_inspect_doctor *d, struct list *list)
{
	const char *scheduler = gp_inspect_scheduler(d);
	struct gp_inspect_advice *advice;

	if ((d->valid & GP_DOCTOR_CWSR) && !d->cwsr_enable) {
		advice = add(
			list, GP_ADVICE_STOPS, "cwsr",
			_("cwsr_enable=0: the GPU cannot save running waves, so that no kernel can "
			  "be suspended before its end"));
		advice->fix = "echo 'options amdgpu cwsr_enable=1' | sudo tee "
			      "/etc/modprobe.d/amdgpu-cwsr.conf";
		advice->fix_note = REBOOT;
	}
	if (scheduler && strcmp(scheduler, "none") == 0) {
		advice = add(
			list, GP_ADVICE_STOPS, "sched_policy",
			_("sched_policy=2: without the hardware scheduler the driver has no debug "
			  "trap, and suspending is untested"));
		advice->fix = "echo 'options amdgpu sched_policy=0' | sudo tee "
			      "/etc/modprobe.d/amdgpu-sched.conf";
		advice->fix_note = REBOOT;
	}
	if (scheduler && strcmp(scheduler, "mes") == 0)
		add(list, GP_ADVICE_COSTS, "mes",
		    _("MES schedules the queues of this GPU: gpreempt was not tried with it"));
	if (d->keep_idle_evicted) {
		advice = add(
			list, GP_ADVICE_STOPS, "keep_idle",
			_("keep_idle_process_evicted=Y: the driver does not map the doorbells of "
			  "an idle program again, and each attempt resumes a program that "
			  "something else has suspended"));
		advice->fix = "echo 'options amdgpu keep_idle_process_evicted=0' | sudo tee "
			      "/etc/modprobe.d/amdgpu-idle.conf";
		advice->fix_note = REBOOT;
	}
	if ((d->valid & GP_DOCTOR_NUM_KCQ) && d->num_kcq > KCQ_RECOMMENDED && d->amd.count) {
		advice = add(
			list, GP_ADVICE_COSTS, "num_kcq",
			_("num_kcq: the kernel keeps compute rings that KFD programs could use as "
			  "hardware queue slots; two are enough for most machines"));
		advice->fix = "echo 'options amdgpu num_kcq=2' | sudo tee "
			      "/etc/modprobe.d/amdgpu-kcq.conf";
		advice->fix_note = REBOOT;
	}
}

/* Combinations that are known to be bad.
 */
static void advise_versions(const struct gp_inspect_doctor *d, struct list *list)
{
	char text[256];

	if (d->amdgpu_dkms && strncmp(d->amdgpu_version, "6.12.12", 7) == 0)
		add(list, GP_ADVICE_KNOW, "dkms_6_12_12",
		    _("amdgpu-dkms 6.12.12: SUSPEND_QUEUES without an array crashes the kernel, "
		      "and "
		      "UPDATE_QUEUE with a wrong ring hangs the process without end; gpreempt "
		      "sends "
		      "neither. Do "
		      "not run kfdtest or the conformance test on this machine"));
	for (size_t i = 0; i < d->amd.count; i++) {
		const struct gp_gpu *gpu = &d->amd.items[i];

		if (!(gpu->valid & GP_GPU_CAPABILITY) ||
		    (gpu->capability & GP_KFD_CAP_TRAP_DEBUG_FW))
			continue;
		snprintf(text, sizeof(text),
			 _("the MEC firmware (%u) of GPU node %u is too old for the debug trap: "
			   "install a newer "
			   "linux-firmware or amdgpu-dkms-firmware"),
			 gpu->firmware, gpu->node);
		add(list, GP_ADVICE_STOPS, "firmware", text);
		break;
	}
	if ((d->valid & GP_DOCTOR_ROCR_VERSION) && d->kfd_present && d->rocr_major < 5)
		add(list, GP_ADVICE_COSTS, "rocr",
		    _("ROCr older than 5.0 was not tried; start programs with 'gpreempt run'"));
}

/* ---- permissions ---- */

static void advise_access(const struct gp_inspect_doctor *d, struct list *list)
{
	struct gp_inspect_advice *advice;
	char text[256];

	if (!d->kfd_present)
		return;
	if (d->kfd_device.checked && d->kfd_device.error == -EACCES) {
		snprintf(text, sizeof(text), _("this user may not open /dev/kfd (group %s)"),
			 d->kfd_device.group[0] ? d->kfd_device.group : "render");
		advice = add(list, GP_ADVICE_STOPS, "kfd_group", text);
		advice->fix = "sudo usermod -a -G render,video \"$USER\"";
		advice->fix_note = LOGIN_AGAIN;
	}
	if ((d->valid & GP_DOCTOR_PTRACE_SCOPE) && d->ptrace_scope && d->ptrace_scope < 3 &&
	    !gp_inspect_doctor_capable(d, GP_CAP_SYS_PTRACE)) {
		advice = add(
			list, GP_ADVICE_STOPS, "ptrace_scope",
			_("ptrace_scope: programs that were not started with 'gpreempt run' can be "
			  "suspended only by root"));
		advice->fix = "sudo sysctl kernel.yama.ptrace_scope=0";
	} else if ((d->valid & GP_DOCTOR_PTRACE_SCOPE) && d->ptrace_scope >= 3) {
		add(list, GP_ADVICE_STOPS, "ptrace_scope",
		    _("ptrace_scope=3: until the next boot, only programs started with 'gpreempt "
		      "run' can "
		      "be suspended"));
	}
	if (!d->debugfs_mounted) {
		advice = add(list, GP_ADVICE_COSTS, "debugfs",
			     _("debugfs is not mounted: hqd, mqd and runlist show nothing"));
		advice->fix = "sudo mount -t debugfs none /sys/kernel/debug";
	} else if (d->debugfs_error == -EACCES) {
		advice = add(list, GP_ADVICE_COSTS, "debugfs",
			     _("debugfs is readable by root only: hqd, mqd and runlist need sudo"));
		advice->fix = "sudo gpreempt hqd";
	}
}

static void advise_container(const struct gp_inspect_doctor *d, struct list *list)
{
	struct gp_inspect_advice *advice;
	char text[256];

	if (!d->container[0])
		return;
	snprintf(text, sizeof(text), _("this is a container (%s)"), d->container);
	add(list, GP_ADVICE_KNOW, "container", text);
	if (d->own_pids) {
		advice = add(list, GP_ADVICE_COSTS, "container_pids",
			     _("the container has its own process numbers: a daemon outside sees "
			       "its programs "
			       "only if they run under 'gpreempt run' with the shared directory"));
		advice->fix = "podman run --pid=host ...";
	}
	if (!d->shared_directory) {
		/* An NVIDIA GPU needs no agent. */
		advice = add(
			list, d->kfd_present ? GP_ADVICE_STOPS : GP_ADVICE_COSTS,
			"container_directory",
			_("/run/gpreempt of the host is not in this container: agents here and a "
			  "daemon outside do not meet"));
		advice->fix = "podman run -v /run/gpreempt/agents:/run/gpreempt/agents -e "
			      "GPREEMPT_DIR=/run/gpreempt ...";
	}
	if (d->kfd_present && (d->valid & GP_DOCTOR_CAPABILITIES) &&
	    !gp_inspect_doctor_capable(d, GP_CAP_SYS_PTRACE)) {
		advice = add(
			list, GP_ADVICE_COSTS, "container_ptrace",
			_("the container lacks SYS_PTRACE: from inside, only programs started with "
			  "'gpreempt run' can be suspended"));
		advice->fix = "podman run --cap-add=SYS_PTRACE ...";
	}
}

static int by_weight(const void *one, const void *other)
{
	const struct gp_inspect_advice *a = one, *b = other;

	return (a->weight > b->weight) - (a->weight < b->weight);
}

size_t gp_inspect_advise(const struct gp_inspect_doctor *d,
			 struct gp_inspect_advice out[GP_ADVICE_MAX])
{
	struct list list = {.items = out};

	advise_driver(d, &list);
	advise_versions(d, &list);
	advise_access(d, &list);
	advise_container(d, &list);
	qsort(out, list.count, sizeof(*out), by_weight); /* few: glibc merges, which is stable */
	return list.count;
}
