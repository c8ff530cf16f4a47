// SPDX-License-Identifier: MIT
#include "cli/files/reading.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define LOOK_NS (200 * GP_NS_PER_MS)

static void *look(void *data)
{
	struct gp_cli_file_watch *reading = data;

	pthread_mutex_lock(&reading->lock);
	while (!reading->over) {
		struct timespec until = gp_timespec(gp_monotonic_ns() + LOOK_NS);
		off_t at;

		pthread_cond_timedwait(&reading->ended, &reading->lock, &until);
		at = lseek(reading->fd, 0, SEEK_CUR);
		if (!reading->over && at >= 0)
			gp_progress_update(&reading->progress, reading->name, (u64)at,
					   reading->total);
	}
	pthread_mutex_unlock(&reading->lock);
	return NULL;
}

void gp_cli_file_watch_begin(struct gp_cli_file_watch *reading, int fd, const char *name,
			     struct gp_diag *diag)
{
	pthread_condattr_t monotonic;
	struct stat info;

	*reading = (struct gp_cli_file_watch){.fd = fd, .name = name};
	gp_progress_start(&reading->progress, diag);
	if (!reading->progress.wanted || fstat(fd, &info) < 0 || !S_ISREG(info.st_mode))
		return;
	reading->total = (u64)info.st_size;
	pthread_mutex_init(&reading->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&reading->ended, &monotonic);
	pthread_condattr_destroy(&monotonic);
	reading->running = pthread_create(&reading->thread, NULL, look, reading) == 0;
}

void gp_cli_file_watch_end(struct gp_cli_file_watch *reading)
{
	if (!reading->running)
		return;
	pthread_mutex_lock(&reading->lock);
	reading->over = true;
	pthread_cond_signal(&reading->ended);
	pthread_mutex_unlock(&reading->lock);
	pthread_join(reading->thread, NULL);
	gp_progress_end(&reading->progress);
	reading->running = false;
}
