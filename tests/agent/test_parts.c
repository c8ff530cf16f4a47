// SPDX-License-Identifier: MIT
/* The agent's smaller parts: RUNTIME_ENABLE, CU masks, descriptors, fork, identity. */
#include "fake_driver.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "abi/amd_queue.h"
#include "abi/amd_signal.h"
#include "abi/aql.h"

static int setup(void **state)
{
	*state = fake_new();
	return 0;
}

static int teardown(void **state)
{
	fake_free(*state);
	return 0;
}

/* ---- RUNTIME_ENABLE ---- */

static void an_old_kernel_is_not_asked_for_runtime_enable(void **state)
{
	struct fake *fake = *state;

	fake->minor = 12;
	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	assert_int_equal(fake->runtime_enables, 0);
}

static void runtime_enable_comes_once_and_before_the_first_queue(void **state)
{
	struct fake *fake = *state;

	fake->minor = 17;
	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	assert_int_equal(fake->runtime_enables, 1);
	assert_int_equal(fake->creates_before_runtime, 0);
	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	app_destroy(fake, 0);
	app_destroy(fake, 1);
	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	assert_int_equal(fake->runtime_enables, 1);
}

static void a_runtime_that_enables_itself_is_left_alone(void **state)
{
	struct gp_kfd_runtime_enable_args args = {.mode_mask = GP_KFD_RUNTIME_ENABLE};
	struct fake *fake = *state;

	fake->minor = 17;
	gp_agent_runtime_enable(fake->agent, FAKE_FD, GP_KFD_IOC_RUNTIME_ENABLE, &args);
	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	assert_int_equal(fake->runtime_enables, 1);
	app_destroy(fake, 0);
	/* Switched off again: the next first queue needs it anew. */
	args.mode_mask = 0;
	gp_agent_runtime_enable(fake->agent, FAKE_FD, GP_KFD_IOC_RUNTIME_ENABLE, &args);
	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	assert_int_equal(fake->runtime_enables, 3);
}

static void a_refused_runtime_enable_costs_nothing(void **state)
{
	static const int errors[] = {EBUSY, EEXIST, EINVAL, ENOTTY};

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(errors); i++) {
		struct fake *fake = fake_new();

		fake->minor = 13;
		fake->runtime_error = errors[i];
		assert_int_equal(app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7), 0);
		assert_int_equal(fake->runtime_enables, 1);
		fake_free(fake);
	}
}

/* ---- shares ---- */

static int share(struct fake *fake, u32 first, u32 thousandths)
{
	return gp_agent_set_share(fake->agent, &fake->agent->owner[0], first, thousandths);
}

static void give_gpu(struct fake *fake, u32 cus)
{
	fake->agent->gpu_count = 1;
	fake->agent->gpu[0] = (struct gp_agent_gpu){77, cus, 1};
}

static int app_mask(struct fake *fake, u32 id, u32 bits, const u32 *mask)
{
	struct gp_kfd_set_cu_mask_args args = {id, bits, (uintptr_t)mask};

	return gp_agent_set_cu_mask(fake->agent, FAKE_FD, GP_KFD_IOC_SET_CU_MASK, &args) ? -errno
											 : 0;
}

static void a_share_is_that_part_of_the_cus(void **state)
{
	struct fake *fake = *state;

	give_gpu(fake, 80);
	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	app_create(fake, GP_KFD_QUEUE_SDMA, 15);
	assert_int_equal(share(fake, 0, 500), 0);
	assert_int_equal(fake->masks, 1); /* a DMA queue has no CUs */
	assert_int_equal(fake->queue[0].mask_bits, 96);
	assert_int_equal(fake->queue[0].mask[0], 0xffffffff);
	assert_int_equal(fake->queue[0].mask[1], 0xff);
	assert_int_equal(share(fake, 0, 500), 0);
	assert_int_equal(fake->masks, 1);
	/* The other half, disjoint. */
	assert_int_equal(share(fake, 500, 500), 0);
	assert_int_equal(fake->queue[0].mask[0], 0);
	assert_int_equal(fake->queue[0].mask[1], 0xffffff00);
	assert_int_equal(fake->queue[0].mask[2], 0xffff);
	/* All of it: the driver gets every CU, once. */
	assert_int_equal(share(fake, 0, 1000), 0);
	assert_int_equal(fake->queue[0].mask[0] & fake->queue[0].mask[1], 0xffffffff);
	assert_int_equal(fake->queue[0].mask[2], 0xffff);
	assert_int_equal(share(fake, 0, 1000), 0);
	assert_int_equal(fake->masks, 3);
}

static void the_programs_own_mask_is_respected_and_comes_back(void **state)
{
	static const u32 own[2] = {0xf0f0, 0};
	struct fake *fake = *state;

	give_gpu(fake, 64);
	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	assert_int_equal(app_mask(fake, 0, 64, own), 0);
	assert_int_equal(share(fake, 0, 63), 0); /* 4 CUs, of its own eight */
	assert_int_equal(fake->queue[0].mask[0], 0xf0);
	assert_int_equal(share(fake, 0, 1), 0); /* never none */
	assert_int_equal(fake->queue[0].mask[0], 0x10);
	assert_int_equal(share(fake, 0, 1000), 0);
	assert_int_equal(fake->queue[0].mask_bits, 64);
	assert_int_equal(fake->queue[0].mask[0], 0xf0f0);
}

static void a_mask_set_under_a_share_is_narrowed(void **state)
{
	static const u32 own[2] = {0xffff0000, 0xffffffff};
	struct fake *fake = *state;

	give_gpu(fake, 64);
	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	share(fake, 0, 250);
	assert_int_equal(app_mask(fake, 0, 64, own), 0);
	assert_int_equal(fake->queue[0].mask[0], 0xffff0000);
	assert_int_equal(fake->queue[0].mask[1], 0);
	share(fake, 0, 1000);
	assert_int_equal(fake->queue[0].mask[0], 0xffff0000);
	assert_int_equal(fake->queue[0].mask[1], 0xffffffff);
}

static void a_new_queue_gets_the_share(void **state)
{
	struct fake *fake = *state;

	give_gpu(fake, 64);
	share(fake, 0, 500);
	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	assert_int_equal(fake->queue[0].mask[0], 0xffffffff);
	assert_int_equal(fake->queue[0].mask[1], 0);
	assert_int_equal(share(fake, 0, 0), -EINVAL);
	assert_int_equal(share(fake, 0, 1001), -EINVAL);
	assert_int_equal(share(fake, 1000, 500), -EINVAL);
}

/* From gfx10 on the driver refuses one CU of a pair. */
static void a_share_of_pairs_is_pairs(void **state)
{
	struct fake *fake = *state;

	give_gpu(fake, 40);
	fake->agent->gpu[0].step = 2;
	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	assert_int_equal(share(fake, 0, 75), 0); /* 3 CUs would be */
	assert_int_equal(fake->queue[0].mask[0], 0x3);
	assert_int_equal(share(fake, 75, 175), 0);
	assert_int_equal(fake->queue[0].mask[0], 0xfc); /* beside it */
	assert_int_equal(share(fake, 0, 1), 0);
	assert_int_equal(fake->queue[0].mask[0], 0x3);
	assert_int_equal(share(fake, 0, 1000), 0);
	assert_int_equal(fake->queue[0].mask[0], 0xffffffff);
	assert_int_equal(fake->queue[0].mask[1], 0xff);
}

static bool has_every_cu(const struct fake *fake, u32 id)
{
	return fake->queue[id].mask[0] == 0xffffffff && fake->queue[id].mask[1] == 0xffffffff;
}

static void a_share_ends_with_the_connection_that_set_it(void **state)
{
	struct fake *fake = *state;
	struct gp_agent *agent = fake->agent;

	give_gpu(fake, 64);
	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	assert_int_equal(share(fake, 0, 500), 0);
	gp_agent_let_go(agent, &agent->owner[1]); /* somebody else */
	assert_false(has_every_cu(fake, 0));
	gp_agent_let_go(agent, &agent->owner[0]);
	assert_true(has_every_cu(fake, 0));
	/* A new queue, too, has all. */
	assert_int_equal(app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7), 1);
	assert_int_equal(fake->queue[1].mask_bits, 0);
	/* Whoever set the last one is whose end counts. */
	assert_int_equal(share(fake, 0, 500), 0);
	assert_int_equal(gp_agent_set_share(agent, &agent->owner[2], 0, 250), 0);
	gp_agent_let_go(agent, &agent->owner[0]);
	assert_false(has_every_cu(fake, 0));
	gp_agent_let_go(agent, &agent->owner[2]);
	assert_true(has_every_cu(fake, 0) && has_every_cu(fake, 1));
}

static void a_share_that_cannot_be_lifted_is_tried_again(void **state)
{
	struct fake *fake = *state;
	struct gp_agent *agent = fake->agent;

	give_gpu(fake, 64);
	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	assert_int_equal(share(fake, 0, 500), 0);
	fake->mask_error = EBUSY;
	gp_agent_let_go(agent, &agent->owner[0]);
	assert_false(has_every_cu(fake, 0));
	fake->now = gp_agent_tick(agent);
	assert_int_not_equal(gp_agent_tick(agent), 0);
	fake->mask_error = 0;
	fake->now = gp_agent_tick(agent);
	assert_int_equal(gp_agent_tick(agent), 0);
	assert_true(has_every_cu(fake, 0));
}

/* ---- descriptors, fork, identity ---- */

static int call_as_the_kernel_does(void *data, int fd, unsigned long request, void *argument)
{
	char copy[256];

	if (!gp_agent_take_args(argument, copy, _IOC_SIZE(request))) {
		errno = EFAULT;
		return -1;
	}
	return fake_call(data, fd, request, argument);
}

/* A bad address is the driver's to refuse, not the program's end. */
static void a_bad_address_is_an_error_and_not_the_end(void **state)
{
	static const struct {
		int (*call)(struct gp_agent *, int, unsigned long, void *);
		unsigned long request;
	} calls[] = {
		{gp_agent_create_queue, GP_KFD_IOC_CREATE_QUEUE},
		{gp_agent_destroy_queue, GP_KFD_IOC_DESTROY_QUEUE},
		{gp_agent_update_queue, GP_KFD_IOC_UPDATE_QUEUE},
		{gp_agent_set_cu_mask, GP_KFD_IOC_SET_CU_MASK},
	};
	struct fake *fake = *state;
	struct gp_agent *agent = fake->agent;
	struct gp_kfd_create_queue_args create = {.queue_percentage = 100, .queue_priority = 7};
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(memory, MAP_FAILED);
	assert_int_equal(mprotect(memory + page, page, PROT_NONE), 0);
	/* Nothing there; and only the beginning is. */
	char *const bad[] = {(char *)8, memory + page - 4};
	agent->driver.call = call_as_the_kernel_does;
	for (size_t i = 0; i < GP_ARRAY_SIZE(bad); i++) {
		for (size_t k = 0; k < GP_ARRAY_SIZE(calls); k++) {
			errno = 0;
			assert_int_equal(calls[k].call(agent, FAKE_FD, calls[k].request, bad[i]),
					 -1);
			assert_int_equal(errno, EFAULT);
		}
	}
	/* What cannot be written is an error, too; the queue is there, as with the driver. */
	memcpy(memory, &create, sizeof(create));
	assert_int_equal(mprotect(memory, page, PROT_READ), 0);
	errno = 0;
	assert_int_equal(gp_agent_create_queue(agent, FAKE_FD, GP_KFD_IOC_CREATE_QUEUE, memory),
			 -1);
	assert_int_equal(errno, EFAULT);
	assert_int_equal(agent->queue_count, 1);
	munmap(memory, 2 * page);
}

static void own_descriptors_are_out_of_the_way(void **state)
{
	struct fake *fake = *state;
	int fd = gp_agent_own(fake->agent, open("/dev/null", O_RDONLY | O_CLOEXEC));

	assert_true(fd >= GP_AGENT_FD_MIN);
	assert_true(gp_agent_owns(fake->agent, fd));
	assert_false(gp_agent_owns(fake->agent, 0));
	assert_false(gp_agent_owns(fake->agent, -1));
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	gp_agent_disown(fake->agent, fd);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_false(gp_agent_owns(fake->agent, fd));
	assert_int_equal(gp_agent_own(fake->agent, -1), -1);
}

static void a_child_starts_from_nothing(void **state)
{
	struct fake *fake = *state;
	int fd = gp_agent_own(fake->agent, open("/dev/null", O_RDONLY | O_CLOEXEC)), status;
	pid_t child;

	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	hold(fake, 0, ALL);
	pthread_mutex_lock(&fake->agent->lock); /* by a thread that the child does not have */
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		gp_agent_forked(fake->agent);
		_exit(pthread_mutex_trylock(&fake->agent->lock) || fake->agent->queue_count ||
		      fake->agent->pid || fcntl(fd, F_GETFD) != -1 ||
		      gp_agent_tick(fake->agent) != 0);
	}
	pthread_mutex_unlock(&fake->agent->lock);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	gp_agent_disown(fake->agent, fd);
}

static void identity_comes_from_the_environment(void **state)
{
	struct gp_agent_identity identity;

	(void)state;
	gp_agent_identify(&identity);
	assert_int_equal(identity.priority, GP_PRIORITY_DEFAULT);
	assert_int_equal(identity.weight, 1);
	assert_int_equal(identity.job_class, 0);
	setenv("GPREEMPT_CLASS", "offline", 1);
	setenv("GPREEMPT_GROUP",
	       "a-name-that-is-longer-than-sixty-three-bytes-and-is-cut-there-xxxx", 1);
	setenv("GPREEMPT_WEIGHT", "0", 1);
	gp_agent_identify(&identity);
	assert_int_equal(identity.priority, GP_PRIORITY_OFFLINE);
	assert_int_equal(identity.weight, 1);
	assert_int_equal(strlen(identity.group), GP_PROTO_NAME - 1);
	setenv("GPREEMPT_CLASS", "online", 1);
	setenv("GPREEMPT_PRIORITY", "65536", 1);
	gp_agent_identify(&identity);
	assert_int_equal(identity.priority, GP_PRIORITY_ONLINE);
	setenv("GPREEMPT_PRIORITY", "65535", 1);
	setenv("GPREEMPT_DEADLINE_US", "12x", 1);
	gp_agent_identify(&identity);
	assert_int_equal(identity.priority, 65535);
	assert_int_equal(identity.deadline_us, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_old_kernel_is_not_asked_for_runtime_enable),
		TEST(runtime_enable_comes_once_and_before_the_first_queue),
		TEST(a_runtime_that_enables_itself_is_left_alone),
		cmocka_unit_test(a_refused_runtime_enable_costs_nothing),
		TEST(a_share_is_that_part_of_the_cus),
		TEST(the_programs_own_mask_is_respected_and_comes_back),
		TEST(a_mask_set_under_a_share_is_narrowed),
		TEST(a_new_queue_gets_the_share),
		TEST(a_share_of_pairs_is_pairs),
		TEST(a_share_ends_with_the_connection_that_set_it),
		TEST(a_share_that_cannot_be_lifted_is_tried_again),
		TEST(a_bad_address_is_an_error_and_not_the_end),
		TEST(own_descriptors_are_out_of_the_way),
		TEST(a_child_starts_from_nothing),
		cmocka_unit_test(identity_comes_from_the_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
