// SPDX-License-Identifier: GPL-2.0
/*
 * debugfs/fakegpu: what the machine says of itself, in the words of
 * `gpreempt vgpu status`, so that one test asks both.
 *   status  JSON: what the driver holds and what the hardware does
 *   clock   written: model time stands still after so many ns, until who
 *           wrote it closes the file
 *   reset   written: the driver's own way through a GPU reset
 *   evict   written: memory pressure on the process of that pid (evict.c)
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
#include <linux/version.h>

#include "fakegpu.h"
#include "kfd_pm4_opcodes.h"

#define MAX_VIEWS	512
#define LOCK_TRIES	20	/* of 1 ms */

#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 15, 0)
#define WAIT_LOCK(mutex)	(&(mutex)->wait_lock.rlock)
#else
#define WAIT_LOCK(mutex)	(&(mutex)->wait_lock)
#endif

/* What the driver knows of a queue. */
struct view {
	const struct fg_device *gpu;
	pid_t pid;
	u32 id, priority, percent;
	bool suspended, evicted, sdma;
	u64 mqd, ring;
};

static struct dentry *debugfs;
static DEFINE_MUTEX(view_lock);
static struct view *views;
static u32 view_count;

/* Those who have it and those who wait for it, asleep or spinning. */
static u32 line_of(struct mutex *lock)
{
	struct list_head *waiter;
	unsigned long flags;
	u32 count = mutex_is_locked(lock);

	raw_spin_lock_irqsave(WAIT_LOCK(lock), flags);
	list_for_each(waiter, &lock->wait_list)
		count++;
	raw_spin_unlock_irqrestore(WAIT_LOCK(lock), flags);
	return count + (atomic_read(&lock->osq.tail) != 0);
}

/* SUSPEND has two locks of its target, and calls wait for either. */
static u32 calls_in_line(struct kfd_process *process)
{
	u32 events = line_of(&process->event_mutex);

	return line_of(&process->mutex) + (events ? events - 1 : 0);
}

static void look_at_queues(const struct fg_device *gpu,
			   struct qcm_process_device *qpd)
{
	struct kfd_process_device *pdd =
		container_of(qpd, struct kfd_process_device, qpd);
	struct queue *queue;

	list_for_each_entry(queue, &qpd->queues_list, list) {
		struct queue_properties *p = &queue->properties;

		if (view_count == MAX_VIEWS)
			return;
		views[view_count++] = (struct view){
			.gpu = gpu,
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

static void forget_views(const struct fg_device *gpu)
{
	u32 i, kept = 0;

	for (i = 0; i < view_count; i++)
		if (views[i].gpu != gpu)
			views[kept++] = views[i];
	view_count = kept;
}

static void refresh_views(const struct fg_device *gpu)
{
	struct device_queue_manager *dqm = fg_manager(gpu);
	struct device_process_node *node;
	u32 i;

	for (i = 0; !mutex_trylock(&dqm->lock_hidden); i++) {
		if (i == LOCK_TRIES)
			return;
		usleep_range(1000, 2000);
	}
	forget_views(gpu);
	list_for_each_entry(node, &dqm->queues, list)
		look_at_queues(gpu, node->qpd);
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

	list_for_each_entry(queue, &view->gpu->queues, list)
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
	typeof(kfd_processes_table) *table = (void *)fg_sym.processes;
	struct kfd_process *process;
	const char *comma = "";
	u32 bucket;
	int idx = srcu_read_lock(fg_sym.processes_srcu);

	hash_for_each_rcu((*table), bucket, process, kfd_processes) {
		seq_puts(out, comma);
		show_process(out, process);
		comma = ",";
	}
	srcu_read_unlock(fg_sym.processes_srcu, idx);
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

static void show_packets(struct seq_file *out, const struct fg_device *gpu)
{
	u64 sent = gpu->figures.packets_sent, i = 0;

	if (sent > FG_PACKETS)
		i = sent - FG_PACKETS;
	for (; i < sent; i++) {
		show_packet(out, &gpu->fw.packets[i % FG_PACKETS]);
		if (i + 1 < sent)
			seq_putc(out, ',');
	}
}

static void show_model(struct seq_file *out, const struct fg_device *gpu)
{
	const struct fg_figures *f = &gpu->figures;
	struct fg_queue *queue;
	u32 mapped = 0;

	list_for_each_entry(queue, &gpu->queues, list)
		mapped += queue->mapped;
	seq_printf(out, "{\"now_ns\":%llu,\"updates\":%llu,\"runlists\":%llu,",
		   gpu->clock.now_ns, f->updates, f->runlists);
	seq_printf(out, "\"unmaps\":%llu,\"rotations\":%llu,", f->unmaps,
		   f->rotations);
	seq_printf(out, "\"saved_bytes\":%llu,\"interrupts\":%llu,",
		   f->saved_bytes, f->interrupts);
	seq_printf(out, "\"oversubscribed\":%s,\"mapped_queues\":%u}",
		   truth(gpu->fw.active && gpu->fw.chained), mapped);
}

/* @waiting: calls that the driver has under way or in line. */
static void show_gpu(struct seq_file *out, const struct fg_device *gpu,
		     u32 waiting)
{
	bool stuck = gpu->fw.unmapping && fg_waves_in_flight(gpu);
	bool hung = fg_manager(gpu)->is_hws_hang || (stuck && !waiting);

	if (!waiting && !fg_hiq_empty(gpu) && !hung)
		waiting = 1;	/* a runlist is read after the call returns */
	seq_printf(out, "{\"node\":%u,\"gpu_id\":%u,\"render_minor\":%d,",
		   gpu->index + 1, fg_gpu_id(gpu), gpu->minor.index);
	seq_printf(out, "\"gpu\":\"fakegpu\",\"personality\":\"%s\",",
		   fg_personality);
	seq_printf(out, "\"gfx_version\":%d,\"cus\":%d,\"xccs\":%d,",
		   fg_xccs == 1 ? 90010 : 90402, FG_CUS, fg_xccs);
	seq_printf(out, "\"hung\":%s,\"resets\":%llu,\"mes\":false,",
		   truth(hung), gpu->figures.resets);
	seq_printf(out, "\"updates_pending\":%u,\"packets_sent\":%llu,",
		   waiting, gpu->figures.packets_sent);
	seq_puts(out, "\"packets\":[");
	show_packets(out, gpu);
	seq_puts(out, "],\"model\":");
	show_model(out, gpu);
	seq_putc(out, '}');
}

/* In their order: nobody else takes more than one. */
static void lock_all(void)
{
	struct fg_device *gpu;

	fg_for_each(gpu)
		mutex_lock_nested(&gpu->lock, gpu->index);
}

static void unlock_all(void)
{
	struct fg_device *gpu;

	fg_for_each(gpu)
		mutex_unlock(&gpu->lock);
}

static int status_show(struct seq_file *out, void *unused)
{
	u32 waiting[FG_GPUS];
	struct fg_device *gpu;
	bool held = true;

	mutex_lock(&view_lock);
	fg_for_each(gpu) {
		/* Before this reader, the only one, is in the line itself. */
		waiting[gpu->index] = line_of(&fg_manager(gpu)->lock_hidden);
		refresh_views(gpu);
	}
	lock_all();
	fg_for_each(gpu)
		held &= fg_clock_held(gpu);
	seq_printf(out, "{\"version\":1,\"era\":\"%s\",\"driver\":\"%s\",",
		   fg_era, fg_driver);
	seq_puts(out, "\"checkpoint\":true,");
	seq_printf(out, "\"preemption_timeout_ms\":%d,\"sched_policy\":%d,",
		   *fg_sym.preemption_timeout_ms, *fg_sym.sched_policy);
	seq_printf(out, "\"gpu_recovery\":false,\"held\":%s,\"gpus\":[",
		   truth(held));
	fg_for_each(gpu) {
		if (gpu->index)
			seq_putc(out, ',');
		show_gpu(out, gpu, waiting[gpu->index]);
	}
	seq_puts(out, "],\"processes\":[");
	show_processes(out);
	seq_puts(out, "]}\n");
	unlock_all();
	mutex_unlock(&view_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(status);

/* ---- the clock's handle, and reset ---- */

static void hold_clocks(u64 ns)
{
	struct fg_device *gpu;

	fg_for_each(gpu) {
		mutex_lock(&gpu->lock);
		fg_clock_advance(gpu);
		gpu->clock.hold_ns =
			ns == U64_MAX ? ns : gpu->clock.now_ns + ns;
		mutex_unlock(&gpu->lock);
	}
}

static ssize_t clock_write(struct file *file, const char __user *text,
			   size_t size, loff_t *offset)
{
	u64 ns;
	int error = kstrtou64_from_user(text, size, 10, &ns);

	if (error)
		return error;
	hold_clocks(ns);
	file->private_data = (void *)(long)current->tgid;
	return size;
}

/*
 * Let go when the process that holds closes it or ends. Not on release: its
 * children have the file too, and may be waiting for the clock.
 */
static int clock_flush(struct file *file, fl_owner_t id)
{
	if (file->private_data == (void *)(long)current->tgid)
		hold_clocks(U64_MAX);
	return 0;
}

static const struct file_operations clock_fops = {
	.owner = THIS_MODULE,
	.write = clock_write,
	.flush = clock_flush,
};

static int reset(struct fg_device *gpu)
{
	int error;

	fg_manager(gpu)->is_hws_hang = true;	/* no wait for the hardware */
	error = fg_pre_reset(gpu);
	fg_firmware_reset(gpu);
	return error ?: fg_sym.post_reset(gpu->adev->kfd.dev);
}

static ssize_t reset_write(struct file *file, const char __user *text,
			   size_t size, loff_t *offset)
{
	struct fg_device *gpu;
	int error = 0;

	fg_for_each(gpu)
		error = error ?: reset(gpu);
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
	debugfs = debugfs_create_dir("fakegpu", NULL);
	debugfs_create_file("status", 0444, debugfs, NULL, &status_fops);
	debugfs_create_file("clock", 0200, debugfs, NULL, &clock_fops);
	debugfs_create_file("reset", 0200, debugfs, NULL, &reset_fops);
#ifdef FG_EVICT
	fg_evict_init(debugfs);
#endif
	return 0;
}

void fg_status_exit(void)
{
	debugfs_remove(debugfs);
	kfree(views);
	views = NULL;
}
