// SPDX-License-Identifier: MIT
/* gpreempt-selftest: what is asked and said before and after; `gpreempt selftest` runs it. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/host/program.h"
#include "base/units.h"
#include "selftest/base.h"
#include "selftest/calibrate.h"
#include "selftest/command.h"
#include "selftest/selftest.h"
#include "show/term.h"

#define GFX_ASK          110000u /* from gfx11 on another firmware (MES) schedules */
#define CYCLES_MAX       100000u
#define DEFAULT_FILE     "gpreempt-selftest.json" /* in the working directory */
#define CALIBRATION_FILE "gpreempt-calibration.json"

struct request {
	bool json, shared, yes, gpu_given, nvidia; /* nvidia: the number is of NVIDIA's */
	u64 node, cycles;
	bool calibrate;
	const char *calibration, *base; /* --calibrate=FILE, --base */
	const char *file; /* for the JSON; NULL: stdout when `json`, else DEFAULT_FILE */
	struct gp_diag *diag;
	FILE *talk; /* where sentences go: stdout, unless that is JSON */
};

static const struct gp_root live = {""};

/* ---- the request ---- */

static int take_option(void *ctx, int option, const char *value)
{
	struct request *request = ctx;

	switch (option) {
	case GP_SELFTEST_OPTION_JSON:
		request->json = true;
		request->file = value;
		return 0;
	case GP_SELFTEST_OPTION_GPU:
		request->gpu_given = true;
		request->nvidia = strncmp(value, "nvidia", 6) == 0;
		return gp_option_count(&gp_selftest_command, "gpu",
				       value + (request->nvidia ? 6 : 0), 0, UINT32_MAX,
				       &request->node);
	case GP_SELFTEST_OPTION_CYCLES:
		return gp_option_count(&gp_selftest_command, "cycles", value, 1, CYCLES_MAX,
				       &request->cycles);
	case GP_SELFTEST_OPTION_SHARED:
		request->shared = true;
		return 0;
	case GP_SELFTEST_OPTION_CALIBRATE:
		request->calibrate = true;
		request->calibration = value;
		return 0;
	case GP_SELFTEST_OPTION_BASE:
		request->base = value;
		return 0;
	default: /* GP_SELFTEST_OPTION_YES */
		request->yes = true;
		return 0;
	}
}

/* 0, 1 after --help, or -EINVAL. */
static int take_options(struct request *request, int argc, char **argv)
{
	int first, status = gp_command_parse(&gp_selftest_command, argc, argv, take_option, request,
					     &first);

	if (status)
		return status;
	/* "--json FILE" as well as "--json=FILE". */
	if (request->json && !request->file && first < argc)
		request->file = argv[first++];
	if (first < argc) {
		gp_usage_error(&gp_selftest_command, "unexpected argument '%s'", argv[first]);
		return -EINVAL;
	}
	if (request->file && strcmp(request->file, "-") == 0)
		request->file = NULL;
	request->talk = request->json && !request->file ? stderr : stdout;
	return 0;
}

/* ---- may it run? ---- */

static const struct gp_gpu *choose(const struct request *request, const struct gp_inspect_ps *ps)
{
	for (size_t i = 0; i < ps->gpus.count; i++)
		if (!request->gpu_given ||
		    (ps->gpus.items[i].node == request->node &&
		     (!request->nvidia || gp_gpu_is_nvidia(ps->gpus.items[i].gpu_id))))
			return &ps->gpus.items[i];
	if (!ps->gpus.count)
		gp_fail(request->diag, -ENODEV,
			"no GPU with the AMD KFD driver or the NVIDIA driver found; 'gpreempt "
			"doctor' reports what is missing");
	else
		gp_fail(request->diag, -ENODEV,
			request->nvidia ? N_("GPU nvidia%llu not found; 'gpreempt doctor' lists "
					     "the GPUs")
					: N_("GPU node %llu not found; 'gpreempt doctor' lists the "
					     "GPUs"),
			(unsigned long long)request->node);
	return NULL;
}

static bool uses(const struct gp_gpu_process *process, u32 gpu_id)
{
	for (size_t i = 0; i < process->queue_count; i++)
		if (process->queues[i].gpu_id == gpu_id)
			return true;
	for (size_t i = 0; i < process->usage_count; i++)
		if (process->usages[i].gpu_id == gpu_id &&
		    (process->usages[i].valid & GP_USAGE_VRAM) && process->usages[i].vram_bytes)
			return true;
	return false;
}

/* Every suspension briefly takes everybody on the device off it. */
static int refuse_others(const struct request *request, const struct gp_inspect_ps *ps,
			 const struct gp_gpu *gpu)
{
	bool host_view = gp_process_host_view(&live);

	for (size_t i = 0; i < ps->count; i++) {
		const struct gp_inspect_ps_row *row = &ps->rows[i];

		/* The driver tidies up after a process some time after its end. */
		if (!uses(row->gpu, gpu->gpu_id) || (host_view && !row->process_known))
			continue;
		if (request->shared) {
			gp_diag(request->diag, GP_WARNING,
				"process %u (%s) uses this GPU and will be interrupted briefly",
				row->gpu->pid, row->process_known ? row->process.comm : "?");
			continue;
		}
		return gp_fail(request->diag, -EBUSY,
			       "process %u (%s) uses this GPU: each suspension interrupts it "
			       "briefly, and a failed one can reset the GPU; end the process, "
			       "choose another GPU with --gpu, or continue with --shared-gpu",
			       row->gpu->pid, row->process_known ? row->process.comm : "?");
	}
	return 0;
}

static int confirm(const struct request *request, const struct gp_gpu *gpu)
{
	char line[16] = "";

	if (request->yes || gp_gpu_is_nvidia(gpu->gpu_id) ||
	    ((gpu->valid & GP_GPU_GFX) && gpu->gfx_version < GFX_ASK))
		return 0;
	if (isatty(STDIN_FILENO)) {
		fprintf(request->talk, "%s ",
			_("This GPU is scheduled by MES firmware (gfx11 or later), which is "
			  "untested: a failed\n"
			  "suspension can reset the GPU and any display on it. Continue? [y/N]"));
		fflush(request->talk);
		if (fgets(line, sizeof(line), stdin) && (line[0] == 'y' || line[0] == 'Y'))
			return 0;
		return gp_fail(request->diag, -ECANCELED, "cancelled; nothing was changed");
	}
	return gp_fail(
		request->diag, -ECANCELED,
		"this GPU is scheduled by MES firmware (gfx11 or later), which is untested: a "
		"failed suspension can reset the GPU and any display on it; use --yes to continue");
}

/* ---- the run ---- */

static bool has_kernel(const char *gfx)
{
	char installed[96], built[96], path[PATH_MAX];

	snprintf(installed, sizeof(installed), "lib/gpreempt/selftest-%s.co", gfx);
	snprintf(built, sizeof(built), "lib/selftest-%s.co", gfx);
	return gp_program_beside(installed, built, path, sizeof(path)) == 0;
}

static void announce_work(const struct request *request, const struct gp_selftest_report *report,
			  const char *gfx)
{
	if (!report->executes)
		fprintf(request->talk, "%s\n\n",
			_("This virtual GPU does not execute kernels (--compute on): only the "
			  "order and "
			  "number of packets are checked."));
	else if (has_kernel(gfx))
		fprintf(request->talk, "%s\n\n",
			_("The program runs a kernel that continuously checks its registers, LDS "
			  "and lanes; each\n"
			  "suspension interrupts it. The order and number of packets are also "
			  "checked."));
	else
		fprintf(request->talk,
			_("This build has no kernel for %s; hiprtc is used to compile one. Without "
			  "hiprtc, the test\n"
			  "submits barrier packets and checks their order and number, but not "
			  "whether the registers\n"
			  "of a kernel are preserved.\n"
			  "\n"),
			gfx);
}

static void announce_nvidia(const struct request *request, const struct gp_selftest_report *report)
{
	fprintf(request->talk, _("GPU nvidia%u: %s\n"), report->gpu->node, report->gpu->name);
	fprintf(request->talk,
		_("The test uses nv-suspend and nv-timeslice with 1, 2 and 4 contexts. It starts "
		  "two CUDA programs,\n"
		  "suspends and resumes one %u times, checks that the program makes no progress "
		  "while suspended, gives\n"
		  "it a small share of the GPU while the other program runs, and kills the holder "
		  "each time. The kernels\n"
		  "check their registers, shared memory, order and number. The test touches only "
		  "its own processes and\n"
		  "files, and removes them at the end.\n"
		  "\n"),
		report->cycles);
	fflush(request->talk);
}

static void announce(const struct request *request, const struct gp_selftest_report *report)
{
	char gfx[16] = "?";

	if (gp_gpu_is_nvidia(report->gpu->gpu_id)) {
		announce_nvidia(request, report);
		return;
	}
	if (report->gpu->valid & GP_GPU_GFX)
		gp_kfd_gfx_name(report->gpu->gfx_version, gfx, sizeof(gfx));
	fprintf(request->talk, _("GPU node %u: %s (%s)%s\n"), report->gpu->node, report->gpu->name,
		gfx, report->virtual_gpu ? _(", virtual: times come from the model") : "");
	fprintf(request->talk,
		_("The test uses kfd-agent and kfd-debug with 1, 4 and 16 queues. It starts a GPU "
		  "program, suspends and\n"
		  "resumes it %u times, checks that its work makes no progress while suspended and "
		  "completes afterwards,\n"
		  "and kills the holder during a suspension. With kfd-cumask it limits the program "
		  "to a quarter of the\n"
		  "compute units instead. The test touches only its own processes and files, and "
		  "removes them at the end.\n"),
		report->cycles);
	announce_work(request, report, gfx);
	fflush(request->talk);
}

typedef int check_function(struct gp_selftest_place *place, struct gp_selftest_report *report,
			   size_t mechanism);

static int run(const struct request *request, struct gp_selftest_report *report, int *signal_number)
{
	static const struct {
		struct gp_selftest_result result;
		check_function *check;
	} kinds[2][GP_SELFTEST_MECHANISMS] = {
		{{{.name = "kfd-agent", .mechanism = GPREEMPT_KFD_AGENT}, gp_selftest_check},
		 {{.name = "kfd-cumask", .mechanism = GPREEMPT_KFD_AGENT, .shares = true},
		  gp_selftest_check},
		 {{.name = "kfd-debug", .mechanism = GPREEMPT_KFD_DEBUG}, gp_selftest_check}},
		{{{.name = "nv-suspend", .mechanism = GPREEMPT_NV_SUSPEND}, gp_selftest_check},
		 {{.name = "nv-timeslice", .mechanism = GPREEMPT_NV_SUSPEND},
		  gp_selftest_check_slices}},
	};
	bool nvidia = gp_gpu_is_nvidia(report->gpu->gpu_id);
	struct gp_selftest_place place;
	int error = gp_selftest_place_make(&place);

	if (error)
		return gp_fail(request->diag, error, "cannot create a directory in /tmp: %s",
			       strerror(-error));
	for (size_t i = 0; !error && i < GP_SELFTEST_MECHANISMS; i++) {
		report->results[i] = kinds[nvidia][i].result;
		if (kinds[nvidia][i].check)
			error = kinds[nvidia][i].check(&place, report, i);
	}
	if (gp_selftest_interrupted(&place))
		error = -EINTR;
	*signal_number = place.signal;
	gp_selftest_place_remove(&place);
	return error;
}

static int write_json(struct gp_diag *diag, const char *path, bool named, const json_t *json)
{
	char *text = json_dumps(json, JSON_INDENT(2));
	struct gp_buf lines = {.error = text ? 0 : -ENOMEM};
	int error;

	gp_buf_puts(&lines, text ? text : "");
	gp_buf_puts(&lines, "\n");
	error = lines.error ? lines.error
		: named     ? gp_file_write_atomic(path, lines.data, lines.len)
			    : gp_file_replace(path, lines.data, lines.len);
	gp_buf_free(&lines);
	free(text);
	return error ? gp_fail(diag, error, "cannot write %s: %s", path, strerror(-error)) : 0;
}

/* What the work was, where it is not what the reader must expect. */
static void show_work(const struct gp_selftest_report *report)
{
	if (report->work == GP_SELFTEST_BARRIERS)
		printf(_("Only barrier packets were submitted (%s): it is unknown whether kernel "
			 "registers are preserved.\n"),
		       report->work_reason);
	else if (report->work == GP_SELFTEST_HIPRTC)
		printf("%s\n", _("The test kernel was compiled with hiprtc because this build has "
				 "none for this GPU."));
}

static void show_reasons(const struct gp_selftest_report *report)
{
	for (size_t i = 0; i < GP_SELFTEST_MECHANISMS; i++)
		if (report->results[i].name && !report->results[i].works)
			printf(_("%s does not work: %s\n"), report->results[i].name,
			       report->results[i].reason);
}

/* The table has one heading for times of two kinds. */
static void show_shares(const struct gp_selftest_report *report)
{
	for (size_t i = 0; i < GP_SELFTEST_MECHANISMS; i++)
		if (report->results[i].shares && report->results[i].works)
			printf(_("%s does not suspend: its times are for limiting the program to a "
				 "quarter of the compute\n"
				 "units and lifting the limit; the number of compute units in use "
				 "is not measured.\n"),
			       report->results[i].name);
}

/* A file that nobody asked for by name is no reason to fail. */
static int write_file(const struct request *request, const json_t *json)
{
	const char *path = request->file ? request->file : DEFAULT_FILE;
	int error = write_json(request->diag, path, request->file, json);

	if (!error && !request->file)
		printf(_("The full results are in %s.\n"), path);
	return request->file ? error : 0;
}

static int show(const struct request *request, const struct gp_selftest_report *report)
{
	struct gp_doc *doc = gp_selftest_doc(report);
	bool only_json = request->json && !request->file;
	int error = gp_show_print(doc, stdout, only_json ? GP_SHOW_JSON : GP_SHOW_TEXT);
	json_t *json = error || only_json ? NULL : gp_doc_json(doc);

	gp_doc_free(doc);
	if (error || only_json)
		return error;
	show_reasons(report);
	show_shares(report);
	show_work(report);
	error = json ? write_file(request, json) : -ENOMEM;
	json_decref(json);
	return error;
}

/* As if the signal had not been held back. */
static int die_of(int number)
{
	sigset_t set;

	signal(number, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, number);
	raise(number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	return GP_EXIT_FAILED;
}

static int measure_costs(const struct request *request, struct gp_selftest_report *report,
			 json_t *file)
{
	const char *path = request->calibration ? request->calibration : CALIBRATION_FILE;
	struct gp_selftest_place place;
	struct gp_selftest_costs costs;
	struct gp_progress progress;
	char reason[512] = "";
	int number, error = gp_selftest_place_make(&place);

	if (error) {
		gp_fail(request->diag, error, "cannot create a directory in /tmp: %s",
			strerror(-error));
		return GP_EXIT_FAILED;
	}
	gp_progress_start(&progress, request->diag);
	error = gp_selftest_calibrate(&place, report, gp_selftest_base_xccs(report, file),
				      request->json ? NULL : &progress, &costs, reason,
				      sizeof(reason));
	gp_progress_end(&progress);
	gp_selftest_interrupted(&place);
	number = place.signal;
	gp_selftest_place_remove(&place);
	if (number)
		return die_of(number);
	if (error)
		return gp_fail(request->diag, error, "cannot calibrate this GPU: %s", reason)
			       ? GP_EXIT_FAILED
			       : GP_EXIT_OK;
	gp_selftest_costs_print(&costs, request->talk);
	error = gp_selftest_calibration_write(report, &costs, file, path, request->calibration,
					      request->diag);
	if (!error)
		fprintf(request->talk,
			costs.save_ns && costs.restore_ns
				? _("The costs are in %s.\n")
				: _("The costs are in %s; saving and restoring waves was not "
				    "measured.\n"),
			path);
	return error || fflush(request->talk) ? GP_EXIT_FAILED : GP_EXIT_OK;
}

static int calibrate(const struct request *request, struct gp_selftest_report *report)
{
	json_t *file = gp_selftest_base_load(report, request->base, request->diag);
	int status = file ? measure_costs(request, report, file) : GP_EXIT_FAILED;

	json_decref(file);
	return status;
}

static int selftest(const struct request *request, const struct gp_inspect_ps *ps)
{
	struct gp_selftest_report report = {.gpu = choose(request, ps),
					    .virtual_gpu = getenv("GPREEMPT_VGPU") != NULL,
					    .executes = !getenv("GPREEMPT_VGPU") ||
							getenv("GPREEMPT_VGPU_COMPUTE"),
					    .cycles = (u32)request->cycles};
	int error, number = 0;
	bool works = false;

	if (!report.gpu)
		return GP_EXIT_FAILED;
	if (!request->calibrate)
		announce(request, &report);
	if (refuse_others(request, ps, report.gpu) || confirm(request, report.gpu))
		return GP_EXIT_FAILED;
	if (request->calibrate)
		return calibrate(request, &report);
	error = run(request, &report, &number);
	if (number)
		return die_of(number);
	if (!error)
		error = show(request, &report);
	for (size_t i = 0; i < GP_SELFTEST_MECHANISMS; i++)
		works = works || report.results[i].works;
	if (fflush(stdout))
		error = -EIO;
	return error || !works ? GP_EXIT_FAILED : GP_EXIT_OK;
}

int main(int argc, char **argv)
{
	struct gp_command_diag sink;
	struct request request = {.cycles = GP_SELFTEST_CYCLES, .diag = &sink.diag};
	struct gp_inspect_ps ps = {0};
	int status;

	gp_i18n_init();
	gp_command_diag_init(&sink, &gp_selftest_command);
	status = take_options(&request, argc, argv);
	if (status)
		return status < 0 ? GP_EXIT_USAGE : GP_EXIT_OK;
	status = GP_EXIT_FAILED;
	if (gp_inspect_ps_read(&live, request.diag, &ps) == 0)
		status = selftest(&request, &ps);
	gp_inspect_ps_free(&ps);
	return status;
}
