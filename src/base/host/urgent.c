// SPDX-License-Identifier: MIT
/* The scheduling class of a thread that others wait for: see urgent.h. */
#include "base/host/urgent.h"

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#define LIMIT_US 200000
#define NICE     (-10)

/* It has used a CPU for too long without waiting. sched_setscheduler() is safe here. */
static void end_urgency(int signal)
{
	struct sched_param ordinary = {0};

	(void)signal;
	sched_setscheduler(0, SCHED_OTHER, &ordinary);
}

/* Without a guard a loop that never ends would take the CPU away from everything else. */
static int set_guard(void)
{
	struct sigaction action = {.sa_handler = end_urgency, .sa_flags = SA_RESTART};
	struct rlimit limit;

	if (getrlimit(RLIMIT_RTTIME, &limit) < 0)
		return -1;
	if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max > LIMIT_US)
		limit.rlim_cur = LIMIT_US;
	sigemptyset(&action.sa_mask);
	return sigaction(SIGXCPU, &action, NULL) < 0 ? -1 : setrlimit(RLIMIT_RTTIME, &limit);
}

enum gp_urgency gp_urgent_begin(void)
{
	struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_RR)},
			   none = {0};

	if (set_guard() == 0 && sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &lowest) == 0)
		return gp_urgent_now();
	if (getpriority(PRIO_PROCESS, 0) <= NICE || setpriority(PRIO_PROCESS, 0, NICE) == 0)
		sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &none);
	return gp_urgent_now();
}

enum gp_urgency gp_urgent_now(void)
{
	int policy = sched_getscheduler(0);

	if (policy >= 0 && (policy & ~SCHED_RESET_ON_FORK) == SCHED_RR)
		return GP_URGENCY_REALTIME;
	return getpriority(PRIO_PROCESS, 0) <= NICE ? GP_URGENCY_NICE : GP_URGENCY_NORMAL;
}

const char *gp_urgency_name(enum gp_urgency urgency)
{
	static const char *const names[] = {"normal", "nice", "realtime"};

	return names[urgency];
}
