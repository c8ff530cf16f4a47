// SPDX-License-Identifier: MIT
/*
 * Random chips, processes, queues, work and updates against what must always hold. A failure names
 * its seed; GP_MODEL_SEED=N runs that one alone, GP_MODEL_RUNS=N more of them.
 */
#include "testlib.h"
#include "model/state.h"

#define MAX_WORK   256
#define MAX_QUEUES 24
#define STEPS      250

/* What the test knows of a packet; the tag is its index. */
struct record {
	u32 queue;
	u64 serial; /* of the queue it went to: handles are used again */
	bool barrier, launched, completed;
	u64 launched_at, work;
};

struct run {
	u64 seed, dice;
	struct gp_model_config config;
	struct gp_model *model;
	void *memory;
	u64 now, hash, last_at;
	struct record record[4096];
	u32 records;
	struct {
		u64 serial; /* 0: no such queue */
		bool enabled;
		struct gp_model_queue_config config;
	} queue[MAX_QUEUES];
	u64 serials;
	u32 process[8], processes;
	u64 updates, fences, expected_work, mapping_ns, unmapped_at;
	bool unmapped; /* the last fence was UNMAPPED */
};

#define NEED(run, condition)                                                                      \
	do {                                                                                      \
		if (!(condition))                                                                 \
			fail_msg("GP_MODEL_SEED=%llu at %llu ns: %s",                             \
				 (unsigned long long)(run)->seed, (unsigned long long)(run)->now, \
				 #condition);                                                     \
	} while (0)

static u64 roll(struct run *run, u64 sides)
{
	run->dice = gp_mix(run->dice);
	return run->dice % sides;
}

/* Small numbers as often as large ones. */
static u64 roll_log(struct run *run, u32 bits)
{
	return roll(run, 1ull << (roll(run, bits) + 1));
}

static void make_chip(struct run *run)
{
	struct gp_model_chip *c = &run->config.chip;

	*c = (struct gp_model_chip){
		.xcc_count = (u32)roll(run, 4) + 1,
		.cu_per_xcc = (u32)roll(run, run->seed % 16 ? 5 : 40) + 1,
		.simd_per_cu = 4,
		.waves_per_simd = 8,
		.wave_size = 64,
		.vgpr_per_simd = 512,
		.lds_per_cu = 65536,
		.slots = (u32)roll(run, 8) + 1,
		.vmids = (u32)roll(run, 4) + 1,
		.sdma_engines = (u32)roll(run, 4),
		.sdma_queues_per_engine = (u32)roll(run, 3) + 1,
		.quantum_ns = 20000 + roll(run, 100000),
		.dispatch_ns = roll(run, 3) * roll(run, 500),
		.complete_ns = roll(run, 3) * roll(run, 200),
		.unmap_ns = roll(run, 3) * roll(run, 1000),
		.unmap_queue_ns = roll(run, 50),
		.map_ns = roll(run, 3) * roll(run, 1000),
		.map_queue_ns = roll(run, 50),
		.save_ns = roll(run, 400),
		.restore_ns = roll(run, 400),
		.save_bytes_per_us = 10000 + roll(run, 1000000),
		.restore_bytes_per_us = 10000 + roll(run, 1000000),
		.wave_fixed_bytes = (u32)roll(run, 600),
		.clock_khz = 1000000 + roll(run, 1000000),
		.sdma_bytes_per_us = 1 + roll(run, 50000),
		.sdma_packet_ns = roll(run, 100),
		.contention_permille = (u32)(roll(run, 2) * roll(run, 800)),
		.jitter_permille = (u32)(roll(run, 2) * roll(run, 500)),
	};
	run->config.max_processes = 6;
	run->config.max_queues = MAX_QUEUES;
	run->config.max_work = MAX_WORK;
	run->config.seed = run->seed;
}

static void see_launch(struct run *run, const struct gp_model_action *action)
{
	struct record *record = &run->record[action->tag];

	NEED(run, action->tag < run->records && record->queue == action->queue);
	NEED(run, !record->launched);
	NEED(run, run->queue[record->queue].serial == record->serial);
	record->launched = true;
	record->launched_at = action->at_ns;
	for (u32 i = 0; i < action->tag; i++) {
		const struct record *earlier = &run->record[i];

		if (earlier->serial != record->serial)
			continue;
		NEED(run, earlier->launched);
		NEED(run, !record->barrier || earlier->completed);
	}
}

static void see_completion(struct run *run, const struct gp_model_action *action)
{
	struct record *record = &run->record[action->tag];

	NEED(run, action->tag < run->records && record->queue == action->queue);
	NEED(run, record->launched && !record->completed);
	NEED(run, action->start_ns == record->launched_at && action->end_ns >= action->start_ns);
	NEED(run, action->at_ns >= action->end_ns);
	record->completed = true;
	run->expected_work += record->work;
}

static void see(struct run *run, const struct gp_model_action *action)
{
	const u64 words[] = {action->kind,        action->at_ns,       action->queue,
			     action->tag,         action->start_ns,    action->end_ns,
			     action->saved_bytes, action->saved_waves, action->unmapped_queues};

	for (u32 i = 0; i < GP_ARRAY_SIZE(words); i++)
		run->hash = gp_mix(run->hash ^ words[i]);
	NEED(run, action->at_ns >= run->last_at);
	run->last_at = action->at_ns;
	switch (action->kind) {
	case GP_MODEL_LAUNCHED:
		NEED(run, !run->unmapped);
		see_launch(run, action);
		break;
	case GP_MODEL_COMPLETED:
		NEED(run, !run->unmapped);
		see_completion(run, action);
		break;
	case GP_MODEL_UNMAPPED:
		NEED(run, !run->unmapped);
		NEED(run, !action->tag || action->tag == run->fences + 1);
		run->unmapped = true;
		run->unmapped_at = action->at_ns;
		break;
	case GP_MODEL_MAPPED:
		NEED(run, run->unmapped);
		NEED(run, !action->tag || action->tag == ++run->fences);
		run->unmapped = false;
		run->mapping_ns += action->at_ns - run->unmapped_at;
		break;
	}
}

static void check(struct run *run)
{
	const char *broken = gp_model_check(run->model);
	struct gp_model_stats stats;

	if (broken)
		fail_msg("GP_MODEL_SEED=%llu at %llu ns: %s", (unsigned long long)run->seed,
			 (unsigned long long)run->now, broken);
	gp_model_stats(run->model, &stats);
	NEED(run, stats.busy_cu_ns <= run->model->cus * (stats.now_ns - stats.switch_ns));
	NEED(run, stats.switch_ns >= run->mapping_ns);
	/* Without jitter the test can do the sum itself, once it has seen every action. */
	NEED(run, run->config.chip.jitter_permille || run->model->action_count ||
			  stats.work_wg_ns == run->expected_work);
	NEED(run,
	     stats.ran_wg_ns >= stats.work_wg_ns + stats.contention_wg_ns + stats.dropped_wg_ns);
}

static void take(struct run *run)
{
	struct gp_model_action action;

	while (gp_model_take(run->model, &action))
		see(run, &action);
}

static void advance(struct run *run, u64 by)
{
	u64 until = run->now + by;

	for (;;) {
		u64 next = gp_model_next(run->model);

		if (next > until)
			break;
		NEED(run, next >= run->now || gp_model_action_room(run->model) < MAX_QUEUES + 32);
		run->now = GP_MAX(run->now, next);
		gp_model_advance(run->model, run->now);
		/* Sometimes the host is late to take. */
		if (roll(run, 4))
			take(run);
		check(run);
		if (gp_model_next(run->model) <= run->now)
			take(run);
	}
	take(run);
	run->now = until;
	gp_model_advance(run->model, run->now);
	take(run);
	check(run);
}

static void random_mask(struct run *run, struct gp_model_queue_config *config)
{
	memset(config->cu_mask, 0, sizeof(config->cu_mask));
	if (roll(run, 2))
		return;
	for (u32 cu = 0; cu < run->model->cus; cu++)
		if (!roll(run, 3))
			gp_bit_set(config->cu_mask, cu);
}

static void add_queue(struct run *run)
{
	struct gp_model_queue_config config = {.priority = (u32)roll(run, 16),
					       .enabled = roll(run, 4)};
	u32 queue;

	if (!run->processes)
		return;
	if (run->config.chip.sdma_engines && !roll(run, 4)) {
		config.type = GP_MODEL_SDMA;
		config.engine = (u32)roll(run, run->config.chip.sdma_engines);
	}
	random_mask(run, &config);
	if (gp_model_queue_add(run->model, run->process[roll(run, run->processes)], &config,
			       &queue))
		return;
	NEED(run, queue < MAX_QUEUES && !run->queue[queue].serial);
	run->queue[queue].serial = ++run->serials;
	run->queue[queue].config = config;
}

static void submit(struct run *run, u32 queue)
{
	struct record *record = &run->record[run->records];
	bool sdma = run->queue[queue].config.type == GP_MODEL_SDMA;
	struct gp_model_work work = {
		.tag = run->records,
		.barrier = !roll(run, 4),
		.kernel = roll(run, 5),
		.workgroups = roll_log(run, 8) + 1,
		.waves_per_workgroup = (u32)roll(run, 33),
		.vgprs = (u32)roll(run, 140),
		.lds_bytes = (u32)(roll(run, 2) * roll(run, 40000)),
		.workgroup_ns = roll_log(run, 15),
		.bytes = roll_log(run, 20),
	};
	bool fits = sdma || !work.kernel ||
		    (work.workgroup_ns &&
		     gp_model_occupancy(&run->config.chip, work.waves_per_workgroup, work.vgprs,
					work.lds_bytes));
	int rc = gp_model_submit(run->model, run->now, queue, &work);

	NEED(run, (rc == -EINVAL) == !fits);
	if (rc)
		return;
	*record = (struct record){
		.queue = queue,
		.serial = run->queue[queue].serial,
		.barrier = work.barrier && !sdma,
		.work = work.kernel && !sdma ? work.workgroups * work.workgroup_ns : 0,
	};
	run->records++;
}

static void change_queue(struct run *run, u32 queue)
{
	struct gp_model_queue_config *config = &run->queue[queue].config;

	config->enabled = roll(run, 2);
	if (!roll(run, 4))
		config->priority = (u32)roll(run, 16);
	if (!roll(run, 4))
		random_mask(run, config);
	if (roll(run, 2))
		NEED(run, gp_model_queue_set(run->model, queue, config) == 0);
}

static void update(struct run *run)
{
	u32 grace = (u32)(roll(run, 2) * roll(run, 20));

	if (gp_model_runlist_update(run->model, run->now, grace, run->updates + 1) == 0)
		run->updates++;
}

static void remove_queue(struct run *run, u32 queue)
{
	u32 dropped = 0, expected = 0;
	struct gp_model_queue_state state;
	int rc;

	NEED(run, gp_model_queue_state(run->model, queue, &state) == 0);
	take(run);
	for (u32 i = 0; i < run->records; i++)
		expected += run->record[i].serial == run->queue[queue].serial &&
			    !run->record[i].completed;
	rc = gp_model_queue_remove(run->model, queue, &dropped);
	NEED(run, rc == (state.mapped ? -EBUSY : 0));
	if (rc)
		return;
	NEED(run, dropped == expected);
	/* No action of it may come any more. */
	run->queue[queue].serial = 0;
}

/* As when its owner is killed: what a copy queue had is gone, also for the unmap that waits. */
static void abandon_queue(struct run *run, u32 queue)
{
	NEED(run, gp_model_queue_abandon(run->model, queue) == 0);
	take(run);
	if (run->queue[queue].config.type != GP_MODEL_SDMA)
		return;
	for (u32 i = 0; i < run->records; i++)
		if (run->record[i].serial == run->queue[queue].serial && !run->record[i].completed)
			run->record[i].serial = 0;
}

static void step(struct run *run)
{
	u32 queue = (u32)roll(run, MAX_QUEUES);
	bool there = run->queue[queue].serial;

	switch (roll(run, 16)) {
	case 0:
		if (run->processes < 6 &&
		    !gp_model_process_add(run->model, &run->process[run->processes]))
			run->processes++;
		break;
	case 1:
	case 2:
		add_queue(run);
		break;
	case 3:
		if (there)
			change_queue(run, queue);
		break;
	case 4:
		update(run);
		break;
	case 5:
		if (there && !roll(run, 3))
			remove_queue(run, queue);
		else if (there && !roll(run, 3))
			abandon_queue(run, queue);
		break;
	case 6:
	case 7:
	case 8:
		advance(run, roll_log(run, 16));
		break;
	default:
		for (u32 i = 0; i < MAX_QUEUES; i++, queue = (queue + 1) % MAX_QUEUES) {
			if (!run->queue[queue].serial)
				continue;
			submit(run, queue);
			break;
		}
	}
	check(run);
}

/* Everything enabled: everything that was submitted and not dropped must complete. */
static void drain(struct run *run)
{
	struct gp_model_stats stats;
	u64 next;

	for (u32 i = 0; i < MAX_QUEUES; i++) {
		run->queue[i].config.enabled = true;
		if (run->queue[i].serial)
			NEED(run, !gp_model_queue_set(run->model, i, &run->queue[i].config));
	}
	take(run);
	while (gp_model_runlist_update(run->model, run->now, 0, run->updates + 1))
		advance(run, 100000);
	run->updates++;
	for (u32 steps = 0; (next = gp_model_next(run->model)) != GP_MODEL_NEVER; steps++) {
		NEED(run, steps < 1000000);
		advance(run, next > run->now ? next - run->now : 0);
	}
	for (u32 i = 0; i < run->records; i++)
		NEED(run, run->record[i].completed ||
				  run->queue[run->record[i].queue].serial != run->record[i].serial);
	gp_model_stats(run->model, &stats);
	NEED(run,
	     stats.ran_wg_ns == stats.work_wg_ns + stats.contention_wg_ns + stats.dropped_wg_ns);
	NEED(run, stats.updates == run->updates && run->fences == run->updates);
	NEED(run, run->model->batches_pool.used == 0 && run->model->packets_pool.used == 0);
	run->hash = gp_mix(run->hash ^ stats.busy_cu_ns) ^ gp_mix(stats.switch_ns);
}

static u64 run_seed(u64 seed)
{
	struct run *run = calloc(1, sizeof(*run));
	size_t size;
	u64 hash;

	assert_non_null(run);
	run->seed = seed;
	run->dice = gp_mix(seed);
	make_chip(run);
	size = gp_model_memory(&run->config);
	run->memory = malloc(size);
	assert_non_null(run->memory);
	NEED(run, gp_model_init(&run->model, run->memory, size, &run->config) == 0);
	for (u32 i = 0; i < STEPS && run->records < GP_ARRAY_SIZE(run->record); i++)
		step(run);
	drain(run);
	hash = run->hash;
	free(run->memory);
	free(run);
	return hash;
}

static u64 environment(const char *name, u64 otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

static void whatever_is_asked_the_invariants_hold_and_everything_drains(void **state)
{
	u64 runs = environment("GP_MODEL_RUNS", 300);

	(void)state;
	if (getenv("GP_MODEL_SEED")) {
		run_seed(environment("GP_MODEL_SEED", 0));
		return;
	}
	for (u64 seed = 1; seed <= runs; seed++)
		run_seed(seed);
}

static void a_seed_gives_the_same_actions_every_time(void **state)
{
	(void)state;
	for (u64 seed = 1; seed <= 10; seed++)
		assert_int_equal(run_seed(seed), run_seed(seed));
	assert_int_not_equal(run_seed(1), run_seed(2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_is_asked_the_invariants_hold_and_everything_drains),
		cmocka_unit_test(a_seed_gives_the_same_actions_every_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
