#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a data file for rocblas-test with the first quick test of each function.

The file of the package holds 1.5 million tests, and rocblas-test needs minutes to read it. It is a sample of one
record between two marks, which the program compares with its own layout, and then records of the same size. The
first three fields of a record are texts of 64 bytes: function, name, category.

usage: rocblas_sample.py FROM TO
"""
import mmap
import sys

START, END = b"rocBLAS\0", b"ROCblas\0"
TEXT = 64


def field(record, number):
    return bytes(record[number * TEXT:(number + 1) * TEXT]).split(b"\0")[0]


def main():
    with open(sys.argv[1], "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
        end = data.find(END, 0, 1 << 16)
        if data[:len(START)] != START or end < 0:
            sys.exit(f"{sys.argv[1]}: not a data file of rocblas-test")
        size, head = end - len(START), end + len(END)
        functions, chosen = set(), []
        for offset in range(head, len(data) - size + 1, size):
            record = data[offset:offset + size]
            function = field(record, 0)
            if function not in functions and field(record, 2) == b"quick":
                functions.add(function)
                chosen.append(record)
        with open(sys.argv[2], "wb") as out:
            out.write(data[:head] + b"".join(chosen))
    print(f"{len(chosen)} tests")


main()
