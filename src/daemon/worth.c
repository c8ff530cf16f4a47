// SPDX-License-Identifier: MIT
/*
 * Acting is never worse than not acting: what the operations on each GPU really cost and gain.
 *
 * A preemption gains the time from its confirmation to the decision to resume: work of higher
 * priority had the GPU to itself. It costs the time that suspending and resuming take, by the wall
 * clock. On a busy host the programs answer late, and then the costs exceed the gains. After
 * FAILURES failed operations in a row, a loss of LOSS_NS, or more costs than gains over a second,
 * the GPU is left alone: every job on it resumes. The next attempt is a second later, and the pause
 * doubles up to a minute until a second of acting has gained something. Until then, and from the
 * start, acting is on probation: a quarter of a second with any loss ends it.
 *
 * Idle programs that are taken off the GPU, so that others do not have to wait for its rotation,
 * count as well. When work brings one back it waits for that, which is the cost. Without it the
 * work would have waited for its quantum, so that is the gain, at most for as long as the program
 * was off. Taking it off delays no work.
 */
#include "base/i18n.h"
#include "base/units.h"
#include "daemon/daemon.h"

#define FAILURES     3
#define CYCLES       4 /* preemptions before costs and gains are compared */
#define SECOND_NS    GP_NS_PER_S
#define LOSS_NS      (20 * GP_NS_PER_MS) /* at once: a busy host takes longer for one operation */
#define PROBATION_NS (GP_NS_PER_S / 4)
#define PAUSE_MAX_NS (60 * GP_NS_PER_S)
#define QUANTUM_NS   (10 * GP_NS_PER_MS) /* of a process, as the driver asks for it */

static struct gp_daemon_worth *worth_at(struct gp_daemon *daemon, u32 device)
{
	return device < daemon->device_count ? &daemon->devices[device].worth : NULL;
}

static void record(struct gp_daemon *daemon, u32 device, enum gp_proto_decision_kind kind)
{
	const struct gp_daemon_worth *worth = &daemon->devices[device].worth;

	gp_daemon_report_stand(daemon, device, kind, worth);
	if (kind == GP_DECISION_ACT_AGAIN)
		gp_diag(daemon->diag, GP_NOTE, "GPU 0x%x: preempting jobs again",
			daemon->devices[device].gpu_id);
	else if (worth->why == GP_STAND_FAILURES)
		gp_diag(daemon->diag, GP_WARNING,
			"GPU 0x%x: several operations in a row failed; not preempting jobs for %s",
			daemon->devices[device].gpu_id, gp_duration_text(worth->pause_ns).text);
	else
		gp_diag(daemon->diag, GP_WARNING,
			"GPU 0x%x: preemptions cost %s but saved only %s; not preempting jobs for "
			"%s",
			daemon->devices[device].gpu_id, gp_duration_text(worth->cost_ns).text,
			gp_duration_text(worth->gain_ns).text,
			gp_duration_text(worth->pause_ns).text);
}

static void arm(struct gp_daemon *daemon)
{
	u64 at = UINT64_MAX;

	for (u32 i = 0; i < daemon->device_count; i++) {
		if (daemon->devices[i].worth.why)
			at = GP_MIN(at, daemon->devices[i].worth.again_ns);
	}
	gp_timer_set(&daemon->loop, &daemon->worth_timer, at);
}

static void start_account(struct gp_daemon_worth *worth)
{
	worth->since_ns = worth->cost_ns = worth->gain_ns = 0;
	worth->failures = worth->cycles = 0;
}

static void stand_down(struct gp_daemon *daemon, u32 device, enum gp_proto_stand why)
{
	struct gp_daemon_worth *worth = &daemon->devices[device].worth;

	if (worth->why || !daemon->config.stand_down)
		return;
	worth->why = why;
	worth->proven = false;
	worth->times++;
	worth->pause_ns = worth->pause_ns ? GP_MIN(2 * worth->pause_ns, PAUSE_MAX_NS) : SECOND_NS;
	worth->again_ns = gp_monotonic_ns() + worth->pause_ns;
	worth->due = true;
	record(daemon, device, GP_DECISION_STAND_DOWN);
	start_account(worth);
	arm(daemon);
}

enum gp_daemon_verdict gp_daemon_worth_verdict(const struct gp_daemon_worth *worth, u64 lasted)
{
	u64 loss = worth->cost_ns - GP_MIN(worth->cost_ns, worth->gain_ns);

	if (loss > LOSS_NS)
		return GP_DAEMON_LOSES;
	if (worth->cycles < CYCLES || lasted < (worth->proven ? SECOND_NS : PROBATION_NS))
		return GP_DAEMON_NOT_KNOWN;
	if (loss)
		return GP_DAEMON_LOSES;
	return lasted < SECOND_NS ? GP_DAEMON_NOT_KNOWN : GP_DAEMON_GAINS;
}

static void judge(struct gp_daemon *daemon, u32 device, u64 now)
{
	struct gp_daemon_worth *worth = &daemon->devices[device].worth;
	enum gp_daemon_verdict verdict = gp_daemon_worth_verdict(worth, now - worth->since_ns);

	if (verdict == GP_DAEMON_LOSES) {
		stand_down(daemon, device, GP_STAND_LOSS);
	} else if (verdict == GP_DAEMON_GAINS) {
		worth->pause_ns = 0;
		worth->proven = true;
		start_account(worth);
	}
}

void gp_daemon_worth_failed(struct gp_daemon *daemon, struct gp_daemon_job *job)
{
	struct gp_daemon_worth *worth = worth_at(daemon, job->worth.device);

	/* The resume that follows belongs to the failure. */
	job->worth.counts = false;
	if (worth && ++worth->failures >= FAILURES)
		stand_down(daemon, job->worth.device, GP_STAND_FAILURES);
}

void gp_daemon_worth_suspend(struct gp_daemon *daemon, struct gp_daemon_job *job,
			     const struct gp_sched_reason *reason)
{
	if (reason->why == GP_SCHED_WHY_JOINED || daemon->config.mode != GP_MODE_ACT)
		return;
	job->worth = (struct gp_daemon_job_worth){
		.device = reason->device,
		.parked = reason->why == GP_SCHED_WHY_PARKED,
		.counts = reason->why == GP_SCHED_WHY_PARKED ||
			  (reason->other != GP_SCHED_NONE && reason->why != GP_SCHED_WHY_PINNED),
	};
}

void gp_daemon_worth_resume(struct gp_daemon *daemon, struct gp_daemon_job *job)
{
	struct gp_daemon_worth *worth = worth_at(daemon, job->worth.device);
	struct gp_sched_job_state state;
	u64 now = gp_monotonic_ns(), held = now - GP_MIN(job->worth.since_ns, now);

	/* There is room for all again: no work waits. */
	if (job->worth.parked &&
	    (gp_sched_job_state(daemon->sched, job->handle, &state) || !state.busy_queues))
		job->worth.counts = false;
	if (worth && job->worth.counts && job->worth.since_ns)
		worth->gain_ns += job->worth.parked ? GP_MIN(held, QUANTUM_NS) : held;
	job->worth.since_ns = 0;
}

void gp_daemon_worth_done(struct gp_daemon *daemon, struct gp_daemon_job *job,
			  const struct gp_daemon_operation *operation)
{
	struct gp_daemon_worth *worth = worth_at(daemon, job->worth.device);
	u64 now = gp_monotonic_ns(), took = now - GP_MIN(operation->started_ns, now);

	if (!worth || !job->worth.counts || operation->result < 0 || !operation->token)
		return;
	/* One that came too late has failed. */
	if (took <= daemon->config.operation_timeout_ns)
		worth->failures = 0;
	if (!worth->since_ns)
		worth->since_ns = operation->started_ns;
	if (!job->worth.parked || !operation->suspend)
		worth->cost_ns += took;
	if (operation->suspend) {
		job->worth.since_ns = job->wanted_held ? now : 0;
		return;
	}
	worth->cycles++;
	judge(daemon, job->worth.device, now);
}

/* ---- standing down and trying again ---- */

bool gp_daemon_worth_step(struct gp_daemon *daemon)
{
	for (u32 i = 0; i < daemon->device_count; i++) {
		if (!daemon->devices[i].worth.due)
			continue;
		daemon->devices[i].worth.due = false;
		gp_daemon_host_set_device(daemon, i);
		return true;
	}
	return false;
}

static void try_again(struct gp_timer *timer)
{
	struct gp_daemon *daemon = gp_container(timer, struct gp_daemon, worth_timer);
	u64 now = gp_monotonic_ns();

	for (u32 i = 0; i < daemon->device_count; i++) {
		struct gp_daemon_worth *worth = &daemon->devices[i].worth;

		if (!worth->why || worth->again_ns > now)
			continue;
		worth->why = GP_STAND_NOT;
		worth->due = true;
		start_account(worth);
		record(daemon, i, GP_DECISION_ACT_AGAIN);
	}
	arm(daemon);
	gp_daemon_host_settle(daemon);
}

void gp_daemon_worth_start(struct gp_daemon *daemon)
{
	gp_timer_init(&daemon->worth_timer, try_again);
}

void gp_daemon_worth_forget(struct gp_daemon *daemon)
{
	for (u32 i = 0; i < daemon->device_count; i++) {
		u64 times = daemon->devices[i].worth.times;

		daemon->devices[i].worth = (struct gp_daemon_worth){.times = times};
	}
	arm(daemon);
}
