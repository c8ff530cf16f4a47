// SPDX-License-Identifier: MIT
/* Sections and lines of the configuration file: see config.h; the keys are in config_keys.c. */
#include "daemon/config/config.h"

#include <errno.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/i18n.h"
#include "base/parse.h"
#include "daemon/config/config_keys.h"

#define BLANKS " \t\r\v\f"
enum { LINE_BYTES = 200 };

enum section {
	SECTION_NONE,
	SECTION_UNKNOWN, /* of no kind that there is */
	SECTION_DAEMON,
	SECTION_DEVICE,
	SECTION_USER,
	SECTION_RULE
};

/* One reading of a file. inih splits lines; sections are handled here, so that an empty or repeated
 * one is noticed, and lines are counted here, because inih does not report them. */
struct reading {
	const char *name, *text, *end;
	struct gp_diag *diag;
	struct gp_daemon_config *config;
	u32 line, section_line;
	size_t mistakes;
	enum section section;
	bool wrong; /* the section is a mistake: its keys are checked and go nowhere */
	union {
		struct gp_daemon_config daemon;
		struct gp_daemon_config_device device;
		struct gp_daemon_config_user user;
		struct gp_daemon_config_rule rule;
	} nowhere;
	u64 nowhere_given;
	char title[GP_CONFIG_TEXT + 16]; /* "[rule trainer]" */
	bool daemon_seen, star_device_seen, star_user_seen;
	u64 daemon_given;
};

/* Translates its format. */
static void __attribute__((format(printf, 2, 3)))
mistake(struct reading *reading, const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), gettext(format), arguments);
	va_end(arguments);
	reading->mistakes++;
	gp_fail(reading->diag, -EINVAL, "%s:%u: %s", reading->name, reading->line, text);
}

/* ---- sections ---- */

static bool device_name_ok(const char *name)
{
	u64 number;

	if (strncmp(name, "node ", 5) == 0)
		return gp_argument_u64(name + 5, &number) && number <= UINT32_MAX;
	return gp_argument_u64(name, &number) && number && number <= UINT32_MAX;
}

/* A number needs no entry. Where users cannot be looked up, the name stands. */
static bool user_name_ok(const char *name)
{
	u64 number;

	if (gp_argument_u64(name, &number) && number < UINT32_MAX)
		return true;
	errno = 0;
	if (getpwnam(name))
		return true;
	/* getpwnam(3): these mean that there is none. */
	return errno && errno != ENOENT && errno != ESRCH && errno != EBADF && errno != EPERM;
}

static void repeated(struct reading *reading)
{
	mistake(reading, "duplicate section %s; merge the two sections", reading->title);
	reading->wrong = true;
}

/* Ids are hexadecimal where people see them and decimal in sysfs: "0x…" is kept as the other. */
static const char *plain_id(const char *name, char *room, size_t size)
{
	const char *p = name + 2, *end = name + strlen(name);
	u64 number;

	if (strncmp(name, "0x", 2) != 0 || !gp_parse_hex(&p, end, &number) || p != end)
		return name;
	snprintf(room, size, "%llu", (unsigned long long)number);
	return room;
}

/* A new entry of an array whose entries begin with their name; the first `skip` have none. */
static void add(struct reading *reading, void **array, size_t *count, size_t *capacity, size_t size,
		size_t skip, const char *name)
{
	char *entry;

	reading->wrong = true;
	for (size_t i = skip; i < *count; i++) {
		if (strcmp((char *)*array + size * i, name) == 0) {
			repeated(reading);
			return;
		}
	}
	if (*count == GP_CONFIG_SECTIONS) {
		mistake(reading, "too many sections of this kind (at most %d)", GP_CONFIG_SECTIONS);
		return;
	}
	if (gp_array_grow(array, *count, capacity, size)) {
		mistake(reading, "out of memory");
		return;
	}
	entry = (char *)*array + size * (*count)++;
	memset(entry, 0, size);
	snprintf(entry, GP_CONFIG_TEXT, "%.*s", GP_CONFIG_TEXT - 1, name);
	reading->wrong = false;
}

/* True: the section is "*", whose keys go to the first entry. */
static bool is_star(struct reading *reading, const char *name, bool *seen)
{
	if (strcmp(name, "*") != 0)
		return false;
	if (*seen)
		repeated(reading);
	*seen = true;
	return true;
}

static void begin_device(struct reading *reading, const char *given)
{
	struct gp_daemon_config *config = reading->config;
	char room[32];
	const char *name = plain_id(given, room, sizeof(room));

	reading->section = SECTION_DEVICE;
	if (is_star(reading, name, &reading->star_device_seen))
		return;
	if (!device_name_ok(name)) {
		mistake(reading,
			"invalid device '%s'; use [device *], [device 0xID] with the id from "
			"'gpreempt top', or [device node N]",
			given);
		reading->wrong = true;
		return;
	}
	add(reading, (void **)&config->devices, &config->device_count, &config->device_capacity,
	    sizeof(*config->devices), 1, name);
}

static void begin_user(struct reading *reading, const char *name)
{
	struct gp_daemon_config *config = reading->config;

	reading->section = SECTION_USER;
	if (!is_star(reading, name, &reading->star_user_seen)) {
		if (!user_name_ok(name))
			mistake(reading,
				"unknown user '%s'; use the name of an existing user or a numeric "
				"uid",
				name);
		add(reading, (void **)&config->users, &config->user_count, &config->user_capacity,
		    sizeof(*config->users), 1, name);
	}
}

static void begin_rule(struct reading *reading, const char *name)
{
	struct gp_daemon_config *config = reading->config;

	reading->section = SECTION_RULE;
	add(reading, (void **)&config->rules, &config->rule_count, &config->rule_capacity,
	    sizeof(*config->rules), 0, name);
}

/* Reports missing keys at the end of a section, with the line of its beginning. */
static void end_section(struct reading *reading)
{
	const struct gp_daemon_config *config = reading->config;
	u32 line = reading->line;

	if (reading->section != SECTION_RULE || reading->wrong)
		return;
	reading->line = reading->section_line;
	const struct gp_daemon_config_rule *rule = &config->rules[config->rule_count - 1];
	if (!(rule->given & GP_RULE_PATTERNS))
		mistake(reading,
			"[rule %s] does not say which programs it applies to; add executable, "
			"user, cgroup or container (executable = * matches every program)",
			rule->name);
	if (!(rule->given & ~(u64)GP_RULE_PATTERNS))
		mistake(reading,
			"[rule %s] has no effect; add class, priority, weight, group, deadline, "
			"max_suspend, policy, attach, strict or swap",
			rule->name);
	if ((rule->given & GP_RULE_DEADLINE) && !(rule->given & GP_RULE_BUDGET))
		mistake(reading,
			"[rule %s] has a deadline without a budget; add budget = TIME, the GPU "
			"time of one burst",
			rule->name);
	if ((rule->given & (GP_RULE_BUDGET | GP_RULE_PERIOD)) && !(rule->given & GP_RULE_DEADLINE))
		mistake(reading,
			"[rule %s] has a budget or period without a deadline; add deadline = TIME",
			rule->name);
	if ((rule->given & GP_RULE_DEADLINE) && rule->budget_ns > rule->deadline_ns)
		mistake(reading, "[rule %s] has a budget longer than its deadline", rule->name);
	reading->line = line;
}

static void begin_section(struct reading *reading, char *line)
{
	char *close = strchr(line, ']'), *name = line + 1;
	const char *rest;

	end_section(reading);
	reading->section = SECTION_UNKNOWN;
	reading->wrong = false;
	reading->nowhere_given = 0;
	reading->section_line = reading->line;
	if (!close) {
		mistake(reading, "missing ']' after the section name");
		return;
	}
	rest = close + 1;
	rest += strspn(rest, " \t\r\n");
	if (*rest && *rest != ';' && *rest != '#') {
		mistake(reading, "unexpected text after ']'; start a new line");
		return;
	}
	*close = 0;
	if (close - name >= GP_CONFIG_TEXT) {
		mistake(reading, "the section name is too long (at most %d characters)",
			GP_CONFIG_TEXT - 1);
		return;
	}
	snprintf(reading->title, sizeof(reading->title), "[%.*s]", GP_CONFIG_TEXT, name);
	if (strcmp(name, "daemon") == 0) {
		reading->section = SECTION_DAEMON;
		if (reading->daemon_seen)
			repeated(reading);
		reading->daemon_seen = true;
	} else if (strncmp(name, "device ", 7) == 0 && name[7]) {
		begin_device(reading, name + 7);
	} else if (strncmp(name, "user ", 5) == 0 && name[5]) {
		begin_user(reading, name + 5);
	} else if (strncmp(name, "rule ", 5) == 0 && name[5]) {
		begin_rule(reading, name + 5);
	} else {
		mistake(reading,
			"unknown section %s; use [daemon], [device GPU_ID], [user NAME] or [rule "
			"NAME]",
			reading->title);
	}
}

/* ---- lines ---- */

/* The keys of the section, and where their values go; NULL in a section of an unknown kind. */
static const struct gp_daemon_key *keys_of(struct reading *reading, void **base, u64 **given)
{
	static const struct gp_daemon_key *const keys[] = {[SECTION_DAEMON] = gp_daemon_keys,
							   [SECTION_DEVICE] = gp_daemon_device_keys,
							   [SECTION_USER] = gp_daemon_user_keys,
							   [SECTION_RULE] = gp_daemon_rule_keys};
	struct gp_daemon_config *config = reading->config;
	size_t device = strcmp(reading->title, "[device *]") ? config->device_count - 1 : 0;
	size_t user = strcmp(reading->title, "[user *]") ? config->user_count - 1 : 0;

	switch (reading->wrong ? SECTION_NONE : reading->section) {
	case SECTION_DAEMON:
		*base = config;
		*given = &reading->daemon_given;
		break;
	case SECTION_DEVICE:
		*base = &config->devices[device];
		*given = &config->devices[device].given;
		break;
	case SECTION_USER:
		*base = &config->users[user];
		*given = &config->users[user].given;
		break;
	case SECTION_RULE:
		*base = &config->rules[config->rule_count - 1];
		*given = &config->rules[config->rule_count - 1].given;
		break;
	default:
		*base = &reading->nowhere;
		*given = &reading->nowhere_given;
	}
	return keys[reading->section];
}

static void unknown_key(struct reading *reading, const struct gp_daemon_key *keys, const char *name)
{
	struct gp_nearest nearest = {.typed = name};
	struct gp_buf all = {0};

	for (size_t i = 0; keys[i].name; i++) {
		gp_nearest_look(&nearest, keys[i].name);
		gp_buf_printf(&all, "%s%s", i ? ", " : "", keys[i].name);
	}
	if (*nearest.word)
		mistake(reading, "unknown key '%s' in %s; did you mean '%s'?", name, reading->title,
			nearest.word);
	else
		mistake(reading, "unknown key '%s' in %s; known keys: %s", name, reading->title,
			gp_buf_str(&all));
	gp_buf_free(&all);
}

/* In a section of which even the kind is not known: a key that no kind has. */
static void check_anywhere(struct reading *reading, const char *name)
{
	const struct gp_daemon_key *const all[] = {gp_daemon_keys, gp_daemon_device_keys,
						   gp_daemon_user_keys, gp_daemon_rule_keys};

	for (size_t i = 0; i < GP_ARRAY_SIZE(all); i++) {
		if (gp_daemon_key_find(all[i], name) >= 0)
			return;
	}
	mistake(reading, "unknown key '%s'; gpreemptd.conf(5) lists all keys", name);
}

static void handle(struct reading *reading, const char *name, const char *value)
{
	const struct gp_daemon_key *keys;
	char error[GP_UNITS_ERROR];
	void *base;
	u64 *given;

	if (reading->section == SECTION_NONE) {
		mistake(reading, "'%s' is outside any section; start with [daemon]", name);
		return;
	}
	keys = keys_of(reading, &base, &given);
	if (!keys) {
		check_anywhere(reading, name);
		return;
	}
	int key = gp_daemon_key_find(keys, name);
	if (key < 0)
		unknown_key(reading, keys, name);
	else if (*given & 1ull << key)
		mistake(reading, "duplicate key '%s' in %s; keep only one", name, reading->title);
	else if (gp_daemon_key_read(&keys[key], value, base, error))
		mistake(reading, "%s: %s", name, error);
	if (key >= 0)
		*given |= 1ull << key;
}

/* Without the blanks around it. */
static char *trim(char *text)
{
	char *end = text + strlen(text);

	while (*text && strchr(BLANKS, *text))
		text++;
	while (end > text && strchr(BLANKS, end[-1]))
		*--end = 0;
	return text;
}

/* Whether the line holds a key and its value. */
static bool line_ok(struct reading *reading, char *line, size_t length)
{
	if (memchr(line, 0, length)) {
		mistake(reading, "this is not a text file: it contains a NUL byte");
		return false;
	}
	if (*line == '[') {
		begin_section(reading, line);
		return false;
	}
	if (!*line || *line == ';' || *line == '#')
		return false;
	if (!strpbrk(line, "=:")) {
		mistake(reading, "'%s' is neither [section] nor key = value", line);
		return false;
	}
	return true;
}

/* `key = value`, or `key: value`; a comment in the line begins with a blank and `;`. */
static void take_key(struct reading *reading, char *line)
{
	char *value = strpbrk(line, "=:"), *comment;

	if (!value)
		return;
	*value++ = 0;
	for (comment = strchr(value, ';'); comment; comment = strchr(comment + 1, ';')) {
		if (comment[-1] && strchr(BLANKS, comment[-1])) {
			*comment = 0;
			break;
		}
	}
	handle(reading, trim(line), trim(value));
}

/* The next line, empty if it does not hold a key; false at the end. */
static bool next_line(struct reading *reading, char out[LINE_BYTES])
{
	if (reading->text == reading->end)
		return false;
	const char *start = reading->text;
	const char *newline = memchr(start, '\n', (size_t)(reading->end - start));
	const char *stop = newline ? newline : reading->end;

	reading->text = newline ? newline + 1 : reading->end;
	reading->line++;
	if (reading->line == 1 && stop - start >= 3 && memcmp(start, "\xef\xbb\xbf", 3) == 0)
		start += 3;
	while (start < stop && strchr(BLANKS, *start) && *start)
		start++;
	while (stop > start && strchr(BLANKS, stop[-1]) && stop[-1])
		stop--;
	size_t length = (size_t)(stop - start);
	out[0] = 0;
	if (length >= LINE_BYTES) {
		mistake(reading, "the line is too long (at most %d characters)", LINE_BYTES - 1);
		return true;
	}
	memcpy(out, start, length);
	out[length] = 0;
	if (!line_ok(reading, out, length))
		out[0] = 0;
	return true;
}

int gp_daemon_config_parse(const char *name, const char *text, size_t size, struct gp_diag *diag,
			   struct gp_daemon_config *out)
{
	struct reading reading = {.name = name, .text = text, .end = text + size, .diag = diag};
	char line[LINE_BYTES];
	int error = gp_daemon_config_defaults(out);

	if (error)
		return gp_fail(diag, error, "%s: %s", name, strerror(-error));
	reading.config = out;
	while (next_line(&reading, line))
		take_key(&reading, line);
	end_section(&reading);
	if (!reading.mistakes && out->read_fastest_ns > out->read_slowest_ns)
		mistake(&reading, "read_fastest (%s) must not be longer than read_slowest (%s)",
			gp_duration_text(out->read_fastest_ns).text,
			gp_duration_text(out->read_slowest_ns).text);
	if (!reading.mistakes)
		return 0;
	gp_daemon_config_free(out);
	return -EINVAL;
}

int gp_daemon_config_read(const char *path, struct gp_diag *diag, struct gp_daemon_config *out)
{
	struct gp_buf text = {0};
	int error = gp_file_read(path, GP_CONFIG_BYTES, &text);

	if (error) {
		memset(out, 0, sizeof(*out));
		gp_fail(diag, error, "cannot read %s: %s", path, strerror(-error));
	} else {
		error = gp_daemon_config_parse(path, gp_buf_str(&text), text.len, diag, out);
	}
	gp_buf_free(&text);
	return error;
}
