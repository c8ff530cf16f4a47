// SPDX-License-Identifier: MIT
/*
 * The daemon's record as a timeline. A file is written event by event: each write ends with the
 * closing brackets, which the next one overwrites, so that the file is valid JSON at any time. A
 * stream gets them at its end.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/daemon/daemon_client.h"
#include "show/timeline.h"

#define LOOK_MS 200 /* an event that came while something was asked wakes nobody */
#define FLUSH   (64u << 10)

/* Processes of the timeline; jobs have their numbers, from 1 on. */
#define ALL_GPUS 0
#define A_GPU    (1ull << 40)

enum { DECISIONS = 1, FIRST_QUEUE = 2 }; /* tracks of a job */

struct queue {
	u64 job;
	u32 pid, kfd_id, gpu_id;
	u32 track;
	bool open;   /* a slice of work was begun */
	u64 last_ns; /* of its last event: reports of two threads may come in another order */
};

/* What is counted of a GPU, and of all of them. */
struct gpu {
	u32 gpu_id;
	u64 busy; /* queues with work */
};

struct trace {
	struct gp_cli_daemon_client *client;
	struct gp_diag *diag;
	const char *path;
	int fd;
	bool seekable;
	off_t end; /* where the next event goes */
	struct gp_timeline timeline;
	u64 *jobs; /* whose tracks have a name */
	size_t job_count, job_room;
	struct queue *queues;
	size_t queue_count, queue_room;
	struct gpu *gpus;
	size_t gpu_count, gpu_room;
	u64 *held; /* jobs that are suspended */
	size_t held_count, held_room;
	u64 work_ns, held_ns; /* of the last counter: time does not go back */
};

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
	(void)number;
	stopped = 1;
}

/* ---- writing ---- */

static int put(struct trace *trace, const char *data, size_t size)
{
	while (size) {
		ssize_t done = trace->seekable ? pwrite(trace->fd, data, size, trace->end)
					       : write(trace->fd, data, size);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return gp_fail(trace->diag, -errno, "cannot write %s: %s", trace->path,
				       strerror(errno));
		trace->end += done;
		data += done;
		size -= (size_t)done;
	}
	return 0;
}

/* Writes everything so far, and the closing brackets. */
static int flush(struct trace *trace, bool over)
{
	struct gp_buf *text = &trace->timeline.text;
	size_t tail = trace->seekable || over ? strlen(GP_TIMELINE_TAIL) : 0;
	int error;

	if (!text->len && !over)
		return 0;
	if (tail)
		gp_timeline_end(&trace->timeline);
	if (text->error)
		return gp_fail(trace->diag, text->error, "out of memory");
	error = put(trace, text->data, text->len);
	if (trace->seekable)
		trace->end -= (off_t)tail;
	text->len = 0;
	return error;
}

static int add(struct trace *trace, const struct gp_timeline_event *event)
{
	gp_timeline_add(&trace->timeline, event);
	return trace->timeline.text.len > FLUSH ? flush(trace, false) : 0;
}

static int open_trace(struct trace *trace)
{
	struct stat st;
	bool standard = strcmp(trace->path, "-") == 0;

	trace->fd = standard ? STDOUT_FILENO
			     : open(trace->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (trace->fd < 0)
		return gp_fail(trace->diag, -errno, "cannot write %s: %s", trace->path,
			       strerror(errno));
	/* Standard output may be a file that somebody appends to. */
	trace->seekable = !standard && fstat(trace->fd, &st) == 0 && S_ISREG(st.st_mode);
	gp_timeline_begin(&trace->timeline, NULL);
	gp_timeline_name_process(&trace->timeline, ALL_GPUS, "gpreemptd");
	return 0;
}

/* ---- tracks ---- */

static int name_job(struct trace *trace, u64 job, const char *program, u32 pid)
{
	char who[128];

	for (size_t i = 0; i < trace->job_count; i++)
		if (trace->jobs[i] == job)
			return 0;
	if (gp_array_grow((void **)&trace->jobs, trace->job_count, &trace->job_room,
			  sizeof(*trace->jobs)))
		return gp_fail(trace->diag, -ENOMEM, "out of memory");
	trace->jobs[trace->job_count++] = job;
	gp_cli_decision_who(program, pid, who, sizeof(who));
	gp_timeline_name_process(&trace->timeline, job, who);
	gp_timeline_name_track(&trace->timeline, job, DECISIONS, "decisions");
	return 0;
}

static struct queue *find_queue(struct trace *trace, const struct gp_proto_msg_work *line)
{
	struct queue *queue;
	u32 track = FIRST_QUEUE;
	char text[96];

	for (size_t i = 0; i < trace->queue_count; i++) {
		queue = &trace->queues[i];
		if (queue->job == line->job && queue->pid == line->pid &&
		    queue->kfd_id == line->kfd_id && queue->gpu_id == line->gpu_id)
			return queue;
		track += queue->job == line->job;
	}
	if (gp_array_grow((void **)&trace->queues, trace->queue_count, &trace->queue_room,
			  sizeof(*trace->queues))) {
		gp_fail(trace->diag, -ENOMEM, "out of memory");
		return NULL;
	}
	queue = &trace->queues[trace->queue_count++];
	*queue = (struct queue){line->job, line->pid, line->kfd_id, line->gpu_id, track, false, 0};
	if (line->kfd_id == GP_DAEMON_NONE)
		snprintf(text, sizeof(text), "pid %u on GPU 0x%x", line->pid, line->gpu_id);
	else
		snprintf(text, sizeof(text), "queue %u of pid %u, GPU 0x%x", line->kfd_id,
			 line->pid, line->gpu_id);
	gp_timeline_name_track(&trace->timeline, line->job, track, text);
	return queue;
}

/* ---- counters ---- */

static int count(struct trace *trace, u64 process, const char *name, const char *key, u64 at_ns,
		 u64 value)
{
	return add(trace, &(struct gp_timeline_event){.phase = 'C',
						      .pid = process,
						      .name = name,
						      .time_ns = at_ns,
						      .args = {{key, .number = value}}});
}

/* A queue of the GPU got work, or has none left. */
static int count_work(struct trace *trace, u32 gpu_id, u64 at_ns, bool more)
{
	struct gpu *gpu;
	char name[32];
	size_t i = 0;
	int error;

	while (i < trace->gpu_count && trace->gpus[i].gpu_id != gpu_id)
		i++;
	if (i == trace->gpu_count) {
		if (gp_array_grow((void **)&trace->gpus, trace->gpu_count, &trace->gpu_room,
				  sizeof(*trace->gpus)))
			return gp_fail(trace->diag, -ENOMEM, "out of memory");
		trace->gpus[trace->gpu_count++] = (struct gpu){.gpu_id = gpu_id};
		snprintf(name, sizeof(name), "GPU 0x%x", gpu_id);
		gp_timeline_name_process(&trace->timeline, A_GPU | gpu_id, name);
	}
	gpu = &trace->gpus[i];
	gpu->busy += more ? 1 : gpu->busy ? (u64)-1 : 0;
	trace->work_ns = GP_MAX(trace->work_ns, at_ns);
	error = count(trace, A_GPU | gpu_id, "queues with work", "queues", trace->work_ns,
		      gpu->busy);
	return error ? error
		     : count(trace, A_GPU | gpu_id, "GPU busy", "busy", trace->work_ns,
			     gpu->busy != 0);
}

static int count_held(struct trace *trace, const struct gp_proto_msg_decision *line)
{
	bool held = line->kind == GP_DECISION_SUSPEND;
	size_t i = 0;

	if (line->observed ||
	    (!held && line->kind != GP_DECISION_RESUME && line->kind != GP_DECISION_WENT))
		return 0;
	while (i < trace->held_count && trace->held[i] != line->job)
		i++;
	if (held == (i < trace->held_count))
		return 0;
	if (!held)
		trace->held[i] = trace->held[--trace->held_count];
	else if (gp_array_grow((void **)&trace->held, trace->held_count, &trace->held_room,
			       sizeof(*trace->held)))
		return gp_fail(trace->diag, -ENOMEM, "out of memory");
	else
		trace->held[trace->held_count++] = line->job;
	trace->held_ns = GP_MAX(trace->held_ns, line->at_ns);
	return count(trace, ALL_GPUS, "suspended jobs", "jobs", trace->held_ns, trace->held_count);
}

/* ---- events ---- */

static int add_decision(const struct gp_proto_msg_decision *line, void *data)
{
	struct trace *trace = data;
	bool held_over = line->kind == GP_DECISION_RESUME && line->waited_ns != GP_DAEMON_UNKNOWN &&
			 line->waited_ns <= line->at_ns;
	const char *kind = gp_cli_decision_kind_name(line->kind);
	char text[512];
	int error;

	if (!line->job)
		return 0;
	error = name_job(trace, line->job, line->job_name, line->job_pid);
	if (!error)
		error = count_held(trace, line);
	if (error)
		return error;
	gp_cli_decision_text(line, text, sizeof(text));
	return add(trace,
		   &(struct gp_timeline_event){
			   .phase = held_over ? 'X' : 'i',
			   .pid = line->job,
			   .tid = DECISIONS,
			   .name = held_over ? "held" : kind,
			   .time_ns = held_over ? line->at_ns - line->waited_ns : line->at_ns,
			   .length_ns = held_over ? line->waited_ns : 0,
			   .args = {{"text", text, strlen(text), 0}},
		   });
}

static int mark(struct trace *trace, const struct queue *queue, u64 at_ns, char phase,
		const char *name)
{
	return add(trace, &(struct gp_timeline_event){
				  .phase = phase,
				  .pid = queue->job,
				  .tid = queue->track,
				  .name = name,
				  .time_ns = at_ns,
			  });
}

static int add_work(const struct gp_proto_msg_work *line, void *data)
{
	static const char *const names[] = {NULL, "busy", "perhaps busy"};
	static const char unknown[GP_PROTO_NAME] = "?";
	struct trace *trace = data;
	struct queue *queue;
	int error = 0;

	if (!line->job || line->work >= GP_ARRAY_SIZE(names))
		return 0;
	/* One that ended before the record begins has no other name. */
	error = name_job(trace, line->job, unknown, line->pid);
	queue = error ? NULL : find_queue(trace, line);
	if (!queue)
		return -ENOMEM;
	queue->last_ns = GP_MAX(queue->last_ns, line->at_ns);
	if (queue->open != (names[line->work] != NULL))
		error = count_work(trace, line->gpu_id, line->at_ns, !queue->open);
	if (!error && queue->open)
		error = mark(trace, queue, queue->last_ns, 'E', NULL);
	queue->open = names[line->work] != NULL;
	if (error || !queue->open)
		return error;
	return mark(trace, queue, queue->last_ns, 'B',
		    line->kfd_id == GP_DAEMON_NONE ? "has the GPU" : names[line->work]);
}

/* Jobs that came before the record begins have no line that names them. */
static int name_jobs(struct trace *trace)
{
	struct gp_proto_msg_job *jobs;
	int count = gp_cli_daemon_jobs(trace->client, trace->diag, 0, &jobs), error = 0;

	for (int i = 0; !error && i < count; i++)
		error = name_job(trace, jobs[i].id, jobs[i].name, jobs[i].pid);
	free(jobs);
	return count < 0 ? count : error;
}

/* ---- all of it ---- */

/* One that appends, one pass over what is new: events only say that there is something. */
static int follow(struct trace *trace, u64 *decision, u64 *work)
{
	struct gp_cli_daemon_client *client = trace->client;
	int error = 0;

	while (!error && !stopped) {
		int got = gp_wire_receive(client->socket, &client->message, LOOK_MS);

		if (got == -EINTR || got == -ETIMEDOUT)
			got = -EAGAIN;
		if (got && got != -EAGAIN)
			return gp_fail(
				trace->diag, got,
				"gpreemptd has exited; the trace ends here (start gpreemptd and "
				"record again for more)");
		/* However many events came meanwhile: all are in what is asked for now. */
		while (!got)
			got = gp_wire_receive(client->socket, &client->message, 0);
		error = gp_cli_daemon_decisions(client, trace->diag, decision, 0, add_decision,
						trace);
		if (!error)
			error = gp_cli_daemon_work(client, trace->diag, work, 0, add_work, trace);
		if (!error)
			error = flush(trace, false);
	}
	return error;
}

static int write_all(struct trace *trace, bool go_on)
{
	u64 decision = 1, work = 1;
	int error = go_on ? gp_cli_daemon_ask(trace->client, trace->diag, GP_MSG_DAEMON_FOLLOW,
					      NULL, 0, 0, 0)
			  : 0;

	if (error >= 0)
		error = name_jobs(trace);
	if (!error)
		error = gp_cli_daemon_decisions(trace->client, trace->diag, &decision, 0,
						add_decision, trace);
	if (!error)
		error = gp_cli_daemon_work(trace->client, trace->diag, &work, 0, add_work, trace);
	if (!error)
		error = flush(trace, false);
	return !error && go_on ? follow(trace, &decision, &work) : error;
}

int gp_cli_decision_perfetto(struct gp_cli_daemon_client *client, struct gp_diag *diag,
			     const char *path, bool go_on)
{
	struct trace trace = {.client = client, .diag = diag, .path = path, .fd = -1};
	struct sigaction action = {.sa_handler = on_signal};
	int error = open_trace(&trace), ended;

	if (!error) {
		sigaction(SIGINT, &action, NULL);
		sigaction(SIGTERM, &action, NULL);
		error = write_all(&trace, go_on);
		ended = flush(&trace, true);
		error = error ? error : ended;
	}
	if (trace.fd > STDOUT_FILENO && close(trace.fd) && !error)
		error = gp_fail(diag, -errno, "cannot write %s: %s", path, strerror(errno));
	gp_timeline_free(&trace.timeline);
	free(trace.jobs);
	free(trace.queues);
	free(trace.gpus);
	free(trace.held);
	return error;
}
