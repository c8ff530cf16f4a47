// SPDX-License-Identifier: MIT
#include "inspect/doctor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "gpu/kfd/kfd.h"
#include "gpu/nvrm/nvrm.h"

#define GP_MODULE          "/sys/module/amdgpu"
#define GP_NUM_KCQ_DEFAULT 8 /* amdgpu 6.12 */

void gp_inspect_doctor_free(struct gp_inspect_doctor *doctor)
{
	gp_gpu_list_free(&doctor->amd);
	gp_gpu_list_free(&doctor->nvidia);
}

u32 gp_inspect_doctor_kfd_minor(u32 kernel_major, u32 kernel_minor)
{
	/* 6.1, 6.12, 6.18, 6.19, 7.1 and 7.2 were read in their headers; the others are the
	 * releases that the changes were merged for. */
	static const struct {
		u32 major, minor, kfd;
	} known[] = {
		{5, 14, 5},  {5, 18, 8}, {6, 0, 10}, {6, 1, 11},  {6, 4, 12},
		{6, 5, 13},  {6, 6, 14}, {6, 9, 15}, {6, 10, 16}, {6, 12, 17},
		{6, 16, 18}, {7, 0, 19}, {7, 1, 22}, {7, 2, 23},
	};
	u32 kfd = 0;

	for (size_t i = 0; i < GP_ARRAY_SIZE(known); i++) {
		if (kernel_major > known[i].major ||
		    (kernel_major == known[i].major && kernel_minor >= known[i].minor))
			kfd = known[i].kfd;
	}
	return kfd;
}

u32 gp_inspect_doctor_dkms_minor(const char *version)
{
	/* Read in the sources of these releases. */
	static const struct {
		const char *version;
		u32 kfd;
	} known[] = {{"6.12.12", 17}};

	for (size_t i = 0; i < GP_ARRAY_SIZE(known); i++) {
		size_t length = strlen(known[i].version);

		if (strncmp(version, known[i].version, length) == 0 &&
		    !(version[length] >= '0' && version[length] <= '9'))
			return known[i].kfd;
	}
	return 0;
}

/* The first line of a small file. */
static bool read_line(const struct gp_root *root, const char *path, char *out, size_t size)
{
	struct gp_buf text = {0};
	size_t len = 0;

	if (gp_root_read(root, 4096, &text, "%s", path) == 0)
		len = strcspn(gp_buf_str(&text), "\n");
	if (len >= size)
		len = size - 1;
	memcpy(out, gp_buf_str(&text), len);
	out[len] = '\0';
	gp_buf_free(&text);
	return len > 0;
}

static void read_number(const struct gp_root *root, struct gp_inspect_doctor *d, u32 bit, u64 *out,
			const char *path)
{
	if (gp_root_read_u64(root, out, "%s", path) == 0)
		d->valid |= bit;
}

static void read_kernel(const struct gp_root *root, struct gp_inspect_doctor *d)
{
	char text[128];
	const char *p = d->kernel, *end, *open, *close;
	u64 disabled;

	read_line(root, "/proc/sys/kernel/osrelease", d->kernel, sizeof(d->kernel));
	end = p + strlen(p);
	if (gp_parse_u32(&p, end, &d->kernel_major) && GP_PARSE_LITERAL(&p, end, ".") &&
	    gp_parse_u32(&p, end, &d->kernel_minor))
		d->valid |= GP_DOCTOR_KERNEL;
	/* "none [integrity] confidentiality": the one in brackets holds. */
	if (read_line(root, "/sys/kernel/security/lockdown", text, sizeof(text)) &&
	    (open = strchr(text, '[')) && (close = strchr(open, ']')) &&
	    (size_t)(close - open) <= sizeof(d->lockdown)) {
		memcpy(d->lockdown, open + 1, (size_t)(close - open - 1));
		d->valid |= GP_DOCTOR_LOCKDOWN;
	}
	if (read_line(root, "/sys/module/module/parameters/sig_enforce", text, sizeof(text))) {
		d->signed_modules_only = text[0] == 'Y';
		d->valid |= GP_DOCTOR_SIGNED_MODULES;
	}
	if (gp_root_read_u64(root, &disabled, "/proc/sys/kernel/modules_disabled") == 0) {
		d->modules_disabled = disabled != 0;
		d->valid |= GP_DOCTOR_MODULES_DISABLED;
	}
}

static void read_driver(const struct gp_root *root, struct gp_inspect_doctor *d)
{
	char text[32];

	d->amdgpu_loaded = gp_root_exists(root, GP_MODULE);
	d->module_loaded = gp_root_exists(root, "/sys/module/gpreempt");
	/* MODULE_VERSION is what the DKMS packages add; the driver in the kernel tree has none. */
	d->amdgpu_dkms =
		read_line(root, GP_MODULE "/version", d->amdgpu_version, sizeof(d->amdgpu_version));
	read_line(root, GP_MODULE "/srcversion", d->amdgpu_srcversion,
		  sizeof(d->amdgpu_srcversion));
	read_line(root, GP_MODULE "/parameters/kfd_sched", d->kfd_sched, sizeof(d->kfd_sched));
	read_number(root, d, GP_DOCTOR_SCHED_POLICY, &d->sched_policy,
		    GP_MODULE "/parameters/sched_policy");
	read_number(root, d, GP_DOCTOR_TIMEOUT, &d->preemption_timeout_ms,
		    GP_MODULE "/parameters/queue_preemption_timeout_ms");
	/* Kernel compute rings, which KFD's queues lose as slots; -1 stands for the default. */
	if (read_line(root, GP_MODULE "/parameters/num_kcq", text, sizeof(text)) &&
	    (strcmp(text, "-1") == 0 || gp_argument_u64(text, &d->num_kcq))) {
		if (text[0] == '-')
			d->num_kcq = GP_NUM_KCQ_DEFAULT;
		d->valid |= GP_DOCTOR_NUM_KCQ;
	}
	read_number(root, d, GP_DOCTOR_MES, &d->mes, GP_MODULE "/parameters/mes");
	read_number(root, d, GP_DOCTOR_CWSR, &d->cwsr_enable, GP_MODULE "/parameters/cwsr_enable");
	d->keep_idle_evicted = read_line(root, GP_MODULE "/parameters/keep_idle_process_evicted",
					 text, sizeof(text)) &&
			       strcmp(text, "Y") == 0;
	d->kfd_present = gp_root_exists(root, "/sys/class/kfd/kfd");
}

/*
 * Inside a virtual machine the kernel is the host's, and opening the device disturbs no one: the
 * driver that it imitates is always asked.
 */
static bool in_virtual_machine(const struct gp_inspect_doctor *d)
{
	return d->live && getenv("GPREEMPT_VGPU");
}

static void find_version(struct gp_diag *diag, bool probe, struct gp_inspect_doctor *d)
{
	if (probe || in_virtual_machine(d)) {
		d->probe_error = gp_kfd_probe_version(&d->kfd_major, &d->kfd_minor);
		if (d->probe_error == 0) {
			d->kfd_source = GP_KFD_VERSION_PROBED;
			d->valid |= GP_DOCTOR_KFD_VERSION;
			return;
		}
		gp_diag(diag, GP_WARNING, "cannot read the KFD version from /dev/kfd: %s",
			strerror(-d->probe_error));
	}
	/* A DKMS driver has its own history; the kernel's release says nothing about it. */
	if (!d->kfd_present || (!d->amdgpu_dkms && !(d->valid & GP_DOCTOR_KERNEL)))
		return;
	d->kfd_minor = d->amdgpu_dkms
			       ? gp_inspect_doctor_dkms_minor(d->amdgpu_version)
			       : gp_inspect_doctor_kfd_minor(d->kernel_major, d->kernel_minor);
	if (d->kfd_minor == 0)
		return;
	d->kfd_major = 1;
	d->kfd_source = d->amdgpu_dkms ? GP_KFD_VERSION_DKMS : GP_KFD_VERSION_DERIVED;
	d->valid |= GP_DOCTOR_KFD_VERSION;
}

int gp_inspect_doctor_read(const struct gp_root *root, struct gp_diag *diag, bool probe,
			   struct gp_inspect_doctor *out)
{
	*out = (struct gp_inspect_doctor){.live = gp_root_is_live(root)};
	read_kernel(root, out);
	read_driver(root, out);
	find_version(diag, probe, out);
	/* A list that cannot be read stays empty, with a message. */
	if (gp_kfd_ops.discover(root, diag, &out->amd) == -ENOMEM ||
	    gp_nvrm_ops.discover(root, diag, &out->nvidia) == -ENOMEM) {
		gp_inspect_doctor_free(out);
		return -ENOMEM;
	}
	if (gp_nvrm_driver_version(root, out->nvidia_version, sizeof(out->nvidia_version))) {
		out->nvidia_open = gp_nvrm_open_modules(root);
		out->nvidia_mig = gp_nvrm_has_mig(root);
	}
	gp_inspect_doctor_access(root, out);
	gp_inspect_doctor_container(root, out);
	gp_inspect_doctor_runtimes(root, out);
	return 0;
}
