// SPDX-License-Identifier: MIT
/* Programs about to be run: see program.h. */
#include "base/host/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/types.h"

#define SCRIPT_DEPTH 4
#define PHDRS_MAX    128
#define LEVELS_UP    3

int gp_program_find(const char *name, char *path, size_t size)
{
	const char *directories = getenv("PATH");
	int error = -ENOENT;

	if (!*name)
		return -ENOENT;
	if (strchr(name, '/'))
		return snprintf(path, size, "%s", name) < (int)size ? 0 : -ENAMETOOLONG;
	if (!directories)
		directories = "/bin:/usr/bin";
	for (const char *p = directories;; p++) {
		size_t length = strcspn(p, ":");
		struct stat status;

		if (snprintf(path, size, "%.*s%s%s", (int)length, p, length ? "/" : "", name) <
			    (int)size &&
		    stat(path, &status) == 0 && S_ISREG(status.st_mode)) {
			if (access(path, X_OK) == 0)
				return 0;
			error = -EACCES;
		}
		p += length;
		if (!*p)
			return error;
	}
}

static bool gains_rights(const char *path, const struct stat *status)
{
	if (status->st_mode & S_ISUID && status->st_uid != getuid())
		return true;
	if (status->st_mode & S_ISGID && status->st_mode & S_IXGRP && status->st_gid != getgid())
		return true;
	return getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

static enum gp_program_kind elf_kind(int fd, const Elf64_Ehdr *header)
{
	if (header->e_ident[EI_CLASS] != ELFCLASS64)
		return GP_PROGRAM_NOT_64;
	for (u32 i = 0; i < header->e_phnum && i < PHDRS_MAX; i++) {
		Elf64_Phdr segment;

		if (pread(fd, &segment, sizeof(segment),
			  (off_t)(header->e_phoff + (u64)i * header->e_phentsize)) !=
		    (ssize_t)sizeof(segment))
			break;
		if (segment.p_type == PT_INTERP)
			return GP_PROGRAM_OK;
	}
	return GP_PROGRAM_STATIC;
}

static int check(const char *path, int depth, enum gp_program_kind *kind, char *which, size_t size);

/* "#!/usr/bin/env python3": what counts is the interpreter. */
static int check_script(const char *text, size_t length, int depth, enum gp_program_kind *kind,
			char *which, size_t size)
{
	char interpreter[PATH_MAX];
	/* A carriage return is part of the name, as for the kernel. */
	size_t start = 2 + strspn(text + 2, " \t"), part = strcspn(text + start, " \t\n");

	if (start + part >= length || !part || part >= sizeof(interpreter) || !depth)
		return 0; /* the kernel will say */
	memcpy(interpreter, text + start, part);
	interpreter[part] = '\0';
	if (access(interpreter, F_OK) == 0 || errno != ENOENT)
		return check(interpreter, depth - 1, kind, which, size);
	*kind = GP_PROGRAM_NO_INTERPRETER;
	snprintf(which, size, "%s", interpreter);
	return 0;
}

static int check(const char *path, int depth, enum gp_program_kind *kind, char *which, size_t size)
{
	union {
		Elf64_Ehdr elf;
		char text[256];
	} start = {0};
	struct stat status;
	int fd, error = 0;
	ssize_t n;

	*kind = GP_PROGRAM_OK;
	snprintf(which, size, "%s", path);
	if (stat(path, &status))
		return -errno;
	if (!S_ISREG(status.st_mode) || access(path, X_OK))
		return -EACCES;
	if (gains_rights(path, &status)) {
		*kind = GP_PROGRAM_RIGHTS;
		return 0;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0; /* executable but not readable: nothing to check */
	n = pread(fd, &start, sizeof(start) - 1, 0);
	if (n >= (ssize_t)sizeof(start.elf) && memcmp(start.text, ELFMAG, SELFMAG) == 0)
		*kind = elf_kind(fd, &start.elf);
	else if (n > 2 && start.text[0] == '#' && start.text[1] == '!')
		error = check_script(start.text, (size_t)n, depth, kind, which, size);
	close(fd);
	return error;
}

int gp_program_check(const char *path, enum gp_program_kind *kind, char *which, size_t size)
{
	return check(path, SCRIPT_DEPTH, kind, which, size);
}

int gp_program_beside(const char *installed, const char *built, char *out, size_t size)
{
	const char *const places[] = {installed, built};
	char exe[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (length <= 0)
		return -ENOENT;
	exe[length] = '\0';
	/* From <prefix>/bin, <prefix>/libexec/gpreempt or <build>/bin. */
	for (int up = 0; up < LEVELS_UP; up++) {
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
