# SPDX-License-Identifier: MIT
"""gpreempt with the real Slurm: classes of jobs, suspension before Slurm stops a job, accounting, and faults. Three nodes on
this host, each with a virtual GPU; the jobs are a normal user's."""
import json
import os
import signal
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cluster as of
from cluster import BIN, GPREEMPT, NODES

WHY_NOT = of.missing()
cluster = None


class OnCluster(unittest.TestCase):
    freeze = False

    @classmethod
    def setUpClass(cls):
        global cluster
        cluster = of.Cluster(cls.freeze)
        try:
            cluster.start()
        except BaseException:
            cluster.stop()
            raise

    @classmethod
    def tearDownClass(cls):
        cluster.stop()

    def tearDown(self):
        cluster.run("scancel", "--user", of.USER)
        cluster.until(lambda: not cluster.run("squeue", "-h").stdout.strip(), "jobs stay")

    def trainer(self, *options, nodes=("n1",), partition="low"):
        job = cluster.submit("-p", partition, "--gres=shard:1", "-w", ",".join(nodes), "-N", str(len(nodes)), *options)
        cluster.until_busy(job, nodes)
        return job

    def kept(self, node, job):
        return (cluster.job_on(node, job) or {}).get("kept") == "held"

    def until_held(self, job, *nodes):
        for node in nodes:
            def off(node=node):
                found = cluster.job_on(node, job)
                return found and found["kept"] == "held" and not cluster.mapped(node, found["pid"])
            cluster.until(off, f"job {job} is not held on {node}")

    def until_running(self, job, *nodes):
        for node in nodes:
            def runs(node=node):
                found = cluster.job_on(node, job)
                return found and not found["away"] and found["busy_queues"] and cluster.mapped(node, found["pid"])
            cluster.until(runs, f"job {job} does not run on {node}")

    def suspend(self, job):
        done = cluster.run("scontrol", "suspend", job)
        self.assertEqual(done.returncode, 0, done.stderr)

    def resume(self, job):
        done = cluster.run("scontrol", "resume", job)
        self.assertEqual(done.returncode, 0, done.stderr)

    def is_stopped(self, pid):
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] in "Tt"

    def until_stopped(self, pid):
        """Slurm stops the processes two seconds after it asks them to stop."""
        cluster.until(lambda: self.is_stopped(pid), f"Slurm does not stop process {pid}")

    def comment(self, job):
        return cluster.run("sacct", "-n", "-P", "-X", "-j", job, "-o", "AdminComment").stdout


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Slurm(OnCluster):
    # ---- options ----

    def test_wrong_options_are_refused_at_submission(self):
        script = "#!/bin/bash\ntrue\n"
        for option, text in (("--gpreempt-class=fast", "use online, normal or offline"),
                             ("--gpreempt-weight=0", "use 1 to 100"), ("--gpreempt-weight=1x", "use 1 to 100")):
            with self.assertRaises(AssertionError) as failure:
                cluster.submit(option, script=script)
            self.assertIn(text, str(failure.exception))

    def environment(self, *options):
        out = os.path.join(cluster.home, "environment")
        job = cluster.submit(*options, script=f"#!/bin/bash\nenv -0 > {out}.new; mv {out}.new {out}\n")
        cluster.until(lambda: os.path.exists(out), "the job does not run")
        with open(out) as file:
            lines = file.read().split("\0")
        os.unlink(out)
        return job, dict(line.split("=", 1) for line in lines if "=" in line)

    def test_a_job_gets_what_gpreempt_run_sets(self):
        job, got = self.environment("-p", "high", "-w", "n1", "--gpreempt-class=online", "--gpreempt-weight=3")
        run = cluster.as_user(GPREEMPT, "run", "--class", "online", "--weight", "3", "--group", f"slurm-{job}", "--", "env").stdout
        wanted = dict(line.split("=", 1) for line in run.splitlines() if "=" in line)

        def ours(variables):
            return {name: os.path.realpath(value) if "/" in value else value for name, value in variables.items()
                    if name.startswith(("GPREEMPT_", "LD_PRELOAD", "HSA_"))}
        got, wanted = ours(got), ours(wanted)
        self.assertIn("LD_PRELOAD", wanted)
        # Of the node.
        self.assertEqual(got.pop("GPREEMPT_DIR"), os.path.realpath(cluster.sockets("n1")))
        self.assertEqual(got, wanted)
        # The default of a partition, and none.
        self.assertEqual(self.environment("-p", "low")[1]["GPREEMPT_CLASS"], "offline")
        self.assertNotIn("LD_PRELOAD", self.environment("-p", "gang")[1])

    # ---- suspend and resume ----

    def test_a_job_leaves_the_gpu_before_slurm_stops_it_and_runs_when_it_is_resumed(self):
        job = self.trainer()
        self.suspend(job)
        self.until_held(job, "n1")
        # Until Slurm stops the process: then its agent does not answer the holder, which gives it up.
        holds = json.loads(cluster.gpreempt("n1", "status", "--json").stdout)["holds"]
        self.assertIn([one["owner"] for one in holds], (["slurm"], []))
        self.assertEqual(cluster.job_on("n1", job)["owner"], "slurm")
        self.until_stopped(cluster.job_on("n1", job)["pid"])
        self.until_held(job, "n1")
        held = [json.loads(line) for line in cluster.gpreempt("n1", "log", "--json").stdout.splitlines()]
        self.assertEqual([line["away"] for line in held if line["kind"] == "kept"][-1], "owner")
        # Every view names Slurm, not the process that holds it.
        pid = cluster.job_on("n1", job)["pid"]
        self.assertRegex(cluster.gpreempt("n1", "top", "--once").stdout, r"by slurm")
        ps = json.loads(cluster.as_machine("n1", GPREEMPT, "ps", "--json").stdout)["processes"]
        self.assertEqual([one["held_by"] for one in ps if one["pid"] == pid], ["slurm"])
        self.assertRegex(cluster.as_machine("n1", GPREEMPT, "ps").stdout, r"OWNER(.|\n)*slurm")
        self.assertIn("held by slurm", cluster.gpreempt("n1", "why", str(pid)).stdout)
        self.resume(job)
        self.until_running(job, "n1")

    def signalled(self, job):
        """When Slurm sent SIGTSTP, which comes before its SIGSTOP, to a process of the job; None: not yet."""
        try:
            with open(f"{cluster.home}/signalled-{job}") as file:
                return int(file.read())
        except (OSError, ValueError):
            return None

    def held_at(self, job):
        lines = [json.loads(line) for line in cluster.gpreempt("n1", "log", "--json").stdout.splitlines()]
        return [line["monotonic_ns"] for line in lines if line["kind"] == "kept" and line["job"]["name"] == f"slurm-{job}"]

    def test_the_gpu_is_free_before_slurm_signals_the_job(self):
        """The order, by the clock of the machine. gpreemptd has a second; on a busy machine it may need more, which slurmd's log
        says: then the order is open, and the next try decides."""
        witness = ("import signal, time, os\n"
                   f"out = '{cluster.home}/signalled-' + os.environ['SLURM_JOB_ID']\n"
                   "def note(*_):\n"
                   "    now = time.monotonic_ns()\n"
                   "    with open(out + '.new', 'w') as file:\n"
                   "        file.write(str(now))\n"
                   "    os.rename(out + '.new', out)\n"
                   "signal.signal(signal.SIGTSTP, note)\n"
                   "open(out + '.ready', 'w').close()\n"
                   "while True: time.sleep(1)\n")
        path = os.path.join(cluster.place, "witness.py")
        with open(path, "w") as file:
            file.write(witness)
        for _ in range(5):
            job = cluster.submit("-p", "low", "--gres=shard:1", "-w", "n1", script=(
                f"#!/bin/bash\nexport XDG_RUNTIME_DIR={cluster.home}\n/usr/bin/python3 {path} &\n"
                f"exec {GPREEMPT} vgpu --name n1 -- {of.TRAINER} --seconds 600\n"))
            cluster.until(lambda: os.path.exists(f"{cluster.home}/signalled-{job}.ready"), "no witness")
            cluster.until_busy(job, ["n1"])
            self.suspend(job)
            signalled = cluster.until(lambda: self.signalled(job), "Slurm does not signal the job")
            held = cluster.until(lambda: self.held_at(job), "the job is not held")
            cluster.run("scancel", job)
            with open(os.path.join(cluster.place, "slurmd-n1.log")) as file:
                late = f"job {job}: cannot suspend" in file.read()
            if not late:
                self.assertLess(held[0], signalled, "Slurm signalled the job before it was held")
                return
            cluster.until(lambda: not cluster.state(job), "the job stays")
        self.fail("gpreemptd never held the job in a second")

    def test_a_job_of_a_higher_partition_takes_the_gpu(self):
        low = self.trainer()
        high = cluster.submit("-p", "high", "--gres=shard:1", "-w", "n1")
        self.until_held(low, "n1")
        cluster.until_busy(high, ["n1"])
        cluster.run("scancel", high)
        self.until_running(low, "n1")

    def test_jobs_take_turns_in_gang_time_slices(self):
        first = self.trainer("--gpreempt-class=normal", nodes=("n3",), partition="gang")
        second = cluster.submit("-p", "gang", "--gres=shard:1", "--gpreempt-class=normal", "-w", "n3")
        for job in (first, second):
            self.until_held(job, "n3")
        self.until_held(first, "n3")

    def test_a_job_is_suspended_on_all_its_nodes(self):
        job = self.trainer(nodes=NODES)
        self.suspend(job)
        self.until_held(job, *NODES)
        times = []
        for node in NODES:
            lines = [json.loads(line) for line in cluster.gpreempt(node, "log", "--json").stdout.splitlines()]
            times.append([line["monotonic_ns"] for line in lines if line["kind"] == "kept" and line["job"]["name"] == f"slurm-{job}"][0])
        print(f"# skew of a suspension on {len(NODES)} nodes: {(max(times) - min(times)) / 1e6:.1f} ms (measured)")
        self.resume(job)
        self.until_running(job, *NODES)

    # ---- the end of a job ----

    def test_what_a_job_got_of_the_gpu_is_in_its_account(self):
        if not cluster.has_database:
            self.skipTest("slurmdbd and mariadb-server are not installed")
        job = self.trainer(nodes=("n1", "n2"))
        self.suspend(job)
        self.until_held(job, "n1", "n2")
        # The plugin has suspended it, and now the stop of its processes is followed: that is one suspension.
        for node in ("n1", "n2"):
            self.until_stopped(cluster.job_on(node, job)["pid"])
            cluster.until(lambda node=node: cluster.job_on(node, job)["away"], "the stop is not seen")
        self.resume(job)
        self.until_running(job, "n1", "n2")
        cluster.run("scancel", job)
        cluster.until(lambda: self.comment(job).count("gpreempt n") == 2, "no AdminComment")
        for node in ("n1", "n2"):
            self.assertRegex(self.comment(job), rf"gpreempt {node}: ran=[0-9.]+s held=[0-9.]+s suspensions=1 longest_hold=[0-9.]+s")

    def test_each_task_of_an_array_has_its_own_account(self):
        """The number of one of the tasks is that of the array as well."""
        if not cluster.has_database:
            self.skipTest("slurmdbd and mariadb-server are not installed")
        array = cluster.submit("-p", "low", "--gres=shard:1", "--array=0-1")
        tasks = cluster.until(lambda: (lambda found: found if len(found) == 2 else None)(
            dict(line.split() for line in cluster.run("squeue", "-h", "-r", "-t", "R", "-o", "%A %B").stdout.splitlines())),
            "the tasks do not run")
        self.assertIn(array, tasks)
        for job, node in tasks.items():
            cluster.until_busy(job, [node])
        cluster.run("scancel", array)

        def comments():
            lines = cluster.run("sacct", "-n", "-P", "-X", "-j", array, "-o", "JobIDRaw,AdminComment").stdout.splitlines()
            return {line.split("|", 1)[0]: line.split("|", 1)[1] for line in lines}
        cluster.until(lambda: all("gpreempt n" in comments().get(job, "") for job in tasks), "no AdminComment")
        for job, node in tasks.items():
            self.assertRegex(comments()[job], rf"^gpreempt {node}: [^;]*$")

    def test_scancel_of_a_suspended_job_ends_the_hold(self):
        job = self.trainer()
        self.suspend(job)
        self.until_held(job, "n1")
        self.until_stopped(cluster.job_on("n1", job)["pid"])
        self.assertEqual(cluster.marks("n1"), [job])
        cluster.run("scancel", job)
        cluster.until(lambda: not cluster.state(job), "the job stays")
        cluster.until(lambda: not cluster.marks("n1"), "the mark of the job stays")
        self.until_running(self.trainer(), "n1")

    def test_the_mark_of_a_job_that_is_gone_does_not_stay(self):
        """As one that a node leaves behind when it goes down."""
        job = self.trainer()
        self.suspend(job)
        self.until_held(job, "n1")
        old = os.path.join(cluster.sockets("n1"), "slurm", "999999")
        cluster.end("slurmd-n1", signal.SIGKILL)
        with open(old, "w"):
            os.utime(old, (time.time() - 3600,) * 2)
        # As old, of a job that is there.
        os.utime(os.path.join(cluster.sockets("n1"), "slurm", job), (time.time() - 3600,) * 2)
        cluster.start_slurmd("n1")
        cluster.until(lambda: not os.path.exists(old), "the mark stays")
        self.assertEqual(cluster.marks("n1"), [job])
        self.resume(job)
        self.until_running(job, "n1")

    def test_a_requeued_job_runs_again(self):
        job = self.trainer("--requeue")
        self.suspend(job)
        self.until_held(job, "n1")
        self.resume(job)
        self.until_running(job, "n1")
        pid = cluster.job_on("n1", job)["pid"]
        done = cluster.run("scontrol", "requeue", job)
        self.assertEqual(done.returncode, 0, done.stderr)
        cluster.until(lambda: not cluster.job_on("n1", job), "the job is not requeued")

        def started():
            # Slurm puts a requeued job off by two minutes.
            cluster.run("scontrol", "update", "jobid=" + job, "starttime=now")
            return (cluster.job_on("n1", job) or {}).get("pid", pid) != pid
        cluster.until(started, "it is not started again", 200)
        self.until_running(job, "n1")
        # It has the number of a job that is over, and is held as any other.
        self.suspend(job)
        cluster.until(lambda: cluster.job_on("n1", job)["owner"] == "slurm", "the plugin does not hold it")
        self.until_held(job, "n1")
        if cluster.has_database:
            # Each run was suspended once.
            cluster.run("scancel", job)
            cluster.until(lambda: "gpreempt n1" in self.comment(job), "no AdminComment")
            self.assertIn("suspensions=1 ", self.comment(job))

    # ---- faults ----

    def test_slurmd_is_killed_while_a_job_is_suspended(self):
        job = self.trainer()
        self.suspend(job)
        self.until_held(job, "n1")
        self.until_stopped(cluster.job_on("n1", job)["pid"])
        cluster.end("slurmd-n1", signal.SIGKILL)
        time.sleep(1)
        pid = cluster.job_on("n1", job)["pid"]
        cluster.until(lambda: self.kept("n1", job) and not cluster.mapped("n1", pid), "the stop is not followed")
        cluster.start_slurmd("n1")
        # The new slurmd holds it as the old one did, also if it is continued by somebody else.
        cluster.until(lambda: cluster.job_on("n1", job)["owner"] == "slurm", "slurmd does not hold it again")
        os.kill(pid, signal.SIGCONT)
        self.until_held(job, "n1")
        self.resume(job)
        self.until_running(job, "n1")

    def test_a_slurmd_that_becomes_a_daemon_holds_its_jobs_again(self):
        job = self.trainer()
        self.suspend(job)
        self.until_held(job, "n1")
        pid = cluster.job_on("n1", job)["pid"]
        self.until_stopped(pid)
        cluster.end("slurmd-n1", signal.SIGKILL)
        cluster.until(lambda: cluster.job_on("n1", job)["owner"] != "slurm", "the hold stays")
        # It loads its plugins, and then forks.
        cluster.start_slurmd("n1", forks=True)
        try:
            cluster.until(lambda: cluster.job_on("n1", job)["owner"] == "slurm", "slurmd does not hold it again")
            # What watches over the hold is in the daemon, not in the process that started it.
            cluster.end("gpreemptd-n1", signal.SIGKILL)
            cluster.start_gpreemptd("n1")
            os.kill(pid, signal.SIGCONT)
            cluster.until(lambda: (cluster.job_on("n1", job) or {}).get("owner") == "slurm", "the daemon does not hold it again")
            self.resume(job)
            self.until_running(job, "n1")
        finally:
            cluster.end("slurmd-n1")
            cluster.start_slurmd("n1")

    def test_gpreemptd_is_killed_while_a_job_is_suspended(self):
        job = self.trainer()
        self.suspend(job)
        self.until_held(job, "n1")
        self.until_stopped(cluster.job_on("n1", job)["pid"])
        pid = cluster.job_on("n1", job)["pid"]
        cluster.end("gpreemptd-n1", signal.SIGKILL)
        # What its agent suspended stays so: it is stopped.
        self.assertFalse(cluster.mapped("n1", pid))
        cluster.start_gpreemptd("n1")
        self.assertFalse(cluster.mapped("n1", pid))
        # The plugin comes back to the new gpreemptd: if the process is continued by somebody else, it is still held.
        os.kill(pid, signal.SIGCONT)
        cluster.until(lambda: (cluster.job_on("n1", job) or {}).get("owner") == "slurm", "the plugin does not hold it again")
        self.until_held(job, "n1")
        self.resume(job)
        self.until_running(job, "n1")
        self.suspend(job)
        self.until_held(job, "n1")

    def test_without_gpreemptd_jobs_start_suspend_and_end(self):
        cluster.end("gpreemptd-n2")
        try:
            job = cluster.submit("-p", "low", "-w", "n2")
            pid = cluster.until(self.trainer_pid, "it does not start")
            self.suspend(job)
            # By the process: slurmctld says so before slurmd has called its plugin.
            self.until_stopped(pid)
            self.resume(job)
            cluster.until(lambda: not self.is_stopped(pid), "it is not resumed")
            cluster.run("scancel", job)
            cluster.until(lambda: not cluster.state(job), "it does not end")
        finally:
            cluster.start_gpreemptd("n2")

    def test_a_hung_gpreemptd_holds_no_job_up(self):
        job = self.trainer(nodes=("n2",))
        cluster.started["gpreemptd-n2"].send_signal(signal.SIGSTOP)
        try:
            self.suspend(job)
            cluster.until(lambda: cluster.state(job) == "SUSPENDED", "it is not suspended")
            pid = self.trainer_pid()
            self.until_stopped(pid)
            self.resume(job)
            cluster.until(lambda: not self.is_stopped(pid), "it is not resumed")
            cluster.run("scancel", job)
            cluster.until(lambda: not cluster.state(job), "it does not end")
        finally:
            cluster.started["gpreemptd-n2"].send_signal(signal.SIGCONT)

    def trainer_pid(self):
        return next((int(pid) for pid in os.listdir("/proc") if pid.isdigit() and self.is_trainer(pid)), None)

    def is_trainer(self, pid):
        try:
            with open(f"/proc/{pid}/environ") as file:
                mine = cluster.home in file.read()
            with open(f"/proc/{pid}/comm") as file:
                return mine and file.read().strip() == "offline_trainer"
        except OSError:
            return False

    def test_a_drained_node_suspends_and_resumes_its_jobs(self):
        job = self.trainer(nodes=("n2",))
        cluster.run("scontrol", "update", "nodename=n2", "state=drain", "reason=test")
        try:
            self.suspend(job)
            self.until_held(job, "n2")
            self.resume(job)
            self.until_running(job, "n2")
        finally:
            cluster.run("scontrol", "update", "nodename=n2", "state=resume")


WHY_NO_FREEZER = WHY_NOT or of.cannot_freeze()


@unittest.skipIf(WHY_NO_FREEZER, WHY_NO_FREEZER)
class SlurmFreezes(OnCluster):
    """proctrack/cgroup, with the version of control groups that this machine has: Slurm freezes a suspended job."""
    freeze = True

    def is_frozen(self, pid):
        version = of.cgroup_version()
        with open(f"/proc/{pid}/cgroup") as file:
            groups = {line.split(":", 2)[1]: line.split(":", 2)[2].strip() for line in file}
        if version == 2:
            with open(f"/sys/fs/cgroup{groups['']}/cgroup.events") as file:
                return "frozen 1" in file.read()
        with open(f"/sys/fs/cgroup/freezer{groups['freezer']}/freezer.state") as file:
            return file.read().strip() == "FROZEN"

    def test_a_frozen_job_is_off_the_gpu_and_comes_back(self):
        job = self.trainer()
        pid = cluster.job_on("n1", job)["pid"]
        self.assertFalse(self.is_frozen(pid))
        self.suspend(job)
        self.until_held(job, "n1")
        self.assertEqual(cluster.job_on("n1", job)["owner"], "slurm")
        cluster.until(lambda: self.is_frozen(pid), "Slurm does not freeze the job")
        self.until_held(job, "n1")
        self.resume(job)
        self.until_running(job, "n1")
        self.assertFalse(self.is_frozen(pid))

    def test_scancel_of_a_frozen_job_ends_the_hold(self):
        job = self.trainer()
        pid = cluster.job_on("n1", job)["pid"]
        self.suspend(job)
        cluster.until(lambda: self.is_frozen(pid), "Slurm does not freeze the job")
        cluster.run("scancel", job)
        cluster.until(lambda: not cluster.state(job), "the job stays")
        cluster.until(lambda: not cluster.marks("n1"), "the mark of the job stays")
        self.until_running(self.trainer(), "n1")


if __name__ == "__main__":
    unittest.main()
