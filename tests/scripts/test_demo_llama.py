# SPDX-License-Identifier: MIT
"""The demonstration with llama-server, as far as it goes without one: which server is taken and why, what is asked, and how results are compared."""
import http.server
import json
import os
import pathlib
import stat
import sys
import tempfile
import threading
import types
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "scripts"))
import demo_llama  # noqa: E402


class Choice(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.root = pathlib.Path(self.place.name)
        device = mock.patch.dict(os.environ, DEVICE="vgpu")  # on a real GPU the processor does not matter
        device.start()
        self.addCleanup(device.stop)

    def install(self, backend=True):
        server = self.root / "usr/bin/llama-server"
        server.parent.mkdir(parents=True)
        server.write_text("#!/bin/sh\n")
        server.chmod(server.stat().st_mode | stat.S_IXUSR)
        plugins = self.root / "usr/lib/x86_64-linux-gnu/ggml/backends0"
        plugins.mkdir(parents=True)
        (plugins / ("libggml-hip.so" if backend else "libggml-cpu.so")).touch()
        return mock.patch.dict(os.environ, PATH=f"{server.parent}:{os.environ['PATH']}")

    def with_a_processor(self, flags):
        """Whatever this one can do."""
        return mock.patch.object(pathlib.Path, "read_text", lambda path: f"flags\t\t: fpu {flags}\n")

    def test_a_chroot_needs_the_server_and_its_backend(self):
        self.assertFalse(demo_llama.is_in(self.root))
        self.install()
        self.assertTrue(demo_llama.is_in(self.root))

    def test_a_server_without_the_backend_is_not_enough(self):
        with self.install(backend=False), self.with_a_processor("avx2 f16c fma"), \
             mock.patch.object(demo_llama, "has_backend", lambda server: False):
            self.assertIn("has no HIP backend", demo_llama.problem())
        self.assertFalse(demo_llama.is_in(self.root))

    def test_without_the_server_the_packages_are_named(self):
        with mock.patch.dict(os.environ, PATH=str(self.root)), self.with_a_processor("avx2 f16c fma"):
            self.assertIn("llama-server is not installed", demo_llama.problem())
            self.assertIn("libggml0-backend-hip", demo_llama.problem())

    def test_a_processor_that_cannot_execute_kernels(self):
        with self.install(), mock.patch.object(demo_llama, "has_backend", lambda server: True), self.with_a_processor("fma f16c"):
            self.assertIn("no avx2", demo_llama.problem())

    def test_such_a_processor_is_named_without_the_server_and_needs_no_chroot(self):
        with mock.patch.dict(os.environ, PATH=str(self.root)), self.with_a_processor("fma f16c"):
            trouble = demo_llama.problem()
        self.assertIn("no avx2", trouble)
        self.assertEqual(demo_llama.choose("auto", trouble, ["6.4"])[:2], ("example", None))
        self.assertEqual(demo_llama.choose("llama", trouble, ["6.4"])[:2], (None, None))

    def test_by_default_llama_if_it_is_there(self):
        server, chroot, why = demo_llama.choose("auto", None, ["6.4"])
        self.assertEqual((server, chroot), ("llama", None))
        self.assertIn("llama-server of llama.cpp", why)
        self.assertEqual(demo_llama.choose("auto", "not installed", ["6.4"])[:2], ("llama", "6.4"))

    def test_by_default_the_example_with_the_reason(self):
        server, chroot, why = demo_llama.choose("auto", "llama-server is not installed", [])
        self.assertEqual((server, chroot), ("example", None))
        self.assertEqual(why, "server: examples/online_server (llama-server is not installed)")

    def test_the_example_if_it_is_asked_for(self):
        self.assertEqual(demo_llama.choose("example", None, ["6.4"])[:2], ("example", None))

    def test_llama_that_is_asked_for_and_not_there_is_an_error(self):
        server, _, why = demo_llama.choose("llama", "llama-server is not installed", [])
        self.assertIsNone(server)
        self.assertEqual(why, "--server llama: llama-server is not installed")


class Requests(unittest.TestCase):
    def test_every_run_asks_the_same_at_the_same_times(self):
        made = demo_llama.make_requests()
        self.assertEqual(made, demo_llama.make_requests())
        self.assertEqual(len(made), demo_llama.REQUESTS)
        self.assertEqual([at for at, _ in made], sorted(at for at, _ in made))
        self.assertGreater(len({prompt for _, prompt in made}), 1)

    def serve(self, status, answer):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(status)
                self.end_headers()
                self.wfile.write(json.dumps(answer).encode())

            def log_message(self, *_):
                pass

        asked = []
        server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server.server_port, asked

    def test_the_answer_is_its_tokens(self):
        port, asked = self.serve(200, {"tokens": [5, 6], "content": "x"})
        request = demo_llama.Request(port, 0, 0, "w1")
        request.join(30)
        self.assertEqual((request.tokens, request.error), ([5, 6], None))
        self.assertEqual((asked[0]["prompt"], asked[0]["temperature"], asked[0]["cache_prompt"]), ("w1", 0, False))

    def test_an_older_server_answers_with_text(self):
        port, _ = self.serve(200, {"content": "w7 w8"})
        self.assertEqual(demo_llama.complete(port, "w1"), "w7 w8")

    def test_an_error_is_kept_and_is_no_answer(self):
        port, _ = self.serve(500, {"error": "no slot"})
        request = demo_llama.Request(port, 0, 0, "w1")
        request.join(30)
        self.assertIsNone(request.done)
        self.assertIn("no slot", request.error)
        self.assertEqual(request.latency(7.0), 7.0)


class Comparison(unittest.TestCase):
    def test_tokens(self):
        self.assertEqual(demo_llama.token_differences([[1, 2], [3, 4], [5, 6]], [[1, 2], [3, 9], None]), [(1, [3, 4], [3, 9])])

    def test_weights_of_runs_of_different_length(self):
        self.assertEqual(demo_llama.weight_differences({"offline": [7, 8, 9], "without": [7], "with": [7, 8]}), [])
        self.assertEqual(demo_llama.weight_differences({"offline": [7, 8, 9], "with": [7, 5]}), [("with", 1)])

    def report(self, tokens=(), cpu=(), weights=(), served=2, busy=False):
        row = {"served": 2, "requests": 2, "mean_us": 1e6, "errors": []}
        return {"online": {"alone": row, "without": row | {"mean_us": 9e6}, "with": row | {"served": served}}, "steps": 10,
                "differences": {"tokens": {"alone": [], "without": [], "with": list(tokens)}, "cpu": list(cpu), "weights": list(weights)},
                "host": {"busy": busy}}

    def verdicts(self, **how):
        return {key: target["verdict"] for key, target in demo_llama.judge(self.report(**how)).items()}

    def test_verdicts(self):
        self.assertEqual(set(self.verdicts().values()), {"met"})
        self.assertEqual(self.verdicts(tokens=[[0, [1], [2]]])["tokens"], "missed")
        self.assertEqual(self.verdicts(cpu=[[0, [1], [2]]])["cpu"], "missed")
        self.assertEqual(self.verdicts(weights=[["with", 3]])["weights"], "missed")

    def test_a_busy_host_excuses_time_and_nothing_else(self):
        self.assertEqual(self.verdicts(served=1, busy=True)["answered"], "busy")
        self.assertEqual(self.verdicts(served=1)["answered"], "missed")
        self.assertEqual(self.verdicts(tokens=[[0, [1], [2]]], busy=True)["tokens"], "missed")

    def test_a_difference_is_shown(self):
        report = self.report(tokens=[[1, [3, 4], [3, 9]]], weights=[["without", 2]])
        self.assertEqual(demo_llama.differences(report), ["with gpreempt, request 1: [3, 9] instead of [3, 4]",
                                                          "both, no control: weights differ after step 2"])


class Lanes(unittest.TestCase):
    def test_requests_that_overlap_have_lines_of_their_own(self):
        run = types.SimpleNamespace(begin=10, end=20, trace=None, requests=[types.SimpleNamespace(arrival=10, done=14), types.SimpleNamespace(
            arrival=12, done=16), types.SimpleNamespace(arrival=17, done=None)])
        shown, s = demo_llama.lanes("both", run), 10**9
        self.assertEqual(shown["of"][:2], [["requests", [[0, 4 * s, "runs"], [7 * s, 10 * s, "runs"]]],
                                           ["", [[2 * s, 4 * s, "waits"], [4 * s, 6 * s, "runs"]]]])
        self.assertEqual(shown["of"][2], ["trainer", [[0, 10**10, "runs"]]])


if __name__ == "__main__":
    unittest.main()
