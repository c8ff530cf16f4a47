// SPDX-License-Identifier: MIT
/*
 * Functions that glibc has had only since 2.29 or later, for programs linked with old-glibc. No
 * header is included that declares them: some redirect a name to another. A function that is
 * missing here is reported by the linker.
 */
#include <stdarg.h>
#include <stddef.h>

enum {
	SYS_STAT = 4,
	SYS_FSTAT = 5,
	SYS_LSTAT = 6,
	SYS_GETTID = 186,
	SYS_GETDENTS64 = 217,
	SYS_TGKILL = 234,
	SYS_NEWFSTATAT = 262,
	SYS_CLOSE_RANGE = 436,
};

long syscall(long number, ...);

#define GP_SAME(name, of) __typeof__(of) name __attribute__((alias(#of), visibility("hidden")))
#define GP_HIDDEN         __attribute__((visibility("hidden")))

/* ---- 2.33: functions instead of wrappers ---- */

GP_HIDDEN int stat(const char *path, void *out)
{
	return (int)syscall(SYS_STAT, path, out);
}
GP_SAME(stat64, stat);

GP_HIDDEN int lstat(const char *path, void *out)
{
	return (int)syscall(SYS_LSTAT, path, out);
}
GP_SAME(lstat64, lstat);

GP_HIDDEN int fstat(int fd, void *out)
{
	return (int)syscall(SYS_FSTAT, fd, out);
}
GP_SAME(fstat64, fstat);

GP_HIDDEN int fstatat(int dir, const char *path, void *out, int flags)
{
	return (int)syscall(SYS_NEWFSTATAT, dir, path, out, flags);
}
GP_SAME(fstatat64, fstatat);

/* ---- 2.30 ---- */

GP_HIDDEN int gettid(void)
{
	return (int)syscall(SYS_GETTID);
}

GP_HIDDEN int tgkill(int process, int thread, int signal)
{
	return (int)syscall(SYS_TGKILL, process, thread, signal);
}

GP_HIDDEN long getdents64(int fd, void *out, size_t size)
{
	return syscall(SYS_GETDENTS64, fd, out, size);
}

/* ---- 2.34 ---- */

GP_HIDDEN int close_range(unsigned first, unsigned last, int flags)
{
	return (int)syscall(SYS_CLOSE_RANGE, first, last, flags);
}

/* ---- 2.38: C23's binary literals, which nothing here reads ---- */

long strtol(const char *text, char **end, int base);
unsigned long strtoul(const char *text, char **end, int base);
int vsscanf(const char *text, const char *format, va_list arguments);

GP_HIDDEN long __isoc23_strtol(const char *text, char **end, int base)
{
	return strtol(text, end, base);
}
GP_SAME(__isoc23_strtoll, __isoc23_strtol);

GP_HIDDEN unsigned long __isoc23_strtoul(const char *text, char **end, int base)
{
	return strtoul(text, end, base);
}
GP_SAME(__isoc23_strtoull, __isoc23_strtoul);

GP_HIDDEN int __isoc23_sscanf(const char *text, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	int count = vsscanf(text, format, arguments);
	va_end(arguments);
	return count;
}
