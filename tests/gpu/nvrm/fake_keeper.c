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
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

static void print_slices(const struct fake *fake)
{
	u64 us;

	for (u32 i = 0; (us = fake_timeslice(fake, i)); i++)
		printf("%s%llu", i ? " " : "", (unsigned long long)us);
	printf("\n");
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
		else if (strcmp(word, "files") == 0)
			printf("%u\n", fake_open_files(&fake));
	}
	fake_destroy(&fake);
	return 0;
}
