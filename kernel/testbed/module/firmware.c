// SPDX-License-Identifier: GPL-2.0
/*
 * The scheduler firmware: one thread that eats the packets of the HIQ, keeps
 * the queues of the runlist on HQD slots and rotates them when there are more
 * than fit. It polls, because rings and doorbells are plain memory.
 *
 * A packet that cannot be done yet stays on the ring: an UNMAP_QUEUES takes
 * fg_save_us of model time when waves must be saved, and all the time of the
 * waves when the driver set an endless grace period; a late fence takes real
 * time; a hang takes for ever.
 */
#include <linux/delay.h>
#include <linux/sched/mm.h>

#include "fakegpu.h"
#include "kfd_pm4_headers_ai.h"
#include "kfd_pm4_opcodes.h"

#define PACKET_OPCODE(header)	((header) >> 8 & 0xff)
#define PACKET_COUNT(header)	((header) >> 16 & 0x3fff)
#define ONE_WORD_NOP		0x3fff	/* as the count of a NOP */
/* CP_IQ_WAIT_TIME2.SCH_WAVE: 0 is for ever */
#define SCH_WAVE(wait_times)	((wait_times) >> 8 & 0xff)
#define WRITE_DATA_VALUE	4	/* word of the packet; to one register */
#define KFD_SLOT(slot)		((slot) % FG_QUEUES >= FG_AMDGPU_QUEUES)

/* ---- queues ---- */

static struct fg_queue *find_queue(struct fg_device *gpu, u64 mqd)
{
	struct fg_queue *queue;

	list_for_each_entry(queue, &gpu->queues, list)
		if (queue->mqd_gpu == mqd)
			return queue;
	return NULL;
}

static struct mm_struct *grab_mm(u32 pasid)
{
	struct kfd_process *process = fg_sym.process_by_pasid(pasid, NULL);
	struct mm_struct *mm;

	if (!process)
		return NULL;
	mm = get_task_mm(process->lead_thread);
	if (mm) {
		mmgrab(mm);
		fg_sym.mmput_async(mm);
	}
	fg_sym.process_unref(process);
	return mm;
}

static void forget_queue(struct fg_queue *queue)
{
	struct fg_device *gpu = queue->gpu;
	u32 i;

	for (i = 0; i < FG_SLOTS; i++)
		if (gpu->fw.slots[i] == queue)
			gpu->fw.slots[i] = NULL;
	list_del(&queue->list);
	if (queue->mm)
		mmdrop(queue->mm);
	kfree(queue);
}

static struct fg_queue *get_queue(struct fg_device *gpu,
				  const struct fg_entry *entry)
{
	struct fg_queue *queue = find_queue(gpu, entry->mqd);
	struct v9_mqd *mqd;

	/* MQDs of SDMA queues are never freed, so another may have it now. */
	if (queue && queue->pasid != entry->pasid) {
		forget_queue(queue);
		queue = NULL;
	}
	if (queue)
		return queue;
	/* After a hang old runlists come, with MQDs that are freed by now. */
	mqd = fg_gtt_cpu(entry->mqd);
	queue = mqd ? kzalloc(sizeof(*queue), GFP_KERNEL) : NULL;
	if (!queue)
		return NULL;
	queue->gpu = gpu;
	queue->mqd_gpu = entry->mqd;
	queue->mqd = entry->sdma ? NULL : mqd;
	queue->pasid = entry->pasid;
	queue->doorbell = entry->doorbell;
	queue->wptr_va = entry->wptr;
	queue->slot = -1;
	if (queue->mqd)
		queue->mm = grab_mm(entry->pasid);
	list_add(&queue->list, &gpu->queues);
	return queue;
}

static void forget_mqds(struct fg_device *gpu, u64 start, size_t size)
{
	struct fg_queue *queue, *next;
	u32 i;

	mutex_lock(&gpu->lock);
	list_for_each_entry_safe(queue, next, &gpu->queues, list)
		if (queue->mqd_gpu >= start && queue->mqd_gpu < start + size)
			forget_queue(queue);
	for (i = 0; i < gpu->fw.entry_count; i++)
		if (gpu->fw.entries[i].mqd >= start &&
		    gpu->fw.entries[i].mqd < start + size)
			gpu->fw.entries[i].mqd = 0;
	mutex_unlock(&gpu->lock);
}

/* The driver frees MQDs of queues it destroyed, mapped ones after a hang. */
void fg_forget_mqds(u64 start, size_t size)
{
	struct fg_device *gpu;

	fg_for_each(gpu)
		forget_mqds(gpu, start, size);
}

u32 fg_queues_left(void)
{
	struct fg_device *gpu;
	struct fg_queue *queue;
	u32 count = 0;

	fg_for_each(gpu) {
		list_for_each_entry(queue, &gpu->queues, list) {
			pr_err("fakegpu: queue of pasid %x, mqd %llx, doorbell %x\n",
			       queue->pasid, queue->mqd_gpu, queue->doorbell);
			count++;
		}
	}
	return count;
}

/* ---- the runlist and the slots ---- */

static void take_off(struct fg_queue *queue)
{
	if (queue->slot >= 0)
		queue->gpu->fw.slots[queue->slot] = NULL;
	fg_queue_save(queue);
}

static void save_all(struct fg_device *gpu)
{
	struct fg_queue *queue;

	list_for_each_entry(queue, &gpu->queues, list)
		if (queue->mapped)
			take_off(queue);
	gpu->fw.on_slots = 0;
}

/* The runlist goes on without it. */
static void save_process(struct fg_device *gpu, u32 pasid)
{
	struct fg_queue *queue;
	u32 i;

	list_for_each_entry(queue, &gpu->queues, list)
		if (queue->mapped && queue->pasid == pasid)
			take_off(queue);
	for (i = 0; i < gpu->fw.entry_count; i++)
		if (gpu->fw.entries[i].pasid == pasid)
			gpu->fw.entries[i].mqd = 0;
}

/* True when the process has or gets one of the VMIDs. */
static bool has_vmid(u32 *pasids, u32 *count, u32 pasid)
{
	u32 i;

	for (i = 0; i < *count; i++)
		if (pasids[i] == pasid)
			return true;
	if (*count == FG_PROCESSES)
		return false;
	pasids[(*count)++] = pasid;
	return true;
}

static struct fg_entry *entry_at(struct fg_device *gpu, u32 i)
{
	return &gpu->fw.entries[(gpu->fw.first + i) % gpu->fw.entry_count];
}

/* How many entries get a place: from the first on, until slots or VMIDs are used up. */
static u32 count_places(struct fg_device *gpu)
{
	u32 pasids[FG_PROCESSES], processes = 0, i;
	u32 slots = FG_PIPES * (FG_QUEUES - FG_AMDGPU_QUEUES);

	for (i = 0; i < gpu->fw.entry_count; i++) {
		struct fg_entry *entry = entry_at(gpu, i);

		if ((!entry->sdma && !slots) ||
		    !has_vmid(pasids, &processes, entry->pasid))
			break;
		if (!entry->sdma)
			slots--;
	}
	return i;
}

/* Who has a place and is mapped already stays where it is; nobody else stays. */
static void keep_places(struct fg_device *gpu, u32 places)
{
	struct fg_queue *queue;
	u32 i;

	list_for_each_entry(queue, &gpu->queues, list) {
		for (i = 0; queue->mapped && i < places; i++)
			if (entry_at(gpu, i)->mqd == queue->mqd_gpu &&
			    entry_at(gpu, i)->pasid == queue->pasid)
				break;
		if (queue->mapped && i == places)
			take_off(queue);
	}
}

static void fill_slots(struct fg_device *gpu)
{
	struct fg_firmware *fw = &gpu->fw;
	u32 places = count_places(gpu), slot = 0, i;

	keep_places(gpu, places);
	for (i = 0; i < places; i++) {
		struct fg_entry *entry = entry_at(gpu, i);
		struct fg_queue *queue = entry->mqd ? get_queue(gpu, entry) :
							   NULL;

		if (!queue || queue->mapped)
			continue;
		while (!entry->sdma && slot < FG_SLOTS &&
		       (!KFD_SLOT(slot) || fw->slots[slot]))
			slot++;
		if (!entry->sdma && slot < FG_SLOTS) {
			queue->slot = slot;
			fw->slots[slot] = queue;
		}
		fg_queue_map(queue);
	}
	fw->on_slots = places;
	fw->mapped_at_ns = gpu->clock.now_ns;
}

static void rotate(struct fg_device *gpu)
{
	struct fg_firmware *fw = &gpu->fw;

	if (!fw->active || !fw->chained || fw->unmapping ||
	    fw->on_slots >= fw->entry_count ||
	    gpu->clock.now_ns - fw->mapped_at_ns <
		    (u64)fg_quantum_ms * NSEC_PER_MSEC)
		return;
	fw->first = (fw->first + fw->on_slots) % fw->entry_count;
	save_all(gpu);
	fill_slots(gpu);
	gpu->figures.rotations++;
}

static void add_entry(struct fg_device *gpu, u32 pasid,
		      const struct pm4_mes_map_queues *map)
{
	struct fg_firmware *fw = &gpu->fw;

	if (fw->entry_count == FG_ENTRIES) {
		pr_err_once("fakegpu: a runlist of more than %d queues\n",
			    FG_ENTRIES);
		return;
	}
	fw->entries[fw->entry_count++] = (struct fg_entry){
		.pasid = pasid,
		.mqd = (u64)map->mqd_addr_hi << 32 | map->mqd_addr_lo,
		.wptr = (u64)map->wptr_addr_hi << 32 | map->wptr_addr_lo,
		.doorbell = map->bitfields3.doorbell_offset,
		.sdma = map->bitfields2.engine_sel ||
			map->bitfields2.extended_engine_sel,
	};
}

static void read_runlist(struct fg_device *gpu,
			 const struct pm4_mes_runlist *packet)
{
	u64 at = (u64)packet->ib_base_hi << 32 | (packet->ordinal2 & ~3u);
	u32 *words = fg_gtt_cpu(at), count = packet->bitfields4.ib_size;
	u32 pasid = 0, i;

	gpu->fw.entry_count = gpu->fw.first = 0;
	gpu->fw.chained = false;
	if (!words) {
		pr_err("fakegpu: a runlist at %llx, where nothing is\n", at);
		return;
	}
	for (i = 0; i < count && words[i]; i += PACKET_COUNT(words[i]) + 2) {
		switch (PACKET_OPCODE(words[i])) {
		case IT_MAP_PROCESS:
			pasid = words[i + 1] & 0xffff;
			break;
		case IT_MAP_QUEUES:
			add_entry(gpu, pasid, (void *)&words[i]);
			break;
		case IT_RUN_LIST:	/* back to its own beginning */
			gpu->fw.chained = true;
			return;
		default:
			pr_err("fakegpu: opcode %x in a runlist\n",
			       PACKET_OPCODE(words[i]));
		}
	}
}

/* ---- packets; true when they are done ---- */

static bool run_list(struct fg_device *gpu, const u32 *packet)
{
	gpu->figures.runlists++;
	read_runlist(gpu, (const void *)packet);
	gpu->fw.active = true;
	fill_slots(gpu);
	return true;
}

/* One queue does not let go: the firmware says which and gives up. */
static bool refuse_unmap(struct fg_device *gpu)
{
	u32 i;

	for (i = 0; i < FG_SLOTS; i++) {
		struct fg_queue *queue = gpu->fw.slots[i];

		if (!queue || !queue->busy)
			continue;
		gpu->fw.mqd->queue_doorbell_id0 = queue->doorbell;
		return true;
	}
	return false;
}

/* The process whose queues the packet names, 0 for all that are mapped. */
static u32 named_process(const u32 *packet)
{
	const struct pm4_mes_unmap_queues *unmap = (const void *)packet;

	if (unmap->bitfields2.queue_sel !=
	    queue_sel__mes_unmap_queues__perform_request_on_pasid_queues)
		return 0;
	return unmap->bitfields3a.pasid;
}

static bool unmap_queues(struct fg_device *gpu, const u32 *packet)
{
	struct fg_firmware *fw = &gpu->fw;
	u32 pasid = named_process(packet);
	bool waves = pasid ? fg_waves_of(gpu, pasid) :
				  fg_waves_in_flight(gpu);

	if (!fw->unmapping) {
		fw->unmapping = true;
		gpu->figures.unmaps++;
		fw->unmap_until_ns = gpu->clock.now_ns;
		if (waves)
			fw->unmap_until_ns = SCH_WAVE(fw->wait_times) ?
				gpu->clock.now_ns + fg_save_us * NSEC_PER_USEC :
				U64_MAX;
	}
	if (waves && gpu->clock.now_ns < fw->unmap_until_ns)
		return false;
	fw->unmapping = false;
	if (fg_fail_unmap && refuse_unmap(gpu))
		return true;
	if (pasid) {
		save_process(gpu, pasid);
		return true;
	}
	save_all(gpu);
	fw->active = false;
	return true;
}

static bool query_status(struct fg_device *gpu, const u32 *packet)
{
	const struct pm4_mes_query_status *query = (const void *)packet;
	u64 *fence = fg_gtt_cpu((u64)query->addr_hi << 32 | query->addr_lo);
	u64 now = ktime_get_ns();

	if (fg_late_fence_ms) {
		if (!gpu->fw.fence_at_ns)
			gpu->fw.fence_at_ns =
				now + (u64)fg_late_fence_ms * NSEC_PER_MSEC;
		if (now < gpu->fw.fence_at_ns)
			return false;
	}
	gpu->fw.fence_at_ns = 0;
	if (fence)
		WRITE_ONCE(*fence, (u64)query->data_hi << 32 | query->data_lo);
	return true;
}

static void remember(struct fg_device *gpu, u32 opcode, u32 word)
{
	gpu->fw.packets[gpu->figures.packets_sent++ % FG_PACKETS] =
		(struct fg_packet){ opcode, word };
}

static bool execute(struct fg_device *gpu, const u32 *packet)
{
	u32 opcode = PACKET_OPCODE(packet[0]), word = 0;

	switch (opcode) {
	case IT_RUN_LIST:
		if (!run_list(gpu, packet))
			return false;
		word = gpu->fw.entry_count;
		break;
	case IT_UNMAP_QUEUES:
		if (!unmap_queues(gpu, packet))
			return false;
		word = ((const struct pm4_mes_unmap_queues *)packet)
			       ->bitfields2.queue_sel;
		break;
	case IT_QUERY_STATUS:
		if (!query_status(gpu, packet))
			return false;
		break;
	case IT_WRITE_DATA:
		word = packet[WRITE_DATA_VALUE];
		gpu->fw.wait_times = word;
		break;
	case IT_SET_RESOURCES:
		break;
	default:
		pr_err("fakegpu: opcode %x on the HIQ\n", opcode);
	}
	remember(gpu, opcode, word);
	return true;
}

/* ---- the HIQ ---- */

static u64 hiq_written(const struct fg_device *gpu)
{
	return readq(gpu->bar + gpu->fw.doorbell * sizeof(u32));
}

static bool hangs(const struct fg_device *gpu)
{
	return fg_hang && (fg_hang_gpu < 0 || fg_hang_gpu == gpu->index);
}

static void eat_packets(struct fg_device *gpu)
{
	struct fg_firmware *fw = &gpu->fw;

	while (fw->on && !hangs(gpu) && fw->read < hiq_written(gpu)) {
		const u32 *packet = fw->ring + fw->read % fw->ring_words;
		u32 words = PACKET_COUNT(packet[0]) + 2;

		if (PACKET_OPCODE(packet[0]) == IT_NOP)
			words = words == ONE_WORD_NOP + 2 ? 1 : words;
		else if (!execute(gpu, packet))
			return;
		fw->read += words;
		WRITE_ONCE(*fw->read_report, (u32)(fw->read % fw->ring_words));
	}
}

bool fg_hiq_empty(const struct fg_device *gpu)
{
	return !gpu->fw.on || gpu->fw.read >= hiq_written(gpu);
}

int fg_hiq_load(struct amdgpu_device *adev, void *mqd, u32 pipe, u32 queue,
		u32 doorbell FG_INST)
{
	struct fg_device *gpu = fg_of(adev);
	struct fg_firmware *fw = &gpu->fw;
	struct v9_mqd *m = mqd;
	int error = 0;

	mutex_lock(&gpu->lock);
	fw->mqds[FG_XCC] = m;
	/* The first XCC reads the ring for all. */
	if (FG_XCC) {
		mutex_unlock(&gpu->lock);
		return 0;
	}
	fw->mqd = m;
	fw->ring = fg_gtt_cpu(((u64)m->cp_hqd_pq_base_hi << 32 |
			       m->cp_hqd_pq_base_lo) << 8);
	fw->ring_words = 2u << (m->cp_hqd_pq_control & 0x3f);
	fw->read_report =
		fg_gtt_cpu((u64)m->cp_hqd_pq_rptr_report_addr_hi << 32 |
			   m->cp_hqd_pq_rptr_report_addr_lo);
	fw->doorbell = doorbell;
	fw->read = 0;
	writeq(0, gpu->bar + doorbell * sizeof(u32));
	fw->on = fw->ring && fw->read_report;
	if (!fw->on)
		error = -EINVAL;
	mutex_unlock(&gpu->lock);
	return error;
}

void fg_hiq_unload(struct fg_device *gpu, void *mqd)
{
	mutex_lock(&gpu->lock);
	if (mqd == gpu->fw.mqd)
		gpu->fw.on = false;
	mutex_unlock(&gpu->lock);
}

void fg_firmware_reset(struct fg_device *gpu)
{
	mutex_lock(&gpu->lock);
	save_all(gpu);
	gpu->fw.on = gpu->fw.active = gpu->fw.unmapping = false;
	gpu->fw.entry_count = 0;
	gpu->fw.fence_at_ns = 0;
	mutex_unlock(&gpu->lock);
}

int fg_firmware_thread(void *data)
{
	struct fg_device *gpu = data;

	while (!kthread_should_stop()) {
		mutex_lock(&gpu->lock);
		fg_run(gpu, fg_clock_tick(gpu));
		rotate(gpu);
		eat_packets(gpu);
		mutex_unlock(&gpu->lock);
		usleep_range(fg_poll_us, fg_poll_us * 2);
	}
	return 0;
}
