// SPDX-License-Identifier: MIT
/*
 * The text of debugfs and sysfs: the same grammar as the driver's. Numbers are taken out, so that
 * what is left of a line is its shape: words of eight hex digits become X, other numbers N. Where
 * the samples of the real 6.12 driver are at hand (GP_CORPUS) the shapes must be the same as there.
 */
#include <ctype.h>

#include "abi/kfd_hqd.h"
#include "abi/pm4.h"
#include "conformance.h"

#define PID(actor) ((u64)(actor).pid)
#define DEBUGFS    "/sys/kernel/debug/kfd/"

/* ---- shapes ---- */

static size_t digits(const char *at)
{
	size_t count = 0;

	while (isdigit((unsigned char)at[count]) || (at[count] >= 'a' && at[count] <= 'f'))
		count++;
	return count;
}

/* One line without its newline; returns where the next begins, NULL at the end. */
static const char *line_shape(const char *at, char *out, size_t room)
{
	const char *end = strchr(at, '\n');
	size_t used = 0;

	CHECK(end); /* every line of debugfs ends with one */
	while (at < end) {
		bool in_word = used && isalpha((unsigned char)out[used - 1]) &&
			       out[used - 1] != 'X' && out[used - 1] != 'N';
		size_t count = in_word ? 0 : digits(at);

		if (!in_word && strncmp(at, "0x", 2) == 0)
			count = 2 + digits(at + 2);

		CHECK(used + 2 < room);
		/* A letter from a to f may begin a word as well. */
		if (count && isalpha((unsigned char)at[count]))
			count = 0;
		out[used++] = count == 8 ? 'X' : count ? 'N' : *at;
		at += count ? count : 1;
	}
	out[used] = '\0';
	return end[1] ? end + 1 : NULL;
}

/* Distinct blocks of a file: a heading, and the shapes and number of the rows below it. */
struct blocks {
	char items[32][512];
	size_t count;
};

static void add_block(struct blocks *blocks, const char *block)
{
	for (size_t i = 0; i < blocks->count; i++)
		if (strcmp(blocks->items[i], block) == 0)
			return;
	CHECK(blocks->count < GP_ARRAY_SIZE(blocks->items));
	strcpy(blocks->items[blocks->count++], block);
}

static bool is_row(const char *shape)
{
	return shape[strspn(shape, " ")] == 'X';
}

static struct blocks read_blocks(const char *text)
{
	struct blocks blocks = {0};
	char block[512] = "", shape[160], last[160] = "";
	u32 rows = 0;

	for (const char *at = text; at && *at;) {
		at = line_shape(at, shape, sizeof(shape));
		if (is_row(shape) && strcmp(shape, last) == 0) {
			rows++;
			continue;
		}
		if (rows)
			snprintf(block + strlen(block), sizeof(block) - strlen(block), " x%u\n",
				 rows);
		rows = is_row(shape);
		if (!rows && *block) {
			add_block(&blocks, block);
			*block = '\0';
		}
		CHECK(strlen(block) + strlen(shape) + 16 < sizeof(block));
		strcat(block, shape);
		if (!rows)
			strcat(block, "\n");
		strcpy(last, shape);
	}
	if (rows)
		snprintf(block + strlen(block), sizeof(block) - strlen(block), " x%u\n", rows);
	add_block(&blocks, block);
	return blocks;
}

static bool has(const struct blocks *blocks, const char *block)
{
	for (size_t i = 0; i < blocks->count; i++)
		if (strcmp(blocks->items[i], block) == 0)
			return true;
	return false;
}

static void same_blocks(const struct blocks *ours, const struct blocks *theirs)
{
	for (size_t i = 0; i < ours->count; i++)
		if (!has(theirs, ours->items[i])) {
			printf("# not in the driver's text:\n# %s\n", ours->items[i]);
			CHECK(false);
		}
	for (size_t i = 0; i < theirs->count; i++)
		if (!has(ours, theirs->items[i])) {
			printf("# missing:\n# %s\n", theirs->items[i]);
			CHECK(false);
		}
}

static struct blocks blocks_of(const char *path)
{
	char *text = slurp(path);
	struct blocks blocks;

	CHECK(text);
	blocks = read_blocks(text);
	free(text);
	return blocks;
}

/* A sample of the driver's, NULL where there are none. */
static const char *sample(const char *name)
{
	static char path[512];
	const char *directory = getenv("GP_CORPUS");

	if (!directory)
		return NULL;
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return access(path, R_OK) == 0 ? path : NULL;
}

static void compare(const char *file, const char *name, const char *const *expected)
{
	char path[64];
	struct blocks ours, written = {0};

	snprintf(path, sizeof(path), DEBUGFS "%s", file);
	ours = blocks_of(path);
	for (; *expected; expected++)
		add_block(&written, *expected);
	same_blocks(&ours, &written);
	if (name && sample(name)) {
		struct blocks theirs = blocks_of(sample(name));

		same_blocks(&ours, &theirs);
	}
}

/* The scene of the samples: A with 3 queues, B with 2, all working. */
static void scene(struct self *me, struct actor *a, struct actor *b)
{
	bool debug = can_debug(me);

	*a = start_target(debug, 3);
	*b = start_target(debug, 2);
	if (debug)
		attach(me, a, 0);
	else
		open_kfd(me);
	settle(me);
}

#define WORDS_8 "X: X X X X X X X X"

static void hqds(struct self *me)
{
	static const char *const gfx90a[] = {
		"Node N, gpu_id N:\n",
		"   Inst N, HIQ on MEC N Pipe N Queue N\n    " WORDS_8 " x7\n",
		" Inst N,  CP Pipe N, Queue N\n    " WORDS_8 " x7\n",
		"  SDMA Engine N, RLC N\n    " WORDS_8
		" x2\n    X: X X X x1\n    X: X X X X X X x1\n"
		"    X: X X X X X X X x1\n    " WORDS_8 " x1\n    X: X X x1\n",
		NULL,
	};
	static const char *const gfx942[] = {
		"Node N, gpu_id N:\n",
		"   Inst N, HIQ on MEC N Pipe N Queue N\n    " WORDS_8 " x7\n",
		" Inst N,  CP Pipe N, Queue N\n    " WORDS_8 " x7\n",
		"  SDMA Engine N, RLC N\n    " WORDS_8
		" x2\n    X: X X X x1\n    X: X X X X X X x1\n"
		"    X: X X X X X X X x1\n    " WORDS_8 " x1\n    X: X X X X x1\n",
		NULL,
	};
	/* Linux 6.1 knows of no XCCs. */
	static const char *const one_instance[] = {
		"Node N, gpu_id N:\n",
		"  HIQ on MEC N Pipe N Queue N\n    " WORDS_8 " x7\n",
		"  CP Pipe N, Queue N\n    " WORDS_8 " x7\n",
		"  SDMA Engine N, RLC N\n    " WORDS_8
		" x2\n    X: X X X x1\n    X: X X X X X X x1\n"
		"    X: X X X X X X X x1\n    " WORDS_8 " x1\n    X: X X x1\n",
		NULL,
	};
	struct actor a, b;

	scene(me, &a, &b);
	if (!can_debug(me)) {
		compare("hqds", NULL, one_instance);
		return;
	}
	if (gpu_number(me, "gfx_version") >= 90400) {
		compare("hqds", "kfd_debugfs/hqds_mi308x_gfx942_node2_active.txt", gfx942);
		return;
	}
	compare("hqds", NULL, gfx90a);
	/* The fake GPU of this sample has no SDMA registers to read. */
	if (sample("kfd612/hqds_running.txt")) {
		struct blocks ours = blocks_of(DEBUGFS "hqds");
		struct blocks theirs = blocks_of(sample("kfd612/hqds_running.txt"));

		for (size_t i = 0; i < theirs.count; i++)
			if (strchr(theirs.items[i], 'X'))
				CHECK(has(&ours, theirs.items[i]));
	}
}

static u32 count_of(const char *text, const char *what)
{
	u32 count = 0;

	for (; (text = strstr(text, what)) != NULL; text++)
		count++;
	return count;
}

static void hqds_slots(struct self *me)
{
	struct actor a, b;
	char *text, line[64], instance[24];
	u32 xccs;

	scene(me, &a, &b);
	open_gpu(me);
	xccs = me->node.xcc_count;
	text = slurp(DEBUGFS "hqds");
	CHECK(text);
	snprintf(line, sizeof(line), "Node 1, gpu_id %x:\n", me->gpu_id);
	EXPECT(strncmp(text, line, strlen(line)), 0);
	EXPECT(count_of(text, "HIQ on MEC 2 Pipe 0 Queue 0\n"), xccs);
	EXPECT(count_of(text, "  CP Pipe "), 24 * xccs);
	for (u32 xcc = 0; xcc < xccs; xcc++)
		for (u32 pipe = 0; pipe < 4; pipe++)
			for (u32 queue = 2; queue < 8; queue++) {
				snprintf(instance, sizeof(instance), " Inst %u, ", xcc);
				snprintf(line, sizeof(line), "\n%s CP Pipe %u, Queue %u\n",
					 can_debug(me) ? instance : " ", pipe, queue);
				EXPECT(count_of(text, line), 1);
			}
	CHECK(strstr(text, "\n    0000c914: "));
	free(text);
}

static void mqds(struct self *me)
{
	struct actor a, b;
	struct blocks ours;
	char rows[64], *text;

	scene(me, &a, &b);
	open_gpu(me);
	ours = blocks_of(DEBUGFS "mqds");
	snprintf(rows, sizeof(rows), "  Compute queue on device N\n    " WORDS_8 " x%u\n",
		 me->node.xcc_count * GP_MQD_WORDS / 8);
	CHECK(has(&ours, rows));
	CHECK(has(&ours, "Process N PASID N:\n"));
	EXPECT(ours.count, 2);
	if (sample("kfd612/mqds_running.txt") && me->node.xcc_count == 1) {
		struct blocks theirs = blocks_of(sample("kfd612/mqds_running.txt"));

		same_blocks(&ours, &theirs);
	}
	text = slurp(DEBUGFS "mqds");
	CHECK(text);
	EXPECT(count_of(text, "Process "), 3);
	EXPECT(count_of(text, "  Compute queue on device "), 5);
	/* Offsets begin again for every descriptor. */
	EXPECT(count_of(text, "\n    00000000: c0310800 "), 5 * me->node.xcc_count);
	/* The order of processes is that of a hash table. */
	snprintf(rows, sizeof(rows), "Process %d PASID 0x", (int)a.pid);
	CHECK(strstr(text, rows));
	free(text);
}

/* The words of a runlist. */
static u32 runlist(u32 *words, u32 room, struct blocks *blocks)
{
	char *text = slurp(DEBUGFS "rls"), *at;
	u32 count = 0;

	CHECK(text);
	if (blocks)
		*blocks = read_blocks(text);
	for (at = strchr(text, '\n') + 1; at && strncmp(at, "  ", 2) == 0 && strchr(at, ':');) {
		char *end = strchr(at, '\n');

		EXPECT(strtoul(at, NULL, 16), count * 4);
		at = strchr(at, ':') + 1;
		while (at < end && count < room)
			words[count++] = (u32)strtoul(at, &at, 16);
		at = end + 1;
	}
	free(text);
	return count;
}

/* Steps over the packets: processes, and the queues mapped of each. */
struct packets {
	u32 processes, pasid[8], says[8], mapped[8], chained;
};

static struct packets packets_of(const u32 *words, u32 count)
{
	struct packets packets = {0};

	for (u32 i = 0; i < count;) {
		u32 opcode = words[i] >> GP_PM4_OPCODE_FROM & 0xff;
		u32 size = (words[i] >> GP_PM4_COUNT_FROM & 0x3fff) + GP_PM4_COUNT_EXTRA;

		EXPECT(words[i] >> GP_PM4_TYPE_FROM, GP_PM4_TYPE3);
		CHECK(i + size <= count);
		if (opcode == GP_PM4_MAP_PROCESS) {
			u32 at = packets.processes++;

			CHECK(at < GP_ARRAY_SIZE(packets.pasid));
			EXPECT(size, 21);
			packets.pasid[at] = words[i + GP_PM4_MAP_PROCESS_ID] & 0xffff;
			packets.says[at] = words[i + GP_PM4_MAP_PROCESS_QUEUES] >>
					   GP_PM4_MAP_PROCESS_QUEUES_BIT;
		} else if (opcode == GP_PM4_MAP_QUEUES) {
			EXPECT(size, GP_PM4_MAP_QUEUES_WORDS);
			EXPECT(words[i + GP_PM4_MAP_QUEUES_FLAGS], 0x20000010);
			CHECK(packets.processes);
			packets.mapped[packets.processes - 1]++;
		} else {
			EXPECT(opcode, GP_PM4_RUN_LIST);
			packets.chained++;
		}
		i += size;
	}
	return packets;
}

static void rls(struct self *me)
{
	struct actor a, b;
	struct blocks blocks;
	struct packets packets;
	u32 words[256], count, of_a;

	scene(me, &a, &b);
	count = runlist(words, GP_ARRAY_SIZE(words), &blocks);
	EXPECT(count, 2 * 21 + 5 * 7);
	CHECK(has(&blocks, "Node N, gpu_id N:\n  " WORDS_8 " x9\n  X: X X X X X x1\n"));
	if (sample("kfd612/rls_running.txt")) {
		struct blocks theirs = blocks_of(sample("kfd612/rls_running.txt"));

		same_blocks(&blocks, &theirs);
	}
	packets = packets_of(words, count);
	EXPECT(packets.processes, 2);
	of_a = packets.pasid[0] == process_number(me, a.pid, "pasid") ? 0 : 1;
	EXPECT(packets.says[of_a], 3);
	EXPECT(packets.mapped[of_a], 3);
	EXPECT(packets.mapped[!of_a], 2);
	if (!can_debug(me))
		return;
	/* Suspended: the process stays and says 3, its queues are missing. */
	EXPECT(ME(me, do_suspend, PID(a), 3, 0, 1, 2), 3);
	settle(me);
	count = runlist(words, GP_ARRAY_SIZE(words), &blocks);
	if (sample("kfd612/rls_suspended.txt")) {
		struct blocks theirs = blocks_of(sample("kfd612/rls_suspended.txt"));

		same_blocks(&blocks, &theirs);
	}
	packets = packets_of(words, count);
	EXPECT(packets.processes, 2);
	EXPECT(packets.says[of_a], 3);
	EXPECT(packets.mapped[of_a], 0);
	EXPECT(packets.mapped[!of_a], 2);
}

static void newest_process_first(struct self *me)
{
	struct actor a, b;
	u32 words[256], count;
	struct packets packets;

	scene(me, &a, &b);
	count = runlist(words, GP_ARRAY_SIZE(words), NULL);
	packets = packets_of(words, count);
	/* As in the sample: PASID 2 before PASID 1. */
	EXPECT(packets.pasid[0], process_number(me, b.pid, "pasid"));
	EXPECT(packets.pasid[1], process_number(me, a.pid, "pasid"));
}

static void rls_empty(struct self *me)
{
	char line[64], *text;

	open_gpu(me);
	settle(me);
	text = slurp(DEBUGFS "rls");
	snprintf(line, sizeof(line), "Node 1, gpu_id %x:\n  No active runlist\n", me->gpu_id);
	CHECK(text);
	EXPECT(strcmp(text, line), 0);
	free(text);
}

static void rls_chained(struct self *me)
{
	u32 words[512], count;

	open_gpu(me);
	for (u32 i = 0; i < 25; i++)
		must_create(me, COMPUTE);
	settle(me);
	count = runlist(words, GP_ARRAY_SIZE(words), NULL);
	EXPECT(packets_of(words, count).chained, 1);
	EXPECT(destroy_queue(me, 3), 0);
	settle(me);
	count = runlist(words, GP_ARRAY_SIZE(words), NULL);
	EXPECT(packets_of(words, count).chained, 0);
}

const struct row rows_text[] = {
	{"kfd 4, 6.12 text", "hqds: headings, 56 registers in 7 rows, SDMA in four ranges", hqds,
	 EVERYWHERE, NULL},
	{"kfd 4", "hqds: HIQ and 24 slots an XCC, pipes 0-3, queues 2-7, from 0xc914", hqds_slots,
	 EVERYWHERE, NULL},
	{"kfd 4, 6.12 text", "mqds: a process line, then each queue's 512 words, one set an XCC",
	 mqds, EVERYWHERE, NULL},
	{"kfd 4, 6.12 9, 6.12 text",
	 "rls: MAP_PROCESS of 21 words with the full count, MAP_QUEUES of 7", rls, EVERYWHERE,
	 NULL},
	{"6.12 text", "rls lists the newest process first", newest_process_first, EVERYWHERE, NULL},
	{"kfd 4", "rls without an active queue says so", rls_empty, EVERYWHERE, NULL},
	{"kfd 3.3, 6.12 T24", "an oversubscribed runlist ends with a chained RUN_LIST", rls_chained,
	 EVERYWHERE, NULL},
	{0},
};
