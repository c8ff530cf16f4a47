#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tracedat_generate.py FILE EVENTS: a trace.dat (version 6) of four CPUs, each with functions entered
and left by probes, and changes of task. trace-cmd report reads it as well."""
import struct
import sys

PAGE, CPUS = 4096, 4
COMMON = ("format:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
          "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
          "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
          "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n")
HEADER_PAGE = ("\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
               "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
               "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
               "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n")
HEADER_EVENT = ("# compressed entry header\n\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n"
                "\tarray       :   32 bits\n\n\tpadding     : type == 29\n\ttime_extend : type == 30\n"
                "\ttime_stamp : type == 31\n\tdata max type_len  == 28\n")
FORMATS = [
    "name: p0\nID: 1500\n" + COMMON + "\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n"
    '\nprint fmt: "(%lx)", REC->__probe_ip\n',
    "name: r0\nID: 1501\n" + COMMON + "\tfield:unsigned long __probe_func;\toffset:8;\tsize:8;\tsigned:0;\n"
    "\tfield:unsigned long __probe_ret_ip;\toffset:16;\tsize:8;\tsigned:0;\n"
    "\tfield:s32 ret;\toffset:24;\tsize:4;\tsigned:1;\n"
    '\nprint fmt: "(%lx <- %lx) ret=%d", REC->__probe_func, REC->__probe_ret_ip, REC->ret\n',
    "name: switched\nID: 316\n" + COMMON + "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
    "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
    "\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
    '\nprint fmt: "prev_comm=%s prev_pid=%d prev_prio=%d", REC->prev_comm, REC->prev_pid, REC->prev_prio\n',
]
FUNCTIONS = ["kfd_ioctl_create_queue", "pqm_create_queue", "create_queue_cpsch", "map_queues_cpsch"]
BASE = 0xffffffffc0a00000


def record(number, delta, pid, rest):
    body = struct.pack("<HBBi", number, 0, 0, pid) + rest
    return struct.pack("<I", len(body) // 4 | delta << 5) + body


def page(cpu, start):
    """The records of a page, and how many there are."""
    out, count = b"", 0
    while len(out) < PAGE - 16 - 120:
        at = BASE + 0x100 * (count % len(FUNCTIONS))
        pid = 500 + cpu
        out += record(1500, 200, pid, struct.pack("<Q", at))
        out += record(1501, 900, pid, struct.pack("<QQi", at, BASE, 0))
        out += record(316, 300, pid, b"kworker/0:1".ljust(16, b"\0") + struct.pack("<ii", pid, 120))
        count += 3
    return struct.pack("<QQ", start, len(out)) + out.ljust(PAGE - 16, b"\0"), count


def block(text, size):
    return struct.pack("<Q" if size == 8 else "<I", len(text)) + text.encode()


def main():
    path, events = sys.argv[1], int(sys.argv[2])
    symbols = "".join(f"{BASE + 0x100 * i:x} t {name}\t[amdgpu]\n" for i, name in enumerate(FUNCTIONS))
    head = b"\x17\x08\x44tracing6\0\0\x08" + struct.pack("<I", PAGE)
    head += b"header_page\0" + block(HEADER_PAGE, 8) + b"header_event\0" + block(HEADER_EVENT, 8)
    head += struct.pack("<I", 0) + struct.pack("<I", 1) + b"all\0" + struct.pack("<I", len(FORMATS))
    head += b"".join(block(text, 8) for text in FORMATS)
    head += block(symbols, 4) + block("", 4) + block("".join(f"{500 + i} kq\n" for i in range(CPUS)), 8)
    head += struct.pack("<I", CPUS) + b"options  \0" + struct.pack("<HI", 4, 7) + b"[mono]\0" + struct.pack("<H", 0)
    head += b"flyrecord\0"
    pages = [page(cpu, 0)[0][8:] for cpu in range(CPUS)]
    each = page(0, 0)[1]
    count = max(events // each // CPUS, 1)
    at = (len(head) + 16 * CPUS + PAGE - 1) // PAGE * PAGE
    for i in range(CPUS):
        head += struct.pack("<QQ", at + i * count * PAGE, count * PAGE)
    with open(path, "wb") as out:
        out.write(head.ljust(at, b"\0"))
        for cpu in range(CPUS):
            out.writelines(struct.pack("<Q", 10**12 + i * 100000 + cpu * 37) + pages[cpu] for i in range(count))
    print(count * CPUS * each)


main()
