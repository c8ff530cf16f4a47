# SPDX-License-Identifier: MIT
"""A client of the agent that speaks src/proto directly, and a stage for programs with an agent."""
import mmap
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
import unittest

BIN = os.environ["GP_BIN"]
GPREEMPT = os.path.join(BIN, "gpreempt")
BUILD = os.path.dirname(BIN)
AGENT = os.path.join(BUILD, "lib", "libgpreempt_agent.so")
PROGRAMS = os.path.join(BUILD, "tests", "vgpu", "programs")
LIMIT = 60  # seconds; ends a hang, measures nothing

VERSION = 5
HELLO, WATCH, QUEUES, SUSPEND, RESUME, RENEW, SHARE, PRIORITY = 1, 64, 65, 66, 67, 68, 69, 70
EDGE, CHANGED, REQUEST = 96, 97, 98
HEADER = struct.Struct("=HHIIi")
HELLO_BODY = struct.Struct("=IIIIQ64s64s")
QUEUE = struct.Struct("=iIIIQIIQQQQQIIIiQ")
QUEUE_NAMES = ("pid gpu_id valid kfd_id hsa_id type state ring ring_bytes object read_index write_index "
               "hardware_priority logical_priority busy owner_pid since_ns").split()
SUSPEND_BODY = struct.Struct("=IIIIIIQ")
DONE = struct.Struct("=QQQII")
EDGE_BODY = struct.Struct("=QII")
REQUEST_BODY = struct.Struct("=QQII")
RUNNING, SUSPENDED = 0, 1
SLOT = struct.Struct("=IIIIQQQII")


class Gone(Exception):
    """The agent ended the connection."""


class Refused(Exception):
    def __init__(self, errno, body):
        super().__init__(os.strerror(errno))
        self.errno = errno
        self.code = struct.unpack_from("=IH", body)[1]  # of its first reason
        self.text = body.split(b"\0")[0].decode(errors="replace")  # of a refused version


class Client:
    """One connection: an owner of suspensions."""

    def __init__(self, path, hello=True):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(LIMIT)
        self.socket.connect(path)
        self.serial = 0
        self.events = []
        self.fd = None
        if hello:
            self.hello = self.greet()

    def close(self):
        self.socket.close()

    def send(self, kind, body=b"", version=VERSION):
        self.serial += 1
        try:
            self.socket.send(HEADER.pack(version, kind, HEADER.size + len(body), self.serial, 0) + body)
        except (BrokenPipeError, ConnectionResetError):
            raise Gone() from None

    def receive(self):
        try:
            data, fds, _, _ = socket.recv_fds(self.socket, 65536, 4)
        except ConnectionResetError:
            data, fds = b"", []
        if not data:
            raise Gone()
        _, kind, size, serial, status = HEADER.unpack_from(data)
        assert size == len(data), (size, len(data))
        if fds:
            self.fd = fds[0]
        return kind, serial, status, data[HEADER.size:]

    def answer(self):
        while True:
            kind, serial, status, body = self.receive()
            if serial == 0 and kind != HELLO:
                self.events.append((kind, body))
                continue
            if status < 0:
                raise Refused(-status, body)
            return status, body

    def call(self, kind, body=b""):
        self.send(kind, body)
        return self.answer()

    def event(self, kind):
        """The next event of this kind; others are dropped."""
        while True:
            while self.events:
                found, body = self.events.pop(0)
                if found == kind:
                    return body
            found, serial, _, body = self.receive()
            assert serial == 0, found
            self.events.append((found, body))

    def greet(self):
        _, body = self.call(HELLO, HELLO_BODY.pack(os.getpid(), 0, 0, 0, 0, b"", b"test"))
        pid, priority, job_class, weight, deadline, group, name = HELLO_BODY.unpack(body)
        return {"pid": pid, "priority": priority, "class": job_class, "weight": weight, "deadline_us": deadline,
                "group": group.split(b"\0")[0].decode(), "name": name.split(b"\0")[0].decode()}

    def queues(self):
        total, body = self.call(QUEUES)
        count = struct.unpack_from("=II", body)[0]
        found = [dict(zip(QUEUE_NAMES, QUEUE.unpack_from(body, 8 + i * QUEUE.size))) for i in range(count)]
        assert total == count
        return {queue["kfd_id"]: queue for queue in found}

    def rings(self, size=65536):
        """Ids of the queues of this size, which are the program's own, in order."""
        return sorted(kfd_id for kfd_id, queue in self.queues().items() if queue["ring_bytes"] == size)

    @staticmethod
    def ask(ids=(), lease=0, limit=0, timeout=0):
        return SUSPEND_BODY.pack(0, lease, limit, timeout, 0, len(ids), time.monotonic_ns()) + \
            struct.pack(f"={len(ids)}I", *ids)

    def suspend(self, ids=(), lease=120000, limit=600000, timeout=0):
        status, body = self.call(SUSPEND, self.ask(ids, lease, limit, timeout))
        return status, dict(zip("issue_ns driver_ns skew_ns queues processes".split(), DONE.unpack(body)))

    def resume(self, ids=()):
        return self.call(RESUME, self.ask(ids))[0]

    def renew(self, lease=0):
        return self.call(RENEW, self.ask(lease=lease))[0]

    def share(self, thousandths, first=0):
        return self.call(SHARE, struct.pack("=II", first, thousandths))[0]

    def watch(self, edges=True):
        """The shared memory, read-only."""
        self.call(WATCH, struct.pack("=II", edges, 0))
        return Activity(self.fd)

    def edge(self):
        now, busy, queue = EDGE_BODY.unpack(self.event(EDGE))
        return {"now_ns": now, "busy": busy, "queue": queue}

    def priority(self, value):
        return self.call(PRIORITY, struct.pack("=II", 0, value))[0]


class Activity:
    """struct gp_proto_activity in the memory a watcher got."""
    NAMES = ("generation", "kfd_id", "gpu_id", "state", "ring", "doorbells", "last_ring_ns", "logical_priority",
             "suspended")
    DRAINED, BUSY, UNKNOWN = 0, 1, 2

    def __init__(self, fd):
        self.fd = fd
        self.memory = mmap.mmap(fd, 64 + 1024 * 64, mmap.MAP_SHARED, mmap.PROT_READ)

    def head(self):
        names = ("magic", "slots", "busy_queues", "open_requests", "edges")
        return dict(zip(names, struct.unpack_from("=IIIIQ", self.memory)))

    def slot(self, kfd_id):
        return dict(zip(self.NAMES, SLOT.unpack_from(self.memory, 64 + kfd_id * 64)))

    def close(self):
        self.memory.close()
        os.close(self.fd)


class Stage(unittest.TestCase):
    """Each test has its own directories and, if it wants one, its own virtual machine."""

    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="gpa")
        self.addCleanup(shutil.rmtree, self.place, True)
        self.env = dict(os.environ, LC_ALL="C.UTF-8", XDG_RUNTIME_DIR=self.place,
                        GPREEMPT_DIR=os.path.join(self.place, "sockets"))
        for name in list(self.env):
            if name in ("LANGUAGE", "LD_PRELOAD", "HSA_TOOLS_LIB", "LD_AUDIT") or \
                    (name.startswith("GPREEMPT_") and name != "GPREEMPT_DIR"):
                self.env.pop(name)

    def machine(self, *options):
        subprocess.run([GPREEMPT, "vgpu", "start", *options], env=self.env, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(subprocess.run, [GPREEMPT, "vgpu", "stop"], env=self.env, stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL)

    def launch(self, *command, env=()):
        """A process with pipes, in a session of its own; it and what it started end with the test."""
        process = subprocess.Popen(command, env=dict(self.env, **dict(env)), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.addCleanup(self.end, process)
        return process

    def start(self, *command, run=(), env=()):
        """A program with an agent on the machine."""
        return self.launch(GPREEMPT, "vgpu", "--", GPREEMPT, "run", *run, "--", *command, env=env)

    @staticmethod
    def end(process):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            pipe.close()

    def until(self, condition, what):
        deadline = time.monotonic() + LIMIT
        while True:
            value = condition()
            if value:
                return value
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.005)

    def sockets(self):
        directory = os.path.join(self.place, "sockets", "agents")
        names = os.listdir(directory) if os.path.isdir(directory) else []
        return [os.path.join(directory, name) for name in names if name.endswith(".sock")]

    def connect(self):
        path = self.until(self.sockets, "no agent listens")[0]
        client = Client(path)
        self.addCleanup(client.close)
        return client

    def line(self, program, expected):
        """Waits for a line of the program's output."""
        ready, _, _ = select.select([program.stdout], [], [], LIMIT)
        self.assertTrue(ready, f"no line '{expected}'")
        got = program.stdout.readline().strip()
        self.assertEqual(got, expected, got or program.stderr.read())

    def finish(self, program, text=""):
        out, errors = program.communicate(text, timeout=LIMIT)
        self.assertEqual(program.returncode, 0, errors)
        return out
