// SPDX-License-Identifier: GPL-2.0
/*
 * debugfs/fakegpu: what the machine says of itself, in the words of
 * `gpreempt vgpu status`, so that one test asks both.
 *   status  JSON: what the driver holds and what the hardware does
 *   clock   written: model time stands still after so many ns, until who
 *           wrote it closes the file
 *   reset   written: the driver's own way through a GPU reset
 *
 * The driver holds its queue lock while it waits for the hardware, and that
 * is when a test wants to look. So the lock is only tried; where it is taken
 * the driver's flags are those of the last time it was not.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/hashtable.h>
#include <linux/seq_file.h>
#include <linux/srcu.h>

#include "fakegpu.h"
#include "kfd_pm4_opcodes.h"

#define MAX_VIEWS	512
#define LOCK_TRIES	20	/* of 1 ms */

/* What the driver knows of a queue. */
struct view {
	pid_t pid;
	u32 id, priority, percent;
	bool suspended, evicted, sdma;
	u64 mqd, ring;
};

static DEFINE_MUTEX(view_lock);
static struct view *views;
static u32 view_count;

/* Those who have it and those who wait for it, asleep or spinning. */
static u32 line_of(struct mutex *lock)
{
	struct list_head *waiter;
	unsigned long flags;
	u32 count = mutex_is_locked(lock);

	raw_spin_lock_irqsave(&lock->wait_lock, flags);
	list_for_each(waiter, &lock->wait_list)
		count++;
	raw_spin_unlock_irqrestore(&lock->wait_lock, flags);
	return count + (atomic_read(&lock->osq.tail) != 0);
}

/* SUSPEND has two locks of its target, and calls wait for either. */
static u32 calls_in_line(struct kfd_process *process)
{
	u32 events = line_of(&process->event_mutex);

	return line_of(&process->mutex) + (events ? events - 1 : 0);
}

static void look_at_queues(struct qcm_process_device *qpd)
{
	struct kfd_process_device *pdd =
		container_of(qpd, struct kfd_process_device, qpd);
	struct queue *queue;

	list_for_each_entry(queue, &qpd->queues_list, list) {
		struct queue_properties *p = &queue->properties;

		if (view_count == MAX_VIEWS)
			return;
		views[view_count++] = (struct view){
			.pid = pdd->process->lead_thread->pid,
			.id = p->queue_id,
			.priority = p->priority,
			.percent = p->queue_percent,
			.suspended = FG_SUSPENDED(p),
			.evicted = p->is_evicted,
			.sdma = p->type != KFD_QUEUE_TYPE_COMPUTE,
			.mqd = queue->gart_mqd_addr,
			.ring = p->queue_address,
		};
	}
}

static void refresh_views(void)
{
	struct device_queue_manager *dqm = fg_manager();
	struct device_process_node *node;
	u32 i;

	for (i = 0; !mutex_trylock(&dqm->lock_hidden); i++) {
		if (i == LOCK_TRIES)
			return;
		usleep_range(1000, 2000);
	}
	view_count = 0;
	list_for_each_entry(node, &dqm->queues, list)
		look_at_queues(node->qpd);
	mutex_unlock(&dqm->lock_hidden);
}

/* ---- JSON ---- */

static const char *truth(bool value)
{
	return value ? "true" : "false";
}

static const struct fg_queue *hardware_of(const struct view *view)
{
	static const struct fg_queue nothing;
	const struct fg_queue *queue;

	list_for_each_entry(queue, &fg.queues, list)
		if (queue->mqd_gpu == view->mqd)
			return queue;
	return &nothing;
}

static void show_queue(struct seq_file *out, const struct view *view)
{
	const struct fg_queue *queue = hardware_of(view);

	seq_printf(out, "{\"id\":%u,\"type\":\"%s\",\"priority\":%u,",
		   view->id, view->sdma ? "sdma" : "aql", view->priority);
	seq_printf(out, "\"percentage\":%u,\"suspended\":%s,\"evicted\":%s,",
		   view->percent, truth(view->suspended),
		   truth(view->evicted));
	seq_printf(out, "\"ring\":\"0x%llx\",\"submitted\":%llu,", view->ring,
		   max(queue->written, queue->launched));
	seq_printf(out, "\"launched\":%llu,\"completed\":%llu,",
		   queue->launched, queue->completed);
	seq_printf(out, "\"mapped\":%s,\"cu_ns\":%llu,", truth(queue->mapped),
		   queue->cu_ns);
	seq_printf(out, "\"taken_off\":%llu}", queue->taken_off);
}

static void show_process(struct seq_file *out, struct kfd_process *process)
{
	pid_t pid = process->lead_thread->pid;
	u32 count = 0, i;

	for (i = 0; i < view_count; i++)
		count += views[i].pid == pid;
	seq_printf(out, "{\"pid\":%d,\"queue_count\":%u,\"pasid\":%u,", pid,
		   count, FG_PASID(process));
	seq_printf(out, "\"blocked\":%u,\"in_line\":%u,\"trap_debug\":%s,",
		   fg_blocked_calls(process), calls_in_line(process),
		   truth(fg_traps_on(process)));
	seq_puts(out, "\"queues\":[");
	for (i = 0; i < view_count; i++)
		if (views[i].pid == pid) {
			show_queue(out, &views[i]);
			if (--count)
				seq_putc(out, ',');
		}
	seq_puts(out, "]}");
}

/* The table is amdgpu's, so its size is known from its declaration only. */
static void show_processes(struct seq_file *out)
{
	typeof(kfd_processes_table) *table = (void *)fg.sym.processes;
	struct kfd_process *process;
	const char *comma = "";
	u32 bucket;
	int idx = srcu_read_lock(fg.sym.processes_srcu);

	hash_for_each_rcu((*table), bucket, process, kfd_processes) {
		seq_puts(out, comma);
		show_process(out, process);
		comma = ",";
	}
	srcu_read_unlock(fg.sym.processes_srcu, idx);
}

static void show_packet(struct seq_file *out, const struct fg_packet *packet)
{
	switch (packet->opcode) {
	case IT_RUN_LIST:
		seq_printf(out, "\"RUN_LIST %u\"", packet->word);
		break;
	case IT_UNMAP_QUEUES:
		seq_printf(out, "\"UNMAP_QUEUES %u\"", packet->word);
		break;
	case IT_QUERY_STATUS:
		seq_puts(out, "\"QUERY_STATUS\"");
		break;
	case IT_WRITE_DATA:
		seq_printf(out, "\"WRITE_DATA %08x\"", packet->word);
		break;
	default:
		seq_printf(out, "\"%x\"", packet->opcode);
	}
}

static void show_packets(struct seq_file *out)
{
	u64 sent = fg.figures.packets_sent, i = 0;

	if (sent > FG_PACKETS)
		i = sent - FG_PACKETS;
	for (; i < sent; i++) {
		show_packet(out, &fg.fw.packets[i % FG_PACKETS]);
		if (i + 1 < sent)
			seq_putc(out, ',');
	}
}

static void show_model(struct seq_file *out)
{
	const struct fg_figures *f = &fg.figures;
	struct fg_queue *queue;
	u32 mapped = 0;

	list_for_each_entry(queue, &fg.queues, list)
		mapped += queue->mapped;
	seq_printf(out, "{\"now_ns\":%llu,\"updates\":%llu,\"runlists\":%llu,",
		   fg.clock.now_ns, f->updates, f->runlists);
	seq_printf(out, "\"unmaps\":%llu,\"rotations\":%llu,", f->unmaps,
		   f->rotations);
	seq_printf(out, "\"saved_bytes\":%llu,\"interrupts\":%llu,",
		   f->saved_bytes, f->interrupts);
	seq_printf(out, "\"oversubscribed\":%s,\"mapped_queues\":%u}",
		   truth(fg.fw.active && fg.fw.chained), mapped);
}

/* @waiting: calls that the driver has under way or in line. */
static void show_gpu(struct seq_file *out, u32 waiting)
{
	bool stuck = fg.fw.unmapping && fg_waves_in_flight();
	bool hung = fg_manager()->is_hws_hang || (stuck && !waiting);

	if (!waiting && !fg_hiq_empty() && !hung)
		waiting = 1;	/* a runlist is read after the call returns */
	seq_printf(out, "{\"node\":1,\"gpu_id\":%u,\"render_minor\":128,",
		   fg_gpu_id());
	seq_printf(out, "\"gpu\":\"fakegpu\",\"personality\":\"%s\",",
		   fg_personality);
	seq_printf(out, "\"gfx_version\":%d,\"cus\":%d,\"xccs\":%d,",
		   fg_xccs == 1 ? 90010 : 90402, FG_CUS, fg_xccs);
	seq_printf(out, "\"hung\":%s,\"resets\":%llu,\"mes\":false,",
		   truth(hung), fg.figures.resets);
	seq_printf(out, "\"updates_pending\":%u,\"packets_sent\":%llu,",
		   waiting, fg.figures.packets_sent);
	seq_puts(out, "\"packets\":[");
	show_packets(out);
	seq_puts(out, "],\"model\":");
	show_model(out);
	seq_putc(out, '}');
}

static int status_show(struct seq_file *out, void *unused)
{
	u32 waiting;

	mutex_lock(&view_lock);
	/* Before this reader, the only one, is in the line itself. */
	waiting = line_of(&fg_manager()->lock_hidden);
	refresh_views();
	mutex_lock(&fg.lock);
	seq_printf(out, "{\"version\":1,\"era\":\"%s\",\"checkpoint\":true,",
		   fg_era);
	seq_printf(out, "\"preemption_timeout_ms\":%d,\"sched_policy\":%d,",
		   *fg.sym.preemption_timeout_ms, *fg.sym.sched_policy);
	seq_printf(out, "\"gpu_recovery\":false,\"held\":%s,\"gpus\":[",
		   truth(fg_clock_held()));
	show_gpu(out, waiting);
	seq_puts(out, "],\"processes\":[");
	show_processes(out);
	seq_puts(out, "]}\n");
	mutex_unlock(&fg.lock);
	mutex_unlock(&view_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(status);

/* ---- the clock's handle, and reset ---- */

static ssize_t clock_write(struct file *file, const char __user *text,
			   size_t size, loff_t *offset)
{
	u64 ns;
	int error = kstrtou64_from_user(text, size, 10, &ns);

	if (error)
		return error;
	mutex_lock(&fg.lock);
	fg_clock_advance();
	fg.clock.hold_ns = ns == U64_MAX ? ns : fg.clock.now_ns + ns;
	mutex_unlock(&fg.lock);
	file->private_data = (void *)(long)current->tgid;
	return size;
}

/*
 * Let go when the process that holds closes it or ends. Not on release: its
 * children have the file too, and may be waiting for the clock.
 */
static int clock_flush(struct file *file, fl_owner_t id)
{
	if (file->private_data == (void *)(long)current->tgid) {
		mutex_lock(&fg.lock);
		fg_clock_advance();
		fg.clock.hold_ns = U64_MAX;
		mutex_unlock(&fg.lock);
	}
	return 0;
}

static const struct file_operations clock_fops = {
	.owner = THIS_MODULE,
	.write = clock_write,
	.flush = clock_flush,
};

static ssize_t reset_write(struct file *file, const char __user *text,
			   size_t size, loff_t *offset)
{
	int error;

	fg_manager()->is_hws_hang = true;	/* no wait for the hardware */
	error = fg_pre_reset();
	fg_firmware_reset();
	if (!error)
		error = fg.sym.post_reset(fg.adev->kfd.dev);
	return error ?: size;
}

static const struct file_operations reset_fops = {
	.owner = THIS_MODULE,
	.write = reset_write,
};

int fg_status_init(void)
{
	views = kcalloc(MAX_VIEWS, sizeof(*views), GFP_KERNEL);
	if (!views)
		return -ENOMEM;
	fg.debugfs = debugfs_create_dir("fakegpu", NULL);
	debugfs_create_file("status", 0444, fg.debugfs, NULL, &status_fops);
	debugfs_create_file("clock", 0200, fg.debugfs, NULL, &clock_fops);
	debugfs_create_file("reset", 0200, fg.debugfs, NULL, &reset_fops);
	return 0;
}

void fg_status_exit(void)
{
	debugfs_remove(fg.debugfs);
	kfree(views);
	views = NULL;
}
