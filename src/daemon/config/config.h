/* SPDX-License-Identifier: MIT */
/*
 * The configuration of gpreemptd: one INI file (docs/reference/configuration.md lists every key).
 * Reading it changes nothing but the structure: a file with one mistake is refused whole, and every
 * mistake is said with file, line and what to write instead. `gpreempt config check` and the daemon
 * use the same functions.
 */
#ifndef GP_DAEMON_CONFIG_H
#define GP_DAEMON_CONFIG_H

#include "base/diag.h"
#include "sched/sched.h"

enum {
	GP_CONFIG_TEXT = 128,          /* bytes of a name or pattern, NUL included */
	GP_CONFIG_SECTIONS = 256,      /* of each kind */
	GP_CONFIG_BYTES = 1024 * 1024, /* of a file */
};

/* When a job on a GPU that is shared by slices suspends jobs of lower priority: see strict.c. */
enum gp_daemon_strict { GP_STRICT_NO, GP_STRICT_REQUESTS, GP_STRICT_ALWAYS, GP_STRICT_ACTIVITY };

/* When the memory of a job that is kept off the GPU goes to host memory: see swap.c. */
enum gp_daemon_swap_when { GP_SWAP_NEVER, GP_SWAP_AFTER, GP_SWAP_PRESSURE };
struct gp_daemon_config_swap {
	u32 when; /* enum gp_daemon_swap_when */
	u64 after_ns;
};

/* Which jobs have separate metrics. */
enum gp_daemon_metrics_jobs {
	GP_METRICS_JOBS_NO,
	GP_METRICS_JOBS_GROUPS,
	GP_METRICS_JOBS_ALL,
};

enum gp_daemon_mode { GP_MODE_OBSERVE, GP_MODE_ACT };

/* [device *] or [device GPU]: a KFD gpu_id as `gpreempt ps --json` shows it, or "node N". */
struct gp_daemon_config_device {
	char name[GP_CONFIG_TEXT];
	u64 given; /* bits of the keys that were given; the others are those of [device *] */
	bool suspend, share;
	bool copies; /* suspending also stops copy engines, where they are separate */
	bool park;   /* idle jobs leave it where it has fewer VMIDs than there are programs */
	u32 policy;  /* enum gp_sched_policy_id */
	u64 suspend_cost_ns, resume_cost_ns;
	u64 min_run_ns, turn_ns, linger_ns, hint_ns, unknown_ns, age_step_ns, slice_ns;
	u64 memory_bytes;
	u32 utilisation_ppm;
};

/* [user *] or [user NAME]: limits for requests and resources of the user's processes. */
struct gp_daemon_config_user {
	char name[GP_CONFIG_TEXT];
	u64 given;
	u32 max_priority, max_weight;
	u32 max_clients, max_queues;
	u32 max_messages; /* per second and client */
};

/* Bits of gp_daemon_config_user.given, in the order of gp_daemon_user_keys. */
enum gp_daemon_user_key { GP_USER_MAX_PRIORITY = 1u << 0 };

/* [rule NAME]: all patterns that are given must match; the first rule that does counts. */
struct gp_daemon_config_rule {
	char name[GP_CONFIG_TEXT];
	u64 given; /* enum gp_daemon_rule_key */
	char executable[GP_CONFIG_TEXT], user[GP_CONFIG_TEXT], cgroup[GP_CONFIG_TEXT],
		container[GP_CONFIG_TEXT];
	u32 class; /* enum gp_sched_class */
	u32 priority, weight;
	u64 deadline_ns, budget_ns, period_ns, max_suspend_ns;
	char group[GP_CONFIG_TEXT];
	bool left_alone;  /* policy = off */
	bool attach;      /* control it although it was not started with `gpreempt run` */
	u32 strict;       /* enum gp_daemon_strict */
	bool follow_stop; /* suspend the GPU work of processes that the host has stopped */
	struct gp_daemon_config_swap swap;
};

/* Bits of gp_daemon_config_rule.given. */
enum gp_daemon_rule_key {
	GP_RULE_EXECUTABLE = 1u << 0,
	GP_RULE_USER = 1u << 1,
	GP_RULE_CGROUP = 1u << 2,
	GP_RULE_CONTAINER = 1u << 3,
	GP_RULE_CLASS = 1u << 4,
	GP_RULE_PRIORITY = 1u << 5,
	GP_RULE_WEIGHT = 1u << 6,
	GP_RULE_DEADLINE = 1u << 7,
	GP_RULE_BUDGET = 1u << 8,
	GP_RULE_PERIOD = 1u << 9,
	GP_RULE_MAX_SUSPEND = 1u << 10,
	GP_RULE_GROUP = 1u << 11,
	GP_RULE_POLICY = 1u << 12,
	GP_RULE_ATTACH = 1u << 13,
	GP_RULE_STRICT = 1u << 14,
	GP_RULE_FOLLOW_STOP = 1u << 15,
	GP_RULE_SWAP = 1u << 16,
	GP_RULE_PATTERNS = 0xf,
};

struct gp_daemon_config {
	u32 mode; /* enum gp_daemon_mode */
	u64 lease_ns, max_suspend_ns, operation_timeout_ns;
	u64 scan_ns;                          /* between looks for processes to attach */
	u64 read_fastest_ns, read_slowest_ns; /* between looks at rings of attached processes */
	u32 decisions;                        /* kept in memory */
	u32 max_jobs, max_processes, max_queues;
	char metrics_address[GP_CONFIG_TEXT]; /* a number, of IPv4 or IPv6 */
	u32 metrics_port;                     /* 0: none */
	char decision_log[GP_CONFIG_TEXT];    /* a file; "": none */
	u64 decision_log_bytes;               /* before it rotates */
	u32 decision_log_files;
	u32 metrics_jobs;      /* enum gp_daemon_metrics_jobs */
	u32 metrics_max_jobs;  /* with separate series */
	u64 latency_target_ns; /* of the class online, for alerts; 0: none */
	u64 swap_memory;       /* host memory for jobs that are out; 0: half of it */
	bool activity;         /* read which process uses a GPU, where the driver reports it */
	bool stand_down;       /* where acting costs more than it gains */

	/* The first is "*", whether it was given or not. */
	struct gp_daemon_config_device *devices;
	size_t device_count, device_capacity;
	struct gp_daemon_config_user *users;
	size_t user_count, user_capacity;
	struct gp_daemon_config_rule *rules;
	size_t rule_count, rule_capacity;
};

/* The built-in values. -ENOMEM. */
int gp_daemon_config_defaults(struct gp_daemon_config *config);
void gp_daemon_config_free(struct gp_daemon_config *config);

/* Messages name the file `name`. -EINVAL after all mistakes were reported; *out is then empty. */
int gp_daemon_config_parse(const char *name, const char *text, size_t size, struct gp_diag *diag,
			   struct gp_daemon_config *out);
int gp_daemon_config_read(const char *path, struct gp_diag *diag, struct gp_daemon_config *out);

/* The turn of a batch job where the hardware shares by time slices. */
#define GP_CONFIG_TURN_NS (200 * GP_NS_PER_MS)
struct gp_daemon_config_gpu {
	u32 gpu_id, node;
};
/* Whether the section, not [device *], is of that GPU. */
bool gp_daemon_config_is_device(const struct gp_daemon_config_device *device, u32 gpu_id, u32 node);
/* Warns of sections of devices that are not among these. Returns how many there are. */
u32 gp_daemon_config_absent(const struct gp_daemon_config *config,
			    const struct gp_daemon_config_gpu *gpus, size_t count,
			    struct gp_diag *diag);
/* The settings of a device or a user: [device *], overridden by its own section. `slices`: the
 * hardware shares the device by time slices, which cost nothing while the others are idle, so
 * shares are the default. */
void gp_daemon_config_device(const struct gp_daemon_config *config, u32 gpu_id, u32 node,
			     bool slices, struct gp_sched_device_config *out);
/* Whether suspending for this device also stops copy engines. */
bool gp_daemon_config_copies(const struct gp_daemon_config *config, u32 gpu_id, u32 node);
bool gp_daemon_config_parks(const struct gp_daemon_config *config, u32 gpu_id, u32 node);
void gp_daemon_config_user(const struct gp_daemon_config *config, u32 uid, const char *user,
			   struct gp_daemon_config_user *out);

#endif
