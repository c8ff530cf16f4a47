// SPDX-License-Identifier: MIT
/* kfd-module on a device that is not there: what it asks for, and when it asks nothing. */
#include "testlib.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi/gpreempt_module.h"
#include "gpu/kfd/module.h"

#define PIDFD 77

/* What the device would be: one process, held or not. */
static struct {
	int open_error, call_error;
	u32 abi, depth, lease_ms, flags;
	int evicts, restores, renews;
	int fd;
} device;

static int fake_open(const char *path)
{
	assert_string_equal(path, "/dev/gpreempt");
	if (device.open_error)
		return device.open_error;
	device.fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	assert_true(device.fd >= 0);
	return device.fd;
}

static int evict(struct gpreempt_evict *args)
{
	device.evicts++;
	assert_int_equal(args->pidfd, PIDFD);
	if (device.call_error)
		return device.call_error;
	device.lease_ms = args->lease_ms;
	args->depth = ++device.depth;
	args->took_ns = 5;
	return 0;
}

static int restore(struct gpreempt_restore *args)
{
	device.restores++;
	assert_int_equal(args->pidfd, PIDFD);
	assert_int_equal(args->flags, GPREEMPT_RESTORE_WHOLLY);
	if (device.call_error)
		return device.call_error;
	device.depth = 0;
	args->took_ns = 6;
	return 0;
}

static int fake_call(int fd, unsigned long request, void *args)
{
	assert_int_equal(fd, device.fd);
	switch (request) {
	case GPREEMPT_IOC_INFO:
		((struct gpreempt_info *)args)->abi = device.abi;
		return 0;
	case GPREEMPT_IOC_EVICT:
		return evict(args);
	case GPREEMPT_IOC_RESTORE:
		return restore(args);
	case GPREEMPT_IOC_RENEW:
		device.renews++;
		device.lease_ms = ((struct gpreempt_renew *)args)->lease_ms;
		return device.depth ? 0 : -ENOENT;
	case GPREEMPT_IOC_STATE:
		((struct gpreempt_state *)args)->depth = device.depth;
		return 0;
	}
	fail();
	return -ENOTTY;
}

static const struct gp_kfd_module_port port = {.open = fake_open, .call = fake_call};
static const struct gp_gpu_control_ops *const ops = &gp_kfd_module_control;

/* A process that has no queues in any sysfs. */
static struct gp_gpu_control *attached(void)
{
	struct gp_gpu_control *control = NULL;

	memset(&device, 0, sizeof(device));
	device.abi = GPREEMPT_ABI;
	assert_int_equal(gp_kfd_module_attach(&port, PIDFD, (u32)getpid(), NULL, &control), 0);
	return control;
}

static void stops_once_and_lets_go(void **state)
{
	struct gp_gpu_control *control = attached();
	struct gp_gpu_control_done done = {0};

	(void)state;
	assert_int_equal(ops->resume(control, NULL, 0, &done), 0); /* nothing is held */
	assert_int_equal(device.restores, 0);
	assert_int_equal(done.issued_ns, 0);
	assert_int_equal(ops->lease(control, 100), 0);
	assert_int_equal(ops->suspend(control, NULL, 0, 0, &done), 0);
	assert_int_equal(device.evicts, 1);
	assert_int_equal(device.lease_ms, 100);
	assert_true(done.issued_ns > 0);
	assert_int_equal(done.driver_ns, 5);
	done = (struct gp_gpu_control_done){0};
	assert_int_equal(ops->suspend(control, NULL, 0, 0, &done), 0);
	assert_int_equal(device.evicts, 1);
	assert_int_equal(done.issued_ns, 0);
	assert_int_equal(ops->resume(control, NULL, 0, &done), 0);
	assert_int_equal(device.restores, 1);
	assert_int_equal(done.driver_ns, 6);
	assert_int_equal(device.depth, 0);
	ops->detach(control);
}

static void stops_again_when_its_lease_ran_out(void **state)
{
	struct gp_gpu_control *control = attached();
	struct gp_gpu_control_done done = {0};

	(void)state;
	assert_int_equal(ops->suspend(control, NULL, 0, 0, &done), 0);
	device.depth = 0;
	assert_int_equal(ops->suspend(control, NULL, 0, 0, &done), 0);
	assert_int_equal(device.evicts, 2);
	/* And when it runs out while it lets go, that is what was wanted. */
	device.call_error = -ENOENT;
	assert_int_equal(ops->resume(control, NULL, 0, &done), 0);
	assert_int_equal(device.restores, 1);
	ops->detach(control);
}

/* The holder must hear of it: whoever asked believes that the process is off. */
static void a_lease_that_ran_out_is_told_once(void **state)
{
	struct gp_gpu_control *control = attached();
	struct gp_gpu_control_done done = {0};

	(void)state;
	assert_int_equal(ops->lease(control, 100), 0); /* nothing is held yet */
	assert_int_equal(ops->suspend(control, NULL, 0, 0, &done), 0);
	assert_int_equal(ops->lease(control, 100), 0);
	device.depth = 0;
	assert_int_equal(ops->lease(control, 100), -ENOLCK);
	assert_int_equal(ops->lease(control, 100), 0);
	ops->detach(control);
}

static void renews_within_limits(void **state)
{
	struct gp_gpu_control *control = attached();
	struct gp_gpu_control_done done = {0};

	(void)state;
	assert_int_equal(ops->lease(control, UINT32_MAX), 0);
	assert_int_equal(device.lease_ms, GPREEMPT_LEASE_MAX_MS);
	assert_int_equal(ops->lease(control, 0), 0);
	assert_int_equal(ops->suspend(control, NULL, 0, 0, &done), 0);
	assert_int_equal(device.lease_ms, 1);
	assert_int_equal(ops->lease(control, 300), 0);
	assert_int_equal(device.lease_ms, 300);
	assert_int_equal(device.renews, 3);
	ops->detach(control);
}

static void says_what_the_driver_said(void **state)
{
	struct gp_gpu_control *control = attached();
	struct gp_gpu_control_done done = {0};

	(void)state;
	device.call_error = -ETIME;
	assert_int_equal(ops->suspend(control, NULL, 0, 0, &done), -ETIME);
	assert_int_equal(device.depth, 0);
	ops->detach(control);
}

static void part_of_a_process_is_refused(void **state)
{
	struct gp_gpu_control *control = attached();
	struct gp_gpu_control_done done = {0};

	(void)state;
	/* Its queues cannot be counted: there is no KFD that knows this process. */
	assert_int_equal(ops->suspend(control, (u32[]){3}, 1, 0, &done), -EXDEV);
	assert_int_equal(ops->resume(control, (u32[]){3}, 1, &done), -EXDEV);
	assert_int_equal(device.evicts + device.restores, 0);
	ops->detach(control);
}

static void detaching_closes_the_device(void **state)
{
	struct gp_gpu_control *control = attached();
	int fd = device.fd;

	(void)state;
	ops->detach(control);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void a_device_that_does_not_do_is_explained(void **state)
{
	static const struct {
		int open_error;
		u32 abi;
		int result;
		const char *why;
	} cases[] = {
		{-ENOENT, GPREEMPT_ABI, -ENXIO, "not loaded"},
		{-EACCES, GPREEMPT_ABI, -EACCES, "root"},
		{-EPERM, GPREEMPT_ABI, -EACCES, "root"},
		{0, GPREEMPT_ABI + 1, -EPROTO, "different version"},
		{0, GPREEMPT_ABI, -ENODEV, "AMD GPU"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct gp_proto_message message;
		struct gp_gpu_control *control = NULL;
		char why[240] = "";

		memset(&device, 0, sizeof(device));
		device.open_error = cases[i].open_error;
		device.abi = cases[i].abi;
		/* This process never opened a GPU. */
		assert_int_equal(gp_kfd_module_probe(&port, (u32)getpid(), &message),
				 cases[i].result);
		gp_proto_message_text(&message, why, sizeof(why));
		assert_non_null(strstr(why, cases[i].why));
		if (cases[i].result != -ENODEV) {
			assert_int_equal(gp_kfd_module_attach(&port, PIDFD, 1, &message, &control),
					 cases[i].result);
			assert_null(control);
			gp_proto_message_text(&message, why, sizeof(why));
			assert_non_null(strstr(why, cases[i].why));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stops_once_and_lets_go),
		cmocka_unit_test(stops_again_when_its_lease_ran_out),
		cmocka_unit_test(a_lease_that_ran_out_is_told_once),
		cmocka_unit_test(renews_within_limits),
		cmocka_unit_test(says_what_the_driver_said),
		cmocka_unit_test(part_of_a_process_is_refused),
		cmocka_unit_test(detaching_closes_the_device),
		cmocka_unit_test(a_device_that_does_not_do_is_explained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
