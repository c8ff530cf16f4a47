# SPDX-License-Identifier: MIT
"""What runs on the virtual GPU with a newer ROCm. A suite is a generator of (test, result, reason).

Results: pass, fail, skip, crash, hang (the time limit), late (the run was out of time), absent (nothing to run).
"""
import itertools
import json
import os
import re
import shlex
import time

import gtest
from stage import AGENT, EXAMPLES, SKIPPED, SOURCE

ROCRTST = "/opt/libhsa-runtime64-tests/usr/libexec/rocm/libhsa-runtime64-tests"
TESTS = "/usr/libexec/rocm"
COMPUTE = os.environ.get("GP_ROCM_COMPUTE") == "on"  # kernels of all suites are executed
SUSPEND = os.environ.get("GP_ROCM_SUSPEND") == "on"  # all tests of AMD are suspended and resumed at random
SUSPENDER = ("python3", "/src/tests/rocm/suspended.py")
# RCCL refuses to start with firmware as old as that of the model unless the second is set.
RCCL_ENV = ("NCCL_SOCKET_IFNAME=lo", "HSA_NO_SCRATCH_RECLAIM=1")
# Each channel is a work-group that waits, and its buffers for each pair of GPUs take megabytes of host memory. Collectives of many
# megabytes, as in RCCL's own tests, need buffers of the usual size: with smaller ones the second half of 2 MiB does not arrive.
RCCL_FEW = ("NCCL_MAX_NCHANNELS=4",)
RCCL_SMALL = (*RCCL_FEW, "NCCL_BUFFSIZE=65536")

# Tests of kfdtest that look at what their shaders wrote: only tests that assemble a shader.
SHADERS = re.compile(
    r"(KFDMemoryTest\.(MapUnmapToNodes|MemoryRegister|FlatScratchAccess|HostHdpFlush|DeviceHdpFlush|VramCacheCoherenceWithRemoteGPU|"
    r"AcquireRelease.*|ExportDMABufTest)|KFDLocalMemoryTest\.(BasicTest|VerifyContentsAfterUnmapAndMap)|"
    r"KFDQMTest\.(SimpleWriteDispatch|MultipleCpQueuesStressDispatch|Atomics)|KFDGraphicsInterop\.RegisterGraphicsHandle|"
    r"KFDDBGTest\.HitMemoryViolation|KFDGWSTest\.Semaphore|KFDEvictTest\.QueueTest|"
    r"KFDSVMRangeTest\.(BasicSystemMemTest|EvictSystemRangeTest|PartialUnmapSysMemTest|BasicVramTest))(/.*)?")
# Tests whose kernels are executed: those that look at results. Others of rocrtst measure how many packets pass;
# these programs of rocPRIM would take minutes.
LONG = "intrinsics_atomic|device_(find_first_of|merge_inplace|radix_sort|segmented_radix_sort|select)|lookback_reproducibility"
EXECUTED = {"kfdtest": SHADERS, "rocrtst": re.compile(r"(?!rocrtstPerf\.).*"), "rocblas": re.compile(".*"),
            "rocprim": re.compile(rf"test_(?!({LONG}):).*"), "suspended": re.compile(".*"),
            "rccl": re.compile(r"[28]:(returns|data)\..*"), "project": re.compile(r"(Tokens|LlamaServer)\..*")}
# Of `suspended`: every eighth test of rocBLAS, and programs of rocPRIM.
SUSPENDED_EACH = 8
SUSPENSIONS = 10  # at least
SUSPENDED_PROGRAMS = ("test_block_reduce", "test_block_scan", "test_device_reduce", "test_device_transform", "test_warp_sort")


def executes(suite, test):
    """Whether the kernels of this test are executed; otherwise they only take time."""
    return COMPUTE and suite != "project" or suite in EXECUTED and bool(EXECUTED[suite].fullmatch(test))


def judge(status, text, pattern=None):
    """One program by its exit status and, if given, by what it must have printed."""
    if status is None:
        return "hang", "no end"
    if status == SKIPPED:
        return "skip", last_line(text) or "does not apply to this GPU"
    if status > 128:
        return "crash", f"status {status}: {last_line(text)}"
    if status:
        return "fail", f"status {status}: {last_line(text)}"
    if pattern and not re.search(pattern, text, re.MULTILINE | re.DOTALL):
        return "fail", f"no '{pattern}' in its output"
    return "pass", ""


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("gpreempt vgpu: ")]
    return (lines or [""])[-1][:160]


def tools(stage, personality, short):
    """The programs that describe a machine."""
    gfx = "gfx942" if personality == "native" else "gfx90a"
    runs = [("rocminfo", [], ["rocminfo"], rf"Name: +{gfx}\b"),
            ("rocminfo-2", ["--count", "2"], ["rocminfo"], rf"(Name: +{gfx}\b.*){{2}}"),
            ("rocm_agent_enumerator", [], ["rocm_agent_enumerator"], rf"^{gfx}$"),
            ("rocm-smi", [], ["rocm-smi"], r"^0 ")]
    if not short:
        runs += [("rocminfo-8", ["--count", "8"], ["rocminfo"], rf"(Name: +{gfx}\b.*){{8}}"),
                 ("rocminfo-1.18", ["--era", "6.16"], ["rocminfo"], rf"Name: +{gfx}\b"),
                 ("rocminfo-1.19", ["--era", "7.0"], ["rocminfo"], rf"Name: +{gfx}\b"),
                 ("rocminfo-mi300x", ["--gpu", "mi300x"], ["rocminfo"], r"Compute Unit: +304\b"),
                 ("rocminfo-mi210", ["--gpu", "mi210"], ["rocminfo"], r"Compute Unit: +104\b"),
                 ("rocm-smi-8", ["--count", "8"], ["rocm-smi", "--showid"], r"GPU\[7\]"),
                 ("rocm-smi-meminfo", [], ["rocm-smi", "--showmeminfo", "vram"], r"VRAM Total Memory \(B\): [1-9]"),
                 ("rocm-smi-use", [], ["rocm-smi", "--showuse", "--showclocks"], r"sclk clock level: 0: \(1420Mhz\).*GPU use \(%\): 0|"
                  r"GPU use \(%\): 0.*sclk clock level: 0: \(1420Mhz\)"),
                 ("amd-smi-metric", [], ["amd-smi", "metric", "--usage"], r"GFX_ACTIVITY: 0 %"),
                 ("amd-smi-metric-all", [], ["amd-smi", "metric"], r"GFX_ACTIVITY: 0 %.*TOTAL_VRAM: [1-9]"),
                 ("rocm-smi-all", [], ["rocm-smi", "-a"], r"GPU use \(%\): 0.*End of ROCm SMI Log"),
                 ("amd-smi-list", [], ["amd-smi", "list"], r"GPU: 0"),
                 ("amd-smi-static", [], ["amd-smi", "static", "--asic"], r"GPU: 0"),
                 ("clinfo", [], ["clinfo", "-l"], rf"{gfx}"),
                 ("hipconfig", [], ["hipconfig", "--version"], rf"^{stage.version}\.")]
    for name, options, command, pattern in stage.share(runs):
        status, text = stage.run(f"tools-{personality}-{name}", stage.vgpu(personality, command, options), 60)
        yield name, *judge(status, text, pattern)


def programs(stage, personality, short):
    """The test programs of the repository on two GPUs, with and without DMA engines."""
    ways = {"": (), "-no-sdma": ("HSA_ENABLE_SDMA=0",)}
    if short:
        ways = {"": ()}
    for name in stage.share(stage.programs()):
        error = stage.first_error(f"programs/{name}")
        if error:
            yield name, "fail", error
            continue
        for way, env in ways.items():
            words = stage.vgpu(personality, [f"/gp/tests/vgpu/programs/{name}"], ["--count", "2"], env)
            yield name + way, *judge(*stage.run(f"programs-{personality}-{name}{way}", words, 180))


def examples(stage, personality, short):
    """The examples, two of them together with gpreempt run."""
    for name in EXAMPLES[:1] if short else EXAMPLES:
        error = stage.first_error(f"examples/{name}")
        if error:
            yield name, "fail", error
            continue
        words = stage.vgpu(personality, [f"/gp/examples/{name}", "--seconds", "1"])
        yield name, *judge(*stage.run(f"examples-{personality}-{name}", words, 120))
        if name == "gemm_mini":
            words = stage.vgpu(personality, ["/gp/bin/gpreempt", "run", "--", f"/gp/examples/{name}", "--seconds", "1"])
            yield f"{name}-agent", *judge(*stage.run(f"examples-{personality}-{name}-agent", words, 120))


def benchmarks(stage, personality, short):
    """Programs of others that do real work, for a moment: rocBLAS, a program of hipcc, llama.cpp."""
    bench = f"{TESTS}/librocblas{'4' if stage.version == '6.4' else '5'}-bench/rocblas-bench"
    words = stage.vgpu(personality, [bench, "-f", "gemm", "-r", "f32_r", "-m", "256", "-n", "256", "-k", "256"])
    yield "rocblas-bench", *judge(*stage.run(f"benchmarks-{personality}-rocblas", words, 600), r"^N,N,")
    compile_and_run = ("hipcc --offload-arch=gfx90a,gfx942 -o /tmp/a /src/tests/rocm/compiled.hip && exec "
                       f"{shlex.join(stage.machine(personality))} -- /tmp/a")
    yield "hipcc", *judge(*stage.run(f"benchmarks-{personality}-hipcc", stage.command(["sh", "-c", compile_and_run]), 600), r"^ok$")
    if stage.version == "6.4":
        script = ("python3 /src/tests/rocm/tiny_model.py /tmp/tiny.gguf && exec "
                  f"{shlex.join(stage.machine(personality))} -- llama-bench -m /tmp/tiny.gguf -ngl 99 -p 16 -n 4 -r 1")
        yield "llama-bench", *judge(*stage.run(f"benchmarks-{personality}-llama", stage.command(["sh", "-c", script]), 600), r"ROCm")


def listed(stage, personality, name, command, options=(), env=()):
    status, text = stage.run(f"{name}-{personality}-list", stage.vgpu(personality, [*command, "--gtest_list_tests"], options, env), 120)
    names = gtest.parse_list(text)
    return names, ("" if names else f"status {status}: {last_line(text)}")


def times_suspended(text):
    """As suspended.py says it."""
    return sum(int(count) for count in re.findall(r"^suspended (\d+) times", text, re.MULTILINE))


def gtests(stage, personality, name, command, **how):
    """A GoogleTest program. how: options, env, select(name), prefix (of names in `expected`), limit, seconds, alone,
    shared (each part of the suite runs some of the tests), suspend (at random), machine(name) and arguments(name): options of the
    machine and of the program for a test that runs alone."""
    options, env = how.get("options", ()), how.get("env", ())
    before = SUSPENDER if SUSPEND or how.get("suspend") else ()
    names, problem = listed(stage, personality, name, command, options, env)
    if not names:
        yield name, "fail", f"lists no test: {problem}"
        return
    names = [test for test in names if how.get("select", lambda test: True)(test)]
    names = stage.share(names) if how.get("shared") else names
    omitted = {test: stage.omitted(how.get("prefix", "") + test) for test in names}
    yield from ((test, "skip", reason) for test, reason in omitted.items() if reason)
    names = [test for test in names if not omitted[test]]

    def words(part):
        machine = how["machine"](part[0]) if "machine" in how else options
        more = how["arguments"](part[0]) if "arguments" in how else ()
        filters = ["--gtest_also_run_disabled_tests", f"--gtest_filter={':'.join(part)}"]
        words = [*before, *command, *filters, *more]
        return stage.vgpu(personality, words, machine, env, how.get("prefix", "") + part[0])

    with open(stage.out / "logs" / f"{stage.label(f'{name}-{personality}')}.log", "w+b") as log:
        for test, result, reason in gtest.run(names, words, log, how.get("limit", 60), time.monotonic() + how.get("seconds", 600),
                                              how.get("alone", False)):
            stage.suspended += bool(before) and result in ("pass", "fail")
            yield test, result, reason
        log.seek(0)
        stage.suspensions += times_suspended(log.read().decode(errors="replace"))


def rocrtst(stage, personality, short):
    """AMD's tests of ROCr. Its kernels lie in a directory for each GPU."""
    if stage.version == "6.4":
        yield from stage.share([("rocrtst", "absent", "Debian packages it from 7.2 on")])
        return
    directory = f"{ROCRTST}/{'gfx942' if personality == 'native' else 'gfx90a'}"
    command = ["env", "-C", directory, "LD_LIBRARY_PATH=/opt/lib", "./rocrtst64"]
    wanted = re.compile(r"Validation_InvalidDimension|Memory_Available|AQL_Dispatch_Time_Single")
    yield from gtests(stage, personality, "rocrtst", command, alone=True, shared=True, limit=120, seconds=900,
                      select=lambda test: not short or wanted.search(test))


def rocblas(stage, personality, short, name="rocblas", **how):
    """One quick test of each function."""
    package = "librocblas4-tests" if stage.version == "6.4" else "librocblas5-tests"
    data = f"{name}-{personality}.data"
    sample = ["python3", "/src/tests/rocm/rocblas_sample.py", f"/usr/share/{package}/data/rocblas_gtest.data",
              f"/out/{data}"]
    status, text = stage.run(f"{name}-{personality}-sample", stage.command(sample), 300)
    if status:
        yield name, "crash", f"no sample of its tests, status {status}: {last_line(text)}"
        return
    yield from gtests(stage, personality, name, [f"{TESTS}/{package}/rocblas-test", "--data", f"/out/{data}"],
                      env=("GTEST_LISTENER=PASS_LINE_IN_LOG",), limit=120, seconds=900, **how)


def rocprim(stage, personality, short, name="rocprim", programs_of_it=None, **how):
    """Of each program the first test of every suite; the others differ in the type of an element."""
    directory = f"{TESTS}/librocprim-tests"
    status, text = stage.run(f"{name}-{personality}-programs", stage.command(["ls", directory]), 60)
    programs_of_it = [program for program in text.split() if program.startswith("test_") and (not programs_of_it or program in programs_of_it)]
    if status or not programs_of_it:
        yield name, "crash", f"status {status}: {last_line(text)}"
        return
    end = time.monotonic() + 3000
    for program in stage.share(programs_of_it):
        if program == "test_no_half_operators":  # it has no GoogleTest, and passes if it could be compiled
            words = stage.vgpu(personality, [f"{directory}/{program}"], test=program)
            yield program, *judge(*stage.run(f"rocprim-{personality}-{program}", words, 120))
            continue
        seen = set()

        def first(test, seen=seen):
            suite = test.split(".")[0].split("/")[0]
            return suite not in seen and not seen.add(suite)

        for test, result, reason in gtests(stage, personality, f"{name}-{program}", [f"{directory}/{program}"], select=first,
                                           env=(f"LD_LIBRARY_PATH={directory}",),
                                           prefix=f"{program}:", limit=600, seconds=end - time.monotonic(), **how):
            yield f"{program}:{test}", result, reason


def suspended(stage, personality, short):
    """Some of rocBLAS and rocPRIM again while they are suspended and resumed at random: the same results. llama.cpp is in `project`."""
    numbers = itertools.count()
    runs = {"rocblas": rocblas(stage, personality, short, "suspended-rocblas", select=lambda test: not next(numbers) % SUSPENDED_EACH, suspend=True),
            "rocprim": rocprim(stage, personality, short, "suspended-rocprim", SUSPENDED_PROGRAMS, suspend=True)}
    for name in stage.share(runs):
        yield from counted(stage, name, runs[name])


def counted(stage, name, results):
    """`results`, and whether these tests were suspended at all."""
    ran, times = -stage.suspended, -stage.suspensions
    yield from results
    ran, times = ran + stage.suspended, times + stage.suspensions
    if ran:
        yield f"{name}-suspensions", *(("pass", f"{times} times") if times >= SUSPENSIONS else ("fail", f"{ran} tests were suspended {times} times"))


def collectives(stage, personality, count):
    """A program that calls each collective once and compares what every GPU has then."""
    names = ("AllReduce", "Reduce", "Broadcast", "AllGather", "Gather", "ReduceScatter", "Scatter", "AllToAll", "SendRecv")
    machine = stage.machine(personality, f"{count}:data.{names[0]}")
    words = [*machine, "--count", str(count), "--", *(SUSPENDER if SUSPEND else ()), "/tmp/collectives", "data"]
    script = f"gcc -w -o /tmp/collectives /src/tests/rocm/collectives.c -lamdhip64 -lrccl && exec {shlex.join(words)}"
    status, text = stage.run(f"rccl-{personality}-{count}-collectives", stage.command(["sh", "-c", script], (*RCCL_ENV, *RCCL_SMALL)), 1200)
    stage.suspended += SUSPEND
    stage.suspensions += times_suspended(text)
    for what, word in (("returns", "returned"), ("data", "right")):
        for name in names:
            found = re.search(rf"^{word} {name}$", text, re.MULTILINE)
            wrong = re.search(rf"^wrong {name}: .*", text, re.MULTILINE)
            yield f"{count}:{what}.{name}", *(("pass", "") if found else ("hang", "no end") if status is None else
                                              ("fail", wrong[0] if wrong else last_line(text)))


def rccl(stage, personality, short):
    """Every collective over two and eight GPUs, with the data; RCCL's own tests compare data as well, where their kernels are executed."""
    if stage.version == "6.4":
        yield from stage.share([("rccl", "absent", "Debian has RCCL 5.4.3 for HIP 5 beside it")])
        return
    command = [f"{TESTS}/librccl1-tests/rccl-UnitTests"]
    for count in stage.share((8, 2)):
        yield from collectives(stage, personality, count)
        env = (*RCCL_ENV, *RCCL_FEW, f"UT_MIN_GPUS={count}", f"UT_MAX_GPUS={count}", "UT_POW2_GPUS=1", "UT_PROCESS_MASK=1",
               "UT_DATATYPES=ncclFloat32", "UT_REDOPS=Sum", "UT_TIMEOUT_US=600000000")
        for test, result, reason in gtests(stage, personality, f"rccl-{count}", command, options=("--count", str(count)), env=env,
                                           prefix=f"{count}:", limit=900 if COMPUTE else 90, seconds=7200 if COMPUTE else 240):
            yield f"{count}:{test}", result, reason


def project(stage, personality, short):
    """This project's own tests of preemption, with the programs and the runtime of the chroot."""
    for name in stage.share(AGENT):  # without it the tests that start it would be skipped
        error = stage.first_error(f"agent/{name}")
        if error:
            yield name, "fail", error
    files = ["tests/rocm/test_logs.py", "tests/rocm/test_preemption.py", "tests/rocm/test_compute.py", "tests/vgpu/test_storm.py"]
    if not short:
        files.append("tests/rocm/test_llama_server.py")
    if personality == "compat" and not short:  # these start such machines themselves
        files += ["tests/holder/test_field.py", "tests/agent/test_agent_storm.py", "tests/agent/test_loading.py",
                  "tests/daemon/test_gpreemptd.py", "tests/daemon/test_share.py"]
    for file in stage.share(files):
        env = [f"GP_PERSONALITY={personality}", f"GP_ROCM={stage.version}"]
        if file.endswith("vgpu/test_storm.py") and not short:
            env.append("GP_STORM_PACKETS=62500")  # a million dispatches
        words = stage.command(["python3", "/src/tests/run_tap.py", f"/src/{file}"], env)
        status, text = stage.run(f"project-{personality}-{file.replace('/', '-')}", words, 400)
        found = re.findall(r"^(ok|not ok) \d+ - (\S+)(.*)$", text, re.MULTILINE)
        for word, name, note in found:
            yield name, ("skip" if "# SKIP" in note else "pass" if word == "ok" else "fail"), note.replace("# SKIP", "").strip()
        planned = re.search(r"^1\.\.(\d+)", text, re.MULTILINE)
        if not planned or len(found) < int(planned[1]):
            yield file, "hang" if status is None else "crash", f"{len(found)} tests ended, status {status}: {last_line(text)}"


def small_gpu(stage, name):
    """A description of the default GPU with 32 MiB of memory, the least that one can have; returns its path in the chroot."""
    description = json.loads((SOURCE / "data" / "gpus" / "mi308x.json").read_text())
    description["chip"]["vram_bytes"]["value"] = 1 << 25
    (stage.out / f"small-{name}.json").write_text(json.dumps(description))
    return f"/out/small-{name}.json"


def kfdtest(stage, personality, short, program=None):
    """AMD's tests of the driver, if the caller has built them, on two GPUs."""
    if not program or stage.version != "7.2":
        reason = "KFDTEST=PROGRAM names one" if not program else "runs with 7.2: it brings its own library"
        yield from stage.share([("kfdtest", "absent", reason)])
        return
    copy = stage.label(f"kfdtest-{personality}")
    target = stage.out / copy
    target.unlink(missing_ok=True)
    target.write_bytes(open(program, "rb").read())
    target.chmod(0o755)
    small = small_gpu(stage, copy)

    def machine(test):  # one test waits for a copy of its own from each page of VRAM: 50 million on the default GPU
        if test.endswith(".CheckZeroInitializationVram"):
            return "--gpu", small
        return "--count", "2"

    def arguments(test):  # by default it waits a minute for what a shader writes, which never comes
        return [] if re.search("P2PBandWidth|CheckZero", test) else ["--timeout=8000"]

    yield from gtests(stage, personality, "kfdtest", [f"/out/{copy}"], alone=True, shared=True, limit=600, seconds=1800,
                      machine=machine, arguments=arguments)


SUITES = {"tools": tools, "programs": programs, "examples": examples, "benchmarks": benchmarks, "project": project,
          "rocrtst": rocrtst, "rocblas": rocblas, "rocprim": rocprim, "suspended": suspended, "rccl": rccl, "kfdtest": kfdtest}
# Those of which every test is suspended with GP_ROCM_SUSPEND=on.
OFTEN_SUSPENDED = ("rocrtst", "rocblas", "rocprim", "rccl", "kfdtest")
# Those that consist of tests of this repository.
OWN = ("tools", "programs", "examples", "project")
# Those of --short, the parts into which the longer ones are cut, and an order: what takes long is begun first.
SHORT = ("tools", "programs", "examples", "project", "rocrtst")
SHORT_PERSONALITY = {"6.4": "compat", "7.2": "native"}
PARTS = {"kfdtest": 6, "rccl": 2, "rocprim": 3, "rocrtst": 2, "project": 3, "programs": 2}
COST = {"kfdtest": 9, "rccl": 8, "project": 7, "suspended": 6, "rocprim": 6, "benchmarks": 5, "rocrtst": 4, "rocblas": 3, "programs": 2}
