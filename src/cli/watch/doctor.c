// SPDX-License-Identifier: MIT
/* gpreempt doctor: what this machine allows. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/view.h"
#include "cli/watch/documents.h"
#include "inspect/advice.h"
#include "inspect/mechanism.h"

static const char *or_dash(const char *text)
{
	return *text ? text : "-";
}

/* `value` in JSON, the sentence for people. */
__attribute__((format(printf, 5, 6))) static void fact_as(struct gp_doc *doc, const char *key,
							  const char *label,
							  struct gp_show_value value,
							  const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	gp_doc_fact(doc, key, label, gp_v_as(value, text));
}

static void add_kernel(struct gp_doc *doc, const struct gp_inspect_doctor *d)
{
	gp_doc_open(doc, "kernel", NULL);
	gp_doc_fact(doc, "release", "kernel", gp_v_text_or_missing(d->kernel));
	gp_doc_fact(doc, "lockdown", "lockdown", gp_v_text_or_missing(d->lockdown));
	gp_doc_fact(doc, "signed_modules_only", NULL,
		    gp_v_if(d->valid & GP_DOCTOR_SIGNED_MODULES,
			    gp_v_bool(d->signed_modules_only)));
	gp_doc_fact(doc, "modules_disabled", NULL,
		    gp_v_if(d->valid & GP_DOCTOR_MODULES_DISABLED, gp_v_bool(d->modules_disabled)));
	gp_doc_close(doc);
}

static void add_scheduler(struct gp_doc *doc, const struct gp_inspect_doctor *d)
{
	const char *scheduler = gp_inspect_scheduler(d);

	if (!scheduler)
		gp_doc_fact(doc, "scheduler", NULL, gp_v_missing());
	else
		fact_as(doc, "scheduler", "queues are scheduled by", gp_v_text(scheduler), "%s",
			!strcmp(scheduler, "cpsch") ? _("the hardware scheduler (CPSCH)")
			: !strcmp(scheduler, "mes") ? "MES"
						    : _("the driver (sched_policy=2)"));
}

static void add_amdgpu(struct gp_doc *doc, const struct gp_inspect_doctor *d)
{
	if (!d->amdgpu_loaded) {
		fact_as(doc, "amdgpu", "amdgpu", gp_v_missing(), "%s", _("not loaded"));
		return;
	}
	gp_doc_open(doc, "amdgpu", NULL);
	if (d->amdgpu_dkms)
		fact_as(doc, "origin", "amdgpu", gp_v_text("dkms"), _("DKMS %s, source %s"),
			d->amdgpu_version, or_dash(d->amdgpu_srcversion));
	else
		fact_as(doc, "origin", "amdgpu", gp_v_text("in-tree"), _("in-tree, source %s"),
			or_dash(d->amdgpu_srcversion));
	gp_doc_fact(doc, "version", NULL, gp_v_text_or_missing(d->amdgpu_version));
	gp_doc_fact(doc, "srcversion", NULL, gp_v_text_or_missing(d->amdgpu_srcversion));
	gp_doc_fact(doc, "sched_policy", "amdgpu.sched_policy",
		    gp_v_if(d->valid & GP_DOCTOR_SCHED_POLICY, gp_v_count(d->sched_policy)));
	gp_doc_fact(doc, "queue_preemption_timeout_ms", "amdgpu.queue_preemption_timeout_ms",
		    gp_v_if(d->valid & GP_DOCTOR_TIMEOUT, gp_v_count(d->preemption_timeout_ms)));
	gp_doc_fact(doc, "num_kcq", "amdgpu.num_kcq",
		    gp_v_if(d->valid & GP_DOCTOR_NUM_KCQ, gp_v_count(d->num_kcq)));
	gp_doc_fact(doc, "cwsr_enable", "amdgpu.cwsr_enable",
		    gp_v_if(d->valid & GP_DOCTOR_CWSR, gp_v_count(d->cwsr_enable)));
	gp_doc_fact(doc, "mes", NULL, gp_v_if(d->valid & GP_DOCTOR_MES, gp_v_count(d->mes)));
	add_scheduler(doc, d);
	gp_doc_close(doc);
}

static void add_kfd(struct gp_doc *doc, const struct gp_inspect_doctor *d)
{
	bool probed = d->kfd_source == GP_KFD_VERSION_PROBED;
	char version[32];

	if (!d->kfd_present) {
		fact_as(doc, "kfd", "KFD", gp_v_missing(), "%s", _("absent"));
		return;
	}
	gp_doc_open(doc, "kfd", NULL);
	if (d->valid & GP_DOCTOR_KFD_VERSION) {
		snprintf(version, sizeof(version), "%u.%u", d->kfd_major, d->kfd_minor);
		fact_as(doc, "version", "KFD", gp_v_text(version), "%s (%s)", version,
			probed ? _("reported by the driver")
			: d->kfd_source == GP_KFD_VERSION_DKMS
				? _("known for this DKMS release")
				: _("derived from the kernel release"));
		gp_doc_fact(doc, "source", NULL,
			    gp_v_text(probed                                 ? "probed"
				      : d->kfd_source == GP_KFD_VERSION_DKMS ? "dkms"
									     : "derived"));
	} else {
		fact_as(doc, "version", "KFD", gp_v_missing(), "%s",
			d->live && !d->probe_error
				? _("unknown version (use --probe to query the driver)")
				: _("unknown version"));
		gp_doc_fact(doc, "source", NULL, gp_v_missing());
	}
	gp_doc_close(doc);
}

static void add_gpus(struct gp_doc *doc, const char *kind, const struct gp_gpu_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct gp_gpu *g = &list->items[i];
		char gfx[16] = "", pci[32] = "", id[16];

		if (g->valid & GP_GPU_GFX)
			gp_kfd_gfx_name(g->gfx_version, gfx, sizeof(gfx));
		if (g->valid & GP_GPU_PCI)
			snprintf(pci, sizeof(pci), "%04x:%02x:%02x.%x", g->pci_domain, g->pci_bus,
				 g->pci_device, g->pci_function);
		snprintf(id, sizeof(id), "0x%x", g->gpu_id);
		gp_doc_cell(doc, gp_v_text(kind));
		gp_doc_cell(doc, gp_v_count(g->node));
		gp_doc_cell(doc, gp_v_if(g->gpu_id, gp_v_as(gp_v_count(g->gpu_id), id)));
		gp_doc_cell(doc, gp_v_text_or_missing(g->name));
		gp_doc_cell(doc, gp_v_text_or_missing(gfx));
		gp_doc_cell(doc, gp_v_text_or_missing(pci));
		gp_doc_cell(doc, gp_v_text_or_missing(g->partition));
		gp_doc_cell(doc, gp_v_if(g->valid & GP_GPU_CU, gp_v_count(g->cu_count)));
		gp_doc_cell(doc, gp_v_if(g->valid & GP_GPU_XCC, gp_v_count(g->xcc_count)));
		gp_doc_cell(doc, gp_v_if(g->valid & GP_GPU_VRAM, gp_v_bytes(g->vram_bytes)));
		gp_doc_cell(doc, gp_v_if(g->valid & GP_GPU_CP_QUEUES, gp_v_count(g->cp_queues)));
		gp_doc_cell(doc, gp_v_if(g->valid & GP_GPU_FIRMWARE, gp_v_count(g->firmware)));
		gp_doc_cell(doc, gp_v_if(g->valid & GP_GPU_CAPABILITY, gp_v_hex(g->capability)));
	}
}

static void add_gpu_table(struct gp_doc *doc, const struct gp_inspect_doctor *d)
{
	gp_doc_table(doc, "gpus", NULL);
	gp_doc_if_empty(doc, "No GPU found.");
	gp_doc_column(doc, "kind", "KIND");
	gp_doc_column(doc, "node", "NODE");
	gp_doc_column(doc, "gpu_id", "GPU ID");
	gp_doc_column(doc, "name", "NAME");
	gp_doc_column(doc, "gfx", "GFX");
	gp_doc_column(doc, "pci", "PCI");
	gp_doc_column(doc, "partition", "PARTITION");
	gp_doc_column(doc, "cus", "CUS");
	gp_doc_column(doc, "xccs", "XCCS");
	gp_doc_column(doc, "vram_bytes", "VRAM");
	gp_doc_column(doc, "cp_queues", NULL);
	gp_doc_column(doc, "mec_firmware", NULL);
	gp_doc_column(doc, "capability", NULL);
	add_gpus(doc, "kfd", &d->amd);
	add_gpus(doc, "nvrm", &d->nvidia);
}

static void add_device(struct gp_doc *doc, const struct gp_inspect_device_access *device)
{
	gp_doc_cell(doc, gp_v_text(device->path));
	gp_doc_cell(doc, gp_v_text_or_missing(device->group));
	gp_doc_cell(doc, gp_v_bool(device->error == 0));
	gp_doc_cell(doc, gp_v_bool(device->error != -ENOENT));
}

/* Each device in JSON; text has a line for /dev/kfd and one for all render nodes. */
static void add_devices(struct gp_doc *doc, const struct gp_inspect_doctor *d)
{
	const struct gp_inspect_device_access *kfd = &d->kfd_device;
	size_t open = 0;

	if (!kfd->checked)
		gp_doc_factf(doc, NULL, "/dev/kfd", "%s", _("not checked"));
	else if (kfd->error == -ENOENT)
		gp_doc_factf(doc, NULL, "/dev/kfd", "%s", _("absent"));
	else if (kfd->error)
		gp_doc_factf(doc, NULL, "/dev/kfd", _("%s (group %s)"), strerror(-kfd->error),
			     or_dash(kfd->group));
	else
		gp_doc_factf(doc, NULL, "/dev/kfd", "%s", _("accessible"));
	for (size_t i = 0; i < d->render_count; i++)
		open += d->render[i].error == 0;
	if (d->live)
		gp_doc_factf(doc, NULL, "/dev/dri/renderD*", _("%zu of %zu accessible"), open,
			     d->render_count);
	else
		gp_doc_factf(doc, NULL, "/dev/dri/renderD*", "%s", _("not checked"));
	if (!d->live) {
		gp_doc_fact(doc, "devices", NULL, gp_v_missing());
		return;
	}
	gp_doc_table(doc, "devices", NULL);
	gp_doc_column(doc, "path", NULL);
	gp_doc_column(doc, "group", NULL);
	gp_doc_column(doc, "accessible", NULL);
	gp_doc_column(doc, "present", NULL);
	add_device(doc, kfd);
	add_device(doc, &d->nvidia_device);
	for (size_t i = 0; i < d->render_count; i++)
		add_device(doc, &d->render[i]);
}

static void add_debugfs(struct gp_doc *doc, const struct gp_inspect_doctor *d)
{
	struct gp_show_value mounted = gp_v_bool(d->debugfs_mounted);

	if (!d->debugfs_mounted)
		fact_as(doc, "debugfs_mounted", "debugfs", mounted, "%s",
			_("not mounted: mount -t debugfs none /sys/kernel/debug"));
	else if (d->debugfs_error == -ENOENT)
		fact_as(doc, "debugfs_mounted", "debugfs", mounted, "%s",
			_("mounted, but kfd/hqds does not exist"));
	else if (d->debugfs_error)
		fact_as(doc, "debugfs_mounted", "debugfs", mounted, _("mounted, kfd/hqds: %s"),
			strerror(-d->debugfs_error));
	else
		fact_as(doc, "debugfs_mounted", "debugfs", mounted, "%s",
			_("mounted, kfd/hqds readable"));
	gp_doc_fact(doc, "debugfs_readable", NULL, gp_v_bool(d->debugfs_error == 0));
}

static void add_access(struct gp_doc *doc, const struct gp_inspect_doctor *d)
{
	static const struct {
		const char *key, *name;
		unsigned int number;
	} capabilities[] = {{"cap_sys_ptrace", "CAP_SYS_PTRACE", GP_CAP_SYS_PTRACE},
			    {"cap_sys_admin", "CAP_SYS_ADMIN", GP_CAP_SYS_ADMIN},
			    {"cap_sys_module", "CAP_SYS_MODULE", GP_CAP_SYS_MODULE}};
	bool known = d->valid & GP_DOCTOR_CAPABILITIES;

	gp_doc_open(doc, "access", NULL);
	add_debugfs(doc, d);
	add_devices(doc, d);
	gp_doc_fact(doc, NULL, "groups",
		    d->live ? gp_v_text_or_missing(d->groups) : gp_v_text(_("not checked")));
	gp_doc_fact(doc, "ptrace_scope", "ptrace_scope",
		    gp_v_if(d->valid & GP_DOCTOR_PTRACE_SCOPE, gp_v_count(d->ptrace_scope)));
	for (size_t i = 0; i < GP_ARRAY_SIZE(capabilities); i++)
		gp_doc_fact(doc, capabilities[i].key, capabilities[i].name,
			    known ? gp_v_bool(gp_inspect_doctor_capable(d, capabilities[i].number))
				  : gp_v_as(gp_v_missing(), _("not checked")));
	gp_doc_close(doc);
}

static void add_runtimes(struct gp_doc *doc, const struct gp_inspect_doctor *d)
{
	if (d->runtime_count == 0)
		gp_doc_factf(doc, NULL, "ROCr", "%s", _("not found"));
	for (size_t i = 0; i < d->runtime_count; i++)
		gp_doc_factf(doc, NULL, "ROCr", "%s  %s", or_dash(d->runtimes[i].version),
			     d->runtimes[i].path);
	gp_doc_table(doc, "rocr", NULL);
	gp_doc_column(doc, "path", NULL);
	gp_doc_column(doc, "version", NULL);
	for (size_t i = 0; i < d->runtime_count; i++) {
		gp_doc_cell(doc, gp_v_text_or_missing(d->runtimes[i].path));
		gp_doc_cell(doc, gp_v_text_or_missing(d->runtimes[i].version));
	}
	if (!d->nvidia_version[0]) {
		fact_as(doc, "nvidia", "NVIDIA", gp_v_missing(), "%s", _("no driver"));
		return;
	}
	gp_doc_open(doc, "nvidia", NULL);
	fact_as(doc, "version", "NVIDIA", gp_v_text(d->nvidia_version), "%s (%s)",
		d->nvidia_version,
		d->nvidia_open ? _("open kernel modules") : _("proprietary kernel modules"));
	gp_doc_fact(doc, "open_modules", NULL, gp_v_bool(d->nvidia_open));
	gp_doc_close(doc);
}

static void add_mechanisms(struct gp_doc *doc, const struct gp_inspect_doctor *d)
{
	static const struct {
		const char *text;
		enum gp_show_colour colour;
	} verdicts[] = {
		[GP_VERDICT_CAN] = {N_("usable"), GP_GREEN},
		[GP_VERDICT_CANNOT] = {N_("not usable"), GP_RED},
		[GP_VERDICT_UNKNOWN] = {N_("unknown"), GP_YELLOW},
	};

	gp_doc_table(doc, "mechanisms", NULL);
	gp_doc_main(doc);
	gp_doc_column(doc, "name", "MECHANISM");
	gp_doc_column(doc, "verdict", "VERDICT");
	gp_doc_column(doc, NULL, "ACTS ON");
	gp_doc_column(doc, "reason", "WHY");
	gp_doc_column(doc, "stops_mid_kernel", NULL);
	for (const struct gp_inspect_mechanism *m = gp_inspect_mechanisms; m->name; m++) {
		struct gp_inspect_judgement judgement;

		gp_inspect_judge(m, d, &judgement);
		gp_doc_cell(doc, gp_v_text(m->name));
		gp_doc_cell(doc, gp_v_word(gp_inspect_verdict_word(judgement.verdict),
					   gettext(verdicts[judgement.verdict].text)));
		gp_doc_paint(doc, verdicts[judgement.verdict].colour);
		gp_doc_cell(doc, gp_v_text(gettext(m->scope)));
		gp_doc_cell(doc, gp_v_text_or_missing(judgement.reason));
		gp_doc_cell(doc, gp_v_bool(m->stops_mid_kernel));
	}
}

static void add_container(struct gp_doc *doc, const struct gp_inspect_doctor *d)
{
	if (!d->container[0]) {
		gp_doc_fact(doc, "container", NULL, gp_v_missing());
		return;
	}
	gp_doc_open(doc, "container", NULL);
	gp_doc_fact(doc, "kind", "container", gp_v_text(d->container));
	gp_doc_fact(doc, "own_pids", NULL, gp_v_bool(d->own_pids));
	gp_doc_fact(doc, "own_users", NULL, gp_v_bool(d->own_users));
	gp_doc_fact(doc, "seccomp", NULL, gp_v_bool(d->seccomp));
	gp_doc_fact(doc, "shared_directory", NULL, gp_v_bool(d->shared_directory));
	gp_doc_close(doc);
}

static void add_advice(struct gp_doc *doc, const struct gp_inspect_doctor *d)
{
	static const char *const words[] = {
		[GP_ADVICE_STOPS] = N_("prevents preemption"),
		[GP_ADVICE_COSTS] = N_("limits preemption"),
		[GP_ADVICE_KNOW] = N_("to know"),
	};
	struct gp_inspect_advice advice[GP_ADVICE_MAX];
	size_t count = gp_inspect_advise(d, advice);

	gp_doc_table(doc, "advice", "Advice");
	gp_doc_if_empty(doc, NULL);
	gp_doc_column(doc, "id", NULL);
	gp_doc_column(doc, "weight", "WEIGHT");
	gp_doc_column(doc, "text", "FINDING");
	gp_doc_column(doc, "fix", "FIX");
	for (size_t i = 0; i < count; i++) {
		char fix[512] = "";

		if (advice[i].fix)
			snprintf(fix, sizeof(fix), "%s%s%s", advice[i].fix,
				 advice[i].fix_note ? "; " : "",
				 advice[i].fix_note ? gettext(advice[i].fix_note) : "");
		gp_doc_cell(doc, gp_v_text(advice[i].id));
		gp_doc_cell(doc, gp_v_word(gp_inspect_weight_word(advice[i].weight),
					   gettext(words[advice[i].weight])));
		gp_doc_cell(doc, gp_v_text(advice[i].text));
		gp_doc_cell(doc, gp_v_text_or_missing(fix));
	}
}

struct gp_doc *gp_cli_doctor_doc(const struct gp_inspect_doctor *d)
{
	struct gp_doc *doc = gp_doc_new_answer();

	add_kernel(doc, d);
	add_amdgpu(doc, d);
	add_kfd(doc, d);
	add_gpu_table(doc, d);
	add_access(doc, d);
	add_runtimes(doc, d);
	add_container(doc, d);
	add_mechanisms(doc, d);
	add_advice(doc, d);
	gp_doc_note(
		doc,
		"A verdict says whether this machine supports a mechanism. gpreempt uses all of "
		"them except kfd-patched, which belongs to the driver's built-in scheduler.");
	gp_doc_note(doc, "A suspended process keeps its VRAM.");
	gp_doc_note(doc, "On AMD GPUs with hardware scheduling, each suspension briefly unmaps the "
			 "queues of all processes on that GPU.");
	gp_doc_note(doc,
		    "On AMD GPUs, if a preemption hangs, the driver resets the GPU after the time "
		    "set by the amdgpu parameter queue_preemption_timeout_ms (default 9 s).");
	gp_doc_note(doc,
		    "When a process that opened /dev/kfd exits, the driver preempts every queue of "
		    "every GPU once; doctor therefore opens /dev/kfd only with --probe.");
	return doc;
}

enum { OPTION_ROOT = 256, OPTION_PROBE };

struct settings {
	const struct gp_command *command;
	struct gp_root root;
	struct gp_cli_view view;
	bool probe;
};

static int set(void *ctx, int id, const char *value)
{
	struct settings *settings = ctx;

	if (gp_cli_view_has(id))
		return gp_cli_view_set(&settings->view, settings->command, id, value);
	if (id == OPTION_PROBE)
		settings->probe = true;
	else if (id == OPTION_ROOT)
		settings->root.dir = value;
	return 0;
}

static int run(const struct gp_command *command, int argc, char **argv)
{
	struct settings settings = {.command = command, .root = {.dir = ""}};
	struct gp_command_diag sink;
	struct gp_inspect_doctor doctor;
	int first, error, status = gp_command_parse(command, argc, argv, set, &settings, &first);

	if (status)
		return status < 0 ? GP_EXIT_USAGE : GP_EXIT_OK;
	if (first < argc)
		return gp_usage_error(command, "unexpected argument '%s'", argv[first]);
	if (settings.probe && !gp_root_is_live(&settings.root))
		return gp_usage_error(
			command,
			"--probe queries the live driver and cannot be combined with --root");
	gp_command_diag_init(&sink, command);
	if (gp_command_check_root(command, &settings.root))
		return GP_EXIT_USAGE;
	error = gp_inspect_doctor_read(&settings.root, &sink.diag, settings.probe, &doctor);
	if (!error) {
		error = gp_cli_answer(gp_cli_doctor_doc(&doctor), settings.view.format, &sink.diag);
		gp_inspect_doctor_free(&doctor);
	}
	return error ? GP_EXIT_FAILED : GP_EXIT_OK;
}

static const struct gp_option options[] = {
	{GP_VIEW_JSON, "json", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("print JSON (schema: docs/reference/json.md)")},
	GP_VIEW_OPTION_FORMAT,
	{OPTION_PROBE, "probe", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("open /dev/kfd and read its version; when gpreempt exits,\nthe driver preempts every "
	    "queue of every GPU once")},
	{OPTION_ROOT, "root", GP_REQUIRED_ARGUMENT, "DIR", GP_COMPLETE_DIRECTORY,
	 N_("read DIR/sys and DIR/proc instead of the live system;\ndevices, groups and "
	    "capabilities are not checked")},
	{0},
};

const struct gp_command gp_cli_doctor = {
	.name = "doctor",
	.arguments = "",
	.completion = GP_COMPLETE_NONE,
	.summary = N_("Report which preemption mechanisms work on this machine, and why"),
	.description =
		N_("Reports kernel, drivers, GPUs, runtimes and permissions, then whether each "
		   "mechanism is\nusable and, if not, what is missing. Opens no device and "
		   "disturbs no "
		   "process, except\nwith --probe."),
	.options = options,
	.examples = "  gpreempt doctor\n"
		    "  # the usable mechanisms\n"
		    "  gpreempt doctor --json | jq -r '.mechanisms[] | select(.verdict == \"can\") "
		    "| .name'\n",
	.run = run,
};
