// SPDX-License-Identifier: MIT
/*
 * What a call costs that `gpreempt run --ahead auto` stands in front of: bench/run starts this with
 * and without the library. Each call finds data, so that it does not wait; every one is an event.
 * Prints one figure per line, "NAME VALUE": ns per call in the fastest round.
 */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS    101
#define PER_ROUND 5000

static int event, epoll, pair[2];

static uint64_t now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (uint64_t)at.tv_sec * 1000000000 + (uint64_t)at.tv_nsec;
}

/* A semaphore: each read takes one of many. */
static long do_read(void)
{
	uint64_t number;

	return read(event, &number, sizeof(number));
}

static long do_recv(void)
{
	char byte;

	return recv(pair[0], &byte, 1, MSG_PEEK);
}

static long do_poll(void)
{
	struct pollfd ask = {.fd = pair[0], .events = POLLIN};

	return poll(&ask, 1, 0);
}

static long do_epoll(void)
{
	struct epoll_event found;

	return epoll_wait(epoll, &found, 1, 0);
}

static void measure(const char *name, long (*call)(void))
{
	double least = 0;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t begin = now();
		double ns;

		for (int j = 0; j < PER_ROUND; j++)
			if (call() <= 0)
				exit(1);
		ns = (double)(now() - begin) / PER_ROUND;
		least = !i || ns < least ? ns : least;
	}
	printf("%s %.1f\n", name, least);
}

int main(void)
{
	struct epoll_event wanted = {.events = EPOLLIN};

	event = eventfd(ROUNDS * PER_ROUND, EFD_SEMAPHORE);
	epoll = epoll_create1(0);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || write(pair[1], "x", 1) != 1 ||
	    epoll_ctl(epoll, EPOLL_CTL_ADD, pair[0], &wanted))
		return 1;
	measure("read", do_read);
	measure("recv", do_recv);
	measure("poll", do_poll);
	measure("epoll_wait", do_epoll);
	return 0;
}
