// SPDX-License-Identifier: MIT
/* Any file is a recording or a clear refusal; the scenario written of it is one that is accepted
 * and runs. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/engine.h"
#include "trace/analyse/recording.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static void run(const char *text, size_t size)
{
	static struct gp_sim_scenario scenario;
	struct gp_sim_options options = {.max_events = 2000,
					 .only_job = GP_SCHED_NONE,
					 .check = true};
	struct gp_sim_result result;

	if (gp_sim_scenario_init(&scenario, NULL))
		abort();
	/* Times beyond a day are all that a reader of scenarios may refuse. */
	if (gp_sim_scenario_parse(&scenario, "replay", text, size, NULL) == 0 &&
	    gp_sim_run(&scenario, &options, NULL, &result) == 0)
		gp_sim_result_free(&result);
	gp_sim_scenario_free(&scenario);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct gp_trace_recording recording = {.kernel_ns = 20000,
					       .burst_ns = size % 2 ? 100000 : 0};
	int fd = memfd_create("replay", MFD_CLOEXEC);
	char *text = NULL;
	size_t length = 0;
	FILE *out;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET))
		abort();
	if (gp_trace_recording_read(&recording, fd, "fuzz.csv", size % 3 ? NULL : "offline",
				    NULL) == 0 &&
	    gp_trace_recording_finish(&recording, NULL) == 0) {
		out = open_memstream(&text, &length);
		if (gp_trace_recording_write(&recording, out) == 0) {
			fclose(out);
			run(text, length);
		} else {
			fclose(out);
		}
		free(text);
	}
	gp_trace_recording_free(&recording);
	close(fd);
	return 0;
}
