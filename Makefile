# SPDX-License-Identifier: MIT
# The front door. Meson and Ninja do the work in build/; programs land in build/bin, libraries in
# build/lib, both runnable from there.
#
# make install PREFIX=/opt/gpreempt     programs, libraries and manual pages there (/usr/local)
#              SYSCONFDIR=/etc          gpreemptd.conf in its gpreempt/ (/etc below /usr, otherwise PREFIX/etc)
#              DESTDIR=/tmp/package     installs into this tree, for packages
#              LIBDIR=lib64             libgpreempt there, below PREFIX (below /usr as the system has it, otherwise lib)
# make uninstall, with the same four, removes it; an edited gpreemptd.conf stays.
PREFIX ?= /usr/local
SYSCONFDIR ?= $(if $(filter /usr /usr/local,$(PREFIX)),/etc,$(PREFIX)/etc)
LIBDIR ?= $(if $(filter /usr,$(PREFIX)),$(shell scripts/libdir),lib)
export DESTDIR

.PHONY: all examples pictures demo tour roadmap test portable bench soak kernel-test service-test slurm-test rocm-test deb rpm package-test install uninstall coverage format clean

# A package that was installed or updated since then, such as libslurm-dev, counts; not for root in the directory of a user.
all: build/build.ninja build/kernels-tried
	@[ ! -O build ] || scripts/configure --known build
	@scripts/build build

build/build.ninja:
	@scripts/deps build
	@scripts/configure build --prefix=$(PREFIX) --sysconfdir=$(SYSCONFDIR) --libdir=$(LIBDIR) -Dtests=false

# Compiler for the kernels of gpreempt selftest, which works without them.
build/kernels-tried: | build/build.ninja
	@scripts/deps --try kernels
	@scripts/configure build
	@touch $@

tour: all
	@scripts/tour

# The examples are HIP programs: they need packages of ROCm, which an earlier `make` may not have found. `make demo` installs nothing
# else; GP_YES=1 answers the question before that.
examples:
	@scripts/deps build demo
	@$(MAKE) -s build/build.ninja
	@scripts/configure build
	@scripts/build build

demo: examples
	@scripts/demo

test:
	@scripts/deps build test
	@scripts/deps --try kernels
	@scripts/test

# A directory that runs on any x86-64 Linux with glibc 2.28 or later: build/gpreempt-VERSION-x86_64.tar.gz.
portable:
	@scripts/deps build
	@scripts/deps --try kernels
	@scripts/portable/make

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

# A cluster of Slurm on this host with virtual GPUs. Needs root.
slurm-test:
	@scripts/deps build test slurm
	@CC=gcc scripts/configure build -Dtests=true
	@scripts/build build slurm-test
	@scripts/run-suite build slurm slurm_settings slurm_connection slurm_trust slurm_task slurm_spank

# ROCm 6.4 and 7.2 of Debian sid on the virtual GPU, in chroots that stay in /var/cache/gpreempt (GP_ROCM_CACHE).
# ROCM=7.2 runs one version; KFDTEST=PROGRAM adds a kfdtest that you built.
rocm-test: export KFDTEST := $(KFDTEST)
rocm-test:
	@scripts/deps build rocm
	@$(MAKE) --no-print-directory all
	@scripts/rocm-test $(ROCM)

# Debian packages, in build/deb; an RPM from packaging/gpreempt.spec, in build/rpm.
deb:
	@scripts/deps build deb
	@scripts/deb build/deb

rpm:
	@scripts/deps build rpm
	@scripts/rpm build/rpm

# Builds the packages in a clean Debian 12, and installs, upgrades, removes and purges them there. Needs root; the chroot stays in
# /var/cache/gpreempt (GP_PACKAGE_CACHE).
package-test:
	@scripts/deps package
	@scripts/package-test

roadmap: examples
	@scripts/roadmap

# The pictures and captures in the documentation. Needs tmux and chromium.
pictures:
	@CC=gcc scripts/configure build -Dtests=true
	@scripts/build build
	@scripts/pictures
	@scripts/screens top
	@scripts/screens pictures

coverage:
	@scripts/deps build test
	@scripts/coverage

install: all
	@scripts/install build $(PREFIX) $(SYSCONFDIR) $(LIBDIR)

uninstall:
	@scripts/install --uninstall build $(PREFIX) $(SYSCONFDIR) $(LIBDIR)

format:
	@scripts/files c h | xargs clang-format -i

clean:
	rm -rf build
