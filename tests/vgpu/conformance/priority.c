// SPDX-License-Identifier: MIT
/* Section 2.7: priority, as the queue descriptors and the slots in debugfs show it. */
#include "abi/kfd_hqd.h"
#include "abi/pm4.h"
#include "conformance.h"

/* Words of a dump whose lines begin with `indent` spaces; stops at the first that does not. */
static u32 read_words(char **at, int indent, u32 *words, u32 room)
{
	u32 count = 0;

	while (strspn(*at, " ") == (size_t)indent && (*at)[indent + 8] == ':') {
		char *end = strchr(*at, '\n'), *word = *at + indent + 9;

		CHECK(end);
		while (word < end && count < room)
			words[count++] = (u32)strtoul(word, &word, 16);
		*at = end + 1;
	}
	return count;
}

/* The register blocks of our one queue in mqds: one an XCC. */
static void expect_registers(struct self *me, u32 priority)
{
	static const u8 pipe[16] = {0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2};
	char *text = slurp("/sys/kernel/debug/kfd/mqds"), *at;
	u32 words[16 * GP_MQD_WORDS], count;

	CHECK(text);
	at = strstr(text, "  Compute queue on device");
	CHECK(at);
	at = strchr(at, '\n') + 1;
	count = read_words(&at, 4, words, GP_ARRAY_SIZE(words));
	EXPECT(count, me->node.xcc_count * GP_MQD_WORDS);
	for (u32 xcc = 0; xcc < me->node.xcc_count; xcc++) {
		const u32 *block = words + xcc * GP_MQD_WORDS + GP_MQD_BLOCK;

		EXPECT(block[GP_CP_HQD_QUEUE_PRIORITY], priority);
		EXPECT(block[GP_CP_HQD_PIPE_PRIORITY], pipe[priority]);
		EXPECT(block[GP_CP_HQD_QUANTUM], 0x111);
	}
	free(text);
}

static void priorities(struct self *me)
{
	open_gpu(me);
	must_create(me, COMPUTE);
	expect_registers(me, 7);
	for (u32 priority = 0; priority <= 15; priority++) {
		EXPECT(update_queue(me, 0, 100, priority), 0);
		expect_registers(me, priority);
	}
}

static void priority_at_creation(struct self *me)
{
	struct gp_kfd_create_queue_args args;

	open_gpu(me);
	args = good_queue(me, COMPUTE);
	args.queue_priority = 15;
	EXPECT(create_queue(me, &args), 0);
	expect_registers(me, 15);
}

static void slots_have_it_too(struct self *me)
{
	u32 words[GP_HQD_WORDS], active = 0;
	char *text, *at;

	open_gpu(me);
	must_create(me, COMPUTE);
	EXPECT(update_queue(me, 0, 100, 11), 0);
	settle(me);
	text = slurp("/sys/kernel/debug/kfd/hqds");
	CHECK(text);
	for (at = text; (at = strstr(at, "  CP Pipe ")) != NULL;) {
		at = strchr(at, '\n') + 1;
		EXPECT(read_words(&at, 4, words, GP_HQD_WORDS), GP_HQD_WORDS);
		if (!(words[GP_CP_HQD_ACTIVE] & 1))
			continue;
		active++;
		EXPECT(words[GP_CP_HQD_QUEUE_PRIORITY], 11);
		EXPECT(words[GP_CP_HQD_PIPE_PRIORITY], 2);
	}
	EXPECT(active, me->node.xcc_count);
	free(text);
}

static void process_quantum(struct self *me)
{
	u32 words[64];
	char *text, *at;

	open_gpu(me);
	must_create(me, COMPUTE);
	settle(me);
	text = slurp("/sys/kernel/debug/kfd/rls");
	CHECK(text);
	at = strchr(text, '\n') + 1;
	CHECK(read_words(&at, 2, words, GP_ARRAY_SIZE(words)) >= 28);
	EXPECT(words[0] >> GP_PM4_OPCODE_FROM & 0xff, GP_PM4_MAP_PROCESS);
	EXPECT(words[GP_PM4_MAP_PROCESS_ID] >> GP_PM4_MAP_PROCESS_QUANTUM, 10);
	free(text);
}

const struct row rows_priority[] = {
	{"kfd 2.7/1",
	 "0-6 low, 7-10 medium, 11-15 high, on the descriptor of every XCC, for anybody",
	 priorities, EVERYWHERE, NULL},
	{"kfd 2.7/1", "CREATE_QUEUE takes it as UPDATE_QUEUE does", priority_at_creation,
	 EVERYWHERE, NULL},
	{"kfd 2.7/1", "the hardware slots show it", slots_have_it_too, EVERYWHERE, NULL},
	{"kfd 2.7/2", "queue quantum 0x111 (above), process quantum 10", process_quantum,
	 EVERYWHERE, NULL},
	{0},
};
