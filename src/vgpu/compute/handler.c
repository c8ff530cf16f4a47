// SPDX-License-Identifier: MIT
/*
 * The trap handler of a driver in place of our own save and restore. Its program is at an address
 * that no process has, behind those of the CPU; both programs, of gfx90a and gfx942, are mapped.
 *
 * It saves copies of the waves over what we have saved: what it writes is compared, and if it
 * cannot go on, the area holds what we wrote. It restores the waves themselves.
 */
#include "vgpu/isa/handler.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vgpu/compute/job.h"
#include "vgpu/isa/save.h"
#include "vgpu/heap.h"

#define HANDLER_AT    (1ull << 47) /* the first address that is the kernel's */
#define PROGRAMS      2
#define REPORTS       8 /* lines about differences, and as many about failures */
#define PATH_BYTES    (sizeof(((struct gp_vgpu_client *)0)->directory) + sizeof(GP_VGPU_HANDLER) + 1)
#define PROGRAM_BYTES ((size_t)PROGRAMS * GP_VGPU_HANDLER_BYTES)

struct gp_vgpu_handler {
	u8 *programs;
	struct gp_isa_host host;
	struct gp_isa_runner runner;
	const struct gp_vgpu_group *group; /* whose save area it may reach */
	bool saves;                        /* and write */
	struct gp_isa_wave *copies[GP_ISA_GROUP_WAVES];
	u64 saved, restored, different; /* waves */
	u64 failed;                     /* groups */
	u64 said;                       /* of those saved, when it last said so */
};

static u8 *programs_map(const char *directory)
{
	char path[PATH_BYTES];
	struct stat status;
	u8 *programs = MAP_FAILED;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, GP_VGPU_HANDLER);
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (!syscall(SYS_fstat, fd, &status) && status.st_size == (off_t)PROGRAM_BYTES)
		programs = mmap(NULL, PROGRAM_BYTES, PROT_READ, MAP_PRIVATE, fd, 0);
	syscall(SYS_close, fd);
	return programs == MAP_FAILED ? NULL : programs;
}

static void say_counts(struct gp_vgpu_handler *handler)
{
	char counts[192], failed[64] = "";

	if (handler->failed)
		snprintf(failed, sizeof(failed), "; could not go on %llu times",
			 (unsigned long long)handler->failed);
	snprintf(counts, sizeof(counts), "%llu waves saved, %llu of them differ; %llu restored%s",
		 (unsigned long long)handler->saved, (unsigned long long)handler->different,
		 (unsigned long long)handler->restored, failed);
	gp_vgpu_say("the driver's trap handler: ", counts);
}

struct gp_vgpu_handler *gp_vgpu_handler_open(const char *directory)
{
	u8 *programs = programs_map(directory);
	struct gp_vgpu_handler *handler = programs ? gp_vgpu_alloc(sizeof(*handler)) : NULL;
	bool enough = handler;

	for (u32 i = 0; enough && i < GP_ISA_GROUP_WAVES; i++) {
		handler->copies[i] = gp_vgpu_alloc(sizeof(struct gp_isa_wave));
		enough = handler->copies[i];
	}
	if (handler)
		handler->runner.cache = gp_vgpu_alloc(gp_isa_cache_bytes());
	if (enough && handler->runner.cache) {
		handler->programs = programs;
		return handler;
	}
	if (programs)
		syscall(SYS_munmap, programs, PROGRAM_BYTES);
	gp_vgpu_handler_close(handler);
	return NULL;
}

void gp_vgpu_handler_close(struct gp_vgpu_handler *handler)
{
	if (!handler)
		return;
	if (handler->saved || handler->failed)
		say_counts(handler);
	if (handler->programs)
		syscall(SYS_munmap, handler->programs, PROGRAM_BYTES);
	for (u32 i = 0; i < GP_ISA_GROUP_WAVES; i++)
		gp_vgpu_free(handler->copies[i]);
	gp_vgpu_free(handler->runner.cache);
	gp_vgpu_free(handler);
}

/* ---- what its instructions need: the program, and the save area at the CPU's addresses ---- */

/* Whether this page has bytes of a saved wave: those are there, area_take() and area_is_there()
 * have found out. Any other address is of a program that runs wild. */
static bool group_has_page(const struct gp_vgpu_group *group, u64 page)
{
	for (u32 i = 0; i < group->group.waves; i++) {
		u64 begin = group->saved[i];
		u64 end = begin + gp_isa_saved_bytes(group->waves[i], i == group->saved_first);

		if (begin && page < end && page + GP_ISA_PAGE_BYTES > begin)
			return true;
	}
	return false;
}

static void *host_page(void *data, u64 va, bool write)
{
	const struct gp_vgpu_handler *handler = data;

	if (write && !handler->saves)
		return NULL;
	if (va - HANDLER_AT < PROGRAM_BYTES)
		return write ? NULL : handler->programs + (va - HANDLER_AT);
	return group_has_page(handler->group, va) ? (void *)(uintptr_t)va : NULL;
}

static u64 host_clock(void *data, bool real)
{
	(void)data, (void)real;
	return 0;
}

static void host_message(void *data, u32 message, u32 m0)
{
	(void)data, (void)message, (void)m0;
}

static void runner_prepare(struct gp_vgpu_handler *handler, const struct gp_vgpu_group *group,
			   enum gp_isa_gfx gfx, bool saves)
{
	handler->group = group;
	handler->saves = saves;
	handler->host = (struct gp_isa_host){
		.data = handler,
		.page = host_page,
		.clock = host_clock,
		.message = host_message,
	};
	gp_isa_forget_pages(&handler->runner);
	handler->runner.host = &handler->host;
	handler->runner.gfx = gfx;
}

static u64 program_of(enum gp_isa_gfx gfx)
{
	return HANDLER_AT + (gfx == GP_ISA_GFX942 ? GP_VGPU_HANDLER_BYTES : 0);
}

/* Why it stopped, at which of its instructions. */
static void say_failed(struct gp_vgpu_handler *handler, const struct gp_isa_wave *wave,
		       enum gp_isa_stop stop)
{
	char name[GP_ISA_NAME], text[GP_ISA_NAME + 96];

	if (handler->failed++ >= REPORTS)
		return;
	gp_isa_describe(&handler->runner, wave, name);
	snprintf(text, sizeof(text), "%s at word %llu, stop %d, address 0x%llx", name,
		 (unsigned long long)((wave->pc - program_of(handler->runner.gfx)) / sizeof(u32)),
		 (int)stop, (unsigned long long)wave->fault);
	gp_vgpu_say("the driver's trap handler could not go on: ", text);
}

/* The bytes that it wrote for this wave, against ours. */
static void compare(struct gp_vgpu_handler *handler, u64 address, const u8 *own, u8 *theirs,
		    u32 bytes)
{
	char text[128];
	u32 at = 0;

	handler->saved++;
	if (gp_vgpu_copy_in(theirs, address, bytes))
		return;
	while (at < bytes && own[at] == theirs[at])
		at++;
	if (at == bytes)
		return;
	if (handler->different++ < REPORTS) {
		snprintf(text, sizeof(text), "byte 0x%x of %u: 0x%02x, expected 0x%02x", at, bytes,
			 theirs[at], own[at]);
		gp_vgpu_say("the driver's trap handler saved another state: ", text);
	}
}

/* The `bytes` at this address of the area, or NULL. */
static u8 *area_copy(u64 address, u32 bytes)
{
	u8 *copy = gp_vgpu_alloc(bytes);

	if (!copy || !gp_vgpu_copy_in(copy, address, bytes))
		return copy;
	gp_vgpu_free(copy);
	return NULL;
}

/* What is in the area now, wave after wave, into `own`; zeros instead. */
static bool area_take(const struct gp_vgpu_group *group, u8 *own[GP_ISA_GROUP_WAVES])
{
	for (u32 i = 0; i < group->group.waves; i++) {
		u32 bytes;
		u8 *zeros;
		bool done;

		if (!group->saved[i])
			continue;
		bytes = gp_isa_saved_bytes(group->waves[i], i == group->saved_first);
		own[i] = area_copy(group->saved[i], bytes);
		zeros = gp_vgpu_alloc(bytes);
		done = own[i] && zeros && !gp_vgpu_copy_out(group->saved[i], zeros, bytes);
		gp_vgpu_free(zeros);
		if (!done)
			return false;
	}
	return true;
}

/* `own` is NULL or what the area gets back. */
static void area_finish(struct gp_vgpu_handler *handler, const struct gp_vgpu_group *group,
			u8 *own[GP_ISA_GROUP_WAVES], bool saved)
{
	for (u32 i = 0; i < group->group.waves; i++) {
		u32 bytes = gp_isa_saved_bytes(group->waves[i], i == group->saved_first);
		u8 *theirs = own[i] ? gp_vgpu_alloc(bytes) : NULL;

		if (saved && theirs)
			compare(handler, group->saved[i], own[i], theirs, bytes);
		else if (own[i])
			(void)gp_vgpu_copy_out(group->saved[i], own[i], bytes);
		gp_vgpu_free(theirs);
		gp_vgpu_free(own[i]);
	}
}

void gp_vgpu_handler_save(struct gp_vgpu_handler *handler, const struct gp_vgpu_job *job,
			  const struct gp_vgpu_group *group)
{
	struct gp_isa_group copy = group->group;
	struct gp_isa_saving saving = {
		.group = &copy,
		.waves = handler->copies,
		.areas = group->saved,
		.count = group->group.waves,
		.first = group->saved_first,
		.handler = program_of(job->launch.gfx),
	};
	u8 *own[GP_ISA_GROUP_WAVES] = {NULL};
	enum gp_isa_stop stop = GP_ISA_FAULT;
	u32 failed = 0;

	for (u32 i = 0; i < saving.count; i++) {
		memcpy(handler->copies[i], group->waves[i], sizeof(**handler->copies));
		handler->copies[i]->group = &copy;
	}
	runner_prepare(handler, group, job->launch.gfx, true);
	if (area_take(group, own)) {
		stop = gp_isa_handler_save(&handler->runner, &saving, &failed);
		if (stop != GP_ISA_SAVED)
			say_failed(handler, handler->copies[failed], stop);
	}
	area_finish(handler, group, own, stop == GP_ISA_SAVED);
}

/* The program may have unmapped it meanwhile. */
static bool area_is_there(const struct gp_vgpu_group *group)
{
	bool all = true;

	for (u32 i = 0; i < group->group.waves && all; i++) {
		u32 bytes = gp_isa_saved_bytes(group->waves[i], i == group->saved_first);
		u8 *buffer = group->saved[i] ? area_copy(group->saved[i], bytes) : NULL;

		all = !group->saved[i] || buffer;
		gp_vgpu_free(buffer);
	}
	return all;
}

bool gp_vgpu_handler_restore(struct gp_vgpu_handler *handler, const struct gp_vgpu_job *job,
			     struct gp_vgpu_group *group)
{
	struct gp_isa_saving saving = {
		.group = &group->group,
		.waves = group->waves,
		.areas = group->saved,
		.count = group->group.waves,
		.first = group->saved_first,
		.handler = program_of(job->launch.gfx),
	};
	struct gp_isa_group before = group->group;
	enum gp_isa_stop stop;
	u32 failed = 0;

	if (!area_is_there(group))
		return false;
	runner_prepare(handler, group, job->launch.gfx, false);
	stop = gp_isa_handler_restore(&handler->runner, &saving, &failed);
	if (stop != GP_ISA_RUNNING) {
		say_failed(handler, group->waves[failed], stop);
		group->group = before; /* it may have ended waves of it */
		return false;
	}
	for (u32 i = 0; i < saving.count; i++)
		handler->restored += saving.areas[i] != 0;
	/* Few programs end in an orderly way, so it does not wait for that. */
	if (handler->saved > 10 * handler->said) {
		handler->said = handler->saved;
		say_counts(handler);
	}
	return true;
}
