# SPDX-License-Identifier: MIT
"""`gpreempt selftest --calibrate` finds the costs of a virtual GPU that were drawn at random and are hidden from it.

Each is between the least and the most that the GPU file gives for it. The virtual GPU is a thousand times slower than the
host, so that the host's own microseconds do not count. Where a busy host lengthens times, it must say that a cost was not
measured, and not give a wrong one; GP_CALIBRATE_ALL=1 wants all of them, on an idle host. GP_CALIBRATE_SEED is the draw."""
import json
import math
import os
import pathlib
import pty
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

GPREEMPT = os.path.join(os.environ["GP_BIN"], "gpreempt")
GPU = pathlib.Path(__file__).resolve().parents[2] / "data" / "gpus" / "mi308x.json"
KERNEL = pathlib.Path(os.environ["GP_BIN"]).parent / "lib" / "selftest-gfx90a.co"
MS = 1000000
SLOWER = 1000
COSTS = ("unmap_ns", "unmap_queue_ns", "map_ns", "map_queue_ns", "dispatch_ns", "complete_ns", "save_ns", "restore_ns",
         "save_bytes_per_us", "restore_bytes_per_us")
# The kernel must still run when it is suspended.
KERNELS = {"default": {"workgroup_ns": {"value": 10000, "kind": "assumed", "source": "test"}},
           "kernels": [{"prefix": "gpreempt_selftest", "workgroup_ns": {"value": 200000 * MS, "kind": "assumed", "source": "test"}}]}
LIMIT = 560
WORK = os.path.join(os.environ["GP_BIN"], "gpreempt-selftest-work")
# Inside the virtual machine: later and later, until the packet has ended before the question.
ASK_LATE = """
import subprocess, sys, time
work = subprocess.Popen([sys.argv[1], "1", "1", "virtual"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
def answer(letter):
    work.stdin.write(letter)
    word, number = work.stdout.readline().split()
    assert word == b"ok", word
    return int(number)
assert work.stdout.readline().startswith(b"ok 1 ")
for doubling in range(10):
    begin = time.monotonic_ns()
    answer(b"w")
    time.sleep(0.02 * 2 ** doubling)
    asked = time.monotonic_ns()
    at = answer(b"a")
    assert at > begin, (at, begin)
    if at < asked:
        break
else:
    sys.exit("the time is that of the question")
work.kill()
work.wait()
print("passed")
"""


class Calibrate(unittest.TestCase):
    def setUp(self):
        self.place = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.place)

    def run_it(self, *command, **options):
        env = dict(os.environ, LC_ALL="C.UTF-8")
        for name in ("LANGUAGE", "GPREEMPT_DIR", "GPREEMPT_VGPU"):
            env.pop(name, None)
        return subprocess.run([str(word) for word in command], env=env, capture_output=True, text=True, timeout=LIMIT,
                              **options)

    def calibrate(self, found, hidden):
        """What it measured, and by how much the costs are off; None: it says that it has not measured it."""
        done = self.run_it(GPREEMPT, "vgpu", "--speed", 1 / SLOWER, "--gpu", self.place / "hidden.json", "--kernels",
                           self.place / "kernels.json", "--", GPREEMPT, "selftest", f"--calibrate={found}", "--base", GPU)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        measured = json.loads(found.read_text())
        ratios = {}
        for key, value in hidden.items():
            entry = measured["cost"][key]
            if entry["kind"] != "measured":
                ratios[key] = None
                continue
            self.assertRegex(entry["source"], "the shortest of 12 measurements or more; ")
            # It measures the host's time.
            ratios[key] = (entry["value"] * SLOWER if key.endswith("per_us") else entry["value"] / SLOWER) / value
        missing = list(ratios.values()).count(None) + len(COSTS) - len(hidden)
        self.assertEqual(done.stdout.count("not measured\n"), missing, done.stdout)
        return measured, ratios

    def test_hidden_costs_are_found_within_ten_per_cent(self):
        seed = int(os.environ.get("GP_CALIBRATE_SEED", random.randrange(1 << 32)))
        draw = random.Random(seed)
        # As many small ones as large ones.
        gpu = json.loads(GPU.read_text())
        hidden = {key: round(math.exp(draw.uniform(*(math.log(gpu["cost"][key][end]) for end in ("low", "high"))))) for key in COSTS}
        for key, value in hidden.items():
            gpu["cost"][key] = {"value": value, "kind": "assumed", "source": f"drawn, seed {seed}"}
        (self.place / "hidden.json").write_text(json.dumps(gpu))
        (self.place / "kernels.json").write_text(json.dumps(KERNELS))
        if not KERNEL.exists():
            print("# built without clang-19: waves are not saved")
            hidden = {key: value for key, value in hidden.items() if not key.startswith(("save", "restore"))}
        found = self.place / "found.json"
        measured, ratios = self.calibrate(found, hidden)
        print(f"# seed {seed}: found / hidden", {key: ratio and round(ratio, 3) for key, ratio in ratios.items()})
        wrong = [key for key, ratio in ratios.items() if ratio and abs(ratio - 1) > 0.1]
        self.assertFalse(wrong, f"seed {seed}: {hidden}")
        # A busy host may hide the small ones, not all.
        self.assertGreater(sum(1 for ratio in ratios.values() if ratio), 2, f"seed {seed}: {hidden}")
        if os.environ.get("GP_CALIBRATE_ALL"):
            self.assertNotIn(None, ratios.values(), f"seed {seed}: {hidden}")
        self.assertEqual(measured["chip"], gpu["chip"])
        self.assertEqual(measured["cost"]["quantum_ns"], gpu["cost"]["quantum_ns"])
        if ratios["map_ns"]:
            self.assertIn("includes the driver call", measured["cost"]["map_ns"]["source"])
        # It is a GPU file like any other.
        done = self.run_it(GPREEMPT, "vgpu", "--gpu", found, "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        scenario = self.place / "one.sim"
        scenario.write_text(f"[run]\ntime = 1s\n[gpu]\nchip = {found}\n[job one]\nclass = offline\narrival = closed\nkernel = 20ms\n")
        done = self.run_it(GPREEMPT, "sim", scenario)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_link_with_the_usual_name_is_replaced_and_not_followed(self):
        victim, usual = self.place / "victim", self.place / "gpreempt-calibration.json"
        victim.write_text("kept")
        usual.symlink_to(victim)
        done = self.run_it(GPREEMPT, "vgpu", "--gpu", GPU, "--", GPREEMPT, "selftest", "--calibrate", cwd=self.place)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(victim.read_text(), "kept")
        self.assertFalse(usual.is_symlink())
        # Without --base the rest is that of the GPU it is.
        found = json.loads(usual.read_text())
        self.assertEqual((found["name"], found["chip"]), ("mi308x", json.loads(GPU.read_text())["chip"]))
        self.assertNotIn("--base", done.stderr)
        # Nothing about its progress where no terminal is.
        self.assertNotIn("calibrating", done.stderr)

    def on_a_terminal(self, *options, until=None, seconds=LIMIT):
        """What a terminal on stderr shows, until it shows that or for so many seconds; then the calibration is interrupted."""
        ours, theirs = pty.openpty()
        env = dict(os.environ, LC_ALL="C.UTF-8")
        for name in ("LANGUAGE", "GPREEMPT_DIR", "GPREEMPT_VGPU"):
            env.pop(name, None)
        process = subprocess.Popen([GPREEMPT, "vgpu", "--gpu", str(GPU), "--", GPREEMPT, "selftest", "--calibrate", *options],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs, env=env, cwd=self.place,
                                   start_new_session=True)
        os.close(theirs)
        shown, end, asked = b"", time.monotonic() + seconds, False
        while True:
            if not asked and (time.monotonic() > end or (until and until in shown)):
                os.killpg(process.pid, signal.SIGINT)
                asked = True
            if not select.select([ours], [], [], 0.1)[0]:
                continue
            try:
                part = os.read(ours, 4096)
            except OSError:  # nobody has the other end any more
                break
            shown += part
        os.close(ours)
        process.wait(LIMIT)
        return shown.decode()

    def test_a_terminal_shows_what_is_being_measured(self):
        begin = time.monotonic()
        shown = self.on_a_terminal(until=b"calibrating: 16 queues")
        self.assertRegex(shown, r"\r\033\[Kcalibrating: packets, and a single queue, [0-9]+ s")
        self.assertRegex(shown, r"\r\033\[Kcalibrating: 16 queues, [0-9]+ s")
        # The line is gone at the end.
        self.assertTrue(shown.endswith("\r\033[K"), shown[-100:])
        shown = self.on_a_terminal("--json", seconds=time.monotonic() - begin)
        self.assertNotIn("calibrating", shown)

    def test_a_gpu_that_no_file_fits_is_named_with_the_nearest(self):
        gpu = json.loads(GPU.read_text())
        gpu["chip"]["cu_per_xcc"]["value"] = 22
        (self.place / "other.json").write_text(json.dumps(gpu))
        done = self.run_it(GPREEMPT, "vgpu", "--gpu", self.place / "other.json", "--", GPREEMPT, "selftest",
                           f"--calibrate={self.place / 'found.json'}")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stderr, r"no GPU file fits this GPU \(gfx90a, CUs: 88, XCCs: 1\); figures that are not measured come "
                         r"from the nearest, .*/mi308x\.json \(--base names another\)\n")
        self.assertEqual(json.loads((self.place / "found.json").read_text())["name"], "mi308x")

    def test_the_end_of_a_packet_is_not_when_it_is_asked_for(self):
        done = self.run_it(GPREEMPT, "vgpu", "--gpu", GPU, "--", sys.executable, "-c", ASK_LATE, WORK)
        self.assertEqual((done.returncode, done.stdout), (0, "passed\n"), done.stderr)


if __name__ == "__main__":
    unittest.main()
