// SPDX-License-Identifier: MIT
/*
 * Doorbells. Each GPU's slice is a memfd that the application maps at its own address and the CP at
 * another. The application's mapping is write-protected with userfaultfd while every ring is idle:
 * the first store to it stops its thread and wakes the CP, which lifts the protection (the store
 * then happens) and looks at the rings until they are idle again. Without userfaultfd the CP looks
 * at the rings now and then instead; the launcher has said so.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "vgpu/faultfd.h"
#include "vgpu/cp/cp_state.h"

void gp_vgpu_cp_doorbells_init(struct gp_vgpu_cp_doorbells *doorbells)
{
	memset(doorbells, 0, sizeof(*doorbells));
	doorbells->fault_fd = -1;
	for (u32 i = 0; i < GP_VGPU_MAX_GPUS; i++)
		doorbells->slices[i].fd = -1;
}

/* In a child after fork(): the descriptors are copies, the slices are the parent's. */
void gp_vgpu_cp_doorbells_forget(struct gp_vgpu_cp_doorbells *doorbells)
{
	if (doorbells->fault_fd >= 0)
		gp_vgpu_close_own(doorbells->fault_fd);
	for (u32 i = 0; i < GP_VGPU_MAX_GPUS; i++) {
		if (doorbells->slices[i].fd >= 0) {
			syscall(SYS_munmap, doorbells->slices[i].slots, GP_VGPU_DOORBELL_BYTES);
			gp_vgpu_close_own(doorbells->slices[i].fd);
		}
	}
	gp_vgpu_cp_doorbells_init(doorbells);
}

static void say_polling(int error)
{
	char line[160];
	int length;

	if (!getenv("GPREEMPT_VGPU_VERBOSE"))
		return;
	length =
		snprintf(line, sizeof(line),
			 "gpreempt vgpu: userfaultfd is not available (%s); doorbells are polled\n",
			 strerror(error));
	if (length > 0 && write(STDERR_FILENO, line, (size_t)length) < 0)
		return;
}

static int fault_open(void)
{
	return getenv("GPREEMPT_VGPU_POLL") ? -ENOSYS : gp_vgpu_faultfd_open();
}

void *gp_vgpu_cp_doorbell_view(struct gp_vgpu_client *client, u32 gpu_index)
{
	struct gp_vgpu_cp *cp = __atomic_load_n(&client->cp, __ATOMIC_ACQUIRE);

	return cp ? cp->doorbells.slices[gpu_index].slots : NULL;
}

int gp_vgpu_cp_doorbell_fd(struct gp_vgpu_client *client, u32 gpu_index)
{
	struct gp_vgpu_cp *cp = gp_vgpu_cp_get(client);
	struct gp_vgpu_cp_slice *slice;
	int result = 0, fd;
	void *slots;

	if (!cp)
		return -ENOMEM;
	if (gpu_index >= GP_VGPU_MAX_GPUS)
		return -EINVAL;
	pthread_mutex_lock(&cp->lock);
	slice = &cp->doorbells.slices[gpu_index];
	if (slice->fd < 0) {
		fd = memfd_create("gpreempt-doorbells", MFD_CLOEXEC);
		if (fd < 0 || ftruncate(fd, GP_VGPU_DOORBELL_BYTES)) {
			result = -errno;
			slots = MAP_FAILED;
		} else {
			slots = mmap(NULL, GP_VGPU_DOORBELL_BYTES, PROT_READ | PROT_WRITE,
				     MAP_SHARED, fd, 0);
			result = slots == MAP_FAILED ? -errno : 0;
		}
		if (result && fd >= 0)
			syscall(SYS_close, fd);
		if (!result)
			*slice =
				(struct gp_vgpu_cp_slice){.fd = gp_vgpu_own_fd(fd), .slots = slots};
	}
	if (!result)
		result = slice->fd;
	pthread_mutex_unlock(&cp->lock);
	return result;
}

static bool protect(struct gp_vgpu_cp_doorbells *doorbells, struct gp_vgpu_cp_mapping *mapping,
		    bool on)
{
	struct uffdio_writeprotect request = {
		.range = {.start = mapping->address, .len = GP_VGPU_DOORBELL_BYTES},
		.mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0,
	};
	int result;

	do
		result = syscall(SYS_ioctl, doorbells->fault_fd, UFFDIO_WRITEPROTECT, &request);
	while (result && errno == EAGAIN);
	if (result) {
		/* Unmapped since: no store can reach it. */
		mapping->address = 0;
		return false;
	}
	mapping->protected = on;
	return true;
}

void gp_vgpu_cp_doorbell_mapped(struct gp_vgpu_client *client, u32 gpu_index, void *addr)
{
	struct gp_vgpu_cp *cp = gp_vgpu_cp_get(client);
	struct gp_vgpu_cp_doorbells *doorbells;
	struct uffdio_register range = {
		.range = {.start = (u64)(uintptr_t)addr, .len = GP_VGPU_DOORBELL_BYTES},
		.mode = UFFDIO_REGISTER_MODE_WP,
	};
	struct gp_vgpu_cp_mapping *mapping = NULL;

	(void)gpu_index;
	if (!cp)
		return;
	doorbells = &cp->doorbells;
	pthread_mutex_lock(&cp->lock);
	if (!doorbells->tried) {
		int fd = fault_open();

		doorbells->tried = true;
		doorbells->fault_fd = fd < 0 ? -1 : gp_vgpu_own_fd(fd);
		if (fd < 0)
			say_polling(-fd);
	}
	for (u32 i = 0; i < GP_CP_MAPPINGS && !mapping; i++) {
		if (!doorbells->mappings[i].address ||
		    doorbells->mappings[i].address == range.range.start)
			mapping = &doorbells->mappings[i];
	}
	if (doorbells->fault_fd >= 0) {
		if (mapping && !syscall(SYS_ioctl, doorbells->fault_fd, UFFDIO_REGISTER, &range)) {
			*mapping = (struct gp_vgpu_cp_mapping){.address = range.range.start};
		} else {
			/* A mapping that is not watched would be missed: poll all of them. */
			int error = errno;

			gp_vgpu_cp_doorbells_release(cp);
			gp_vgpu_close_own(doorbells->fault_fd);
			doorbells->fault_fd = -1;
			say_polling(error);
		}
	}
	pthread_mutex_unlock(&cp->lock);
	gp_vgpu_cp_wake(cp);
}

bool gp_vgpu_cp_doorbells_faults(struct gp_vgpu_cp *cp)
{
	struct gp_vgpu_cp_doorbells *doorbells = &cp->doorbells;
	struct uffd_msg messages[16];
	bool any = false;
	ssize_t size;

	if (doorbells->fault_fd < 0)
		return false;
	while ((size = read(doorbells->fault_fd, messages, sizeof(messages))) > 0) {
		for (size_t i = 0; i < (size_t)size / sizeof(messages[0]); i++) {
			u64 address = messages[i].arg.pagefault.address;

			if (messages[i].event != UFFD_EVENT_PAGEFAULT)
				continue;
			any = true;
			for (u32 k = 0; k < GP_CP_MAPPINGS; k++) {
				struct gp_vgpu_cp_mapping *mapping = &doorbells->mappings[k];

				/* Lifting it also wakes the thread, so it is done even when
				 * another fault on the slice has lifted it already. */
				if (mapping->address && address >= mapping->address &&
				    address < mapping->address + GP_VGPU_DOORBELL_BYTES)
					protect(doorbells, mapping, false);
			}
		}
	}
	return any;
}

bool gp_vgpu_cp_doorbells_protect(struct gp_vgpu_cp *cp)
{
	struct gp_vgpu_cp_doorbells *doorbells = &cp->doorbells;

	if (doorbells->fault_fd < 0)
		return false;
	for (u32 i = 0; i < GP_CP_MAPPINGS; i++) {
		if (doorbells->mappings[i].address && !doorbells->mappings[i].protected)
			protect(doorbells, &doorbells->mappings[i], true);
	}
	return true;
}

void gp_vgpu_cp_doorbells_release(struct gp_vgpu_cp *cp)
{
	struct gp_vgpu_cp_doorbells *doorbells = &cp->doorbells;

	for (u32 i = 0; doorbells->fault_fd >= 0 && i < GP_CP_MAPPINGS; i++) {
		if (doorbells->mappings[i].address && doorbells->mappings[i].protected)
			protect(doorbells, &doorbells->mappings[i], false);
	}
}
