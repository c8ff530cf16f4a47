// SPDX-License-Identifier: MIT
/* Another library in LD_PRELOAD: its read() takes the data, and the thread is cancelled just then.
 */
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

ssize_t read(int fd, void *buffer, size_t size)
{
	ssize_t got = syscall(SYS_read, fd, buffer, size); /* not a cancellation point */

	if (got > 0)
		pthread_cancel(pthread_self());
	return got;
}
