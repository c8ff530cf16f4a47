/* SPDX-License-Identifier: MIT */
/*
 * Asking gpreemptd: the connection, and its lines of the record in documents. Used by
 * `gpreempt why`, `log`, `stats`, `top` and `config`.
 */
#ifndef GP_CLI_DAEMON_DAEMON_CLIENT_H
#define GP_CLI_DAEMON_DAEMON_CLIENT_H

#include "cli/command.h"
#include "proto/daemon.h"
#include "proto/wire.h"
#include "show/doc.h"

struct gp_cli_daemon_client {
	int socket; /* -1: none */
	u32 serial;
	u32 pid;                        /* of gpreemptd, at the last connection; 0: not known */
	s64 wall_ns;                    /* CLOCK_REALTIME - CLOCK_MONOTONIC */
	struct gp_wire_message message; /* the last answer */
};

/* Connects and greets; says why when it cannot, and that gpreemptd restarted if the client was
 * connected to another one before. */
int gp_cli_daemon_open(struct gp_cli_daemon_client *client, struct gp_diag *diag);
void gp_cli_daemon_close(struct gp_cli_daemon_client *client);
/*
 * Asks and waits. `fixed` and `each` say what the answer must be made of: a fixed part and, in its
 * first four bytes, the count of records that follow. Returns the status; says what went wrong.
 */
int gp_cli_daemon_ask(struct gp_cli_daemon_client *client, struct gp_diag *diag, u16 type,
		      const void *body, size_t size, size_t fixed, size_t each);

/* Calls `each` for the lines from `first` on, of one process or (0) all. Stops when it returns
 * anything but 0, and returns that. *first becomes the number after the last line seen. */
int gp_cli_daemon_decisions(struct gp_cli_daemon_client *client, struct gp_diag *diag, u64 *first,
			    u32 pid,
			    int (*each)(const struct gp_proto_msg_decision *line, void *data),
			    void *data);
/* The same of what queues had work when. */
int gp_cli_daemon_work(struct gp_cli_daemon_client *client, struct gp_diag *diag, u64 *first,
		       u32 pid, int (*each)(const struct gp_proto_msg_work *line, void *data),
		       void *data);
/* All jobs; the caller frees *out. Returns their number. */
int gp_cli_daemon_jobs(struct gp_cli_daemon_client *client, struct gp_diag *diag, u32 pid,
		       struct gp_proto_msg_job **out);

/* Whether the error says that there is no gpreemptd now, or that it does not answer. */
bool gp_cli_daemon_is_away(int error);

/* The owner of a named hold on a process ("slurm"): 1, 0 if there is none, or -errno if gpreemptd
 * does not answer. Says nothing. */
int gp_cli_daemon_holds_for(u32 pid, char owner[GP_PROTO_NAME]);

/* -ESRCH, after saying that gpreemptd knows nothing about it. */
int gp_cli_daemon_unknown(struct gp_diag *diag, u32 pid);

/* "trainer (pid 4711)"; "?" when there is none. */
void gp_cli_decision_who(const char *name, u32 pid, char *out, size_t size);
/* "trainer (pid 4711) makes room for ..." */
void gp_cli_decision_text(const struct gp_proto_msg_decision *line, char *out, size_t size);
/* The line for people, with its time. */
void gp_cli_decision_line(struct gp_doc *doc, const struct gp_cli_daemon_client *client,
			  const struct gp_proto_msg_decision *line, const char *indent);
/* Whether the line begins or ends a hold by an owner, by hand, or by a stop of the job. */
enum gp_cli_off { GP_CLI_OFF_SAME, GP_CLI_OFF_BEGINS, GP_CLI_OFF_ENDS };
enum gp_cli_off gp_cli_decision_off(const struct gp_proto_msg_decision *line);
/* Whether it says the same about the same jobs; times and costs may differ. */
bool gp_cli_decision_repeats(const struct gp_proto_msg_decision *line,
			     const struct gp_proto_msg_decision *before);
/* A line that stands for `times` of them: the first, and until when they came. */
void gp_cli_decision_lines(struct gp_doc *doc, const struct gp_cli_daemon_client *client,
			   const struct gp_proto_msg_decision *line,
			   const struct gp_proto_msg_decision *last, u64 times, const char *indent);
/* The same in a table: its head, then a row per line. */
void gp_cli_decision_table(struct gp_doc *doc, const struct gp_cli_daemon_client *client);
void gp_cli_decision_row(struct gp_doc *doc, const struct gp_cli_daemon_client *client,
			 const struct gp_proto_msg_decision *line);
/* The members of its object in JSON. */
void gp_cli_decision_facts(struct gp_doc *doc, const struct gp_cli_daemon_client *client,
			   const struct gp_proto_msg_decision *line);
/* Lines that only say that an operation ended, or that a job came or went. */
bool gp_cli_decision_is_routine(const struct gp_proto_msg_decision *line);

/* "suspend", "came"; NULL of one that is not known. */
const char *gp_cli_decision_kind_name(u32 kind);

const char *gp_cli_class_name(u32 job_class);
/* "stopped", "hand"; NULL of a job that is not away. */
const char *gp_cli_away_name(u32 away);
/* "held", "requested", "failed"; NULL of a job that gpreemptd does not keep off the GPU. */
const char *gp_cli_kept_name(u32 kept);
/*
 * A trace for ui.perfetto.dev: a group of tracks for each job, with one for what was decided and
 * one for each of its queues. "-" is standard output. With `follow` it goes on until a signal (INT,
 * TERM) or the daemon's end; a file is whole JSON at every moment, a stream when it has ended.
 */
int gp_cli_decision_perfetto(struct gp_cli_daemon_client *client, struct gp_diag *diag,
			     const char *path, bool follow);

#endif
