// SPDX-License-Identifier: MIT
/* Arrangements of a cluster beside each other: see output.h. */
#include "sim/cluster/output.h"

#include <errno.h>
#include <stdlib.h>

#include "base/core.h"
#include "base/i18n.h"
#include "show/term.h"
#include "sim/cluster/share.h"

#define CURVE_STEPS 100

static double hours(const struct gp_sim_cluster_result *result, enum gp_sim_cluster_use use)
{
	return gp_sim_cluster_hours(result->use[use]);
}

static double part(const struct gp_sim_cluster *cluster, const struct gp_sim_cluster_result *result,
		   gp_sim_gpu_time time)
{
	double all = (double)result->time_ns * GP_SIM_CLUSTER_FULL * cluster->nodes * cluster->gpus;

	return all > 0 ? 100 * (double)time / all : 0;
}

static struct gp_show_value hours_value(double value)
{
	return gp_v_real(GP_UNIT_REAL, value);
}

static void put_hours(struct gp_doc *doc, double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.1f", value);
	gp_doc_cell(doc, gp_v_as(hours_value(value), text));
}

/* Of jobs that started; `at` in thousandths. */
static struct gp_show_value wait_at(const struct gp_sim_cluster_class *class, u32 at)
{
	return gp_v_if(class->wait.count, gp_v_ns(gp_histogram_at(&class->wait, at)));
}

static struct gp_show_value wait_mean(const struct gp_sim_cluster_class *class)
{
	u64 count = class->wait.count;

	return gp_v_if(count, gp_v_ns(count ? class->wait.sum / count : 0));
}

/* ---- tables ---- */

static const char *label(enum gp_sim_cluster_arrangement arrangement)
{
	return gp_sim_cluster_name(arrangement);
}

/* The columns of people and the keys of JSON, in one table. */
static const struct {
	enum gp_sim_cluster_use use;
	const char *key, *title;
} use_columns[] = {
	{GP_SIM_CLUSTER_ONLINE, "online_gpu_hours", N_("ONLINE")},
	{GP_SIM_CLUSTER_OFFLINE, "offline_gpu_hours", N_("OFFLINE")},
	{GP_SIM_CLUSTER_LOST, "lost_gpu_hours", N_("LOST")},
	{GP_SIM_CLUSTER_RESTART, "restart_gpu_hours", N_("RESTART")},
	{GP_SIM_CLUSTER_SWITCHING, "switching_gpu_hours", N_("SWITCHING")},
	{GP_SIM_CLUSTER_STALLED, "stalled_gpu_hours", N_("STALLED")},
	{GP_SIM_CLUSTER_RESERVED, "reserved_gpu_hours", N_("RESERVED")},
	{GP_SIM_CLUSTER_FREE, "free_gpu_hours", N_("FREE")},
};

static void put_uses(struct gp_doc *doc, const struct gp_sim_cluster *cluster,
		     const struct gp_sim_cluster_result *results)
{
	gp_doc_table(doc, "gpu_time", _("GPU hours"));
	gp_doc_column(doc, "arrangement", "ARRANGEMENT");
	for (size_t i = 0; i < GP_ARRAY_SIZE(use_columns); i++)
		gp_doc_column(doc, use_columns[i].key, use_columns[i].title);
	gp_doc_column(doc, "used_percent", "USED");
	for (int a = 0; a < GP_SIM_CLUSTER_ARRANGEMENTS; a++) {
		const struct gp_sim_cluster_result *result = &results[a];

		gp_doc_cell(doc, gp_v_text(label(a)));
		for (size_t i = 0; i < GP_ARRAY_SIZE(use_columns); i++)
			put_hours(doc, hours(result, use_columns[i].use));
		gp_doc_cell(doc, gp_v_percent(part(cluster, result,
						   result->use[GP_SIM_CLUSTER_ONLINE] +
							   result->use[GP_SIM_CLUSTER_OFFLINE])));
	}
}

static void put_class(struct gp_doc *doc, const char *arrangement, const char *name,
		      const struct gp_sim_cluster_class *class)
{
	u64 longest = GP_MAX(class->wait.max, class->waited_ns);

	gp_doc_cell(doc, gp_v_text(arrangement));
	gp_doc_cell(doc, gp_v_text(name));
	gp_doc_cell(doc, gp_v_count(class->arrived));
	gp_doc_cell(doc, gp_v_count(class->completed));
	gp_doc_cell(doc, gp_v_count(class->running));
	gp_doc_cell(doc, gp_v_count(class->waiting));
	gp_doc_cell(doc, gp_v_count(class->kills));
	gp_doc_cell(doc, wait_mean(class));
	gp_doc_cell(doc, wait_at(class, 500));
	gp_doc_cell(doc, wait_at(class, 990));
	gp_doc_cell(doc, gp_v_if(class->arrived, gp_v_ns(longest)));
}

static void put_class_columns(struct gp_doc *doc, const char *key, const char *title)
{
	gp_doc_column(doc, "arrangement", "ARRANGEMENT");
	gp_doc_column(doc, key, title);
	gp_doc_column(doc, "arrived", "ARRIVED");
	gp_doc_column(doc, "completed", "COMPLETED");
	gp_doc_column(doc, "running", "RUNNING");
	gp_doc_column(doc, "waiting", "WAITING");
	gp_doc_column(doc, "killed", "KILLED");
	gp_doc_column(doc, "wait_mean_ns", "MEAN WAIT");
	gp_doc_column(doc, "wait_p50_ns", "P50");
	gp_doc_column(doc, "wait_p99_ns", "P99");
	gp_doc_column(doc, "wait_max_ns", "MAX");
}

static void put_classes(struct gp_doc *doc, const struct gp_sim_cluster_result *results)
{
	gp_doc_table(doc, "jobs", _("Jobs and how long they waited for their first start"));
	put_class_columns(doc, "class", "CLASS");
	for (int a = 0; a < GP_SIM_CLUSTER_ARRANGEMENTS; a++) {
		put_class(doc, label(a), "online", &results[a].online);
		put_class(doc, label(a), "offline", &results[a].offline);
	}
}

/* A row of each section of the scenario under each arrangement. */
static void put_kinds(struct gp_doc *doc, const struct gp_sim_cluster *cluster,
		      const struct gp_sim_cluster_result *results)
{
	gp_doc_table(doc, "sections", _("Each [job] of the scenario"));
	put_class_columns(doc, "job", "JOB");
	for (size_t i = 0; i <= GP_SIM_CLUSTER_TRACED; i++) {
		const char *name = i < cluster->kind_count ? cluster->kinds[i].name : "[trace]";

		for (int a = 0; a < GP_SIM_CLUSTER_ARRANGEMENTS; a++)
			if (results[a].kinds && results[a].kinds[i].arrived)
				put_class(doc, label(a), name, &results[a].kinds[i]);
	}
}

/* What `share` has more of than another arrangement. */
static void put_gain(struct gp_doc *doc, const struct gp_sim_cluster_result *share,
		     const struct gp_sim_cluster_result *other, enum gp_sim_cluster_arrangement a)
{
	double mine = hours(share, GP_SIM_CLUSTER_OFFLINE),
	       theirs = hours(other, GP_SIM_CLUSTER_OFFLINE);

	gp_doc_cell(doc, gp_v_text(label(a)));
	put_hours(doc, mine - theirs);
	gp_doc_cell(doc, gp_v_if(theirs > 0,
				 gp_v_percent(theirs > 0 ? 100 * (mine - theirs) / theirs : 0)));
	put_hours(doc, hours(share, GP_SIM_CLUSTER_ONLINE) - hours(other, GP_SIM_CLUSTER_ONLINE));
	gp_doc_cell(doc, wait_mean(&other->online));
	gp_doc_cell(doc, wait_mean(&share->online));
}

static void put_gains(struct gp_doc *doc, const struct gp_sim_cluster_result *results)
{
	const struct gp_sim_cluster_result *share = &results[GP_SIM_CLUSTER_SHARE];

	gp_doc_table(doc, "gain", _("Gain of sharing"));
	gp_doc_column(doc, "against", "AGAINST");
	gp_doc_column(doc, "offline_gpu_hours", "OFFLINE GPU HOURS");
	gp_doc_column(doc, "offline_percent", "OFFLINE WORK");
	gp_doc_column(doc, "online_gpu_hours", "ONLINE GPU HOURS");
	gp_doc_column(doc, "online_wait_mean_ns", "ONLINE WAIT");
	gp_doc_column(doc, "online_wait_mean_share_ns", "WHEN SHARED");
	for (int a = 0; a < GP_SIM_CLUSTER_SHARE; a++)
		put_gain(doc, share, &results[a], a);
}

static void put_shares(struct gp_doc *doc, const struct gp_sim_cluster *cluster)
{
	gp_doc_table(doc, "shared_gpu", _("A GPU that an online and an offline job share"));
	gp_doc_column(doc, "busy_percent", "ONLINE LOAD");
	gp_doc_column(doc, "offline_percent", "OFFLINE JOB GETS");
	gp_doc_column(doc, "p99_ratio", "REQUEST P99 / ALONE");
	for (u32 i = 1; i < GP_SIM_CLUSTER_LOADS - 1; i++) {
		double ratio = (double)cluster->slowdown[i] / GP_SIM_CLUSTER_FULL;
		char text[16];

		snprintf(text, sizeof(text), "%.3f", ratio);
		gp_doc_cell(doc, gp_v_percent(10 * i));
		gp_doc_cell(doc, gp_v_percent((double)cluster->share[i] / 10));
		gp_doc_cell(doc, gp_v_if(cluster->slowdown[i],
					 gp_v_as(gp_v_real(GP_UNIT_REAL, ratio), text)));
	}
}

/* ---- the page ---- */

static void put_pictures(struct gp_doc *doc, const struct gp_sim_cluster_result *results)
{
	u64 ns[CURVE_STEPS + 1];

	gp_doc_chart(doc, _("GPU hours of offline work"));
	for (int a = 0; a < GP_SIM_CLUSTER_ARRANGEMENTS; a++)
		gp_doc_bar(doc, label(a), hours_value(hours(&results[a], GP_SIM_CLUSTER_OFFLINE)));
	gp_doc_curves(doc, _("share of online jobs that started within the given time"));
	for (int a = 0; a < GP_SIM_CLUSTER_ARRANGEMENTS; a++) {
		const struct gp_histogram *wait = &results[a].online.wait;

		if (!wait->count)
			continue;
		for (u32 i = 0; i <= CURVE_STEPS; i++)
			ns[i] = gp_histogram_at(wait, i * 1000 / CURVE_STEPS);
		gp_doc_curve(doc, label(a), ns, CURVE_STEPS + 1);
	}
}

static void put_headline(struct gp_doc *doc, const struct gp_sim_cluster_result *results)
{
	double alone = hours(&results[GP_SIM_CLUSTER_EXCLUSIVE], GP_SIM_CLUSTER_OFFLINE),
	       shared = hours(&results[GP_SIM_CLUSTER_SHARE], GP_SIM_CLUSTER_OFFLINE),
	       requeue = hours(&results[GP_SIM_CLUSTER_REQUEUE], GP_SIM_CLUSTER_OFFLINE),
	       lost = hours(&results[GP_SIM_CLUSTER_REQUEUE], GP_SIM_CLUSTER_LOST) +
		      hours(&results[GP_SIM_CLUSTER_REQUEUE], GP_SIM_CLUSTER_RESTART);
	char figure[32], text[256];

	if (alone <= 0)
		return;
	snprintf(figure, sizeof(figure), "%+.1f %%", 100 * (shared - alone) / alone);
	snprintf(text, sizeof(text),
		 _("offline work when GPUs are shared, against exclusive GPUs; kill-and-requeue: "
		   "%+.1f %%, with %.0f GPU hours lost in kills and restarts"),
		 100 * (requeue - alone) / alone, lost);
	gp_doc_headline(doc, figure, text);
}

struct gp_doc *
gp_sim_cluster_doc(const struct gp_sim_cluster *cluster,
		   const struct gp_sim_cluster_result results[GP_SIM_CLUSTER_ARRANGEMENTS])
{
	struct gp_doc *doc = gp_doc_new_answer();

	gp_doc_title(doc, *cluster->title ? cluster->title : "gpreempt sim");
	gp_doc_fact(doc, "title", NULL, gp_v_text(cluster->title));
	gp_doc_fact(doc, "kind", NULL, gp_v_text("model, not a measurement"));
	gp_doc_fact(doc, "nodes", _("nodes"), gp_v_count(cluster->nodes));
	gp_doc_fact(doc, "gpus_per_node", _("GPUs per node"), gp_v_count(cluster->gpus));
	gp_doc_fact(doc, "time_ns", _("time"), gp_v_ns(results[0].time_ns));
	gp_doc_fact(doc, "seed", NULL, gp_v_count(cluster->seed));
	put_headline(doc, results);
	put_uses(doc, cluster, results);
	put_classes(doc, results);
	put_kinds(doc, cluster, results);
	put_gains(doc, results);
	put_shares(doc, cluster);
	gp_doc_line(doc,
		    "USED is the part of all GPU time that did work of online jobs, or work of "
		    "offline jobs that was not lost.");
	gp_doc_line(doc,
		    "It is assumed that both jobs fit into the memory of a shared GPU, and that at "
		    "most one online and one offline job share it.");
	gp_doc_line(doc, "All times come from the GPU model; nothing was measured.");
	put_pictures(doc, results);
	gp_doc_open_list(doc, "runs", NULL);
	for (int a = 0; a < GP_SIM_CLUSTER_ARRANGEMENTS; a++) {
		gp_doc_open(doc, NULL, NULL);
		gp_doc_fact(doc, "arrangement", NULL, gp_v_text(label(a)));
		gp_doc_fact(doc, "time_ns", NULL, gp_v_ns(results[a].time_ns));
		gp_doc_fact(doc, "events", NULL, gp_v_count(results[a].events));
		gp_doc_fact(doc, "cut", NULL, gp_v_bool(results[a].cut));
		gp_doc_close(doc);
	}
	gp_doc_close(doc);
	return doc;
}

/* ---- the command ---- */

struct watch {
	struct gp_progress progress;
	u64 before_ns, all_ns;
};

static void show_progress(void *data, u64 now_ns)
{
	struct watch *watch = data;

	gp_progress_count(&watch->progress, "gpreempt sim",
			  (watch->before_ns + now_ns) / GP_NS_PER_S, watch->all_ns / GP_NS_PER_S);
}

static int run_all(const struct gp_sim_cluster *cluster, u64 max_events, struct gp_diag *diag,
		   struct gp_sim_cluster_result *results)
{
	struct watch watch = {.all_ns = cluster->time_ns * GP_SIM_CLUSTER_ARRANGEMENTS};
	struct gp_sim_cluster_options options = {.max_events = max_events,
						 .progress = show_progress,
						 .data = &watch};
	int error = 0;

	gp_progress_start(&watch.progress, diag);
	for (int a = 0; !error && a < GP_SIM_CLUSTER_ARRANGEMENTS; a++) {
		error = gp_sim_cluster_run(cluster, a, &options, diag, &results[a]);
		watch.before_ns += cluster->time_ns;
		if (!error && results[a].cut)
			gp_diag(diag, GP_WARNING,
				"stopped after %llu events, at %.3f s of %.3f s of virtual time "
				"(use --events N to raise the limit)",
				(unsigned long long)results[a].events,
				(double)results[a].time_ns / 1e9, (double)cluster->time_ns / 1e9);
	}
	gp_progress_end(&watch.progress);
	return error;
}

struct gp_doc *gp_sim_cluster_compare(const char *name, const char *text, size_t size,
				      const u64 *seed, u64 time_ns, u64 max_events,
				      struct gp_diag *diag)
{
	struct gp_sim_cluster_result *results =
		calloc(GP_SIM_CLUSTER_ARRANGEMENTS, sizeof(*results));
	struct gp_sim_cluster_class *kinds =
		calloc(GP_SIM_CLUSTER_ARRANGEMENTS * (GP_SIM_CLUSTER_TRACED + 1), sizeof(*kinds));
	struct gp_sim_cluster cluster;
	struct gp_doc *doc = NULL;
	int error = results && kinds ? 0 : gp_fail(diag, -ENOMEM, "out of memory");

	for (size_t a = 0; !error && a < GP_SIM_CLUSTER_ARRANGEMENTS; a++)
		results[a].kinds = kinds + a * (GP_SIM_CLUSTER_TRACED + 1);
	gp_sim_cluster_init(&cluster);
	if (!error)
		error = gp_sim_cluster_parse(&cluster, name, text, size, diag);
	if (seed)
		cluster.seed = *seed;
	if (time_ns)
		cluster.time_ns = time_ns;
	if (!error)
		error = gp_sim_cluster_prepare(&cluster, name, diag);
	if (!error)
		error = gp_sim_cluster_share(&cluster, diag);
	if (!error)
		error = run_all(&cluster, max_events, diag, results);
	if (!error)
		doc = gp_sim_cluster_doc(&cluster, results);
	gp_sim_cluster_free(&cluster);
	free(kinds);
	free(results);
	return doc;
}
