// SPDX-License-Identifier: MIT
/* What doctor found, as tables for people and as JSON. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/i18n.h"
#include "inspect/doctor.h"
#include "inspect/mechanism.h"

const char *gp_inspect_doctor_note(size_t index)
{
	static const char *const notes[] = {
		N_("The verdicts say what this machine allows. gpreempt uses all mechanisms except "
		   "kfd-patched, where the driver's built-in scheduler decides."),
		N_("A suspended process keeps its VRAM."),
		N_("On hardware-scheduled AMD GPUs every suspend briefly unmaps all processes of "
		   "that device."),
		N_("If a preemption hangs, the driver resets the GPU after 9 s (amdgpu parameter "
		   "queue_preemption_timeout_ms)."),
		N_("When a process that opened /dev/kfd exits, the driver preempts every queue of "
		   "the device once; doctor therefore opens it only with --probe."),
	};

	return index < GP_ARRAY_SIZE(notes) ? gettext(notes[index]) : NULL;
}

static void fact(struct gp_table *table, const char *name, const char *value)
{
	gp_table_cell(table, name);
	gp_table_cell(table, value);
}

__attribute__((format(printf, 3, 4))) static void factf(struct gp_table *table, const char *name,
							const char *format, ...)
{
	char value[512];
	va_list args;

	va_start(args, format);
	vsnprintf(value, sizeof(value), format, args);
	va_end(args);
	fact(table, name, value);
}

static void number_fact(struct gp_table *table, const char *name, bool known, u64 value)
{
	if (known)
		factf(table, name, "%" PRIu64, value);
	else
		fact(table, name, NULL);
}

static void driver_facts(struct gp_table *table, const struct gp_inspect_doctor *d)
{
	if (!d->amdgpu_loaded)
		fact(table, "amdgpu", _("not loaded"));
	else if (d->amdgpu_dkms)
		factf(table, "amdgpu", _("DKMS %s, source %s"), d->amdgpu_version,
		      d->amdgpu_srcversion[0] ? d->amdgpu_srcversion : "-");
	else
		factf(table, "amdgpu", _("in-tree, source %s"),
		      d->amdgpu_srcversion[0] ? d->amdgpu_srcversion : "-");
	if (!d->kfd_present)
		fact(table, "KFD", _("absent"));
	else if (!(d->valid & GP_DOC_KFD_VERSION))
		fact(table, "KFD", _("unknown version; --probe queries the driver"));
	else
		factf(table, "KFD", "%u.%u (%s)", d->kfd_major, d->kfd_minor,
		      d->kfd_source == GP_KFD_VERSION_PROBED
			      ? _("reported by the driver")
			      : _("derived from the kernel release"));
	if (!d->amdgpu_loaded)
		return;
	number_fact(table, "amdgpu.sched_policy", d->valid & GP_DOC_SCHED_POLICY, d->sched_policy);
	number_fact(table, "amdgpu.queue_preemption_timeout_ms", d->valid & GP_DOC_TIMEOUT,
		    d->preemption_timeout_ms);
	number_fact(table, "amdgpu.num_kcq", d->valid & GP_DOC_NUM_KCQ, d->num_kcq);
	number_fact(table, "amdgpu.cwsr_enable", d->valid & GP_DOC_CWSR, d->cwsr_enable);
}

static void device_fact(struct gp_table *table, const char *name,
			const struct gp_inspect_device_access *device)
{
	if (!device->checked)
		fact(table, name, _("not checked"));
	else if (device->error == -ENOENT)
		fact(table, name, _("absent"));
	else if (device->error)
		factf(table, name, _("%s (group %s)"), strerror(-device->error),
		      device->group[0] ? device->group : "-");
	else
		fact(table, name, _("accessible"));
}

static void access_facts(struct gp_table *table, const struct gp_inspect_doctor *d)
{
	size_t open = 0;

	if (!d->debugfs_mounted)
		fact(table, "debugfs", _("not mounted: mount -t debugfs none /sys/kernel/debug"));
	else if (d->debugfs_error == -ENOENT)
		fact(table, "debugfs", _("mounted, without kfd/hqds"));
	else if (d->debugfs_error)
		factf(table, "debugfs", _("mounted, kfd/hqds: %s"), strerror(-d->debugfs_error));
	else
		fact(table, "debugfs", _("mounted, kfd/hqds readable"));
	device_fact(table, "/dev/kfd", &d->kfd_device);
	for (size_t i = 0; i < d->render_count; i++)
		open += d->render[i].error == 0;
	if (!d->live)
		fact(table, "/dev/dri/renderD*", _("not checked"));
	else
		factf(table, "/dev/dri/renderD*", _("%zu of %zu accessible"), open,
		      d->render_count);
	fact(table, _("groups"), d->live ? d->groups : _("not checked"));
	number_fact(table, "ptrace_scope", d->valid & GP_DOC_PTRACE_SCOPE, d->ptrace_scope);
	if (!(d->valid & GP_DOC_CAPABILITIES))
		fact(table, _("capabilities"), _("not checked"));
	else
		factf(table, _("capabilities"), "%cSYS_PTRACE %cSYS_ADMIN %cSYS_MODULE",
		      gp_doctor_capable(d, GP_CAP_SYS_PTRACE) ? '+' : '-',
		      gp_doctor_capable(d, GP_CAP_SYS_ADMIN) ? '+' : '-',
		      gp_doctor_capable(d, GP_CAP_SYS_MODULE) ? '+' : '-');
}

struct gp_table *gp_inspect_doctor_facts(const struct gp_inspect_doctor *d)
{
	struct gp_table *table = gp_table_new();

	gp_table_column(table, _("WHAT"), GP_LEFT);
	gp_table_column(table, _("FOUND"), GP_LEFT);
	fact(table, _("kernel"), d->kernel);
	fact(table, _("lockdown"), d->lockdown);
	driver_facts(table, d);
	access_facts(table, d);
	if (d->runtime_count == 0)
		fact(table, "ROCr", _("not found"));
	for (size_t i = 0; i < d->runtime_count; i++)
		factf(table, "ROCr", "%s  %s",
		      d->runtimes[i].version[0] ? d->runtimes[i].version : "-",
		      d->runtimes[i].path);
	if (d->nvidia_version[0])
		factf(table, "NVIDIA", "%s (%s)", d->nvidia_version,
		      d->nvidia_open ? _("open kernel modules") : _("closed kernel modules"));
	else
		fact(table, "NVIDIA", _("no driver"));
	return table;
}

static void number_cell(struct gp_table *table, bool known, u32 value)
{
	if (known)
		gp_table_cellf(table, "%u", value);
	else
		gp_table_missing(table);
}

static void gpu_rows(struct gp_table *table, const char *kind, const struct gp_gpu_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct gp_gpu *gpu = &list->items[i];
		char gfx[16] = "";

		if (gpu->valid & GP_GPU_GFX)
			gp_kfd_gfx_name(gpu->gfx_version, gfx, sizeof(gfx));
		gp_table_cell(table, kind);
		gp_table_cellf(table, "%u", gpu->node);
		/* In hex, as debugfs and the other commands print it. */
		if (gpu->gpu_id)
			gp_table_cellf(table, "%x", gpu->gpu_id);
		else
			gp_table_missing(table);
		gp_table_cell(table, gpu->name);
		gp_table_cell(table, gfx);
		number_cell(table, gpu->valid & GP_GPU_CU, gpu->cu_count);
		number_cell(table, gpu->valid & GP_GPU_XCC, gpu->xcc_count);
		if (gpu->valid & GP_GPU_VRAM)
			gp_table_cellf(table, "%.1f GiB",
				       (double)gpu->vram_bytes / (1024.0 * 1024 * 1024));
		else
			gp_table_missing(table);
		gp_table_cell(table, gpu->partition);
		if (gpu->valid & GP_GPU_PCI)
			gp_table_cellf(table, "%04x:%02x:%02x.%x", gpu->pci_domain, gpu->pci_bus,
				       gpu->pci_device, gpu->pci_function);
		else
			gp_table_missing(table);
	}
}

struct gp_table *gp_inspect_doctor_gpus(const struct gp_inspect_doctor *d)
{
	struct gp_table *table = gp_table_new();

	gp_table_column(table, _("KIND"), GP_LEFT);
	gp_table_column(table, _("NODE"), GP_RIGHT);
	gp_table_column(table, _("GPU ID"), GP_RIGHT);
	gp_table_column(table, _("NAME"), GP_LEFT);
	gp_table_column(table, _("GFX"), GP_LEFT);
	gp_table_column(table, _("CUS"), GP_RIGHT);
	gp_table_column(table, _("XCCS"), GP_RIGHT);
	gp_table_column(table, _("VRAM"), GP_RIGHT);
	gp_table_column(table, _("PARTITION"), GP_LEFT);
	gp_table_column(table, _("PCI"), GP_LEFT);
	gpu_rows(table, "kfd", &d->amd);
	gpu_rows(table, "nvrm", &d->nvidia);
	return table;
}

struct gp_table *gp_inspect_doctor_mechanisms(const struct gp_inspect_doctor *d)
{
	struct gp_table *table = gp_table_new();

	gp_table_column(table, _("MECHANISM"), GP_LEFT);
	gp_table_column(table, _("HERE"), GP_LEFT);
	gp_table_column(table, _("ACTS ON"), GP_LEFT);
	gp_table_column(table, _("WHY"), GP_LEFT);
	for (const struct gp_inspect_mechanism *m = gp_inspect_mechanisms; m->name; m++) {
		struct gp_inspect_judgement judgement;

		gp_inspect_judge(m, d, &judgement);
		gp_table_cell(table, m->name);
		gp_table_cell(table, judgement.verdict == GP_VERDICT_CAN      ? _("can work")
				     : judgement.verdict == GP_VERDICT_CANNOT ? _("cannot")
									      : _("unknown"));
		gp_table_paint(table, judgement.verdict == GP_VERDICT_CAN      ? GP_GREEN
				      : judgement.verdict == GP_VERDICT_CANNOT ? GP_RED
									       : GP_YELLOW);
		gp_table_cell(table, gettext(m->scope));
		gp_table_cell(table, judgement.reason);
	}
	return table;
}
