/* SPDX-License-Identifier: MIT */
/*
 * Included before every file of the agent: functions that got a new symbol version when glibc moved
 * them are bound to their old one, so that a library built here loads in distributions down to
 * glibc 2.28 (tests/agent checks the versions it asks for).
 */
#ifndef GP_AGENT_OLD_GLIBC_H
#define GP_AGENT_OLD_GLIBC_H

#ifndef __ASSEMBLER__
#if defined(__x86_64__) && defined(__GLIBC__) || defined(__x86_64__) && defined(__linux__)
#define GP_OLD(name) __asm__(".symver " #name "," #name "@GLIBC_2.2.5")
GP_OLD(dlsym); /* 2.34: moved from libdl */
GP_OLD(dlopen);
GP_OLD(dladdr);
GP_OLD(dlvsym);
GP_OLD(pthread_create); /* 2.34: moved from libpthread */
GP_OLD(pthread_attr_setstacksize);
__asm__(".symver dlmopen,dlmopen@GLIBC_2.3.4");
#endif

/* 2.33 made real functions of what were wrappers around __lxstat() and friends. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline int gp_old_lstat(const char *path, struct stat *out)
{
	return (int)syscall(SYS_newfstatat, AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW);
}
#define lstat gp_old_lstat

static inline int gp_old_fstat(int fd, struct stat *out)
{
	return (int)syscall(SYS_fstat, fd, out);
}
#define fstat gp_old_fstat

#endif /* __ASSEMBLER__ */

#endif
