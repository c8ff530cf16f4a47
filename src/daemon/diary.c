// SPDX-License-Identifier: MIT
/* Decisions on disk: see diary.h. */
#include "daemon/diary.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/core.h"
#include "daemon/daemon.h"

enum { PENDING_MAX = 4 << 20 };
#define SNAPSHOT_NS (10 * GP_NS_PER_S)

/* ---- the thread that writes ---- */

struct file {
	int fd;
	u64 size;
};

/* path.2 becomes path.3, and so on; the oldest goes. */
static void rotate(const struct gp_daemon_diary *diary, struct file *file)
{
	char from[GP_CONFIG_TEXT + 16], to[GP_CONFIG_TEXT + 16];

	for (u32 i = diary->files - 1; i > 0; i--) {
		snprintf(to, sizeof(to), "%s.%u", diary->path, i);
		if (i == 1)
			snprintf(from, sizeof(from), "%s", diary->path);
		else
			snprintf(from, sizeof(from), "%s.%u", diary->path, i - 1);
		rename(from, to);
	}
	if (diary->files == 1)
		unlink(diary->path);
	close(file->fd);
	file->fd = -1;
}

static int open_file(const struct gp_daemon_diary *diary, struct file *file)
{
	struct stat info;

	file->fd = open(diary->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (file->fd < 0)
		return -errno;
	if (fstat(file->fd, &info) < 0 || !S_ISREG(info.st_mode)) {
		close(file->fd);
		file->fd = -1;
		return -EINVAL;
	}
	/* The file names programs of all users: root and the group read it, no matter the umask. */
	if (diary->group != GP_DAEMON_NO_GROUP && fchown(file->fd, (uid_t)-1, diary->group) == 0)
		fchmod(file->fd, 0640);
	file->size = (u64)info.st_size;
	return 0;
}

static int write_all(struct file *file, const char *data, size_t len)
{
	while (len) {
		ssize_t done = write(file->fd, data, len);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		data += done;
		len -= (size_t)done;
		file->size += (u64)done;
	}
	return 0;
}

static int put(const struct gp_daemon_diary *diary, struct file *file, const struct gp_buf *text)
{
	int error = file->fd < 0 ? open_file(diary, file) : 0;

	if (!error)
		error = write_all(file, text->data, text->len);
	if (!error && file->size >= diary->limit)
		rotate(diary, file);
	/* A file that was removed, or a disk that was full, is tried again with the next lines. */
	if (error && file->fd >= 0) {
		close(file->fd);
		file->fd = -1;
	}
	return error;
}

static void *write_lines(void *data)
{
	struct gp_daemon_diary *diary = data;
	struct file file = {.fd = -1};
	struct gp_buf text = {0};
	bool quit = false;

	while (!quit) {
		pthread_mutex_lock(&diary->lock);
		while (!diary->pending.len && !diary->quit)
			pthread_cond_wait(&diary->wake, &diary->lock);
		quit = diary->quit;
		struct gp_buf empty = text;
		text = diary->pending;
		diary->pending = empty;
		diary->pending.len = 0;
		diary->pending.error = 0;
		pthread_mutex_unlock(&diary->lock);
		if (text.len)
			atomic_store(&diary->error, put(diary, &file, &text));
	}
	if (file.fd >= 0)
		close(file.fd);
	gp_buf_free(&text);
	return NULL;
}

/* ---- lines ---- */

static s64 wall_offset(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (s64)now.tv_sec * (s64)GP_NS_PER_S + now.tv_nsec - (s64)gp_monotonic_ns();
}

static void add(struct gp_daemon_diary *diary, const struct gp_proto_diary_line *line)
{
	pthread_mutex_lock(&diary->lock);
	if (diary->pending.len > PENDING_MAX || diary->pending.error)
		diary->dropped++;
	else
		gp_proto_diary_write(&diary->pending, line);
	pthread_cond_signal(&diary->wake);
	pthread_mutex_unlock(&diary->lock);
}

void gp_daemon_diary_decision(struct gp_daemon *daemon, const struct gp_proto_msg_decision *line)
{
	struct gp_proto_diary_line out = {.kind = GP_DIARY_DECISION, .is.decision = *line};

	if (!daemon->diary.on || line->kind == GP_DECISION_RENEW || line->kind == GP_DECISION_TIMER)
		return;
	out.wall_ns = (s64)line->at_ns + wall_offset();
	add(&daemon->diary, &out);
}

void gp_daemon_diary_snapshot(struct gp_daemon *daemon)
{
	struct gp_proto_diary_line line = {.kind = GP_DIARY_STATE};

	if (!daemon->diary.on)
		return;
	line.wall_ns = (s64)gp_monotonic_ns() + wall_offset();
	gp_daemon_report_status(daemon, &line.is.state);
	add(&daemon->diary, &line);
	line.kind = GP_DIARY_DEVICE;
	for (u32 i = 0; i < daemon->device_count; i++) {
		gp_daemon_report_device_view(daemon, i, &line.is.device);
		add(&daemon->diary, &line);
	}
	line.kind = GP_DIARY_JOB;
	gp_list_each (const struct gp_daemon_job, job, link, &daemon->jobs) {
		gp_daemon_report_job_view(daemon, job, &line.is.job);
		add(&daemon->diary, &line);
	}
}

static void say_problems(struct gp_daemon *daemon)
{
	struct gp_daemon_diary *diary = &daemon->diary;
	int error = atomic_load(&diary->error);

	if (error && error != diary->error_said)
		gp_diag(daemon->diag, GP_WARNING,
			"cannot write %s: %s; decisions are missing in it", diary->path,
			strerror(-error));
	diary->error_said = error;
	if (diary->dropped != diary->dropped_said)
		gp_diag(daemon->diag, GP_WARNING, "%s: the disk is too slow; lines left out: %llu",
			diary->path, (unsigned long long)(diary->dropped - diary->dropped_said));
	diary->dropped_said = diary->dropped;
}

static void snapshot_time(struct gp_timer *timer)
{
	struct gp_daemon *daemon = gp_container(timer, struct gp_daemon, diary.timer);

	say_problems(daemon);
	gp_daemon_diary_snapshot(daemon);
	gp_timer_set(&daemon->loop, timer, gp_monotonic_ns() + SNAPSHOT_NS);
}

/* ---- on and off ---- */

/* The daemon may have a real-time class and waits for signals elsewhere; this thread does neither.
 */
static int start_writer(struct gp_daemon_diary *diary)
{
	struct sched_param usual = {0};
	pthread_attr_t how;
	sigset_t all, before;
	int error;

	pthread_attr_init(&how);
	pthread_attr_setinheritsched(&how, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&how, SCHED_OTHER);
	pthread_attr_setschedparam(&how, &usual);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&diary->writer, &how, write_lines, diary);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&how);
	return -error;
}

static void start(struct gp_daemon *daemon)
{
	struct gp_daemon_diary *diary = &daemon->diary;
	int error;

	*diary = (struct gp_daemon_diary){.limit = daemon->config.decision_log_bytes,
					  .files = daemon->config.decision_log_files,
					  .group = daemon->operators};
	snprintf(diary->path, sizeof(diary->path), "%s", daemon->config.decision_log);
	pthread_mutex_init(&diary->lock, NULL);
	pthread_cond_init(&diary->wake, NULL);
	error = start_writer(diary);
	if (error) {
		gp_diag(daemon->diag, GP_WARNING,
			"cannot write %s: %s; decisions are missing in it", diary->path,
			strerror(-error));
		return;
	}
	diary->on = true;
	gp_timer_init(&diary->timer, snapshot_time);
	snapshot_time(&diary->timer);
}

void gp_daemon_diary_stop(struct gp_daemon *daemon)
{
	struct gp_daemon_diary *diary = &daemon->diary;

	if (!diary->on)
		return;
	diary->on = false;
	gp_timer_set(&daemon->loop, &diary->timer, UINT64_MAX);
	pthread_mutex_lock(&diary->lock);
	diary->quit = true;
	pthread_cond_signal(&diary->wake);
	pthread_mutex_unlock(&diary->lock);
	pthread_join(diary->writer, NULL);
	say_problems(daemon);
	gp_buf_free(&diary->pending);
	pthread_mutex_destroy(&diary->lock);
	pthread_cond_destroy(&diary->wake);
}

void gp_daemon_diary_configure(struct gp_daemon *daemon)
{
	const struct gp_daemon_config *config = &daemon->config;
	struct gp_daemon_diary *diary = &daemon->diary;

	if (diary->on && strcmp(diary->path, config->decision_log) == 0 &&
	    diary->limit == config->decision_log_bytes &&
	    diary->files == config->decision_log_files)
		return;
	gp_daemon_diary_stop(daemon);
	if (config->decision_log[0])
		start(daemon);
}
