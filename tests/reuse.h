/* SPDX-License-Identifier: MIT */
/*
 * A pid that is given to another process in the middle of a reading: one file of /proc/PID is a
 * pipe whose writer waits for the reader, replaces the process's stat and only then lets it go on.
 */
#ifndef GP_TEST_REUSE_H
#define GP_TEST_REUSE_H

#include <fcntl.h>
#include <pthread.h>

#include "tree.h"

#define REUSE_STAT "(x) S 1 2 3 0 -1 4 9 0 0 0 8 7 0 0 20 0 12 0 "

struct reuse {
	const struct tree *tree;
	const char *stat; /* path of the stat in the tree */
	char pipe[PATH_MAX];
	const char *text; /* what the reader of the pipe gets */
	pthread_t thread;
};

static inline void *reuse_run(void *ctx)
{
	struct reuse *reuse = ctx;
	int fd = open(reuse->pipe, O_WRONLY | O_CLOEXEC);

	if (fd >= 0) {
		tree_text(reuse->tree, reuse->stat, "9 " REUSE_STAT "200 1\n");
		if (write(fd, reuse->text, strlen(reuse->text)) < 0)
			perror(reuse->pipe);
		close(fd);
	}
	return NULL;
}

/* Reading `path` of the tree will give `text`, after the process of `stat` has become another. */
static inline void reuse_start(struct reuse *reuse, const struct tree *tree, const char *stat,
			       const char *path, const char *text)
{
	*reuse = (struct reuse){.tree = tree, .stat = stat, .text = text};
	tree_text(tree, stat, "9 " REUSE_STAT "100 1\n");
	tree_parents(tree, path);
	tree_path(tree, reuse->pipe, sizeof(reuse->pipe), path);
	assert_int_equal(mkfifo(reuse->pipe, 0644), 0);
	assert_int_equal(pthread_create(&reuse->thread, NULL, reuse_run, reuse), 0);
}

static inline void reuse_end(struct reuse *reuse)
{
	assert_int_equal(pthread_join(reuse->thread, NULL), 0);
}

#endif
