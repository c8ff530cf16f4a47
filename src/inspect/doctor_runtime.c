// SPDX-License-Identifier: MIT
/* doctor: which ROCr (libhsa-runtime64) would a program here load, and how old is it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "inspect/doctor.h"

#define GP_ROCR       "libhsa-runtime64.so.1"
#define GP_DPKG       "/var/lib/dpkg/status"
#define GP_DPKG_LIMIT (64u << 20)
#define GP_DPKG_ROCR  "\nPackage: libhsa-runtime64-1\n"

static bool same_path(const struct gp_inspect_doctor *d, const char *path)
{
	for (size_t i = 0; i < d->runtime_count; i++) {
		if (strcmp(d->runtimes[i].path, path) == 0)
			return true;
	}
	return false;
}

/* "6.2.0" from "libhsa-runtime64.so.1.14.60200": AMD's builds put it last as major*10000 + ... */
static void version_of_name(const char *name, char *out, size_t size)
{
	const char *dot = strrchr(name, '.');
	u64 number;

	if (dot && gp_argument_u64(dot + 1, &number) && number >= 10000 && number < 1000000)
		snprintf(out, size, "%u.%u.%u", (u32)number / 10000, (u32)number / 100 % 100,
			 (u32)number % 100);
}

/* "6.2.0-66" in DIR/../.info/version, for libraries below /opt/rocm*. */
static void version_of_info(const struct gp_root *root, const char *dir, char *out, size_t size)
{
	struct gp_buf text = {0};

	if (gp_root_read(root, 4096, &text, "%s/../.info/version", dir) == 0) {
		size_t len = strspn(gp_buf_str(&text), "0123456789.");

		if (len && len < size)
			snprintf(out, size, "%.*s", (int)len, gp_buf_str(&text));
	}
	gp_buf_free(&text);
}

/* The version of Debian's package, whose library does not carry ROCm's. */
static void version_of_package(const struct gp_root *root, char *out, size_t size)
{
	struct gp_buf text = {0};
	const char *package, *end, *version;

	if (gp_root_read(root, GP_DPKG_LIMIT, &text, GP_DPKG) == 0 &&
	    (package = strstr(gp_buf_str(&text), GP_DPKG_ROCR))) {
		end = strstr(package + 1, "\n\n");
		version = strstr(package + 1, "\nVersion: ");
		if (version && (!end || version < end)) {
			size_t len;

			version += strlen("\nVersion: ");
			len = strspn(version, "0123456789.");
			if (len && len < size)
				snprintf(out, size, "%.*s", (int)len, version);
		}
	}
	gp_buf_free(&text);
}

static void try_directory(const struct gp_root *root, struct gp_inspect_doctor *d, const char *dir,
			  bool packaged)
{
	struct gp_inspect_runtime_library library = {0};
	char target[256];

	if (d->runtime_count == GP_RUNTIMES_MAX ||
	    (size_t)snprintf(library.path, sizeof(library.path), "%s/" GP_ROCR, dir) >=
		    sizeof(library.path) ||
	    same_path(d, library.path) || !gp_root_exists(root, "%s", library.path))
		return;
	if (gp_root_readlink(root, target, sizeof(target), "%s", library.path) == 0)
		version_of_name(target, library.version, sizeof(library.version));
	if (!library.version[0])
		version_of_info(root, dir, library.version, sizeof(library.version));
	if (!library.version[0] && packaged)
		version_of_package(root, library.version, sizeof(library.version));
	d->runtimes[d->runtime_count++] = library;
}

static void try_library_path(const struct gp_root *root, struct gp_inspect_doctor *d)
{
	const char *path = d->live ? getenv("LD_LIBRARY_PATH") : NULL;

	while (path && *path) {
		size_t len = strcspn(path, ":");
		char dir[256];

		if (len && len < sizeof(dir)) {
			memcpy(dir, path, len);
			dir[len] = '\0';
			try_directory(root, d, dir, false);
		}
		path += len + (path[len] == ':');
	}
}

/* /opt/rocm is usually a link to one of /opt/rocm-*: list that one once, by its real name. */
static void try_opt(const struct gp_root *root, struct gp_inspect_doctor *d)
{
	struct gp_names names;

	if (gp_root_list(root, &names, "/opt"))
		return;
	for (size_t i = names.count; i-- > 0;) {
		char link[256], dir[256];

		if (strncmp(names.items[i], "rocm", 4) ||
		    gp_root_readlink(root, link, sizeof(link), "/opt/%s", names.items[i]) == 0)
			continue;
		if ((size_t)snprintf(dir, sizeof(dir), "/opt/%s/lib", names.items[i]) < sizeof(dir))
			try_directory(root, d, dir, false);
	}
	gp_names_free(&names);
}

void gp_inspect_doctor_runtimes(const struct gp_root *root, struct gp_inspect_doctor *d)
{
	static const char *const places[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib",
					     "/usr/local/lib"};
	const char *p, *end;

	try_library_path(root, d);
	try_opt(root, d);
	for (size_t i = 0; i < GP_ARRAY_SIZE(places); i++)
		try_directory(root, d, places[i], true);
	if (d->runtime_count == 0)
		return;
	p = d->runtimes[0].version;
	end = p + strlen(p);
	if (gp_parse_u32(&p, end, &d->rocr_major) && GP_PARSE_LITERAL(&p, end, ".") &&
	    gp_parse_u32(&p, end, &d->rocr_minor)) {
		if (GP_PARSE_LITERAL(&p, end, "."))
			gp_parse_u32(&p, end, &d->rocr_patch);
		d->valid |= GP_DOCTOR_ROCR_VERSION;
	}
}
