// SPDX-License-Identifier: MIT
/* The holder as a command sees it without the library: it is never started, only asked. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "cli/control/target_command.h"
#include "proto/directory.h"

/* Whether a process has the file open: the text of a lock file alone proves nothing, and the
 * kernel's list of locks names the process that took it, which was the holder's parent. */
static bool has_open(pid_t pid, const struct stat *file)
{
	struct gp_root live = {.dir = ""};
	struct gp_names names = {0};
	bool found = false;

	if (gp_root_list(&live, &names, "/proc/%d/fd", (int)pid) < 0)
		return false;
	for (size_t i = 0; i < names.count && !found; i++) {
		char path[64];
		struct stat one;

		snprintf(path, sizeof(path), "/proc/%d/fd/%.16s", (int)pid, names.items[i]);
		found = stat(path, &one) == 0 && one.st_dev == file->st_dev &&
			one.st_ino == file->st_ino;
	}
	gp_names_free(&names);
	return found;
}

static int path_of(const struct gp_cli_holder *holder, const char *name, char *out, size_t size)
{
	if (!holder->directory[0])
		return gp_proto_directory_path(out, size, name, 0);
	return (size_t)snprintf(out, size, "%s/%s", holder->directory, name) < size ? 0
										    : -ENAMETOOLONG;
}

static bool belongs_to(pid_t pid, uid_t uid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return stat(path, &st) == 0 && st.st_uid == uid;
}

pid_t gp_cli_holder_owner(const struct gp_cli_holder *holder)
{
	struct sockaddr_un address;
	struct gp_buf text = {0};
	struct stat file;
	pid_t pid = 0;

	/* Another user may have put anything there: a plain file, and a process of that user. */
	if (path_of(holder, "holder.lock", address.sun_path, sizeof(address.sun_path)) < 0 ||
	    lstat(address.sun_path, &file) < 0 || !S_ISREG(file.st_mode))
		return 0;
	if (gp_file_read(address.sun_path, 64, &text) == 0)
		pid = atoi(gp_buf_str(&text));
	gp_buf_free(&text);
	if (pid <= 1 || !has_open(pid, &file) ||
	    (holder->directory[0] && !belongs_to(pid, holder->uid)))
		return 0;
	return pid;
}

static int connect_socket(const struct gp_cli_holder *holder, int *out)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int error = path_of(holder, "holder.sock", address.sun_path, sizeof(address.sun_path));

	if (error)
		return error;
	if (holder->directory[0]) {
		*out = gp_proto_directory_connect_owned(address.sun_path);
		if (*out >= 0)
			return 0;
		return *out == -ECONNREFUSED ? -ENOENT : *out == -EAGAIN ? -ETIME : *out;
	}
	/* Never blocks: a hung holder may have a full backlog. */
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		error = -errno;
		close(fd);
		return error == -ECONNREFUSED ? -ENOENT : error == -EAGAIN ? -ETIME : error;
	}
	*out = fd;
	return 0;
}

int gp_cli_holder_check_directory(struct gp_diag *diag)
{
	const char *directory = getenv("GPREEMPT_DIR");

	if (!directory || !*directory || access(directory, X_OK) == 0)
		return 0;
	return gp_fail(diag, -errno,
		       "cannot look for suspensions in %s: %s; GPREEMPT_DIR must name a directory "
		       "that you may enter, or be unset",
		       directory, strerror(errno));
}

int gp_cli_holder_connect(struct gp_cli_holder *holder, int timeout_ms)
{
	struct gp_proto_msg_hello hello = {.pid = (u32)getpid(), .name = "gpreempt"};
	pid_t peer;
	uid_t uid;

	holder->socket = -1;
	holder->pid = 0;
	int error = connect_socket(holder, &holder->socket);
	if (error == -ENOENT)
		return error;
	/* Not the socket's peer: that is who called listen(), a parent that may have ended since.
	 */
	holder->pid = gp_cli_holder_owner(holder);
	if (error)
		return error;
	error = gp_wire_peer(holder->socket, &peer, &uid);
	if (!error && (holder->directory[0] ? uid != holder->uid : !gp_wire_peer_allowed(uid)))
		error = -EPERM;
	if (!error)
		error = gp_wire_call(holder->socket, GP_MSG_HELLO, 1, &hello, sizeof(hello), -1,
				     &holder->message, timeout_ms, NULL, NULL);
	/* One that ends now holds nothing any more. */
	return error == -ECONNRESET || error == -EPIPE ? -ENOENT : error < 0 ? error : 0;
}

struct others {
	struct gp_cli_holder *room;
	int (*visit)(void *data, struct gp_cli_holder *holder);
	void *data;
	uid_t *seen;
	size_t count, capacity;
	int result;
};

static void visit_other(void *data, const char *directory, unsigned int owner)
{
	struct others *others = data;

	for (size_t i = 0; i < others->count; i++)
		if (others->seen[i] == owner)
			return;
	if (others->result || gp_array_grow((void **)&others->seen, others->count,
					    &others->capacity, sizeof(*others->seen)))
		return;
	others->seen[others->count++] = owner;
	snprintf(others->room->directory, sizeof(others->room->directory), "%s", directory);
	others->room->uid = owner;
	others->room->socket = -1;
	others->result = others->visit(others->data, others->room);
	gp_cli_holder_close(others->room);
}

int gp_cli_holder_each_other(struct gp_cli_holder *room,
			     int (*visit)(void *data, struct gp_cli_holder *holder), void *data)
{
	struct others others = {.room = room, .visit = visit, .data = data};

	gp_proto_directory_each_holder(visit_other, &others);
	free(others.seen);
	return others.result;
}

void gp_cli_holder_close(struct gp_cli_holder *holder)
{
	if (holder->socket >= 0)
		close(holder->socket);
	holder->socket = -1;
}

int gp_cli_holder_ask(struct gp_cli_holder *holder, u16 type, u32 value, int timeout_ms)
{
	struct gp_proto_msg_target body = {.target = value};

	return gp_wire_call(holder->socket, type, 2, &body, sizeof(body), -1, &holder->message,
			    timeout_ms, NULL, NULL);
}

void gp_cli_holder_text(const struct gp_cli_holder *holder, char *out, size_t size)
{
	const struct gp_proto_reasons *why = gp_wire_why(&holder->message);

	*out = '\0';
	if (why)
		gp_proto_reasons_text(why, out, size);
}

int gp_cli_holder_holds(struct gp_cli_holder *holder, struct gp_cli_holds *holds, int timeout_ms)
{
	const struct gp_proto_msg_holds *page = (const void *)holder->message.body;
	u32 first = 0;
	int total;

	*holds = (struct gp_cli_holds){0};
	do {
		total = gp_cli_holder_ask(holder, GP_MSG_HOLDS, first, timeout_ms);
		if (total < 0)
			break;
		if (holder->message.header.size < sizeof(struct gp_proto_msg) + sizeof(*page) ||
		    !gp_wire_fits(&holder->message, sizeof(*page), page->count,
				  sizeof(page->holds[0])))
			total = -EPROTO;
		for (u32 i = 0; total >= 0 && i < page->count; i++) {
			if (gp_array_grow((void **)&holds->items, holds->count, &holds->capacity,
					  sizeof(*holds->items)))
				total = -ENOMEM;
			else
				holds->items[holds->count++] = page->holds[i];
		}
		first += page->count;
	} while (total >= 0 && page->count && (u32)total > first);
	if (total >= 0)
		return 0;
	free(holds->items);
	*holds = (struct gp_cli_holds){0};
	return total;
}
