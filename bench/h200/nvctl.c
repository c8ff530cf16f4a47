// SPDX-License-Identifier: MIT
#include "nvctl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gpu/nvrm/lifeline.h"
#include "gpu/nvrm/nvrm.h"
#include "page.h"

#define SLICE_FOUND_US 2048u /* of compute groups on an H200 */

struct nvctl {
	struct gp_gpu_control *control;
	int pidfd;
};

static void complain(struct gp_diag *diag, enum gp_severity severity, const char *text)
{
	(void)diag, (void)severity;
	fprintf(stderr, "nvctl: %s\n", text);
}

int nvctl_open(uint32_t pid, struct nvctl **out)
{
	struct gp_proto_message why = {0};
	char text[256];
	struct nvctl *n = calloc(1, sizeof(*n));
	int error;

	*out = NULL;
	if (!n)
		return -ENOMEM;
	n->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	error = n->pidfd < 0 ? -errno : gp_nvrm_control.attach(n->pidfd, pid, &why, &n->control);
	if (error) {
		gp_proto_message_text(&why, text, sizeof(text));
		complain(NULL, GP_ERROR, text);
		if (n->pidfd >= 0)
			close(n->pidfd);
		free(n);
		return error;
	}
	*out = n;
	return 0;
}

void nvctl_close(struct nvctl *control)
{
	if (!control)
		return;
	gp_nvrm_control.detach(control->control);
	close(control->pidfd);
	free(control);
}

int nvctl_suspend(struct nvctl *control, struct nvctl_took *took)
{
	struct gp_gpu_control_done done;
	uint64_t begin = now_ns();
	int error = gp_nvrm_control.suspend(control->control, NULL, 0, 0, &done);

	if (took)
		*took = (struct nvctl_took){now_ns() - begin, done.driver_ns, done.queues};
	return error;
}

int nvctl_resume(struct nvctl *control, struct nvctl_took *took)
{
	struct gp_gpu_control_done done;
	uint64_t begin = now_ns();
	int error = gp_nvrm_control.resume(control->control, NULL, 0, &done);

	if (took)
		*took = (struct nvctl_took){now_ns() - begin, done.driver_ns, done.queues};
	return error;
}

int nvctl_share(struct nvctl *control, uint32_t thousandths)
{
	return gp_nvrm_control.share(control->control, thousandths);
}

uint32_t nvctl_share_for(uint64_t us)
{
	uint64_t share = (us * 1000 + (SLICE_FOUND_US + us) / 2) / (SLICE_FOUND_US + us);

	return share < 1 ? 1 : share > 999 ? 999 : (uint32_t)share;
}

int nvctl_pump(struct nvctl *control)
{
	return gp_nvrm_control.pump(control->control);
}

uint64_t nvctl_calls(const struct nvctl *control)
{
	return gp_nvrm_scan_calls(control->control);
}

int nvctl_describe(struct nvctl *control, uint32_t index, char *out, uint32_t size)
{
	struct gp_nvrm_detail d;
	int error = gp_nvrm_detail(control->control, index, &d);

	if (error)
		return error;
	snprintf(out, size,
		 "{\"handle\":%u,\"channels\":%u,\"timeslice_us\":%lld,\"hardware_id\":%d,"
		 "\"compute_mode\":%d,\"saves\":%lld,\"cilp_saves\":%lld,"
		 "\"restores\":%lld}",
		 d.handle, d.channels, d.valid & GP_NVRM_TIMESLICE ? (long long)d.timeslice_us : -1,
		 d.valid & GP_NVRM_HARDWARE_ID ? (int)d.hardware_id : -1,
		 d.valid & GP_NVRM_MODES ? (int)d.compute_mode : -1,
		 d.valid & GP_NVRM_STATS ? (long long)d.saves : -1,
		 d.valid & GP_NVRM_STATS ? (long long)d.cilp_saves : -1,
		 d.valid & GP_NVRM_STATS ? (long long)d.restores : -1);
	return 0;
}

int nvctl_release(uint32_t pid)
{
	struct gp_diag diag = {.emit = complain};
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	int error = pidfd < 0 ? -errno : gp_nvrm_release(pidfd, pid, &diag);

	if (pidfd >= 0)
		close(pidfd);
	return error;
}
