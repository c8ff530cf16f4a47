// SPDX-License-Identifier: MIT
/* Decisions on disk: see diary.h. */
#include "daemon/diary.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/core.h"
#include "base/i18n.h"
#include "daemon/daemon.h"

enum { PENDING_MAX = 4 << 20 };
#define SNAPSHOT_NS (10 * GP_NS_PER_S)

/* ---- the thread that writes ---- */

/* A writer of one file: with its own copy of the settings, because it may outlive a reload. */
struct gp_daemon_diary_writer {
	struct gp_daemon_diary_writer *next; /* of those that are ending */
	char path[GP_CONFIG_TEXT];
	u64 limit; /* bytes of one file */
	u32 files; /* the current one included */
	u32 group; /* that may read them */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct gp_buf pending; /* with the lock */
	atomic_bool quit;      /* set with the lock */
	u64 dropped, dropped_said;
	atomic_int error; /* of the last write; 0: none */
	int error_said;
	atomic_bool done;
};

struct file {
	int fd;
	u64 size;
};

static void file_close(struct file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}

/* path.2 becomes path.3, and so on; the oldest goes. */
static void rotate(const struct gp_daemon_diary_writer *writer, struct file *file)
{
	char from[GP_CONFIG_TEXT + 16], to[GP_CONFIG_TEXT + 16];

	for (u32 i = writer->files - 1; i > 0; i--) {
		snprintf(to, sizeof(to), "%s.%u", writer->path, i);
		if (i == 1)
			snprintf(from, sizeof(from), "%s", writer->path);
		else
			snprintf(from, sizeof(from), "%s.%u", writer->path, i - 1);
		rename(from, to);
	}
	if (writer->files == 1)
		unlink(writer->path);
	file_close(file);
}

/* A file that was removed or renamed meanwhile is not written any more. */
static void file_check(const struct gp_daemon_diary_writer *writer, struct file *file)
{
	struct stat there, ours;

	if (file->fd < 0)
		return;
	if (lstat(writer->path, &there) < 0 || fstat(file->fd, &ours) < 0 ||
	    there.st_dev != ours.st_dev || there.st_ino != ours.st_ino)
		file_close(file);
	else
		file->size = (u64)ours.st_size;
}

/* An ordinary file to append to, or -errno. */
static int open_path(const char *path, struct stat *info)
{
	/* O_NONBLOCK: a FIFO without a reader would block. */
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
		      0640);

	if (fd < 0)
		return -errno;
	if (fstat(fd, info) == 0 && S_ISREG(info->st_mode))
		return fd;
	close(fd);
	return -EINVAL;
}

static int file_open(const struct gp_daemon_diary_writer *writer, struct file *file)
{
	struct stat info;

	file->fd = open_path(writer->path, &info);
	if (file->fd < 0)
		return file->fd;
	/* The file names programs of all users: root and the group read it, no matter the umask. */
	if (writer->group != GP_DAEMON_NO_GROUP && fchown(file->fd, (uid_t)-1, writer->group) == 0)
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

static int put(const struct gp_daemon_diary_writer *writer, struct file *file,
	       const struct gp_buf *text)
{
	const char *journal = gp_daemon_journal_socket(writer->path);
	int error;

	if (journal)
		return gp_daemon_journal_put(journal, text, &writer->quit);
	file_check(writer, file);
	error = file->fd < 0 ? file_open(writer, file) : 0;
	if (!error)
		error = write_all(file, text->data, text->len);
	/* The next file is there at once: a report needs one. */
	if (!error && file->size >= writer->limit) {
		rotate(writer, file);
		error = file_open(writer, file);
	}
	/* A disk that was full is tried again with the next lines. */
	if (error)
		file_close(file);
	return error;
}

static void *write_lines(void *data)
{
	struct gp_daemon_diary_writer *writer = data;
	struct file file = {.fd = -1};
	struct gp_buf text = {0};
	bool quit = false;

	while (!quit) {
		pthread_mutex_lock(&writer->lock);
		while (!writer->pending.len && !writer->quit)
			pthread_cond_wait(&writer->wake, &writer->lock);
		quit = writer->quit;
		struct gp_buf empty = text;
		text = writer->pending;
		writer->pending = empty;
		writer->pending.len = 0;
		writer->pending.error = 0;
		pthread_mutex_unlock(&writer->lock);
		if (text.len)
			atomic_store(&writer->error, put(writer, &file, &text));
	}
	file_close(&file);
	gp_buf_free(&text);
	atomic_store(&writer->done, true);
	return NULL;
}

/* ---- lines ---- */

static s64 wall_offset(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (s64)now.tv_sec * (s64)GP_NS_PER_S + now.tv_nsec - (s64)gp_monotonic_ns();
}

static void add(struct gp_daemon_diary_writer *writer, const struct gp_proto_diary_line *line)
{
	pthread_mutex_lock(&writer->lock);
	if (writer->pending.len > PENDING_MAX || writer->pending.error)
		writer->dropped++;
	else
		gp_proto_diary_write(&writer->pending, line);
	pthread_cond_signal(&writer->wake);
	pthread_mutex_unlock(&writer->lock);
}

void gp_daemon_diary_decision(struct gp_daemon *daemon, const struct gp_proto_msg_decision *line)
{
	struct gp_proto_diary_line out = {.kind = GP_DIARY_DECISION, .is.decision = *line};

	if (!daemon->diary.writer || line->kind == GP_DECISION_RENEW ||
	    line->kind == GP_DECISION_TIMER)
		return;
	out.wall_ns = (s64)line->at_ns + wall_offset();
	add(daemon->diary.writer, &out);
}

void gp_daemon_diary_job(struct gp_daemon *daemon, const struct gp_proto_msg_job *job)
{
	struct gp_proto_diary_line line = {.kind = GP_DIARY_JOB, .is.job = *job};

	if (!daemon->diary.writer)
		return;
	line.wall_ns = (s64)gp_monotonic_ns() + wall_offset();
	add(daemon->diary.writer, &line);
}

void gp_daemon_diary_snapshot(struct gp_daemon *daemon)
{
	struct gp_proto_diary_line line = {.kind = GP_DIARY_STATE};

	if (!daemon->diary.writer)
		return;
	line.wall_ns = (s64)gp_monotonic_ns() + wall_offset();
	gp_daemon_report_status(daemon, &line.is.state);
	add(daemon->diary.writer, &line);
	line.kind = GP_DIARY_DEVICE;
	for (u32 i = 0; i < daemon->device_count; i++) {
		gp_daemon_report_device_view(daemon, i, &line.is.device);
		add(daemon->diary.writer, &line);
	}
	line.kind = GP_DIARY_JOB;
	gp_list_each (const struct gp_daemon_job, job, link, &daemon->jobs) {
		gp_daemon_report_job_view(daemon, job, &line.is.job);
		add(daemon->diary.writer, &line);
	}
}

static void say_problems(struct gp_daemon *daemon, struct gp_daemon_diary_writer *writer)
{
	int error = atomic_load(&writer->error);

	if (error && error != writer->error_said)
		gp_diag(daemon->diag, GP_WARNING,
			"cannot write %s: %s; some decisions will be missing from it", writer->path,
			strerror(-error));
	writer->error_said = error;
	if (writer->dropped != writer->dropped_said)
		gp_diag(daemon->diag, GP_WARNING,
			gp_daemon_journal_socket(writer->path)
				? N_("%s: journald is too slow; lines left out: %llu")
				: N_("%s: the disk is too slow; lines left out: %llu"),
			writer->path, (unsigned long long)(writer->dropped - writer->dropped_said));
	writer->dropped_said = writer->dropped;
}

static void writer_free(struct gp_daemon_diary_writer *writer)
{
	gp_buf_free(&writer->pending);
	pthread_mutex_destroy(&writer->lock);
	pthread_cond_destroy(&writer->wake);
	free(writer);
}

/* Frees the writers that have ended; `wait`: all that shall end, however long it takes them. */
static void reap(struct gp_daemon *daemon, bool wait)
{
	struct gp_daemon_diary_writer **link = &daemon->diary.ending;

	while (*link) {
		struct gp_daemon_diary_writer *writer = *link;

		if (!wait && !atomic_load(&writer->done)) {
			link = &writer->next;
			continue;
		}
		pthread_join(writer->thread, NULL);
		say_problems(daemon, writer);
		*link = writer->next;
		writer_free(writer);
	}
}

static void snapshot_time(struct gp_timer *timer)
{
	struct gp_daemon *daemon = gp_container(timer, struct gp_daemon, diary.timer);

	reap(daemon, false);
	say_problems(daemon, daemon->diary.writer);
	gp_daemon_diary_snapshot(daemon);
	gp_timer_set(&daemon->loop, timer, gp_monotonic_ns() + SNAPSHOT_NS);
}

/* ---- on and off ---- */

/* The daemon may have a real-time class and waits for signals elsewhere; this thread does neither.
 */
static int writer_start(struct gp_daemon_diary_writer *writer)
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
	error = pthread_create(&writer->thread, &how, write_lines, writer);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&how);
	return -error;
}

static void start(struct gp_daemon *daemon)
{
	const struct gp_daemon_config *config = &daemon->config;
	struct gp_daemon_diary *diary = &daemon->diary;
	struct gp_daemon_diary_writer *writer = calloc(1, sizeof(*writer));
	int error = writer ? 0 : -ENOMEM;

	if (writer) {
		writer->limit = config->decision_log_bytes;
		writer->files = config->decision_log_files;
		writer->group = daemon->operators;
		snprintf(writer->path, sizeof(writer->path), "%s", config->decision_log);
		pthread_mutex_init(&writer->lock, NULL);
		pthread_cond_init(&writer->wake, NULL);
		error = writer_start(writer);
	}
	if (error) {
		gp_diag(daemon->diag, GP_WARNING,
			"cannot write %s: %s; some decisions will be missing from it",
			config->decision_log, strerror(-error));
		if (writer)
			writer_free(writer);
		return;
	}
	diary->writer = writer;
	gp_timer_init(&diary->timer, snapshot_time);
	snapshot_time(&diary->timer);
}

/* The writer ends when everything is on disk; the daemon does not wait for it here. */
static void end(struct gp_daemon *daemon)
{
	struct gp_daemon_diary_writer *writer = daemon->diary.writer;

	if (!writer)
		return;
	gp_timer_set(&daemon->loop, &daemon->diary.timer, UINT64_MAX);
	daemon->diary.writer = NULL;
	writer->next = daemon->diary.ending;
	daemon->diary.ending = writer;
	pthread_mutex_lock(&writer->lock);
	writer->quit = true;
	pthread_cond_signal(&writer->wake);
	pthread_mutex_unlock(&writer->lock);
}

void gp_daemon_diary_stop(struct gp_daemon *daemon)
{
	end(daemon);
	reap(daemon, true);
}

/* Whether it can be written to now; later the writer tries again. */
static int try_path(const char *path)
{
	const char *journal = gp_daemon_journal_socket(path);
	struct stat info;
	int fd;

	if (journal)
		return stat(journal, &info) < 0 ? -errno : S_ISSOCK(info.st_mode) ? 0 : -EINVAL;
	fd = open_path(path, &info);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

int gp_daemon_diary_configure(struct gp_daemon *daemon)
{
	const struct gp_daemon_config *config = &daemon->config;
	const struct gp_daemon_diary_writer *writer = daemon->diary.writer;
	int error;

	if (writer && strcmp(writer->path, config->decision_log) == 0 &&
	    writer->limit == config->decision_log_bytes &&
	    writer->files == config->decision_log_files)
		return 0;
	error = config->decision_log[0] ? try_path(config->decision_log) : 0;
	if (error && writer) {
		gp_diag(daemon->diag, GP_WARNING, "cannot write %s: %s; decisions still go to %s",
			config->decision_log, strerror(-error), writer->path);
		return error;
	}
	end(daemon);
	reap(daemon, false);
	/* Its writer reports what is wrong, and tries again. */
	if (config->decision_log[0])
		start(daemon);
	return error;
}
