// SPDX-License-Identifier: MIT
/* gpreempt report-bundle: this machine in one file, to be sent to somebody who cannot touch it. */
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/parse.h"
#include "cli/bundle.h"
#include "cli/command.h"
#include "cli/watch/documents.h"

#define FILE_MAX     (4u << 20)
#define RESULT_MAX   (16u << 20)
#define DEFAULT_FILE "gpreempt-report.json"

/* Every file is named here; nothing is searched for. %s: a name of the directory before it. */
static const char *const driver_files[] = {
	"/sys/module/amdgpu/version",
	"/sys/module/amdgpu/srcversion",
	"/sys/class/kfd/kfd/topology/generation_id",
	"/sys/class/kfd/kfd/topology/system_properties",
	"/sys/kernel/debug/kfd/hqds",
	"/sys/kernel/debug/kfd/mqds",
	"/sys/kernel/debug/kfd/rls",
	"/sys/kernel/debug/kfd/scheduler_stats",
	"/proc/sys/kernel/osrelease",
	"/proc/sys/kernel/yama/ptrace_scope",
	"/sys/kernel/security/lockdown",
};

static const struct {
	const char *directory;
	const char *files[4]; /* of each entry; none: the entry is the file */
} driver_directories[] = {
	{"/sys/module/amdgpu/parameters", {NULL}},
	{"/sys/class/kfd/kfd/topology/nodes", {"gpu_id", "name", "properties"}},
};

enum { OPTION_ROOT = 256, OPTION_SELFTEST, OPTION_CALIBRATION, OPTION_LIST };

struct settings {
	struct gp_root root;
	const char *selftest, *calibration;
	bool list;
	struct gp_diag *diag;
};

/* ---- what goes in ---- */

/* Identifies a card or the links of one machine, not a kind of card. */
static bool is_serial(const char *line, size_t len)
{
	static const char *const keys[] = {"unique_id ", "hive_id "};

	for (size_t i = 0; i < GP_ARRAY_SIZE(keys); i++)
		if (len > strlen(keys[i]) && strncmp(line, keys[i], strlen(keys[i])) == 0)
			return true;
	return false;
}

static json_t *clean(const char *text, size_t len)
{
	struct gp_buf out = {0};
	json_t *json;

	for (const char *p = text, *end = text + len; p < end;) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		size_t line = newline ? (size_t)(newline - p) + 1 : (size_t)(end - p);

		if (!is_serial(p, line))
			gp_buf_add(&out, p, line);
		p += line;
	}
	json = gp_json_text(gp_buf_str(&out), out.len);
	gp_buf_free(&out);
	return json;
}

static void add_file(const struct settings *settings, json_t *files, const char *path)
{
	struct gp_buf text = {0};

	/* A file that is not there, or not for this user, is missing in the bundle. */
	if (gp_root_read(&settings->root, FILE_MAX, &text, "%s", path) == 0)
		json_object_set_new(files, path, clean(gp_buf_str(&text), text.len));
	gp_buf_free(&text);
}

static void add_directory(const struct settings *settings, json_t *files, size_t which)
{
	const char *directory = driver_directories[which].directory;
	struct gp_names names;

	if (gp_root_list(&settings->root, &names, "%s", directory))
		return;
	for (size_t i = 0; i < names.count; i++) {
		const char *const *file = driver_directories[which].files;
		char path[512];

		if (!*file) {
			snprintf(path, sizeof(path), "%s/%s", directory, names.items[i]);
			add_file(settings, files, path);
		}
		for (; *file; file++) {
			snprintf(path, sizeof(path), "%s/%s/%s", directory, names.items[i], *file);
			add_file(settings, files, path);
		}
	}
	gp_names_free(&names);
}

static json_t *all_files(const struct settings *settings)
{
	json_t *files = json_object();

	for (size_t i = 0; i < GP_ARRAY_SIZE(driver_files); i++)
		add_file(settings, files, driver_files[i]);
	for (size_t i = 0; i < GP_ARRAY_SIZE(driver_directories); i++)
		add_directory(settings, files, i);
	return files;
}

/* ---- results of other commands ---- */

/* Only these members go in: a file of this name may be anything. */
static const struct result {
	const char *key, *file, *command;
	const char *mark; /* an object or an array that every such file has */
	const char *members[10];
} results[] = {
	{"selftest",
	 "gpreempt-selftest.json",
	 "gpreempt selftest",
	 "mechanisms",
	 {"gpreempt", "kernel", "gpu", "virtual", "work", "work_reason", "cycles", "mechanisms"}},
	{"calibration",
	 "gpreempt-calibration.json",
	 "gpreempt selftest --calibrate",
	 "cost",
	 {"name", "title", "chip", "cost", "compat", "native"}},
};

/* The user, root, or the user for whom sudo runs this. */
static bool is_trusted(uid_t owner)
{
	const char *sudo = getenv("SUDO_UID"), *end = sudo ? sudo + strlen(sudo) : NULL;
	u64 uid;

	if (owner == 0 || owner == geteuid())
		return true;
	return geteuid() == 0 && sudo && gp_parse_u64(&sudo, end, &uid) && sudo == end &&
	       uid == owner;
}

/*
 * A file that was not named is in a directory where another user may have put it: a link to a file
 * that only root may read, or a pipe that never ends.
 */
static int read_usual(const char *path, struct gp_buf *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY), error;
	struct stat info;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &info))
		error = -errno;
	else if (!S_ISREG(info.st_mode) || !is_trusted(info.st_uid))
		error = -EPERM;
	else
		error = gp_file_read_fd(fd, RESULT_MAX, out);
	close(fd);
	return error;
}

/* NULL: not a file of that command. */
static json_t *known_members(const struct result *result, const json_t *file)
{
	const json_t *mark = json_object_get(file, result->mark);
	json_t *known;

	if (!json_is_object(mark) && !json_is_array(mark))
		return NULL;
	known = json_object();
	for (const char *const *member = result->members; *member; member++) {
		json_t *value = json_object_get(file, *member);

		if (value)
			json_object_set(known, *member, value);
	}
	return known;
}

/* One that was named must be there; of the others, only one that exists is worth a word. */
static int add_result(const struct settings *settings, json_t *bundle, const struct result *result,
		      const char *named)
{
	const char *path = named ? named : result->file;
	struct gp_buf text = {0};
	json_error_t why = {0};
	json_t *file = NULL, *known;
	int error = named ? gp_file_read(path, RESULT_MAX, &text) : read_usual(path, &text);

	if (!error)
		file = json_loadb(gp_buf_str(&text), text.len, 0, &why);
	gp_buf_free(&text);
	known = known_members(result, file);
	json_decref(file);
	json_object_set_new(bundle, result->key, known ? known : json_null());
	if (known || (!named && error == -ENOENT))
		return 0;
	if (!named)
		gp_diag(settings->diag, GP_WARNING,
			"%s is left out: not a regular file of this user with the results of '%s'",
			path, result->command);
	else if (error || *why.text)
		return gp_fail(settings->diag, error ? error : -EBADMSG, "cannot read %s: %s", path,
			       error ? strerror(-error) : why.text);
	else
		return gp_fail(settings->diag, -EBADMSG, "%s does not have the results of '%s'",
			       path, result->command);
	return 0;
}

static int add_doctor(const struct settings *settings, json_t *bundle)
{
	struct gp_inspect_doctor doctor;
	struct gp_doc *doc;
	int error = gp_inspect_doctor_read(&settings->root, settings->diag, false, &doctor);

	if (error)
		return error;
	doc = gp_cli_doctor_doc(&doctor);
	json_object_set_new(bundle, "doctor", doc ? gp_doc_json(doc) : NULL);
	gp_doc_free(doc);
	gp_inspect_doctor_free(&doctor);
	return 0;
}

static json_t *collect(const struct settings *settings)
{
	json_t *bundle = json_object();
	time_t now = time(NULL);
	char created[32];
	struct tm utc;
	int error;

	strftime(created, sizeof(created), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
	json_object_set_new(bundle, GP_CLI_BUNDLE_KEY, json_integer(GP_CLI_BUNDLE_VERSION));
	json_object_set_new(bundle, "created", json_string(created));
	json_object_set_new(bundle, "gpreempt", json_string(GP_VERSION));
	json_object_set_new(bundle, "libc", json_string(gnu_get_libc_version()));
	error = add_doctor(settings, bundle);
	error = error ? error : add_result(settings, bundle, &results[0], settings->selftest);
	error = error ? error : add_result(settings, bundle, &results[1], settings->calibration);
	json_object_set_new(bundle, "files", all_files(settings));
	if (!error)
		return bundle;
	json_decref(bundle);
	return NULL;
}

/* ---- the command ---- */

static void list(json_t *bundle, FILE *out)
{
	json_t *files = json_object_get(bundle, "files"), *value;
	const char *name;

	fprintf(out, "%s\n", _("The report contains:"));
	json_object_foreach(bundle, name, value)
	{
		if (value != files)
			fprintf(out, "  %s%s\n", name,
				json_is_null(value) ? _(" (not available)") : "");
	}
	json_object_foreach(files, name, value)
		fprintf(out, "  %s (%zu)\n", name, json_string_length(value));
	fprintf(out, "%s\n",
		_("It contains no names of processes, users or hosts, no command lines, no "
		  "environment and no serial numbers.\nThe debugfs files contain process "
		  "numbers and addresses of queues."));
}

static int write_bundle(const struct settings *settings, const json_t *bundle, const char *path)
{
	char *text = json_dumps(bundle, JSON_INDENT(1));
	bool standard = gp_file_is_standard(path);
	int fd, error;

	if (!text)
		return -ENOMEM;
	/* An older report stays. The debugfs files in it are root's: for no other user. */
	fd = standard ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
		      : open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	error = fd < 0 ? -errno : gp_file_write_fd(fd, text, strlen(text));
	if (!error)
		error = gp_file_write_fd(fd, "\n", 1);
	if (fd >= 0 && close(fd) && !error)
		error = -errno;
	free(text);
	if (error)
		return gp_fail(settings->diag, error, "cannot write %s: %s", path,
			       strerror(-error));
	if (!standard)
		printf(_("written: %s\n"), path);
	return 0;
}

static int set(void *ctx, int id, const char *value)
{
	struct settings *settings = ctx;

	if (id == OPTION_ROOT)
		settings->root.dir = value;
	else if (id == OPTION_SELFTEST)
		settings->selftest = value;
	else if (id == OPTION_CALIBRATION)
		settings->calibration = value;
	else
		settings->list = true;
	return 0;
}

static int run(const struct gp_command *command, int argc, char **argv)
{
	struct settings settings = {.root = {.dir = ""}};
	struct gp_command_diag sink;
	const char *path;
	json_t *bundle;
	int first, error = 0;
	int status = gp_command_parse(command, argc, argv, set, &settings, &first);

	if (status)
		return status < 0 ? GP_EXIT_USAGE : GP_EXIT_OK;
	if (argc - first > 1)
		return gp_usage_error(command, "unexpected argument '%s'", argv[first + 1]);
	gp_command_diag_init(&sink, command);
	settings.diag = &sink.diag;
	if (gp_command_check_root(command, &settings.root))
		return GP_EXIT_USAGE;
	bundle = collect(&settings);
	if (!bundle)
		return GP_EXIT_FAILED;
	path = first < argc ? argv[first] : DEFAULT_FILE;
	list(bundle, !settings.list && gp_file_is_standard(path) ? stderr : stdout);
	if (!settings.list)
		error = write_bundle(&settings, bundle, path);
	json_decref(bundle);
	return error || fflush(stdout) ? GP_EXIT_FAILED : GP_EXIT_OK;
}

static const struct gp_option options[] = {
	{OPTION_LIST, "list", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("list the contents and write nothing")},
	{OPTION_SELFTEST, "selftest", GP_REQUIRED_ARGUMENT, "FILE", GP_COMPLETE_FILE,
	 N_("results of 'gpreempt selftest' (default:\ngpreempt-selftest.json, if it exists)")},
	{OPTION_CALIBRATION, "calibration", GP_REQUIRED_ARGUMENT, "FILE", GP_COMPLETE_FILE,
	 N_("the GPU file of 'gpreempt selftest --calibrate' (default:\n"
	    "gpreempt-calibration.json, if it exists)")},
	{OPTION_ROOT, "root", GP_REQUIRED_ARGUMENT, "DIR", GP_COMPLETE_DIRECTORY,
	 N_("read DIR/sys and DIR/proc instead of the live system")},
	{0},
};

const struct gp_command gp_cli_report_bundle = {
	.name = "report-bundle",
	.arguments = "[FILE]",
	.completion = GP_COMPLETE_FILE,
	.summary = N_("Collect what is needed to diagnose this machine in one file"),
	.description =
		N_("Lists the contents, then writes them to FILE (gpreempt-report.json): the "
		   "answers of\n"
		   "'gpreempt doctor', the results of 'gpreempt selftest' in the current "
		   "directory, versions,\n"
		   "the topology and parameters of the driver and, if this user may read "
		   "them (root), its\n"
		   "debugfs files. Reads files only. 'gpreempt analyze FILE' shows the "
		   "report."),
	.options = options,
	.examples = "  sudo gpreempt report-bundle\n"
		    "  gpreempt report-bundle --list\n"
		    "  sudo gpreempt analyze gpreempt-report.json\n",
	.run = run,
};
