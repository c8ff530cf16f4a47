/* SPDX-License-Identifier: MIT */
/*
 * Functions that the files of the preload library share: the descriptor table, path rewriting,
 * requests to the server and the handlers of ioctls. The command processor uses vgpu/client.h
 * alone.
 */
#ifndef GP_VGPU_PRELOAD_PARTS_H
#define GP_VGPU_PRELOAD_PARTS_H

#include <sys/stat.h>

#include "vgpu/client.h"

#define GP_VGPU_EXPORT __attribute__((visibility("default")))
/* A 64-bit name: on x86-64 the types and flags are those of the plain one. */
#define GP_VGPU_EXPORT_AS(name) __attribute__((visibility("default"), alias(#name)))

/* ---- client.c ---- */

/* <directory>/root when this process runs on a virtual GPU, else NULL. No system call. */
const char *gp_vgpu_root(void);
const char *gp_vgpu_client_directory(void);
/* The client, if there is one already. */
struct gp_vgpu_client *gp_vgpu_client_if_any(void);
/* A secondary one, not in the list yet; NULL when the server refuses. */
struct gp_vgpu_client *gp_vgpu_client_new(u64 file);
/* Libc's own function behind one we export, e.g. GP_VGPU_REAL(open)(path, flags). */
#define GP_VGPU_REAL(name)                                              \
	({                                                              \
		static __typeof__(&name) real_;                         \
		if (!real_)                                             \
			real_ = (__typeof__(&name))gp_vgpu_real(#name); \
		real_;                                                  \
	})
void *gp_vgpu_real(const char *name);

/* ---- rocr.c ---- */

/* A line on stderr where the program's ROCr is too old for the machine's GPUs. */
void gp_vgpu_warn_old_rocr(const struct gp_vgpu_client *client);

/* ---- fdtable.c: which descriptors are ours ---- */

enum gp_vgpu_fd_kind {
	GP_VGPU_FD_NONE,
	GP_VGPU_FD_KFD,
	GP_VGPU_FD_RENDER,
	GP_VGPU_FD_OWN,
	GP_VGPU_FD_DMABUF,
};

struct gp_vgpu_fd {
	enum gp_vgpu_fd_kind kind;
	u32 gpu_index;
	pid_t owner; /* the process that opened it */
	u64 file;    /* the same for all copies of a descriptor */
};

/* Lock-free, any descriptor number, safe before main and in a forked child. */
struct gp_vgpu_fd gp_vgpu_fd_get(int fd);
/* The same, and NONE when the descriptor was closed or replaced behind our back. */
struct gp_vgpu_fd gp_vgpu_fd_check(int fd);
/* Opens a device: a sealed memfd, remembered. -errno. That of /dev/kfd has this name and the pid.
 */
#define GP_VGPU_KFD_NAME "kfd-"
int gp_vgpu_fd_open(enum gp_vgpu_fd_kind kind, u32 gpu_index, int open_flags);
void gp_vgpu_fd_mark_own(int fd);
int gp_vgpu_fd_remember(int fd, enum gp_vgpu_fd_kind kind);
bool gp_vgpu_is_open(int fd);
/* `to` is a duplicate of `from` now. */
void gp_vgpu_fd_duplicate(int from, int to);
/* The first descriptor from `fd` on that is in the table, or -1. */
int gp_vgpu_fd_next(int fd);
/* Forgets a descriptor that is being closed. True when it is one of ours that the application may
 * not close. */
bool gp_vgpu_fd_forget(int fd);

/* ---- contexts.c ---- */

/* The client that a descriptor belongs to; put back after use. NULL as gp_vgpu_client(). */
struct gp_vgpu_client *gp_vgpu_client_take(struct gp_vgpu_fd fd);
void gp_vgpu_client_put(struct gp_vgpu_client *client);
int gp_vgpu_create_process(struct gp_vgpu_client *client, struct gp_vgpu_fd fd);
/* A descriptor of this file was forgotten: the last one ends the process that it had. */
void gp_vgpu_file_closed(u64 file);
/* gp_vgpu_cp_unmapped() for all of them. */
void gp_vgpu_secondary_unmapped(struct gp_vgpu_client *primary, u64 address, u64 size);

/* ---- path.c ---- */

#define GP_VGPU_PATH_MAX 4096

/* `path`, or its place in the machine's tree, written to `buffer`. */
const char *gp_vgpu_path(const char *path, char buffer[GP_VGPU_PATH_MAX]);
/* The same for a path that may start at a directory; *inside: it leads into the tree. */
const char *gp_vgpu_path_at(int directory, const char *path, char buffer[GP_VGPU_PATH_MAX],
			    bool *inside);
/* Takes the tree's prefix off a resolved path, in place. */
void gp_vgpu_path_strip(char *path);

/* Decimal, without stdio; `out` has room for 11 bytes. */
void gp_vgpu_number(char *out, u32 value);

struct gp_vgpu_node {
	enum gp_vgpu_fd_kind kind;
	u32 minor;
};
/* Which device node a path names; kind NONE for all other paths. */
struct gp_vgpu_node gp_vgpu_path_node(const char *path);
void gp_vgpu_node_stat(struct gp_vgpu_node device, struct stat *st);

/* ---- connect.c ---- */

/*
 * One request to the server and its reply, on this thread's own connection. args: in and out, size
 * bytes. payload: in, payload_size bytes; out, at most payload_room bytes, *payload_size set.
 * Descriptors: send_fd -1 = none; *receive_fd is -1 or a new descriptor the caller closes.
 * Returns the ioctl's result or -errno; -EINTR after a signal, when the server gave it up;
 * -ENODEV when the server is gone.
 */
struct gp_vgpu_call {
	u32 kind, ioctl_nr, flags;
	void *args;
	u32 args_size;
	void *payload;
	u32 payload_size, payload_room;
	int send_fd;
	int receive_fd;
	/* -EINTR after every interruption: handlers that restart system calls, stops, a tracer.
	 * Otherwise the C library's rules hold, as for a driver that sleeps restartably. */
	bool never_restarts;
};
int gp_vgpu_client_request(struct gp_vgpu_client *client, struct gp_vgpu_call *call);
/* -errno; the reply's descriptors in fds, -1 where there is none. */
int gp_vgpu_connect_first(struct gp_vgpu_client *client, int fds[3]);
void gp_vgpu_refresh(const char *path);
/* In a forked child: the parent's connections are not ours. */
void gp_vgpu_connections_forked(void);

/* ---- ioctl.c ---- */

int gp_vgpu_kfd_ioctl(struct gp_vgpu_fd fd, unsigned long request, void *user);
/* Index of a GPU in machine.gpus, or -1. */
int gp_vgpu_gpu_index(const struct gp_vgpu_client *client, u32 gpu_id);
/* The driver's kfd_bind_process_to_device(): 0, -EINVAL for no such GPU, `unbound` before
 * ACQUIRE_VM. *index is set when 0. */
int gp_vgpu_bound_gpu(struct gp_vgpu_client *client, u32 gpu_id, int unbound, u32 *index);
/* A call of one ioctl with the driver's structure, for what more has to go along. */
struct gp_vgpu_call gp_vgpu_ioctl_call(unsigned int request, void *args);
/* Hands the arguments to the server as they are. */
int gp_vgpu_forward(struct gp_vgpu_client *client, u32 nr, void *args, u32 size);

/* ---- handlers of the table in vgpu/ioctls.c, by file; args as the driver knows them ---- */

typedef int gp_vgpu_handler(struct gp_vgpu_client *client, void *args);

/* ioctl_device.c */
gp_vgpu_handler gp_vgpu_ioctl_get_version, gp_vgpu_ioctl_get_clock_counters,
	gp_vgpu_ioctl_get_apertures, gp_vgpu_ioctl_get_apertures_new, gp_vgpu_ioctl_acquire_vm,
	gp_vgpu_ioctl_set_memory_policy, gp_vgpu_ioctl_set_scratch, gp_vgpu_ioctl_set_trap_handler,
	gp_vgpu_ioctl_get_tile_config, gp_vgpu_ioctl_set_xnack_mode;
/* dmabuf.c */
gp_vgpu_handler gp_vgpu_ioctl_get_dmabuf_info, gp_vgpu_ioctl_import_dmabuf,
	gp_vgpu_ioctl_export_dmabuf;
/* lseek() and mmap() on a dma-buf; -errno, and MAP_FAILED with errno. */
s64 gp_vgpu_dmabuf_seek(int fd, s64 offset, int whence);
void *gp_vgpu_dmabuf_mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset);
/* memory.c, svm.c */
gp_vgpu_handler gp_vgpu_ioctl_alloc_memory, gp_vgpu_ioctl_free_memory, gp_vgpu_ioctl_map_memory,
	gp_vgpu_ioctl_unmap_memory, gp_vgpu_ioctl_svm;
/* events.c, wait.c */
gp_vgpu_handler gp_vgpu_ioctl_create_event, gp_vgpu_ioctl_destroy_event, gp_vgpu_ioctl_set_event,
	gp_vgpu_ioctl_reset_event, gp_vgpu_ioctl_wait_events;
/* queues.c */
gp_vgpu_handler gp_vgpu_ioctl_create_queue, gp_vgpu_ioctl_update_queue, gp_vgpu_ioctl_destroy_queue,
	gp_vgpu_ioctl_set_cu_mask;
/* ioctl_debug.c */
gp_vgpu_handler gp_vgpu_ioctl_dbg_trap, gp_vgpu_ioctl_runtime_enable, gp_vgpu_ioctl_smi_events;

/* drm.c */
int gp_vgpu_drm_ioctl(struct gp_vgpu_client *client, u32 gpu_index, unsigned long request,
		      void *user);

/* True when [va, va + size) is exactly one allocation mapped on gpu_id (native's strict checks). */
bool gp_vgpu_is_allocation(struct gp_vgpu_client *client, u32 gpu_id, u64 va, u64 size);
void *gp_vgpu_memory_mmap(struct gp_vgpu_client *client, void *addr, size_t len, int prot,
			  int flags, bool render_node, off_t offset);

/* ---- the pieces of a client; NULL or -errno when memory is short ---- */

struct gp_vgpu_memory *gp_vgpu_memory_create(void);
void gp_vgpu_memory_forked(struct gp_vgpu_memory *memory);
void gp_vgpu_memory_destroy(struct gp_vgpu_memory *memory);
struct gp_vgpu_events *gp_vgpu_events_create(void);
void gp_vgpu_events_destroy(struct gp_vgpu_events *events);
struct gp_vgpu_queues *gp_vgpu_queues_create(void);
bool gp_vgpu_queues_any(struct gp_vgpu_client *client);
/* Whether a queue of this GPU has a buffer there: such a mapping cannot be taken away. */
bool gp_vgpu_queues_use(struct gp_vgpu_client *client, u32 gpu_index, u64 start, u64 size);
struct gp_vgpu_svm *gp_vgpu_svm_create(void);
void gp_vgpu_svm_destroy(struct gp_vgpu_svm *svm);

/* Whether any page of [va, va + size) is in an SVM range. */
bool gp_vgpu_svm_overlaps(struct gp_vgpu_client *client, u64 va, u64 size);
/* The application unmapped it: the driver hears of that from the kernel. */
void gp_vgpu_svm_unmapped(struct gp_vgpu_client *client, u64 va, u64 size);
/* Whether all of it is in SVM ranges this GPU may use. */
bool gp_vgpu_svm_covers(struct gp_vgpu_client *client, u32 gpu_index, u64 va, u64 size);

/* The page a CREATE_EVENT handle names: its address and size. NULL when it names none. */
void *gp_vgpu_memory_kernel_map(struct gp_vgpu_client *client, u64 handle, u64 *size);
/* An event page of our own making; its file offset in *offset. */
void *gp_vgpu_memory_event_page(struct gp_vgpu_client *client, u64 size, u64 *offset);
/* The event page for an old-style mmap of /dev/kfd: its offset, or -errno. */
int gp_vgpu_events_page(struct gp_vgpu_client *client, u64 length, u64 *offset);

#endif
