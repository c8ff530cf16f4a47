// SPDX-License-Identifier: MIT
/* What doctor found, as JSON (docs/json.md). */
#include <errno.h>
#include <stdio.h>

#include "inspect/doctor.h"
#include "inspect/mechanism.h"

static json_t *bool_if(bool known, bool value)
{
	return known ? json_boolean(value) : json_null();
}

static json_t *kernel_json(const struct gp_inspect_doctor *d)
{
	return json_pack("{s:o,s:o,s:o,s:o}", "release", gp_json_str_or_null(d->kernel), "lockdown",
			 gp_json_str_or_null(d->lockdown), "signed_modules_only",
			 bool_if(d->valid & GP_DOC_SIGNED_MODULES, d->signed_modules_only),
			 "modules_disabled",
			 bool_if(d->valid & GP_DOC_MODULES_DISABLED, d->modules_disabled));
}

static json_t *amdgpu_json(const struct gp_inspect_doctor *d)
{
	if (!d->amdgpu_loaded)
		return json_null();
	return json_pack("{s:s,s:o,s:o,s:o,s:o,s:o,s:o}", "origin",
			 d->amdgpu_dkms ? "dkms" : "in-tree", "version",
			 gp_json_str_or_null(d->amdgpu_version), "srcversion",
			 gp_json_str_or_null(d->amdgpu_srcversion), "sched_policy",
			 gp_json_u64_if(d->valid & GP_DOC_SCHED_POLICY, d->sched_policy),
			 "queue_preemption_timeout_ms",
			 gp_json_u64_if(d->valid & GP_DOC_TIMEOUT, d->preemption_timeout_ms),
			 "num_kcq", gp_json_u64_if(d->valid & GP_DOC_NUM_KCQ, d->num_kcq),
			 "cwsr_enable", gp_json_u64_if(d->valid & GP_DOC_CWSR, d->cwsr_enable));
}

static json_t *kfd_json(const struct gp_inspect_doctor *d)
{
	char version[32] = "";

	if (!d->kfd_present)
		return json_null();
	if (d->valid & GP_DOC_KFD_VERSION)
		snprintf(version, sizeof(version), "%u.%u", d->kfd_major, d->kfd_minor);
	return json_pack("{s:o,s:o}", "version", gp_json_str_or_null(version), "source",
			 gp_json_str(!version[0]                              ? NULL
				     : d->kfd_source == GP_KFD_VERSION_PROBED ? "probed"
									      : "derived"));
}

static void add_gpus(json_t *array, const char *kind, const struct gp_gpu_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct gp_gpu *g = &list->items[i];
		char gfx[16] = "", pci[32] = "";
		json_t *json;

		if (g->valid & GP_GPU_GFX)
			gp_kfd_gfx_name(g->gfx_version, gfx, sizeof(gfx));
		if (g->valid & GP_GPU_PCI)
			snprintf(pci, sizeof(pci), "%04x:%02x:%02x.%x", g->pci_domain, g->pci_bus,
				 g->pci_device, g->pci_function);
		json = json_pack("{s:s,s:I,s:o,s:o,s:o,s:o,s:o,s:o}", "kind", kind, "node",
				 (json_int_t)g->node, "gpu_id",
				 gp_json_u64_if(g->gpu_id, g->gpu_id), "name",
				 gp_json_str_or_null(g->name), "gfx", gp_json_str_or_null(gfx),
				 "pci", gp_json_str_or_null(pci), "partition",
				 gp_json_str_or_null(g->partition), "cus",
				 gp_json_u64_if(g->valid & GP_GPU_CU, g->cu_count));
		json_object_set_new(json, "xccs",
				    gp_json_u64_if(g->valid & GP_GPU_XCC, g->xcc_count));
		json_object_set_new(json, "vram_bytes",
				    gp_json_u64_if(g->valid & GP_GPU_VRAM, g->vram_bytes));
		json_object_set_new(json, "cp_queues",
				    gp_json_u64_if(g->valid & GP_GPU_CP_QUEUES, g->cp_queues));
		json_object_set_new(json, "mec_firmware",
				    gp_json_u64_if(g->valid & GP_GPU_FIRMWARE, g->firmware));
		json_object_set_new(json, "capability",
				    gp_json_hex_if(g->valid & GP_GPU_CAPABILITY, g->capability));
		json_array_append_new(array, json);
	}
}

static json_t *gpus_json(const struct gp_inspect_doctor *d)
{
	json_t *array = json_array();

	add_gpus(array, "kfd", &d->amd);
	add_gpus(array, "nvrm", &d->nvidia);
	return array;
}

static json_t *device_json(const struct gp_inspect_device_access *device)
{
	return json_pack("{s:s,s:o,s:b,s:o}", "path", device->path, "group",
			 gp_json_str_or_null(device->group), "accessible", device->error == 0,
			 "present", json_boolean(device->error != -ENOENT));
}

static json_t *access_json(const struct gp_inspect_doctor *d)
{
	bool caps = d->valid & GP_DOC_CAPABILITIES;
	json_t *devices = json_array();

	if (d->live) {
		json_array_append_new(devices, device_json(&d->kfd_device));
		json_array_append_new(devices, device_json(&d->nvidia_device));
	}
	for (size_t i = 0; i < d->render_count; i++)
		json_array_append_new(devices, device_json(&d->render[i]));
	if (!d->live) {
		json_decref(devices);
		devices = json_null();
	}
	return json_pack("{s:b,s:b,s:o,s:o,s:o,s:o,s:o}", "debugfs_mounted", d->debugfs_mounted,
			 "debugfs_readable", d->debugfs_error == 0, "devices", devices,
			 "ptrace_scope",
			 gp_json_u64_if(d->valid & GP_DOC_PTRACE_SCOPE, d->ptrace_scope),
			 "cap_sys_ptrace", bool_if(caps, gp_doctor_capable(d, GP_CAP_SYS_PTRACE)),
			 "cap_sys_admin", bool_if(caps, gp_doctor_capable(d, GP_CAP_SYS_ADMIN)),
			 "cap_sys_module", bool_if(caps, gp_doctor_capable(d, GP_CAP_SYS_MODULE)));
}

static json_t *runtimes_json(const struct gp_inspect_doctor *d)
{
	json_t *array = json_array();

	for (size_t i = 0; i < d->runtime_count; i++)
		json_array_append_new(array,
				      json_pack("{s:o,s:o}", "path",
						gp_json_str_or_null(d->runtimes[i].path), "version",
						gp_json_str_or_null(d->runtimes[i].version)));
	return array;
}

static json_t *nvidia_json(const struct gp_inspect_doctor *d)
{
	if (!d->nvidia_version[0])
		return json_null();
	return json_pack("{s:s,s:b}", "version", d->nvidia_version, "open_modules", d->nvidia_open);
}

static json_t *mechanisms_json(const struct gp_inspect_doctor *d)
{
	json_t *array = json_array();

	for (const struct gp_inspect_mechanism *m = gp_inspect_mechanisms; m->name; m++) {
		struct gp_inspect_judgement judgement;

		gp_inspect_judge(m, d, &judgement);
		json_array_append_new(array,
				      json_pack("{s:s,s:s,s:o,s:b}", "name", m->name, "verdict",
						gp_inspect_verdict_word(judgement.verdict),
						"reason", gp_json_str_or_null(judgement.reason),
						"stops_mid_kernel", m->stops_mid_kernel));
	}
	return array;
}

json_t *gp_inspect_doctor_json(const struct gp_inspect_doctor *d)
{
	json_t *notes = json_array();

	for (size_t i = 0; gp_inspect_doctor_note(i); i++)
		json_array_append_new(notes, gp_json_str(gp_inspect_doctor_note(i)));
	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "kernel", kernel_json(d),
			 "amdgpu", amdgpu_json(d), "kfd", kfd_json(d), "gpus", gpus_json(d),
			 "access", access_json(d), "rocr", runtimes_json(d), "nvidia",
			 nvidia_json(d), "mechanisms", mechanisms_json(d), "notes", notes);
}
