// SPDX-License-Identifier: MIT
/*
 * What programs may say to gpreemptd, from bytes: three that connect to its socket and two agents,
 * one of which introduced itself properly first. Each piece of the input is who, a type, a length
 * and a body, sent as it is or as a packet that is no message at all; or it is written to the
 * memory that an agent shows. Whatever they do, a well-behaved peer is answered, the library is
 * used by its rules, and nothing is left when they are gone.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/daemon.h"
#include "fake_library.h"
#include "place.h"
#include "proto/directory.h"

#define PEERS     3
#define AGENTS    2
#define RAW       0x80   /* flag in a piece's first byte: the body is the whole packet */
#define ANSWER    0x40   /* flag: with the serial of the last question; otherwise an event */
#define WITH_FD   0x20   /* flag: comes with a descriptor */
#define MEMORY    0xffff /* type: the body goes into the agent's memory */
#define LAST_STEP 64     /* steps after a piece; a timer that is always due must not keep it busy */

static const char config[] =
	"[daemon]\nmode = act\ndecisions = 16\nmax_jobs = 8\nmax_processes = 8\nmax_queues = 64\n"
	"[device *]\nlinger = 0\nmin_run = 0\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct piece {
	u8 who;
	u16 type;
	u16 length;
} __attribute__((packed));

struct agent {
	int socket;
	u32 serial; /* of the last question */
	u16 asked;
};

struct scene {
	struct gp_daemon *daemon;
	int peer[PEERS];
	u32 serial;
	struct agent agent[AGENTS];
	struct gp_proto_activity *memory;
	int memory_fd;
	struct gp_wire_message message;
};

static char directory[64];
static int listener[AGENTS]; /* one for all inputs: each was made by a process that outlives them */

static void must(bool true_of_it)
{
	if (!true_of_it)
		__builtin_trap();
}

static void agent_path(char *out, size_t size, int index)
{
	snprintf(out, size, "%s/agents/%d.sock", directory, index);
}

static void remove_directory(void)
{
	place_remove(directory);
}

/* An agent is known by the process that called listen(), and a process has one: each needs its own
 * process, which does nothing else. */
static void make_listener(int index)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), ready[2];

	agent_path(address.sun_path, sizeof(address.sun_path), index);
	must(bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
	must(pipe(ready) == 0);
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (listen(fd, 4) == 0 && write(ready[1], "", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	close(ready[1]);
	must(read(ready[0], &(char){0}, 1) == 1);
	close(ready[0]);
	listener[index] = fd;
}

static void make_directory(void)
{
	char path[96];

	must(place_make(directory, sizeof(directory)) != NULL);
	snprintf(path, sizeof(path), "%s/agents", directory);
	must(mkdir(path, 0700) == 0);
	setenv("GPREEMPT_DIR", directory, 1);
	atexit(remove_directory);
	for (int i = 0; i < AGENTS; i++)
		make_listener(i);
}

static void emit(struct gp_diag *diag, enum gp_severity severity, const char *text)
{
	(void)diag;
	(void)severity;
	(void)text;
}

/* What the daemon says to an agent; its last question is remembered. */
static void listen_to(struct scene *scene, struct agent *agent)
{
	if (agent->socket < 0)
		agent->socket = accept4(listener[agent - scene->agent], NULL, NULL,
					SOCK_CLOEXEC | SOCK_NONBLOCK);
	while (agent->socket >= 0) {
		int error = gp_wire_receive(agent->socket, &scene->message, 0);

		if (error == -EAGAIN)
			return;
		if (error) {
			close(agent->socket);
			agent->socket = -1;
			return;
		}
		agent->serial = scene->message.header.serial;
		agent->asked = scene->message.header.type;
		if (scene->message.fd >= 0)
			close(scene->message.fd);
	}
}

static void steps(struct scene *scene)
{
	for (int i = 0; i < LAST_STEP && gp_loop_step(&scene->daemon->loop, 0) > 0; i++)
		;
	for (int i = 0; i < AGENTS; i++)
		listen_to(scene, &scene->agent[i]);
	for (int i = 0; i < PEERS; i++)
		while (scene->peer[i] >= 0 &&
		       gp_wire_receive(scene->peer[i], &scene->message, 0) == 0)
			if (scene->message.fd >= 0)
				close(scene->message.fd);
}

static int greeted(struct scene *scene)
{
	struct gp_proto_msg_hello me = {.pid = (u32)getpid()};
	int fd = gp_proto_directory_connect(GP_DAEMON_SOCKET);

	must(fd >= 0);
	steps(scene); /* accepted before anything is said */
	gp_wire_send(fd, GP_MSG_HELLO, ++scene->serial, 0, &me, sizeof(me), -1);
	return fd;
}

/* An agent that does what one does: the daemon has a job with two queues afterwards. */
static void introduce(struct scene *scene, struct agent *agent)
{
	_Alignas(8) char room[sizeof(struct gp_proto_msg_queues) +
			      2 * sizeof(struct gp_proto_msg_queue)] = {0};
	struct gp_proto_msg_queues *list = (struct gp_proto_msg_queues *)room;
	struct gp_proto_msg_hello hello = {.job_class = 2,
					   .priority = 500,
					   .weight = 1,
					   .name = "a"};

	list->count = 2;
	for (u32 i = 0; i < 2; i++)
		list->queues[i] = (struct gp_proto_msg_queue){.gpu_id = 7,
							      .valid = GPREEMPT_QUEUE_KFD_ID,
							      .kfd_id = i};
	for (int i = 0; i < 8; i++) {
		u32 before = agent->serial;

		steps(scene);
		if (agent->socket < 0 || agent->serial == before)
			continue;
		if (agent->asked == GP_MSG_HELLO)
			gp_wire_send(agent->socket, GP_MSG_HELLO, agent->serial, 0, &hello,
				     sizeof(hello), -1);
		else if (agent->asked == GP_MSG_AGENT_WATCH)
			gp_wire_send(agent->socket, GP_MSG_AGENT_WATCH, agent->serial, 0, NULL, 0,
				     scene->memory_fd);
		else if (agent->asked == GP_MSG_AGENT_QUEUES)
			gp_wire_send(agent->socket, GP_MSG_AGENT_QUEUES, agent->serial, 2, list,
				     sizeof(room), -1);
	}
}

static int lists_queue(const struct gp_root *root, u32 pid, u32 gpu_id, u32 queue)
{
	(void)root, (void)pid, (void)gpu_id, (void)queue;
	return 1;
}

static void open_scene(struct scene *scene)
{
	static struct gp_diag diag = {.emit = emit};
	struct gp_daemon_config parsed;

	memset(scene, 0, sizeof(*scene));
	fake_reset();
	scene->memory_fd = memfd_create("activity", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	must(ftruncate(scene->memory_fd, sizeof(struct gp_proto_activity)) == 0);
	scene->memory = mmap(NULL, sizeof(struct gp_proto_activity), PROT_READ | PROT_WRITE,
			     MAP_SHARED, scene->memory_fd, 0);
	must(scene->memory != MAP_FAILED);
	scene->memory->magic = GP_ACTIVITY_MAGIC;
	scene->memory->slots = GP_ACTIVITY_SLOTS;
	fcntl(scene->memory_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
	for (int i = 0; i < AGENTS; i++)
		scene->agent[i].socket = -1;
	scene->daemon = calloc(1, sizeof(*scene->daemon));
	must(gp_daemon_config_parse("fuzz", config, strlen(config), &diag, &parsed) == 0);
	must(gp_daemon_init(scene->daemon, &parsed, NULL, &diag) == 0);
	scene->daemon->lists_queue = lists_queue;
	must(gp_daemon_start(scene->daemon) == 0);
	introduce(scene, &scene->agent[0]);
	must(scene->daemon->job_count == 1);
	for (int i = 0; i < PEERS; i++)
		scene->peer[i] = -1;
	for (int i = 0; i < PEERS; i++)
		scene->peer[i] = greeted(scene);
}

static void say(struct scene *scene, const struct piece *piece, const u8 *body)
{
	u32 who = (piece->who & 0x1f) % (PEERS + AGENTS);
	struct agent *agent = who < PEERS ? NULL : &scene->agent[who - PEERS];
	int fd = agent ? agent->socket : scene->peer[who];
	u32 serial = !agent ? ++scene->serial : piece->who & ANSWER ? agent->serial : 0;

	if (piece->type == MEMORY)
		memcpy(scene->memory, body, GP_MIN((size_t)piece->length, sizeof(*scene->memory)));
	else if (fd >= 0 && piece->who & RAW)
		send(fd, body, piece->length, MSG_NOSIGNAL | MSG_DONTWAIT);
	else if (fd >= 0)
		gp_wire_send(fd, piece->type, serial, (s32)(piece->length % 5) - 1, body,
			     piece->length, piece->who & WITH_FD ? scene->memory_fd : -1);
	steps(scene);
	/* Cut off: somebody else takes its place. */
	if (!agent && recv(fd, &(char){0}, 1, MSG_PEEK | MSG_DONTWAIT) == 0) {
		close(fd);
		scene->peer[who] = -1;
		scene->peer[who] = greeted(scene);
	}
}

static void close_scene(struct scene *scene)
{
	for (int i = 0; i < PEERS; i++)
		close(scene->peer[i]);
	for (int i = 0; i < AGENTS; i++) {
		if (scene->agent[i].socket >= 0)
			close(scene->agent[i].socket);
		scene->agent[i].socket = -1;
	}
	for (int i = 0; i < 20 * LAST_STEP && gp_loop_step(&scene->daemon->loop, 0) > 0; i++)
		;
	must(scene->daemon->job_count == 0 && gp_list_empty(&scene->daemon->jobs));
	must(scene->daemon->busy_count == 0 && scene->daemon->peer_count == 0);
	gp_daemon_free(scene->daemon);
	free(scene->daemon);
	for (int i = 0, fd; i < AGENTS; i++)
		while ((fd = accept(listener[i], NULL, NULL)) >= 0)
			close(fd);
	must(fake.broken_rules == 0);
	munmap(scene->memory, sizeof(*scene->memory));
	close(scene->memory_fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct scene scene;
	struct piece piece;
	int good;

	if (!*directory)
		make_directory();
	open_scene(&scene);
	while (size >= sizeof(piece)) {
		memcpy(&piece, data, sizeof(piece));
		data += sizeof(piece);
		size -= sizeof(piece);
		piece.length = (u16)GP_MIN(piece.length, size);
		say(&scene, &piece, data);
		data += piece.length;
		size -= piece.length;
	}
	good = greeted(&scene);
	steps(&scene);
	must(gp_wire_receive(good, &scene.message, 0) == 0);
	gp_wire_send(good, GP_MSG_DAEMON_STATUS, ++scene.serial, 0, NULL, 0, -1);
	steps(&scene);
	must(gp_wire_receive(good, &scene.message, 0) == 0 &&
	     gp_wire_fits(&scene.message, sizeof(struct gp_proto_msg_daemon_status), 0, 0));
	close(good);
	close_scene(&scene);
	return 0;
}
