# SPDX-License-Identifier: MIT
"""Shares instead of turns, on the virtual GPU: compute units are divided by weight and given back."""
import json
import os
import signal
import unittest

import test_gpreemptd as rig

CONFIG = rig.ACT + "policy = quantum\nshare = yes\n"
LIMIT = rig.LIMIT


class Sharing(rig.Daemon):
    def test_shares_are_parts_of_the_gpu_that_do_not_overlap(self):
        daemon = self.daemon(CONFIG)
        for name, weight in (("case_a_cnn", "1"), ("offline_trainer", "4")):
            self.begin(rig.GPREEMPT, "run", "--weight", weight, "--", os.path.join(rig.EXAMPLES, name), "--seconds", "600")

        def masks():
            """CUs that the queues of each program may use, as the driver was told; 0: all."""
            status, found = self.json("vgpu", "status"), {}
            for name, job in self.jobs().items():
                queues = [queue for process in status["processes"] if process["pid"] == job["pid"]
                          for queue in process["queues"] if queue["type"] in ("aql", "compute")]
                different = {int(queue["cu_mask"] or "0", 16) for queue in queues}
                found[name] = different.pop() if len(different) == 1 else None
            return found

        def side_by_side():
            found = masks()
            small, large = found.get("case_a_cnn"), found.get("offline_trainer")
            return small and large and (small, large)

        small, large = self.until(side_by_side, "no shares")
        self.assertEqual(small & large, 0)
        self.assertEqual((bin(small).count("1"), bin(large).count("1")), (16, 64))
        kinds = {line["kind"] for line in map(json.loads, self.gpreempt("log", "--json").stdout.splitlines())}
        self.assertIn("share", kinds)
        self.assertNotIn("suspend", kinds)
        # The daemon's end is the end of shares; a new one gives them again, and all to who is left.
        pids = {job["pid"] for job in self.jobs().values()}
        daemon.terminate()
        self.assertEqual(daemon.wait(LIMIT), 0)

        def all_lifted():
            """A queue without a mask, as one that was made after that, has all CUs as well."""
            queues = [queue for process in self.json("vgpu", "status")["processes"] if process["pid"] in pids
                      for queue in process["queues"] if queue["type"] in ("aql", "compute")]
            return queues and all(not queue["cu_mask"] or bin(int(queue["cu_mask"], 16)).count("1") == 80
                                  for queue in queues)

        self.until(all_lifted, "shares outlive the daemon")
        daemon = self.daemon(CONFIG)
        self.until(side_by_side, "no shares again")
        os.kill(self.json("top")["pid"], signal.SIGKILL)  # it is a child of what was begun
        daemon.wait(LIMIT)
        self.until(all_lifted, "shares outlive a daemon that was killed")
        self.daemon(CONFIG)
        self.until(side_by_side, "no shares again")
        os.kill(self.job("case_a_cnn")["pid"], signal.SIGKILL)
        self.until(lambda: list(self.jobs()) == ["offline_trainer"] and all_lifted(), "the rest is not given back")


if __name__ == "__main__":
    unittest.main()
