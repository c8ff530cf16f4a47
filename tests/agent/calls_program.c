// SPDX-License-Identifier: MIT
/*
 * Does with libc's waiting and reading calls what programs do, and prints what it sees, a line
 * each: test_auto.py runs it with and without the agent, and the lines must be the same.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static int pair[2], epoll, listener, alarm_pipe[2];
static volatile int handled;

/* ---- calls that block, by number ---- */

enum {
	READ,
	READV,
	RECV,
	RECVFROM,
	RECVMSG,
	POLL,
	PPOLL,
	SELECT,
	PSELECT,
	EPOLL,
	EPWAIT,
	ACCEPT,
	ACCEPT4,
	CALLS
};
static const char *const names[] = {"read",        "readv",  "recv",   "recvfrom", "recvmsg",
				    "poll",        "ppoll",  "select", "pselect",  "epoll_wait",
				    "epoll_pwait", "accept", "accept4"};

static long call(int which)
{
	struct pollfd ask = {.fd = pair[0], .events = POLLIN};
	char buffer[16];
	struct iovec part[2] = {{buffer, 3}, {buffer + 8, 8}};
	struct msghdr message = {.msg_iov = part, .msg_iovlen = 2};
	struct epoll_event event;
	fd_set set;

	FD_ZERO(&set);
	FD_SET(pair[0], &set);
	switch (which) {
	case READ:
		return read(pair[0], buffer, sizeof(buffer));
	case READV:
		return readv(pair[0], part, 2);
	case RECV:
		return recv(pair[0], buffer, sizeof(buffer), 0);
	case RECVFROM:
		return recvfrom(pair[0], buffer, sizeof(buffer), 0, NULL, NULL);
	case RECVMSG:
		return recvmsg(pair[0], &message, 0);
	case POLL:
		return poll(&ask, 1, -1);
	case PPOLL:
		return ppoll(&ask, 1, NULL, NULL);
	case SELECT:
		return select(pair[0] + 1, &set, NULL, NULL, NULL);
	case PSELECT:
		return pselect(pair[0] + 1, &set, NULL, NULL, NULL, NULL);
	case EPOLL:
		return epoll_wait(epoll, &event, 1, -1);
	case EPWAIT:
		return epoll_pwait(epoll, &event, 1, -1, NULL);
	case ACCEPT:
		return accept(listener, NULL, NULL);
	default:
		return accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	}
}

static void empty(void)
{
	char rest[64];

	while (recv(pair[0], rest, sizeof(rest), MSG_DONTWAIT) > 0)
		;
}

static void join(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (getsockname(listener, (struct sockaddr *)&address, &length) ||
	    connect(fd, (struct sockaddr *)&address, length))
		exit(1);
	close(fd);
}

/* ---- what each does with data, and to errno ---- */

static void takes(int which)
{
	long got;

	if (which >= ACCEPT)
		join();
	else if (write(pair[1], "message", 7) != 7)
		exit(1);
	errno = 77;
	got = call(which);
	printf("%s takes %ld, errno %d\n", names[which], which >= ACCEPT ? got >= 0 : got, errno);
	if (which >= ACCEPT && got >= 0)
		close((int)got);
	empty();
}

static void show(const char *what, long result)
{
	int error = errno;

	printf("%s: %ld %d\n", what, result, error);
	errno = 0;
}

static void fails(void)
{
	char buffer[4];
	struct timeval none = {0};
	struct epoll_event event;

	errno = 0;
	show("bad descriptor", read(-1, buffer, 4));
	show("bad descriptor", recv(999, buffer, 4, 0));
	show("bad descriptor", accept(-1, NULL, NULL));
	show("bad descriptor", epoll_wait(-1, &event, 1, 0));
	show("empty", recv(pair[0], buffer, 4, MSG_DONTWAIT));
	show("nothing", poll(NULL, 0, 0));
	show("nothing", select(0, NULL, NULL, NULL, &none));
	show("nothing", read(pair[0], (void *)8, 0));
}

/* ---- signals ---- */

static volatile sig_atomic_t armed;

static void on_alarm(int number)
{
	char c;

	(void)number;
	/* What a handler does; once, however often the alarm comes on a busy host. */
	if (armed) {
		armed = 0;
		handled += read(alarm_pipe[0], &c, 1) == 1;
	}
}

static void later(int flags)
{
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = flags};
	/* It comes again, because it may come before the call waits. */
	struct itimerval soon = {.it_value = {.tv_usec = 20000}, .it_interval = {.tv_usec = 20000}};

	sigaction(SIGALRM, &action, NULL);
	if (write(alarm_pipe[1], "x", 1) != 1)
		exit(1);
	armed = 1;
	setitimer(ITIMER_REAL, &soon, NULL);
}

static void interrupted(int which)
{
	const struct itimerval never = {0};
	int error;
	long got;

	handled = 0;
	later(0);
	got = call(which);
	error = errno;
	setitimer(ITIMER_REAL, &never, NULL);
	printf("%s interrupted: %ld %d, handled %d\n", names[which], got, error, handled);
}

static void *send_when_handled(void *unused)
{
	while (!handled)
		usleep(1000);
	(void)unused;
	(void)!write(pair[1], "again", 5);
	return NULL;
}

static void restarted(void)
{
	const struct itimerval never = {0};
	pthread_t thread;
	sigset_t set;
	long got;

	handled = 0;
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_create(&thread, NULL, send_when_handled, NULL);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	later(SA_RESTART);
	got = call(READ);
	setitimer(ITIMER_REAL, &never, NULL);
	printf("read restarted: %ld\n", got);
	pthread_join(thread, NULL);
}

/* ---- cancellation ---- */

static int cleaned;

static void clean(void *unused)
{
	(void)unused;
	cleaned++;
}

static void *wait_forever(void *which)
{
	pthread_cleanup_push(clean, NULL);
	call((int)(long)which);
	pthread_cleanup_pop(0);
	return NULL;
}

static void cancelled(int which)
{
	pthread_t thread;
	void *result;

	cleaned = 0;
	pthread_create(&thread, NULL, wait_forever, (void *)(long)which);
	usleep(10000);
	pthread_cancel(thread);
	pthread_join(thread, &result);
	printf("%s cancelled: %d, cleaned %d\n", names[which], result == PTHREAD_CANCELED, cleaned);
}

/* With calls_late.c behind it, the thread is cancelled while read() returns: what was taken is the
 * program's, and the thread ends at the next cancellation point of its own. */
static void *take_many(void *taken)
{
	char c;

	for (int i = 0; i < 100; i++)
		*(int *)taken += read(pair[0], &c, 1) == 1;
	return NULL;
}

static void late(void)
{
	int taken = 0;
	pthread_t thread;

	for (int i = 0; i < 100; i++)
		(void)!write(pair[1], "x", 1);
	pthread_create(&thread, NULL, take_many, &taken);
	pthread_join(thread, NULL);
	printf("taken: %d\n", taken);
}

/* ---- processes ---- */

static void forks(void)
{
	int status = 0, ours = eventfd(3, EFD_CLOEXEC);
	unsigned long long number = 0;
	pid_t child = fork();

	if (child == 0) {
		long got;

		(void)!write(pair[1], "child", 5);
		got = call(RECV);
		_exit(got == 5 ? 42 : 1);
	}
	waitpid(child, &status, 0);
	printf("fork: %d\n", WEXITSTATUS(status));
	child = vfork();
	if (child == 0) {
		close(ours); /* the parent's stays open */
		_exit(43);
	}
	waitpid(child, &status, 0);
	printf("vfork: %d, %zd", WEXITSTATUS(status), read(ours, &number, 8));
	printf(" %llu\n", number);
	close(ours);
}

/* ---- details that pass through ---- */

static void details(void)
{
	struct timeval left = {.tv_sec = 5};
	struct pollfd many[400];
	struct sockaddr_in from;
	socklen_t length = sizeof(from);
	char control[64], buffer[4];
	struct iovec part = {buffer, sizeof(buffer)};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	fd_set set;
	int fd, ready;

	join();
	memset(&from, 0, sizeof(from));
	fd = accept(listener, (struct sockaddr *)&from, &length);
	printf("accept: %d bytes, family %d\n", (int)length, from.sin_family);
	close(fd);
	(void)!write(pair[1], "more than fits", 14);
	FD_ZERO(&set);
	FD_SET(pair[0], &set);
	ready = select(pair[0] + 1, &set, NULL, NULL, &left);
	printf("select: %d %d, time left %d\n", ready, FD_ISSET(pair[0], &set), left.tv_sec >= 3);
	for (int i = 0; i < 400; i++)
		many[i] = (struct pollfd){.fd = i < 399 ? -1 : pair[0], .events = POLLIN};
	ready = poll(many, 400, -1);
	printf("poll: %d %d\n", ready, many[399].revents);
	printf("recvmsg: %zd", recvmsg(pair[0], &message, 0));
	printf(", flags %d, control %zu\n", message.msg_flags, message.msg_controllen);
}

/* What a compiler calls for a size that it does not know; not every one does for every call. */
ssize_t __read_chk(int fd, void *buffer, size_t size, size_t room);

/* With a size that only the run knows, so that the checked function is called. */
static void fortified(int argc)
{
	char buffer[8];
	size_t size = (size_t)argc * 4;
	int status;

	(void)!write(pair[1], "checked", 7);
	printf("checked: %zd", read(pair[0], buffer, size));
	empty();
	(void)!write(pair[1], "checked", 7);
	printf(" %zd\n", recv(pair[0], buffer, size, 0));
	empty();
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		struct rlimit none = {0};

		setrlimit(RLIMIT_CORE, &none);
		close(2);
		(void)!__read_chk(pair[0], buffer, size * 1000, sizeof(buffer));
		_exit(0);
	}
	waitpid(child, &status, 0);
	printf("overflow: signal %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

static void symbols(void)
{
	void *self = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD), *found;

	found = dlsym(self, "cuNothing");
	printf("dlsym: %d %s\n", found == NULL, dlerror() ? "error" : "no error");
	found = dlsym(RTLD_DEFAULT, "cuNothing");
	printf("dlsym: %d %s\n", found == NULL, dlerror() ? "error" : "no error");
	printf("dlsym: %d\n", dlsym(self, "qsort") == dlsym(RTLD_NEXT, "qsort"));
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	struct epoll_event event = {.events = EPOLLIN};

	(void)argv;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	epoll = epoll_create1(0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) || pipe2(alarm_pipe, O_NONBLOCK) ||
	    bind(listener, (struct sockaddr *)&address, sizeof(address)) || listen(listener, 8) ||
	    epoll_ctl(epoll, EPOLL_CTL_ADD, pair[0], &event))
		return 1;
	if (argc > 1) {
		late();
		return 0;
	}
	for (int which = 0; which < CALLS; which++)
		for (int i = 0; i < 3; i++)
			takes(which);
	fails();
	for (int which = 0; which < CALLS; which++)
		interrupted(which);
	restarted();
	for (int which = 0; which < CALLS; which++)
		cancelled(which);
	forks();
	details();
	fortified(argc);
	symbols();
	return 0;
}
