# SPDX-License-Identifier: MIT
"""Run inside a virtual machine by test_selftest.py: `gpreempt selftest` where every mechanism works."""
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time

BIN = os.environ["GP_BIN"]
GPREEMPT = os.path.join(BIN, "gpreempt")
WORK = os.path.join(BIN, "gpreempt-selftest-work")
LIMIT = 120
SIZES = (1, 4, 16)
PACKETS = 2 * 16  # of each queue: two batches


def selftest(*arguments):
    return subprocess.run([GPREEMPT, "selftest", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=LIMIT, cwd=place)


def await_quiet():
    """The driver tidies up after a process some time after its end."""
    end = time.monotonic() + LIMIT
    while True:
        done = subprocess.run([GPREEMPT, "ps", "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              timeout=LIMIT)
        listed = json.loads(done.stdout)["processes"]
        if not [process for process in listed if process["queues"] or any(gpu["vram_bytes"] for gpu in process["gpus"])]:
            return
        assert time.monotonic() < end, listed
        time.sleep(0.05)


def processes_of(directory):
    """Whoever has this directory of sockets in its environment."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if b"GPREEMPT_DIR=" + directory.encode() in file.read().split(b"\0"):
                    found.append(int(name))
        except OSError:
            pass
    return found


def await_end(pid):
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    ended = select.select([fd], [], [], LIMIT)[0]
    os.close(fd)
    assert ended, f"process {pid} is still there"


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def check_both_work():
    path = os.path.join(place, "result.json")
    done = selftest("--cycles", "5", f"--json={path}")
    assert done.returncode == 0, done
    with open(path) as file:
        result = json.load(file)
    assert os.listdir(place) == ["result.json"], os.listdir(place)
    assert result["virtual"] is True and result["cycles"] == 5, result
    if os.path.exists(os.path.join(BIN, "..", "lib", "selftest-gfx90a.co")):
        assert (result["work"], result["work_reason"]) == ("kernel", None), result
    else:
        assert result["work"] in ("hiprtc", "barriers") and "no kernel for gfx90a" in result["work_reason"], result
    assert [entry["name"] for entry in result["mechanisms"]] == ["kfd-agent", "kfd-cumask", "kfd-debug"], result
    for entry in result["mechanisms"]:
        assert entry["works"] is True and entry["reason"] is None, entry
        assert [(row["queues"], row["packets"]) for row in entry["measured"]] == [(n, n * PACKETS) for n in SIZES]
        for row in entry["measured"]:
            for what in ("suspend", "resume"):
                assert 0 < row[what]["p50_ns"] <= row[what]["p99_ns"], row
    assert "order and number" in done.stdout and done.stdout.count("works") == 9, done.stdout


def check_a_gpu_in_use_is_refused():
    await_quiet()
    other = subprocess.Popen([WORK, "1", "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout.readline().startswith("ok 1 ")
        done = selftest("--cycles", "1")
        assert done.returncode == 1 and f"process {other.pid} " in done.stderr, done
        done = selftest("--cycles", "1", "--shared-gpu", "--json")
        assert done.returncode == 0 and f"process {other.pid} " in done.stderr, done
        assert all(entry["works"] for entry in json.loads(done.stdout)["mechanisms"]), done.stdout
    finally:
        other.kill()
        other.wait()
        other.stdin.close()
        other.stdout.close()


def check_a_signal_leaves_nothing(number):
    await_quiet()
    running = subprocess.Popen([GPREEMPT, "selftest", "--cycles", "100000"], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, cwd=place)
    try:
        directory, holder, end = None, 0, time.monotonic() + LIMIT
        while not holder:  # until its GPU program and its holder are there
            assert running.poll() is None and time.monotonic() < end, running.returncode
            for child in children(running.pid):
                try:
                    with open(f"/proc/{child}/comm") as file:
                        named = file.read().startswith("gpreempt-selfte") and child
                    with open(f"/proc/{child}/environ", "rb") as file:
                        words = [word for word in file.read().split(b"\0") if word.startswith(b"GPREEMPT_DIR=")]
                except OSError:
                    continue
                if named and words and b"gpreempt-selftest." in words[0]:
                    directory = words[0].split(b"=")[1].decode()
            try:
                with open(os.path.join(directory or "", "holder.lock")) as file:
                    holder = int(file.read() or 0)
            except FileNotFoundError:
                pass
            time.sleep(0.01)
        assert holder in processes_of(directory), holder
        running.send_signal(number)
        assert running.wait(LIMIT) == -number, running.returncode
    finally:
        running.kill()
        running.wait()
    assert not os.path.exists(directory), directory
    left = processes_of(directory)
    assert holder not in left, holder
    for pid in left:  # a killed holder's guardian notices by itself
        await_end(pid)
    assert not processes_of(directory)


def check_without_a_kernel(expected):
    """A build without kernels: hiprtc makes one where the source is, and barriers do where it is not."""
    done = selftest("--cycles", "1", "--json")
    assert done.returncode == 0, done
    result = json.loads(done.stdout)
    assert result["work"] == expected and result["mechanisms"][0]["works"], result
    if expected == "barriers":
        assert "no kernel for gfx90a" in result["work_reason"], result
        await_quiet()
        victim = os.path.join(place, "victim")
        with open(victim, "w") as file:
            file.write("kept")
        os.symlink(victim, os.path.join(place, "gpreempt-selftest.json"))
        done = selftest("--cycles", "1")
        with open(victim) as file:  # a name that was not given is never a way to another file
            assert file.read() == "kept"
        assert "Only barrier packets were submitted (this build has no kernel for gfx90a" in done.stdout, done.stdout
        with open(os.path.join(place, "gpreempt-selftest.json")) as file:
            assert json.load(file)["work"] == "barriers"


def main():
    if sys.argv[1:2] == ["without"]:
        check_without_a_kernel(sys.argv[2])
    elif sys.argv[1:] == ["gfx11"]:
        done = selftest("--cycles", "1")
        assert done.returncode == 1 and "--yes" in done.stderr, done
    else:
        check_both_work()
        check_a_gpu_in_use_is_refused()
        for number in (signal.SIGINT, signal.SIGTERM):
            check_a_signal_leaves_nothing(number)
    print("passed")


with tempfile.TemporaryDirectory() as place:
    main()
