/* SPDX-License-Identifier: MIT */
/*
 * gpreempt doctor: kernel, drivers, GPUs, runtimes and permissions of this machine, from which
 * mechanism.h judges each mechanism. Reading has no side effect, except with `probe`. Under a root
 * other than the live system only files are read; capabilities, groups and devices of this process
 * are not checked.
 */
#ifndef GP_INSPECT_DOCTOR_H
#define GP_INSPECT_DOCTOR_H

#include "base/diag.h"
#include "base/file.h"
#include "gpu/gpu.h"

enum gp_inspect_doctor_field {
	GP_DOCTOR_KERNEL = 1u << 0, /* kernel_major, kernel_minor */
	GP_DOCTOR_LOCKDOWN = 1u << 1,
	GP_DOCTOR_SCHED_POLICY = 1u << 2,
	GP_DOCTOR_TIMEOUT = 1u << 3,
	GP_DOCTOR_NUM_KCQ = 1u << 4,
	GP_DOCTOR_CWSR = 1u << 5,
	GP_DOCTOR_PTRACE_SCOPE = 1u << 6,
	GP_DOCTOR_CAPABILITIES = 1u << 7,
	GP_DOCTOR_ROCR_VERSION = 1u << 8, /* of the runtime that would be loaded */
	GP_DOCTOR_SIGNED_MODULES = 1u << 9,
	GP_DOCTOR_MODULES_DISABLED = 1u << 10,
	GP_DOCTOR_KFD_VERSION = 1u << 11,
	GP_DOCTOR_MES = 1u << 12,
};

enum gp_inspect_kfd_version_source {
	GP_KFD_VERSION_DERIVED, /* from the release of the kernel */
	GP_KFD_VERSION_PROBED,
	GP_KFD_VERSION_DKMS, /* from the release of the DKMS driver */
};

/* A device file; `checked` is false under a root. */
struct gp_inspect_device_access {
	char path[64];
	char group[32]; /* owner group, "" unknown */
	bool checked;
	int error; /* of access(2), which honours the device cgroup */
};

#define GP_RENDER_NODES_MAX 64
#define GP_RUNTIMES_MAX     16

struct gp_inspect_runtime_library {
	char path[256];
	char version[32]; /* "" unknown */
};

struct gp_inspect_doctor {
	u32 valid; /* enum gp_inspect_doctor_field */
	bool live;

	char kernel[128]; /* release, "" unknown */
	u32 kernel_major, kernel_minor;
	char lockdown[24]; /* none, integrity, confidentiality */
	bool signed_modules_only, modules_disabled;
	bool module_loaded; /* gpreempt.ko */

	bool amdgpu_loaded, amdgpu_dkms;
	char amdgpu_version[64], amdgpu_srcversion[64];
	char kfd_sched[16]; /* policy of the scheduler inside the driver, "" none */
	u64 sched_policy, preemption_timeout_ms, num_kcq, cwsr_enable, mes;
	bool keep_idle_evicted; /* parameter of the DKMS driver: kernel/patches/README.md */

	bool kfd_present;
	u32 kfd_major, kfd_minor;
	enum gp_inspect_kfd_version_source kfd_source;
	int probe_error; /* -errno when probing was asked for and failed */

	struct gp_gpu_list amd, nvidia;

	bool debugfs_mounted;
	int debugfs_error; /* 0 when kfd/hqds can be opened */

	struct gp_inspect_device_access kfd_device, nvidia_device;
	struct gp_inspect_device_access render[GP_RENDER_NODES_MAX];
	size_t render_count;
	char groups[256]; /* of this process, those that own GPU devices; "" none */

	char container[32];    /* docker, podman, ...; "": none, or unknown */
	bool own_pids;         /* not the process numbers of the host */
	bool own_users;        /* nor its users: rootless */
	bool seccomp;          /* system calls are filtered */
	bool shared_directory; /* /run/gpreempt is there */
	u64 ptrace_scope;
	u64 capabilities; /* effective, bit = capability number */

	struct gp_inspect_runtime_library runtimes[GP_RUNTIMES_MAX];
	size_t runtime_count;
	u32 rocr_major, rocr_minor, rocr_patch;

	char nvidia_version[32];      /* "" no driver */
	bool nvidia_open, nvidia_mig; /* mig: a GPU is divided into instances */
};

#define GP_CAP_SYS_MODULE 16
#define GP_CAP_SYS_PTRACE 19
#define GP_CAP_SYS_ADMIN  21

/* Whether the capability is known to be there. */
static inline bool gp_inspect_doctor_capable(const struct gp_inspect_doctor *d,
					     unsigned int capability)
{
	return (d->valid & GP_DOCTOR_CAPABILITIES) && (d->capabilities >> capability & 1);
}

/* 0 or -ENOMEM; a fact that cannot be read is missing. `probe` opens /dev/kfd. */
int gp_inspect_doctor_read(const struct gp_root *root, struct gp_diag *diag, bool probe,
			   struct gp_inspect_doctor *out);
void gp_inspect_doctor_free(struct gp_inspect_doctor *doctor);

/* doctor_runtime.c: the ROCr libraries in the usual places. */
void gp_inspect_doctor_runtimes(const struct gp_root *root, struct gp_inspect_doctor *d);
/* doctor_access.c: devices, groups, capabilities, ptrace scope, debugfs. */
void gp_inspect_doctor_access(const struct gp_root *root, struct gp_inspect_doctor *d);
/* doctor_container.c: whether this is a container, and which namespaces it has. */
void gp_inspect_doctor_container(const struct gp_root *root, struct gp_inspect_doctor *d);
void gp_inspect_doctor_check_device(struct gp_inspect_device_access *device, const char *path);
void gp_inspect_doctor_render_nodes(const char *dir, struct gp_inspect_doctor *d);

/* The minor version of KFD (major 1) in a kernel release; 0 if it is older than any known. */
u32 gp_inspect_doctor_kfd_minor(u32 kernel_major, u32 kernel_minor);
/* The same for a release of amdgpu-dkms, such as 6.12.12; 0 unknown. */
u32 gp_inspect_doctor_dkms_minor(const char *version);

#endif
