# SPDX-License-Identifier: MIT
# Sourced by scripts that run a program in a container in which this checkout is not mounted: copies the scripts in, runs a
# command for a time, ends it, copies its files out and cleans up. Needs sh, env, grep and mktemp in the container, and docker
# or podman here. Every process of the command has the variable GPREEMPT_POC_RUN, by which it is found inside.
container= engine= inside= run_id=

# Selects the engine that has the container and copies the scripts in; fails with a message.
container_open() { # name, program for messages
	local candidate here
	here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
	for candidate in docker podman; do
		[[ -z $engine ]] && command -v "$candidate" > /dev/null &&
			"$candidate" container inspect "$1" > /dev/null 2>&1 && engine=$candidate
	done
	[[ -n $engine ]] || { echo "$2: no container '$1' in docker or podman" >&2; return 1; }
	container=$1 run_id=gpreempt-poc-$$-$RANDOM$RANDOM
	if ! inside=$("$engine" exec "$container" mktemp -d /tmp/gpreempt-poc.XXXXXX) || [[ -z $inside ]]; then
		inside=
		echo "$2: cannot create a directory in container '$1' (is it running?)" >&2
		return 1
	fi
	"$engine" exec "$container" mkdir "$inside/work" && "$engine" cp "$here/." "$container:$inside/" > /dev/null ||
		{ echo "$2: cannot copy the scripts into container '$1'" >&2; return 1; }
}

# The words that run a command inside, in a new directory, with the scripts in $GPREEMPT_POC_DIR.
container_words() { # command
	words=(env "GPREEMPT_POC_RUN=$run_id" "GPREEMPT_POC_DIR=$inside" sh -c "cd '$inside/work' && $1")
}

# Sends a signal to every process of the command; succeeds if there was one. The last one listed is the script that looks.
container_signal() { # signal
	"$engine" exec "$container" sh -c "found=1
		for environ in \$(grep -ls 'GPREEMPT_POC_RUN=$run_id' /proc/[0-9]*/environ); do
			pid=\${environ#/proc/} && kill -$1 \"\${pid%/environ}\" 2> /dev/null && found=0
		done; exit \$found" 2> /dev/null
}

# Ends what runs inside: TERM, and KILL for what is left after 10 s.
container_stop() {
	[[ -n $inside ]] && container_signal TERM || return 0
	for ((i = 0; i < 100; i++)); do
		container_signal 0 || return 0
		sleep 0.1
	done
	container_signal KILL || true
}

# Copies what the command wrote into its directory to a new directory here; nothing if it wrote nothing.
container_fetch() { # directory
	[[ -z $("$engine" exec "$container" ls -A "$inside/work") ]] && return
	mkdir -p "$1" && "$engine" cp "$container:$inside/work/." "$1/" > /dev/null
	"$engine" exec "$container" sh -c "rm -rf '$inside/work' && mkdir '$inside/work'"
}

container_close() {
	[[ -n $inside ]] || return 0
	container_stop
	"$engine" exec "$container" rm -rf "$inside" || true
	inside=
}
