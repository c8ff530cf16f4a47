/* SPDX-License-Identifier: MIT */
/*
 * Where the sockets of gpreempt are: $GPREEMPT_DIR; else, on a virtual GPU, a directory of that
 * machine
 * ($GPREEMPT_VGPU/run: a holder of real GPUs knows nothing of it, nor the other way round); else
 * /run/gpreempt for root, $XDG_RUNTIME_DIR/gpreempt, or /tmp/gpreempt-UID. The directory is made
 * with mode 0700 (root's 0755) and must belong to the caller or to root and not be writable by
 * other users (a root program ignores $GPREEMPT_DIR of a directory that is not root's). It can be
 * bind-mounted into containers.
 *
 * A daemon that runs as root serves all users: agents/ in its directory is then like /tmp, writable
 * for all, and programs of all users have the daemon's and the agents' files there (by default
 * where that is /run/gpreempt, while that daemon runs and the user does not run another). The files
 * of the holder stay in each user's directory.
 */
#ifndef GP_PROTO_DIRECTORY_H
#define GP_PROTO_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>

/* Path of a file in the directory ("holder.sock", "agents"), which is made when `create` is set.
 * -ENAMETOOLONG, -EPERM when the directory is not safe, -ENOENT. */
int gp_proto_directory_path(char *out, size_t size, const char *name, int create);

/* Directory of a file, for messages: not checked, and not made. Returns `out`. */
const char *gp_proto_directory_name(char *out, size_t size, const char *name);

/* The path of agents/, which is there afterwards, as open as the directory it is in. With `serve`,
 * which the daemon sets, for all users where root lets all users into that one. */
int gp_proto_directory_agents(char *out, size_t size, bool serve);

/* Where else there may be agents of this user's: in its own directory, of before root's daemon
 * came, or in root's, of before it went. -ENOENT: nowhere. */
int gp_proto_directory_other_agents(char *out, size_t size);

/* For the owner of the socket in agents/ with this path: whether it must be opened anew, because
 * its name is gone (another file system is mounted over it) or because a daemon that serves this
 * user has started elsewhere. */
bool gp_proto_directory_misplaced(const char *socket);

/* Calls `found` for each agent's socket ("NAME.sock", shorter than GP_PROTO_NAME) in agents/, whose
 * path this is. -errno: it cannot be read. */
int gp_proto_directory_each_agent(const char *agents,
				  void (*found)(void *data, const char *agents, const char *name),
				  void *data);
/* Whether a file in agents/ is named as an agent's socket. */
bool gp_proto_directory_is_agent(const char *name);

/* Connected SOCK_SEQPACKET, or -errno. -EAGAIN: the process that listens does not take connections
 * (it is busy, stopped, hung, or means harm) and its queue is full. The first waits a few seconds
 * for it, the other not at all. */
int gp_proto_directory_connect(const char *name);
int gp_proto_directory_try_connect(const char *name);

/* The same for a path in a directory that other users may write to: the file must be a socket and
 * no link to one (-ENOTSOCK, -ELOOP), and belong to this user, to root, or, when we are root, to
 * any user (-EPERM). Does not wait. */
int gp_proto_directory_connect_owned(const char *path);
/* The user that owns the socket; the same errors, or 0. */
int gp_proto_directory_owner(const char *path, unsigned int *owner);

/* Calls `found` for the directory of every other user's holder that listens, and that user, if this
 * is root and neither $GPREEMPT_DIR nor a virtual GPU chooses one directory. Holders of virtual
 * GPUs are left out. */
void gp_proto_directory_each_holder(void (*found)(void *data, const char *directory,
						  unsigned int owner),
				    void *data);

/* For the process that serves the directory and has its lock file open: becomes readable when the
 * directory may be gone (an inotify descriptor; -errno). */
int gp_proto_directory_watch(const char *lock);
/* Then: whether the lock's path names another file than ours, or none. Takes what can be read. */
bool gp_proto_directory_lost(int watch, const char *lock, int lock_fd);

#endif
