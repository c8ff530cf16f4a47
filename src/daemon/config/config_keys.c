// SPDX-License-Identifier: MIT
/* Keys of the configuration and their values: see config_keys.h. */
#include "daemon/config/config_keys.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/i18n.h"
#include "base/parse.h"

#define US   GP_NS_PER_US
#define MS   GP_NS_PER_MS
#define S    GP_NS_PER_S
#define SPAN GP_SCHED_SPAN_MAX

static const char *const modes[] = {"observe", "act", NULL};
/* enum gp_daemon_strict */
static const char *const stricts[] = {"no", "requests", "always", "activity", NULL};
/* enum gp_daemon_metrics_jobs */
static const char *const metrics_jobs[] = {"no", "groups", "all", NULL};
static const char *const classes[] = {"normal", "online", "offline", NULL};

#define KEY(structure, name, type, member, min, max, words)                              \
	{                                                                                \
		name, GP_KEY_##type, offsetof(struct structure, member), min, max, words \
	}
#define END                  \
	{                    \
		.name = NULL \
	}

#define DAEMON(name, type, member, min, max, words) \
	KEY(gp_daemon_config, name, type, member, min, max, words)
const struct gp_daemon_key gp_daemon_keys[] = {
	DAEMON("mode", WORD, mode, 0, 0, modes),
	DAEMON("lease", TIME, lease_ns, 50 * MS, 60 * S, NULL),
	DAEMON("max_suspend", TIME, max_suspend_ns, MS, SPAN, NULL),
	DAEMON("operation_timeout", TIME, operation_timeout_ns, MS, 60 * S, NULL),
	DAEMON("scan_interval", TIME, scan_ns, 10 * MS, 60 * S, NULL),
	DAEMON("read_fastest", TIME, read_fastest_ns, 20 * US, S, NULL),
	DAEMON("read_slowest", TIME, read_slowest_ns, 20 * US, 10 * S, NULL),
	DAEMON("decisions", COUNT, decisions, 16, 1u << 20, NULL),
	DAEMON("decision_log", TEXT, decision_log, 0, 0, NULL),
	DAEMON("decision_log_size", BYTES, decision_log_bytes, 64 << 10, 1ull << 40, NULL),
	DAEMON("decision_log_files", COUNT, decision_log_files, 1, 100, NULL),
	DAEMON("max_jobs", COUNT, max_jobs, 1, GP_SCHED_MAX_JOBS, NULL),
	DAEMON("max_processes", COUNT, max_processes, 1, GP_SCHED_MAX_PROCESSES, NULL),
	DAEMON("max_queues", COUNT, max_queues, 1, GP_SCHED_MAX_QUEUES, NULL),
	DAEMON("metrics_address", ADDRESS, metrics_address, 0, 0, NULL),
	DAEMON("metrics_port", COUNT, metrics_port, 0, 65535, NULL),
	DAEMON("metrics_jobs", WORD, metrics_jobs, 0, 0, metrics_jobs),
	DAEMON("metrics_max_jobs", COUNT, metrics_max_jobs, 1, GP_SCHED_MAX_JOBS, NULL),
	DAEMON("latency_target", TIME, latency_target_ns, 0, 3600 * S, NULL),
	DAEMON("swap_memory", BYTES, swap_memory, 1, 1ull << 50, NULL),
	DAEMON("activity", YES_NO, activity, 0, 0, NULL),
	DAEMON("stand_down", YES_NO, stand_down, 0, 0, NULL),
	END,
};

#define DEVICE(name, type, member, min, max, words) \
	KEY(gp_daemon_config_device, name, type, member, min, max, words)
const struct gp_daemon_key gp_daemon_device_keys[] = {
	DEVICE("policy", WORD, policy, 0, 0, NULL),
	DEVICE("suspend", YES_NO, suspend, 0, 0, NULL),
	DEVICE("share", YES_NO, share, 0, 0, NULL),
	DEVICE("copies", YES_NO, copies, 0, 0, NULL),
	DEVICE("park", YES_NO, park, 0, 0, NULL),
	DEVICE("suspend_cost", TIME, suspend_cost_ns, 0, SPAN, NULL),
	DEVICE("resume_cost", TIME, resume_cost_ns, 0, SPAN, NULL),
	DEVICE("min_run", TIME, min_run_ns, 0, SPAN, NULL),
	DEVICE("turn", TIME, turn_ns, US, SPAN, NULL),
	DEVICE("linger", TIME, linger_ns, 0, SPAN, NULL),
	DEVICE("hint", TIME, hint_ns, 0, SPAN, NULL),
	DEVICE("unknown", TIME, unknown_ns, 0, SPAN, NULL),
	DEVICE("age_step", TIME, age_step_ns, 0, SPAN, NULL),
	DEVICE("slice", TIME, slice_ns, US, SPAN, NULL),
	DEVICE("memory", BYTES, memory_bytes, 0, 1ull << 50, NULL),
	DEVICE("utilisation", PERCENT, utilisation_ppm, 1, 1000000, NULL),
	END,
};

#define USER(name, member, min, max) KEY(gp_daemon_config_user, name, COUNT, member, min, max, NULL)
const struct gp_daemon_key gp_daemon_user_keys[] = {
	USER("max_priority", max_priority, 0, GP_SCHED_PRIORITY_MAX),
	USER("max_weight", max_weight, 1, GP_SCHED_WEIGHT_MAX),
	USER("max_clients", max_clients, 0, GP_SCHED_MAX_PROCESSES),
	USER("max_queues", max_queues, 0, GP_SCHED_MAX_QUEUES),
	USER("max_messages", max_messages, 10, 10000000),
	END,
};

/* In the order of enum gp_daemon_rule_key. */
#define RULE(name, type, member, min, max, words) \
	KEY(gp_daemon_config_rule, name, type, member, min, max, words)
const struct gp_daemon_key gp_daemon_rule_keys[] = {
	RULE("executable", TEXT, executable, 0, 0, NULL),
	RULE("user", TEXT, user, 0, 0, NULL),
	RULE("cgroup", TEXT, cgroup, 0, 0, NULL),
	RULE("container", TEXT, container, 0, 0, NULL),
	RULE("class", WORD, class, 0, 0, classes),
	RULE("priority", COUNT, priority, 0, GP_SCHED_PRIORITY_MAX, NULL),
	RULE("weight", COUNT, weight, 1, GP_SCHED_WEIGHT_MAX, NULL),
	RULE("deadline", TIME, deadline_ns, 10 * US, SPAN, NULL),
	RULE("budget", TIME, budget_ns, US, SPAN, NULL),
	RULE("period", TIME, period_ns, 10 * US, SPAN, NULL),
	RULE("max_suspend", TIME, max_suspend_ns, MS, SPAN, NULL),
	RULE("group", TEXT, group, 0, 0, NULL),
	RULE("policy", OFF, left_alone, 0, 0, NULL),
	RULE("attach", YES_NO, attach, 0, 0, NULL),
	RULE("strict", WORD, strict, 0, 0, stricts),
	RULE("follow_stop", YES_NO, follow_stop, 0, 0, NULL),
	RULE("swap", SWAP, swap, 0, SPAN, NULL),
	END,
};

static int read_count(const struct gp_daemon_key *key, const char *text, u32 *out, char *error)
{
	u64 value;

	if (gp_count_parse(text, key->min, key->max, &value, error))
		return -EINVAL;
	*out = (u32)value;
	return 0;
}

static int read_percent(const char *text, u32 *out, char *wanted, size_t size)
{
	const char *end = text + strlen(text), *p = text;
	u32 value;

	if (gp_parse_u32(&p, end, &value) && value >= 1 && value <= 100 && strcmp(p, "%") == 0) {
		*out = value * 10000;
		return 0;
	}
	snprintf(wanted, size, _("1%% to 100%%"));
	return -EINVAL;
}

static const char *word_at(const struct gp_daemon_key *key, u32 i)
{
	return key->words ? key->words[i] : gp_sched_policy_name(i);
}

static int read_word(const struct gp_daemon_key *key, const char *text, u32 *out, char *wanted,
		     size_t size)
{
	const char *word;
	size_t used = 0;

	for (u32 i = 0; (word = word_at(key, i)); i++) {
		if (strcmp(text, word) == 0) {
			*out = i;
			return 0;
		}
	}
	wanted[0] = 0;
	for (u32 i = 0; (word = word_at(key, i)) && used < size; i++)
		used += (size_t)snprintf(wanted + used, size - used, "%s%s", i ? ", " : "", word);
	return -EINVAL;
}

static int read_yes_no(const char *text, bool *out, char *wanted, size_t size)
{
	bool yes = strcmp(text, "yes") == 0;

	if (yes || strcmp(text, "no") == 0) {
		*out = yes;
		return 0;
	}
	snprintf(wanted, size, _("yes or no"));
	return -EINVAL;
}

static int read_text(const char *text, char *out, char *wanted, size_t size)
{
	size_t length = strlen(text);

	if (length && length < GP_CONFIG_TEXT) {
		memcpy(out, text, length + 1);
		return 0;
	}
	snprintf(wanted, size, _("1 to %d characters"), GP_CONFIG_TEXT - 1);
	return -EINVAL;
}

static int read_address(const char *text, char *out, char *wanted, size_t size)
{
	struct in6_addr address;

	if (inet_pton(AF_INET, text, &address) == 1 || inet_pton(AF_INET6, text, &address) == 1)
		return read_text(text, out, wanted, size);
	snprintf(wanted, size,
		 _("the number of an IPv4 or IPv6 address, such as 127.0.0.1 or ::1"));
	return -EINVAL;
}

static int read_swap(const struct gp_daemon_key *key, const char *text,
		     struct gp_daemon_config_swap *out, char *wanted, size_t size)
{
	char error[GP_UNITS_ERROR];

	*out = (struct gp_daemon_config_swap){.when = GP_SWAP_NEVER};
	if (strcmp(text, "no") == 0)
		return 0;
	out->when = strcmp(text, "on pressure") == 0 ? GP_SWAP_PRESSURE : GP_SWAP_AFTER;
	if (out->when == GP_SWAP_PRESSURE ||
	    (strncmp(text, "after ", 6) == 0 &&
	     gp_duration_parse(text + 6, key->min, key->max, &out->after_ns, error) == 0))
		return 0;
	snprintf(wanted, size, _("no, after TIME (after 5s) or on pressure"));
	return -EINVAL;
}

/* What a value that is not a number may be, in `wanted`. */
static int read_other(const struct gp_daemon_key *key, const char *text, void *out, char *wanted,
		      size_t size)
{
	switch (key->type) {
	case GP_KEY_PERCENT:
		return read_percent(text, out, wanted, size);
	case GP_KEY_YES_NO:
		return read_yes_no(text, out, wanted, size);
	case GP_KEY_WORD:
		return read_word(key, text, out, wanted, size);
	case GP_KEY_TEXT:
		return read_text(text, out, wanted, size);
	case GP_KEY_ADDRESS:
		return read_address(text, out, wanted, size);
	case GP_KEY_SWAP:
		return read_swap(key, text, out, wanted, size);
	default: /* GP_KEY_OFF */
		if (strcmp(text, "off") == 0) {
			*(bool *)out = true;
			return 0;
		}
		snprintf(wanted, size,
			 _("off (do not schedule these jobs), or set the policy in a [device] "
			   "section"));
		return -EINVAL;
	}
}

int gp_daemon_key_read(const struct gp_daemon_key *key, const char *text, void *base,
		       char error[GP_UNITS_ERROR])
{
	void *out = (char *)base + key->offset;
	char wanted[160];

	switch (key->type) {
	case GP_KEY_TIME:
		return gp_duration_parse(text, key->min, key->max, out, error);
	case GP_KEY_COUNT:
		return read_count(key, text, out, error);
	case GP_KEY_BYTES:
		return gp_size_parse(text, key->min, key->max, out, error);
	default:
		if (!read_other(key, text, out, wanted, sizeof(wanted)))
			return 0;
		snprintf(error, GP_UNITS_ERROR, _("invalid value '%s'; use %s"), text, wanted);
		return -EINVAL;
	}
}

int gp_daemon_key_find(const struct gp_daemon_key *keys, const char *name)
{
	for (int i = 0; keys[i].name; i++) {
		if (strcmp(keys[i].name, name) == 0)
			return i;
	}
	return -1;
}
