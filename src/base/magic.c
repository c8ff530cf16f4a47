// SPDX-License-Identifier: MIT
#include "base/magic.h"

#include <string.h>

const char *gp_compression(const char *data, size_t len, const char **command)
{
	static const struct {
		const char *magic;
		size_t len;
		const char *name, *command;
	} known[] = {
		{"\x1f\x8b", 2, "gzip", "zcat"},
		{"\x28\xb5\x2f\xfd", 4, "zstd", "zstdcat"},
		{"\xfd\x37zXZ\0", 6, "xz", "xzcat"},
		{"BZh", 3, "bzip2", "bzcat"},
		{"\x04\x22\x4d\x18", 4, "lz4", "lz4cat"},
		{"PK\x03\x04", 4, "zip", "unzip -p"},
	};

	for (size_t i = 0; i < GP_ARRAY_SIZE(known); i++) {
		if (len < known[i].len || memcmp(data, known[i].magic, known[i].len) != 0)
			continue;
		if (command)
			*command = known[i].command;
		return known[i].name;
	}
	return NULL;
}
