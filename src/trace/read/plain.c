// SPDX-License-Identifier: MIT
#include "trace/read/plain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef GP_HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef GP_HAVE_ZSTD
#include <zstd.h>
#endif

#include "base/file.h"
#include "base/i18n.h"
#include "base/magic.h"

#define CHUNK (256u << 10)
/* Logs shrink to a fiftieth at best. More than this is a file made to fill a disk. */
#define EXPANSION_MAX  300
#define EXPANSION_FREE (64ull << 20)

/* A decompressor: bytes of plain content, 0 at the end, -EBADMSG if the rest is damaged. */
struct plain {
	long (*read)(struct plain *plain, char *out, size_t size);
	void (*close)(struct plain *plain);
	void *state; /* the library's */
	int fd;      /* of the compressed file, for zstd */
	char *in;
	size_t in_len, in_done;
	bool in_frame;
};

#ifdef GP_HAVE_ZLIB
static long plain_read_gzip(struct plain *plain, char *out, size_t size)
{
	int got = gzread(plain->state, out, (unsigned int)size), error;

	/* A file that is cut off gives its content first, then a short read with an error. */
	if (got > 0)
		return got;
	gzerror(plain->state, &error);
	return error == Z_OK || error == Z_STREAM_END ? 0 : error == Z_ERRNO ? -errno : -EBADMSG;
}

static void plain_close_gzip(struct plain *plain)
{
	gzclose(plain->state);
}

static int plain_open_gzip(struct plain *plain, int own)
{
	plain->state = gzdopen(own, "rb");
	plain->read = plain_read_gzip;
	plain->close = plain_close_gzip;
	if (plain->state)
		return 0;
	close(own);
	return -ENOMEM;
}
#endif

#ifdef GP_HAVE_ZSTD
static long plain_read_zstd(struct plain *plain, char *out, size_t size)
{
	ZSTD_outBuffer to = {.dst = out, .size = size};

	while (!to.pos) {
		ZSTD_inBuffer from;
		size_t left;

		if (plain->in_done == plain->in_len) {
			ssize_t got = read(plain->fd, plain->in, CHUNK);

			if (got < 0)
				return -errno;
			if (!got)
				return plain->in_frame ? -EBADMSG : 0;
			plain->in_len = (size_t)got;
			plain->in_done = 0;
		}
		from = (ZSTD_inBuffer){plain->in, plain->in_len, plain->in_done};
		left = ZSTD_decompressStream(plain->state, &to, &from);
		if (ZSTD_isError(left))
			return -EBADMSG;
		plain->in_done = from.pos;
		plain->in_frame = left != 0;
	}
	return (long)to.pos;
}

static void plain_close_zstd(struct plain *plain)
{
	ZSTD_freeDStream(plain->state);
	free(plain->in);
	close(plain->fd);
}

static int plain_open_zstd(struct plain *plain, int own)
{
	plain->fd = own;
	plain->state = ZSTD_createDStream();
	plain->in = malloc(CHUNK);
	plain->read = plain_read_zstd;
	plain->close = plain_close_zstd;
	if (plain->state && plain->in)
		return 0;
	plain_close_zstd(plain);
	return -ENOMEM;
}
#endif

/* The formats that this build can decompress; the others are refused where files are read. */
static const struct {
	const char *name;
	int (*open)(struct plain *plain, int own);
} formats[] = {
#ifdef GP_HAVE_ZLIB
	{"gzip", plain_open_gzip},
#endif
#ifdef GP_HAVE_ZSTD
	{"zstd", plain_open_zstd},
#endif
	{NULL, NULL},
};

static size_t format_of(const char *name)
{
	size_t i = 0;

	while (formats[i].name && strcmp(formats[i].name, name) != 0)
		i++;
	return i;
}

/* Moves the position of the file, which is that of `fd` as well. */
static int plain_open(struct plain *plain, int fd, const char *format)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	*plain = (struct plain){.fd = -1};
	if (own < 0)
		return -errno;
	lseek(own, 0, SEEK_SET);
	return formats[format_of(format)].open(plain, own);
}

/* The compression of a file that can be decompressed here, or NULL. */
static const char *compression_of(int fd)
{
	char start[16];
	ssize_t got = pread(fd, start, sizeof(start), 0);
	const char *format = got > 0 ? gp_compression(start, (size_t)got, NULL) : NULL;

	return format && formats[format_of(format)].name ? format : NULL;
}

static int make_room(void)
{
	const char *dir = getenv("TMPDIR");
	int fd = open(dir && *dir ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return fd >= 0 ? fd : memfd_create("plain", MFD_CLOEXEC);
}

static int expand(struct plain *plain, int to, u64 packed, const char *name, struct gp_diag *diag)
{
	char *buffer = malloc(CHUNK);
	bool huge = false;
	u64 total = 0;
	long got = 0;
	int error = buffer ? 0 : -ENOMEM;

	while (!error && (got = plain->read(plain, buffer, CHUNK)) > 0) {
		total += (u64)got;
		huge = total > EXPANSION_FREE && total / EXPANSION_MAX > packed;
		error = huge ? -EFBIG : gp_file_write_fd(to, buffer, (size_t)got);
	}
	free(buffer);
	if (huge)
		return gp_fail(diag, error,
			       "%s: the decompressed file would be implausibly large; decompress "
			       "it with another program if you trust it",
			       name);
	if (!error && got < 0 && got != -EBADMSG)
		error = (int)got;
	if (error)
		return gp_fail(diag, error,
			       "cannot decompress %s: %s (TMPDIR names the directory for the "
			       "decompressed file)",
			       name, strerror(-error));
	if (got == -EBADMSG && !total)
		return gp_fail(diag, -EBADMSG, "%s: the compressed file is truncated or damaged",
			       name);
	if (got == -EBADMSG)
		gp_diag(diag, GP_WARNING,
			"%s: the compressed file is truncated or damaged; only the part before the "
			"damage is used",
			name);
	return 0;
}

int gp_trace_plain(int fd, const char *name, struct gp_diag *diag)
{
	const char *format = compression_of(fd);
	struct plain plain;
	struct stat info;
	int to, error;

	if (!format || fstat(fd, &info))
		return fd;
	error = plain_open(&plain, fd, format);
	to = error ? -1 : make_room();
	if (!error && to < 0)
		error = -errno;
	if (error)
		gp_fail(diag, error, "cannot decompress %s: %s", name, strerror(-error));
	else
		error = expand(&plain, to, (u64)info.st_size, name, diag);
	plain.close(&plain);
	close(fd);
	if (error && to >= 0)
		close(to);
	if (!error)
		lseek(to, 0, SEEK_SET);
	return error ? error : to;
}

long gp_trace_plain_start(int fd, char *buffer, size_t size)
{
	const char *format = compression_of(fd);
	struct plain plain;
	size_t fill = 0;
	off_t at;
	long got = 0;
	int error;

	if (!format) {
		got = pread(fd, buffer, size, 0);
		return got < 0 ? -errno : got;
	}
	at = lseek(fd, 0, SEEK_CUR);
	error = plain_open(&plain, fd, format);
	if (error)
		return error;
	while (fill < size && (got = plain.read(&plain, buffer + fill, size - fill)) > 0)
		fill += (size_t)got;
	plain.close(&plain);
	lseek(fd, at, SEEK_SET);
	return got < 0 && got != -EBADMSG ? got : (long)fill;
}
