/* SPDX-License-Identifier: MIT */
/* Which instructions a test executes: appended to the file that ISA_COVERAGE names, if it is set.
 */
#ifndef GP_TESTS_VGPU_ISA_COVERAGE_H
#define GP_TESTS_VGPU_ISA_COVERAGE_H

#include "vgpu/isa/inst.h"

/* What the runner has decoded at these addresses, since it decodes what it executes. Call it before
 * other code is put there. */
void coverage_note(const struct gp_isa_runner *runner, u64 va, u32 words);

#endif
