// SPDX-License-Identifier: MIT
#include "cli/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/i18n.h"

#define BUNDLE_MAX (64u << 20)
#define START      "{\"" GP_CLI_BUNDLE_KEY "\":"
#define START_MAX  256 /* with blanks */

/* Without blanks: indented or not. */
static bool starts_as_bundle(const char *text, size_t len)
{
	const char *expected = START;

	for (size_t i = 0; i < len && *expected; i++) {
		if (strchr(" \t\r\n", text[i]) && text[i])
			continue;
		if (text[i] != *expected)
			return false;
		expected++;
	}
	return !*expected;
}

/*
 * Opens the file if it is a bundle; -1: something else. Only a regular file can be looked at
 * without taking from it what its reader needs: even opening and closing a pipe ends its writer.
 */
static int open_bundle(const char *path)
{
	char start[START_MAX];
	struct stat info;
	ssize_t got;
	int fd;

	if (gp_file_is_standard(path) || stat(path, &info) || !S_ISREG(info.st_mode))
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -1;
	got = pread(fd, start, sizeof(start), 0);
	if (got > 0 && starts_as_bundle(start, (size_t)got))
		return fd;
	close(fd);
	return -1;
}

json_t *gp_cli_bundle_read(const char *path, struct gp_diag *diag, int *error)
{
	struct gp_buf text = {0};
	json_error_t why;
	json_t *bundle = NULL;
	int fd = open_bundle(path);

	*error = 0;
	if (fd < 0)
		return NULL;
	*error = gp_file_read_fd(fd, BUNDLE_MAX, &text);
	close(fd);
	if (*error) {
		gp_buf_free(&text);
		gp_fail(diag, *error, "cannot read %s: %s", path, strerror(-*error));
		return NULL;
	}
	bundle = json_loadb(text.data, text.len, JSON_REJECT_DUPLICATES, &why);
	gp_buf_free(&text);
	if (!json_is_object(bundle))
		*error = gp_fail(diag, -EBADMSG, "%s is a damaged report bundle: line %d: %s", path,
				 why.line, why.text);
	else if (json_integer_value(json_object_get(bundle, GP_CLI_BUNDLE_KEY)) !=
		 GP_CLI_BUNDLE_VERSION)
		*error = gp_fail(diag, -EOPNOTSUPP,
				 "%s is a report bundle of another version of gpreempt", path);
	if (!*error)
		return bundle;
	json_decref(bundle);
	return NULL;
}

/* ---- the document ---- */

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* A word of the doctor's JSON as the doctor says it to a person. */
static struct gp_show_value said(const char *word)
{
	static const struct {
		const char *word, *text;
	} words[] = {
		{"can", N_("usable")},
		{"cannot", N_("not usable")},
		{"unknown", N_("unknown")},
		{"stops", N_("prevents preemption")},
		{"costs", N_("limits preemption")},
		{"know", N_("to know")},
		{"cpsch", N_("the hardware scheduler (CPSCH)")},
		{"mes", "MES"},
		{"none", N_("the driver (sched_policy=2)")},
	};

	for (size_t i = 0; i < GP_ARRAY_SIZE(words); i++) {
		if (!strcmp(word, words[i].word))
			return gp_v_word(word, gettext(words[i].text));
	}
	return gp_v_text_or_missing(word);
}

static void add_versions(struct gp_doc *doc, const json_t *bundle)
{
	const json_t *doctor = json_object_get(bundle, "doctor");
	const json_t *amdgpu = json_object_get(doctor, "amdgpu");
	const json_t *rocr = json_array_get(json_object_get(doctor, "rocr"), 0);

	gp_doc_fact(doc, "created", "created", gp_v_text_or_missing(text_of(bundle, "created")));
	gp_doc_fact(doc, "gpreempt", "gpreempt", gp_v_text_or_missing(text_of(bundle, "gpreempt")));
	gp_doc_fact(doc, "kernel", "kernel",
		    gp_v_text_or_missing(text_of(json_object_get(doctor, "kernel"), "release")));
	gp_doc_fact(doc, "amdgpu", "amdgpu", gp_v_text_or_missing(text_of(amdgpu, "origin")));
	gp_doc_fact(doc, "amdgpu_version", "amdgpu version",
		    gp_v_text_or_missing(text_of(amdgpu, "version")));
	gp_doc_fact(doc, "scheduler", "queues are scheduled by",
		    said(text_of(amdgpu, "scheduler")));
	gp_doc_fact(doc, "kfd", "KFD",
		    gp_v_text_or_missing(text_of(json_object_get(doctor, "kfd"), "version")));
	gp_doc_fact(doc, "rocr", "ROCr", gp_v_text_or_missing(text_of(rocr, "version")));
	gp_doc_fact(doc, "libc", "glibc", gp_v_text_or_missing(text_of(bundle, "libc")));
}

/* A table of an array of the doctor's JSON. */
static void add_table(struct gp_doc *doc, const json_t *rows, const char *key,
		      const char *const *keys, const char *const *titles)
{
	size_t index;
	json_t *row;

	gp_doc_table(doc, key, NULL);
	gp_doc_if_empty(doc, NULL);
	for (size_t i = 0; keys[i]; i++)
		gp_doc_column(doc, keys[i], titles[i]);
	json_array_foreach(rows, index, row)
	{
		for (size_t i = 0; keys[i]; i++) {
			const json_t *value = json_object_get(row, keys[i]);
			const char *text = text_of(row, keys[i]);
			bool word = !strcmp(keys[i], "verdict") || !strcmp(keys[i], "weight");

			gp_doc_cell(doc, json_is_integer(value)
						 ? gp_v_count((u64)json_integer_value(value))
					 : word ? said(text)
						: gp_v_text_or_missing(text));
		}
	}
}

static void add_selftest(struct gp_doc *doc, const json_t *selftest)
{
	size_t index;
	json_t *mechanism;

	gp_doc_table(doc, "selftest", "Self-test");
	gp_doc_if_empty(doc, "The bundle has no results of 'gpreempt selftest'.");
	gp_doc_column(doc, "mechanism", "MECHANISM");
	gp_doc_column(doc, "works", "WORKS");
	gp_doc_column(doc, "queues", "QUEUES");
	gp_doc_column(doc, "suspend_p50_ns", "SUSPEND P50");
	gp_doc_column(doc, "resume_p50_ns", "RESUME P50");
	gp_doc_column(doc, "reason", "WHY");
	json_array_foreach(json_object_get(selftest, "mechanisms"), index, mechanism)
	{
		const json_t *measured = json_object_get(mechanism, "measured");
		size_t count = json_array_size(measured);

		for (size_t i = 0; i < (count ? count : 1); i++) {
			const json_t *one = json_array_get(measured, i);
			u64 queues = 0, suspend = 0, resume = 0;
			bool known = gp_json_get_u64(one, "queues", &queues);

			gp_doc_cell(doc, gp_v_text(text_of(mechanism, "name")));
			gp_doc_cell(doc,
				    gp_v_bool(json_is_true(json_object_get(mechanism, "works"))));
			gp_doc_cell(doc, gp_v_if(known, gp_v_count(queues)));
			known = gp_json_get_u64(json_object_get(one, "suspend"), "p50_ns",
						&suspend);
			gp_doc_cell(doc, gp_v_if(known, gp_v_ns(suspend)));
			known = gp_json_get_u64(json_object_get(one, "resume"), "p50_ns", &resume);
			gp_doc_cell(doc, gp_v_if(known, gp_v_ns(resume)));
			gp_doc_cell(doc, gp_v_text_or_missing(text_of(mechanism, "reason")));
		}
	}
}

static void add_files(struct gp_doc *doc, json_t *files)
{
	const char *name;
	json_t *text;

	gp_doc_table(doc, "files", "Files");
	gp_doc_if_empty(doc, "The bundle has no files of the driver.");
	gp_doc_column(doc, "path", "PATH");
	gp_doc_column(doc, "bytes", "BYTES");
	gp_doc_right(doc);
	json_object_foreach(files, name, text)
	{
		gp_doc_cell(doc, gp_v_text(name));
		gp_doc_cell(doc, gp_v_count(json_string_length(text)));
	}
}

struct gp_doc *gp_cli_bundle_doc(const json_t *bundle)
{
	static const char *const gpu_keys[] = {"kind", "node",      "name",         "gfx", "cus",
					       "xccs", "partition", "mec_firmware", NULL};
	static const char *const gpu_titles[] = {"KIND", "NODE", "NAME",      "GFX",
						 "CUS",  "XCCS", "PARTITION", "FIRMWARE"};
	static const char *const mechanism_keys[] = {"name", "verdict", "reason", NULL};
	static const char *const mechanism_titles[] = {"MECHANISM", "VERDICT", "WHY"};
	static const char *const advice_keys[] = {"weight", "text", "fix", NULL};
	static const char *const advice_titles[] = {"WEIGHT", "FINDING", "FIX"};
	const json_t *doctor = json_object_get(bundle, "doctor");
	struct gp_doc *doc = gp_doc_new_answer();

	add_versions(doc, bundle);
	add_table(doc, json_object_get(doctor, "gpus"), "gpus", gpu_keys, gpu_titles);
	add_table(doc, json_object_get(doctor, "mechanisms"), "mechanisms", mechanism_keys,
		  mechanism_titles);
	add_table(doc, json_object_get(doctor, "advice"), "advice", advice_keys, advice_titles);
	add_selftest(doc, json_object_get(bundle, "selftest"));
	gp_doc_fact(doc, "calibrated", NULL,
		    gp_v_bool(json_is_object(json_object_get(bundle, "calibration"))));
	add_files(doc, json_object_get(bundle, "files"));
	return doc;
}
