/* SPDX-License-Identifier: MIT */
/*
 * The keys of the configuration file: a table per section, with the type, place and range of each
 * value.
 */
#ifndef GP_DAEMON_CONFIG_KEYS_H
#define GP_DAEMON_CONFIG_KEYS_H

#include "base/units.h"
#include "daemon/config/config.h"

enum gp_daemon_key_type {
	GP_KEY_TIME,    /* "250us", "2s": nanoseconds in a u64 */
	GP_KEY_COUNT,   /* a number: u32 */
	GP_KEY_BYTES,   /* "192GiB": u64 */
	GP_KEY_PERCENT, /* "80%", in millionths: u32 */
	GP_KEY_YES_NO,
	GP_KEY_WORD,    /* one of `words`, its index: u32 */
	GP_KEY_TEXT,    /* char[GP_CONFIG_TEXT] */
	GP_KEY_ADDRESS, /* the same, the number of an IP address */
	GP_KEY_OFF,     /* "off": true */
	GP_KEY_SWAP,    /* "no", "after 5s", "on pressure": struct gp_daemon_config_swap */
};

struct gp_daemon_key {
	const char *name;
	enum gp_daemon_key_type type;
	size_t offset;
	u64 min, max;
	const char *const *words; /* NULL-terminated; NULL: the names of the policies */
};

/* Ends with an entry without a name. A key's bit in `given` is its place in the table. */
extern const struct gp_daemon_key gp_daemon_keys[], gp_daemon_device_keys[], gp_daemon_user_keys[],
	gp_daemon_rule_keys[];

/*
 * Reads a value into the structure at `base`. 0, or -EINVAL and in `error` a sentence that says
 * what is wrong with the value.
 */
int gp_daemon_key_read(const struct gp_daemon_key *key, const char *text, void *base,
		       char error[GP_UNITS_ERROR]);

/* The index of the key, or -1. */
int gp_daemon_key_find(const struct gp_daemon_key *keys, const char *name);

#endif
