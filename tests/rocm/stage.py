# SPDX-License-Identifier: MIT
"""The chroot as the suites see it: our build, test programs that were compiled in it, and commands with a time limit."""
import os
import pathlib
import re
import shlex
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
CHROOT = SOURCE / "tests" / "rocm" / "chroot"
PROGRAMS = SOURCE / "tests" / "vgpu" / "programs"
VERSIONS = ("6.4", "7.2")
CACHE = os.environ.get("GP_ROCM_CACHE", "/var/cache/gpreempt")
AGENT = {"hsa_stage": "hsa_stage.c", "libagent_tool.so": "tool.c", "static_program": "static_program.c"}  # what its tests start
ALONE = {"agent/libagent_tool.so": "-shared -fPIC", "agent/static_program": "-static"}  # without ROCm
LIBRARIES = "-lamdhip64 -lhiprtc -lhsa-runtime64 -pthread -lm -ldl"
EXAMPLES = ("gemm_mini", "case_a_cnn", "case_b_transformer", "offline_trainer", "online_server")
SKIPPED = 77  # exit status of a program that does not apply
COMPILE_LIMIT = 600
OUTPUT_LIMIT = 1 << 20


def root(version):
    """The directory of its chroot."""
    return pathlib.Path(CACHE, f"rocm-{version}")


def is_ready(version):
    """Whether its chroot is complete."""
    return subprocess.run([str(CHROOT), "ready", version], check=False).returncode == 0


class Stage:
    """One version of ROCm. `build` is seen as /gp, with programs and examples of this ROCm, and the source as /src."""

    def __init__(self, version, build):
        self.version, self.build = version, build
        self.out = build / "rocm" / version
        for name in ("programs", "examples", "agent", "logs"):
            (self.out / name).mkdir(parents=True, exist_ok=True)

    def command(self, command, env=(), binds=()):
        """The words that run `command` in the chroot. binds: directories and the paths where it sees them."""
        binds = [*binds, (SOURCE, "/src"), (self.build, "/gp"), (self.out, "/out"), (self.out / "programs", "/gp/tests/vgpu/programs"),
                 (self.out / "examples", "/gp/examples"), (self.out / "agent", "/gp/tests/agent")]
        words = [str(CHROOT), "enter", self.version]
        for directory, path in binds:
            words += ["--bind", str(directory), path]
        return [*words, "--", "env", "GP_BIN=/gp/bin", "GP_FIXTURES=/src/tests/fixtures", "PYTHONDONTWRITEBYTECODE=1", *env, *command]

    def run(self, name, words, limit):
        """Exit status (None: it did not end in time) and output, which also goes to a log."""
        try:
            done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  timeout=limit, check=False)
            status, output = done.returncode, done.stdout
        except subprocess.TimeoutExpired as late:
            status, output = None, late.stdout or b""
        text = output[-OUTPUT_LIMIT:].decode(errors="replace")
        log = self.out / "logs" / f"{re.sub(r'[^A-Za-z0-9_.-]+', '-', name)}.log"
        log.write_text(f"$ {shlex.join(words)}\n{text}\nstatus: {status}\n")
        return status, text

    def programs(self):
        """The test programs of the repository, but for those that are not made to run alone."""
        return sorted(path.stem for path in PROGRAMS.glob("h*_*.c")
                      if path.stem not in ("hsa_storm", "hsa_rate", "hip_idle", "hip_logged"))

    def compile(self):
        """Compiles test programs and examples with the HIP and the ROCr of the chroot. Returns (name, error) for each."""
        sources = {f"programs/{path.stem}": [f"/src/tests/vgpu/programs/{path.name}"]
                   for path in sorted(PROGRAMS.glob("*.c"))}
        common = [f"/src/examples/{name}.c" for name in ("example", "learn", "networks", "spin")]
        sources.update({f"examples/{name}": [f"/src/examples/{name}.c", *common] for name in EXAMPLES})
        sources.update({f"agent/{name}": [f"/src/tests/agent/{source}"] for name, source in AGENT.items()})
        script = ["cd /out"]
        newest = self.newest_source()
        for name, files in sources.items():
            if (self.out / name).exists() and (self.out / name).stat().st_mtime > newest:
                continue
            script.append(f"gcc -std=gnu17 -O1 -w -D_GNU_SOURCE -D__HIP_PLATFORM_AMD__ -I/src/src -o {name}.new {' '.join(files)} "
                          f"{ALONE.get(name, LIBRARIES)} > {name}.errors 2>&1 && mv {name}.new {name} "
                          f"&& rm {name}.errors || rm -f {name}")
        if len(script) > 1:
            self.run("compile", self.command(["sh", "-c", "\n".join(script)]), COMPILE_LIMIT)
        return [(name, self.first_error(name)) for name in sources]

    def newest_source(self):
        """When the last of what the programs are made of was changed; the chroot is one of them."""
        places = ("tests/vgpu/programs", "tests/agent", "examples", "src/abi", "src/base")
        files = [path for place in places for path in (SOURCE / place).glob("*.[ch]")]
        files.append(root(self.version) / "ready")
        return max(path.stat().st_mtime for path in files)

    def first_error(self, name):
        errors = self.out / f"{name}.errors"
        if not errors.exists():
            return None if (self.out / name).exists() else "not compiled"
        lines = [line for line in errors.read_text(errors="replace").splitlines() if "error" in line]
        return (lines or ["not compiled"])[0][:200]


class View:
    """A stage for one suite, or for a part of it: also knows which tests are its own, why one is not to be run, whether its kernels are
    executed, how many of its tests were suspended and resumed at random, and how often."""

    def __init__(self, stage, omitted, part=0, parts=1, executes=lambda test: False):
        self.stage, self.omitted, self.part, self.parts, self.executes = stage, omitted, part, parts, executes
        self.suspended = self.suspensions = 0

    def share(self, things):
        """Those of this part."""
        return list(things)[self.part::self.parts]

    def machine(self, personality, test=""):
        return ["/gp/bin/gpreempt", "vgpu", "--personality", personality, "--compute", "on" if self.executes(test) else "off"]

    def vgpu(self, personality, command, options=(), env=(), test=""):
        return self.stage.command([*self.machine(personality, test), *options, "--", *command], env)

    def run(self, name, words, limit):
        return self.stage.run(self.label(name), words, limit)

    def label(self, name):
        """Of a log: one for each part."""
        return f"{name}-{self.part + 1}" if self.parts > 1 else name

    def __getattr__(self, name):
        return getattr(self.stage, name)
