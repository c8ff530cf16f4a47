// SPDX-License-Identifier: MIT
/* Another library in LD_PRELOAD: it counts read() and says how many at the end, on descriptor 3. */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

static int count;

ssize_t read(int fd, void *buffer, size_t size)
{
	ssize_t (*next)(int, void *, size_t);

	*(void **)&next = dlsym(RTLD_NEXT, "read");
	count++;
	return next(fd, buffer, size);
}

__attribute__((destructor)) static void tell(void)
{
	dprintf(3, "%d\n", count);
}
