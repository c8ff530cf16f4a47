// SPDX-License-Identifier: MIT
/* Events: what a set, a reset and a destruction do to those who wait. */
#include "standin.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi/kfd_driver.h"

static u32 create(u32 type, bool auto_reset)
{
	struct gp_kfd_create_event_args args = {.event_type = type, .auto_reset = auto_reset};

	assert_int_equal(kfd(GP_KFD_IOC_CREATE_EVENT, &args), 0);
	assert_int_equal(args.event_trigger_data, args.event_id);
	return args.event_id;
}

static int change(unsigned long request, u32 id)
{
	struct gp_kfd_set_event_args args = {.event_id = id};

	return kfd(request, &args);
}

/* Result of WAIT_EVENTS, or -errno; *timeout comes back as the driver leaves it. */
static int wait_left(struct gp_kfd_event_data *data, u32 count, bool all, u32 *timeout)
{
	struct gp_kfd_wait_events_args args = {
		.events_ptr = (uintptr_t)data,
		.num_events = count,
		.wait_for_all = all,
		.timeout = *timeout,
	};
	int error = kfd(GP_KFD_IOC_WAIT_EVENTS, &args);

	*timeout = args.timeout;
	return error ? error : (int)args.wait_result;
}

static int wait_for(struct gp_kfd_event_data *data, u32 count, bool all, u32 timeout)
{
	return wait_left(data, count, all, &timeout);
}

static int poll_one(u32 id)
{
	struct gp_kfd_event_data data = {.event_id = id};

	return wait_for(&data, 1, false, 0);
}

/* ---- threads that wait ---- */

struct sleeper {
	pthread_t thread;
	struct gp_kfd_event_data data[2];
	u32 count, timeout;
	bool all;
	_Atomic pid_t tid;
	int result;
};

static void *sleeping(void *context)
{
	struct sleeper *sleeper = context;

	sleeper->tid = (pid_t)syscall(SYS_gettid);
	sleeper->result = wait_left(sleeper->data, sleeper->count, sleeper->all, &sleeper->timeout);
	return NULL;
}

/* Until the thread sleeps in the kernel, as /proc says. */
static void asleep(const struct sleeper *sleeper)
{
	char path[64], text[512], *state;

	for (;;) {
		FILE *file;
		size_t got = 0;

		snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)sleeper->tid);
		file = sleeper->tid ? fopen(path, "r") : NULL;
		if (file) {
			got = fread(text, 1, sizeof(text) - 1, file);
			fclose(file);
		}
		text[got] = '\0';
		state = strrchr(text, ')');
		if (state && state[2] == 'S')
			return;
		sched_yield();
	}
}

static void start(struct sleeper *sleeper, u32 first, u32 second, bool all)
{
	*sleeper = (struct sleeper){
		.data = {{.event_id = first}, {.event_id = second}},
		.count = second ? 2 : 1,
		.all = all,
		.timeout = GP_KFD_TIMEOUT_INFINITE - 1,
	};
	assert_int_equal(pthread_create(&sleeper->thread, NULL, sleeping, sleeper), 0);
	asleep(sleeper);
}

static int finish(struct sleeper *sleeper)
{
	pthread_join(sleeper->thread, NULL);
	return sleeper->result;
}

/* ---- tests ---- */

static void signal_ids_start_at_one_and_are_used_again_lowest_first(void **state)
{
	(void)state;
	assert_int_equal(create(GP_KFD_EVENT_SIGNAL, true), 1);
	assert_int_equal(create(GP_KFD_EVENT_SIGNAL, true), 2);
	assert_int_equal(change(GP_KFD_IOC_DESTROY_EVENT, 1), 0);
	assert_int_equal(change(GP_KFD_IOC_DESTROY_EVENT, 1), -EINVAL);
	assert_int_equal(create(GP_KFD_EVENT_SIGNAL, true), 1);
	assert_int_equal(create(GP_KFD_EVENT_MEMORY, false), GP_KFD_FIRST_NONSIGNAL_EVENT);
}

static void auto_reset_event_satisfies_one_wait(void **state)
{
	u32 id = create(GP_KFD_EVENT_SIGNAL, true);

	(void)state;
	assert_int_equal(poll_one(id), GP_KFD_WAIT_TIMEOUT);
	assert_int_equal(change(GP_KFD_IOC_SET_EVENT, id), 0);
	assert_int_equal(poll_one(id), GP_KFD_WAIT_COMPLETE);
	assert_int_equal(poll_one(id), GP_KFD_WAIT_TIMEOUT);
}

static void manual_event_stays_until_reset(void **state)
{
	u32 id = create(GP_KFD_EVENT_SIGNAL, false);

	(void)state;
	assert_int_equal(change(GP_KFD_IOC_SET_EVENT, id), 0);
	assert_int_equal(poll_one(id), GP_KFD_WAIT_COMPLETE);
	assert_int_equal(poll_one(id), GP_KFD_WAIT_COMPLETE);
	assert_int_equal(change(GP_KFD_IOC_RESET_EVENT, id), 0);
	assert_int_equal(poll_one(id), GP_KFD_WAIT_TIMEOUT);
}

/* The trap of the first prototype: a flag that one of two waiters takes leaves the other asleep. */
static void one_set_wakes_every_waiter_and_leaves_nothing(void **state)
{
	u32 id = create(GP_KFD_EVENT_SIGNAL, true);
	struct sleeper first, second;

	(void)state;
	start(&first, id, 0, false);
	start(&second, id, 0, false);
	gp_vgpu_event_set(&standin.client, id);
	assert_int_equal(finish(&first), GP_KFD_WAIT_COMPLETE);
	assert_int_equal(finish(&second), GP_KFD_WAIT_COMPLETE);
	assert_int_equal(poll_one(id), GP_KFD_WAIT_TIMEOUT);
}

static void waiting_for_all_remembers_what_already_happened(void **state)
{
	u32 a = create(GP_KFD_EVENT_SIGNAL, true), b = create(GP_KFD_EVENT_SIGNAL, true);
	struct sleeper both;

	(void)state;
	start(&both, a, b, true);
	gp_vgpu_event_set(&standin.client, a);
	asleep(&both);
	gp_vgpu_event_set(&standin.client, b);
	assert_int_equal(finish(&both), GP_KFD_WAIT_COMPLETE);
}

static void destroying_an_event_fails_its_waiters(void **state)
{
	u32 a = create(GP_KFD_EVENT_SIGNAL, true), b = create(GP_KFD_EVENT_SIGNAL, true);
	struct sleeper both;

	(void)state;
	/* The first is activated already when it goes away; its record must not be stale. */
	assert_int_equal(change(GP_KFD_IOC_SET_EVENT, a), 0);
	start(&both, a, b, true);
	assert_int_equal(change(GP_KFD_IOC_DESTROY_EVENT, a), 0);
	assert_int_equal(finish(&both), -EIO);
}

static void handler(int number)
{
	(void)number;
}

static void a_signal_interrupts_and_gives_back_what_was_consumed(void **state)
{
	struct sigaction action = {.sa_handler = handler};
	u32 a = create(GP_KFD_EVENT_SIGNAL, true), b = create(GP_KFD_EVENT_SIGNAL, true);
	struct sleeper both;

	(void)state;
	sigaction(SIGUSR1, &action, NULL);
	assert_int_equal(change(GP_KFD_IOC_SET_EVENT, a), 0);
	start(&both, a, b, true);
	pthread_kill(both.thread, SIGUSR1);
	assert_int_equal(finish(&both), -EINTR);
	assert_int_equal(poll_one(a), GP_KFD_WAIT_COMPLETE);
	assert_int_equal(poll_one(b), GP_KFD_WAIT_TIMEOUT);
}

static void a_signal_leaves_what_is_left_of_the_time(void **state)
{
	const u32 limit = 1000000;
	const struct timespec nap = {.tv_nsec = 5000000};
	struct sigaction action = {.sa_handler = handler};
	struct sleeper one = {
		.data = {{.event_id = create(GP_KFD_EVENT_SIGNAL, true)}},
		.count = 1,
		.timeout = limit,
	};

	(void)state;
	sigaction(SIGUSR1, &action, NULL);
	assert_int_equal(pthread_create(&one.thread, NULL, sleeping, &one), 0);
	asleep(&one);
	nanosleep(&nap, NULL); /* for the difference to show */
	pthread_kill(one.thread, SIGUSR1);
	assert_int_equal(finish(&one), -EINTR);
	assert_in_range(one.timeout, 1, limit - 5);
}

static void a_changed_age_completes_at_once(void **state)
{
	u32 id = create(GP_KFD_EVENT_SIGNAL, true);
	struct gp_kfd_event_data data = {.event_id = id};

	(void)state;
	data.signal_event_data.last_event_age = GP_KFD_FIRST_EVENT_AGE;
	assert_int_equal(wait_for(&data, 1, false, 0), GP_KFD_WAIT_TIMEOUT);
	gp_vgpu_event_set(&standin.client, id);
	assert_int_equal(poll_one(id), GP_KFD_WAIT_COMPLETE);
	/* Consumed, but this caller has not seen it. */
	assert_int_equal(wait_for(&data, 1, false, 0), GP_KFD_WAIT_COMPLETE);
	assert_int_equal(data.signal_event_data.last_event_age, GP_KFD_FIRST_EVENT_AGE + 1);
	assert_int_equal(wait_for(&data, 1, false, 0), GP_KFD_WAIT_TIMEOUT);
}

static void any_number_of_events_can_be_waited_for(void **state)
{
	enum { COUNT = 1000 };
	struct gp_kfd_event_data *data = calloc(COUNT, sizeof(*data));
	u32 id = create(GP_KFD_EVENT_SIGNAL, true), last = create(GP_KFD_EVENT_SIGNAL, true);

	(void)state;
	for (u32 i = 0; i < COUNT; i++)
		data[i].event_id = i == COUNT - 1 ? last : id;
	assert_int_equal(wait_for(data, COUNT, false, 0), GP_KFD_WAIT_TIMEOUT);
	gp_vgpu_event_set(&standin.client, last);
	assert_int_equal(wait_for(data, COUNT, false, 0), GP_KFD_WAIT_COMPLETE);
	assert_int_equal(wait_for(data, 0, false, 0), GP_KFD_WAIT_COMPLETE);
	free(data);
}

static void a_fault_tells_every_memory_event_where(void **state)
{
	u32 ids[2] = {create(GP_KFD_EVENT_MEMORY, false), create(GP_KFD_EVENT_MEMORY, true)};
	struct gp_kfd_event_data data = {.event_id = ids[1]};

	(void)state;
	gp_vgpu_event_memory_fault(&standin.client, GPU1, 0x123456);
	assert_int_equal(poll_one(ids[0]), GP_KFD_WAIT_COMPLETE);
	assert_int_equal(wait_for(&data, 1, false, 0), GP_KFD_WAIT_COMPLETE);
	assert_int_equal(data.memory_exception_data.va, 0x123000);
	assert_int_equal(data.memory_exception_data.gpu_id, GPU1);
	assert_int_equal(data.memory_exception_data.failure.NotPresent, 1);
	/* Only signal events may be set by hand. */
	assert_int_equal(change(GP_KFD_IOC_SET_EVENT, ids[0]), -EINVAL);
}

static void a_reset_tells_every_hardware_event(void **state)
{
	u32 id = create(GP_KFD_EVENT_HW_EXCEPTION, true);
	struct gp_kfd_event_data data = {.event_id = id};

	(void)state;
	gp_vgpu_event_hw_exception(&standin.client, GPU0, true);
	assert_int_equal(wait_for(&data, 1, false, 0), GP_KFD_WAIT_COMPLETE);
	assert_int_equal(data.hw_exception_data.gpu_id, GPU0);
	assert_int_equal(data.hw_exception_data.memory_lost, 1);
}

static void bad_events_and_pointers_are_refused(void **state)
{
	struct gp_kfd_wait_events_args args = {.events_ptr = 8, .num_events = 1};
	struct gp_kfd_event_data data = {.event_id = 77};

	(void)state;
	assert_int_equal(kfd(GP_KFD_IOC_WAIT_EVENTS, &args), -EFAULT);
	assert_int_equal(args.wait_result, GP_KFD_WAIT_FAIL);
	assert_int_equal(wait_for(&data, 1, false, 0), -EINVAL);
	assert_int_equal(change(GP_KFD_IOC_SET_EVENT, 0), -EINVAL);
}

static void event_page_of_the_application_gets_the_mailbox(void **state)
{
	struct gp_kfd_alloc_memory_of_gpu_args page = {
		.va_addr = 0x100000000,
		.size = GP_KFD_EVENT_PAGE_BYTES,
		.gpu_id = GPU0,
		.flags = GP_KFD_ALLOC_GTT,
	};
	struct gp_kfd_create_event_args args = {.auto_reset = 1};
	struct gp_kfd_free_memory_of_gpu_args release;
	u64 bytes, *slots;

	(void)state;
	acquire_both();
	assert_int_equal(kfd(GP_KFD_IOC_ALLOC_MEMORY_OF_GPU, &page), 0);
	args.event_page_offset = page.handle;
	assert_int_equal(kfd(GP_KFD_IOC_CREATE_EVENT, &args), 0);
	assert_int_equal(args.event_page_offset, GP_KFD_MMAP_EVENTS << GP_KFD_MMAP_TYPE_SHIFT);
	slots = gp_vgpu_memory_kernel_map(&standin.client, page.handle, &bytes);
	assert_int_equal(bytes, GP_KFD_EVENT_PAGE_BYTES);
	assert_int_equal(slots[args.event_slot_index], GP_KFD_UNSIGNALED_SLOT);
	slots[args.event_slot_index] = args.event_id;
	gp_vgpu_event_set(&standin.client, args.event_id);
	assert_int_equal(slots[args.event_slot_index], GP_KFD_UNSIGNALED_SLOT);
	/* It is the driver's now. */
	release.handle = page.handle;
	assert_int_equal(kfd(GP_KFD_IOC_FREE_MEMORY_OF_GPU, &release), -EPERM);
	args.event_page_offset = page.handle;
	assert_int_equal(kfd(GP_KFD_IOC_CREATE_EVENT, &args), -EINVAL);
}

static void the_page_is_full_after_all_its_slots(void **state)
{
	struct gp_kfd_create_event_args args;
	u64 offset;

	(void)state;
	for (u32 i = 1; i < GP_KFD_OLDEST_EVENT_SLOTS; i++)
		assert_int_equal(create(GP_KFD_EVENT_SIGNAL, true), i);
	args = (struct gp_kfd_create_event_args){0};
	assert_int_equal(kfd(GP_KFD_IOC_CREATE_EVENT, &args), -ENOSPC);
	/* Mapping more of the page makes more of it usable. */
	assert_int_equal(gp_vgpu_events_page(&standin.client, GP_KFD_EVENT_PAGE_BYTES, &offset), 0);
	assert_int_equal(create(GP_KFD_EVENT_SIGNAL, true), GP_KFD_OLDEST_EVENT_SLOTS);
	assert_int_equal(gp_vgpu_events_page(&standin.client, GP_KFD_EVENT_PAGE_BYTES * 2, &offset),
			 -EINVAL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, standin_setup, standin_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(signal_ids_start_at_one_and_are_used_again_lowest_first),
		TEST(auto_reset_event_satisfies_one_wait),
		TEST(manual_event_stays_until_reset),
		TEST(one_set_wakes_every_waiter_and_leaves_nothing),
		TEST(waiting_for_all_remembers_what_already_happened),
		TEST(destroying_an_event_fails_its_waiters),
		TEST(a_signal_interrupts_and_gives_back_what_was_consumed),
		TEST(a_signal_leaves_what_is_left_of_the_time),
		TEST(a_changed_age_completes_at_once),
		TEST(any_number_of_events_can_be_waited_for),
		TEST(a_fault_tells_every_memory_event_where),
		TEST(a_reset_tells_every_hardware_event),
		TEST(bad_events_and_pointers_are_refused),
		TEST(event_page_of_the_application_gets_the_mailbox),
		TEST(the_page_is_full_after_all_its_slots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
