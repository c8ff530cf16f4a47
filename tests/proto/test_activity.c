// SPDX-License-Identifier: MIT
/* The memory that an agent passes: what is not plain, whole and ours is not mapped. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proto/activity.h"
#include "testlib.h"

static int make(unsigned int flags, off_t size, int seals, u32 magic)
{
	int fd = memfd_create("activity", flags | MFD_CLOEXEC | MFD_ALLOW_SEALING);
	const u32 head[2] = {magic, GP_ACTIVITY_SLOTS};

	if (fd < 0)
		return fd;
	assert_int_equal(ftruncate(fd, size), 0);
	(void)!pwrite(fd, head, sizeof(head), 0);
	if (seals)
		assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static int map(int fd)
{
	const struct gp_proto_activity *memory = NULL;
	int error = gp_proto_activity_map(fd, &memory);

	assert_true(!error == (memory != NULL));
	gp_proto_activity_unmap(memory);
	if (fd >= 0)
		close(fd);
	return error;
}

static int mappings(void)
{
	FILE *file = fopen("/proc/self/maps", "r");
	char line[512];
	int count = 0;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		count += strstr(line, "memfd:activity") != NULL;
	fclose(file);
	return count;
}

static void only_plain_sealed_memory_is_mapped(void **state)
{
	const off_t size = sizeof(struct gp_proto_activity);

	(void)state;
	assert_int_equal(map(make(0, size, F_SEAL_SHRINK, GP_ACTIVITY_MAGIC)), 0);
	assert_int_equal(map(make(0, size, 0, GP_ACTIVITY_MAGIC)), -EPERM);
	assert_int_equal(map(make(0, size - 1, F_SEAL_SHRINK, GP_ACTIVITY_MAGIC)), -EINVAL);
	assert_int_equal(map(make(0, size, F_SEAL_SHRINK, 1)), -EPROTO);
	assert_int_equal(map(open("/dev/null", O_RDWR | O_CLOEXEC)), -EINVAL);
	assert_int_equal(map(-1), -EBADF);
	assert_int_equal(mappings(), 0);
}

/* munmap() of less than a huge page fails: what was mapped would stay. */
static void huge_pages_are_not_mapped(void **state)
{
	int fd = make(MFD_HUGETLB, 2 << 20, F_SEAL_SHRINK, 0);

	(void)state;
	if (fd < 0)
		skip(); /* this kernel has none */
	assert_int_equal(map(fd), -EINVAL);
	assert_int_equal(mappings(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_plain_sealed_memory_is_mapped),
		cmocka_unit_test(huge_pages_are_not_mapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
