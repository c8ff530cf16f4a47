// SPDX-License-Identifier: MIT
/* Start, end, signals and reload of the daemon. */
#include "daemon/daemon.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/i18n.h"
#include "gpu/gpu.h"
#include "proto/directory.h"

int gp_daemon_init(struct gp_daemon *daemon, struct gp_daemon_config *config,
		   const char *config_path, struct gp_diag *diag)
{
	int error;

	memset(daemon, 0, sizeof(*daemon));
	daemon->config = *config;
	memset(config, 0, sizeof(*config));
	daemon->config_path = config_path;
	daemon->diag = diag;
	daemon->root.dir = "";
	daemon->lists_queue = gp_gpu_lists_queue;
	daemon->started_ns = gp_monotonic_ns();
	daemon->lock = -1;
	daemon->operators = GP_DAEMON_NO_GROUP;
	daemon->forced_mode = -1;
	daemon->library_watch.fd = daemon->agents_watch.fd = -1;
	daemon->listen_watch.fd = daemon->signal_watch.fd = daemon->metrics.watch.fd = -1;
	daemon->directory_watch.fd = daemon->group_watch.fd = -1;
	gp_list_init(&daemon->jobs);
	gp_list_init(&daemon->clients);
	gp_list_init(&daemon->operations);
	gp_list_init(&daemon->peers);
	gp_timer_init(&daemon->watchdog_timer, NULL);
	gp_timer_init(&daemon->library_timer, NULL);
	gp_daemon_activity_init(daemon);
	gp_daemon_swap_init(daemon);
	gp_daemon_share_init(daemon);
	gp_daemon_keep_start(daemon);
	gp_daemon_service_init(daemon);
	gp_daemon_tidy_init(daemon);
	error = gp_loop_init(&daemon->loop);
	if (!error)
		error = gp_daemon_record_init(&daemon->record, daemon->config.decisions);
	if (!error) {
		gp_daemon_attach_start(daemon);
		gp_daemon_absent_start(daemon);
		gp_daemon_worth_start(daemon);
		error = gp_daemon_host_init(daemon);
	}
	if (error)
		gp_daemon_free(daemon);
	return error;
}

/* ---- configuration ---- */

/* Sizes are those of memory that is there already. */
static void keep_sizes(struct gp_daemon *daemon, struct gp_daemon_config *config)
{
	const struct gp_daemon_config *old = &daemon->config;

	if (config->decisions != old->decisions || config->max_jobs != old->max_jobs ||
	    config->max_processes != old->max_processes || config->max_queues != old->max_queues ||
	    config->lease_ns != old->lease_ns || config->max_suspend_ns != old->max_suspend_ns ||
	    config->operation_timeout_ns != old->operation_timeout_ns)
		gp_diag(daemon->diag, GP_WARNING,
			"changes to decisions, max_jobs, max_processes, max_queues, lease, "
			"max_suspend and operation_timeout take effect when gpreemptd restarts");
	config->decisions = old->decisions;
	config->max_jobs = old->max_jobs;
	config->max_processes = old->max_processes;
	config->max_queues = old->max_queues;
	config->lease_ns = old->lease_ns;
	config->max_suspend_ns = old->max_suspend_ns;
	config->operation_timeout_ns = old->operation_timeout_ns;
}

/* What was held in thought only is not held, and what was held is let go; the core decides again.
 */
static void begin_anew(struct gp_daemon *daemon)
{
	u64 lost = daemon->stats.leases_lost;

	gp_list_each (struct gp_daemon_job, job, link, &daemon->jobs) {
		if (job->wanted_held)
			gp_daemon_act_answer(daemon, 0, job->handle, 0, 0);
	}
	gp_daemon_host_settle(daemon);
	daemon->stats.leases_lost = lost;
	gp_daemon_figures_mode(daemon);
}

int gp_daemon_reload(struct gp_daemon *daemon)
{
	u32 mode = daemon->config.mode;
	struct gp_daemon_config config;
	int error;

	daemon->metrics_error = daemon->diary_error = 0;
	if (!daemon->config_path)
		return 0;
	error = gp_daemon_config_read(daemon->config_path, daemon->diag, &config);
	if (error) {
		gp_diag(daemon->diag, GP_WARNING, "keeping the old configuration");
		return error;
	}
	keep_sizes(daemon, &config);
	if (daemon->forced_mode >= 0)
		config.mode = (u32)daemon->forced_mode;
	gp_daemon_config_free(&daemon->config);
	daemon->config = config;
	if (mode == GP_MODE_ACT && config.mode != GP_MODE_ACT) {
		gp_daemon_act_stop(daemon);
		begin_anew(daemon);
		gp_daemon_hold_recheck(daemon);
	}
	/* Another mode does not make the host faster: pauses stay as long as they were. */
	if (!config.stand_down)
		gp_daemon_worth_forget(daemon);
	gp_daemon_host_configure(daemon);
	gp_list_each (struct gp_daemon_job, job, link, &daemon->jobs)
		gp_daemon_host_respec(daemon, job);
	daemon->absent_devices = gp_daemon_host_absent(daemon);
	gp_daemon_attach_configure(daemon);
	daemon->metrics_error = gp_daemon_metrics_configure(daemon);
	daemon->diary_error = gp_daemon_diary_configure(daemon);
	if (mode != GP_MODE_ACT && config.mode == GP_MODE_ACT) {
		gp_daemon_act_start(daemon);
		begin_anew(daemon);
	}
	gp_diag(daemon->diag, GP_NOTE, "configuration reloaded; mode %s",
		config.mode == GP_MODE_ACT ? "act" : "observe");
	return daemon->metrics_error ? daemon->metrics_error : daemon->diary_error;
}

/* ---- signals and the watchdog ---- */

static void signal_ready(struct gp_watch *watch, u32 events)
{
	struct gp_daemon *daemon = gp_container(watch, struct gp_daemon, signal_watch);
	struct signalfd_siginfo info;

	(void)events;
	if (read(watch->fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	if (info.ssi_signo != SIGHUP) {
		/* Otherwise nothing says who ended it. A key of a terminal has no process. */
		if (info.ssi_pid)
			gp_diag(daemon->diag, GP_NOTE, "exiting: signal %u from process %u",
				info.ssi_signo, info.ssi_pid);
		else
			gp_diag(daemon->diag, GP_NOTE, "exiting: signal %u", info.ssi_signo);
		daemon->loop.stop = true;
		return;
	}
	char text[64];

	snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%llu",
		 (unsigned long long)(gp_monotonic_ns() / 1000));
	gp_daemon_notify(text);
	gp_daemon_reload(daemon);
	gp_daemon_notify("READY=1");
}

static void watchdog(struct gp_timer *timer)
{
	struct gp_daemon *daemon = gp_container(timer, struct gp_daemon, watchdog_timer);

	gp_daemon_notify("WATCHDOG=1");
	gp_timer_set(&daemon->loop, timer, gp_monotonic_ns() + daemon->watchdog_ns);
}

static int start_signals(struct gp_daemon *daemon)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	return gp_loop_watch(&daemon->loop, &daemon->signal_watch, fd, signal_ready);
}

int gp_daemon_refuse_start(struct gp_diag *diag, int error)
{
	if (error == -ENOMEM)
		return gp_fail(
			diag, error,
			"cannot start scheduling: %s; check the limits on memory (ulimit -v, "
			"MemoryMax= of the unit)",
			strerror(-error));
	return gp_fail(diag, error,
		       "cannot start scheduling: %s; check the limit of open files (ulimit -n)",
		       strerror(-error));
}

/* The directory of the sockets cannot be used. */
static int refuse_directory(struct gp_daemon *daemon, int error)
{
	char path[PATH_MAX];
	struct stat info;

	gp_proto_directory_name(path, sizeof(path), "");
	if (error == -EPERM)
		return gp_fail(daemon->diag, error,
			       "unsafe socket directory %s: it must belong to you or root, and "
			       "only its owner may write to it (set GPREEMPT_DIR to use another)",
			       path);
	if (error == -EACCES && lstat(path, &info) == 0 && info.st_uid == 0)
		return gp_fail(daemon->diag, error,
			       "the socket directory %s belongs to root, whose gpreemptd serves "
			       "all users; set GPREEMPT_DIR to run your own",
			       path);
	return gp_fail(daemon->diag, error,
		       "cannot use the socket directory %s: %s; set GPREEMPT_DIR to a directory "
		       "that you may create or write to",
		       path, strerror(-error));
}

int gp_daemon_start(struct gp_daemon *daemon)
{
	char path[PATH_MAX];
	int error;

	gp_daemon_tidy_first(daemon);
	error = gp_daemon_service_start(daemon);
	gp_proto_directory_name(path, sizeof(path), GP_DAEMON_SOCKET);
	if (error == -EBUSY)
		return gp_fail(daemon->diag, error,
			       "another gpreemptd already serves %s; stop it first ('systemctl "
			       "stop gpreemptd'), or set GPREEMPT_DIR to another directory",
			       path);
	if (error == -EPERM || error == -EACCES || error == -ENOENT || error == -ENOTDIR ||
	    error == -EROFS)
		return refuse_directory(daemon, error);
	if (!error)
		error = start_signals(daemon);
	if (!error) {
		gp_daemon_act_start(daemon);
		error = gp_daemon_agents_start(daemon);
	}
	if (error == -EUSERS)
		return gp_fail(daemon->diag, error,
			       "cannot watch %s: the user has no inotify instance left; raise the "
			       "limit with 'sysctl fs.inotify.max_user_instances=1024'",
			       daemon->agents_path);
	if (error)
		return gp_daemon_refuse_start(daemon->diag, error);
	gp_daemon_attach_configure(daemon);
	gp_daemon_metrics_configure(daemon);
	gp_daemon_diary_configure(daemon);
	daemon->watchdog_ns = gp_daemon_notify_watchdog_ns() / 3;
	if (daemon->watchdog_ns) {
		gp_timer_init(&daemon->watchdog_timer, watchdog);
		watchdog(&daemon->watchdog_timer);
	}
	gp_daemon_notify("READY=1");
	return 0;
}

void gp_daemon_free(struct gp_daemon *daemon)
{
	gp_daemon_notify("STOPPING=1");
	gp_daemon_diary_snapshot(daemon);
	gp_daemon_metrics_stop(daemon);
	daemon->ending = true;
	if (daemon->sched) {
		/* The connection's end lets go of all at once; one client after the other would
		 * be waited for, and one that is stopped does not answer. */
		gp_daemon_act_lift(daemon, true);
		gp_daemon_act_stop(daemon);
		gp_daemon_agents_stop(daemon);
	}
	/* They may copy for minutes: nothing is held any more, and no client refers to one. */
	gp_daemon_child_end_all(daemon);
	gp_daemon_service_stop(daemon);
	/* Last, because a disk may be slow; nothing is held any more. */
	gp_daemon_diary_stop(daemon);
	gp_loop_unwatch(&daemon->loop, &daemon->signal_watch);
	gp_loop_unwatch(&daemon->loop, &daemon->group_watch);
	gp_daemon_activity_free(daemon);
	gp_daemon_host_free(daemon);
	free(daemon->tickets);
	daemon->tickets = NULL;
	gp_daemon_record_free(&daemon->record);
	free(daemon->accounts.items);
	daemon->accounts.items = NULL;
	gp_loop_free(&daemon->loop);
	gp_daemon_config_free(&daemon->config);
}
