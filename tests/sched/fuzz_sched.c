// SPDX-License-Identifier: MIT
/*
 * Bytes in, events out: every function of the scheduler core with arbitrary arguments, bad handles
 * and great leaps of time included. It must not crash, and its promises hold after every
 * event.
 */
#include "sched/state.h"

#include <stdio.h>
#include <stdlib.h>

struct input {
	const u8 *at, *end;
};

static u64 number(struct input *in, u32 bytes)
{
	u64 value = 0;

	for (; bytes && in->at < in->end; bytes--)
		value = value << 8 | *in->at++;
	return value;
}

/* Mostly small, sometimes anything. */
static u64 odd_number(struct input *in)
{
	u32 how = (u32)number(in, 1);

	return how < 160 ? how : number(in, how < 200 ? 2 : how < 250 ? 4 : 8);
}

static struct gp_sched_device_config make_device(struct input *in)
{
	struct gp_sched_device_config device;

	gp_sched_device_defaults(&device);
	device.policy = (enum gp_sched_policy_id)(number(in, 1) % 6);
	device.can_suspend = number(in, 1) % 8;
	device.can_share = number(in, 1) % 2;
	device.suspend_ns = odd_number(in);
	device.resume_ns = odd_number(in);
	device.min_run_ns = odd_number(in);
	device.turn_ns = 1000 + odd_number(in);
	device.linger_ns = odd_number(in);
	device.hint_ns = odd_number(in);
	device.unknown_ns = odd_number(in);
	device.age_step_ns = odd_number(in);
	device.slice_ns = 1000 + odd_number(in);
	device.memory_bytes = odd_number(in);
	device.utilisation_ppm = (u32)odd_number(in);
	device.places = (u32)number(in, 1) % 6;
	return device;
}

static struct gp_sched_job_spec make_spec(struct input *in)
{
	return (struct gp_sched_job_spec){
		.class = (enum gp_sched_class)(number(in, 1) % 4),
		.priority = number(in, 1) % 2 ? GP_SCHED_NONE : (u32)odd_number(in),
		.weight = (u32)odd_number(in),
		.deadline_ns = odd_number(in) * 100,
		.budget_ns = odd_number(in),
		.period_ns = odd_number(in),
		.max_suspend_ns = odd_number(in),
		.parks = number(in, 1) & 1,
	};
}

static int change(struct gp_sched *sched, struct input *in, u64 now, u32 what)
{
	struct gp_sched_device_config device;
	struct gp_sched_job_spec spec;
	u32 which = (u32)number(in, 1) % 20, id;

	switch (what) {
	case 0:
		device = make_device(in);
		return gp_sched_device_set(sched, now, which % 4, &device);
	case 1:
		spec = make_spec(in);
		return gp_sched_job_add(sched, now, &spec, &id);
	case 2:
		spec = make_spec(in);
		return gp_sched_job_set(sched, now, which, &spec);
	case 3:
		return gp_sched_job_pin(sched, now, which, (enum gp_sched_pin)number(in, 1));
	case 4:
		return gp_sched_job_remove(sched, now, which);
	case 5:
		return gp_sched_process_remove(sched, now, which);
	case 6:
		return gp_sched_queue_remove(sched, now, which);
	case 7:
	case 8:
		return gp_sched_process_add(sched, now, which, &id);
	default:
		return gp_sched_queue_add(sched, now, which, (u32)number(in, 1) % 4,
					  (enum gp_sched_stream)(number(in, 1) % 4), &id);
	}
}

static int happen(struct gp_sched *sched, struct input *in, u64 now, u64 *token)
{
	u32 what = (u32)number(in, 1) % 24, which = (u32)number(in, 1) % 20;
	struct gp_sched_usage usage;

	switch (what) {
	case 0:
		return gp_sched_hint(sched, now, which, (u32)number(in, 1) % 4, odd_number(in));
	case 1:
		usage = (struct gp_sched_usage){odd_number(in), odd_number(in), odd_number(in)};
		return gp_sched_usage(sched, now, which, (u32)number(in, 1) % 4, &usage);
	case 2:
		return gp_sched_lease_lost(sched, now, which);
	case 3:
		return gp_sched_queue_stream(sched, now, which,
					     (enum gp_sched_stream)(number(in, 1) % 4));
	case 4:
	case 5:
	case 6:
	case 7:
		return gp_sched_operation(sched, now, *token, which % 4 ? 0 : -5, odd_number(in));
	case 8:
		return gp_sched_job_absent(sched, now, which % 10, which < 10);
	case 9:
		return gp_sched_timer(sched, now);
	default:
		if (what < 16)
			return gp_sched_work(sched, now, which,
					     (enum gp_sched_work)(number(in, 1) % 4),
					     odd_number(in));
		return change(sched, in, now, (u32)number(in, 1) % 11);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = {data, data + size};
	struct gp_sched_config config = {.devices = 3,
					 .max_jobs = 8,
					 .max_processes = 8,
					 .max_queues = 16,
					 .lease_ns = 3 + number(&in, 2),
					 .max_suspend_ns = 1 + number(&in, 3),
					 .op_timeout_ns = 1 + number(&in, 2)};
	size_t bytes = gp_sched_memory(&config);
	void *memory = malloc(bytes);
	struct gp_sched_action action;
	struct gp_sched *sched;
	u64 now = 0, token = 0;

	if (!memory || gp_sched_init(&sched, memory, bytes, &config))
		abort();
	while (in.at < in.end) {
		const char *broken;
		u64 leap = odd_number(&in);
		int result;

		/* 73 years; at the very end of time nothing is due any more. */
		now = GP_MIN(now + GP_MIN(leap, GP_SCHED_TIME_MAX), GP_SCHED_TIME_MAX / 2);
		result = happen(sched, &in, now, &token);
		if (result == -EAGAIN)
			abort(); /* everything was taken */
		while (gp_sched_take(sched, &action))
			if (action.token)
				token = action.token;
		broken = gp_sched_check(sched);
		if (broken) {
			fprintf(stderr, "%s\n", broken);
			abort();
		}
	}
	free(memory);
	return 0;
}
