// SPDX-License-Identifier: MIT
#include "trace/analyse/kfdpath.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/core.h"

/* A creation of which nothing was heard for so long is over. */
#define QUIET_NS GP_NS_PER_S
#define DEPTH    32

struct gp_trace_path_thread {
	bool creating;
	struct gp_trace_creation creation;
	size_t kept; /* its number + 1 among those that are; 0 = it is not */
	u32 root;    /* the function that started it */
	u64 last_ns;
	bool sent; /* its runlist: nothing of it comes after */
	u32 stack[DEPTH];
	u32 depth;                      /* may be more than are kept */
	bool unmap_open, unmap_counted; /* in unmap_queues_cpsch; it took queues off */
	u64 unmap_start_ns, unmap_line;
};

/* What starts a creation, the outermost that was traced, and what cannot be part of one. */
static const char *const roots[] = {"kfd_ioctl_create_queue", "pqm_create_queue",
				    "create_queue_cpsch", "create_queue_nocpsch"};
/* One creation takes all queues off, and sends one runlist at its end. */
static const char *const sends = "pm_send_runlist";
static const char *const again[] = {"unmap_queues_cpsch", "execute_queues_cpsch",
				    "map_queues_cpsch"};
/* What unmap_queues_cpsch calls only if there is something to unmap. */
static const char *const unmapping = "unmap_queues_cpsch";
static const char *const unmaps[] = {"pm_send_unmap_queue", "amdkfd_fence_wait_timeout"};
static const char *const others[] = {"kfd_ioctl",
				     "kfd_open",
				     "kfd_release",
				     "kfd_ioctl_destroy_queue",
				     "pqm_destroy_queue",
				     "destroy_queue_cpsch",
				     "evict_process_queues_cpsch",
				     "restore_process_queues_cpsch",
				     "kfd_process_evict_queues",
				     "kgd2kfd_quiesce_mm",
				     "kgd2kfd_resume_mm",
				     "suspend_queues",
				     "resume_queues",
				     "kfd_ioctl_set_debug_trap",
				     "update_queue"};

void gp_trace_kfdpath_free(struct gp_trace_kfdpath *path)
{
	gp_strings_free(&path->names);
	gp_map_free(&path->threads);
	gp_map_free(&path->open);
	free(path->functions);
	free(path->creations);
	free(path->states);
	free(path->times);
	memset(path, 0, sizeof(*path));
}

void gp_trace_kfdpath_next_input(struct gp_trace_kfdpath *path)
{
	path->input++;
}

static bool is_one_of(const struct gp_event *event, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (event->name_len == strlen(names[i]) &&
		    !memcmp(event->name, names[i], event->name_len))
			return true;
	return false;
}

static int find_function(struct gp_trace_kfdpath *path, const struct gp_event *event, u32 *id)
{
	if (gp_strings_add(&path->names, event->name, event->name_len, id))
		return -ENOMEM;
	if (*id < path->function_count)
		return 0;
	if (gp_array_grow((void **)&path->functions, path->function_count, &path->function_capacity,
			  sizeof(*path->functions)))
		return -ENOMEM;
	path->functions[path->function_count++] =
		(struct gp_trace_function_use){.name = *id,
					       .line = event->line,
					       .input = path->input};
	return 0;
}

static struct gp_trace_path_thread *find_thread(struct gp_trace_kfdpath *path,
						const struct gp_event *event)
{
	u64 pid = event->valid & GP_EV_PID ? event->pid : (1ull << 32) + event->cpu;
	u32 at = gp_map_get(&path->threads, path->input, pid);

	if (at == GP_MAP_NONE) {
		at = (u32)path->state_count;
		if (gp_array_grow((void **)&path->states, path->state_count, &path->state_capacity,
				  sizeof(*path->states)) ||
		    gp_map_put(&path->threads, path->input, pid, at))
			return NULL;
		path->states[path->state_count++] = (struct gp_trace_path_thread){0};
	}
	return &path->states[at];
}

static void add_run(struct gp_trace_function_use *function, u64 length)
{
	if (!function->timed || length < function->low_ns)
		function->low_ns = length;
	function->high_ns = GP_MAX(function->high_ns, length);
	function->total_ns += length;
	function->timed++;
}

/* Notes when a function was entered, for tracers that do not print how long it took. */
static int note_entry(struct gp_trace_kfdpath *path, u32 thread, u32 function, u64 time)
{
	u32 at = gp_map_get(&path->open, thread, function);

	if (at == GP_MAP_NONE) {
		at = (u32)path->time_count;
		if (gp_array_grow((void **)&path->times, path->time_count, &path->time_capacity,
				  sizeof(*path->times)) ||
		    gp_map_put(&path->open, thread, function, at))
			return -ENOMEM;
		path->time_count++;
	}
	path->times[at] = time + 1; /* 0 = not entered */
	return 0;
}

static void note_return(struct gp_trace_kfdpath *path, u32 thread, u32 function,
			const struct gp_event *event)
{
	u32 at = gp_map_get(&path->open, thread, function);
	u64 entered = at == GP_MAP_NONE ? 0 : path->times[at];

	if (event->valid & GP_EV_DURATION)
		add_run(&path->functions[function], event->duration_ns);
	else if (entered && event->valid & GP_EV_TIME && event->time_ns >= entered - 1)
		add_run(&path->functions[function], event->time_ns - (entered - 1));
	if (at != GP_MAP_NONE)
		path->times[at] = 0;
}

static void end_creation(struct gp_trace_kfdpath *path, struct gp_trace_path_thread *thread,
			 u64 now, bool ended)
{
	struct gp_trace_creation *creation = &thread->creation;

	thread->creating = false;
	if (now > creation->start_ns)
		creation->length_ns = now - creation->start_ns;
	creation->ended = ended;
	path->creation_ended += ended;
	path->creation_ns += creation->length_ns;
	if (!path->longest.line || creation->length_ns > path->longest.length_ns)
		path->longest = *creation;
	if (thread->kept)
		path->creations[thread->kept - 1] = *creation;
}

static int start_creation(struct gp_trace_kfdpath *path, struct gp_trace_path_thread *thread,
			  const struct gp_event *event, u32 function)
{
	*thread = (struct gp_trace_path_thread){
		.creating = true,
		.creation = {.pid = event->pid,
			     .input = path->input,
			     .line = event->line,
			     .start_ns = event->time_ns},
		.root = function,
		.last_ns = event->time_ns,
	};
	path->creation_count++;
	if (path->creation_kept == GP_KFDPATH_CREATIONS)
		return 0;
	if (gp_array_grow((void **)&path->creations, path->creation_kept, &path->creation_capacity,
			  sizeof(*path->creations)))
		return -ENOMEM;
	path->creations[path->creation_kept++] = thread->creation;
	thread->kept = path->creation_kept;
	return 0;
}

/* The time since the thread's last event is the own time of the function it is in. */
static void account(struct gp_trace_kfdpath *path, struct gp_trace_path_thread *thread, u64 now)
{
	u32 top = thread->depth ? GP_MIN(thread->depth, DEPTH) - 1 : 0;

	if (thread->depth && now > thread->last_ns)
		path->functions[thread->stack[top]].inside_ns += now - thread->last_ns;
	thread->last_ns = GP_MAX(thread->last_ns, now);
}

static void push(struct gp_trace_path_thread *thread, u32 function)
{
	if (thread->depth < DEPTH)
		thread->stack[thread->depth] = function;
	thread->depth++;
}

/* Back to before the call; functions whose return was not traced are left with it. */
static void pop(struct gp_trace_path_thread *thread, u32 function)
{
	for (u32 i = GP_MIN(thread->depth, DEPTH); i; i--) {
		if (thread->stack[i - 1] == function) {
			thread->depth = i - 1;
			return;
		}
	}
}

static int follow(struct gp_trace_kfdpath *path, struct gp_trace_path_thread *thread,
		  const struct gp_event *event, u32 function)
{
	bool enter = event->kind == GP_EVENT_ENTER;
	bool root = is_one_of(event, roots, GP_ARRAY_SIZE(roots));
	int ret = 0;

	if (thread->creating &&
	    (event->time_ns > thread->last_ns + QUIET_NS ||
	     (enter && (function == thread->root ||
			(thread->sent && is_one_of(event, again, GP_ARRAY_SIZE(again))) ||
			is_one_of(event, others, GP_ARRAY_SIZE(others))))))
		end_creation(path, thread, thread->last_ns, false);
	if (!thread->creating) {
		if (!enter || !root)
			return 0;
		ret = start_creation(path, thread, event, function);
	}
	if (ret)
		return ret;
	account(path, thread, event->time_ns);
	if (enter) {
		thread->sent |= is_one_of(event, &sends, 1);
		path->functions[function].inside++;
		push(thread, function);
		return 0;
	}
	pop(thread, function);
	if (function == thread->root)
		end_creation(path, thread, event->time_ns, true);
	return 0;
}

static void count_unmap(struct gp_trace_kfdpath *path, struct gp_trace_path_thread *thread)
{
	thread->unmap_counted = true;
	if (!path->unmaps.count++) {
		path->unmaps.line = thread->unmap_line;
		path->unmaps.input = path->input;
	}
}

static void time_unmap(struct gp_trace_unmaps *all, const struct gp_trace_path_thread *thread,
		       const struct gp_event *event)
{
	if (event->valid & GP_EV_DURATION)
		all->total_ns += event->duration_ns;
	else if (event->valid & GP_EV_TIME && event->time_ns >= thread->unmap_start_ns)
		all->total_ns += event->time_ns - thread->unmap_start_ns;
	else
		return;
	all->timed++;
}

static void follow_unmap(struct gp_trace_kfdpath *path, struct gp_trace_path_thread *thread,
			 const struct gp_event *event)
{
	bool enter = event->kind == GP_EVENT_ENTER;

	if (is_one_of(event, &unmapping, 1)) {
		if (!enter && thread->unmap_open && thread->unmap_counted)
			time_unmap(&path->unmaps, thread, event);
		thread->unmap_open = enter;
		thread->unmap_counted = false;
		thread->unmap_start_ns = event->time_ns;
		thread->unmap_line = event->line;
	} else if (enter && is_one_of(event, unmaps, GP_ARRAY_SIZE(unmaps))) {
		path->unmaps.known = true;
		if (thread->unmap_open && !thread->unmap_counted)
			count_unmap(path, thread);
	}
}

int gp_trace_kfdpath_event(void *ctx, const struct gp_event *event)
{
	struct gp_trace_kfdpath *path = ctx;
	struct gp_trace_path_thread *thread;
	u32 function, at;

	if (event->kind == GP_EVENT_LOST) {
		path->lost += event->valid & GP_EV_COUNT ? event->count : 0;
		path->gaps++;
	}
	if ((event->kind != GP_EVENT_ENTER && event->kind != GP_EVENT_LEAVE) || !event->name_len)
		return 0;
	thread = find_thread(path, event);
	if (!thread || find_function(path, event, &function))
		return -ENOMEM;
	follow_unmap(path, thread, event);
	at = (u32)(thread - path->states);
	if (event->kind == GP_EVENT_ENTER) {
		path->functions[function].count++;
		if (event->valid & GP_EV_TIME && note_entry(path, at, function, event->time_ns))
			return -ENOMEM;
	} else {
		note_return(path, at, function, event);
	}
	return event->valid & GP_EV_TIME ? follow(path, thread, event, function) : 0;
}

void gp_trace_kfdpath_finish(struct gp_trace_kfdpath *path)
{
	for (size_t i = 0; i < path->state_count; i++)
		if (path->states[i].creating)
			end_creation(path, &path->states[i], path->states[i].last_ns, false);
}

const struct gp_trace_function_use *gp_trace_kfdpath_find(const struct gp_trace_kfdpath *path,
							  const char *name)
{
	u32 id = gp_strings_find(&path->names, name, strlen(name));

	return id == GP_MAP_NONE ? NULL : &path->functions[id];
}

static bool matches(const struct gp_string *name, enum gp_trace_match match, const char *text)
{
	size_t len = strlen(text);

	if (match == GP_MATCH_PART)
		return memmem(name->text, name->len, text, len);
	return name->len >= len && !memcmp(name->text, text, len) &&
	       (match == GP_MATCH_START || name->len == len);
}

u64 gp_trace_kfdpath_count(const struct gp_trace_kfdpath *path, enum gp_trace_match match,
			   const char *text, const struct gp_trace_function_use **first)
{
	u64 count = 0;

	for (size_t i = 0; i < path->function_count; i++) {
		const struct gp_string *name = &path->names.items[path->functions[i].name];

		if (!matches(name, match, text))
			continue;
		if (!count && first)
			*first = &path->functions[i];
		count += path->functions[i].count;
	}
	return count;
}
