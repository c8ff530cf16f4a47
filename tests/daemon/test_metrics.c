// SPDX-License-Identifier: MIT
/* The metrics: what is told, over a real connection, to whom, and that no client can hold the
 * daemon up. */
#include "owner.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>

#include "base/buf.h"

static struct sockaddr_in loopback(u32 port)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_port = htons((u16)port),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* The kernel takes the connection; the daemon need not be running. */
static int dial(struct rig *rig)
{
	struct sockaddr_in address = loopback(rig->daemon->metrics.port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* Everything that is answered until the connection ends; steps the daemon meanwhile. */
static char *hear(struct rig *rig, int fd)
{
	struct gp_buf text = {0};
	u64 start = gp_monotonic_ns();
	char part[4096];

	for (;;) {
		ssize_t size = recv(fd, part, sizeof(part), MSG_DONTWAIT);

		if (size == 0 || (size < 0 && errno == ECONNRESET))
			break;
		if (size > 0) {
			gp_buf_add(&text, part, (size_t)size);
			continue;
		}
		assert_int_equal(errno, EAGAIN);
		if (rig_late(start))
			fail_msg("no answer after: %s", gp_buf_str(&text));
		gp_loop_step(&rig->daemon->loop, 10);
	}
	close(fd);
	gp_buf_add(&text, "", 1);
	return text.data;
}

static void send_text(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static char *request(struct rig *rig, const char *head)
{
	int fd = dial(rig);

	send_text(fd, head);
	return hear(rig, fd);
}

static char *scrape(struct rig *rig)
{
	char *text = request(rig, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");

	assert_memory_equal(text, "HTTP/1.1 200", 12);
	return text;
}

static void has(const char *text, const char *line)
{
	char whole[512];

	snprintf(whole, sizeof(whole), "\n%s\n", line);
	if (!strstr(text, whole))
		fail_msg("no line '%s' in:\n%s", line, text);
}

/* The whole part of a number, after its name and labels. */
static u64 value_of(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	if (!at)
		fail_msg("no %s in:\n%s", name, text);
	return strtoull(at + strlen(name), NULL, 10);
}

static struct rig *rig_told(const char *config)
{
	struct rig *rig = rig_new(config);

	assert_int_equal(gp_daemon_metrics_start(rig->daemon, "127.0.0.1", 0), 0);
	assert_int_not_equal(rig->daemon->metrics.port, 0);
	return rig;
}

static void nothing_listens_unless_it_is_asked_for(void **state)
{
	struct rig *rig = rig_new(ACT);

	(void)state;
	assert_null(rig->daemon->metrics.http);
	assert_int_equal(rig->daemon->metrics.port, 0);
	rig_free(rig);
}

static void a_preemption_is_in_every_number_it_belongs_to(void **state)
{
	struct rig *rig = rig_told(ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);
	char *text;

	(void)state;
	text = scrape(rig);
	has(text, "gpreempt_preemptions_total 0");
	has(text, "gpreempt_latency_seconds_count{class=\"online\"} 0");
	has(text, "gpreempt_jobs{class=\"online\",state=\"idle\"} 1");
	free(text);
	work(rig, low, true);
	work(rig, high, true);
	text = scrape(rig);
	has(text, "gpreempt_acting 1");
	has(text, "gpreempt_preemptions_total 1");
	has(text, "gpreempt_decisions_total{reason=\"inversion\"} 1");
	has(text, "gpreempt_jobs{class=\"offline\",state=\"suspended\"} 1");
	has(text, "gpreempt_jobs{class=\"online\",state=\"running\"} 1");
	has(text, "gpreempt_waited_seconds_count 1");
	/* The fake's stops take 20 us. */
	has(text, "gpreempt_suspend_seconds_bucket{le=\"0.00001\"} 0");
	has(text, "gpreempt_suspend_seconds_bucket{le=\"0.00002\"} 1");
	has(text, "gpreempt_suspend_seconds_bucket{le=\"+Inf\"} 1");
	has(text, "gpreempt_suspend_seconds_sum 0.000020000");
	free(text);
	work(rig, high, false);
	text = scrape(rig);
	has(text, "gpreempt_latency_seconds_bucket{class=\"online\",le=\"50\"} 1");
	has(text, "gpreempt_latency_seconds_bucket{class=\"online\",le=\"+Inf\"} 1");
	has(text, "gpreempt_latency_seconds_count{class=\"offline\"} 0");
	has(text, "gpreempt_operations_total 2");
	assert_null(
		strstr(text, "gpreempt_suspended_seconds_total{class=\"offline\"} 0.000000000"));
	has(text, "gpreempt_suspended_seconds_total{class=\"online\"} 0.000000000");
	free(text);
	rig_free(rig);
}

static void failures_and_the_breaker_are_seen(void **state)
{
	struct rig *rig = rig_told(ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);
	char *text;

	(void)state;
	text = scrape(rig);
	has(text, "gpreempt_gpu_breaker_open{gpu=\"4711\"} 0");
	free(text);
	fake.suspend_error = -EIO;
	work(rig, low, true);
	work(rig, high, true);
	fake_tell(GPREEMPT_EVENT_BREAKER, low->pid, 1);
	rig_until(rig, gp_daemon_host_client(rig->daemon, (u32)low->pid)->broken);
	text = scrape(rig);
	assert_true(value_of(text, "gpreempt_errors_total{kind=\"operation\"} ") > 0);
	has(text, "gpreempt_gpu_breaker_open{gpu=\"4711\"} 1");
	free(text);
	rig_free(rig);
}

/* Three failures in a row: gpreemptd pauses on that GPU, and the metrics say so. */
static void standing_down_is_seen(void **state)
{
	struct rig *rig = rig_told(ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);
	u32 device = gp_daemon_host_device(rig->daemon, GPU);
	char *text;

	(void)state;
	text = scrape(rig);
	has(text, "gpreempt_gpu_standing_down{gpu=\"4711\"} 0");
	has(text, "gpreempt_gpu_stood_down_total{gpu=\"4711\"} 0");
	free(text);
	fake.suspend_error = -EIO;
	work(rig, low, true);
	work(rig, high, true);
	rig_until(rig, rig->daemon->devices[device].worth.why);
	text = scrape(rig);
	has(text, "gpreempt_gpu_standing_down{gpu=\"4711\"} 1");
	has(text, "gpreempt_gpu_stood_down_total{gpu=\"4711\"} 1");
	free(text);
	fake.suspend_error = 0;
	rig_free(rig);
}

static void what_does_not_pay_is_counted_as_declined(void **state)
{
	/* Short work is known to be short once it has been seen; stopping costs a lot. */
	struct rig *rig = rig_told("[daemon]\nmode = act\nlease = 60s\nmax_suspend = 600s\n"
				   "operation_timeout = 60s\n" PROMPT
				   "[device 4711]\nsuspend_cost = 500s\nresume_cost = 500s\n");
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);
	char *text;

	(void)state;
	/* Work that is seen to last longer than ever before is not declined, so that a machine that
	 * stands still needs several attempts. */
	for (u64 start = gp_monotonic_ns();
	     !lines(rig, low, GP_DECISION_NOTE, GP_SCHED_WHY_DECLINED) && !rig_late(start);) {
		work(rig, low, true);
		work(rig, high, true);
		work(rig, high, false);
		work(rig, low, false);
	}
	text = scrape(rig);
	assert_int_equal(value_of(text, "gpreempt_declined_total{reason=\"cost\"} "),
			 lines(rig, low, GP_DECISION_NOTE, GP_SCHED_WHY_DECLINED));
	assert_true(value_of(text, "gpreempt_declined_total{reason=\"cost\"} ") > 0);
	has(text, "gpreempt_declined_total{reason=\"admission\"} 0");
	free(text);
	rig_free(rig);
}

static void what_nobody_sees_is_unknown_and_not_idle(void **state)
{
	struct rig *rig = rig_told(ACT);
	struct agent *cuda = agent_new(rig, 2, 500);
	char *text;

	(void)state;
	cuda->gpu_id = GP_GPU_NVIDIA;
	rig_until(rig, gp_daemon_host_client(rig->daemon, (u32)cuda->pid) &&
			       gp_daemon_host_client(rig->daemon, (u32)cuda->pid)->queue_count);
	agent_known(rig, 2, 500);
	text = scrape(rig);
	has(text, "gpreempt_jobs{class=\"offline\",state=\"unknown\"} 1");
	has(text, "gpreempt_jobs{class=\"offline\",state=\"idle\"} 1");
	has(text, "gpreempt_gpu_jobs{gpu=\"282984448\"} 1");
	assert_non_null(strstr(text, "gpreempt_gpu_busy_seconds_total{gpu=\"4711\""));
	assert_null(strstr(text, "gpreempt_gpu_busy_seconds_total{gpu=\"282984448\""));
	free(text);
	/* That it is held is known. */
	job_of(rig, cuda)->asked_pin = GP_SCHED_PIN_HOLD;
	assert_int_equal(gp_daemon_host_respec(rig->daemon, job_of(rig, cuda)), 0);
	rig_until(rig, fake_held(cuda->pid));
	text = scrape(rig);
	has(text, "gpreempt_jobs{class=\"offline\",state=\"unknown\"} 0");
	has(text, "gpreempt_jobs{class=\"offline\",state=\"suspended\"} 1");
	free(text);
	rig_free(rig);
}

static void counters_do_not_go_back(void **state)
{
	struct rig *rig = rig_told(ACT);
	struct gp_buf text = {0};

	(void)state;
	rig->daemon->stats.suspended_ns[2] = 5 * GP_NS_PER_S;
	gp_daemon_metrics_text(rig->daemon, &text);
	has(gp_buf_str(&text), "gpreempt_suspended_seconds_total{class=\"offline\"} 5.000000000");
	gp_buf_free(&text);
	rig->daemon->stats.suspended_ns[2] -= 1;
	gp_daemon_metrics_text(rig->daemon, &text);
	has(gp_buf_str(&text), "gpreempt_suspended_seconds_total{class=\"offline\"} 5.000000000");
	gp_buf_free(&text);
	rig_free(rig);
}

static void labels_are_escaped(void **state)
{
	struct rig *rig = rig_told(ACT);
	char *text;

	(void)state;
	agent_known(rig, 2, 500);
	strcpy(rig->daemon->devices[gp_daemon_host_device(rig->daemon, GPU)].name, "a\"} 1\n\\b");
	text = scrape(rig);
	has(text, "gpreempt_gpu_jobs{gpu=\"4711\",name=\"a\\\"} 1\\n\\\\b\"} 1");
	free(text);
	rig_free(rig);
}

static void a_gpu_has_the_names_that_other_exporters_use(void **state)
{
	struct rig *rig = rig_told(ACT);
	struct gp_daemon_device *device;
	char *text;

	(void)state;
	agent_known(rig, 2, 500);
	device = &rig->daemon->devices[gp_daemon_host_device(rig->daemon, GPU)];
	strcpy(device->name, "ip discovery");
	strcpy(device->product, "AMD Instinct MI300X");
	strcpy(device->pci, "0000:c1:00.0");
	strcpy(device->uuid, "GPU-00112233445566aa");
	device->node = 2;
	text = scrape(rig);
	has(text, "gpreempt_gpu_jobs{gpu=\"4711\",name=\"AMD Instinct MI300X\","
		  "pci=\"0000:c1:00.0\",uuid=\"GPU-00112233445566aa\"} 1");
	has(text, "gpreempt_gpu_info{gpu=\"4711\",name=\"AMD Instinct MI300X\","
		  "pci=\"0000:c1:00.0\",uuid=\"GPU-00112233445566aa\","
		  "driver_name=\"ip discovery\",node=\"2\"} 1");
	free(text);
	rig_free(rig);
}

static void the_daemon_describes_itself(void **state)
{
	struct rig *rig = rig_told(ACT);
	char *text = scrape(rig);

	(void)state;
	assert_non_null(strstr(text, "\ngpreempt_build_info{version=\"" GP_VERSION "\""));
	assert_true(value_of(text, "\nprocess_start_time_seconds ") > 1000000000);
	assert_true(value_of(text, "\nprocess_resident_memory_bytes ") > 4096);
	assert_true(value_of(text, "\nprocess_open_fds ") > 3);
	assert_true(value_of(text, "\nprocess_open_fds ") <= value_of(text, "\nprocess_max_fds "));
	value_of(text, "\nprocess_cpu_seconds_total ");
	has(text, "gpreempt_max_suspend_seconds 600.000000000");
	assert_null(strstr(text, "gpreempt_latency_target_seconds"));
	free(text);
	rig_free(rig);
}

static void the_target_of_online_work_is_told(void **state)
{
	struct rig *rig = rig_told("[daemon]\nlatency_target = 50ms\n");
	char *text = scrape(rig);

	(void)state;
	has(text, "gpreempt_latency_target_seconds{class=\"online\"} 0.050000000");
	free(text);
	rig_free(rig);
}

static void jobs_are_named_only_if_asked_and_only_so_many(void **state)
{
	struct rig *rig = rig_told("[daemon]\nmode = act\nmetrics_jobs = all\n"
				   "metrics_max_jobs = 2\n" PROMPT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);
	char *text, line[256];

	(void)state;
	agent_known(rig, 2, 500);
	work(rig, low, true);
	work(rig, high, true);
	text = scrape(rig);
	strcpy(job_of(rig, low)->group, "");
	snprintf(line, sizeof(line), "gpreempt_job_held{job_id=\"%llu\",pid=\"%d\"",
		 (unsigned long long)job_of(rig, low)->id, low->pid);
	assert_non_null(strstr(text, line));
	assert_null(strstr(text, "job_id=\"3\""));
	has(text, "gpreempt_jobs_left_out 1");
	free(text);
	/* A group's series carry no number of a job or process, so that they outlive it. */
	rig->daemon->config.metrics_jobs = GP_METRICS_JOBS_GROUPS;
	strcpy(job_of(rig, low)->group, "train");
	text = scrape(rig);
	snprintf(line, sizeof(line),
		 "gpreempt_job_held{group=\"train\",uid=\"%u\",class=\"offline\"} 1", geteuid());
	has(text, line);
	assert_null(strstr(text, "job_id"));
	has(text, "gpreempt_jobs_left_out 0");
	free(text);
	rig->daemon->config.metrics_jobs = GP_METRICS_JOBS_NO;
	text = scrape(rig);
	assert_null(strstr(text, "gpreempt_job_"));
	free(text);
	rig_free(rig);
}

static void the_longest_hold_is_that_of_the_job_held_longest(void **state)
{
	struct rig *rig = rig_told(ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);
	char *text;

	(void)state;
	work(rig, low, true);
	work(rig, high, true);
	job_of(rig, low)->figures.did.held_ns += 7 * GP_NS_PER_S;
	text = scrape(rig);
	assert_true(
		value_of(text,
			 "gpreempt_longest_hold_seconds{class=\"offline\",by=\"gpreemptd\"} ") >=
		7);
	has(text, "gpreempt_longest_hold_seconds{class=\"online\",by=\"gpreemptd\"} 0.000000000");
	has(text, "gpreempt_gpu_held_jobs{gpu=\"4711\"} 1");
	free(text);
	rig_free(rig);
}

#define WORK(class) "gpreempt_longest_work_seconds{class=\"" class "\"} "

/* A server with more work than it can do ends none. */
static void work_that_does_not_end_is_told_by_its_age(void **state)
{
	struct rig *rig = rig_told(ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);
	struct gp_proto_msg_request request = {.now_ns = gp_monotonic_ns(), .begin = 1, .open = 1};
	char *text;

	(void)state;
	agent_known(rig, 1, 2000);
	work(rig, low, true);
	work(rig, high, true);
	gp_list_each (struct gp_daemon_client, client, job_link, &job_of(rig, high)->clients)
		client->busy_since -= 100 * GP_NS_PER_S;
	text = scrape(rig);
	assert_true(value_of(text, WORK("online")) >= 100);
	assert_true(value_of(text, WORK("offline")) < 100);
	has(text, WORK("normal") "0.000000000");
	free(text);
	/* Of one that announces requests they count. */
	agent_say(high, GP_MSG_AGENT_REQUEST, &request, sizeof(request));
	request = (struct gp_proto_msg_request){.now_ns = gp_monotonic_ns()};
	agent_say(high, GP_MSG_AGENT_REQUEST, &request, sizeof(request));
	rig_until(rig, view(rig, high).latency_of);
	text = scrape(rig);
	has(text, WORK("online") "0.000000000");
	free(text);
	request = (struct gp_proto_msg_request){.now_ns = gp_monotonic_ns() - 40 * GP_NS_PER_S,
						.begin = 1,
						.open = 1};
	agent_say(high, GP_MSG_AGENT_REQUEST, &request, sizeof(request));
	rig_until(rig, gp_daemon_account_oldest(job_of(rig, high)) >= 40 * GP_NS_PER_S);
	text = scrape(rig);
	assert_true(value_of(text, WORK("online")) >= 40);
	assert_true(value_of(text, WORK("online")) < 100);
	free(text);
	rig_free(rig);
}

#define HOLD(class, by) "gpreempt_longest_hold_seconds{class=\"" class "\",by=\"" by "\"} "

/* They are meant to last, and an alert for them has another limit. */
static void holds_by_slurm_by_hand_and_by_the_host_are_told_apart(void **state)
{
	struct rig *rig = rig_told(ACT "[rule x]\nexecutable = *\nfollow_stop = yes\n");
	struct agent *slurm = agent_in_group(rig, "slurm-17"), *hand = agent_known(rig, 0, 1000),
		     *stopped = agent_known(rig, 1, 2000);
	struct owner owner;
	char *text;

	(void)state;
	owner_open(&owner, rig);
	owner_ask(&owner, "slurm-17", 1);
	rig_until(rig, owner_has_answer(&owner));
	fake_tell(GPREEMPT_EVENT_HELD_ELSEWHERE, hand->pid, 4242);
	work(rig, stopped, true);
	kill(stopped->pid, SIGSTOP);
	rig_until(rig, view(rig, stopped).kept == GP_KEPT_HELD);
	job_of(rig, slurm)->off.since_ns -= 7 * GP_NS_PER_S;
	job_of(rig, hand)->off.since_ns -= 8 * GP_NS_PER_S;
	job_of(rig, stopped)->off.since_ns -= 9 * GP_NS_PER_S;
	text = scrape(rig);
	assert_true(value_of(text, HOLD("offline", "owner")) >= 7);
	assert_true(value_of(text, HOLD("normal", "hand")) >= 8);
	assert_true(value_of(text, HOLD("online", "stop")) >= 9);
	has(text, WORK("online") "0.000000000");
	has(text, HOLD("offline", "gpreemptd") "0.000000000");
	has(text, HOLD("offline", "hand") "0.000000000");
	has(text, HOLD("normal", "gpreemptd") "0.000000000");
	has(text, HOLD("online", "gpreemptd") "0.000000000");
	has(text, HOLD("online", "owner") "0.000000000");
	free(text);
	/* They end. */
	owner_ask(&owner, "slurm-17", 0);
	rig_until(rig, owner_has_answer(&owner));
	text = scrape(rig);
	has(text, HOLD("offline", "owner") "0.000000000");
	free(text);
	close(owner.socket);
	rig_free(rig);
}

/* Slurm without its task plugin: it stops its jobs, which follow by default. */
static void a_job_that_slurm_stopped_is_not_stopped_by_hand(void **state)
{
	struct rig *rig = rig_told(ACT);
	struct agent *slurm = agent_in_group(rig, "slurm-17");
	char *text;

	(void)state;
	work(rig, slurm, true);
	kill(slurm->pid, SIGSTOP);
	rig_until(rig, view(rig, slurm).kept == GP_KEPT_HELD);
	job_of(rig, slurm)->off.since_ns -= 7 * GP_NS_PER_S;
	/* By its name alone: any user may call a group so. */
	text = scrape(rig);
	assert_true(value_of(text, HOLD("offline", "stop")) >= 7);
	free(text);
	gp_daemon_host_client(rig->daemon, (u32)slurm->pid)->who.slurm_job = 17;
	text = scrape(rig);
	assert_true(value_of(text, HOLD("offline", "owner")) >= 7);
	has(text, HOLD("offline", "stop") "0.000000000");
	free(text);
	rig_free(rig);
}

static void another_address_is_listened_to_only_if_configured(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct sockaddr_in address;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	assert_int_equal(gp_daemon_metrics_start(rig->daemon, "127.0.0.2", 0), 0);
	address = loopback(rig->daemon->metrics.port);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), -1);
	close(fd);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
	/* The configuration says 127.0.0.1, on the same port. */
	rig->daemon->config.metrics_port = rig->daemon->metrics.port;
	gp_daemon_metrics_configure(rig->daemon);
	free(scrape(rig));
	gp_daemon_metrics_stop(rig->daemon);
	/* Not every machine has IPv6. */
	if (gp_daemon_metrics_start(rig->daemon, "::1", 0) == 0)
		assert_int_not_equal(rig->daemon->metrics.port, 0);
	assert_int_equal(gp_daemon_metrics_start(rig->daemon, "localhost", 0), -EINVAL);
	rig_free(rig);
}

static void anything_but_get_metrics_is_refused(void **state)
{
	static const struct {
		const char *head, *status;
	} cases[] = {
		{"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 404"},
		{"GET /metrics/../x HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 404"},
		{"POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 405"},
		{"POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\nx",
		 "HTTP/1.1 405"},
		{"DELETE /metrics HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 405"},
		{"nonsense\r\n\r\n", ""},
	};
	struct rig *rig = rig_told(ACT);

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(cases); i++) {
		char *text = request(rig, cases[i].head);

		if (strncmp(text, cases[i].status, strlen(cases[i].status)) != 0)
			fail_msg("%s: %s", cases[i].head, text);
		assert_null(strstr(text, "gpreempt_"));
		free(text);
	}
	free(scrape(rig));
	rig_free(rig);
}

static void only_this_machine_is_listened_to(void **state)
{
	struct rig *rig = rig_told(ACT);
	struct sockaddr_in address;
	socklen_t size = sizeof(address);
	int fd = dial(rig);

	(void)state;
	assert_int_equal(getpeername(fd, (struct sockaddr *)&address, &size), 0);
	assert_int_equal(ntohl(address.sin_addr.s_addr), INADDR_LOOPBACK);
	close(fd);
	/* Another address of this machine, so that a socket for all of them would answer. */
	address = loopback(rig->daemon->metrics.port);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), -1);
	assert_int_equal(errno, ECONNREFUSED);
	close(fd);
	rig_free(rig);
}

/* More than there are places for, all silent or gone: the scheduler goes on, and the next in line
 * is served when one of them leaves. */
static void silent_clients_hold_nothing_up(void **state)
{
	enum { MANY = 12 };
	struct rig *rig = rig_told(ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);
	int fd[MANY];

	(void)state;
	for (int i = 0; i < MANY; i++) {
		fd[i] = dial(rig);
		send_text(fd[i], "GET /met");
	}
	rig_run(rig);
	/* Those who wait for a place do not keep it awake. */
	int steps = 0;
	while (steps < 1000 && gp_loop_step(&rig->daemon->loop, 0) > 0)
		steps++;
	assert_true(steps < 1000);
	work(rig, low, true);
	work(rig, high, true);
	assert_true(fake_held(low->pid));
	for (int i = 0; i < MANY; i++)
		close(fd[i]);
	free(scrape(rig));
	/* And some are there when the daemon ends. */
	fd[0] = dial(rig);
	send_text(fd[0], "GET /met");
	rig_run(rig);
	rig_stop(rig);
	close(fd[0]);
	rig_free(rig);
}

static u32 open_connections(struct rig *rig)
{
	return MHD_get_daemon_info(rig->daemon->metrics.http, MHD_DAEMON_INFO_CURRENT_CONNECTIONS)
		->num_connections;
}

/* More of them than there are places: each gives its own back, and one that is in the middle of its
 * request is answered. */
static void a_client_that_leaves_early_ends_nothing_but_itself(void **state)
{
	struct linger reset = {.l_onoff = 1};
	struct rig *rig = rig_told(ACT);
	int slow = dial(rig);
	char *text;

	(void)state;
	send_text(slow, "GET /metrics HTTP/1.1\r\n");
	for (int i = 0; i < 24; i++) {
		int fd = dial(rig);

		send_text(fd, i % 3 ? "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n" : "GET /met");
		/* libmicrohttpd notices an end that comes with half a request only by its limit. */
		if (i % 3 == 0)
			rig_run(rig);
		if (i % 2)
			setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		close(fd);
		rig_run(rig);
	}
	rig_until(rig, open_connections(rig) == 1);
	send_text(slow, "Host: a\r\n\r\n");
	text = hear(rig, slow);
	assert_memory_equal(text, "HTTP/1.1 200", 12);
	has(text, "gpreempt_processes 0");
	free(text);
	rig_until(rig, open_connections(rig) == 0);
	rig_free(rig);
}

static void a_port_that_is_taken_is_only_a_warning(void **state)
{
	struct sockaddr_in address = loopback(0);
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char text[64];

	(void)state;
	assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	snprintf(text, sizeof(text), "[daemon]\nmetrics_port = %u\n", ntohs(address.sin_port));
	struct rig *rig = rig_new(text);
	assert_null(rig->daemon->metrics.http);
	assert_non_null(strstr(gp_buf_str(&rig->said.text), "metrics are disabled"));
	rig_free(rig);
	close(fd);
}

/* The configuration decides, and a reload changes it. Whether a port is free can be known only by
 * taking it, so several are tried. */
static void the_configuration_turns_it_on_and_off(void **state)
{
	struct rig *rig = rig_new(ACT);
	char path[128], text[64];

	(void)state;
	snprintf(path, sizeof(path), "%s/conf", rig->directory);
	rig->daemon->config_path = path;
	for (int most = 100; most && !rig->daemon->metrics.port; most--) {
		assert_int_equal(gp_daemon_metrics_start(rig->daemon, "127.0.0.1", 0), 0);
		snprintf(text, sizeof(text), "[daemon]\nmetrics_port = %u\n",
			 rig->daemon->metrics.port);
		gp_daemon_metrics_stop(rig->daemon);
		assert_int_equal(gp_file_write_atomic(path, text, strlen(text)), 0);
		assert_int_equal(gp_daemon_reload(rig->daemon), 0);
	}
	assert_int_equal(rig->daemon->metrics.port, rig->daemon->config.metrics_port);
	free(scrape(rig));
	assert_int_equal(gp_file_write_atomic(path, "[daemon]\n", 9), 0);
	assert_int_equal(gp_daemon_reload(rig->daemon), 0);
	assert_null(rig->daemon->metrics.http);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_listens_unless_it_is_asked_for),
		cmocka_unit_test(a_preemption_is_in_every_number_it_belongs_to),
		cmocka_unit_test(failures_and_the_breaker_are_seen),
		cmocka_unit_test(standing_down_is_seen),
		cmocka_unit_test(what_does_not_pay_is_counted_as_declined),
		cmocka_unit_test(what_nobody_sees_is_unknown_and_not_idle),
		cmocka_unit_test(counters_do_not_go_back),
		cmocka_unit_test(labels_are_escaped),
		cmocka_unit_test(a_gpu_has_the_names_that_other_exporters_use),
		cmocka_unit_test(the_daemon_describes_itself),
		cmocka_unit_test(the_target_of_online_work_is_told),
		cmocka_unit_test(jobs_are_named_only_if_asked_and_only_so_many),
		cmocka_unit_test(a_job_that_slurm_stopped_is_not_stopped_by_hand),
		cmocka_unit_test(the_longest_hold_is_that_of_the_job_held_longest),
		cmocka_unit_test(work_that_does_not_end_is_told_by_its_age),
		cmocka_unit_test(holds_by_slurm_by_hand_and_by_the_host_are_told_apart),
		cmocka_unit_test(another_address_is_listened_to_only_if_configured),
		cmocka_unit_test(anything_but_get_metrics_is_refused),
		cmocka_unit_test(only_this_machine_is_listened_to),
		cmocka_unit_test(silent_clients_hold_nothing_up),
		cmocka_unit_test(a_client_that_leaves_early_ends_nothing_but_itself),
		cmocka_unit_test(a_port_that_is_taken_is_only_a_warning),
		cmocka_unit_test(the_configuration_turns_it_on_and_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
