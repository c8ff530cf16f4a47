// SPDX-License-Identifier: MIT
/*
 * The daemon's record as a trace for ui.perfetto.dev (the JSON that chrome://tracing takes).
 * Written event by event: into a file the closing brackets go with every write and are overwritten
 * by the next, so that a reader finds a whole trace at every moment; a stream gets them at its end.
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

#define HEAD    "{\"displayTimeUnit\":\"ns\",\"traceEvents\":["
#define TAIL    "]}\n"
#define LOOK_MS 200 /* an event that came while something was asked wakes nobody */
#define FLUSH   (64u << 10)

enum { DECISIONS = 1, FIRST_QUEUE = 2 }; /* tracks of a job */

struct queue {
	u64 job;
	u32 pid, kfd_id, gpu_id;
	u32 track;
	bool open; /* a slice of work was begun */
};

struct trace {
	struct gp_cli_daemon_client *client;
	struct gp_diag *diag;
	const char *path;
	int fd;
	bool seekable, any;
	off_t end; /* where the next event goes */
	struct gp_buf pending;
	u64 *jobs; /* whose tracks have a name */
	size_t job_count, job_room;
	struct queue *queues;
	size_t queue_count, queue_room;
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

/* Everything so far, and what makes it whole. */
static int flush(struct trace *trace, bool over)
{
	size_t tail = trace->seekable || over ? strlen(TAIL) : 0;
	int error;

	if (!trace->pending.len && !over)
		return 0;
	if (tail)
		gp_buf_puts(&trace->pending, TAIL);
	if (trace->pending.error)
		return gp_fail(trace->diag, trace->pending.error, "out of memory");
	error = put(trace, trace->pending.data, trace->pending.len);
	if (trace->seekable)
		trace->end -= (off_t)tail;
	trace->pending.len = 0;
	return error;
}

/* Takes the event over. */
static int add(struct trace *trace, json_t *event)
{
	char *text = event ? json_dumps(event, JSON_COMPACT) : NULL;

	json_decref(event);
	if (!text)
		return gp_fail(trace->diag, -ENOMEM, "out of memory");
	gp_buf_puts(&trace->pending, trace->any ? ",\n" : "\n");
	gp_buf_puts(&trace->pending, text);
	free(text);
	trace->any = true;
	return trace->pending.len > FLUSH ? flush(trace, false) : 0;
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
	gp_buf_puts(&trace->pending, HEAD);
	return 0;
}

/* ---- tracks ---- */

static int name(struct trace *trace, const char *what, u64 job, u32 track, const char *text)
{
	return add(trace,
		   json_pack("{ss ss sI sI s{so}}", "ph", "M", "name", what, "pid", (json_int_t)job,
			     "tid", (json_int_t)track, "args", "name", gp_json_str(text)));
}

static int name_job(struct trace *trace, u64 job, const char *program, u32 pid)
{
	char who[128];
	int error;

	for (size_t i = 0; i < trace->job_count; i++)
		if (trace->jobs[i] == job)
			return 0;
	if (gp_array_grow((void **)&trace->jobs, trace->job_count, &trace->job_room,
			  sizeof(*trace->jobs)))
		return gp_fail(trace->diag, -ENOMEM, "out of memory");
	trace->jobs[trace->job_count++] = job;
	gp_cli_decision_who(program, pid, who, sizeof(who));
	error = name(trace, "process_name", job, DECISIONS, who);
	return error ? error : name(trace, "thread_name", job, DECISIONS, "decisions");
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
	*queue = (struct queue){line->job, line->pid, line->kfd_id, line->gpu_id, track, false};
	snprintf(text, sizeof(text), "queue %u of pid %u, GPU %x", line->kfd_id, line->pid,
		 line->gpu_id);
	return name(trace, "thread_name", line->job, track, text) ? NULL : queue;
}

/* ---- events ---- */

static double microseconds(u64 ns)
{
	return (double)ns / 1000;
}

static int add_decision(const struct gp_proto_msg_decision *line, void *data)
{
	struct trace *trace = data;
	bool held_over = line->kind == GP_DECISION_RESUME && line->waited_ns != GP_DAEMON_UNKNOWN &&
			 line->waited_ns <= line->at_ns;
	u64 start = held_over ? line->at_ns - line->waited_ns : line->at_ns;
	char text[512];
	json_t *event;
	int error;

	if (!line->job)
		return 0;
	error = name_job(trace, line->job, line->job_name, line->job_pid);
	if (error)
		return error;
	gp_cli_decision_text(line, text, sizeof(text));
	event = json_pack("{ss ss* sf sI si s{so}}", "ph", held_over ? "X" : "i", "name",
			  held_over ? "held" : gp_cli_decision_kind_name(line->kind), "ts",
			  microseconds(start), "pid", (json_int_t)line->job, "tid", DECISIONS,
			  "args", "text", gp_json_str(text));
	if (held_over)
		json_object_set_new(event, "dur", json_real(microseconds(line->waited_ns)));
	else
		json_object_set_new(event, "s", json_string("t"));
	return add(trace, event);
}

static int mark(struct trace *trace, const struct queue *queue, u64 at_ns, const char *phase,
		const char *what)
{
	return add(trace, json_pack("{ss ss* sf sI sI}", "ph", phase, "name", what, "ts",
				    microseconds(at_ns), "pid", (json_int_t)queue->job, "tid",
				    (json_int_t)queue->track));
}

static int add_work(const struct gp_proto_msg_work *line, void *data)
{
	static const char *const names[] = {NULL, "busy", "perhaps busy"};
	struct trace *trace = data;
	struct queue *queue;
	int error = 0;

	if (!line->job || line->work >= GP_ARRAY_SIZE(names))
		return 0;
	queue = find_queue(trace, line);
	if (!queue)
		return -ENOMEM;
	if (queue->open)
		error = mark(trace, queue, line->at_ns, "E", NULL);
	queue->open = names[line->work] != NULL;
	return error || !queue->open ? error
				     : mark(trace, queue, line->at_ns, "B", names[line->work]);
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
			return gp_fail(trace->diag, got, "gpreemptd has ended");
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
	gp_buf_free(&trace.pending);
	free(trace.jobs);
	free(trace.queues);
	return error;
}
