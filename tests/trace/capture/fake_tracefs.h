/* SPDX-License-Identifier: MIT */
/*
 * A tracefs made of plain files, with as much of the kernel behind it as recording needs: a new
 * instance has its files, probes are defined and removed by lines and are busy while switched on.
 * The tracer can be killed at any of its steps.
 */
#ifndef GP_FAKE_TRACEFS_H
#define GP_FAKE_TRACEFS_H

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>

#include "trace/capture/tracefs.h"
#include "tree.h"

/* Shared by the tracer, its guardian and the test. */
struct fake {
	struct tree tree;
	pid_t victim; /* whoever is killed, */
	int steps;    /* before its step of this number; 0 = never */
	int taken;    /* steps of the victim */
	bool refuse;  /* probes on functions are refused */
};

static inline void fake_text(const char *path, const char *text, const char *mode)
{
	FILE *file = fopen(path, mode);

	if (!file)
		_exit(99);
	fputs(text, file);
	fclose(file);
}

static inline void fake_step(struct fake *fake)
{
	if (getpid() != fake->victim)
		return;
	if (++fake->taken == fake->steps)
		kill(getpid(), SIGKILL);
}

static inline void fake_file(const char *dir, const char *name, const char *text)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fake_text(path, text, "w");
}

static inline int fake_make(void *ctx, const char *path)
{
	char events[PATH_MAX];

	fake_step(ctx);
	if (mkdir(path, 0755))
		return -errno;
	fake_file(path, "tracing_on", "1\n");
	fake_file(path, "trace_clock", "[local] mono\n");
	fake_file(path, "buffer_size_kb", "1408\n");
	fake_file(path, "trace", "# tracer: nop\n#\n");
	snprintf(events, sizeof(events), "%s/events", path);
	return mkdir(events, 0755) ? -errno : 0;
}

static inline int fake_remove(void *ctx, const char *path)
{
	fake_step(ctx);
	if (access(path, F_OK))
		return -errno;
	return nftw(path, place_remove_one, 16, FTW_DEPTH | FTW_PHYS) ? -errno : 0;
}

/* Calls fn with the path of the group's switch in every instance. */
static inline int fake_switches(const char *kprobes, const char *group, size_t len,
				int (*fn)(const char *dir))
{
	char instances[PATH_MAX], path[2 * PATH_MAX];
	struct dirent *entry;
	DIR *dir;
	int ret = 0;

	snprintf(instances, sizeof(instances), "%.*s/instances",
		 (int)(strrchr(kprobes, '/') - kprobes), kprobes);
	dir = opendir(instances);
	while (dir && (entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s/events/%.*s", instances, entry->d_name,
			 (int)len, group);
		ret |= fn(path);
	}
	if (dir)
		closedir(dir);
	return ret;
}

static inline int fake_group(const char *dir)
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/enable", dir);
	if (mkdir(dir, 0755) == 0)
		fake_text(path, "0", "w");
	return 0;
}

static inline int fake_is_on(const char *dir)
{
	struct gp_buf text = {0};
	char path[PATH_MAX + 16];
	int on;

	snprintf(path, sizeof(path), "%s/enable", dir);
	on = gp_file_read(path, 16, &text) == 0 && gp_buf_str(&text)[0] == '1';
	gp_buf_free(&text);
	return on;
}

static inline int fake_ungroup(const char *dir)
{
	nftw(dir, place_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return 0;
}

/* "-:GROUP/NAME\n". */
static inline int fake_undefine(const char *path, const char *text)
{
	const char *slash = strchr(text, '/');
	size_t group = (size_t)(slash - text - 2), name = strlen(text) - 3;
	struct gp_buf before = {0}, after = {0};
	bool found = false, rest = false;

	if (fake_switches(path, text + 2, group, fake_is_on))
		return -EBUSY;
	assert_int_equal(gp_file_read(path, 1 << 20, &before), 0);
	for (char *line = strtok(before.data, "\n"); line; line = strtok(NULL, "\n")) {
		const char *own = strchr(line, ':') + 1;
		bool this = !strncmp(own, text + 2, name) && own[name] == ' ';

		found |= this;
		rest |= !this && !strncmp(own, text + 2, group + 1);
		if (!this)
			gp_buf_printf(&after, "%s\n", line);
	}
	fake_text(path, gp_buf_str(&after), "w");
	gp_buf_free(&before);
	gp_buf_free(&after);
	if (!rest)
		fake_switches(path, text + 2, group, fake_ungroup);
	return found ? 0 : -ENOENT;
}

static inline int fake_put(void *ctx, const char *path, const char *text)
{
	struct fake *fake = ctx;

	fake_step(fake);
	if (access(path, F_OK))
		return -errno;
	if (strcmp(strrchr(path, '/'), "/kprobe_events") != 0) {
		fake_text(path, text, "w");
		return 0;
	}
	if (text[0] == '-')
		return fake_undefine(path, text);
	if (fake->refuse)
		return -EINVAL;
	fake_text(path, text, "a");
	return fake_switches(path, strchr(text, ':') + 1,
			     (size_t)(strchr(text, '/') - strchr(text, ':') - 1), fake_group);
}

static const struct gp_capture_tracefs_ops fake_ops = {fake_make, fake_remove, fake_put};

/* With somebody else's instance and probe in it. */
static inline struct fake *fake_new(const char *symbols)
{
	struct fake *fake = mmap(NULL, sizeof(*fake), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(fake != MAP_FAILED);
	tree_make(&fake->tree);
	tree_dir(&fake->tree, "/sys/kernel/tracing/instances/theirs/events/mine");
	tree_text(&fake->tree, "/sys/kernel/tracing/instances/theirs/trace_clock", "boot\n");
	tree_text(&fake->tree, "/sys/kernel/tracing/instances/theirs/events/mine/enable", "1");
	tree_text(&fake->tree, "/sys/kernel/tracing/kprobe_events", "p:mine/open kfd_open\n");
	tree_text(&fake->tree, "/sys/kernel/tracing/tracing_on", "1\n");
	tree_text(&fake->tree, "/proc/kallsyms", symbols);
	return fake;
}

static inline void fake_free(struct fake *fake)
{
	tree_remove(&fake->tree);
	munmap(fake, sizeof(*fake));
}

#endif
