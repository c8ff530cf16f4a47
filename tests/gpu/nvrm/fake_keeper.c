// SPDX-License-Identifier: MIT
/*
 * Makes a fake resource manager and prints its directory, which goes when standard input ends.
 * Questions, a word a line:
 *   channels   compute channels, and how many of them are stopped
 *   copies     the others, and how many of them are stopped
 *   running    waits until nothing is stopped
 *   slice      timeslice of the first compute group
 *   slices     timeslices of all compute groups
 *   files      control devices that are open
 *   failN      so many calls that set a timeslice are refused
 *   loseN      so many are answered with OK and change nothing
 *   denyN      what is refused of the event buffer: enum fake_deny; binds so far
 *   startPID   the process has the GPU from now on; endPID: no longer
 *   preemptA,B A had it until B needed it for 2 ms, and has it again
 *   swapN      faults of the helper that moves memory: step * 10 + enum fake_swap_fault
 *   helper     the helper that stands still there, or 0
 *   stateN     of the process N: 0 running, 1 locked, 2 swapped out
 *   usedN      MiB of GPU memory that every process has; freeN: that are free, on each GPU
 *   endlessN   1: work never ends; gpusN: GPUs of NVML; blindN: so many times a state is not read
 *   knowPID    NVML lists the process (others once their state was asked for)
 *   dropN      so many records are missing
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_events.h"

static void print_slices(const struct fake *fake)
{
	u64 us;

	for (u32 i = 0; (us = fake_timeslice(fake, i)); i++)
		printf("%s%llu", i ? " " : "", (unsigned long long)us);
	printf("\n");
}

static void record(struct fake *fake, u8 tag, const char *pid)
{
	fake_event(fake, tag, (u32)atoi(pid), 0);
	printf("%u\n", atomic_load(&fake->rm->event_get));
}

static u32 state_of(const struct fake *fake, u32 pid)
{
	for (u32 i = 0; i < FAKE_SWAPPED; i++) {
		if (atomic_load(&fake->rm->swapped[i].pid) == pid)
			return atomic_load(&fake->rm->swapped[i].state);
	}
	return 0;
}

/* NVML lists it. */
static bool know(const struct fake *fake, u32 pid)
{
	for (u32 i = 0; i < FAKE_SWAPPED; i++) {
		u32 none = 0;

		if (atomic_compare_exchange_strong(&fake->rm->swapped[i].pid, &none, pid) ||
		    none == pid)
			return true;
	}
	return false;
}

static bool swap_word(struct fake *fake, const char *word)
{
	if (strncmp(word, "swap", 4) == 0) {
		atomic_store(&fake->rm->swap_fault, (u32)atoi(word + 4));
		printf("%u\n", atomic_exchange(&fake->rm->swap_helper, 0));
	} else if (strcmp(word, "helper") == 0) {
		printf("%u\n", atomic_load(&fake->rm->swap_helper));
	} else if (strncmp(word, "state", 5) == 0) {
		printf("%u\n", state_of(fake, (u32)atoi(word + 5)));
	} else if (strncmp(word, "used", 4) == 0) {
		atomic_store(&fake->rm->vram_used, (u64)atoll(word + 4) << 20);
		printf("ok\n");
	} else if (strncmp(word, "free", 4) == 0) {
		atomic_store(&fake->rm->vram_free, (u64)atoll(word + 4) << 20);
		printf("ok\n");
	} else if (strncmp(word, "know", 4) == 0) {
		printf("%d\n", know(fake, (u32)atoi(word + 4)));
	} else if (strncmp(word, "gpus", 4) == 0) {
		atomic_store(&fake->rm->gpus, (u32)atoi(word + 4));
		printf("ok\n");
	} else if (strncmp(word, "blind", 5) == 0) {
		atomic_store(&fake->rm->blind, (u32)atoi(word + 5));
		printf("ok\n");
	} else if (strncmp(word, "endless", 7) == 0) {
		atomic_store(&fake->rm->endless, (u32)atoi(word + 7));
		printf("ok\n");
	} else {
		return false;
	}
	return true;
}

static void preempt(struct fake *fake, const char *pids)
{
	u32 a = (u32)atoi(pids), b = (u32)atoi(strchr(pids, ',') + 1);

	fake_event(fake, GP_NV_ACTIVE_START, a, 5000000);
	fake_event(fake, GP_NV_ACTIVE_END, a, 3000000);
	fake_event(fake, GP_NV_ACTIVE_START, b, 2900000);
	fake_event(fake, GP_NV_ACTIVE_END, b, 900000);
	fake_event(fake, GP_NV_ACTIVE_START, a, 800000);
	printf("ok\n");
}

int main(int argc, char **argv)
{
	struct fake fake;
	char word[32];

	if (fake_create(&fake, argc > 1 ? argv[1] : "580.159.04"))
		return 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("%s\n", fake.dir);
	while (scanf("%31s", word) == 1) {
		struct fake_count count = fake_channels(&fake);

		if (swap_word(&fake, word))
			continue;
		if (strcmp(word, "channels") == 0)
			printf("%u %u\n", count.compute, count.compute_stopped);
		else if (strcmp(word, "copies") == 0)
			printf("%u %u\n", count.copy, count.copy_stopped);
		else if (strcmp(word, "running") == 0)
			printf("%d\n", fake_await_running(&fake));
		else if (strcmp(word, "slice") == 0)
			printf("%llu\n", (unsigned long long)fake_timeslice(&fake, 0));
		else if (strcmp(word, "slices") == 0)
			print_slices(&fake);
		else if (strncmp(word, "fail", 4) == 0)
			printf("%u\n", atomic_exchange(&fake.rm->fail_slices, (u32)atoi(word + 4)));
		else if (strncmp(word, "lose", 4) == 0)
			printf("%u\n", atomic_exchange(&fake.rm->lose_slices, (u32)atoi(word + 4)));
		else if (strncmp(word, "deny", 4) == 0) {
			atomic_store(&fake.rm->deny_events, (u32)atoi(word + 4));
			printf("%u\n", atomic_load(&fake.rm->event_binds));
		} else if (strncmp(word, "drop", 4) == 0)
			printf("%u\n",
			       atomic_fetch_add(&fake.rm->event_sequence, (u32)atoi(word + 4)));
		else if (strncmp(word, "preempt", 7) == 0)
			preempt(&fake, word + 7);
		else if (strncmp(word, "start", 5) == 0)
			record(&fake, GP_NV_ACTIVE_START, word + 5);
		else if (strncmp(word, "end", 3) == 0)
			record(&fake, GP_NV_ACTIVE_END, word + 3);
		else if (strcmp(word, "files") == 0)
			printf("%u\n", fake_open_files(&fake));
	}
	fake_destroy(&fake);
	return 0;
}
