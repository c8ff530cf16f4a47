/* SPDX-License-Identifier: MIT */
/*
 * A thread that others wait for gets a CPU before ordinary work, as far as the system allows it: by
 * the real-time class with the lowest priority, or a better nice value. A thread that then uses a
 * CPU for a fifth of a second without waiting returns to the ordinary class. New threads and
 * processes start in the ordinary class.
 */
#ifndef GP_BASE_HOST_URGENT_H
#define GP_BASE_HOST_URGENT_H

enum gp_urgency {
	GP_URGENCY_NORMAL, /* nothing was allowed */
	GP_URGENCY_NICE,
	GP_URGENCY_REALTIME,
};

/* For the calling thread; what was obtained, as the kernel says. */
enum gp_urgency gp_urgent_begin(void);
/* As it is now: the guard may have ended it. */
enum gp_urgency gp_urgent_now(void);
/* "normal", "nice", "realtime" */
const char *gp_urgency_name(enum gp_urgency urgency);

#endif
