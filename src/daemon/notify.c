// SPDX-License-Identifier: MIT
/*
 * The protocol of sd_notify(3): a datagram to the socket that $NOTIFY_SOCKET names. It is stable,
 * and so small that a dependency on libsystemd would only make old systems harder to build on.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/parse.h"
#include "daemon/answers.h"

void gp_daemon_notify(const char *text)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = path ? strlen(path) : 0;
	int fd;

	if (length < 2 || length >= sizeof(address.sun_path) || (*path != '/' && *path != '@'))
		return;
	memcpy(address.sun_path, path, length);
	if (*path == '@') /* an abstract name */
		address.sun_path[0] = 0;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	/* A manager that does not listen is not an error of the daemon. */
	sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&address,
	       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
	close(fd);
}

static bool number(const char *text, u64 *value)
{
	const char *end = text + strlen(text);

	return gp_parse_u64(&text, end, value) && text == end;
}

u64 gp_daemon_notify_watchdog_ns(void)
{
	const char *interval = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	u64 us, wanted;

	if (!interval || !number(interval, &us) || us > UINT64_MAX / 1000)
		return 0;
	if (pid && (!number(pid, &wanted) || wanted != (u64)getpid()))
		return 0;
	return us * 1000;
}
