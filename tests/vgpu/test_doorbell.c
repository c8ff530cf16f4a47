// SPDX-License-Identifier: MIT
/* The thread itself, woken by stores to the application's mapping of the doorbells. */
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "fake_machine.h"

#define PACKETS 64u

/* Answers everything at once, as a GPU without work would. */
static void *server(void *data)
{
	struct fake *mine = data; /* later tests have another */
	struct gp_vgpu_shared *shared = mine->client.shared;
	char bytes[64];

	for (;;) {
		while (shared->work_ring.consumed ==
		       __atomic_load_n(&shared->work_ring.produced, __ATOMIC_ACQUIRE)) {
			if (read(mine->bell_fd, bytes, sizeof(bytes)) <= 0)
				return NULL;
		}
		for (u32 kind = GP_VGPU_LAUNCHED; kind <= GP_VGPU_COMPLETED; kind++) {
			u32 at = shared->done_ring.produced;

			shared->done[at % GP_VGPU_DONE_SLOTS] = (struct gp_vgpu_done){
				.tag = shared->work[shared->work_ring.consumed % GP_VGPU_WORK_SLOTS]
					       .tag,
				.kind = kind,
				.start_raw_ns = FAKE_START,
				.end_raw_ns = FAKE_END,
			};
			__atomic_store_n(&shared->done_ring.produced, at + 1, __ATOMIC_RELEASE);
		}
		__atomic_store_n(&shared->work_ring.consumed, shared->work_ring.consumed + 1,
				 __ATOMIC_RELEASE);
		if (send(mine->bell_fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno != EAGAIN)
			return NULL;
	}
}

struct rig {
	struct fake_queue queue;
	struct gp_amd_signal *signal;
	volatile u64 *doorbells; /* the application's */
	struct gp_aql_dispatch packet;
};

/* Never torn down: its threads live until the program ends. */
static struct rig rig_new(void **state, u32 queues)
{
	struct rig rig;
	pthread_t thread;

	fake_setup(state);
	rig.doorbells = mmap(NULL, GP_VGPU_DOORBELL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			     gp_vgpu_cp_doorbell_fd(&fake->client, 0), 0);
	assert_true(rig.doorbells != MAP_FAILED);
	gp_vgpu_cp_doorbell_mapped(&fake->client, 0, (void *)rig.doorbells);
	pthread_create(&thread, NULL, server, fake);
	fake->client.cp->running = false;
	for (u32 i = 1; i < queues; i++)
		fake_queue(100 + i, PACKETS);
	rig.queue = fake_queue(1, PACKETS);
	assert_true(fake->client.cp->running);
	rig.signal = fake_signal(0);
	rig.packet = fake_dispatch(fake_kernel(NULL, 0));
	rig.packet.completion_signal = va(rig.signal);
	return rig;
}

/* Puts packets as an application does: waits for room, header last, then the doorbell. */
static void submit(struct rig *rig, u32 count)
{
	for (u32 i = 0; i < count; i++) {
		u64 index = rig->queue.amd->write_dispatch_id;
		u8 *slot = rig->queue.ring + index % PACKETS * GP_AQL_PACKET_BYTES;

		while (index - __atomic_load_n(&rig->queue.amd->read_dispatch_id,
					       __ATOMIC_ACQUIRE) >=
		       PACKETS)
			sched_yield();
		memcpy(slot + 4, (u8 *)&rig->packet + 4, GP_AQL_PACKET_BYTES - 4);
		__atomic_store_n(&rig->queue.amd->write_dispatch_id, index + 1, __ATOMIC_RELEASE);
		__atomic_store_n((u32 *)slot, (u32)rig->packet.setup << 16 | rig->packet.header,
				 __ATOMIC_RELEASE);
		rig->doorbells[rig->queue.slot] = index;
	}
}

static void wait_for(const struct gp_amd_signal *signal, s64 value)
{
	while (__atomic_load_n(&signal->value, __ATOMIC_ACQUIRE) != value)
		sched_yield();
}

static bool protected(void)
{
	bool is;

	pthread_mutex_lock(&fake->client.cp->lock);
	is = fake->client.cp->doorbells.mappings[0].protected;
	pthread_mutex_unlock(&fake->client.cp->lock);
	return is;
}

static void every_ring_of_a_doorbell_is_heard(struct rig *rig, u32 rounds)
{
	for (u32 i = 0; i < rounds; i++) {
		/* One at a time: a second would be heard in place of a first that was lost. */
		rig->signal->value = 1;
		submit(rig, 1);
		wait_for(rig->signal, 0);
	}
}

/* What is proved about protected pages is not proved by polling. */
static void need_userfaultfd(void)
{
	if (fake->client.cp->doorbells.fault_fd < 0)
		skip();
}

static void sleeping_processor_wakes_at_a_doorbell(void **state)
{
	struct rig rig = rig_new(state, 8);

	need_userfaultfd();
	for (u32 i = 0; i < 20; i++) {
		while (!protected())
			sched_yield();
		every_ring_of_a_doorbell_is_heard(&rig, 1);
	}
}

static void no_doorbell_is_lost_around_the_protection(void **state)
{
	struct rig rig = rig_new(state, 1);
	u64 pause = 0;
	u32 protections = 0;

	need_userfaultfd();
	/* Pauses of all lengths, so that many rings meet the moment of protecting. */
	for (u32 i = 0; i < 5000; i++, pause = (pause + 7919) % 250000) {
		u64 until = gp_vgpu_cp_now() + pause;

		while (gp_vgpu_cp_now() < until)
			;
		protections += protected();
		every_ring_of_a_doorbell_is_heard(&rig, 1);
	}
	assert_true(protections > 0);
}

static void polling_hears_doorbells_too(void **state)
{
	struct rig rig;

	setenv("GPREEMPT_VGPU_POLL", "1", 1);
	rig = rig_new(state, 2);
	unsetenv("GPREEMPT_VGPU_POLL");
	assert_int_equal(fake->client.cp->doorbells.fault_fd, -1);
	every_ring_of_a_doorbell_is_heard(&rig, 50);
}

static void many_packets_complete_once_each(void **state)
{
	struct rig rig = rig_new(state, 1);

	rig.signal->value = 100000;
	submit(&rig, 100000);
	wait_for(rig.signal, 0);
	assert_int_equal(rig.queue.amd->read_dispatch_id, 100000);
}

static void lost_server_fails_every_queue_once(void **state)
{
	struct rig rig;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	fake_lifeline = pair[0];
	rig = rig_new(state, 2);
	fake_lifeline = -1;
	every_ring_of_a_doorbell_is_heard(&rig, 1);
	assert_false(fake->client.gone);
	close(pair[1]);
	wait_for(rig.queue.inactive, GP_AQL_ERROR_EXCEPTION);
	while (!fake->client.gone)
		sched_yield();
	/* The lock is held while it is told. */
	pthread_mutex_lock(&fake->client.cp->lock);
	assert_int_equal(fake->exceptions, 1);
	assert_int_equal(fake->said, 1);
	pthread_mutex_unlock(&fake->client.cp->lock);
}

static void forked_child_starts_with_nothing(void **state)
{
	struct rig rig = rig_new(state, 1);
	int status;
	pid_t child;

	need_userfaultfd(); /* without it no page could hang the child */
	every_ring_of_a_doorbell_is_heard(&rig, 1);
	child = fork();
	if (!child) {
		gp_vgpu_cp_forked(&fake->client);
		/* A store to the parent's page must not hang the child. */
		rig.doorbells[5] = 1;
		_exit(fake->client.cp ? 1 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	every_ring_of_a_doorbell_is_heard(&rig, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sleeping_processor_wakes_at_a_doorbell),
		cmocka_unit_test(no_doorbell_is_lost_around_the_protection),
		cmocka_unit_test(polling_hears_doorbells_too),
		cmocka_unit_test(many_packets_complete_once_each),
		cmocka_unit_test(lost_server_fails_every_queue_once),
		cmocka_unit_test(forked_child_starts_with_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
