/* Finds the files that come with the programs. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "chip/chip.h"

/* Programs are in <prefix>/bin, <prefix>/libexec/gpreempt, <build>/bin or <build>/tests/vkfd. */
#define GP_LEVELS_UP 3

int gp_data_find(const char *installed, const char *built, char *out, size_t size)
{
	const char *const places[] = {installed, built};
	char exe[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (len <= 0)
		return -ENOENT;
	exe[len] = '\0';
	for (int up = 0; up < GP_LEVELS_UP; up++) {
		char *slash = strrchr(exe, '/');

		if (!slash)
			break;
		*slash = '\0';
		for (size_t i = 0; i < GP_ARRAY_SIZE(places); i++) {
			int n = snprintf(out, size, "%s/%s", exe, places[i]);

			if (n > 0 && (size_t)n < size && access(out, R_OK) == 0)
				return 0;
		}
	}
	return -ENOENT;
}
