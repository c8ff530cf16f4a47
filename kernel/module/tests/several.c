// SPDX-License-Identifier: MIT
/* A process with queues on several GPUs. Ids: "gpus N". */
#include <fcntl.h>

#include "module.h"

#define FIRST_RENDER 128
#define MOST_GPUS    8
#define BROKEN       1 /* which GPU does not answer */

u32 gpus_of_machine(struct self *me)
{
	json_t *status = machine_status(me);
	size_t count = json_array_size(json_object_get(status, "gpus"));

	json_decref(status);
	return (u32)count;
}

/*
 * The ROCm driver counts a failed eviction on every GPU, so that one restore undoes it. Linux counts it on
 * the GPU that failed alone: with several, what is left there cannot be undone.
 */
bool failure_is_undone(struct self *me)
{
	json_t *status = machine_status(me);
	const char *driver = json_string_value(json_object_get(status, "driver"));
	bool undone = json_array_size(json_object_get(status, "gpus")) == 1 ||
		      (driver && !strcmp(driver, "dkms"));

	json_decref(status);
	return undone;
}

/* What the actor makes from now on is of that GPU. */
static s64 do_turn_to(struct self *self, const u64 *args, u64 *out)
{
	struct gp_kfd_process_device_apertures gpus[MOST_GPUS] = {0};
	struct gp_kfd_get_process_apertures_new_args apertures = {
		.kfd_process_device_apertures_ptr = (uintptr_t)gpus};
	struct gp_kfd_acquire_vm_args acquire;
	char path[32];

	(void)out;
	snprintf(path, sizeof(path), "/dev/dri/renderD%u", FIRST_RENDER + (u32)args[0]);
	self->render = open(path, O_RDWR | O_CLOEXEC);
	CHECK(self->render >= 0);
	/* With 0 it tells how many; room for more than there are nodes is EINVAL. */
	EXPECT(call(self->kfd, GP_KFD_IOC_GET_PROCESS_APERTURES_NEW, &apertures), 0);
	CHECK(apertures.num_of_nodes > args[0] && apertures.num_of_nodes <= MOST_GPUS);
	EXPECT(call(self->kfd, GP_KFD_IOC_GET_PROCESS_APERTURES_NEW, &apertures), 0);
	self->gpu_id = gpus[args[0]].gpu_id;
	acquire = (struct gp_kfd_acquire_vm_args){.drm_fd = (u32)self->render,
						  .gpu_id = self->gpu_id};
	self->eop = self->save = self->kernel = NULL;
	self->doorbells = NULL;
	return call(self->kfd, GP_KFD_IOC_ACQUIRE_VM, &acquire);
}

/* With one busy queue on each; the queue's id is the GPU's number. */
static struct actor start_on_all(struct self *me, u32 gpus)
{
	struct actor actor;

	if (gpus < 2)
		skip("the machine has one GPU");
	actor = start_busy(me, 1);
	for (u32 gpu = 1; gpu < gpus; gpu++) {
		EXPECT(DO(&actor, do_turn_to, gpu), 0);
		EXPECT(DO(&actor, do_create, COMPUTE), gpu);
		EXPECT(DO(&actor, do_submit_one, gpu, ENDLESS), 0);
		UNTIL(me, look(me, actor.pid, gpu).cu_ns > 0);
	}
	return actor;
}

static void all_become(struct self *me, const struct actor *actor, u32 gpus, bool on)
{
	for (u32 gpu = 0; gpu < gpus; gpu++) {
		UNTIL(me, look(me, actor->pid, gpu).mapped == on);
		UNTIL(me, look(me, actor->pid, gpu).evicted == !on);
	}
}

void several_are_evicted(struct self *me)
{
	u32 gpus = gpus_of_machine(me);
	struct actor target = start_on_all(me, gpus), other = start_busy(me, 1);
	u64 done;

	EXPECT(ME(me, do_hold, PID(target), LONG_LEASE), 1);
	all_become(me, &target, gpus, false);
	is_on(me, &other, 0, true);
	done = look(me, target.pid, gpus - 1).cu_ns;
	EXPECT(ME(me, do_let_go, PID(target), 0), 0);
	all_become(me, &target, gpus, true);
	UNTIL(me, look(me, target.pid, gpus - 1).cu_ns > done);
	EXPECT(statistics().targets, 0);
}

/* The others had let go of it by then, or were not asked, and must have it back. */
void one_does_not_answer(struct self *me)
{
	u32 gpus = gpus_of_machine(me);
	struct actor target = start_on_all(me, gpus);
	u64 failed = statistics().failed;
	s64 error;

	write_to(HANG_GPU, "1");
	write_to(HANG, "Y");
	write_to(TIMEOUT, "500");
	error = ME(me, do_hold, PID(target), LONG_LEASE);
	write_to(HANG, "N");
	write_to(HANG_GPU, "-1");
	write_to(TIMEOUT, "60000");
	EXPECT(error, -ETIME);
	EXPECT(statistics().failed, failed + 1);
	EXPECT(statistics().targets, 0);
	EXPECT(state_of(PID(target)).evicted, 0);
	EXPECT(ME(me, do_let_go, PID(target), 0), -ENOENT);
	settle(me);
	for (u32 gpu = 0; gpu < gpus; gpu++)
		UNTIL(me, gpu == BROKEN || look(me, target.pid, gpu).mapped);
	UNTIL(me, look(me, target.pid, BROKEN).evicted == !failure_is_undone(me));
	if (!failure_is_undone(me))
		return;
	/* And again, when it answers: with the next runlist it is back there, too. */
	EXPECT(ME(me, do_hold, PID(target), LONG_LEASE), 1);
	all_become(me, &target, gpus, false);
	EXPECT(ME(me, do_let_go, PID(target), 0), 0);
	all_become(me, &target, gpus, true);
}
