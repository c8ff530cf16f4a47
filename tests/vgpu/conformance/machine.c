// SPDX-License-Identifier: MIT
/* What the machine says of itself; machine_socket.c and kernel/testbed ask it. */
#include <fcntl.h>

#include "conformance.h"

static bool is_held(struct self *me)
{
	json_t *status = machine_status(me);
	bool held = json_is_true(json_object_get(status, "held"));

	json_decref(status);
	return held;
}

void run_for(struct self *me, pid_t pid, u32 id, u64 ns)
{
	UNTIL(me, look(me, pid, id).submitted > look(me, pid, id).completed);
	hold_clock(me, ns);
	UNTIL(me, is_held(me));
}

json_t *machine_status(struct self *me)
{
	char *text = machine_text(me);
	json_t *status = json_loads(text, 0, NULL);

	CHECK(status);
	free(text);
	return status;
}

bool can_debug(struct self *me)
{
	json_t *status = machine_status(me);
	const char *era = json_string_value(json_object_get(status, "era"));
	bool can = era && strcmp(era, "6.1") != 0;

	json_decref(status);
	return can;
}

static u64 number(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	CHECK(value);
	return json_is_integer(value) ? (u64)json_integer_value(value) : json_is_true(value);
}

static const json_t *find_process(const json_t *status, pid_t pid)
{
	const json_t *process;
	size_t i;

	json_array_foreach(json_object_get(status, "processes"), i, process)
	{
		if (number(process, "pid") == (u64)pid)
			return process;
	}
	return NULL;
}

struct queue_view look(struct self *me, pid_t pid, u32 id)
{
	json_t *status = machine_status(me);
	const json_t *queue;
	struct queue_view view = {0};
	size_t i;

	json_array_foreach(json_object_get(find_process(status, pid), "queues"), i, queue)
	{
		if (number(queue, "id") != id)
			continue;
		view = (struct queue_view){
			.exists = true,
			.suspended = number(queue, "suspended"),
			.evicted = number(queue, "evicted"),
			.submitted = number(queue, "submitted"),
			.mapped = number(queue, "mapped"),
			.launched = number(queue, "launched"),
			.completed = number(queue, "completed"),
			.cu_ns = number(queue, "cu_ns"),
			.priority = number(queue, "priority"),
			.percentage = number(queue, "percentage"),
		};
	}
	json_decref(status);
	return view;
}

u64 gpu_number(struct self *me, const char *name)
{
	json_t *status = machine_status(me);
	u64 value = number(json_array_get(json_object_get(status, "gpus"), 0), name);

	json_decref(status);
	return value;
}

void settle(struct self *me)
{
	UNTIL(me, gpu_number(me, "updates_pending") == 0);
}

struct queue_view look_settled(struct self *me, pid_t pid, u32 id)
{
	settle(me);
	return look(me, pid, id);
}

u64 figure(struct self *me, const char *name)
{
	json_t *status, *gpu;
	u64 value;

	settle(me);
	status = machine_status(me);
	gpu = json_array_get(json_object_get(status, "gpus"), 0);
	value = number(json_object_get(gpu, "model"), name);
	json_decref(status);
	return value;
}

bool process_exists(struct self *me, pid_t pid)
{
	json_t *status = machine_status(me);
	bool exists = find_process(status, pid) != NULL;

	json_decref(status);
	return exists;
}

/* pid 0: the number of processes. */
u64 process_number(struct self *me, pid_t pid, const char *name)
{
	json_t *status = machine_status(me);
	u64 value = pid ? number(find_process(status, pid), name)
			: json_array_size(json_object_get(status, name));

	json_decref(status);
	return value;
}

bool is_blocked(struct self *me, struct actor *actor)
{
	u64 limit = deadline();

	while (!past(limit)) {
		if (actor_finished(actor))
			return false;
		if (process_exists(me, actor->pid) && process_number(me, actor->pid, "blocked"))
			return true;
	}
	fail(__FILE__, __LINE__, "the call neither blocks nor returns", 0, INT64_MIN);
}

void wait_gone(struct self *me, pid_t pid)
{
	UNTIL(me, !process_exists(me, pid));
}

char *slurp(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t size = 0, room = 1 << 20;
	char *text = malloc(room + 1);
	ssize_t n;

	if (fd < 0 || !text) {
		free(text);
		return NULL;
	}
	while ((n = read(fd, text + size, room - size)) > 0)
		size += (size_t)n;
	CHECK(n == 0 && size < room);
	close(fd);
	text[size] = '\0';
	return text;
}
