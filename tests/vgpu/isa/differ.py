#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the instruction executor with the host: random kernels, compiled by clang for the GPU and for this machine.

A seed makes a source file of KERNELS kernels: expressions of all integer and float types, branches and loops that
differ by lane, arrays with computed indices, memory of the work-group. The same text is compiled as OpenCL C for the GPU and as C
for the host. Operations that IEEE or the integers define must give the same bits; any NaN equals any other.
A kernel that differs is printed with its seed: run it again with --seed N --keep.

usage: differ.py [--gfx NAME]... [--seed N] [--runs N] [--kernels N] [--seconds S] [--results FILE] [--keep DIRECTORY] ISA_RUN
--runs: seeds from --seed on (1); --seconds: starts no new seed after that
--results: one line per seed and GPU is appended; seeds that are in it are not run again
exit status: 0 no difference, 1 differences, 77 no clang that knows the GPU
"""
import argparse
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

LANES = 64
INPUT_WORDS = 64  # of each lane
CLANGS = ("clang-19", "clang-20", "clang-21", "clang-18", "clang-17")
INTEGERS = {"i8": (8, True), "u8": (8, False), "i16": (16, True), "u16": (16, False), "i32": (32, True), "u32": (32, False),
            "i64": (64, True), "u64": (64, False)}
FLOATS = {"f16": 16, "f32": 32, "f64": 64}
PRELUDE = """
typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16;
typedef int i32; typedef unsigned int u32; typedef long i64; typedef unsigned long u64;
typedef float f32; typedef double f64;
#ifdef __OPENCL_C_VERSION__
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef half f16;
#define LANE ((u32)__builtin_amdgcn_workitem_id_x())
#define SHARED __local
#define BEGIN(name) __kernel __attribute__((reqd_work_group_size(64, 1, 1))) void name(__global const u32 *input, __global u64 *output)
#define CODE static
#else
typedef _Float16 f16;
#define __global
#define LANE lane
#define SHARED
#define BEGIN(name) void name(const u32 *input, u64 *output, u32 lane)
#define CODE static
#endif
union word { u64 bits; f64 d; struct { f32 f, g; } s; struct { f16 h, i, j, k; } t; };
CODE u64 of_f64(f64 x) { union word w; w.d = x; return x != x ? 0x7ff8000000000000ul : w.bits; }
CODE u64 of_f32(f32 x) { union word w; w.bits = 0; w.s.f = x; return x != x ? 0x7fc00000u : w.bits; }
CODE u64 of_f16(f16 x) { union word w; w.bits = 0; w.t.h = x; return x != x ? 0x7e00u : w.bits; }
CODE f64 to_f64(u64 x) { union word w; w.bits = x; return w.d; }
CODE f32 to_f32(u32 x) { union word w; w.bits = x; return w.s.f; }
CODE f16 to_f16(u32 x) { union word w; w.bits = x; return w.t.h; }
"""


class Kernel:
    """The text of one kernel. Variables are never read before they are written."""

    def __init__(self, rng, name):
        self.rng, self.name, self.lines, self.count, self.depth = rng, name, [], 0, 1
        self.variables = {kind: [] for kind in (*INTEGERS, *FLOATS)}
        self.arrays = []

    def line(self, text):
        self.lines.append("\t" * self.depth + text)

    def fresh(self):
        self.count += 1
        return f"v{self.count}"

    def constant(self, kind):
        rng = self.rng
        if kind in FLOATS:
            value = rng.choice(["0", "-0.0", "1", "-1", "0.5", "2", "3", "-7.25", "1e-3", "1e4", "0.1", f"{rng.uniform(-100, 100):.9g}"])
            return f"(({kind}){value})"
        bits, signed = INTEGERS[kind]
        edge = 1 << (bits - 1)
        value = rng.choice([0, 1, 2, 3, 5, 7, 64, 100, edge - 1, edge >> 1, rng.randrange(edge), rng.randrange(1 << min(bits - 1, 16))])
        if signed and rng.random() < 0.4:
            value = -value
        return f"(({kind}){value}{'l' if bits == 64 else ''})"

    def leaf(self, kind):
        known = self.variables[kind]
        if known and self.rng.random() < 0.75:
            return self.rng.choice(known)
        if self.arrays and self.rng.random() < 0.3:
            name, element, length = self.rng.choice(self.arrays)
            return self.convert(f"{name}[{self.expression('u32', 1)} & {length - 1}]", element, kind)
        return self.constant(kind)

    def convert(self, text, source, target):
        if source == target:
            return text
        if source in FLOATS and target in INTEGERS:  # only what C defines: clamped first, NaN becomes 0
            limit = {8: 100, 16: 30000, 32: 2000000000, 64: 2000000000}[INTEGERS[target][0]]
            low = -limit if INTEGERS[target][1] else 0
            name = self.fresh()
            self.line(f"{source} {name} = {text};")
            if source == "f16":
                limit, low = min(limit, 60000), max(low, -60000)
            return f"(({target})({name} >= ({source}){low} && {name} <= ({source}){limit} ? {name} : ({source})0))"
        return f"(({target})({text}))"

    def expression(self, kind, depth):
        if depth <= 0 or self.rng.random() < 0.1:
            return self.leaf(kind)
        if self.rng.random() < 0.15:
            source = self.rng.choice([*INTEGERS, *FLOATS])
            return self.convert(self.expression(source, depth - 1), source, kind)
        if self.rng.random() < 0.12:
            return f"({self.condition(depth - 1)} ? {self.expression(kind, depth - 1)} : {self.expression(kind, depth - 1)})"
        return self.float_operation(kind, depth) if kind in FLOATS else self.integer_operation(kind, depth)

    def float_operation(self, kind, depth):
        a, b = self.expression(kind, depth - 1), self.expression(kind, depth - 1)
        which = self.rng.randrange(10)
        if which < 3:
            return f"({a} + {b})"
        if which < 5:
            return f"({a} - {b})"
        if which < 7:
            return f"({a} * {b})"
        if which == 7:
            return f"({a} / {b})" if kind != "f16" else f"(-{a})"
        if which == 8 and kind != "f16":
            c = self.expression(kind, depth - 1)
            return f"__builtin_fma{'f' if kind == 'f32' else ''}({a}, {b}, {c})"
        if kind == "f16":
            return f"({a} * {b})"
        name = {"f32": "f", "f64": ""}[kind]
        return self.rng.choice([f"__builtin_fabs{name}({a})", f"__builtin_floor{name}({a})", f"__builtin_ceil{name}({a})",
                                f"__builtin_trunc{name}({a})", f"__builtin_rint{name}({a})", f"__builtin_copysign{name}({a}, {b} < 0 ? ({kind})-1 : ({kind})1)",
                                f"__builtin_sqrt{name}({a})"])

    def integer_operation(self, kind, depth):
        bits, signed = INTEGERS[kind]
        unsigned = "u" + kind[1:]
        a, b = self.expression(kind, depth - 1), self.expression(kind, depth - 1)
        which = self.rng.randrange(16)
        if which < 9:
            return f"(({kind})({a} {'+-*&|^+-*'[which]} {b}))"
        if which < 12:
            return f"(({kind})({a} {self.rng.choice(['<<', '>>'])} (({unsigned}){b} & {bits - 1})))"
        if which == 12:
            # clang 19 divides sign-extended operands with few bits wrongly as unsigned ones: these have all of theirs.
            whole = f" ^ {self.variables[unsigned][0]}" if bits >= 32 else ""
            return f"(({kind})(({unsigned})({a}{whole}) {self.rng.choice('/%')} ({unsigned})(({unsigned})({b}{whole}) | 1)))"
        if which == 13:
            return f"(({kind})(~{a}))"
        if which == 14 and bits >= 32:
            suffix = "l" if bits == 64 else ""
            return self.rng.choice([f"(({kind})__builtin_popcount{suffix}(({unsigned}){a}))",
                                    f"(({kind})__builtin_clz{suffix}(({unsigned}){a} | 1))",
                                    f"(({kind})__builtin_ctz{suffix}(({unsigned}){a} | (({unsigned})1 << {bits - 1})))",
                                    f"(({kind})__builtin_bitreverse{bits}(({unsigned}){a}))",
                                    f"(({kind})__builtin_bswap{bits}(({unsigned}){a}))"])
        return f"({a} {self.rng.choice(['<', '>'])} {b} ? {a} : {b})"

    def condition(self, depth):
        kind = self.rng.choice([*INTEGERS, *FLOATS])
        operator = self.rng.choice(["<", ">", "<=", ">=", "==", "!="])
        return f"({self.expression(kind, depth)} {operator} {self.expression(kind, depth)})"

    def declare(self, kind, text):
        name = self.fresh()
        self.line(f"{kind} {name} = {text};")
        self.variables[kind].append(name)

    def inputs(self):
        for index in range(0, 10):
            self.declare("u32", f"input[LANE * {INPUT_WORDS} + {index}]")
        self.declare("i32", f"(i32)input[LANE * {INPUT_WORDS} + 10]")
        for index in range(12, 20, 2):
            self.declare("u64", f"(u64)input[LANE * {INPUT_WORDS} + {index}] | (u64)input[LANE * {INPUT_WORDS} + {index + 1}] << 32")
        self.declare("i64", f"(i64)((u64)input[LANE * {INPUT_WORDS} + 20] | (u64)input[LANE * {INPUT_WORDS} + 21] << 32)")
        for index in range(22, 28):
            self.declare("f32", f"to_f32(input[LANE * {INPUT_WORDS} + {index}])")
        for index in range(28, 36, 2):
            self.declare("f64", f"to_f64((u64)input[LANE * {INPUT_WORDS} + {index}] | (u64)input[LANE * {INPUT_WORDS} + {index + 1}] << 32)")
        for index in range(36, 40):
            self.declare("f16", f"to_f16(input[LANE * {INPUT_WORDS} + {index}])")
        for kind in ("i8", "u8", "i16", "u16"):
            self.declare(kind, f"({kind})input[LANE * {INPUT_WORDS} + {self.rng.randrange(40, 48)}]")
        self.declare("u32", "LANE")

    def assign(self):
        kind = self.rng.choice([*INTEGERS, *FLOATS])
        text = self.expression(kind, 3)
        own = [name for name in self.variables[kind] if name not in self.fixed]
        if own and self.rng.random() < 0.5:
            self.line(f"{self.rng.choice(own)} = {text};")
        else:
            self.declare(kind, text)

    def scope(self, header, statements):
        self.line(header + " {")
        self.depth += 1
        saved = {kind: list(names) for kind, names in self.variables.items()}
        statements()
        self.variables = saved
        self.depth -= 1
        self.line("}")

    def block(self, budget):
        for _ in range(self.rng.randrange(1, 4)):
            self.statement(budget - 1)

    def statement(self, budget):
        choice = self.rng.random()
        if budget <= 0 or choice < 0.6:
            self.assign()
        elif choice < 0.75:
            condition = self.condition(1)
            self.scope(f"if {condition}", lambda: self.block(budget))
            if self.rng.random() < 0.5:
                self.scope("else", lambda: self.block(budget))
        elif choice < 0.88:
            trips = self.expression("u32", 1)
            name = self.fresh()
            self.fixed.add(name)
            self.line(f"u32 {name}_end = ({trips}) & {self.rng.choice([1, 3, 7])};")

            def body():
                self.variables["u32"].append(name)
                self.block(budget)
                if self.rng.random() < 0.3:
                    self.line(f"if {self.condition(1)} break;")
            self.scope(f"for (u32 {name} = 0; {name} < {name}_end; {name}++)", body)
        elif self.arrays:
            name, element, length = self.rng.choice(self.arrays)
            index = self.expression("u32", 1)
            value = self.expression(element, 2)
            self.line(f"{name}[{index} & {length - 1}] = {value};")
        else:
            element, length = self.rng.choice(["u32", "f32", "u8", "i16", "u64", "f64"]), self.rng.choice([2, 4, 16])
            name = self.fresh()
            self.line(f"{element} {name}[{length}];")
            self.line(f"for (u32 i = 0; i < {length}; i++) {name}[i] = {self.convert(self.rng.choice(self.variables['u32']), 'u32', element)};")
            if self.depth == 1:
                self.arrays.append((name, element, length))

    def text(self):
        self.fixed = set()
        self.inputs()
        self.fixed |= {name for names in self.variables.values() for name in names if self.rng.random() < 0.5}
        for _ in range(self.rng.randrange(3, 10)):
            self.statement(3)
        at = 0
        for kind, names in self.variables.items():
            for name in names[-3:]:
                value = f"of_{kind}({name})" if kind in FLOATS else f"(u64)(u{kind[1:]}){name}"
                self.line(f"output[LANE * 32 + {at}] = {value};")
                at += 1
        return f"BEGIN({self.name})\n{{\n" + "\n".join(self.lines) + "\n}\n"


def interesting(rng, bits):
    """Bits that are often a special value of a float or an integer."""
    exponent, mantissa = {16: (5, 10), 32: (8, 23), 64: (11, 52)}[bits]
    choice = rng.random()
    if choice < 0.3:
        return rng.getrandbits(bits)
    if choice < 0.4:
        return rng.choice([0, 1, (1 << bits) - 1, 1 << (bits - 1), (1 << (bits - 1)) - 1])
    field = rng.choice([0, 1, (1 << exponent) - 1, (1 << exponent) - 2, *[(1 << (exponent - 1)) - 1 + rng.randrange(-12, 12)] * 6])
    fraction = rng.choice([0, 1, (1 << mantissa) - 1, rng.getrandbits(mantissa), rng.getrandbits(mantissa)])
    return rng.getrandbits(1) << (bits - 1) | field << mantissa | fraction


def make_input(rng):
    words = []
    for _ in range(LANES):
        lane = [interesting(rng, 32) for _ in range(INPUT_WORDS)]
        for index in (*range(12, 22, 2), *range(28, 36, 2)):
            wide = interesting(rng, 64)
            lane[index], lane[index + 1] = wide & 0xffffffff, wide >> 32
        for index in range(36, 40):
            lane[index] = interesting(rng, 16)
        words += lane
    return b"".join(word.to_bytes(4, "little") for word in words)


HOST_MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
	static void (*const kernels[])(const u32 *, u64 *, u32) = {%s};
	static u32 input[64 * %d];
	static u64 output[64 * 32];
	FILE *in = fopen(argv[1], "r"), *out = fopen(argv[2], "w");
	if (argc != 3 || !in || !out || fread(input, 1, sizeof(input), in) != sizeof(input)) return 2;
	for (unsigned k = 0; k < sizeof(kernels) / sizeof(kernels[0]); k++) {
		memset(output, 0, sizeof(output));
		for (u32 lane = 0; lane < 64; lane++) kernels[k](input, output, lane);
		fwrite(output, 1, sizeof(output), out);
	}
	return fclose(out) != 0;
}
"""


def run(*command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def compile_gpu(clang, gfx, level, source, target):
    return run(clang, "-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", f"-mcpu={gfx}", "-nogpulib", level, "-fwrapv",
               "-ffp-contract=off", "-cl-fp32-correctly-rounded-divide-sqrt", "-w", f"-fuse-ld=lld{clang[5:]}", source, "-o", target)


def one_seed(options, clang, seed, where):
    rng = random.Random(seed)
    names = [f"k{index}" for index in range(options.kernels)]
    text = PRELUDE + "\n".join(Kernel(rng, name).text() for name in names)
    source, host = where / "kernels.c", where / "host"
    source.write_text(text)
    (where / "host.c").write_text(text + HOST_MAIN % (", ".join(names), INPUT_WORDS))
    (where / "input").write_bytes(make_input(rng))
    status, output = run(clang, "-x", "c", "-O1", "-fwrapv", "-ffp-contract=off", "-mfma", "-mf16c", "-Xclang", "-ffloat16-excess-precision=none", "-w",
                         where / "host.c", "-o", host, "-lm")
    if not status:
        status, output = run(host, where / "input", where / "expected")
    if status:
        sys.exit(f"seed {seed}: the host's side failed: {output[-2000:]}")
    expected = (where / "expected").read_bytes()
    for gfx in options.gfx:
        if (seed, gfx) in options.done:
            continue
        level = rng.choice(["-O0", "-O1", "-O2", "-O3"])
        status, output = compile_gpu(clang, gfx, level, source, where / "code")
        if status:
            sys.exit(f"seed {seed}: {gfx} {level}: {output[-2000:]}")
        status, output = run(options.isa_run, gfx, where / "code", where / "input", where / "output", LANES * 32 * 8, LANES, LANES)
        got = (where / "output").read_bytes() if not status else b""
        yield gfx, level, differences(names, expected, got) if not status else [output.strip()], output.strip()


def differences(names, expected, got):
    size, found = LANES * 32 * 8, []
    for index, name in enumerate(names):
        for word in range(LANES * 32):
            at = index * size + word * 8
            if expected[at:at + 8] != got[at:at + 8]:
                found.append(f"{name}: lane {word // 32}, output {word % 32}: host {int.from_bytes(expected[at:at + 8], 'little'):#x}, "
                             f"GPU {int.from_bytes(got[at:at + 8], 'little'):#x}")
                break
    return found


def main():
    parser = argparse.ArgumentParser(usage=__doc__.partition("usage: ")[2])
    parser.add_argument("--gfx", action="append")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--kernels", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("isa_run", type=pathlib.Path)
    options = parser.parse_args()
    options.gfx = options.gfx or ["gfx90a", "gfx942"]
    clang = next((name for name in CLANGS if shutil.which(name)), None)
    if not clang or not shutil.which("ld.lld" + clang[5:]):
        print(f"none of {', '.join(CLANGS)} with its lld is installed")
        return 77
    options.done, bad, total, began = set(), 0, 0, time.monotonic()
    if options.results and options.results.exists():
        for line in options.results.read_text().splitlines():
            seed, gfx, *_ = line.split()
            options.done.add((int(seed), gfx))
    for seed in range(options.seed, options.seed + options.runs):
        if time.monotonic() - began > options.seconds:
            break
        with tempfile.TemporaryDirectory() as temporary:
            where = options.keep or pathlib.Path(temporary)
            where.mkdir(parents=True, exist_ok=True)
            for gfx, level, found, said in one_seed(options, clang, seed, where):
                total, bad = total + options.kernels, bad + len(found)
                for text in found[:5]:
                    print(f"seed {seed}, {gfx} {level}: {text}", flush=True)
                if options.results:
                    with options.results.open("a") as results:
                        print(seed, gfx, options.kernels, len(found), level, said, file=results)
    print(f"{total} kernels, {bad} differences")
    return 1 if bad else 0


if __name__ == "__main__":
    os.environ["LC_ALL"] = "C"
    sys.exit(main())
