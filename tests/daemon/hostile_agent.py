# SPDX-License-Identifier: MIT
"""An agent that means harm: hostile_agent.py DIRECTORY MODE VERSION, that of the protocol. It says "ready" when it listens."""
import os
import socket
import struct
import sys
import threading
import time

HELLO, CHANGED = 1, 97


def header(kind, size, serial=0, status=0):
    return struct.pack("=HHIIi", int(sys.argv[3]), kind, 16 + size, serial, status)


def hello(serial):
    return header(HELLO, 160, serial) + struct.pack("=IIIIQ64s64s", os.getpid(), 2100, 1, 1, 0, b"", b"evil\033[31m\x9b")


def serve(connection, mode):
    try:
        annoy(connection, mode)
    except OSError:
        connection.close()


def annoy(connection, mode):
    asked = connection.recv(65536)
    serial = struct.unpack("=HHIIi", asked[:16])[2] if len(asked) >= 16 else 1
    if mode == "mute":
        time.sleep(3600)
    elif mode == "half":
        connection.send(hello(serial)[:90])
        connection.send(b"x")
    elif mode == "closes":
        time.sleep(0.05)
        connection.shutdown(socket.SHUT_WR)
        time.sleep(3600)
    elif mode == "hello":  # and nothing after it
        connection.send(hello(serial))
        time.sleep(3600)
    elif mode == "floods":
        connection.send(hello(serial))
        while True:
            connection.send(header(CHANGED, 0))


def main():
    directory, mode = sys.argv[1:3]
    name = os.path.join(directory, f"{os.getpid()}-{mode}.sock")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(name)
    listener.listen(8)
    print("ready", flush=True)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection, mode), daemon=True).start()


main()
