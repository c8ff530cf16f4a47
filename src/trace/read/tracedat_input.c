// SPDX-License-Identifier: MIT
/* Numbers, strings and blocks of a trace.dat: from the file, or from a part decompressed. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "trace/read/tracedat_parts.h"

ssize_t gp_trace_dat_read_at(int fd, void *to, size_t len, u64 offset)
{
	size_t done = 0;

	while (done < len) {
		ssize_t got = pread(fd, (char *)to + done, len - done, (off_t)(offset + done));

		if (got < 0 && errno != EINTR)
			return -errno;
		if (got == 0)
			break;
		done += got > 0 ? (size_t)got : 0;
	}
	return (ssize_t)done;
}

int gp_trace_dat_get(struct gp_trace_dat_input *in, void *out, size_t len)
{
	if (len > in->end - in->at)
		return -EINVAL;
	if (in->memory) {
		memcpy(out, in->memory + in->at, len);
	} else {
		ssize_t got = gp_trace_dat_read_at(in->fd, out, len, in->at);

		if (got != (ssize_t)len)
			return got < 0 ? (int)got : -EINVAL;
	}
	in->at += len;
	return 0;
}

int gp_trace_dat_get_number(struct gp_trace_dat_input *in, u32 size, u64 *value)
{
	u8 bytes[8];
	int error = gp_trace_dat_get(in, bytes, size);

	if (!error)
		*value = gp_dat_number(bytes, size);
	return error;
}

int gp_trace_dat_get_string(struct gp_trace_dat_input *in, char *out)
{
	size_t len = 0;
	int error;

	do {
		if (len == GP_DAT_NAME)
			return -EINVAL;
		error = gp_trace_dat_get(in, out + len, 1);
	} while (!error && out[len++]);
	return error;
}

int gp_trace_dat_get_block(struct gp_trace_dat_input *in, u32 length_size, char **out, size_t *len)
{
	u64 size;
	int error = gp_trace_dat_get_number(in, length_size, &size);

	if (error)
		return error;
	if (size > in->end - in->at || size > GP_DAT_PART_MAX)
		return -EINVAL;
	*len = (size_t)size;
	*out = malloc(*len ? *len : 1);
	if (!*out)
		return -ENOMEM;
	error = gp_trace_dat_get(in, *out, *len);
	if (error)
		free(*out);
	return error;
}
