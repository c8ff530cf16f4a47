# SPDX-License-Identifier: MIT
"""A CUDA program that serves requests, for test_ahead.py: unchanged, it knows nothing of gpreempt.

  ahead_program.py KIND   prints its port (or "ready"), answers requests, and on a line "?" on its standard input
                          prints figures: hints seen by the stand-in, kernels of its own, threads

The kinds are the functions below. A request is answered after a kernel was launched."""
import ctypes
import json
import os
import select
import signal
import socket
import struct
import sys
import threading
import time


class Cuda:
    """The stand-in, found as CUDA's runtime finds it."""

    def __init__(self):
        self.lib, self.seen = ctypes.CDLL("libcuda.so.1"), [0, 0, 0]
        context, module, self.function = (ctypes.c_void_p() for _ in range(3))
        if self.lib.cuInit(0) or self.lib.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0):
            raise SystemExit("no context")
        if self.lib.cuModuleLoadData(ctypes.byref(module), b".version 6.0"):
            raise SystemExit("no module")
        if self.lib.cuModuleGetFunction(ctypes.byref(self.function), module, b"nothing"):
            raise SystemExit("no function")
        found = ctypes.c_void_p()
        if self.lib.cuGetProcAddress_v2(b"cuLaunchKernel", ctypes.byref(found), 12000, ctypes.c_uint64(0), None):
            raise SystemExit("no cuLaunchKernel")
        self.by_address = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] + [ctypes.c_uint] * 7 + [ctypes.c_void_p] * 3)(
            found.value)

    def launch(self):
        if self.by_address(self.function, 1, 1, 1, 1, 1, 1, 0, None, None, None):
            raise SystemExit("a launch failed")

    def figures(self):
        return {"seen": self.seen, "hints": self.lib.fake_hints() // 9, "armed": self.lib.fake_waiting(),
                "launches": self.lib.fake_other_launches(),
                "hint_thread": self.lib.fake_last_thread(), "threads": sorted(map(int, os.listdir("/proc/self/task")))}


def udp():
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 0))
    return sock


def say(what):
    print(what, flush=True)


def serve_recvfrom(cuda):
    sock = udp()
    say(sock.getsockname()[1])
    while True:
        data, address = sock.recvfrom(4096)
        cuda.launch()
        sock.sendto(data, address)


def launches(cuda, count):
    """Host work, in which the GPU is switched, then so many launches and a wait for them. Of the requests that had a
    waiting kernel, counts those in which it still waited after the first launch, and after the wait."""
    sock = udp()
    say(sock.getsockname()[1])
    while True:
        data, address = sock.recvfrom(4096)
        time.sleep(0.002)
        waits = cuda.lib.fake_waiting()
        cuda.launch()
        launched = cuda.lib.fake_waiting()
        for _ in range(count - 1):
            cuda.launch()
        cuda.lib.cuStreamSynchronize(None)
        if waits:
            cuda.seen = [a + b for a, b in zip(cuda.seen, (1, launched, cuda.lib.fake_waiting()))]
        sock.sendto(data, address)


def serve_one_launch(cuda):
    launches(cuda, 1)


def serve_many_launches(cuda):
    launches(cuda, 40)


def serve_recvmsg(cuda):
    sock = udp()
    say(sock.getsockname()[1])
    while True:
        data, _, _, address = sock.recvmsg(4096)
        cuda.launch()
        sock.sendto(data, address)


def waiting(cuda, wait):
    """A server that waits with something else than it reads."""
    sock = udp()
    sock.setblocking(False)
    say(sock.getsockname()[1])
    ready = wait(sock)
    while True:
        ready()
        try:
            data, address = sock.recvfrom(4096)
        except BlockingIOError:
            continue
        cuda.launch()
        sock.sendto(data, address)


def serve_poll(cuda):
    def wait(sock):
        poll = select.poll()
        poll.register(sock, select.POLLIN)
        return poll.poll
    waiting(cuda, wait)


def serve_select(cuda):
    waiting(cuda, lambda sock: lambda: select.select([sock], [], []))


def serve_epoll(cuda):
    def wait(sock):
        poll = select.epoll()
        poll.register(sock, select.EPOLLIN)
        return poll.poll
    waiting(cuda, wait)


def tcp():
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    sock.listen(16)
    return sock


def serve_accept(cuda):
    """A connection for each request."""
    sock = tcp()
    say(sock.getsockname()[1])
    while True:
        connection, _ = sock.accept()
        data = connection.recv(4096)
        cuda.launch()
        connection.sendall(data)
        connection.close()


def serve_descriptor(cuda, take):
    """Requests come in by a thread of the client's side of this program, and go through a descriptor."""
    sock = udp()
    say(sock.getsockname()[1])
    write, answer = take(cuda)

    def front():
        while True:
            data, address = sock.recvfrom(4096)
            write()
            answer.wait()
            answer.clear()
            sock.sendto(data, address)
    front()


def worker(cuda, read):
    done = threading.Event()

    def work():
        while True:
            read()
            cuda.launch()
            done.set()
    threading.Thread(target=work, daemon=True).start()
    return done


def serve_read(cuda):
    def take(cuda):
        ours, theirs = os.pipe()
        return lambda: os.write(theirs, b"x"), worker(cuda, lambda: os.read(ours, 1))
    serve_descriptor(cuda, take)


def serve_readv(cuda):
    def take(cuda):
        ours, theirs = os.pipe()
        return lambda: os.write(theirs, b"x"), worker(cuda, lambda: os.readv(ours, [bytearray(1)]))
    serve_descriptor(cuda, take)


def serve_eventfd(cuda):
    libc = ctypes.CDLL(None)

    def take(cuda):
        fd = libc.eventfd(0, 0)
        return lambda: os.write(fd, struct.pack("<Q", 1)), worker(cuda, lambda: os.read(fd, 8))
    serve_descriptor(cuda, take)


def serve_threads(cuda):
    """One thread takes requests, another launches; nothing between them but a condition."""
    import queue
    sock, jobs = udp(), queue.SimpleQueue()

    def work():
        while True:
            data, address = jobs.get()
            cuda.launch()
            sock.sendto(data, address)
    threading.Thread(target=work, daemon=True).start()
    say(sock.getsockname()[1])
    while True:
        jobs.put(sock.recvfrom(4096))


def serve_http(cuda):
    import http.server

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            cuda.launch()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *unused):
            pass
    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    say(server.server_address[1])
    server.serve_forever()


def serve_asyncio(cuda, loop=None):
    import asyncio

    async def answer(reader, writer):
        while data := await reader.read(4096):
            cuda.launch()
            writer.write(data)
            await writer.drain()
        writer.close()

    async def main():
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        say(server.sockets[0].getsockname()[1])
        await server.serve_forever()
    (loop or asyncio.run)(main())


def serve_uvloop(cuda):
    import uvloop
    serve_asyncio(cuda, uvloop.new_event_loop().run_until_complete)


def serve_grpc(cuda):
    import concurrent.futures
    import grpc

    class Handler(grpc.GenericRpcHandler):
        def service(self, details):
            def answer(request, context):
                cuda.launch()
                return request
            return grpc.unary_unary_rpc_method_handler(answer)
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(2), (Handler(),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    say(port)
    server.wait_for_termination()


def serve_zmq(cuda):
    import zmq
    sock = zmq.Context().socket(zmq.REP)
    say(sock.bind_to_random_port("tcp://127.0.0.1"))
    while True:
        data = sock.recv()
        cuda.launch()
        sock.send(data)


def serve_chatty(cuda):
    """Requests at one socket, and messages that nothing follows at another, each with its thread."""
    noise = udp()

    def hear():
        while True:
            noise.recvfrom(4096)
    threading.Thread(target=hear, daemon=True).start()
    say(noise.getsockname()[1])
    serve_recvfrom(cuda)


def serve_fading(cuda):
    """Requests, and messages at the same socket that nothing follows."""
    sock = udp()
    say(sock.getsockname()[1])
    while True:
        data, address = sock.recvfrom(4096)
        if data == b"request":
            cuda.launch()
            sock.sendto(data, address)


def serve_deaf(cuda):
    """It launched once; the messages that come now are about nothing."""
    sock = udp()
    cuda.launch()
    say(sock.getsockname()[1])
    while True:
        data, address = sock.recvfrom(4096)
        sock.sendto(data, address)


def serve_engine(cuda):
    """Takes requests from a front end in another process, on a socket of the machine."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sock.bind(sys.argv[2])
    sock.listen(1)
    say("ready")
    connection, _ = sock.accept()
    while data := connection.recv(4096):
        cuda.launch()
        connection.send(data)
    threading.Event().wait()


def serve_front(cuda):
    engine = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    engine.connect(sys.argv[2])
    sock = udp()
    say(sock.getsockname()[1])
    while True:
        data, address = sock.recvfrom(4096)
        engine.send(data)
        sock.sendto(engine.recv(4096), address)


def main():
    kind = sys.argv[1]
    cuda = None if kind == "front" else Cuda()

    def obey():
        for line in sys.stdin:
            if line == "?\n":
                say(json.dumps(cuda.figures()))
        # Wakes the main thread, and the program ends as usual. Again, because the first may come just before it waits.
        while not ended:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)
    ended = []

    def end(*_):
        if not ended:
            ended.append(True)
            raise KeyboardInterrupt
    signal.signal(signal.SIGINT, end)  # it is ignored in what a script starts in the background
    threading.Thread(target=obey, daemon=True).start()
    try:
        globals()["serve_" + kind](cuda)
    except KeyboardInterrupt:
        pass


main()
