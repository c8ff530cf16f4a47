// SPDX-License-Identifier: MIT
/*
 * The thread, the two rings it shares with the server, and the table of queues. See cp.h for what a
 * packet goes through.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "vgpu/compute/compute.h"
#include "vgpu/cp/execute.h"
#include "vgpu/heap.h"

#define STACK_BYTES   (256u << 10)
#define LINGER_NS     150000 /* stay awake after the last activity before protecting doorbells */
#define LINGER_NAP_NS 20000  /* between looks meanwhile */
#define WAIT_FIRST_NS 10000  /* a ring waits for a change of memory */
#define WAIT_LAST_NS  4000000
#define WAIT_REPEAT   16    /* naps of one length before they double */
#define IDLE_FIRST_NS 20000 /* polling doorbells */
#define IDLE_LAST_NS  10000000
#define FOREVER       UINT64_MAX

u64 gp_vgpu_cp_now(void)
{
	return gp_clock_ns(CLOCK_MONOTONIC_RAW);
}

void gp_vgpu_cp_wake(struct gp_vgpu_cp *cp)
{
	u64 one = 1;

	if (write(cp->command_fd, &one, sizeof(one)) < 0)
		return; /* full: it is awake */
}

/* ---- state ---- */

static void *zero_pages(size_t size)
{
	void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return pages == MAP_FAILED ? NULL : pages;
}

static void cp_free(struct gp_vgpu_cp *cp)
{
	if (cp->rings)
		syscall(SYS_munmap, cp->rings, GP_VGPU_MAX_QUEUES * sizeof(*cp->rings));
	if (cp->records)
		syscall(SYS_munmap, cp->records, GP_CP_RECORDS * sizeof(*cp->records));
	if (cp->scratchpad)
		syscall(SYS_munmap, cp->scratchpad, GP_CP_SCRATCHPAD_BYTES);
	if (cp->compute) /* its threads write to command_fd */
		gp_vgpu_compute_free(cp->compute);
	if (cp->command_fd >= 0)
		gp_vgpu_close_own(cp->command_fd);
	gp_vgpu_free(cp->kernels);
	gp_vgpu_free(cp);
}

static struct gp_vgpu_cp *cp_new(struct gp_vgpu_client *client)
{
	struct gp_vgpu_cp *cp = gp_vgpu_alloc(sizeof(*cp));

	if (!cp)
		return NULL;
	cp->client = client;
	cp->can_ask = gp_vgpu_can_ask();
	pthread_mutex_init(&cp->lock, NULL);
	gp_vgpu_cp_doorbells_init(&cp->doorbells);
	cp->command_fd = gp_vgpu_own_fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	cp->rings = zero_pages(GP_VGPU_MAX_QUEUES * sizeof(*cp->rings));
	cp->records = zero_pages(GP_CP_RECORDS * sizeof(*cp->records));
	cp->scratchpad = zero_pages(GP_CP_SCRATCHPAD_BYTES);
	cp->kernels = gp_vgpu_cp_kernels_new(client);
	cp->free_record = GP_CP_NONE;
	cp->wait_ns = WAIT_FIRST_NS;
	cp->idle_ns = IDLE_FIRST_NS;
	if (cp->command_fd < 0 || !cp->rings || !cp->records || !cp->scratchpad || !cp->kernels) {
		cp_free(cp);
		return NULL;
	}
	return cp;
}

struct gp_vgpu_cp *gp_vgpu_cp_get(struct gp_vgpu_client *client)
{
	struct gp_vgpu_cp *cp = __atomic_load_n(&client->cp, __ATOMIC_ACQUIRE), *mine;

	if (cp)
		return cp;
	mine = cp_new(client);
	if (!mine)
		return NULL;
	if (__atomic_compare_exchange_n(&client->cp, &cp, mine, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return mine;
	cp_free(mine);
	return cp;
}

/* ---- one step ---- */

/*
 * The GPU was reset, or its server ended: nothing on it will ever complete. As in the driver, a
 * hardware exception wakes sleeping threads. ROCr before 6 does not ask for that event and would
 * wait without end, so its queues fail as well.
 */
static void lose_gpu(struct gp_vgpu_cp *cp, u32 gpu_index)
{
	struct gp_vgpu_client *client = cp->client;

	gp_vgpu_event_hw_exception(client, client->machine.gpus[gpu_index].gpu_id, true);
	for (u32 i = 0; i < cp->ring_end; i++) {
		struct gp_vgpu_cp_ring *ring = &cp->rings[i];

		if (!ring->used || ring->hold == GP_CP_HALTED || ring->queue.gpu_index != gpu_index)
			continue;
		ring->faulted = true;
		gp_vgpu_cp_execute_drop(cp, ring->queue.id);
		if (ring->sdma || ring->pm4_packets)
			ring->hold = GP_CP_HALTED;
		else
			gp_vgpu_cp_queue_error(cp, ring, GP_AQL_ERROR_EXCEPTION);
	}
}

/* What belongs to no packet. */
static void take_news(struct gp_vgpu_cp *cp, const struct gp_vgpu_done *done)
{
	const struct gp_vgpu_welcome *machine = &cp->client->machine;

	if (done->kind == GP_VGPU_PASSED) {
		for (u32 i = 0; i < cp->ring_end; i++)
			if (cp->rings[i].used && cp->rings[i].queue.id == done->queue_id)
				gp_vgpu_cp_tell_runtime(cp, &cp->rings[i], done->tag);
	} else if (done->tag < machine->gpu_count && done->kind == GP_VGPU_RESET) {
		lose_gpu(cp, (u32)done->tag);
	} else if (done->tag < machine->gpu_count && done->kind == GP_VGPU_FAULT) {
		gp_vgpu_event_memory_fault(cp->client, machine->gpus[done->tag].gpu_id, 0);
	}
}

void gp_vgpu_cp_complete(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_record *record,
			 const struct gp_vgpu_done *done)
{
	struct gp_vgpu_cp_ring *ring = &cp->rings[record->ring];

	if (!ring->faulted) {
		if (ring->sdma)
			gp_vgpu_cp_sdma_completed(cp, ring, record, done);
		else if (ring->pm4_packets)
			gp_vgpu_cp_pm4_completed(cp, ring, record, done);
		else
			gp_vgpu_cp_aql_completed(cp, ring, record, done);
	}
	gp_vgpu_cp_record_free(cp, record);
}

static void take_done(struct gp_vgpu_cp *cp, const struct gp_vgpu_done *done)
{
	u32 index = (u32)done->tag;
	struct gp_vgpu_cp_record *record;
	struct gp_vgpu_cp_ring *ring;
	bool computes, first;

	if (done->kind > GP_VGPU_COMPLETED) {
		take_news(cp, done);
		return;
	}
	if (index >= GP_CP_RECORDS)
		return;
	record = &cp->records[index];
	/* Of a queue that is gone. */
	if (record->generation != (u32)(done->tag >> 32) || record->ring == GP_CP_NONE)
		return;
	ring = &cp->rings[record->ring];
	if (!record->launched && !ring->faulted && !ring->sdma && !ring->pm4_packets) {
		gp_vgpu_cp_aql_launched(ring, record);
		cp->client->shared->mirrors[ring->queue.id].read_index = record->end;
	}
	computes = !ring->sdma && gp_vgpu_cp_computes(cp);
	first = !record->launched;
	record->launched = true;
	if (computes && first)
		gp_vgpu_cp_execute(cp, record);
	if (done->kind != GP_VGPU_COMPLETED || (computes && !gp_vgpu_cp_executed(cp, record, done)))
		return;
	gp_vgpu_cp_complete(cp, record, done);
}

static bool take_dones(struct gp_vgpu_cp *cp)
{
	struct gp_vgpu_shared *shared = cp->client->shared;
	u32 produced = __atomic_load_n(&shared->done_ring.produced, __ATOMIC_ACQUIRE);
	u32 consumed = shared->done_ring.consumed;
	bool any = produced != consumed;

	while (consumed != produced) {
		struct gp_vgpu_done done = shared->done[consumed % GP_VGPU_DONE_SLOTS];

		__atomic_store_n(&shared->done_ring.consumed, ++consumed, __ATOMIC_RELEASE);
		take_done(cp, &done);
	}
	return any;
}

static bool fetch_one(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring)
{
	if (ring->sdma)
		return gp_vgpu_cp_sdma_fetch(cp, ring);
	return ring->pm4_packets ? gp_vgpu_cp_pm4_fetch(cp, ring) : gp_vgpu_cp_aql_fetch(cp, ring);
}

/* Hands over the packets of a ring until it is empty or has to wait. True if there were any. */
static bool fetch(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring)
{
	bool moved = false;

	if (ring->hold == GP_CP_HALTED)
		return false;
	ring->hold = GP_CP_READY;
	while (ring->hold == GP_CP_READY && fetch_one(cp, ring))
		moved = true;
	return moved;
}

bool gp_vgpu_cp_step(struct gp_vgpu_cp *cp)
{
	bool moved;

	cp->step++;
	moved = gp_vgpu_cp_execute_step(cp);
	moved |= take_dones(cp);

	for (u32 i = 0; i < cp->ring_end; i++) {
		struct gp_vgpu_cp_ring *ring = &cp->rings[i];

		if (!ring->used)
			continue;
		if (!ring->rung)
			ring->rung = *ring->doorbell != UINT64_MAX;
		if (!ring->rung || !ring->base)
			continue;
		moved |= fetch(cp, ring);
	}
	if (cp->submitted) {
		cp->submitted = false;
		/* Full: the server has heard. Gone: the lifeline tells. */
		(void)!send(cp->client->work_fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	}
	return moved;
}

/* ---- the thread ---- */

static bool somebody_waits(const struct gp_vgpu_cp *cp)
{
	for (u32 i = 0; i < cp->ring_end; i++) {
		if (cp->rings[i].used && cp->rings[i].hold == GP_CP_WAITING)
			return true;
	}
	return false;
}

/* Naps grow while a ring waits for memory in vain. */
static u64 wait_nap(struct gp_vgpu_cp *cp)
{
	u64 nap = cp->wait_ns;

	if (++cp->waits >= WAIT_REPEAT) {
		cp->waits = 0;
		cp->wait_ns = nap * 2 < WAIT_LAST_NS ? nap * 2 : WAIT_LAST_NS;
	}
	return nap;
}

static u64 idle_nap(struct gp_vgpu_cp *cp)
{
	u64 nap = cp->idle_ns;

	cp->idle_ns = nap + nap / 4 < IDLE_LAST_NS ? nap + nap / 4 : IDLE_LAST_NS;
	return nap;
}

/* How long to sleep after a step that moved something or not. */
static u64 sleep_after(struct gp_vgpu_cp *cp, bool moved)
{
	u64 now = gp_vgpu_cp_now(), nap = FOREVER;

	if (moved) {
		cp->active_ns = now;
		cp->wait_ns = WAIT_FIRST_NS;
		cp->idle_ns = IDLE_FIRST_NS;
		cp->waits = 0;
		return LINGER_NAP_NS;
	}
	if (now - cp->active_ns < LINGER_NS)
		return LINGER_NAP_NS;
	if (gp_vgpu_cp_doorbells_protect(cp)) {
		/* A doorbell rung before the protection took hold left its packet to be seen. */
		if (gp_vgpu_cp_step(cp)) {
			gp_vgpu_cp_doorbells_release(cp);
			cp->active_ns = now;
			return LINGER_NAP_NS;
		}
	} else {
		nap = idle_nap(cp);
	}
	if (somebody_waits(cp)) {
		u64 wait = wait_nap(cp);

		nap = wait < nap ? wait : nap;
	}
	return nap;
}

static void drain(int fd)
{
	char bytes[256];

	if (read(fd, bytes, sizeof(bytes)) < 0)
		return; /* nothing in it */
}

static void lose_machine(struct gp_vgpu_cp *cp)
{
	struct gp_vgpu_client *client = cp->client;

	for (u32 i = 0; i < client->machine.gpu_count; i++)
		lose_gpu(cp, i);
	/* Last: from now on every call answers ENODEV, a wait that is just being woken as well. */
	if (!atomic_exchange(&client->gone, true))
		gp_vgpu_say("the virtual GPU has ended: ", client->directory);
}

/* The last that is done with a secondary client. Closing userfaultfd lifts what it protected. */
static void free_client(struct gp_vgpu_cp *cp)
{
	struct gp_vgpu_client *client = cp->client;

	gp_vgpu_cp_doorbells_forget(&cp->doorbells);
	client->cp = NULL;
	cp_free(cp);
	gp_vgpu_client_free(client);
}

static void *cp_thread(void *data)
{
	struct gp_vgpu_cp *cp = data;
	int lifeline = cp->client->lifeline;
	u64 nap = 0;

	pthread_setname_np(pthread_self(), "gpreempt-cp");
	prctl(PR_SET_TIMERSLACK, 1000ul);
	for (;;) {
		struct pollfd fds[4] = {
			{.fd = cp->client->done_fd, .events = POLLIN},
			{.fd = cp->command_fd, .events = POLLIN},
			{.fd = cp->doorbells.fault_fd, .events = POLLIN},
			{.fd = lifeline, .events = POLLRDHUP},
		};
		struct timespec timeout = gp_timespec(nap);
		bool moved;

		ppoll(fds, GP_ARRAY_SIZE(fds), nap == FOREVER ? NULL : &timeout, NULL);
		pthread_mutex_lock(&cp->lock);
		if (fds[0].revents)
			drain(fds[0].fd);
		if (fds[1].revents)
			drain(fds[1].fd);
		moved = gp_vgpu_cp_doorbells_faults(cp);
		moved |= gp_vgpu_cp_step(cp);
		if (cp->client->ended)
			break;
		if (fds[3].revents) {
			lose_machine(cp);
			lifeline = -1;
		}
		nap = sleep_after(cp, moved);
		pthread_mutex_unlock(&cp->lock);
	}
	pthread_mutex_unlock(&cp->lock);
	free_client(cp);
	return NULL;
}

bool gp_vgpu_cp_end(struct gp_vgpu_client *client)
{
	struct gp_vgpu_cp *cp = __atomic_load_n(&client->cp, __ATOMIC_ACQUIRE);

	if (!cp)
		return false;
	if (!cp->running) {
		free_client(cp);
		return true;
	}
	/* The thread looks at it with the lock: it frees all this only after the unlock. */
	pthread_mutex_lock(&cp->lock);
	atomic_store(&client->ended, true);
	gp_vgpu_cp_wake(cp);
	pthread_mutex_unlock(&cp->lock);
	return true;
}

/* With every signal blocked: they are the application's to handle, on its own threads. */
int gp_vgpu_cp_start(struct gp_vgpu_cp *cp)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t thread;
	int result;

	if (atomic_exchange(&cp->running, true))
		return 0;
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	result = pthread_create(&thread, &attributes, cp_thread, cp);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	if (result)
		atomic_store(&cp->running, false);
	return -result;
}
