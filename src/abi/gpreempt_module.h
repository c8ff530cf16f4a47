/* SPDX-License-Identifier: MIT */
/* /dev/gpreempt of gpreempt.ko; the header is the module's own. */
#ifndef GP_ABI_GPREEMPT_MODULE_H
#define GP_ABI_GPREEMPT_MODULE_H

#include "../../kernel/module/gpreempt_uapi.h"

#endif
