// SPDX-License-Identifier: MIT
/* kfd-module: the session with one process. See module.h. */
#include "gpu/kfd/module.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "abi/gpreempt_module.h"
#include "base/clock.h"
#include "base/core.h"
#include "base/file.h"
#include "gpu/kfd/debug.h"

#define KFD_PROC "/sys/class/kfd/kfd/proc"
#define LEASE_MS 2000 /* until the caller says another */

struct gp_kfd_module_target {
	struct gp_gpu_control base;
	const struct gp_kfd_module_port *port;
	u32 lease_ms;
	int device;
	bool evicted; /* by a suspend that no resume followed; the lease may have ended it */
};

static struct gp_kfd_module_target *mine(struct gp_gpu_control *base)
{
	return gp_container(base, struct gp_kfd_module_target, base);
}

static int open_path(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int call_device(int fd, unsigned long request, void *args)
{
	return ioctl(fd, request, args) < 0 ? -errno : 0;
}

static const struct gp_kfd_module_port real_port = {.open = open_path, .call = call_device};

/* ---- probe, attach, detach ---- */

/* The device, or -errno and why not. */
static int open_device(const struct gp_kfd_module_port *port, struct gp_proto_message *why)
{
	struct gpreempt_info info = {0};
	int fd = port->open(GPREEMPT_DEVICE), error;

	if (fd == -ENOENT || fd == -ENODEV || fd == -ENXIO)
		return gp_proto_say(why, -ENXIO, GP_SAY_MODULE_NONE, GPREEMPT_DEVICE);
	if (fd < 0) {
		gp_proto_say(why, fd, GP_SAY_MODULE_ERROR, GPREEMPT_DEVICE);
		/* EPERM would say that the process is another user's. */
		return fd == -EPERM ? -EACCES : fd;
	}
	error = port->call(fd, GPREEMPT_IOC_INFO, &info);
	if (!error && info.abi == GPREEMPT_ABI)
		return fd;
	close(fd);
	return gp_proto_say(why, -EPROTO, GP_SAY_MODULE_VERSION);
}

int gp_kfd_module_probe(const struct gp_kfd_module_port *port, u32 pid,
			struct gp_proto_message *why)
{
	int fd = open_device(port, why);

	if (fd < 0)
		return fd;
	close(fd);
	if (!gp_root_exists(NULL, KFD_PROC "/%u", pid))
		return gp_proto_say(why, -ENODEV, GP_SAY_NOT_AMD, pid);
	return gp_proto_say(why, 0, GP_SAY_MODULE_WORKS);
}

int gp_kfd_module_attach(const struct gp_kfd_module_port *port, int pidfd, u32 pid,
			 struct gp_proto_message *why, struct gp_gpu_control **out)
{
	struct gp_kfd_module_target *control = calloc(1, sizeof(*control));

	if (!control)
		return -ENOMEM;
	*control = (struct gp_kfd_module_target){.port = port,
						 .base = {.pid = pid, .pidfd = pidfd},
						 .lease_ms = LEASE_MS};
	control->device = open_device(port, why);
	if (control->device < 0) {
		int error = control->device;

		free(control);
		return error;
	}
	*out = &control->base;
	return 0;
}

static int probe(int pidfd, u32 pid, struct gp_proto_message *why)
{
	(void)pidfd;
	return gp_kfd_module_probe(&real_port, pid, why);
}

static int attach(int pidfd, u32 pid, struct gp_proto_message *why, struct gp_gpu_control **out)
{
	return gp_kfd_module_attach(&real_port, pidfd, pid, why, out);
}

/* The module lets go of what a closed file held. */
static void detach(struct gp_gpu_control *control)
{
	close(mine(control)->device);
	free(mine(control));
}

/* ---- queues ---- */

/* Whether this control holds the process: a lease may have run out. */
static bool is_held(struct gp_kfd_module_target *control)
{
	struct gpreempt_state state = {.pidfd = control->base.pidfd};

	return control->port->call(control->device, GPREEMPT_IOC_STATE, &state) == 0 &&
	       state.depth > 0;
}

static int queues(struct gp_gpu_control *control, struct gp_gpu_control_queues *out)
{
	int error = gp_kfd_debug_look(control->pidfd, control->pid, out);
	bool held = is_held(mine(control));

	for (size_t i = 0; !error && i < out->count; i++)
		out->items[i].suspended = held;
	return error;
}

/* How many queues the process has; -EXDEV when only some of them are meant. */
static int count_queues(struct gp_kfd_module_target *control, const u32 *ids, size_t count,
			u32 *out)
{
	struct gp_gpu_control_queues list = {0};
	int error = gp_kfd_debug_look(control->base.pidfd, control->base.pid, &list);

	*out = error ? 0 : (u32)list.count;
	gp_gpu_control_queues_free(&list);
	/* Without the list, all of them are known to be meant only when none was named. */
	return ids && (error || !*out || count < *out) ? -EXDEV : 0;
}

/* ---- acting ---- */

static int suspend(struct gp_gpu_control *base, const u32 *ids, size_t count, u32 grace,
		   struct gp_gpu_control_done *done)
{
	struct gp_kfd_module_target *control = mine(base);
	struct gpreempt_evict evict = {.pidfd = control->base.pidfd, .lease_ms = control->lease_ms};
	int error = count_queues(control, ids, count, &done->queues);

	(void)grace; /* the driver's own */
	if (error || is_held(control))
		return error;
	done->issued_ns = gp_monotonic_ns();
	error = control->port->call(control->device, GPREEMPT_IOC_EVICT, &evict);
	done->driver_ns = evict.took_ns;
	control->evicted |= !error;
	return error;
}

static int resume(struct gp_gpu_control *base, const u32 *ids, size_t count,
		  struct gp_gpu_control_done *done)
{
	struct gp_kfd_module_target *control = mine(base);
	struct gpreempt_restore restore = {.pidfd = control->base.pidfd,
					   .flags = GPREEMPT_RESTORE_WHOLLY};
	int error = count_queues(control, ids, count, &done->queues);

	if (!error)
		control->evicted = false;
	if (error || !is_held(control))
		return error;
	done->issued_ns = gp_monotonic_ns();
	error = control->port->call(control->device, GPREEMPT_IOC_RESTORE, &restore);
	done->driver_ns = restore.took_ns;
	return error == -ENOENT ? 0 : error; /* the lease ran out just now */
}

static int lease(struct gp_gpu_control *base, u32 lease_ms)
{
	struct gp_kfd_module_target *control = mine(base);
	struct gpreempt_renew renew = {.pidfd = control->base.pidfd};
	int error;

	control->lease_ms = GP_MAX(1, GP_MIN(lease_ms, GPREEMPT_LEASE_MAX_MS));
	renew.lease_ms = control->lease_ms;
	error = control->port->call(control->device, GPREEMPT_IOC_RENEW, &renew);
	if (error != -ENOENT)
		return error;
	/* Nothing is held: not yet, or the kernel's clock ran out before we came, and it runs. */
	error = control->evicted ? -ENOLCK : 0;
	control->evicted = false;
	return error;
}

/* What happens to the process is seen at its pidfd. */
static int event_fd(struct gp_gpu_control *control)
{
	(void)control;
	return -1;
}

static int pump(struct gp_gpu_control *control)
{
	(void)control;
	return 0;
}

const struct gp_gpu_control_ops gp_kfd_module_control = {
	.mechanism = GP_MECHANISM_KFD_MODULE,
	.probe = probe,
	.attach = attach,
	.detach = detach,
	.fd = event_fd,
	.pump = pump,
	.queues = queues,
	.suspend = suspend,
	.resume = resume,
	.traits = GP_CONTROL_WHOLE,
	.look = gp_kfd_debug_look,
	.lease = lease,
};
