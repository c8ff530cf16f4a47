// SPDX-License-Identifier: MIT
/*
 * A process that is held by name, stopped and continued, in every order of what can happen: its
 * calls are answered late, fail, or are lost; the daemon looks before or after. However it went,
 * the process runs and nothing is left of the hold when it is continued and its owner lets go.
 */
#include "owner.h"

enum step { STOP, CONTINUE, HOLD, LET_GO, ANSWER, REFUSE, LOSE, LOOK, RUN, STEPS };

#define GROUP    "slurm-17"
#define LONG     14 /* steps of the sequences that are drawn */
#define DRAWN    500
#define SEED     20261117u
#define NO_MORE  STEPS
#define CAPACITY (LONG + 1)

struct play {
	struct rig *rig;
	struct agent *agent;
	struct owner owner;
	bool stopped, held;
};

static struct gp_daemon_client *client_of(const struct play *play)
{
	return gp_daemon_host_client(play->rig->daemon, (u32)play->agent->pid);
}

static void set_stopped(struct play *play, bool stopped)
{
	if (play->stopped == stopped)
		return;
	play->stopped = stopped;
	kill(play->agent->pid, stopped ? SIGSTOP : SIGCONT);
	waitpid(play->agent->pid, NULL, stopped ? WUNTRACED : WCONTINUED);
}

static void set_held(struct play *play, bool held)
{
	owner_ask(&play->owner, GROUP, held);
	play->held = held;
}

static void take(struct play *play, enum step step)
{
	switch (step) {
	case STOP:
	case CONTINUE:
		set_stopped(play, step == STOP);
		break;
	case HOLD:
	case LET_GO:
		set_held(play, step == HOLD);
		break;
	case ANSWER:
		fake_finish(1);
		break;
	case REFUSE:
		fake_finish(-ETIME);
		break;
	case LOSE:
		fake_lose(play->agent->pid);
		break;
	case LOOK:
		(void)gp_daemon_absent_stopped(client_of(play));
		gp_daemon_host_settle(play->rig->daemon);
		break;
	default:
		rig_run(play->rig);
	}
}

/* Everything is answered until nothing is asked any more. */
static void settle(struct play *play)
{
	do {
		fake_finish(1);
		take(play, LOOK);
		rig_run(play->rig);
	} while (fake.waiting_count);
	while (owner_has_answer(&play->owner))
		;
}

/* What failed is tried again, later. */
static bool is_held(const struct play *play)
{
	const struct gp_daemon_client *client = client_of(play);

	return client->keep.state == GP_KEPT_HELD || (client->keep.state == GP_KEPT_FAILED &&
						      gp_timer_armed(&client->daemon->keep_timer));
}

static bool is_over(const struct play *play)
{
	const struct gp_daemon_client *client = client_of(play);
	int targets = 0;

	for (int i = 0; i < FAKE_TARGETS; i++)
		targets += fake.target[i].pid == play->agent->pid;
	return !fake_held(play->agent->pid) && targets == 1 && !client->keep.target &&
	       client->keep.state == GP_KEPT_NOT && client->job->kept_said == GP_KEPT_NOT &&
	       view(play->rig, play->agent).away == GP_AWAY_NOT &&
	       client->job->off.since_ns == GP_DAEMON_NEVER;
}

static void check(const struct play *play, bool holds, const enum step *steps, const char *what)
{
	static const char names[] = "SCHgarlwR";
	char text[CAPACITY + 1] = "";

	if (holds)
		return;
	for (size_t i = 0; steps[i] != NO_MORE; i++)
		text[i] = names[steps[i]];
	fail_msg("%s after %s (state %d, seed %u)", what, text, client_of(play)->keep.state, SEED);
}

static void play_steps(struct play *play, const enum step *steps)
{
	for (size_t i = 0; steps[i] != NO_MORE; i++)
		take(play, steps[i]);
	settle(play);
	check(play, !play->held || is_held(play), steps, "not held");
	set_stopped(play, false);
	settle(play);
	set_held(play, false);
	settle(play);
	check(play, is_over(play), steps, "not over");
}

static void begin(struct play *play)
{
	*play = (struct play){.rig = rig_new(ACT)};
	play->agent = agent_in_group(play->rig, GROUP);
	work(play->rig, play->agent, true);
	owner_open(&play->owner, play->rig);
	fake.wait = true;
}

static void end(struct play *play)
{
	close(play->owner.socket);
	fake.broken_rules = 0; /* a renewal may cross the loss of its lease */
	rig_free(play->rig);
}

/* Every sequence of `length` steps after those that are given. */
static void play_all(u32 length, u32 given, enum step *steps)
{
	struct play play;
	u32 all = 1;

	begin(&play);
	for (u32 i = 0; i < length; i++)
		all *= STEPS;
	for (u32 number = 0; number < all; number++) {
		for (u32 i = 0, rest = number; i < length; i++, rest /= STEPS)
			steps[given + i] = (enum step)(rest % STEPS);
		steps[given + length] = NO_MORE;
		play_steps(&play, steps);
	}
	end(&play);
}

static void nothing_is_left_of_a_hold_after_any_few_steps(void **state)
{
	enum step steps[CAPACITY];

	(void)state;
	play_all(3, 0, steps);
}

static void nothing_is_left_of_a_hold_after_a_stop_and_any_few_steps(void **state)
{
	enum step stopped[CAPACITY] = {HOLD, RUN, ANSWER, RUN, STOP, LOOK};
	enum step lost[CAPACITY] = {HOLD, RUN, ANSWER, RUN, STOP, LOOK, LOSE, RUN};

	(void)state;
	play_all(3, 6, stopped);
	play_all(3, 8, lost);
}

static void nothing_is_left_of_a_hold_after_many_steps(void **state)
{
	enum step steps[CAPACITY];
	u64 drawn = SEED;
	struct play play;

	(void)state;
	begin(&play);
	for (u32 number = 0; number < DRAWN; number++) {
		for (u32 i = 0; i < LONG; i++) {
			drawn = drawn * 6364136223846793005u + 1442695040888963407u;
			steps[i] = (enum step)((drawn >> 33) % STEPS);
		}
		steps[LONG] = NO_MORE;
		play_steps(&play, steps);
	}
	end(&play);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_left_of_a_hold_after_any_few_steps),
		cmocka_unit_test(nothing_is_left_of_a_hold_after_a_stop_and_any_few_steps),
		cmocka_unit_test(nothing_is_left_of_a_hold_after_many_steps),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
