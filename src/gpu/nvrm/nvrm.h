/* NVIDIA's resource manager: what its driver says of itself in /proc/driver/nvidia/version. */
#ifndef GP_GPU_NVRM_NVRM_H
#define GP_GPU_NVRM_NVRM_H

#include "gpu/gpu.h"

/* "580.159.04"; false when there is no driver or its text is not understood. */
bool gp_nvrm_driver_version(const struct gp_root *root, char *out, size_t size);
/* Whether it is the open kernel modules. */
bool gp_nvrm_open_modules(const struct gp_root *root);

#endif
