// SPDX-License-Identifier: MIT
/* Recording: what is switched on in tracefs, and that all of it is gone afterwards, whoever dies.
 */
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "fake_tracefs.h"
#include "trace/capture/clocks.h"
#include "trace/capture/guardian.h"
#include "trace/capture/symbols.h"

static const char symbols_text[] =
	"ffffffff81000000 T schedule\n"
	"ffffffff81000100 t suspend_queues\n" /* somebody else's, in the kernel itself */
	"ffffffffc0a00010 t kfd_ioctl_create_queue\t[amdgpu]\n"
	"ffffffffc0a00020 t create_queue_cpsch.isra.0\t[amdgpu]\n"
	"ffffffffc0a00030 t create_queue_cpsch.cold\t[amdgpu]\n"
	"ffffffffc0a00040 t init_mqd\t[amdgpu]\n"
	"ffffffffc0a00050 t init_mqd\t[amdgpu]\n"
	"ffffffffc0a00060 t init_mqd_v9_4_3\t[amdgpu]\n"
	"ffffffffc0a00070 d update_mqd\t[amdgpu]\n" /* data */
	"ffffffffc0a00080 t pqm_create_queue\t[other]\n"
	"ffffffffc0a00090 t suspend_queues\t[amdgpu]\n"
	"ffffffffc0a000a0 t amdgpu_gfx_enable_kcq\t[amdgpu]\n";

/* ---- which functions ---- */

static void functions_of_the_driver_are_found(void **state)
{
	struct gp_capture_symbol found[16];
	size_t count = gp_capture_symbols_find(symbols_text, strlen(symbols_text), found, 16);
	static const char *const names[] = {"kfd_ioctl_create_queue",
					    "create_queue_cpsch.isra.0",
					    "init_mqd",
					    "init_mqd",
					    "init_mqd_v9_4_3",
					    "suspend_queues",
					    "amdgpu_gfx_enable_kcq"};

	(void)state;
	assert_int_equal(count, 7);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(found[i].len, strlen(names[i]));
		assert_memory_equal(found[i].name, names[i], found[i].len);
		assert_true(found[i].module);
		assert_int_equal(found[i].multiple, i == 2 || i == 3);
	}
	assert_int_equal(found[3].address, 0xffffffffc0a00050);
	assert_int_equal(gp_capture_symbols_find(symbols_text, strlen(symbols_text), found, 2), 2);
}

static void a_driver_that_is_no_module_is_found_too(void **state)
{
	static const char text[] = "ffffffff81000100 t suspend_queues\n"
				   "ffffffff81000200 T pqm_create_queue\n"
				   "broken\n\nffffffff8100";
	struct gp_capture_symbol found[4];

	(void)state;
	assert_int_equal(gp_capture_symbols_find(text, strlen(text), found, 4), 2);
	assert_false(found[0].module);
}

/* ---- tracefs ---- */

static int snapshot_names(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void add_file(const char *path, struct gp_buf *out)
{
	struct gp_buf text = {0};

	assert_int_equal(gp_file_read(path, 1 << 20, &text), 0);
	gp_buf_add(out, gp_buf_str(&text), text.len);
	gp_buf_free(&text);
}

/* Every file with its contents, every directory. */
static void snapshot(const char *dir, struct gp_buf *out)
{
	struct dirent **entries;
	int count = scandir(dir, &entries, snapshot_names, alphasort);

	assert_true(count >= 0);
	for (int i = 0; i < count; i++) {
		char path[PATH_MAX];
		struct stat info;

		snprintf(path, sizeof(path), "%s/%s", dir, entries[i]->d_name);
		assert_int_equal(lstat(path, &info), 0);
		gp_buf_printf(out, "%s %o\n", path, (unsigned)info.st_mode);
		if (S_ISDIR(info.st_mode))
			snapshot(path, out);
		else
			add_file(path, out);
		free(entries[i]);
	}
	free(entries);
}

static void find(struct fake *fake, struct gp_capture_tracefs *trace)
{
	*trace = (struct gp_capture_tracefs){0};
	assert_int_equal(gp_capture_tracefs_find(trace, &fake->tree.root, NULL), 0);
	trace->ops = &fake_ops;
	trace->ctx = fake;
	gp_capture_tracefs_name(trace);
}

static void expect_own(const struct gp_capture_tracefs *trace, const char *file, const char *text)
{
	struct gp_buf found = {0};
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/instances/%s/%s", trace->dir, trace->name, file);
	assert_int_equal(gp_file_read(path, 1 << 16, &found), 0);
	assert_string_equal(gp_buf_str(&found), text);
	gp_buf_free(&found);
}

static void tracing_has_its_own_instance_and_goes_without_a_trace(void **state)
{
	struct fake *fake = fake_new(symbols_text);
	struct gp_buf before = {0}, after = {0}, probes = {0};
	struct test_diag diag = TEST_DIAG;
	struct gp_capture_tracefs trace;
	char group[64];
	int fd;

	(void)state;
	snapshot(fake->tree.dir, &before);
	find(fake, &trace);
	assert_int_equal(gp_capture_tracefs_start(&trace, &fake->tree.root, &diag.diag), 0);
	assert_string_equal(gp_buf_str(&diag.text), "");
	assert_int_equal(trace.probes, 7);
	assert_true(trace.kcq);
	expect_own(&trace, "tracing_on", "1");
	expect_own(&trace, "trace_clock", "mono");
	snprintf(group, sizeof(group), "events/%s/enable", trace.name);
	expect_own(&trace, group, "1");
	assert_int_equal(gp_root_read(&fake->tree.root, 1 << 16, &probes,
				      "/sys/kernel/tracing/kprobe_events"),
			 0);
	assert_non_null(strstr(gp_buf_str(&probes), "p0 amdgpu:kfd_ioctl_create_queue\n"));
	assert_non_null(strstr(gp_buf_str(&probes), "r1 amdgpu:create_queue_cpsch.isra.0 ret="));
	/* Of two functions with one name each has its own probes. */
	assert_non_null(strstr(gp_buf_str(&probes), "p2 0xffffffffc0a00040\n"));
	assert_non_null(strstr(gp_buf_str(&probes), "p3 0xffffffffc0a00050\n"));
	assert_int_equal(gp_capture_tracefs_stop(&trace), 0);
	expect_own(&trace, "tracing_on", "0");
	fd = memfd_create("trace", MFD_CLOEXEC);
	assert_int_equal(gp_capture_tracefs_save(&trace, fd), 0);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 16);
	close(fd);
	assert_int_equal(gp_capture_tracefs_restore(&trace), 0);
	snapshot(fake->tree.dir, &after);
	assert_string_equal(gp_buf_str(&after), gp_buf_str(&before));
	/* Again, as a guardian would that comes late. */
	assert_int_equal(gp_capture_tracefs_restore(&trace), 0);
	gp_buf_free(&before);
	gp_buf_free(&after);
	gp_buf_free(&probes);
	gp_buf_free(&diag.text);
	fake_free(fake);
}

static void give_back(void *ctx)
{
	gp_capture_tracefs_restore(ctx);
}

/* A whole recording in a process of its own, killed before its step `steps`. Returns whether it was
 * killed; everything it started has ended then. */
static bool record_until(struct fake *fake, int steps)
{
	struct gp_capture_guardian guardian;
	struct gp_capture_tracefs trace;
	pid_t child;
	int status;

	fake->taken = 0;
	fake->steps = steps;
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		find(fake, &trace);
		if (gp_capture_guardian_start(&guardian, give_back, &trace))
			_exit(1);
		fake->victim = getpid();
		if (gp_capture_tracefs_start(&trace, &fake->tree.root, NULL) ||
		    gp_capture_tracefs_stop(&trace) || gp_capture_tracefs_restore(&trace))
			_exit(2);
		gp_capture_guardian_dismiss(&guardian);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	/* The guardian of a killed tracer is ours now. */
	while (waitpid(-1, NULL, 0) > 0)
		;
	if (WIFEXITED(status))
		assert_int_equal(WEXITSTATUS(status), 0);
	return WIFSIGNALED(status);
}

static void killed_at_any_step_everything_is_put_back(void **state)
{
	struct fake *fake = fake_new(symbols_text);
	struct gp_buf before = {0};
	int steps = 1;

	(void)state;
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	snapshot(fake->tree.dir, &before);
	for (bool killed = true; killed; steps++) {
		struct gp_buf after = {0};

		killed = record_until(fake, steps);
		snapshot(fake->tree.dir, &after);
		assert_string_equal(gp_buf_str(&after), gp_buf_str(&before));
		gp_buf_free(&after);
	}
	/* It did something, and was killed in the middle of it. */
	assert_true(steps > 30);
	gp_buf_free(&before);
	fake_free(fake);
}

static void what_is_missing_is_said(void **state)
{
	struct fake *fake = fake_new("ffffffff81000000 T schedule\n");
	struct test_diag diag = TEST_DIAG;
	struct gp_capture_tracefs trace;
	struct tree empty;

	(void)state;
	find(fake, &trace);
	assert_int_equal(gp_capture_tracefs_start(&trace, &fake->tree.root, &diag.diag), -ENOENT);
	assert_non_null(strstr(gp_buf_str(&diag.text), "needs amdkfd"));
	assert_int_equal(gp_capture_tracefs_restore(&trace), 0);
	tree_text(&fake->tree, "/proc/kallsyms", symbols_text);
	fake->refuse = true;
	find(fake, &trace);
	assert_int_equal(gp_capture_tracefs_start(&trace, &fake->tree.root, &diag.diag), -EINVAL);
	assert_non_null(strstr(gp_buf_str(&diag.text), "refused probes"));
	assert_int_equal(gp_capture_tracefs_restore(&trace), 0);
	fake_free(fake);
	tree_make(&empty);
	assert_int_equal(gp_capture_tracefs_find(&trace, &empty.root, &diag.diag), -ENOENT);
	assert_non_null(strstr(gp_buf_str(&diag.text), "/sys/class/kfd does not exist"));
	assert_null(strstr(gp_buf_str(&diag.text), "mount"));
	tree_dir(&empty, "/sys/class/kfd");
	assert_int_equal(gp_capture_tracefs_find(&trace, &empty.root, &diag.diag), -ENOENT);
	assert_non_null(strstr(gp_buf_str(&diag.text), "tracefs is not mounted"));
	tree_remove(&empty);
	assert_int_equal(diag.errors, 0);
	gp_buf_free(&diag.text);
}

static void functions_of_one_name_without_address_are_refused(void **state)
{
	struct fake *fake = fake_new("0000000000000000 t init_mqd\t[amdgpu]\n"
				     "0000000000000000 t init_mqd\t[amdgpu]\n"
				     "0000000000000000 t kfd_ioctl_create_queue\t[amdgpu]\n");
	struct test_diag diag = TEST_DIAG;
	struct gp_capture_tracefs trace;

	(void)state;
	find(fake, &trace);
	assert_int_equal(gp_capture_tracefs_start(&trace, &fake->tree.root, &diag.diag), 0);
	assert_int_equal(trace.probes, 1);
	assert_int_equal(trace.refused, 2);
	assert_int_equal(diag.warnings, 1);
	assert_int_equal(gp_capture_tracefs_restore(&trace), 0);
	gp_buf_free(&diag.text);
	fake_free(fake);
}

/* ---- the guardian ---- */

static void count(void *ctx)
{
	__atomic_add_fetch((int *)ctx, 1, __ATOMIC_SEQ_CST);
}

static void a_guardian_that_is_dismissed_does_nothing(void **state)
{
	int *restored =
		mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct gp_capture_guardian guardian;

	(void)state;
	assert_int_equal(gp_capture_guardian_start(&guardian, count, restored), 0);
	gp_capture_guardian_dismiss(&guardian);
	assert_int_equal(*restored, 0);
	/* Nothing happens without one, either. */
	gp_capture_guardian_dismiss(&guardian);
	/* One that somebody killed is missed by nobody. */
	assert_int_equal(gp_capture_guardian_start(&guardian, count, restored), 0);
	kill(guardian.pid, SIGKILL);
	gp_capture_guardian_dismiss(&guardian);
	assert_int_equal(*restored, 0);
	munmap(restored, sizeof(int));
}

/* Its end of the socket is then one of the numbers that it closes. */
static void a_guardian_stays_where_standard_streams_are_closed(void **state)
{
	int *restored =
		mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct gp_capture_guardian guardian;
	int saved = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10), error;
	char byte;
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	close(STDIN_FILENO);
	error = gp_capture_guardian_start(&guardian, count, restored);
	dup2(saved, STDIN_FILENO);
	close(saved);
	assert_int_equal(error, 0);
	/* It has let go of everything, and is told to go: nothing was put back before. */
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 0);
	close(ends[0]);
	gp_capture_guardian_dismiss(&guardian);
	assert_int_equal(*restored, 0);
	munmap(restored, sizeof(int));
}

static void a_guardian_is_alone_with_its_maker(void **state)
{
	int *restored =
		mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct gp_capture_guardian guardian;
	char link[64], target[64] = "";
	int pipe_ends[2];
	char byte;

	(void)state;
	assert_int_equal(pipe2(pipe_ends, O_CLOEXEC), 0);
	assert_int_equal(gp_capture_guardian_start(&guardian, count, restored), 0);
	/* It holds nothing open that somebody waits for the end of. */
	close(pipe_ends[1]);
	assert_int_equal(read(pipe_ends[0], &byte, 1), 0);
	close(pipe_ends[0]);
	/* By now it has left our session. */
	assert_int_equal(getsid(guardian.pid), guardian.pid);
	snprintf(link, sizeof(link), "/proc/%d/fd/2", (int)guardian.pid);
	assert_true(readlink(link, target, sizeof(target) - 1) > 0);
	assert_string_equal(target, "/dev/null");
	kill(guardian.pid, SIGTERM);
	kill(guardian.pid, SIGINT);
	kill(guardian.pid, SIGHUP);
	/* The maker's end, as it sees it. */
	close(guardian.fd);
	assert_int_equal(waitpid(guardian.pid, NULL, 0), guardian.pid);
	assert_int_equal(*restored, 1);
	munmap(restored, sizeof(int));
}

static void what_is_written_arrives_or_its_error_is_told(void **state)
{
	struct gp_buf text = {0};
	struct tree tree;
	char path[PATH_MAX];

	(void)state;
	tree_make(&tree);
	tree_text(&tree, "/kprobe_events", "p:mine/open kfd_open\n");
	snprintf(path, sizeof(path), "%s/kprobe_events", tree.dir);
	assert_int_equal(gp_capture_tracefs_live.put(NULL, path, "p:ours/p0 f\n"), 0);
	assert_int_equal(gp_root_read(&tree.root, 4096, &text, "/kprobe_events"), 0);
	assert_string_equal(gp_buf_str(&text), "p:mine/open kfd_open\np:ours/p0 f\n");
	assert_int_equal(gp_capture_tracefs_live.put(NULL, "/dev/full", "1"), -ENOSPC);
	snprintf(path, sizeof(path), "%s/absent", tree.dir);
	assert_int_equal(gp_capture_tracefs_live.put(NULL, path, "1"), -ENOENT);
	gp_buf_free(&text);
	tree_remove(&tree);
}

static u64 now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (u64)time.tv_sec * 1000000000 + (u64)time.tv_nsec;
}

static void a_sample_of_the_clocks_is_of_now(void **state)
{
	u64 monotonic = now(CLOCK_MONOTONIC), raw = now(CLOCK_MONOTONIC_RAW);
	u64 boot = now(CLOCK_BOOTTIME);
	struct gp_capture_clock_sample sample;

	(void)state;
	gp_capture_clock_sample(&sample);
	assert_in_range(sample.monotonic_ns, monotonic, now(CLOCK_MONOTONIC));
	assert_in_range(sample.monotonic_raw_ns, raw, now(CLOCK_MONOTONIC_RAW));
	assert_in_range(sample.boottime_ns, boot, now(CLOCK_BOOTTIME));
	assert_in_range(sample.error_ns, 0, now(CLOCK_MONOTONIC) - monotonic);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_the_driver_are_found),
		cmocka_unit_test(a_driver_that_is_no_module_is_found_too),
		cmocka_unit_test(tracing_has_its_own_instance_and_goes_without_a_trace),
		cmocka_unit_test(killed_at_any_step_everything_is_put_back),
		cmocka_unit_test(what_is_missing_is_said),
		cmocka_unit_test(functions_of_one_name_without_address_are_refused),
		cmocka_unit_test(a_guardian_that_is_dismissed_does_nothing),
		cmocka_unit_test(a_guardian_stays_where_standard_streams_are_closed),
		cmocka_unit_test(a_guardian_is_alone_with_its_maker),
		cmocka_unit_test(what_is_written_arrives_or_its_error_is_told),
		cmocka_unit_test(a_sample_of_the_clocks_is_of_now),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
