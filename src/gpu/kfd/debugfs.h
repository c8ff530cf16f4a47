/* SPDX-License-Identifier: MIT */
/*
 * Readers of /sys/kernel/debug/kfd: hqds (hardware queue slots), mqds (queue descriptors) and rls
 * (the runlist the firmware works through). They take text from anywhere, live or a saved file,
 * and know nothing of where it came from but its name for messages. Formats:
 * docs/reference/formats/kfd-debugfs.md; register layouts in abi/.
 */
#ifndef GP_GPU_KFD_DEBUGFS_H
#define GP_GPU_KFD_DEBUGFS_H

#include "gpu/gpu.h"

/* Largest debugfs text read: an 8-GPU MI300X hqds is about 6 MiB. */
#define GP_DEBUGFS_LIMIT (256u << 20)
#define GP_DEBUGFS_HQDS  "/sys/kernel/debug/kfd/hqds"
#define GP_DEBUGFS_MQDS  "/sys/kernel/debug/kfd/mqds"
#define GP_DEBUGFS_RLS   "/sys/kernel/debug/kfd/rls"

/*
 * Parse a whole text. `name` is the file, for messages ("hqds:12: ..."). Text that is not of this
 * format, or of which nothing is complete, is an error (-EINVAL, with the first offending line). So
 * is a text that is cut or has garbled blocks (-EBADMSG), unless `partial` asks for what is whole
 * of it: then there is a warning, and `incomplete` is set in the list. `gfx_version` chooses the
 * register layout for a gpu_id; NULL or a return of 0 = take the layout from the register
 * addresses. An empty text is an empty list and 0. On an error `out` holds nothing.
 */
struct gp_gpu_debugfs_source {
	const char *name;
	const char *text;
	size_t len;
	bool live;    /* read from the driver just now: a damaged text is worth another try */
	bool partial; /* give what is complete of a damaged text */
	u32 (*gfx_version)(void *ctx, u32 gpu_id);
	void *ctx;
};

int gp_kfd_parse_hqds(const struct gp_gpu_debugfs_source *source, struct gp_diag *diag,
		      struct gp_kfd_slot_list *out);
int gp_kfd_parse_mqds(const struct gp_gpu_debugfs_source *source, struct gp_diag *diag,
		      struct gp_kfd_slot_list *out);

/* One PM4 packet of a runlist, decoded. */
enum gp_kfd_runlist_kind {
	GP_RUNLIST_PROCESS,
	GP_RUNLIST_QUEUE,
	GP_RUNLIST_CHAIN, /* RUN_LIST at the end: the list is oversubscribed and loops */
	GP_RUNLIST_OTHER,
};

struct gp_kfd_runlist_entry {
	enum gp_kfd_runlist_kind kind;
	u32 node, gpu_id;
	u32 offset; /* bytes from the start of the IB */
	u32 opcode;
	/* GP_RUNLIST_PROCESS */
	u32 pasid, quantum;
	u32 queue_count;  /* queues the process has */
	u32 mapped_count; /* of them in this list; the others are suspended, evicted or disabled */
	u64 page_table;
	/* GP_RUNLIST_QUEUE */
	u32 doorbell;
	u64 mqd_address, wptr_address;
	u32 engine;          /* engine select field */
	u32 extended_engine; /* 0: engine as it is; 1: SDMA 0-7; 2: SDMA 8-15 */
	u32 type;            /* queue type field */
	/* Join: filled by gp_kfd_runlist_join(); 0 = unknown */
	u32 pid;
	u64 ring;
};

/* A GPU that has a line in rls, with or without a runlist. */
struct gp_kfd_runlist_node {
	u32 node, gpu_id;
	u32 line;
	bool active; /* false: "No active runlist" */
	u32 *words;
	size_t word_count, word_capacity;
};

struct gp_kfd_runlist {
	struct gp_kfd_runlist_entry *items;
	size_t count, capacity;
	struct gp_kfd_runlist_node *nodes;
	size_t node_count, node_capacity;
	bool incomplete; /* the text was damaged; see gp_gpu_debugfs_source */
};

int gp_kfd_parse_rls(const struct gp_gpu_debugfs_source *source, struct gp_diag *diag,
		     struct gp_kfd_runlist *out);
void gp_kfd_runlist_free(struct gp_kfd_runlist *list);

/*
 * Gives each slot the pid of its descriptor: the one with the same ring base that agrees in MQD
 * address and doorbell, where both sides have them (SDMA descriptors hold no MQD address). A ring
 * base alone does not decide: two processes may use the same virtual address, and the owner's
 * descriptor may be the one that is missing. Without such a descriptor, or when it is several
 * processes', the slot has pid 0. Inactive slots hold stale rings and have none. Blocks that were
 * not decoded (gfx11 and later) are joined when their first words are those of one process's
 * descriptors.
 */
void gp_kfd_slots_join(struct gp_kfd_slot_list *slots, const struct gp_kfd_slot_list *descriptors);
/* The same for a runlist: MQD address and doorbell (SDMA: doorbell), and no other's PASID. */
void gp_kfd_runlist_join(struct gp_kfd_runlist *list, const struct gp_kfd_slot_list *descriptors);

/* The command that decodes a text that starts so: "hqd", "mqd" or "runlist"; NULL: it is another.
 */
const char *gp_kfd_text_command(const char *text, size_t len);

/* gpu_id -> gfx version from the KFD topology; empty when it is not readable. */
struct gp_kfd_gfx {
	struct gp_kfd_gfx_item {
		u32 gpu_id, version;
	} * items;
	size_t count, capacity;
	u32 forced; /* not 0: the answer for every GPU (--gfx) */
};

int gp_kfd_gfx_read(const struct gp_root *root, struct gp_kfd_gfx *out);
void gp_kfd_gfx_free(struct gp_kfd_gfx *gfx);
/* For gp_gpu_debugfs_source; ctx is a struct gp_kfd_gfx. */
u32 gp_kfd_gfx_version(void *ctx, u32 gpu_id);
/* "gfx90a" -> 90010; 0 for any other text. */
u32 gp_kfd_gfx_parse(const char *name);

#endif
