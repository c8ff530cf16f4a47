# SPDX-License-Identifier: MIT
# The front door. Meson and Ninja do the work in build/; programs land in build/bin, libraries in
# build/lib, both runnable from there.
#
# make install PREFIX=/opt/gpreempt     programs, libraries and manual pages there (/usr/local)
#              SYSCONFDIR=/etc          gpreemptd.conf in its gpreempt/ (/etc below /usr, otherwise PREFIX/etc)
#              DESTDIR=/tmp/package     installs into this tree, for packages
# make uninstall, with the same three, removes it; an edited gpreemptd.conf stays.
PREFIX ?= /usr/local
SYSCONFDIR ?= $(if $(filter /usr /usr/local,$(PREFIX)),/etc,$(PREFIX)/etc)
export DESTDIR

.PHONY: all examples demo tour roadmap test bench soak kernel-test service-test rocm-test install uninstall coverage format clean

all: build/build.ninja
	@scripts/build build

build/build.ninja:
	@scripts/deps build
	@scripts/deps --try kernels
	@scripts/configure build --prefix=$(PREFIX) --sysconfdir=$(SYSCONFDIR) -Dtests=false

tour: all
	@scripts/tour

# The examples are HIP programs: they need the packages of the tests, which an earlier `make` may not have found.
examples:
	@scripts/deps build test
	@$(MAKE) -s build/build.ninja
	@scripts/configure build
	@scripts/build build

demo: examples
	@scripts/demo

test:
	@scripts/deps build test
	@scripts/deps --try kernels
	@scripts/test

bench:
	@scripts/deps build bench
	@$(MAKE) --no-print-directory all
	@bench/run

soak:
	@scripts/deps build test
	@scripts/soak

# The real amdkfd on a fake GPU, in QEMU: kernel/testbed/README.md.
KERNEL ?= 6.12
kernel-test:
	@kernel/testbed/run $(KERNEL)

# gpreemptd as a systemd service, in a container that boots systemd. Needs root.
service-test:
	@scripts/deps build test service
	@CC=gcc scripts/configure build -Dtests=true
	@scripts/build build
	@tests/daemon/service/run build

# ROCm 6.4 and 7.2 of Debian sid on the virtual GPU, in chroots that stay in /var/cache/gpreempt (GP_ROCM_CACHE).
# ROCM=7.2 runs one version; KFDTEST=PROGRAM adds a kfdtest that you built.
rocm-test: export KFDTEST := $(KFDTEST)
rocm-test:
	@scripts/deps build rocm
	@$(MAKE) --no-print-directory all
	@scripts/rocm-test $(ROCM)

roadmap: examples
	@scripts/roadmap

coverage:
	@scripts/deps build test
	@scripts/coverage

install: all
	@scripts/install build $(PREFIX) $(SYSCONFDIR)

uninstall:
	@scripts/install --uninstall build $(PREFIX) $(SYSCONFDIR)

format:
	@scripts/files c h | xargs clang-format -i

clean:
	rm -rf build
