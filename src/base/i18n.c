// SPDX-License-Identifier: MIT
#include "base/i18n.h"

#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GP_DOMAIN "gpreempt"

static const char *wanted_locale(void)
{
	static const char *const names[] = {"LC_ALL", "LC_MESSAGES", "LANG"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return value;
	}
	return "";
}

/*
 * glibc ignores LANGUAGE in the "C" locale, so a user whose zh_CN.UTF-8 was never generated would
 * read English. C.UTF-8 always exists on glibc >= 2.35 and lets LANGUAGE through.
 */
static void set_locale(void)
{
	const char *wanted = wanted_locale();
	char language[32];
	size_t len = strcspn(wanted, ".@");

	if (setlocale(LC_ALL, "") || !*wanted || len >= sizeof(language))
		return;
	if (!setlocale(LC_ALL, "C.UTF-8"))
		return;
	memcpy(language, wanted, len);
	language[len] = '\0';
	setenv("LANGUAGE", language, 0);
}

static int bind_beside_program(void)
{
	/* Installed in bin, in libexec/gpreempt, then the build tree. */
	static const char *const places[] = {"share/locale", "../share/locale", "po"};
	char exe[PATH_MAX], dir[PATH_MAX], probe[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;

	if (len <= 0)
		return -1;
	exe[len] = '\0';
	for (int up = 0; up < 2; up++) {
		slash = strrchr(exe, '/');
		if (!slash)
			return -1;
		*slash = '\0';
	}
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (snprintf(dir, sizeof(dir), "%s/%s", exe, places[i]) >= (int)sizeof(dir) ||
		    snprintf(probe, sizeof(probe), "%s/zh_CN/LC_MESSAGES/" GP_DOMAIN ".mo", dir) >=
			    (int)sizeof(probe))
			continue;
		if (access(probe, R_OK) == 0) {
			bindtextdomain(GP_DOMAIN, dir);
			return 0;
		}
	}
	return -1;
}

void gp_i18n_init(void)
{
	set_locale();
	/* Numbers in output and JSON keep the C form whatever the language. */
	setlocale(LC_NUMERIC, "C");
	bind_beside_program();
	textdomain(GP_DOMAIN);
}
