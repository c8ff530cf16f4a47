# SPDX-License-Identifier: MIT
"""`gpreempt selftest --calibrate` finds the costs of a virtual GPU that were drawn at random and are hidden from it.

They are much larger than those of a GPU, so that the load of the host does not show."""
import json
import os
import pathlib
import random
import shutil
import subprocess
import tempfile
import unittest

GPREEMPT = os.path.join(os.environ["GP_BIN"], "gpreempt")
GPU = pathlib.Path(__file__).resolve().parents[2] / "data" / "gpus" / "mi308x.json"
MS = 1000000
RANGES = {"unmap_ns": (60, 120), "unmap_queue_ns": (10, 20), "map_ns": (60, 120), "map_queue_ns": (10, 20),
          "dispatch_ns": (20, 40), "complete_ns": (30, 40)}
LIMIT = 280


class Calibrate(unittest.TestCase):
    def setUp(self):
        self.place = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.place)

    def run_it(self, *command):
        env = dict(os.environ, LC_ALL="C.UTF-8")
        for name in ("LANGUAGE", "GPREEMPT_DIR", "GPREEMPT_VGPU"):
            env.pop(name, None)
        return subprocess.run([str(word) for word in command], env=env, capture_output=True, text=True, timeout=LIMIT)

    def test_hidden_costs_are_found_within_ten_per_cent(self):
        seed = random.randrange(1 << 32)
        draw = random.Random(seed)
        hidden = {key: int(draw.uniform(*limits) * MS) for key, limits in RANGES.items()}
        gpu = json.loads(GPU.read_text())
        for key, value in hidden.items():
            gpu["cost"][key] = {"value": value, "kind": "assumed", "source": f"drawn, seed {seed}"}
        (self.place / "hidden.json").write_text(json.dumps(gpu))
        found = self.place / "found.json"
        done = self.run_it(GPREEMPT, "vgpu", "--gpu", self.place / "hidden.json", "--", GPREEMPT, "selftest", f"--calibrate={found}",
                           "--base", GPU)
        self.assertEqual(done.returncode, 0, f"seed {seed}: {done.stdout}{done.stderr}")
        measured = json.loads(found.read_text())
        for key, value in hidden.items():
            entry = measured["cost"][key]
            self.assertEqual(entry["kind"], "measured")
            self.assertAlmostEqual(entry["value"] / value, 1, delta=0.1, msg=f"{key}, seed {seed}: {hidden}, {done.stdout}")
        self.assertEqual(measured["chip"], gpu["chip"])
        self.assertEqual(measured["cost"]["save_ns"], gpu["cost"]["save_ns"])
        # It is a GPU file like any other.
        done = self.run_it(GPREEMPT, "vgpu", "--gpu", found, "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        scenario = self.place / "one.sim"
        scenario.write_text(f"[run]\ntime = 1s\n[gpu]\nchip = {found}\n[job one]\nclass = offline\narrival = closed\nkernel = 20ms\n")
        done = self.run_it(GPREEMPT, "sim", scenario)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
