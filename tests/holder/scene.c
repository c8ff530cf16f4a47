// SPDX-License-Identifier: MIT
/* See scene.h. */
#include "scene.h"

struct fake fake;

/* ---- the fake mechanism ---- */

static int fake_probe(int pidfd, u32 pid, struct gp_proto_message *why)
{
	(void)pidfd, (void)pid;
	return gp_proto_say(why, fake.probe_error, GP_SAY_DEBUG_WORKS);
}

static int fake_attach(int pidfd, u32 pid, struct gp_proto_message *why,
		       struct gp_gpu_control **out)
{
	static struct gp_gpu_control control;

	(void)pidfd, (void)pid;
	if (fake.attach_error)
		return gp_proto_say(why, fake.attach_error, GP_SAY_NV_CHANNELS, pid);
	fake.attached++;
	*out = &control;
	return 0;
}

static void fake_detach(struct gp_gpu_control *control)
{
	(void)control;
	fake.attached--;
	memset(fake.suspended, 0, sizeof(fake.suspended));
}

static int fake_fd(struct gp_gpu_control *control)
{
	(void)control;
	return -1;
}

static int fake_pump(struct gp_gpu_control *control)
{
	(void)control;
	return 0;
}

static int fake_queues_of(struct gp_gpu_control *control, struct gp_gpu_control_queues *out)
{
	(void)control;
	*out = (struct gp_gpu_control_queues){.count = FAKE_QUEUES, .capacity = FAKE_QUEUES};
	out->items = calloc(FAKE_QUEUES, sizeof(*out->items));
	for (u32 i = 0; i < FAKE_QUEUES; i++)
		out->items[i] = (struct gp_gpu_control_queue){.id = i,
							      .gpu_id = i == 2 ? 200 : 100,
							      .valid = GP_QUEUE_HAS_KFD_ID,
							      .suspended = fake.suspended[i]};
	return 0;
}

static int fake_change(const u32 *ids, size_t count, bool to, struct gp_gpu_control_done *done)
{
	u32 changed = 0;

	fake.calls++;
	for (u32 i = 0; i < FAKE_QUEUES; i++) {
		bool named = !ids;

		for (size_t k = 0; k < count; k++)
			named |= ids[k] == i;
		if (named && (to || fake.suspended[i])) {
			fake.suspended[i] = to;
			changed++;
		}
	}
	*done = (struct gp_gpu_control_done){.issued_ns = gp_monotonic_ns(), .queues = changed};
	return (int)changed;
}

static int fake_suspend(struct gp_gpu_control *control, const u32 *ids, size_t count, u32 grace,
			struct gp_gpu_control_done *done)
{
	char byte;

	(void)control, (void)grace;
	fake.suspends++;
	if (fake.gate >= 0)
		(void)!read(fake.gate, &byte, 1);
	if (fake.fail_count) {
		int error = fake.fail[0];

		memmove(fake.fail, fake.fail + 1, sizeof(fake.fail) - sizeof(fake.fail[0]));
		fake.fail_count--;
		if (error && fake.partial)
			fake_change((u32[]){0, 1}, 2, true, done);
		if (error)
			return error;
	}
	return fake_change(ids, count, true, done);
}

static int fake_resume(struct gp_gpu_control *control, const u32 *ids, size_t count,
		       struct gp_gpu_control_done *done)
{
	(void)control;
	fake.resumes++;
	if (fake.resume_error)
		return fake.resume_error;
	return fake_change(ids, count, false, done);
}

static int fake_share(struct gp_gpu_control *control, u32 value)
{
	char byte;

	(void)control;
	fake.share = value;
	if (fake.gate >= 0)
		(void)!read(fake.gate, &byte, 1);
	return 0;
}

static void fake_copies(struct gp_gpu_control *control, bool stop)
{
	(void)control;
	fake.copies = stop;
}

static int fake_lease(struct gp_gpu_control *control, u32 value)
{
	(void)control;
	fake.leases++;
	fake.lease_ms = value;
	return 0;
}

static int fake_priority(struct gp_gpu_control *control, u32 value)
{
	(void)control;
	fake.priority = value;
	return 0;
}

static void fake_stray(u32 pid)
{
	(void)pid;
	fake.strays++;
}

int other_probe_error;

static int other_probe(int pidfd, u32 pid, struct gp_proto_message *why)
{
	(void)pidfd, (void)pid;
	return gp_proto_say(why, other_probe_error, GP_SAY_MODULE_WORKS);
}

const struct gp_gpu_control_ops other_ops = {.mechanism = 3, .probe = other_probe};

struct gp_gpu_control_ops fake_ops = {
	.mechanism = 2,
	.probe = fake_probe,
	.stray = fake_stray,
	.attach = fake_attach,
	.detach = fake_detach,
	.fd = fake_fd,
	.pump = fake_pump,
	.queues = fake_queues_of,
	.suspend = fake_suspend,
	.resume = fake_resume,
	.share = fake_share,
	.copies = fake_copies,
	.lease = fake_lease,
	.priority = fake_priority,
};

/* ---- scene ---- */

u32 refusal(const struct client *client)
{
	const struct gp_proto_reasons *why = gp_wire_why(&client->message);

	return why && why->count ? why->reason[0].code : GP_SAY_NOTHING;
}

bool past(u64 deadline_ns)
{
	return gp_monotonic_ns() > deadline_ns;
}

void scene_open(struct scene *scene, bool inline_jobs)
{
	memset(scene, 0, sizeof(*scene));
	fake = (struct fake){.gate = -1};
	fake_ops.traits = 0;
	fake_ops.mechanism = 2;
	scene->mechanisms[0] = &fake_ops;
	scene->options = (struct gp_holder_options){.mechanisms = scene->mechanisms,
						    .listen_fd = -1,
						    .inline_jobs = inline_jobs};
	assert_int_equal(gp_holder_open(&scene->holder, &scene->options), 0);
}

void scene_close(struct scene *scene)
{
	gp_holder_close(&scene->holder);
	assert_int_equal(scene->holder.member_count, 0);
	assert_int_equal(scene->holder.connection_count, 0);
	assert_int_equal(fake.attached, 0);
}

struct client *scene_stranger(struct scene *scene)
{
	struct client *client = calloc(1, sizeof(*client));
	int ends[2];

	assert_non_null(client);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	assert_int_equal(gp_holder_connection_add(&scene->holder, ends[0]), 0);
	client->fd = ends[1];
	return client;
}

struct client *scene_client(struct scene *scene)
{
	struct client *client = scene_stranger(scene);
	struct gp_proto_msg_hello hello = {.name = "test"};

	assert_int_equal(ask(scene, client, GP_MSG_HELLO, &hello, sizeof(hello), -1), 0);
	return client;
}

void client_close(struct client *client)
{
	close(client->fd);
	free(client);
}

void tell(struct client *client, u16 type, const void *body, size_t size, int fd)
{
	assert_int_equal(gp_wire_send(client->fd, type, ++client->serial, 0, body, size, fd), 0);
}

/* 1: the answer; 0: nothing or an event; negative: cut off. */
static int take(struct client *client)
{
	int error = gp_wire_receive(client->fd, &client->message, 0);

	if (error)
		return error == -EAGAIN ? 0 : error;
	if (client->message.header.serial)
		return 1;
	if (client->message.header.type == GP_MSG_EVENT && client->event_count < 64)
		memcpy(&client->events[client->event_count++], client->message.body,
		       sizeof(struct gp_proto_msg_event));
	return 0;
}

int answer(struct scene *scene, struct client *client)
{
	int got = 0;

	UNTIL(scene, (got = take(client)) != 0);
	return got < 0 ? got : client->message.header.status;
}

int ask(struct scene *scene, struct client *client, u16 type, const void *body, size_t size, int fd)
{
	tell(client, type, body, size, fd);
	return answer(scene, client);
}

int open_self(struct scene *scene, struct client *client, u32 gpu_id)
{
	struct gp_proto_msg_open body = {.gpu_id = gpu_id};
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	int status = ask(scene, client, GP_MSG_OPEN, &body, sizeof(body), pidfd);

	close(pidfd);
	return status < 0 ? status
			  : (int)((const struct gp_proto_msg_opened *)client->message.body)->target;
}

int suspend(struct scene *scene, struct client *client, int target, u32 lease, u32 limit)
{
	struct gp_proto_msg_suspend body = {.target = (u32)target,
					    .lease_ms = lease,
					    .limit_ms = limit,
					    .timeout_ms = 60000};

	return ask(scene, client, GP_MSG_SUSPEND, &body, sizeof(body), -1);
}

int resume(struct scene *scene, struct client *client, int target)
{
	struct gp_proto_msg_suspend body = {.target = (u32)target};

	return ask(scene, client, GP_MSG_RESUME, &body, sizeof(body), -1);
}

int target_call(struct scene *scene, struct client *client, u16 type, int target)
{
	struct gp_proto_msg_target body = {.target = (u32)target};

	return ask(scene, client, type, &body, sizeof(body), -1);
}

u32 count_events(struct scene *scene, struct client *client, u32 kind)
{
	u32 count = 0;

	gp_holder_step(&scene->holder, 0);
	while (gp_wire_receive(client->fd, &client->message, 0) == 0)
		if (client->message.header.type == GP_MSG_EVENT && client->event_count < 64)
			memcpy(&client->events[client->event_count++], client->message.body,
			       sizeof(struct gp_proto_msg_event));
	for (u32 i = 0; i < client->event_count; i++)
		count += client->events[i].kind == kind;
	return count;
}

struct gp_proto_msg_event wait_event(struct scene *scene, struct client *client, u32 kind)
{
	UNTIL(scene, count_events(scene, client, kind));
	for (u32 i = 0; i < client->event_count; i++)
		if (client->events[i].kind == kind) {
			struct gp_proto_msg_event event = client->events[i];

			client->events[i] = client->events[--client->event_count];
			return event;
		}
	fail();
	return (struct gp_proto_msg_event){0};
}
