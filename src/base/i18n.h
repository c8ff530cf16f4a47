/* SPDX-License-Identifier: MIT */
/*
 * Translation marks: _() translates now, N_() marks a string that is translated where it is
 * printed, C_() translates a word that has another meaning elsewhere. Catalogues are in po/.
 */
#ifndef GP_BASE_I18N_H
#define GP_BASE_I18N_H

#include <libintl.h>

#define _(text)           gettext(text)
#define N_(text)          (text)

#define C_(context, text) gp_i18n_in_context(context "\004" text, text)

static inline const char *gp_i18n_in_context(const char *key, const char *text)
{
	const char *found = gettext(key);

	return found == key ? text : found;
}

/*
 * Sets the locale and finds the catalogue beside the running program (installed or in a build
 * tree). Where the locale the user asked for is not generated, as in most containers, messages
 * are still shown in its language.
 */
void gp_i18n_init(void);

#endif
