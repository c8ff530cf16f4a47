/* SPDX-License-Identifier: MIT */
/*
 * A small file tree that a test makes for itself, for what a committed one cannot hold: empty
 * directories, unreadable and oversized files, things that change. Removed with tree_remove().
 */
#ifndef GP_TREE_H
#define GP_TREE_H

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testlib.h"

struct tree {
	char dir[64];
	struct gp_root root;
};

static inline void tree_make(struct tree *tree)
{
	assert_non_null(place_make(tree->dir, sizeof(tree->dir)));
	tree->root.dir = tree->dir;
}

static inline void tree_path(const struct tree *tree, char *out, size_t size, const char *path)
{
	assert_int_equal(gp_root_path(&tree->root, out, size, "%s", path), 0);
}

/* Creates a directory and all above it. */
static inline void tree_dir(const struct tree *tree, const char *path)
{
	char full[PATH_MAX];

	tree_path(tree, full, sizeof(full), path);
	for (char *p = full + strlen(tree->dir) + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		mkdir(full, 0755);
		*p = '/';
	}
	mkdir(full, 0755);
}

static inline void tree_parents(const struct tree *tree, const char *path)
{
	char parent[512];

	snprintf(parent, sizeof(parent), "%s", path);
	*strrchr(parent, '/') = '\0';
	tree_dir(tree, parent);
}

static inline void tree_write(const struct tree *tree, const char *path, const void *data,
			      size_t len)
{
	char full[PATH_MAX];
	FILE *file;

	tree_parents(tree, path);
	tree_path(tree, full, sizeof(full), path);
	file = fopen(full, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
}

static inline void tree_text(const struct tree *tree, const char *path, const char *text)
{
	tree_write(tree, path, text, strlen(text));
}

static inline void tree_link(const struct tree *tree, const char *path, const char *target)
{
	char full[PATH_MAX];

	tree_parents(tree, path);
	tree_path(tree, full, sizeof(full), path);
	unlink(full);
	assert_int_equal(symlink(target, full), 0);
}

static inline void tree_remove(const struct tree *tree)
{
	assert_int_equal(place_remove(tree->dir), 0);
}

#endif
