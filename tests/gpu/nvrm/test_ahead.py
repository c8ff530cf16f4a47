# SPDX-License-Identifier: MIT
"""gpreempt run --ahead auto, on the stand-in: servers of all kinds that know nothing of it."""
import http.client
import importlib.util
import json
import os
import signal
import socket
import sys
import time
import unittest

from nvidia_stage import GPREEMPT, LIMIT, Asked, DaemonStage

PROGRAM = os.path.join(os.path.dirname(__file__), "ahead_program.py")
PAUSE = 0.003  # between requests: the context is idle
OFF = 30  # hints that did not help are left out for so long, as on a busy machine


class AheadStage(DaemonStage):
    def setUp(self):
        super().setUp()
        self.env["LD_LIBRARY_PATH"] = os.environ["GP_FAKE_LIBCUDA"]

    def server(self, *words, run=("--ahead", "auto")):
        program = Asked(GPREEMPT, "run", *run, "--", sys.executable, PROGRAM, *words, env=self.env)
        self.programs.append(program)
        self.assertTrue(program.first, words)
        return program

    def figures(self, program):
        return json.loads(program.ask("?"))

    def datagram(self, port):
        """One request after the other, to this port."""
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(sock.close)
        sock.settimeout(LIMIT)
        sock.connect(("127.0.0.1", port))

        def request(data=b"request"):
            sock.send(data)
            self.assertEqual(sock.recv(4096), data)
        return request

    def stream(self, port):
        sock = socket.create_connection(("127.0.0.1", port), LIMIT)
        self.addCleanup(sock.close)

        def request(data=b"request"):
            sock.sendall(data)
            self.assertEqual(sock.recv(4096), data)
        return request

    def until_hinted(self, program, request, more=3):
        """Requests until the GPU is switched ahead of them; that it goes on."""
        hints = self.figures(program)["hints"]
        deadline, sent = time.monotonic() + OFF + LIMIT, 0
        while (seen := self.figures(program))["hints"] < hints + more:
            if time.monotonic() > deadline:
                self.fail(f"{seen} after {sent} requests")
            request()
            sent += 1
            time.sleep(PAUSE)
        return seen

    def check(self, kind, connect):
        program = self.server(kind)
        request = connect(int(program.first))
        seen = self.until_hinted(program, request)
        with open(f"/proc/{program.process.pid}/task/{seen['hint_thread']}/comm") as file:
            self.assertEqual(file.read(), "gpreempt-ahead\n")
        program.close()


class Kinds(AheadStage):
    def test_recvfrom(self):
        self.check("recvfrom", self.datagram)

    def test_recvmsg(self):
        self.check("recvmsg", self.datagram)

    def test_poll(self):
        self.check("poll", self.datagram)

    def test_select(self):
        self.check("select", self.datagram)

    def test_epoll(self):
        self.check("epoll", self.datagram)

    def test_read_of_a_pipe(self):
        self.check("read", self.datagram)

    def test_readv_of_a_pipe(self):
        self.check("readv", self.datagram)

    def test_an_eventfd(self):
        self.check("eventfd", self.datagram)

    def test_a_thread_that_launches_for_another(self):
        self.check("threads", self.datagram)

    def test_a_connection_for_each_request(self):
        def connect(port):
            def request():
                with socket.create_connection(("127.0.0.1", port), LIMIT) as sock:
                    sock.sendall(b"request")
                    self.assertEqual(sock.recv(4096), b"request")
            return request
        self.check("accept", connect)

    def test_asyncio(self):
        self.check("asyncio", self.stream)

    def test_http_server(self):
        def connect(port):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT)
            self.addCleanup(connection.close)

            def request():
                connection.request("POST", "/", b"body")
                self.assertEqual(connection.getresponse().read(), b"body")
            return request
        self.check("http", connect)

    def needs(self, name):
        if not importlib.util.find_spec(name):
            self.skipTest(f"the Python module {name} is not installed")

    def test_uvloop(self):
        self.needs("uvloop")
        self.check("uvloop", self.stream)

    def test_zeromq(self):
        self.needs("zmq")
        import zmq

        def connect(port):
            sock = zmq.Context.instance().socket(zmq.REQ)
            sock.connect(f"tcp://127.0.0.1:{port}")
            self.addCleanup(sock.close)

            def request():
                sock.send(b"request")
                self.assertEqual(sock.recv(), b"request")
            return request
        self.check("zmq", connect)

    def test_grpc(self):
        self.needs("grpc")
        import grpc

        def connect(port):
            channel = grpc.insecure_channel(f"127.0.0.1:{port}")
            self.addCleanup(channel.close)
            call = channel.unary_unary("/test/Call")
            return lambda: self.assertEqual(call(b"request", timeout=LIMIT), b"request")
        self.check("grpc", connect)


class Limits(AheadStage):
    def ahead(self, pid):
        answer = self.gpreempt("status", str(pid), "--json")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        return json.loads(answer.stdout)["ahead"]

    def chatter(self, port, seconds=2.0, rate=10000):
        """Messages that nothing follows."""
        sock, sent, begin = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0, time.monotonic()
        self.addCleanup(sock.close)
        while (now := time.monotonic() - begin) < seconds:
            while sent < now * rate:
                sock.sendto(b"message", ("127.0.0.1", port))
                sent += 1
            time.sleep(0.001)
        return time.monotonic() - begin

    def test_messages_that_nothing_follows_cost_less_than_a_hundredth(self):
        program = self.server("deaf")
        took = self.chatter(int(program.first))
        said = self.ahead(program.process.pid)
        self.assertEqual((said["state"], said["hints"], said["wasted"]), ("learning", 0, 0))
        self.assertLess(said["wasted_ns"] / 1e9, took / 100)
        self.assertIn("no descriptor is known to be followed by launches yet",
                      self.gpreempt("status", str(program.process.pid)).stdout)

    def test_requests_that_nothing_follows_any_more(self):
        """What was learned is unlearned, within the budget."""
        begin, program = time.monotonic(), self.server("chatty")
        noise, port = int(program.first), int(program.process.stdout.readline())
        request = self.datagram(port)
        self.until_hinted(program, request)
        self.chatter(noise)
        said = self.ahead(program.process.pid)
        self.assertLess(said["wasted_ns"] / 1e9, (time.monotonic() - begin) / 100 + 0.02)
        self.assertLessEqual(said["descriptors"], 1)
        self.assertEqual(said["hints"], said["useful"] + said["wasted"])
        self.until_hinted(program, request)

    def test_a_socket_that_was_learned_and_is_only_chatty_now_stays_within_the_budget(self):
        program = self.server("fading")
        request = self.datagram(int(program.first))
        self.until_hinted(program, request, 10)
        before = self.ahead(program.process.pid)
        self.assertEqual(before["descriptors"], 1)
        took = self.chatter(int(program.first), 4.0)
        said = self.ahead(program.process.pid)
        self.assertGreater(said["wasted"], before["wasted"])  # it was trusted, wrongly, for a while
        self.assertLess((said["wasted_ns"] - before["wasted_ns"]) / 1e9, took / 100 + 0.02)
        self.assertEqual(said["descriptors"], 0)
        self.until_hinted(program, request)  # and is learned again

    def test_without_the_option_nothing_is_switched(self):
        for run in (("--class", "online"), ("--ahead", "600us")):
            program = self.server("recvfrom", run=run)
            request = self.datagram(int(program.first))
            for _ in range(40):
                request()
                time.sleep(PAUSE)
            seen = self.figures(program)
            self.assertEqual((seen["hints"], seen["launches"]), (0, 40))
            self.assertIsNone(self.ahead(program.process.pid))

    def test_why_says_what_it_does(self):
        self.start_daemon()
        program = self.server("recvfrom", run=("--class", "online", "--ahead", "auto"))
        self.until_hinted(program, self.datagram(int(program.first)))
        text = self.gpreempt("why", str(program.process.pid)).stdout
        self.assertIn("Switching ahead (auto): launches follow", text)
        self.assertRegex(text, r"Switches ahead: \d+; requested by front ends: 0; without a launch: ")
        facts = json.loads(self.gpreempt("why", str(program.process.pid), "--json").stdout)["ahead"]
        self.assertEqual(facts["state"], "on")
        self.assertGreater(facts["useful"], 0)

    def test_no_kernel_waits_when_nothing_is_requested(self):
        program = self.server("recvfrom")
        self.until_hinted(program, self.datagram(int(program.first)))
        self.until(lambda: not self.figures(program)["armed"], "a kernel waits")

    def hinted_requests(self, kind):
        """Until ten requests had a waiting kernel, and one of them still had it after its first launch: it ends by itself while the program has
        no processor. [all of them, it waited after the first launch, after the last]"""
        program = self.server(kind)
        request, deadline = self.datagram(int(program.first)), time.monotonic() + OFF + LIMIT
        while (seen := self.figures(program)["seen"])[0] < 10 or not seen[1]:
            self.assertLess(time.monotonic(), deadline, seen)
            request()
            time.sleep(PAUSE)
        return seen

    def test_the_kernel_ends_when_the_only_launch_of_a_request_was_handed_over(self):
        """Not before: the GPU would change back to others meanwhile."""
        _, launched, waited = self.hinted_requests("one_launch")
        self.assertGreater(launched, 0)
        self.assertEqual(waited, 0)

    def test_the_kernel_waits_for_the_end_of_a_request_with_many_launches(self):
        self.assertGreater(self.hinted_requests("many_launches")[2], 0)

    def test_a_thread_from_the_first_launch_on_with_every_signal_blocked(self):
        program = self.server("recvfrom")

        def thread():
            for task in self.figures(program)["threads"]:
                with open(f"/proc/{program.process.pid}/task/{task}/status") as file:
                    text = file.read()
                if "Name:\tgpreempt-ahead\n" in text:
                    return int(text.split("SigBlk:")[1].split()[0], 16)
            return None
        self.assertIsNone(thread())
        self.datagram(int(program.first))()
        self.until(thread, "no thread")  # it names itself once it runs
        blocked = thread()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGCHLD, signal.SIGUSR1):
            self.assertTrue(blocked >> number - 1 & 1, number)


class Teams(AheadStage):
    """A front end in one process, the program that launches in another."""

    def pair(self, engine_run, front_run):
        path = os.path.join(self.place, f"engine{len(self.programs)}")
        engine = self.server("engine", path, run=engine_run)
        front = self.server("front", path, run=front_run)
        return engine, self.datagram(int(front.first))

    def told(self, engine):
        return json.loads(self.gpreempt("status", str(engine.process.pid), "--json").stdout)["ahead"]["told"]

    def never_told(self, engine, request):
        """Although it is hinted, by its own socket."""
        self.until_hinted(engine, request)
        for _ in range(40):
            request()
            time.sleep(PAUSE)
        self.assertEqual(self.told(engine), 0)

    def until_told(self, engine, request):
        deadline = time.monotonic() + LIMIT
        while not self.told(engine):
            self.assertLess(time.monotonic(), deadline, "the front end says nothing")
            for _ in range(20):
                request()
                time.sleep(PAUSE)

    def test_the_front_end_of_a_group_tells_the_program_that_launches(self):
        run = ("--ahead", "auto", "--group", "serving")
        engine, request = self.pair(run, run)
        self.until_told(engine, request)
        self.assertRegex(self.gpreempt("status", str(engine.process.pid)).stdout, r"requested by front ends: [1-9]")

    def test_another_group_is_not_told(self):
        engine, request = self.pair(("--ahead", "auto", "--group", "a"), ("--ahead", "auto", "--group", "b"))
        self.never_told(engine, request)

    def team_file(self):
        return [name for name in os.listdir(self.place) if name.startswith("ahead-")]

    def test_the_file_goes_with_the_program(self):
        run = ("--ahead", "auto", "--group", "serving")
        engine, request = self.pair(run, run)
        request()
        self.assertEqual(len(self.team_file()), 1)
        engine.close()
        self.until(lambda: not self.team_file(), "the file is left")

    def test_a_file_of_a_program_that_was_killed_is_not_used(self):
        run = ("--ahead", "auto", "--group", "serving")
        engine, request = self.pair(run, run)
        self.until_told(engine, request)
        engine.process.kill()
        engine.process.wait(LIMIT)
        self.assertEqual(len(self.team_file()), 1)
        engine, request = self.pair(run, run)
        self.until_told(engine, request)
        self.assertEqual(len(self.team_file()), 1)

    def test_files_of_programs_that_were_killed_are_removed_by_the_next(self):
        killed = self.server("recvfrom")
        self.datagram(int(killed.first))()
        left = self.team_file()
        self.assertEqual(len(left), 1)
        killed.process.kill()
        killed.process.wait(LIMIT)
        lives = self.server("recvfrom")
        self.datagram(int(lives.first))()
        self.assertEqual(len(self.team_file()), 2)  # it may be one that is being made
        for name in self.team_file():
            os.utime(os.path.join(self.place, name), (1, 1))
        third = self.server("recvfrom")
        self.datagram(int(third.first))()
        self.assertEqual(len(self.team_file()), 2)
        self.assertNotIn(left[0], self.team_file())

    def test_a_file_that_others_could_write_is_not_used(self):
        run = ("--ahead", "auto", "--group", "serving")
        path = os.path.join(self.place, "engine0")
        engine = self.server("engine", path, run=run)
        front = self.server("front", path, run=run)
        request = self.datagram(int(front.first))
        request()
        os.chmod(os.path.join(self.place, self.team_file()[0]), 0o666)
        self.never_told(engine, request)


if __name__ == "__main__":
    unittest.main()
