// SPDX-License-Identifier: MIT
/*
 * Loaded by LD_AUDIT: the run-time linker then keeps us, and a libc of our own, apart from the
 * program, and asks us about each symbol it binds. So this copy only stands at the runtime's
 * ioctl(); when KFD is first called it has a second copy loaded among the program's libraries, and
 * that one is the agent. Before glibc 2.35 the linker does not ask for libraries that are bound at
 * once (-z now).
 */
#include "agent/interpose.h"

#include <dlfcn.h>
#include <link.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>

typedef int ioctl_function(int fd, unsigned long request, ...);

static ioctl_function *original, *agents;
static int asked;

GP_AGENT_EXPORT unsigned int la_version(unsigned int version)
{
	return version < LAV_CURRENT ? version : LAV_CURRENT;
}

GP_AGENT_EXPORT unsigned int la_objopen(struct link_map *map, Lmid_t namespace_id,
					uintptr_t *cookie)
{
	(void)cookie;
	if (namespace_id != LM_ID_BASE)
		return 0;
	return LA_FLG_BINDTO |
	       (strstr(map->l_name, "libhsakmt") || strstr(map->l_name, "libhsa-runtime64")
			? LA_FLG_BINDFROM
			: 0);
}

static void load_agent(void)
{
	Dl_info self;
	void *copy;

	if (__atomic_exchange_n(&asked, 1, __ATOMIC_ACQ_REL) || !dladdr((void *)&asked, &self))
		return;
	copy = dlmopen(LM_ID_BASE, self.dli_fname, RTLD_NOW | RTLD_GLOBAL);
	if (copy)
		__atomic_store_n(&agents, (ioctl_function *)dlsym(copy, "ioctl"), __ATOMIC_RELEASE);
}

static int stand_in(int fd, unsigned long request, ...)
{
	ioctl_function *next;
	va_list list;
	void *argument;

	va_start(list, request);
	argument = va_arg(list, void *);
	va_end(list);
	if (_IOC_TYPE(request) == GP_KFD_IOC_TYPE)
		load_agent();
	next = __atomic_load_n(&agents, __ATOMIC_ACQUIRE);
	return (next ? next : original)(fd, request, argument);
}

GP_AGENT_EXPORT uintptr_t la_symbind64(ElfW(Sym) * symbol, unsigned int index, uintptr_t *from,
				       uintptr_t *to, unsigned int *flags, const char *name)
{
	(void)index, (void)from, (void)to;
	/* dlsym() asks too: also for what load_agent() looks up. */
	if (*flags & LA_SYMB_DLSYM || strcmp(name, "ioctl") != 0)
		return symbol->st_value;
	original = (ioctl_function *)symbol->st_value;
	return (uintptr_t)stand_in;
}
