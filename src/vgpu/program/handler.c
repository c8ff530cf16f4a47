// SPDX-License-Identifier: MIT
/* The trap handler of a driver, from cwsr_trap_handler.h of its source: arrays of numbers. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "vgpu/program/program.h"
#include "vgpu/wire.h"

#define WORDS (GP_VGPU_HANDLER_BYTES / sizeof(u32))

/* In the order of the file that is written. */
static const char *const names[] = {"cwsr_trap_aldebaran_hex", "cwsr_trap_gfx9_4_3_hex"};

/* Words of the array with this name; more than WORDS if it is too long. */
static size_t words_read(FILE *file, const char *name, u32 *words)
{
	char line[512];
	bool inside = false;
	size_t count = 0;

	rewind(file);
	while (fgets(line, sizeof(line), file)) {
		if (strstr(line, name))
			inside = true;
		else if (inside && strchr(line, '}'))
			break;
		for (char *at = inside ? strstr(line, "0x") : NULL; at && count <= WORDS;
		     at = strstr(at + 2, "0x")) {
			if (count < WORDS)
				words[count] = (u32)strtoul(at, NULL, 16);
			count++;
		}
	}
	return count;
}

int gp_vgpu_handler_write(const char *header, const char *directory, struct gp_diag *diag)
{
	u32 words[GP_ARRAY_SIZE(names)][WORDS] = {0};
	char path[PATH_MAX + sizeof("/" GP_VGPU_HANDLER)];
	FILE *file = fopen(header, "re");
	int error = 0;

	if (!file)
		return gp_fail(diag, -errno, "cannot read %s: %s", header, strerror(errno));
	for (size_t i = 0; i < GP_ARRAY_SIZE(names) && !error; i++) {
		size_t count = words_read(file, names[i], words[i]);

		if (!count || count > WORDS)
			error = gp_fail(diag, -EINVAL,
					"%s has no trap handler %s (use cwsr_trap_handler.h of a "
					"Linux 6.6 or later)",
					header, names[i]);
	}
	fclose(file);
	if (error)
		return error;
	snprintf(path, sizeof(path), "%s/" GP_VGPU_HANDLER, directory);
	error = gp_file_write_atomic(path, words, sizeof(words));
	if (error)
		return gp_fail(diag, error, "cannot write %s: %s", path, strerror(-error));
	return 0;
}
