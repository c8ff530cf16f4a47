/* The holder's books, with a fake mechanism. */
#include "scene.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/un.h>

static struct scene scene;

static int fresh(void **state)
{
	(void)state;
	scene_open(&scene, true);
	return 0;
}

static int fresh_threads(void **state)
{
	(void)state;
	scene_open(&scene, false);
	return 0;
}

static int done(void **state)
{
	(void)state;
	scene_close(&scene);
	return 0;
}

static bool all(bool state)
{
	for (u32 i = 0; i < FAKE_QUEUES; i++)
		if (fake.suspended[i] != state)
			return false;
	return true;
}

/* ---- clients that break the rules ---- */

static void hello_comes_first(void **state)
{
	struct client *client = scene_stranger(&scene);
	struct gp_msg_target body = {0};

	(void)state;
	assert_int_equal(ask(&scene, client, GP_MSG_RENEW, &body, sizeof(body), -1), -ECONNRESET);
	client_close(client);
}

static void wrong_sizes_end_the_connection(void **state)
{
	static const u16 types[] = {GP_MSG_OPEN,     GP_MSG_CLOSE, GP_MSG_INFO,    GP_MSG_QUEUES,
				    GP_MSG_SUSPEND,  GP_MSG_RENEW, GP_MSG_RESUME,  GP_MSG_HOLDS,
				    GP_MSG_PRIORITY, GP_MSG_SHARE, GP_MSG_RELEASE, 4711};
	u8 body[4096] = {0};
	struct client *other = scene_client(&scene);

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(types); i++)
		for (size_t size = 1; size < sizeof(body); size = size * 3 + 1) {
			struct client *client = scene_client(&scene);

			assert_int_equal(ask(&scene, client, types[i], body, size, -1),
					 -ECONNRESET);
			client_close(client);
		}
	/* Nobody else notices. */
	assert_true(open_self(&scene, other, 0) > 0);
	client_close(other);
}

static void lying_count_ends_the_connection(void **state)
{
	struct gp_msg_suspend body = {.count = 5};
	struct client *client = scene_client(&scene);

	(void)state;
	assert_int_equal(ask(&scene, client, GP_MSG_SUSPEND, &body, sizeof(body), -1), -ECONNRESET);
	client_close(client);
}

static void serial_0_is_for_events(void **state)
{
	struct client *client = scene_client(&scene);
	struct gp_msg_target body = {0};

	(void)state;
	client->serial = UINT32_MAX;
	assert_int_equal(ask(&scene, client, GP_MSG_RENEW, &body, sizeof(body), -1), -ECONNRESET);
	client_close(client);
}

static void values_out_of_range_are_refused(void **state)
{
	struct client *client = scene_client(&scene);
	int target = open_self(&scene, client, 0);
	struct gp_msg_value value = {.target = (u32)target, .value = 65536};
	struct gp_msg_suspend body = {.target = (u32)target, .grace = 256};

	(void)state;
	assert_int_equal(suspend(&scene, client, target, 49, 0), -EINVAL);
	assert_int_equal(suspend(&scene, client, target, 50, 3600001), -EINVAL);
	assert_int_equal(ask(&scene, client, GP_MSG_SUSPEND, &body, sizeof(body), -1), -EINVAL);
	assert_int_equal(suspend(&scene, client, target + 1, 0, 0), -EBADF);
	assert_int_equal(ask(&scene, client, GP_MSG_PRIORITY, &value, sizeof(value), -1), -EINVAL);
	value.value = 1001;
	assert_int_equal(ask(&scene, client, GP_MSG_SHARE, &value, sizeof(value), -1), -EINVAL);
	value.value = 0;
	assert_int_equal(ask(&scene, client, GP_MSG_SHARE, &value, sizeof(value), -1), -EINVAL);
	assert_int_equal(fake.suspends, 0);
	client_close(client);
}

static void open_without_a_pidfd_is_refused(void **state)
{
	struct client *client = scene_client(&scene);
	struct gp_msg_open body = {0};
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(ask(&scene, client, GP_MSG_OPEN, &body, sizeof(body), -1), -EBADF);
	assert_int_equal(ask(&scene, client, GP_MSG_OPEN, &body, sizeof(body), null), -EBADF);
	close(null);
	client_close(client);
}

static void too_many_targets_are_refused(void **state)
{
	struct client *client = scene_client(&scene);
	int last = 0;

	(void)state;
	for (int i = 0; i < GP_HOLDER_TARGETS; i++)
		assert_true((last = open_self(&scene, client, 0)) > 0);
	assert_int_equal(open_self(&scene, client, 0), -EMFILE);
	assert_int_equal(target_call(&scene, client, GP_MSG_CLOSE, last), 0);
	assert_true(open_self(&scene, client, 0) > 0);
	assert_int_equal(scene.holder.member_count, 1); /* one process, one worker */
	client_close(client);
}

/* Asks and never reads: it is cut off, the holder goes on. */
static void who_does_not_read_is_cut_off(void **state)
{
	struct client *silent = scene_client(&scene), *other = scene_client(&scene);
	struct gp_msg_target body = {0};
	bool sent = true;

	(void)state;
	for (int i = 0; i < 200000 && scene.holder.connection_count == 2; i++) {
		sent = gp_wire_send(silent->fd, GP_MSG_HOLDS, ++silent->serial, 0, &body,
				    sizeof(body), -1) == 0;
		gp_holder_step(&scene.holder, 0);
	}
	(void)sent;
	assert_int_equal(scene.holder.connection_count, 1);
	assert_true(open_self(&scene, other, 0) > 0);
	client_close(silent);
	client_close(other);
}

static void answers_come_in_order(void **state)
{
	int gate[2];
	struct client *client = scene_client(&scene);
	int target = open_self(&scene, client, 0);
	struct gp_msg_suspend body = {.target = (u32)target, .lease_ms = LONG_LEASE};
	struct gp_msg_target ask_info = {.target = (u32)target};

	(void)state;
	assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
	fake.gate = gate[0];
	tell(client, GP_MSG_SUSPEND, &body, sizeof(body), -1);
	u32 first = client->serial;
	for (int i = 0; i < 10; i++)
		tell(client, GP_MSG_INFO, &ask_info, sizeof(ask_info), -1);
	UNTIL(&scene, fake.suspends == 1);
	for (int i = 0; i < 20; i++)
		gp_holder_step(&scene.holder, 0);
	assert_int_equal(gp_wire_receive(client->fd, &client->message, 0), -EAGAIN);
	assert_int_equal(write(gate[1], "x", 1), 1);
	for (u32 i = 0; i < 11; i++) {
		assert_true(answer(&scene, client) >= 0);
		assert_int_equal(client->message.header.serial, first + i);
	}
	close(gate[0]);
	close(gate[1]);
	fake.gate = -1;
	client_close(client);
}

/* A client with more requests than its share waits; the others do not. */
static void a_flood_waits_by_itself(void **state)
{
	int gate[2];
	struct client *flood = scene_client(&scene), *other = scene_client(&scene);
	int target = open_self(&scene, flood, 0);
	struct gp_msg_suspend body = {.target = (u32)target, .lease_ms = LONG_LEASE};
	u32 sent = 0;

	(void)state;
	assert_int_equal(pipe2(gate, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(fcntl(gate[0], F_SETFL, 0), 0);
	fake.gate = gate[0];
	while (sent < 1000 && gp_wire_send(flood->fd, GP_MSG_SUSPEND, ++flood->serial, 0, &body,
					   sizeof(body), -1) == 0)
		sent++;
	for (int i = 0; i < 300; i++)
		gp_holder_step(&scene.holder, 0);
	struct gp_connection *first =
		gp_container(scene.holder.connections.next, struct gp_connection, link);
	assert_true(sent > GP_HOLDER_REQUESTS);
	assert_int_equal(first->request_count, GP_HOLDER_REQUESTS);
	struct gp_msg_target none = {0};
	assert_int_equal(ask(&scene, other, GP_MSG_HOLDS, &none, sizeof(none), -1), 1);
	close(gate[1]); /* read() ends at once from now on */
	for (u32 i = 0; i < sent; i++)
		assert_int_equal(answer(&scene, flood), FAKE_QUEUES);
	close(gate[0]);
	fake.gate = -1;
	client_close(flood);
	client_close(other);
}

/* ---- holds ---- */

static void one_owner_at_a_time_lets_go(void **state)
{
	struct client *a = scene_client(&scene), *b = scene_client(&scene);
	int in_a = open_self(&scene, a, 0), in_b = open_self(&scene, b, 0);

	(void)state;
	assert_int_equal(suspend(&scene, a, in_a, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	assert_int_equal(suspend(&scene, b, in_b, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	client_close(a); /* as good as resume */
	UNTIL(&scene, scene.holder.connection_count == 1);
	assert_true(all(true));
	assert_int_equal(resume(&scene, b, in_b), FAKE_QUEUES);
	assert_true(all(false));
	assert_int_equal(resume(&scene, b, in_b), 0);
	client_close(b);
}

static void a_gpu_filter_leaves_the_other_gpu_alone(void **state)
{
	struct client *client = scene_client(&scene);
	int target = open_self(&scene, client, 200), whole = open_self(&scene, client, 0);

	(void)state;
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), 1);
	assert_false(fake.suspended[0] || fake.suspended[1]);
	assert_true(fake.suspended[2]);
	assert_int_equal(suspend(&scene, client, whole, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	assert_true(all(true));
	/* What the other hold covers stays. */
	assert_int_equal(resume(&scene, client, whole), 2);
	assert_true(fake.suspended[2]);
	assert_int_equal(resume(&scene, client, target), 1);
	assert_true(all(false));
	client_close(client);
}

static void leases_end_by_themselves(void **state)
{
	struct client *client = scene_client(&scene);
	int target = open_self(&scene, client, 0);

	(void)state;
	assert_int_equal(suspend(&scene, client, target, 50, LONG_LEASE), FAKE_QUEUES);
	assert_int_equal(wait_event(&scene, client, GP_EVENT_LEASE_LOST).target, target);
	assert_true(all(false));
	assert_int_equal(target_call(&scene, client, GP_MSG_RENEW, target), -ENOLCK);
	client_close(client);
}

/* The mechanism hears of the lease, of each renewal, and of the priority. */
static void leases_are_handed_on(void **state)
{
	struct client *client = scene_client(&scene);
	int target = open_self(&scene, client, 0);
	struct gp_msg_value value = {.target = (u32)target, .value = 1234};
	int before;

	(void)state;
	assert_int_equal(suspend(&scene, client, target, 5000, LONG_LEASE), FAKE_QUEUES);
	assert_int_equal(fake.lease_ms, 5000);
	before = fake.leases;
	assert_int_equal(target_call(&scene, client, GP_MSG_RENEW, 0), 0);
	assert_int_equal(target_call(&scene, client, GP_MSG_RENEW, target), 0);
	assert_int_equal(fake.leases, before + 2);
	assert_int_equal(ask(&scene, client, GP_MSG_PRIORITY, &value, sizeof(value), -1), 0);
	assert_int_equal(fake.priority, 1234);
	value.value = 250;
	assert_int_equal(ask(&scene, client, GP_MSG_SHARE, &value, sizeof(value), -1), 0);
	assert_int_equal(fake.share, 250);
	assert_int_equal(target_call(&scene, client, GP_MSG_INFO, target), 0);
	assert_int_equal(((struct gp_msg_info *)client->message.body)->priority, 1234);
	client_close(client);
}

/* ---- drivers that do not do what they should ---- */

static void errors_that_pass_are_tried_again(void **state)
{
	static const int errors[] = {-EBUSY, -EINTR, -ETIME};
	struct client *client = scene_client(&scene);
	int target = open_self(&scene, client, 0);

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(errors); i++) {
		fake.fail[0] = fake.fail[1] = errors[i];
		fake.fail_count = 2;
		assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE),
				 FAKE_QUEUES);
		assert_int_equal(resume(&scene, client, target), FAKE_QUEUES);
	}
	client_close(client);
}

static void hang(int tries)
{
	for (int i = 0; i < tries; i++)
		fake.fail[i] = -EIO;
	fake.fail_count = tries;
}

static void a_device_that_hangs_is_left_alone_until_it_heals(void **state)
{
	struct client *client = scene_client(&scene);
	int target = open_self(&scene, client, 0), made;

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(count_events(&scene, client, GP_EVENT_BREAKER), 0);
		hang(5); /* each of its tries */
		assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), -EIO);
		assert_true(all(false)); /* and nothing is left stopped */
	}
	assert_int_equal(wait_event(&scene, client, GP_EVENT_BREAKER).result, 1);
	made = fake.suspends;
	if (suspend(&scene, client, target, LONG_LEASE, LONG_LEASE) == -EIO) {
		/* Within its pause, as it should be unless this machine stood still. */
		assert_non_null(strstr((char *)client->message.body, "switched off"));
		assert_int_equal(fake.suspends, made);
		UNTIL(&scene,
		      suspend(&scene, client, target, LONG_LEASE, LONG_LEASE) == FAKE_QUEUES);
	}
	client->event_count = GP_MIN(client->event_count, 64u);
	UNTIL(&scene, count_events(&scene, client, GP_EVENT_BREAKER));
	bool healed = false;
	for (u32 i = 0; i < client->event_count; i++)
		healed |= client->events[i].kind == GP_EVENT_BREAKER && !client->events[i].result;
	assert_true(healed);
	client_close(client);
}

/* Both GPUs of the fake: what is told of one is told of the other. */
static void hears_twice(struct client *client, int result)
{
	assert_int_equal(wait_event(&scene, client, GP_EVENT_BREAKER).result, result);
	assert_int_equal(wait_event(&scene, client, GP_EVENT_BREAKER).result, result);
}

static void end_pauses(void)
{
	for (size_t i = 0; i < GP_ARRAY_SIZE(scene.holder.breakers); i++)
		scene.holder.breakers[i].retry_ns = gp_now_ns();
	gp_holder_wake_at(&scene.holder, gp_now_ns());
}

/* Whoever waits for the device to be well again (the daemon) tries nothing until it is told. */
static void a_device_that_hung_is_offered_again_by_itself(void **state)
{
	struct client *client = scene_client(&scene);
	int target = open_self(&scene, client, 0);

	(void)state;
	for (int i = 0; i < 2; i++) {
		hang(5);
		assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), -EIO);
	}
	hears_twice(client, 1);
	hears_twice(client, 0); /* after its pause, a second */
	/* The one try: when it fails the device is off again at once, and is offered again. */
	hang(5);
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), -EIO);
	hears_twice(client, 1);
	end_pauses();
	hears_twice(client, 0);
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	/* It works: that was told already. */
	assert_int_equal(resume(&scene, client, target), FAKE_QUEUES);
	assert_int_equal(count_events(&scene, client, GP_EVENT_BREAKER), 0);
	client_close(client);
}

static void only_one_suspend_tries_a_device_that_hung(void **state)
{
	int gate[2];
	struct client *client = scene_client(&scene), *other = scene_client(&scene);
	int target = open_self(&scene, client, 0), second = open_self(&scene, other, 0);
	struct gp_msg_suspend body = {.target = (u32)target,
				      .lease_ms = LONG_LEASE,
				      .limit_ms = LONG_LEASE,
				      .timeout_ms = 60000};

	(void)state;
	for (int i = 0; i < 2; i++) {
		hang(5);
		assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), -EIO);
	}
	end_pauses();
	assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
	fake.gate = gate[0];
	tell(client, GP_MSG_SUSPEND, &body, sizeof(body), -1);
	UNTIL(&scene, scene.holder.breakers[0].trying_until_ns);
	assert_int_equal(suspend(&scene, other, second, LONG_LEASE, LONG_LEASE), -EIO);
	close(gate[1]);
	assert_int_equal(answer(&scene, client), FAKE_QUEUES);
	assert_int_equal(suspend(&scene, other, second, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	close(gate[0]);
	fake.gate = -1;
	client_close(client);
	client_close(other);
}

/* Of two devices one is still off: the other's try is not used up by the refusal. */
static void a_refused_suspend_is_no_try(void **state)
{
	struct client *client = scene_client(&scene);
	int target = open_self(&scene, client, 0);

	(void)state;
	for (int i = 0; i < 2; i++) {
		hang(5);
		assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), -EIO);
	}
	for (size_t i = 0; i < GP_ARRAY_SIZE(scene.holder.breakers); i++) {
		struct gp_breaker *breaker = &scene.holder.breakers[i];

		if (breaker->gpu_id)
			breaker->retry_ns = breaker->gpu_id == 100 ? 0 : GP_NEVER;
	}
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), -EIO);
	for (size_t i = 0; i < GP_ARRAY_SIZE(scene.holder.breakers); i++)
		scene.holder.breakers[i].retry_ns = 0;
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	client_close(client);
}

/* The linker puts this in front of the holder's calloc(). */
static size_t no_memory_for; /* blocks of this size fail; 0: none do */
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_calloc(size_t count, size_t size)
{
	return no_memory_for && count * size == no_memory_for ? NULL : __real_calloc(count, size);
}

static void what_nobody_holds_runs_even_without_memory(void **state)
{
	struct client *client = scene_client(&scene), *other = scene_client(&scene);
	int target = open_self(&scene, client, 0), second = open_self(&scene, other, 0);

	(void)state;
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	no_memory_for = sizeof(struct gp_job);
	assert_int_equal(resume(&scene, client, target), -ENOMEM);
	assert_true(all(true));
	no_memory_for = 0;
	UNTIL(&scene, all(false));
	/* The same when it is its connection that ends. */
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	no_memory_for = sizeof(struct gp_job);
	client_close(client);
	UNTIL(&scene, scene.holder.connection_count == 1);
	assert_true(all(true));
	no_memory_for = 0;
	UNTIL(&scene, all(false));
	(void)second;
	client_close(other);
}

static int listen_for_clients(char *place, struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_non_null(mkdtemp(place));
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(address->sun_path, sizeof(address->sun_path), "%s/s", place);
	assert_int_equal(bind(fd, (struct sockaddr *)address, sizeof(*address)), 0);
	assert_int_equal(listen(fd, 8), 0);
	return fd;
}

/* With no descriptor left the socket stays readable. */
static void without_descriptors_it_rests_instead_of_spinning(void **state)
{
	char place[] = "/tmp/gpholder-XXXXXX";
	struct sockaddr_un address;
	struct epoll_event readable = {.events = EPOLLIN,
				       .data.ptr = &scene.holder.fixed[GP_SOURCE_LISTEN]};
	int listener = listen_for_clients(place, &address);
	int client = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), spare = dup(client);
	struct pollfd ready = {.fd = scene.holder.epoll, .events = POLLIN};
	struct rlimit before, none;

	(void)state;
	scene.holder.options.listen_fd = listener;
	assert_int_equal(epoll_ctl(scene.holder.epoll, EPOLL_CTL_ADD, listener, &readable), 0);
	assert_int_equal(connect(client, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	close(spare); /* the lowest that is free, and all above it are forbidden */
	none = (struct rlimit){.rlim_cur = (rlim_t)spare, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	while (!scene.holder.accept_again_ns)
		gp_holder_step(&scene.holder, 60000);
	/* Nothing to do until its timer rings. */
	u64 due = scene.holder.accept_again_ns;
	int events = poll(&ready, 1, 0);
	u64 now = gp_now_ns();
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_true(events == 0 || now >= due);
	UNTIL(&scene, scene.holder.connection_count == 1);
	close(client);
	UNTIL(&scene, scene.holder.connection_count == 0);
	epoll_ctl(scene.holder.epoll, EPOLL_CTL_DEL, listener, NULL);
	close(listener);
	unlink(address.sun_path);
	rmdir(place);
}

static void a_suspend_that_takes_too_long_is_undone(void **state)
{
	int gate[2];
	struct client *client = scene_client(&scene);
	int target = open_self(&scene, client, 0);
	struct gp_msg_suspend body = {.target = (u32)target,
				      .lease_ms = LONG_LEASE,
				      .limit_ms = LONG_LEASE,
				      .timeout_ms = 1};

	(void)state;
	assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
	fake.gate = gate[0];
	assert_int_equal(ask(&scene, client, GP_MSG_SUSPEND, &body, sizeof(body), -1), -ETIME);
	close(gate[1]); /* now the driver comes back */
	UNTIL(&scene, fake.resumes > 0);
	UNTIL(&scene, all(false));
	assert_int_equal(target_call(&scene, client, GP_MSG_RENEW, target), -ENOLCK);
	close(gate[0]);
	fake.gate = -1;
	client_close(client);
}

static void attach_errors_come_with_their_sentence(void **state)
{
	struct client *client = scene_client(&scene);
	int target = open_self(&scene, client, 0);

	(void)state;
	fake.attach_error = -EOPNOTSUPP;
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), -EOPNOTSUPP);
	assert_string_equal((char *)client->message.body, "the fake does not want to");
	fake.attach_error = 0;
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	fake.probe_error = -EBUSY;
	assert_int_equal(open_self(&scene, client, 0), -EBUSY);
	assert_true(all(true)); /* those who have it open do not suffer */
	client_close(client);
}

/* Off by one in the driver's books: everything is let go, and another holder takes over. */
static void a_tainted_holder_ends(void **state)
{
	struct client *client = scene_client(&scene);
	int target = open_self(&scene, client, 0);

	(void)state;
	fake.attach_error = -EUCLEAN;
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), -EBUSY);
	assert_true(scene.holder.ending);
	client_close(client);
}

static void a_process_that_ends_is_reported(void **state)
{
	struct client *client = scene_client(&scene);
	struct gp_msg_open body = {0};
	int hold[2];

	(void)state;
	assert_int_equal(pipe2(hold, O_CLOEXEC), 0);
	pid_t child = fork();
	if (!child) {
		char byte;
		close(hold[1]);
		(void)!read(hold[0], &byte, 1);
		_exit(0);
	}
	close(hold[0]);
	int pidfd = (int)syscall(SYS_pidfd_open, child, 0);
	assert_int_equal(ask(&scene, client, GP_MSG_OPEN, &body, sizeof(body), pidfd), 0);
	int target = (int)((struct gp_msg_opened *)client->message.body)->target;
	close(pidfd);
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	close(hold[1]);
	assert_int_equal(wait_event(&scene, client, GP_EVENT_GONE).pid, child);
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), -ESRCH);
	assert_int_equal(waitpid(child, NULL, 0), child);
	UNTIL(&scene, scene.holder.member_count == 0);
	client_close(client);
}

/* Nobody holds it any more: a driver that refuses to start it is left no choice. */
static void what_cannot_be_resumed_is_let_go(void **state)
{
	struct client *client = scene_client(&scene);
	int target = open_self(&scene, client, 0);

	(void)state;
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	assert_int_equal(fake.attached, 1);
	fake.resume_error = -EBUSY;
	assert_int_equal(resume(&scene, client, target), -EBUSY);
	assert_int_equal(fake.attached, 0);
	assert_false(fake.suspended[0]);
	fake.resume_error = 0;
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	client_close(client);
}

/* A renewal that waited for it would come too late for everybody else. */
static void a_slow_suspend_holds_up_no_renewal(void **state)
{
	struct client *client = scene_client(&scene);
	struct gp_msg_target all = {0};
	int target = open_self(&scene, client, 0), gate[2];
	struct gp_msg_suspend body = {.target = (u32)target,
				      .lease_ms = LONG_LEASE,
				      .limit_ms = LONG_LEASE,
				      .timeout_ms = LONG_LEASE};

	(void)state;
	assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
	fake.gate = gate[0];
	tell(client, GP_MSG_SUSPEND, &body, sizeof(body), -1);
	assert_int_equal(ask(&scene, client, GP_MSG_RENEW, &all, sizeof(all), -1), 0);
	assert_int_equal(client->message.header.type, GP_MSG_RENEW);
	assert_int_equal(write(gate[1], "x", 1), 1);
	client->serial--;
	assert_int_equal(answer(&scene, client), FAKE_QUEUES);
	fake.gate = -1;
	client_close(client);
	close(gate[0]);
	close(gate[1]);
}

/* An attach that failed may leave the process traced by the worker. */
static void a_process_without_a_session_is_looked_after(void **state)
{
	const struct gp_control_ops *const mechanisms[] = {&fake_ops, NULL};
	struct gp_applied applied = {.mechanisms = mechanisms, .pid = 1, .pidfd = -1};
	int result = 1;

	(void)state;
	fake.strays = 0;
	assert_int_equal(gp_apply_pump(&applied, &result), 0);
	assert_int_equal(result, 0);
	assert_int_equal(fake.strays, 1);
}

int main(void)
{
#define INLINE(f)   cmocka_unit_test_setup_teardown(f, fresh, done)
#define THREADED(f) cmocka_unit_test_setup_teardown(f, fresh_threads, done)
	const struct CMUnitTest tests[] = {
		INLINE(hello_comes_first),
		INLINE(wrong_sizes_end_the_connection),
		INLINE(lying_count_ends_the_connection),
		INLINE(serial_0_is_for_events),
		INLINE(values_out_of_range_are_refused),
		INLINE(open_without_a_pidfd_is_refused),
		INLINE(too_many_targets_are_refused),
		INLINE(who_does_not_read_is_cut_off),
		THREADED(answers_come_in_order),
		THREADED(a_flood_waits_by_itself),
		INLINE(one_owner_at_a_time_lets_go),
		INLINE(a_gpu_filter_leaves_the_other_gpu_alone),
		INLINE(leases_end_by_themselves),
		INLINE(leases_are_handed_on),
		INLINE(errors_that_pass_are_tried_again),
		INLINE(a_device_that_hangs_is_left_alone_until_it_heals),
		INLINE(a_device_that_hung_is_offered_again_by_itself),
		INLINE(a_refused_suspend_is_no_try),
		THREADED(only_one_suspend_tries_a_device_that_hung),
		INLINE(what_nobody_holds_runs_even_without_memory),
		INLINE(without_descriptors_it_rests_instead_of_spinning),
		THREADED(a_suspend_that_takes_too_long_is_undone),
		INLINE(attach_errors_come_with_their_sentence),
		INLINE(a_tainted_holder_ends),
		THREADED(a_process_that_ends_is_reported),
		THREADED(a_slow_suspend_holds_up_no_renewal),
		INLINE(what_cannot_be_resumed_is_let_go),
		INLINE(a_process_without_a_session_is_looked_after),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
