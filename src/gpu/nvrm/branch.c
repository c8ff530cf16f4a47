// SPDX-License-Identifier: MIT
/* Known branches of the NVIDIA driver. */
#include "base/parse.h"
#include "gpu/nvrm/nvrm.h"

/* The headers of each were compared (see abi/nvrm_ioctl.h): the calls in use are the same. */
static const struct gp_nvrm_branch branches[] = {
	{550, false}, {560, false}, {565, false}, {570, false},
	{575, false}, {580, true},  {590, false}, {595, false},
};

const struct gp_nvrm_branch *gp_nvrm_branch(const char *version)
{
	const char *end = version + strlen(version);
	u32 number;

	if (!gp_parse_u32(&version, end, &number) || version == end || *version != '.')
		return NULL;
	for (size_t i = 0; i < GP_ARRAY_SIZE(branches); i++) {
		if (branches[i].number == number)
			return &branches[i];
	}
	return NULL;
}
