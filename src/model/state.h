/* SPDX-License-Identifier: MIT */
/*
 * The inside of the model: its objects and what the files of this room call in each other. Only
 * model/ and its own tests include this.
 *
 * A packet waits in its queue, is dispatched (a timer), becomes ready, starts workgroups in batches
 * (launched with the first), and when the last batch is over fires its signal after one more timer.
 * A batch is resident (it holds CUs and has an event) or saved (in its queue's saved list).
 */
#ifndef GP_MODEL_STATE_H
#define GP_MODEL_STATE_H

#include "model/model.h"

#define GP_MODEL_LEVELS 16 /* queue priorities; pipe priority is monotonic in them */

enum gp_model_event_kind {
	GP_EVENT_BATCH,    /* value: batch; its workgroups are over */
	GP_EVENT_DISPATCH, /* value: queue; its first waiting packet may start */
	GP_EVENT_COMPLETE, /* value: packet; its signal fires */
	GP_EVENT_SDMA,     /* value: engine; its packet is over */
};

enum gp_model_phase {
	GP_PHASE_RUN,
	GP_PHASE_GRACE, /* nothing starts; resident batches may end */
	GP_PHASE_UNMAP, /* nothing runs, until everything is saved and SDMA packets are over */
	GP_PHASE_MAP,   /* the next runlist is being loaded; restored batches hold their CUs */
};

struct gp_model_process {
	struct gp_list link;   /* in model->processes, oldest first */
	struct gp_list queues; /* oldest first */
	bool used;
	u32 queue_count;
	struct gp_list enabled_link; /* in model->enabled, oldest first, with an enabled queue */
	u32 enabled;                 /* queues, as the runlist has them */
	u32 vmid_index;              /* GP_MODEL_NONE when not mapped */
};

enum gp_model_dispatch {
	GP_DISPATCH_IDLE,    /* no packet, not mapped, or behind a barrier */
	GP_DISPATCH_STARTED, /* a DISPATCH event is set, or dispatch_left_ns while unmapped */
	GP_DISPATCH_READY,   /* the first waiting packet has workgroups to start */
};

struct gp_model_queue {
	struct gp_list link;              /* in its process */
	struct gp_list ready_link;        /* in model->ready[priority] or its engine's ready */
	struct gp_list mapped_link;       /* in model->mapped */
	struct gp_list changed_link;      /* in model->changed */
	struct gp_model_process *process; /* NULL: not in use */
	struct gp_model_queue_config wanted, now; /* `now` was copied from `wanted` by a map */
	bool changed;                             /* `wanted`, since then */
	bool mapped, ready;
	u32 slot;
	enum gp_model_dispatch dispatch;
	u64 dispatch_left_ns;
	struct gp_list waiting; /* packets with workgroups not started; the first may be launched */
	struct gp_list live;    /* packets all of whose workgroups were started, not complete */
	struct gp_list saved;   /* batches */
	u32 live_count;
	u64 submitted, launched, completed;
	u32 resident_waves, saved_waves;
	u64 saved_bytes;
	u32 held_cus;       /* by its resident batches */
	u32 running_cus;    /* of these, by batches that make progress: none while mapping */
	u64 cu_ns, cu_mark; /* CU time up to cu_mark */
};

struct gp_model_packet {
	struct gp_list link; /* in its queue's waiting or live list */
	struct gp_model_queue *queue;
	u64 tag;
	bool barrier, kernel, launched, over; /* over: the last workgroup has ended */
	u32 occupancy;                        /* workgroups per CU */
	u32 waves;                            /* per workgroup */
	u64 group_bytes;                      /* saved per workgroup */
	u64 group_ns;                         /* with jitter; SDMA: the whole packet */
	u64 groups, groups_left, groups_live; /* all, not started, started and not over */
	u64 start_ns, end_ns;
	u64 complete_left_ns; /* while unmapped */
	u64 ran_wg_ns, contention_wg_ns;
};

/* `lanes` workgroups side by side, `rounds` in turn in each lane. */
struct gp_model_batch {
	struct gp_list link; /* in its queue's saved list */
	struct gp_model_packet *packet;
	u32 lanes, rounds;
	u32 cus; /* lanes / occupancy, rounded up */
	bool resident;
	u64 left_ns, started_ns;   /* time left at started_ns; while saved: at any time */
	u64 cu[GP_MODEL_CU_WORDS]; /* held, or held when it was saved; exactly `cus` bits */
};

struct gp_model_engine {
	struct gp_list ready; /* mapped queues with a packet waiting, next first */
	struct gp_model_packet *packet;
	u64 end_ns;
	u64 slots; /* queues of this engine that exist */
};

struct gp_model_update {
	u64 tag;
	u64 grace_ns;
};

struct gp_model {
	struct gp_model_config config;
	u32 cus; /* of the chip */
	u64 now;
	struct gp_pool processes_pool, queues_pool, packets_pool, batches_pool;
	struct gp_heap events;
	struct gp_list processes, enabled, mapped;
	struct gp_list changed; /* queues that are not as wanted yet */
	u32 enabled_queues, enabled_compute, enabled_processes; /* as the runlist has them */

	/* Compute units. */
	u64 free[GP_MODEL_CU_WORDS];
	u32 free_cus, running_cus, resident_batches;
	struct gp_list ready[GP_MODEL_LEVELS];
	u32 ready_count[GP_MODEL_LEVELS], ready_queues;
	u32 ready_levels;              /* bit per list that is not empty */
	bool unsettled;                /* something became free or ready at `now` */
	u32 *started, started_count;   /* batches of this allocation that have no time yet */
	u32 *restored, restored_count; /* MAP: batches that were placed, and run when it ends */

	struct gp_model_engine engine[GP_MODEL_MAX_ENGINES];

	/* Runlist. */
	enum gp_model_phase phase;
	u64 phase_end;
	u64 unmap_end;                  /* UNMAP: when it would be over without SDMA packets */
	u64 frozen_at;                  /* UNMAP and MAP: since when nothing runs */
	struct gp_model_update current; /* tag 0: a rotation */
	struct gp_model_update updates[GP_MODEL_MAX_UPDATES];
	u32 update_head, update_count;
	struct gp_model_queue *turn,
		*next_turn;              /* oversubscribed: first mapped, first not mapped */
	u64 quantum_end, quantum_left;   /* running; while switching */
	u64 enabled_work;                /* packets in queues that are enabled */
	struct gp_model_action unmapped; /* being built during UNMAP */

	struct gp_model_action *actions; /* a ring */
	u32 action_head, action_count, action_room;

	/* busy_cu_ns counts batches that stopped; gp_model_stats() adds the running ones. */
	struct gp_model_stats stats;
	u64 removed_cu_ns; /* of queues that are gone */
	u64 dropped_bytes; /* saved state that went with its queue */
};

/* The CUs of the chip in one word of a CU bitmap. */
static inline u64 gp_cu_word(const struct gp_model *model, u32 word)
{
	u32 bits = model->cus > word * 64 ? GP_MIN(model->cus - word * 64, 64) : 0;

	return bits == 64 ? ~0ull : (1ull << bits) - 1;
}

/* model.c */
u32 gp_model_action_room(const struct gp_model *model);
struct gp_model_action *gp_model_emit(struct gp_model *model, enum gp_model_action_kind kind);
void gp_model_event(struct gp_model *model, u64 at, enum gp_model_event_kind kind, u32 value);
/* Advances to `now`, which it corrects; false when actions must be taken first. */
bool gp_model_reach(struct gp_model *model, u64 now);
struct gp_model_process *gp_model_process(const struct gp_model *model, u32 process);
struct gp_model_queue *gp_model_queue(const struct gp_model *model, u32 queue);

/* queue.c */
/* Starts the dispatch of the next packet if the queue may. */
void gp_model_queue_pump(struct gp_model *model, struct gp_model_queue *queue);
/* On or off the ready list, as its state demands. */
void gp_model_queue_refresh(struct gp_model *model, struct gp_model_queue *queue);
void gp_model_queue_launch(struct gp_model *model, struct gp_model_packet *packet);
/* The packet has started everything it has. */
void gp_model_queue_started(struct gp_model *model, struct gp_model_packet *packet);
void gp_model_queue_dispatched(struct gp_model *model, struct gp_model_queue *queue);
void gp_model_queue_over(struct gp_model *model, struct gp_model_packet *packet);
void gp_model_queue_complete(struct gp_model *model, struct gp_model_packet *packet);
void gp_model_queue_thaw(struct gp_model *model, struct gp_model_queue *queue);

/* cu.c */
/* Gives free CUs to ready queues. While mapping only saved batches are placed. */
void gp_model_cu_allocate(struct gp_model *model);
/* Gives saved batches of ready queues the very CUs they had, where those are free. */
void gp_model_cu_return(struct gp_model *model);
void gp_model_cu_batch_over(struct gp_model *model, struct gp_model_batch *batch);
void gp_model_cu_save(struct gp_model *model, struct gp_model_batch *batch, u64 *xcc_bytes);
/* Lets the restored batches make progress, from now. */
void gp_model_cu_thaw(struct gp_model *model);
/* Bytes of a resident batch's state, added up by the XCC they are in. Returns their sum. */
u64 gp_model_cu_bytes(const struct gp_model *model, const struct gp_model_batch *batch,
		      u64 *xcc_bytes);
/* Brings the CU time of a queue up to now, before the number of its running CUs changes. */
void gp_model_cu_mark(struct gp_model *model, struct gp_model_queue *queue);

/* sdma.c */
void gp_model_sdma_start(struct gp_model *model);
void gp_model_sdma_over(struct gp_model *model, u32 engine);
/* The engine stops in the middle of the packet, which is dropped. */
void gp_model_sdma_abandon(struct gp_model *model, u32 engine);

/* runlist.c */
void gp_model_runlist_phase(struct gp_model *model);
void gp_model_runlist_rotate(struct gp_model *model);
/* UNMAP: sets its end by what is still under way on the SDMA engines. */
void gp_model_runlist_wait_sdma(struct gp_model *model);
/* When the runlist will do something by itself. */
u64 gp_model_runlist_next(const struct gp_model *model);
/* The queue is about to go. */
void gp_model_runlist_forget(struct gp_model *model, struct gp_model_queue *queue);
/* The wanted state of the queue changed: the next map applies it. */
void gp_model_runlist_changed(struct gp_model *model, struct gp_model_queue *queue);

/* check.c: the first invariant that does not hold, in words, or NULL. Walks everything. */
const char *gp_model_check(const struct gp_model *model);

#endif
