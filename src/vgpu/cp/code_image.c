// SPDX-License-Identifier: MIT
#include "vgpu/cp/code_image.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE 64 /* bytes of a string read at a time */

bool gp_vgpu_cp_image_read(const struct gp_vgpu_cp_image *image, u64 at, void *to, size_t size)
{
	if (at > image->size || size > image->size - at)
		return false;
	if (image->cp)
		return !gp_vgpu_cp_read(image->cp, image->gpu_id, image->offset + at, to, size);
	if (image->fd < 0)
		return !gp_vgpu_copy_in(to, image->offset + at, size);
	return pread(image->fd, to, size, (off_t)(image->offset + at)) == (ssize_t)size;
}

/*
 * Read in aligned pieces, which never reach into a page the string is not in, and byte by byte
 * where an image ends inside one.
 */
bool gp_vgpu_cp_image_string(const struct gp_vgpu_cp_image *image, u64 at, char *to, size_t size)
{
	size_t done = 0;

	while (done + 1 < size) {
		size_t part = PIECE - (size_t)((image->offset + at + done) % PIECE);

		if (part > size - 1 - done)
			part = size - 1 - done;
		if (!gp_vgpu_cp_image_read(image, at + done, to + done, part)) {
			part = 1;
			if (!gp_vgpu_cp_image_read(image, at + done, to + done, part))
				return false;
		}
		if (memchr(to + done, 0, part))
			return true;
		done += part;
	}
	to[size - 1] = 0;
	return true;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Path of a file:// URI, with its %XX undone, up to '#' or '?'. */
static void uri_path(const char *uri, char *path, size_t size)
{
	size_t length = 0;

	while (*uri && *uri != '#' && *uri != '?' && length + 1 < size) {
		if (*uri == '%' && hex(uri[1]) >= 0 && hex(uri[2]) >= 0) {
			path[length++] = (char)(hex(uri[1]) << 4 | hex(uri[2]));
			uri += 3;
		} else {
			path[length++] = *uri++;
		}
	}
	path[length] = 0;
}

static u64 uri_number(const char *uri, const char *key, u64 missing)
{
	const char *at = strpbrk(uri, "#?");

	at = at ? strstr(at, key) : NULL;
	return at ? strtoull(at + strlen(key), NULL, 0) : missing;
}

bool gp_vgpu_cp_image_open(const char *uri, struct gp_vgpu_cp_image *image)
{
	char path[GP_CP_URI_MAX];
	off_t end;

	*image = (struct gp_vgpu_cp_image){.fd = -1, .offset = uri_number(uri, "offset=", 0)};
	if (!strncmp(uri, "memory://", 9)) {
		image->size = uri_number(uri, "size=", 0);
		return image->offset && image->size;
	}
	if (strncmp(uri, "file://", 7))
		return false;
	uri_path(uri + 7, path, sizeof(path));
	image->fd = (int)syscall(SYS_openat, AT_FDCWD, path,
				 O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (image->fd < 0)
		return false;
	end = syscall(SYS_lseek, image->fd, 0, SEEK_END);
	if (end < 0 || (u64)end < image->offset) {
		syscall(SYS_close, image->fd);
		return false;
	}
	image->size = uri_number(uri, "size=", (u64)end - image->offset);
	return true;
}

void gp_vgpu_cp_image_close(struct gp_vgpu_cp_image *image)
{
	if (image->fd >= 0)
		syscall(SYS_close, image->fd);
	image->fd = -1;
}

bool gp_vgpu_cp_image_header(const struct gp_vgpu_cp_image *image, Elf64_Ehdr *header)
{
	return gp_vgpu_cp_image_read(image, 0, header, sizeof(*header)) &&
	       !memcmp(header->e_ident, ELFMAG, SELFMAG);
}
