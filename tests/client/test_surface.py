# SPDX-License-Identifier: MIT
"""The libraries as a stranger meets them: what they export, and the proof of concept through ctypes alone."""
import ctypes
import errno
import os
import re
import select
import shutil
import subprocess
import tempfile
import time
import unittest

BUILD = os.path.dirname(os.environ["GP_BIN"])
LIB = os.path.join(BUILD, "lib")
SOURCE = os.path.dirname(os.path.dirname(os.environ["GP_FIXTURES"]))
LIMIT = 60


def exported(library):
    out = subprocess.run(["nm", "-D", "--defined-only", os.path.join(LIB, library)], check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    return {line.split()[2].split("@")[0] for line in out.splitlines() if line.split()[1] == "T"}


def declared(header):
    with open(os.path.join(SOURCE, "include", header)) as file:
        return set(re.findall(r"^(?:int|void|const char \*)\s*(gpreempt_\w+)\(", file.read(), re.M))


class Exports(unittest.TestCase):
    def test_are_the_functions_of_the_header_and_nothing_else(self):
        self.assertEqual(exported("libgpreempt.so.0"), declared("gpreempt.h"))
        self.assertEqual(exported("libgpreempt_poc.so"), declared("libgpreempt_poc.h"))

    def test_have_versions(self):
        out = subprocess.run(["nm", "-D", "--with-symbol-versions", os.path.join(LIB, "libgpreempt.so.0")],
                             check=True, stdout=subprocess.PIPE, text=True).stdout
        self.assertIn("gpreempt_target_suspend@@GPREEMPT_0.1", out)

    def test_the_header_is_all_a_program_needs(self):
        with tempfile.TemporaryDirectory() as place:
            source = os.path.join(place, "a.c")
            with open(source, "w") as file:
                file.write("#include <gpreempt.h>\n#include <libgpreempt_poc.h>\n"
                           "int main(void) { return gpreempt_version()[0] == 0 || gpreempt_poc_error()[0]; }\n")
            program = os.path.join(place, "a")
            done = subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                                   "-I" + os.path.join(SOURCE, "include"), source, "-o", program, "-L" + LIB,
                                   "-lgpreempt_poc", "-lgpreempt", "-Wl,-rpath," + LIB],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertEqual(subprocess.run([program], timeout=LIMIT).returncode, 0)


class Status(ctypes.Structure):
    _fields_ = [("queue_id", ctypes.c_uint32), ("gpu_id", ctypes.c_uint32), ("pid", ctypes.c_int32),
                ("valid", ctypes.c_uint32), ("is_suspended", ctypes.c_uint32), ("is_active", ctypes.c_uint32),
                ("ring_address", ctypes.c_uint64), ("rptr", ctypes.c_uint64), ("wptr", ctypes.c_uint64),
                ("priority", ctypes.c_uint32), ("suspended_by", ctypes.c_int32),
                ("suspended_since_ns", ctypes.c_uint64)]


class Poc(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="gpp")
        os.environ.update(GPREEMPT_DIR=self.place, GPREEMPT_HOLDER=os.environ["FAKE_HOLDER_PROGRAM"])
        os.environ.pop("FAKE_HOLDER", None)
        self.poc = ctypes.CDLL(os.path.join(LIB, "libgpreempt_poc.so"))
        self.poc.gpreempt_poc_error.restype = ctypes.c_char_p
        self.target = subprocess.Popen(["sleep", "infinity"])
        self.pid = self.target.pid

    def tearDown(self):
        self.target.kill()
        self.target.wait(LIMIT)
        try:
            with open(os.path.join(self.place, "holder.lock")) as file:
                holder = os.pidfd_open(int(file.read()))
        except (FileNotFoundError, ProcessLookupError):
            holder = -1
        self.poc.gpreempt_poc_close()
        if holder >= 0:
            # It ends with its last client.
            self.assertTrue(select.select([holder], [], [], LIMIT)[0])
            os.close(holder)
        shutil.rmtree(self.place)

    def status(self):
        entries = (Status * 8)()
        count = self.poc.gpreempt_get_queue_status(self.pid, entries, 8)
        self.assertEqual(count, 3, self.poc.gpreempt_poc_error())
        return entries[:count]

    def test_the_four_calls_of_the_seed(self):
        self.assertEqual(self.poc.gpreempt_poc_init(), 0, self.poc.gpreempt_poc_error())
        self.assertEqual(self.poc.gpreempt_poc_init(), 0)
        self.assertEqual([queue.is_suspended for queue in self.status()], [0, 0, 0])
        self.assertEqual(self.poc.gpreempt_suspend_queues(self.pid, None, 0, 0), 3)
        for number, queue in enumerate(self.status()):
            self.assertEqual((queue.queue_id, queue.pid, queue.is_suspended, queue.suspended_by),
                             (number, self.pid, 1, os.getpid()))
        self.assertEqual(self.status()[1].ring_address, 0x7f0000010000)
        self.assertEqual(self.poc.gpreempt_resume_queues(self.pid, None, 0), 3)
        self.assertEqual(self.poc.gpreempt_resume_queues(self.pid, None, 0), 0)
        self.assertEqual([queue.is_suspended for queue in self.status()], [0, 0, 0])

    def test_named_queues_and_errors(self):
        ids = (ctypes.c_uint32 * 2)(0, 5000)
        self.assertEqual(self.poc.gpreempt_suspend_queues(self.pid, ids, 1, 10), 1)
        self.assertEqual(self.poc.gpreempt_suspend_queues(self.pid, ids, 2, 0), -errno.ENOENT)
        self.assertIn(b"one of the specified queues does not exist", self.poc.gpreempt_poc_error())
        self.assertEqual(self.poc.gpreempt_suspend_queues(self.pid, None, 1, 0), -errno.EINVAL)
        self.assertEqual(self.poc.gpreempt_suspend_queues(self.pid, None, 0, 256), -errno.EINVAL)
        self.assertEqual(self.poc.gpreempt_poc_set_limit(1), -errno.EINVAL)
        self.assertEqual(self.poc.gpreempt_poc_set_limit(3600000), 0)
        self.assertEqual(self.poc.gpreempt_suspend_queues(0x7ffffffe, None, 0, 0), -errno.ESRCH)

    def test_the_lease_is_renewed_in_the_background(self):
        # A holder that loses a lease when it is renewed: nothing else ends it here.
        os.environ["FAKE_HOLDER"] = "forget"
        self.assertEqual(self.poc.gpreempt_suspend_queues(self.pid, None, 0, 0), 3)
        end = time.monotonic() + LIMIT
        while any(queue.is_suspended for queue in self.status()):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def test_both_libraries_load_together(self):
        whole = ctypes.CDLL(os.path.join(LIB, "libgpreempt.so.0"))
        whole.gpreempt_error.restype = ctypes.c_char_p
        context = ctypes.c_void_p()
        self.assertEqual(whole.gpreempt_open(ctypes.byref(context)), 0, whole.gpreempt_error(None))
        self.assertEqual(self.poc.gpreempt_suspend_queues(self.pid, None, 0, 0), 3)
        whole.gpreempt_close(context)
        self.assertEqual([queue.is_suspended for queue in self.status()], [1, 1, 1])

    def test_a_child_after_fork_starts_anew(self):
        self.assertEqual(self.poc.gpreempt_suspend_queues(self.pid, None, 0, 0), 3)
        child = os.fork()
        if child == 0:
            # Nothing is held by the child, and what its parent holds stays held.
            right = self.poc.gpreempt_resume_queues(self.pid, None, 0) == 0 and \
                self.poc.gpreempt_suspend_queues(self.pid, None, 0, 0) == 3 and \
                self.poc.gpreempt_resume_queues(self.pid, None, 0) == 3
            os._exit(0 if right else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.assertEqual([queue.is_suspended for queue in self.status()], [1, 1, 1])


if __name__ == "__main__":
    unittest.main()
