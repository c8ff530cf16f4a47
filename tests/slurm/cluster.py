# SPDX-License-Identifier: MIT
"""A cluster of Slurm on this host: one slurmctld and three slurmds, each with a virtual GPU and a gpreemptd of its own,
and jobs of a normal user. Nothing outside its directory is used or changed."""
import glob
import json
import os
import pwd
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time

BIN = os.environ["GP_BIN"]
BUILD = os.path.dirname(BIN)
GPREEMPT = os.path.join(BIN, "gpreempt")
PLUGINS = os.environ.get("GP_SLURM_PLUGINS", os.path.join(BUILD, "src", "slurm"))
TRAINER = os.path.join(BUILD, "examples", "offline_trainer")
USER = "nobody"
NODES = ("n1", "n2", "n3")
LIMIT = int(os.environ.get("GP_SLURM_LIMIT", "120"))


def free_ports(count):
    """The first of `count` ports that nothing uses."""
    for first in range(21800 + os.getpid() % 400 * 10, 30000, 10):
        sockets = [socket.socket() for _ in range(count)]
        try:
            for i, one in enumerate(sockets):
                one.bind(("127.0.0.1", first + i))
            return first
        except OSError:
            continue
        finally:
            for one in sockets:
                one.close()
    raise AssertionError("no free ports")


def missing():
    """Why the cluster cannot be started here; None: it can."""
    if os.geteuid() != 0:
        return "root is needed to be a cluster"
    for program in ("slurmctld", "slurmd", "munged", "sbatch", "setpriv"):
        if not shutil.which(program) and not os.path.exists("/usr/sbin/" + program):
            return f"{program} is not installed"
    if not os.path.exists(os.path.join(PLUGINS, "task_gpreempt.so")):
        return "built without the plugins for Slurm (libslurm-dev)"
    if not os.path.exists(TRAINER):
        return "HIP is not installed"
    return None


SLURM_CONF = """ClusterName=gpreempt
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmctldPort={port}
AuthType=auth/munge
AuthInfo=socket={place}/munge.sock
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/spool-%n
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd-%n.pid
SlurmctldLogFile={place}/slurmctld.log
SlurmdLogFile={place}/slurmd-%n.log
ProctrackType=proctrack/{proctrack}
PluginDir={plugins}:{slurm}
SchedulerTimeSlice=10
ReturnToService=2
MpiDefault=none
PlugStackConfig={place}/plugstack.conf
JobRequeue=1
KillWait=2
MessageTimeout=20
SlurmdTimeout=300
{recipe}
PartitionName=gang Nodes=n3 PriorityTier=1 OverSubscribe=FORCE:2 PreemptMode=SUSPEND
{accounting}"""


def recipe(name):
    """The lines that the guide gives for a file."""
    guide = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "guides", "slurm.md")
    with open(guide) as file:
        return re.search(rf"```{name}\n(.*?)```", file.read(), re.DOTALL).group(1)


def cgroup_version():
    """Of the control groups that Slurm can use here; None: of none. It refuses a mixture."""
    with open("/proc/self/cgroup") as file:
        if file.read().startswith("0::"):
            return 2 if os.access("/sys/fs/cgroup/cgroup.subtree_control", os.W_OK) else None
    return 1 if os.access("/sys/fs/cgroup/freezer/release_agent", os.W_OK) else None


def cannot_freeze():
    """Why slurmd cannot freeze jobs here; None: it can."""
    version = cgroup_version()
    if not version:
        return "the control groups of this machine cannot be changed"
    return None if glob.glob(f"/usr/lib/*/slurm-wlm/cgroup_v{version}.so") else f"Slurm has no plugin cgroup/v{version}"


class Daemon:
    """A process that is not a child, as subprocess.Popen has one that is."""

    def __init__(self, pid):
        self.pid, self.descriptor = pid, os.pidfd_open(pid)

    def poll(self):
        return 0 if select.select([self.descriptor], [], [], 0)[0] else None

    def send_signal(self, number):
        signal.pidfd_send_signal(self.descriptor, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)

    def wait(self, limit=None):
        if not select.select([self.descriptor], [], [], limit)[0]:
            raise subprocess.TimeoutExpired("slurmd", limit)


class Cluster:
    """Of three nodes. With `freeze`, of one, whose jobs are in control groups, which Slurm freezes."""

    def __init__(self, freeze=False):
        self.freeze = freeze
        self.nodes = NODES[:1] if freeze else NODES
        self.place = tempfile.mkdtemp(prefix="gpslurm")
        os.chmod(self.place, 0o755)
        self.home = os.path.join(self.place, "home")
        self.user = pwd.getpwnam(USER)
        os.mkdir(self.home, 0o700)
        os.chown(self.home, self.user.pw_uid, self.user.pw_gid)
        self.env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "HOME": self.place,
                    "SLURM_CONF": os.path.join(self.place, "slurm.conf")}
        self.started, self.machine = {}, {}
        self.port = free_ports(10)
        self.has_database = not freeze and all(os.path.exists(path) for path in ("/usr/sbin/slurmdbd", "/usr/sbin/mariadbd"))

    # ---- starting and ending ----

    def start(self):
        self.write_configuration()
        self.start_munge()
        self.start_accounting()
        for node in self.nodes:
            self.start_node(node)
        self.spawn("slurmctld", ["slurmctld", "-D", "-c"])
        self.until(lambda: set(self.run("sinfo", "-h", "-N", "-t", "idle", "-o", "%N").stdout.split()) == set(self.nodes),
                   "the nodes are not idle")

    def write_configuration(self):
        slurm = glob.glob("/usr/lib/*/slurm-wlm") + ["/usr/lib64/slurm"]
        host = os.uname().nodename.split(".")[0]
        accounting = "AccountingStorageType=accounting_storage/none\n"
        if self.has_database:
            accounting = ("AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=localhost\n"
                          f"AccountingStoragePort={self.port + 8}\nAccountingStoragePass={self.place}/munge.sock\nAccountingStoreFlags=job_comment\n")
        here = f" NodeHostname={host} NodeAddr=127.0.0.1 Port=[{self.port + 1}-{self.port + 3}] RealMemory=100"
        lines = re.sub(r"(?m)^NodeName=.*$", lambda line: line.group() + here, recipe("slurm.conf"))
        if self.freeze:
            self.write("cgroup.conf", f"CgroupPlugin=cgroup/v{cgroup_version()}\nIgnoreSystemd=yes\nCgroupMountpoint=/sys/fs/cgroup\n")
        self.write("slurm.conf", SLURM_CONF.format(proctrack="cgroup" if self.freeze else "linuxproc", host=host, port=self.port, place=self.place, plugins=PLUGINS, slurm=slurm[0],
                                                   recipe=lines, accounting=accounting))
        self.write("gres.conf", re.sub("File=.*", "File=/dev/null", recipe("gres.conf")))
        self.write("plugstack.conf", recipe("plugstack.conf").replace(
            "gpreempt_spank.so", f"{PLUGINS}/gpreempt_spank.so agent={BUILD}/lib/libgpreempt_agent.so directory={self.place}/%n"))

    def write(self, name, text):
        with open(os.path.join(self.place, name), "w") as file:
            file.write(text)

    def start_munge(self):
        key = os.path.join(self.place, "munge.key")
        with open(key, "wb") as file:
            file.write(os.urandom(1024))
        os.chmod(key, 0o400)
        paths = [f"--{name}={self.place}/munge.{end}" for name, end in (
            ("key-file", "key"), ("socket", "sock"), ("pid-file", "pid"), ("log-file", "log"), ("seed-file", "seed"))]
        self.spawn("munged", ["munged", "-F", "--force", *paths])
        self.until(lambda: os.path.exists(os.path.join(self.place, "munge.sock")), "munged does not start")

    def start_accounting(self):
        if not self.has_database:
            return
        data = os.path.join(self.place, "data")
        done = self.run("mariadb-install-db", "--no-defaults", "--user=root", "--datadir=" + data, "--auth-root-authentication-method=normal",
                        "--skip-test-db")
        assert done.returncode == 0, done.stderr
        self.spawn("mariadbd", ["mariadbd", "--no-defaults", "--user=root", "--datadir=" + data, f"--socket={self.place}/sql.sock",
                                f"--port={self.port + 9}", "--bind-address=127.0.0.1", "--skip-grant-tables",
                                "--innodb-buffer-pool-size=16M", "--innodb-flush-log-at-trx-commit=0"])
        self.until(lambda: os.path.exists(os.path.join(self.place, "sql.sock")), "mariadbd does not start")
        path = os.path.join(self.place, "slurmdbd.conf")
        with open(path, "w") as file:
            file.write(f"AuthType=auth/munge\nAuthInfo=socket={self.place}/munge.sock\nDbdHost=localhost\nDbdPort={self.port + 8}\n"
                       f"SlurmUser=root\nLogFile={self.place}/slurmdbd.log\nPidFile={self.place}/slurmdbd.pid\n"
                       f"StorageType=accounting_storage/mysql\nStorageHost=127.0.0.1\nStoragePort={self.port + 9}\nStorageUser=root\n"
                       "StoragePass=x\nStorageLoc=slurm_acct_db\n")
        os.chmod(path, 0o600)
        self.spawn("slurmdbd", ["slurmdbd", "-D"])
        self.until(lambda: self.run("sacctmgr", "-n", "show", "cluster").returncode == 0, "slurmdbd does not start")

    def start_node(self, node):
        """A machine of the user's, a gpreemptd of root's, a slurmd."""
        done = self.as_user(GPREEMPT, "vgpu", "start", "--runtime-enable", "--name", node)
        assert done.returncode == 0, done.stderr
        machine = self.as_user(GPREEMPT, "vgpu", "--name", node, "--", "env").stdout.splitlines()
        machine = dict(line.split("=", 1) for line in machine if line.startswith(("GPREEMPT_VGPU", "LD_PRELOAD=")))
        os.makedirs(self.sockets(node), 0o755, exist_ok=True)
        self.machine[node] = machine
        # The rule takes no job of Slurm out of its group, if gpreemptd knows it by its control group.
        self.write("gpreemptd.conf", "[daemon]\nmode = act\nstand_down = no\noperation_timeout = 30s\n" +
                   ("[rule all]\nexecutable = *\ngroup = all\n" if self.freeze else ""))
        self.start_gpreemptd(node)
        self.start_slurmd(node)

    def sockets(self, node):
        return os.path.join(self.place, node)

    def start_gpreemptd(self, node):
        name = "gpreemptd-" + node

        def answers():
            # Other tests may have all of the machine's inotify instances for a moment.
            if name not in self.started or self.started[name].poll() is not None:
                self.spawn(name, [os.path.join(BIN, "gpreemptd"), "--config", os.path.join(self.place, "gpreemptd.conf")],
                           GPREEMPT_DIR=self.sockets(node), **self.machine[node])
            return self.gpreempt(node, "top", "--once").returncode == 0
        self.until(answers, "gpreemptd does not start")

    def start_slurmd(self, node, forks=False):
        """As a service (-D), or as a command that leaves a daemon behind. It listens when this returns: it loads its plugins
        before that, and slurmctld sends a suspension or its end only once."""
        name = "slurmd-" + node
        pid_file = os.path.join(self.place, name + ".pid")
        if os.path.exists(pid_file):
            os.unlink(pid_file)
        process = self.spawn(name, ["slurmd", *([] if forks else ["-D"]), "-N", node], GPREEMPT_DIR=self.sockets(node))
        if forks:
            process.wait(LIMIT)
        # Written after it began to listen.
        self.until(lambda: os.path.exists(pid_file) and os.path.getsize(pid_file), "slurmd does not start")
        if forks:
            with open(pid_file) as file:
                self.started[name] = Daemon(int(file.read()))

    def spawn(self, name, command, **variables):
        with open(os.path.join(self.place, name + ".out"), "a") as out:
            self.started[name] = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                                                  env=dict(self.env, **variables), start_new_session=True)
        return self.started[name]

    def end(self, name, how=signal.SIGTERM):
        process = self.started.pop(name)
        process.send_signal(how)
        try:
            process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def stop(self):
        if "slurmctld" in self.started:
            self.run("scancel", "--user", USER)
            deadline = time.monotonic() + 20
            while self.run("squeue", "-h").stdout.strip() and time.monotonic() < deadline:
                time.sleep(0.2)
        for name in reversed(list(self.started)):
            self.end(name)
        for node in self.nodes:
            subprocess.run([GPREEMPT, "release", "--all"], env=dict(self.env, GPREEMPT_DIR=self.sockets(node)),
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=LIMIT)
            self.as_user(GPREEMPT, "vgpu", "stop", "--name", node)
        shutil.rmtree(self.place, ignore_errors=True)

    # ---- commands ----

    def run(self, *command, **more):
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT,
                              env=dict(self.env, **more))

    def as_user(self, *command):
        return subprocess.run(["setpriv", "--reuid", str(self.user.pw_uid), "--regid", str(self.user.pw_gid), "--clear-groups",
                               *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT, cwd="/",
                              env=dict(self.env, HOME=self.home, XDG_RUNTIME_DIR=self.home))

    def gpreempt(self, node, *arguments):
        return self.run(GPREEMPT, *arguments, GPREEMPT_DIR=self.sockets(node))

    def jobs(self, node):
        done = self.gpreempt(node, "top", "--json")
        return json.loads(done.stdout)["jobs"] if done.returncode == 0 else []

    def until(self, condition, message, limit=LIMIT):
        deadline = time.monotonic() + limit
        while True:
            found = condition()
            if found:
                return found
            if time.monotonic() > deadline:
                # The message is last: of a long output the test runner shows the end.
                raise AssertionError(f"{self.describe()}\n{message}")
            time.sleep(0.05)

    def describe(self):
        parts = [self.run("squeue").stdout, self.run("sinfo", "-N").stdout] if "slurmctld" in self.started else []
        for path in sorted(glob.glob(os.path.join(self.place, "*.log")) + glob.glob(os.path.join(self.home, "*.out"))):
            with open(path, errors="replace") as file:
                parts.append(f"--- {os.path.basename(path)}\n" + "".join(file.readlines()[-12:]))
        parts += [f"{name}: ended with status {process.poll()}" for name, process in self.started.items() if process.poll() is not None]
        for node in self.nodes:
            log = self.gpreempt(node, "log", "--lines", "12")
            parts.append(f"--- {node}\n{log.stdout}{log.stderr}")
            if log.returncode and "gpreemptd-" + node in self.started:
                parts.append(self.threads(self.started["gpreemptd-" + node].pid))
            parts += [json.dumps(job) for job in self.jobs(node)]
            parts += [f"mapped: {self.mapped(node, job['pid'])}, " + subprocess.run(
                ["ps", "-o", "pid,stat,wchan:20,time,args", "-p", str(job["pid"])], stdout=subprocess.PIPE, text=True).stdout
                for job in self.jobs(node)]
        return "\n".join(parts)

    def threads(self, pid):
        """Where the threads of a process wait."""
        lines = []
        for task in sorted(glob.glob(f"/proc/{pid}/task/*")):
            try:
                lines += [f"{os.path.basename(task)}: {open(os.path.join(task, name)).read().strip()}" for name in ("wchan", "syscall", "stack")]
            except OSError as error:
                lines.append(f"{task}: {error}")
        return "\n".join(lines)

    # ---- jobs ----

    def submit(self, *options, script=None):
        """A trainer on each node of the job; its number."""
        path = os.path.join(self.place, "job.sh")
        with open(path, "w") as file:
            file.write(script or f"#!/bin/bash\nexport XDG_RUNTIME_DIR={self.home}\n"
                       f"train='exec {GPREEMPT} vgpu --name $SLURMD_NODENAME -- {TRAINER} --seconds 600'\n"
                       "if [[ $SLURM_NNODES == 1 ]]; then eval \"$train\"; else srun bash -c \"$train\"; fi\n")
        os.chmod(path, 0o755)
        done = self.as_user("sbatch", "--parsable", "-o", f"{self.home}/job-%j.out", "-D", "/", *options, path)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip().split(";")[0]

    def state(self, job):
        return self.run("squeue", "-h", "-j", job, "-o", "%T").stdout.strip()

    def marks(self, node):
        """Jobs that the task plugin of a node has marked as suspended."""
        try:
            return [name for name in os.listdir(os.path.join(self.sockets(node), "slurm")) if name.isdigit()]
        except FileNotFoundError:
            return []

    def as_machine(self, node, *command):
        """Of the machine's user, who sees its GPU, with the gpreemptd of the node."""
        return self.as_user(GPREEMPT, "vgpu", "--name", node, "--", "env", f"GPREEMPT_DIR={self.sockets(node)}", *command)

    def job_on(self, node, job):
        """The job as the gpreemptd of a node has it."""
        return next((one for one in self.jobs(node) if one["group"] == f"slurm-{job}"), None)

    def until_busy(self, job, nodes):
        for node in nodes:
            self.until(lambda node=node: (self.job_on(node, job) or {}).get("busy_queues"), f"job {job} has no work on {node}")

    def mapped(self, node, pid):
        """Whether a queue of the process that has work is on the GPU, as the machine itself has it. An agent leaves queues that
        have rested where they are, and stops them when they get work."""
        status = json.loads(self.as_user(GPREEMPT, "vgpu", "status", "--json", "--name", node).stdout)
        return any(queue["mapped"] and queue["submitted"] > queue["completed"]
                   for process in status["processes"] if process["pid"] == pid for queue in process["queues"])
