/* SPDX-License-Identifier: MIT */
/*
 * How gpreemptd gets to know processes: through the agent inside them, or attached from outside
 * where there is none. Part of daemon.h, which has the types.
 */
#ifndef GP_DAEMON_CLIENTS_H
#define GP_DAEMON_CLIENTS_H

/* ---- client.c: common to agents and attached processes ---- */

struct gp_daemon_client *gp_daemon_client_new(struct gp_daemon *daemon);
void gp_daemon_client_free(struct gp_daemon_client *client);
/* Identity from the kernel, the user's limits. */
int gp_daemon_client_identify(struct gp_daemon_client *client, u32 pid);
/* A new list of queues: adds and removes the differences. */
void gp_daemon_client_queues(struct gp_daemon_client *client,
			     const struct gp_proto_msg_queue *queues, size_t count);

/* Gives the core the streams that the ceiling allows. */
void gp_daemon_client_streams(struct gp_daemon_client *client);

/* ---- claims.c: whether an agent's queues are real ---- */

/* Between these two: a list of queues is taken. */
void gp_daemon_claims_begin(struct gp_daemon_client *client);
void gp_daemon_claims_end(struct gp_daemon_client *client);
bool gp_daemon_claim_holds(struct gp_daemon_client *client, u32 gpu_id, u32 queue);
/* Looks all queues up again, once per second at most; those that are not real leave the core. True:
 * some did, and the agent is to be asked again. */
bool gp_daemon_claims_check(struct gp_daemon_client *client);

/* ---- agents.c ---- */

int gp_daemon_agents_start(struct gp_daemon *daemon);
void gp_daemon_agents_stop(struct gp_daemon *daemon);

/* ---- agent_message.c ---- */

void gp_daemon_agent_greet(struct gp_daemon_client *client);
/* 0, or -errno to end the connection. */
int gp_daemon_agent_message(struct gp_daemon_client *client, const struct gp_wire_message *message);
/* Sends the agent a priority for the driver that is not the program's wish. */
void gp_daemon_agent_rule(struct gp_daemon_client *client);
/* Reads the agent's memory and passes changes to the core. */
void gp_daemon_agent_look(struct gp_daemon_client *client, u64 at_ns);
/* Asks for the list again if not all of the last one could be confirmed. */
void gp_daemon_agent_confirm(struct gp_daemon_client *client);

/* ---- attach.c ---- */

void gp_daemon_attach_start(struct gp_daemon *daemon);
void gp_daemon_attach_configure(struct gp_daemon *daemon);
/* An agent replaces the attachment of a process. */
void gp_daemon_attach_forget(struct gp_daemon *daemon, u32 pid);
/* The queues of an attached process, again. */
void gp_daemon_attach_queues(struct gp_daemon_client *client);
/* Sets how often rings are read, after a client came, went or changed. */
void gp_daemon_attach_adapt(struct gp_daemon *daemon);

#endif
