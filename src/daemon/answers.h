/* SPDX-License-Identifier: MIT */
/*
 * What leaves the daemon: the record of decisions, accounts of jobs, metrics, and the socket on
 * which commands ask. And what other users may cost it there. Part of daemon.h, which has the
 * types.
 */
#ifndef GP_DAEMON_ANSWERS_H
#define GP_DAEMON_ANSWERS_H

#include "daemon/daemon.h"

/* ---- report.c ---- */

void gp_daemon_report_action(struct gp_daemon *daemon, const struct gp_sched_action *action);
void gp_daemon_report_done(struct gp_daemon *daemon, const struct gp_daemon_operation *operation);
/* The process's time slice was set and read back, or could not be. */
void gp_daemon_report_slice(struct gp_daemon *daemon, const struct gp_daemon_client *client);
/* The queue's work has changed. */
void gp_daemon_report_work(struct gp_daemon *daemon, const struct gp_daemon_client *client,
			   const struct gp_daemon_client_queue *queue, u64 at_ns);
void gp_daemon_report_job(struct gp_daemon *daemon, const struct gp_daemon_job *job,
			  enum gp_proto_decision_kind kind);
/* The processes of a job that is away are suspended, cannot be (error), or are let go. */
void gp_daemon_report_kept(struct gp_daemon *daemon, const struct gp_daemon_job *job,
			   enum gp_proto_kept state, int error, u64 waited_ns);
/* The user has changed the job: enum gp_proto_daemon_set. */
void gp_daemon_report_set(struct gp_daemon *daemon, const struct gp_daemon_job *job, u32 changed,
			  uid_t uid);
void gp_daemon_report_stand(struct gp_daemon *daemon, u32 device, enum gp_proto_decision_kind kind,
			    const struct gp_daemon_worth *worth);
void gp_daemon_report_status(struct gp_daemon *daemon, struct gp_proto_msg_daemon_status *out);
void gp_daemon_report_job_view(struct gp_daemon *daemon, const struct gp_daemon_job *job,
			       struct gp_proto_msg_job *out);
void gp_daemon_report_device_view(struct gp_daemon *daemon, u32 device,
				  struct gp_proto_msg_device *out);
void gp_daemon_report_stats(struct gp_daemon *daemon, struct gp_proto_msg_stats *out);
/* Whether a line concerns a process, or the job it is in. */
bool gp_daemon_report_concerns(struct gp_daemon *daemon, const struct gp_proto_msg_decision *line,
			       u32 pid);

/* ---- account.c: jobs with their identity, current ones and those that ended ---- */

/* A process belongs to the job now. */
void gp_daemon_account_process(struct gp_daemon_job *job, u32 pid);
/* A request began or ended. */
void gp_daemon_account_request(struct gp_daemon_client *client,
			       const struct gp_proto_msg_request *request);
/* The job's place in the message: percentiles of its latency. */
void gp_daemon_account_latency(const struct gp_daemon_job *job, struct gp_proto_msg_job *out);
/* For how long its oldest request or burst of work has been under way; 0: it has none. */
u64 gp_daemon_account_oldest(const struct gp_daemon_job *job);
/* The job is about to end: its totals are kept. The account, which stays until GP_DAEMON_ENDED more
 * have ended; NULL: there is no memory. */
const struct gp_proto_msg_account *gp_daemon_account_end(struct gp_daemon *daemon,
							 const struct gp_daemon_job *job);
/* Current jobs, then ended ones, latest first. Fills up to GP_DAEMON_ACCOUNTS; how many there are
 * in all. */
u32 gp_daemon_account_list(struct gp_daemon *daemon, u64 skip, u32 pid,
			   struct gp_proto_msg_accounts *out);

/* ---- metrics.c ---- */

/* On or off, and on which address and port, as the configuration says. If that fails, they stay
 * where they are. */
int gp_daemon_metrics_configure(struct gp_daemon *daemon);
/* Port 0: a free one, see metrics.port. */
int gp_daemon_metrics_start(struct gp_daemon *daemon, const char *address, u32 port);
void gp_daemon_metrics_stop(struct gp_daemon *daemon);
/* ---- notify.c ---- */
/* Informs the service manager, if one started this process: sd_notify(3). */
void gp_daemon_notify(const char *text);
/* Within which time it wants to hear of this process again; 0: it does not. */
u64 gp_daemon_notify_watchdog_ns(void);
/* ---- metrics_text.c ---- */
struct gp_buf;
void gp_daemon_metrics_text(struct gp_daemon *daemon, struct gp_buf *out);
/* Adds what the driver reports of a job. */
void gp_daemon_metrics_add(struct gp_daemon_metrics_activity *sum,
			   const struct gp_proto_msg_job *job);
/* `value`, or what was last returned if that is more: counters do not go back. */
u64 gp_daemon_metrics_never_less(u64 *last, u64 value);
extern const char *const gp_daemon_metrics_classes[GP_DAEMON_CLASSES];
/* ---- metrics_process.c, metrics_gpu.c, metrics_job.c ---- */
void gp_daemon_metrics_process(struct gp_daemon *daemon, struct gp_buf *out);
void gp_daemon_metrics_gpus(struct gp_daemon *daemon, struct gp_buf *out);
void gp_daemon_metrics_jobs(struct gp_daemon *daemon, struct gp_buf *out);

/* ---- tidy.c: what users leave in agents/ ---- */

void gp_daemon_tidy_init(struct gp_daemon *daemon);
/* Before the daemon makes any file: all of it. */
void gp_daemon_tidy_first(struct gp_daemon *daemon);
/* Removes files that are not sockets of agents; true: there are more. Needs agents_path. */
bool gp_daemon_tidy(struct gp_daemon *daemon);
/* A file came: looks in a moment, however many come. */
void gp_daemon_tidy_soon(struct gp_daemon *daemon);

/* ---- questions.c: how much of the daemon's time a user's questions take ---- */

void gp_daemon_questions_init(struct gp_daemon *daemon);
/* Processor time of this thread. */
u64 gp_daemon_question_clock(void);
/* A line that a user can have written at will: it takes the place of another user's. */
#define GP_DAEMON_LINE_COST_NS (5 * GP_NS_PER_MS)
/* An answer to this user took so long; its peers may have to wait from now on. */
void gp_daemon_question_charge(struct gp_daemon *daemon, uid_t uid, u64 cost_ns);
bool gp_daemon_question_waits(struct gp_daemon *daemon, uid_t uid);
/* A program of another user joins or leaves its job: charged as a question, by the processor time
 * since `start` and its line of the record. */
#define GP_DAEMON_JOIN_COST_NS (100 * GP_NS_PER_US)
#define GP_DAEMON_JOIN_WAIT_NS (20 * GP_NS_PER_MS)
void gp_daemon_join_charge(struct gp_daemon *daemon, uid_t uid, u64 start);
/* Whether a message about a program of this user may go to the log: ten, then one every 10 s. */
bool gp_daemon_user_may_log(struct gp_daemon *daemon, uid_t uid);

/* ---- service.c ---- */

/* First: what gp_daemon_service_stop() needs. */
void gp_daemon_service_init(struct gp_daemon *daemon);
int gp_daemon_service_start(struct gp_daemon *daemon);
void gp_daemon_service_stop(struct gp_daemon *daemon);
void gp_daemon_service_follow(struct gp_daemon *daemon, const struct gp_proto_msg_decision *line);
/* ---- answer.c: one request; 0, or -errno to end the connection ---- */
int gp_daemon_service_answer(struct gp_daemon_peer *peer, const struct gp_wire_message *message);

#endif
