// SPDX-License-Identifier: MIT
/*
 * How the fake GPU under the real driver is asked, in the guest: through its files in debugfs. The
 * conformance test of the virtual GPU (tests/vgpu/conformance) is built with this instead of
 * machine_socket.c, and is otherwise the same program.
 */
#include <dirent.h>
#include <fcntl.h>

#include "conformance.h"

#define MACHINE   "/sys/kernel/debug/fakegpu/"
#define PROCESSES "/sys/class/kfd/kfd/proc"

static bool listed(const json_t *processes, long long pid)
{
	const json_t *process;
	size_t i;

	json_array_foreach(processes, i, process)
	{
		if (json_integer_value(json_object_get(process, "pid")) == pid)
			return true;
	}
	return false;
}

/*
 * A process that has ended leaves the driver's table first and gives back its queues after that. It
 * exists until its directory is gone.
 */
static void add_leaving(json_t *processes)
{
	DIR *directory = opendir(PROCESSES);
	struct dirent *entry;

	CHECK(directory);
	while ((entry = readdir(directory))) {
		long long pid = atoll(entry->d_name);

		if (pid && !listed(processes, pid))
			json_array_append_new(processes,
					      json_pack("{s:I, s:i, s:i, s:i, s:i, s:b, s:[]}",
							"pid", (json_int_t)pid, "queue_count", 0,
							"pasid", 0, "blocked", 0, "in_line", 0,
							"trap_debug", 0, "queues"));
	}
	closedir(directory);
}

char *machine_text(struct self *me)
{
	char *text = slurp(MACHINE "status"), *whole;
	json_t *status;

	(void)me;
	CHECK(text);
	status = json_loads(text, 0, NULL);
	CHECK(status);
	add_leaving(json_object_get(status, "processes"));
	whole = json_dumps(status, JSON_COMPACT);
	CHECK(whole);
	json_decref(status);
	free(text);
	return whole;
}

/* The file that is open holds it. */
void hold_clock(struct self *me, u64 ns)
{
	char number[32];
	int size = snprintf(number, sizeof(number), "%llu", (unsigned long long)ns);

	if (me->status_fd < 0)
		me->status_fd = open(MACHINE "clock", O_WRONLY | O_CLOEXEC);
	CHECK(me->status_fd >= 0);
	CHECK(write(me->status_fd, number, (size_t)size) == size);
}
