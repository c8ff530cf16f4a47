# SPDX-License-Identifier: MIT
"""The programs of `field`: a server, its client and a trainer, as users have them. None of them knows gpreempt.

  server graph|eager|http   12 layers, 768 wide, 128 tokens, fp16; a CUDA graph, or eager PyTorch. Each request is
                            0.3 ms of host work, copy in, forward, copy out. UDP, or HTTP/1.1. Prints its port.
  server two                the same as a front end, which does the host work, and a separate engine process.
                            Prints its port and the pid of the engine
  server chatty             graph, and a socket for messages that nothing follows. Prints both ports
  server fading             graph, on a socket whose short messages are followed by nothing. Prints its port twice
  chatter PORT SECONDS RATE messages to that; prints how many
  client graph|eager|http PORT SECONDS   requests at random times, 40 per second; prints latencies as JSON
  trainer FILE              8 layers, 2048 wide, 16 x 512 tokens, bf16 autocast, SGD; counts its steps in FILE and
                            pauses while the word behind them is 0
"""
import http.client
import http.server
import json
import mmap
import os
import random
import socket
import struct
import sys
import threading
import time

HOST_S, RATE, TOKENS, WIDTH, LAYERS = 0.0003, 40, 128, 768, 12
FAKE = bool(os.environ.get("GPREEMPT_FAKE_NVIDIA"))  # there is no PyTorch on the stand-in


def fake_context():
    import ctypes
    cuda, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
    if cuda.cuInit(0) or cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0):
        raise SystemExit("no context")


def fake_launch():
    """A kernel that does nothing, launched as the runtime of CUDA would."""
    import ctypes
    cuda, module, function, found = ctypes.CDLL("libcuda.so.1"), *(ctypes.c_void_p() for _ in range(3))
    if cuda.cuModuleLoadData(ctypes.byref(module), b".version 6.0") or \
            cuda.cuModuleGetFunction(ctypes.byref(function), module, b"nothing") or \
            cuda.cuGetProcAddress_v2(b"cuLaunchKernel", ctypes.byref(found), 12000, ctypes.c_uint64(0), None):
        raise SystemExit("no kernel")
    launch = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] + [ctypes.c_uint] * 7 + [ctypes.c_void_p] * 3)(found.value)
    return lambda: launch(function, 1, 1, 1, 1, 1, 1, 0, None, None, None)


def encoder(width, heads, layers):
    import torch.nn as nn
    return nn.Sequential(*[nn.TransformerEncoderLayer(width, heads, 4 * width, batch_first=True, dropout=0.0)
                           for _ in range(layers)]).cuda()


def inference(kind):
    """A function that does the GPU part of one request."""
    if FAKE:
        fake_context()
        launch = fake_launch()

        def fake_serve():
            launch()
            time.sleep(0.0002)
        return fake_serve
    import torch
    model = encoder(WIDTH, 12, LAYERS).half().eval()
    host_in = torch.randn(1, TOKENS, WIDTH, dtype=torch.half).pin_memory()
    host_out = torch.empty_like(host_in).pin_memory()
    x, stream = host_in.cuda(), torch.cuda.Stream()
    with torch.no_grad(), torch.cuda.stream(stream):
        for _ in range(10):
            y = model(x)
        stream.synchronize()
        graph = torch.cuda.CUDAGraph() if kind != "eager" else None
        if graph:
            with torch.cuda.graph(graph, stream=stream):
                y = model(x)

    def serve():
        nonlocal y
        with torch.no_grad(), torch.cuda.stream(stream):
            x.copy_(host_in, non_blocking=True)
            if graph:
                graph.replay()
            else:
                y = model(x)
            host_out.copy_(y, non_blocking=True)
            stream.synchronize()
    return serve


def answer_of(serve):
    """Host work, then the GPU: what one request takes, in any arrangement. Returns the GPU part in us."""
    host_work()
    begin = time.perf_counter()
    serve()
    return int((time.perf_counter() - begin) * 1e6)


def serve_udp(kind, *more):
    serve, sock = inference(kind), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 0))
    port = sock.getsockname()[1]
    print(port, *(more or [port] * (kind == "fading")), flush=True)
    while True:
        data, address = sock.recvfrom(65536)
        if len(data) >= 8:
            sock.sendto(data[:8] + struct.pack("<Q", answer_of(serve)), address)


def host_work():
    end = time.perf_counter() + HOST_S
    while time.perf_counter() < end:
        pass


def serve_two():
    """The front end; its engine ends with it."""
    import subprocess
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    engine = subprocess.Popen([sys.executable, __file__, "engine", str(there.fileno())], stdin=subprocess.PIPE,
                              pass_fds=[there.fileno()])
    here.recv(64)
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 0))
    print(sock.getsockname()[1], engine.pid, flush=True)
    while True:
        data, address = sock.recvfrom(65536)
        host_work()
        here.send(data)
        sock.sendto(data[:8] + here.recv(64), address)


def serve_engine(fd):
    serve, sock = inference("graph"), socket.socket(fileno=fd)
    sock.send(b"ready")
    while sock.recv(65536):
        begin = time.perf_counter()
        serve()
        sock.send(struct.pack("<Q", int((time.perf_counter() - begin) * 1e6)))


def serve_chatty():
    noise = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    noise.bind(("127.0.0.1", 0))

    def hear():
        while True:
            noise.recv(64)
    threading.Thread(target=hear, daemon=True).start()
    serve_udp("graph", noise.getsockname()[1])


def chatter(port, seconds, rate):
    sock, sent, begin = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0, time.perf_counter()
    sock.connect(("127.0.0.1", port))
    while (now := time.perf_counter() - begin) < seconds:
        while sent < now * rate:
            sock.send(b"message")
            sent += 1
        time.sleep(0.0001)
    print(sent, flush=True)


def serve_http():
    serve = inference("graph")

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            body = b"%d" % answer_of(serve)
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *unused):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


def schedule(seconds):
    at, dice = time.perf_counter() + 0.05, random.Random(17)
    end = at + seconds
    while at < end:
        yield at
        at += dice.expovariate(RATE)


def sleep_until(at):
    while (left := at - time.perf_counter()) > 0:
        time.sleep(max(0, left - 0.0002) if left > 0.0004 else 0)


def client_udp(port, seconds):
    """Open loop: a late answer does not hold up the next request."""
    sock, sent, result = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), {}, {"us": [], "gpu_us": []}
    sock.connect(("127.0.0.1", port))
    sock.settimeout(2)

    def receive():
        while True:
            try:
                data = sock.recv(64)
            except OSError:
                return
            number, gpu = struct.unpack("<QQ", data)
            result["us"].append((time.perf_counter() - sent.pop(number)) * 1e6)
            result["gpu_us"].append(gpu)

    thread = threading.Thread(target=receive)
    thread.start()
    for number, at in enumerate(schedule(seconds)):
        sleep_until(at)
        sent[number] = time.perf_counter()
        sock.send(struct.pack("<Q", number) + bytes(1024))
    thread.join()
    return dict(result, lost=len(sent))


def client_http(port, seconds):
    """One connection; a request that must wait for the one before it counts from when it was due."""
    connection, result = http.client.HTTPConnection("127.0.0.1", port), {"us": [], "gpu_us": [], "lost": 0}
    connection.connect()
    connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for at in schedule(seconds):
        sleep_until(at)
        connection.request("POST", "/", bytes(1024))
        gpu = int(connection.getresponse().read())
        result["us"].append((time.perf_counter() - at) * 1e6)
        result["gpu_us"].append(gpu)
    return result


def train(path):
    if FAKE:
        fake_context()
        step = lambda: time.sleep(0.01)  # noqa: E731
    else:
        import torch
        model = encoder(2048, 16, 8)
        x = torch.randn(16, 512, 2048, device="cuda")
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)

        def step():
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = model(x).float().pow(2).mean()
            loss.backward()
            optimizer.step()
            torch.cuda.synchronize()
    with open(path, "r+b") as file:
        page = mmap.mmap(file.fileno(), 16)
    for _ in range(3):
        step()
    print("ready", flush=True)
    steps = 0
    while True:
        if not page[8]:
            time.sleep(0.001)
            continue
        step()
        steps += 1
        page[:8] = struct.pack("<Q", steps)


def main():
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()  # ends with its starter
    role, *words = sys.argv[1:]
    if role == "trainer":
        train(words[0])
    elif role == "engine":
        serve_engine(int(words[0]))
    elif role == "chatter":
        chatter(int(words[0]), float(words[1]), int(words[2]))
    elif role == "server":
        {"http": serve_http, "two": serve_two, "chatty": serve_chatty}.get(words[0], lambda: serve_udp(words[0]))()
    else:
        client = client_http if words[0] == "http" else client_udp
        print(json.dumps(client(int(words[1]), float(words[2]))), flush=True)


main()
