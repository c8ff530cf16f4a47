// SPDX-License-Identifier: MIT
#include "inspect/swap.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/core.h"
#include "base/parse.h"

#define RESERVE (256ull << 20) /* is left to the host */

static bool find_kb(const char *text, const char *key, u64 *bytes)
{
	const char *p = strstr(text, key), *end;

	if (!p)
		return false;
	p += strlen(key);
	p += strspn(p, " \t");
	end = p + strlen(p);
	return gp_parse_u64(&p, end, bytes) && !__builtin_mul_overflow(*bytes, 1024, bytes);
}

/* cgroup v2: "0::/path" in /proc/PID/cgroup; each group on the way up may have a limit. */
static void limit_of_group(const struct gp_root *root, u32 pid, u64 *limit)
{
	struct gp_buf text = {0};
	char path[512] = "";
	const char *line;

	if (gp_root_read(root, 65536, &text, "/proc/%u/cgroup", pid) == 0 &&
	    (line = strstr(gp_buf_str(&text), "0::/")))
		snprintf(path, sizeof(path), "%.*s", (int)strcspn(line + 3, "\n"), line + 3);
	gp_buf_free(&text);
	while (*path) {
		u64 most, used;

		if (gp_root_read_u64(root, &most, "/sys/fs/cgroup%s/memory.max", path) == 0 &&
		    gp_root_read_u64(root, &used, "/sys/fs/cgroup%s/memory.current", path) == 0)
			*limit = GP_MIN(*limit, most - GP_MIN(used, most));
		*strrchr(path, '/') = '\0';
	}
}

int gp_inspect_swap_host(const struct gp_root *root, u32 pid, struct gp_inspect_swap_host *out)
{
	struct gp_buf text = {0};
	int error = gp_root_read(root, 65536, &text, "/proc/meminfo");

	*out = (struct gp_inspect_swap_host){.limit = UINT64_MAX};
	if (!error && (!find_kb(gp_buf_str(&text), "MemTotal:", &out->total) ||
		       !find_kb(gp_buf_str(&text), "MemAvailable:", &out->available)))
		error = -EPROTO;
	gp_buf_free(&text);
	if (!error)
		limit_of_group(root, pid, &out->limit);
	return error;
}

u64 gp_inspect_swap_need(u64 bytes)
{
	return bytes + bytes / 16 + RESERVE;
}
