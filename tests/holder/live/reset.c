// SPDX-License-Identifier: MIT
/* A GPU that is reset while processes are held: on a machine with recovery (--gpu-recovery 1). */
#include "live.h"

#define FOREVER 256 /* grace whose low 8 bits are 0: the hardware waits for the waves */

static s64 suspend_for_ever(struct self *self, const u64 *args, u64 *out)
{
	return do_suspend_grace(self, LIST(args[0], args[1], FOREVER), out);
}

/* Its kernel does not end, and a debugger that waits for that hangs the GPU, which is reset. */
static void reset_the_gpu(struct self *me)
{
	struct actor culprit = start_target(1, 1), debugger = start_actor();
	u64 before = gpu_number(me, "resets");

	EXPECT(DO(&debugger, do_open_kfd), 0);
	EXPECT(DO(&debugger, do_seize, (u64)culprit.pid), 0);
	EXPECT(DO(&debugger, do_enable, (u64)culprit.pid, 0), 0);
	EXPECT(DO(&debugger, do_snapshot, (u64)culprit.pid, NEW), 1);
	EXPECT(DO(&culprit, do_submit_one, 0, ENDLESS), 0);
	UNTIL(me, look(me, culprit.pid, 0).cu_ns > 0);
	CHECK(DO(&debugger, suspend_for_ever, (u64)culprit.pid, 0) >= 0);
	UNTIL(me, gpu_number(me, "resets") == before + 1);
	actor_kill(me, &debugger);
	actor_kill(me, &culprit);
}

static u32 held(struct client *client)
{
	struct gp_proto_msg_target first = {0};
	s64 count = ask(client, GP_MSG_HOLDS, &first, sizeof(first), -1);

	CHECK(count >= 0);
	return (u32)count;
}

static void while_held(struct live *live)
{
	struct self *me = &live->self;
	struct actor target = start_target(1, 2), later;
	struct client *client;

	start_holder(live, NULL, NULL);
	client = connect_client(live);
	s64 id = open_pid(client, target.pid, DEBUG);
	EXPECT(suspend(client, id, LONG_LEASE, LONG_LEASE, -1), 2);
	reset_the_gpu(me);
	/* Its queues are lost, as the driver says; the books must not keep the hold. */
	resume(client, id, -1);
	EXPECT(held(client), 0);
	EXPECT(target_info(client, id).suspended, 0);
	EXPECT(renew(client, id), -ENOLCK);
	/* Another try fails or does nothing, and leaves nothing behind either. */
	if (suspend(client, id, LONG_LEASE, LONG_LEASE, -1) >= 0)
		CHECK(resume(client, id, -1) >= 0);
	EXPECT(held(client), 0);
	/* A process that comes now is held and runs again. */
	later = start_target(1, 1);
	s64 other = open_pid(client, later.pid, DEBUG);
	CHECK(other > 0);
	UNTIL(me, suspend(client, other, LONG_LEASE, LONG_LEASE, -1) == 1);
	EXPECT(DO(&later, do_submit, 0, 1000), 0);
	is_off(live, later.pid, 1);
	EXPECT(resume(client, other, -1), 1);
	UNTIL(me, look(me, later.pid, 0).completed == 1);
}

const struct live_row live_reset[] = {
	{"reset: a GPU that is reset lets go of what was held", while_held, EVERYWHERE},
	{0},
};
