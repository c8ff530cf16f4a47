# SPDX-License-Identifier: MIT
"""More programs than the virtual GPU has VMIDs: idle ones leave it, with all their queues, and come back with their work."""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test_gpreemptd  # noqa: E402

VMIDS = 13


@unittest.skipUnless(os.path.exists(test_gpreemptd.STAGE), "built without ROCm's headers")
class Places(test_gpreemptd.Daemon):
    def begin_stage(self, job_class):
        process = subprocess.Popen([test_gpreemptd.GPREEMPT, "vgpu", "--", test_gpreemptd.GPREEMPT, "run", "--class", job_class,
                                    "--", test_gpreemptd.STAGE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   env=self.env)
        self.started.append(process)
        self.addCleanup(process.stdin.close)
        return process

    def tell(self, process, line):
        process.stdin.write(line + "\n")
        process.stdin.flush()
        answer = process.stdout.readline().strip()
        self.assertTrue(answer and not answer.startswith("error"), f"{line}: {answer!r}")
        return answer

    def serve(self, process):
        """A request: a kernel of its first queue, and its end."""
        self.tell(process, "kernel 0 1")
        return self.tell(process, "wait 0")

    def runlist(self):
        return self.json("vgpu", "status")["gpus"][0]["model"]

    def test_idle_programs_leave_the_gpu_and_return_with_their_work(self):
        servers = [self.begin_stage("online") for _ in range(VMIDS + 1)]
        batch = self.begin_stage("offline")
        for process in servers + [batch]:
            self.assertEqual(process.stdout.readline(), "ready\n")
            self.tell(process, "queue")
        for process in servers:
            self.assertEqual(self.serve(process), "done 1")
        self.assertTrue(self.runlist()["oversubscribed"])
        daemon = self.daemon(test_gpreemptd.ACT)
        self.until(lambda: len(self.json("top")["jobs"]) == len(servers) + 1, "not every program is known")
        for process in servers:
            self.assertEqual(self.serve(process), "done 2")
        self.tell(batch, "kernel 0 100000000")
        # Nothing rotates: the batch job has the GPU for itself.
        self.until(lambda: not self.runlist()["oversubscribed"], "the GPU still rotates through idle programs")
        self.until(lambda: self.runlist()["mapped_processes"] < VMIDS, "idle programs keep their VMIDs")
        held = [job for job in self.json("top")["jobs"] if job["class"] == "online" and job["suspends"]]
        self.assertEqual(held, [])  # that denies them nothing
        for turn in (3, 4):
            for process in servers:
                self.assertEqual(self.serve(process), f"done {turn}")
        self.assertFalse(self.runlist()["oversubscribed"])
        # Without the daemon everything is as it was.
        daemon.terminate()
        daemon.wait(test_gpreemptd.LIMIT)
        self.until(lambda: self.runlist()["oversubscribed"], "programs stay off the GPU without the daemon")
        self.assertEqual(self.serve(servers[0]), "done 5")
        for process in servers + [batch]:
            process.kill()


del test_gpreemptd.Daemon  # its own tests run elsewhere

if __name__ == "__main__":
    unittest.main()
