#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the instruction executor with the host: random kernels, compiled by clang for the GPU and for this machine.

A seed makes a source file of KERNELS kernels: expressions of all integer and float types, branches and loops that
differ by lane, arrays with computed indices, memory of the work-group. The same text is compiled as OpenCL C for the GPU and as C
for the host. Operations that IEEE or the integers define must give the same bits; any NaN equals any other.
A kernel that differs is printed with its seed: run it again with --seed N --keep.

usage: differ.py [--gfx NAME]... [--seed N] [--runs N] [--kernels N] [--seconds S] [--collect FILE] [--keep DIRECTORY] ISA_RUN
--runs: seeds from --seed on (1); --seconds: starts no new seed after that
--collect: continues behind the last seed in FILE, even seeds on the first GPU and odd ones on the second, and keeps the sum of the run in its
last line: date, digest of this program (other text, other kernels), first and last seed, kernels, differences
exit status: 0 no difference, 1 differences, 77 no clang that knows the GPU
"""
import argparse
import datetime
import hashlib
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

LANES = 64
INPUT_WORDS = 64  # of each lane
OUTPUT_WORDS = 32
# The time of a run is clang's, and that is proportional to the text: most kernels are small, each kind of statement and expression is in all sizes.
STATEMENTS = (1, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 5, 10)
DEPTHS = (1, 2, 2, 3, 3)
LEVELS = ("-O0", "-O1", "-O1", "-O2")  # -O3 makes almost the same code as -O2
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
#define CODE static inline __attribute__((always_inline))
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
/*
 * clang 19 takes -0 for +0 where it rounds a product to f16 (v_fma_mixlo_f16 with +0 as addend), where a constant of f16 is in the
 * upper half, and +0 for -0 where a constant 0 - x becomes -x. What passes through here it does not know.
 */
#ifdef __OPENCL_C_VERSION__
#define APART(x) __asm__("" : "+v"(x))
#else
#define APART(x)
#endif
CODE f64 apart_f64(f64 x) { APART(x); return x; }
CODE f32 apart_f32(f32 x) { APART(x); return x; }
CODE f16 apart_f16(f16 x) { APART(x); return x; }
"""


class Kernel:
    """The text of one kernel. Variables are never read before they are written."""

    def __init__(self, rng, name):
        self.rng, self.name, self.lines, self.count, self.depth = rng, name, [], 0, 1
        self.variables = {kind: [] for kind in (*INTEGERS, *FLOATS)}
        self.arrays, self.given, self.fixed = [], [], set()

    def line(self, text):
        self.lines.append("\t" * self.depth + text)

    def fresh(self):
        self.count += 1
        return f"v{self.count}"

    def constant(self, kind):
        rng = self.rng
        if kind in FLOATS:
            value = rng.choice(["0", "-0.0", "1", "-1", "0.5", "2", "3", "-7.25", "1e-3", "1e4", "0.1", f"{rng.uniform(-100, 100):.9g}"])
            return f"apart_{kind}({value})" if float(value) == 0 else f"(({kind}){value})"
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
            array = self.rng.choice(self.arrays)
            return self.convert(self.element(array), array[1], kind)
        return self.constant(kind)

    def element(self, array):
        """Of memory of the work-group each lane has its own part."""
        name, _, length, shared = array
        return f"{name}[{f'LANE * {length} + ' if shared else ''}({self.expression('u32', 1)} & {length - 1})]"

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
        if source == "f32" and target == "f16" and not text.startswith("__builtin_fma"):
            text = f"apart_f32({text})"
        if source in INTEGERS and target in FLOATS and not re.search(r"\bv\d", text):  # a constant, which may be 0
            return f"apart_{target}(({target})({text}))"
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
        """Declared by text() where the kernel reads or writes them."""
        def word(index):
            return f"input[LANE * {INPUT_WORDS} + {index}]"

        def wide(index):
            return f"((u64){word(index)} | (u64){word(index + 1)} << 32)"
        rng = self.rng
        given = [*(("u32", word(index)) for index in range(10)), ("i32", f"(i32){word(10)}"), ("u32", "LANE"),
                 *(("u64", wide(index)) for index in range(12, 20, 2)), ("i64", f"(i64){wide(20)}"),
                 *(("f32", f"to_f32({word(index)})") for index in range(22, 28)),
                 *(("f64", f"to_f64({wide(index)})") for index in range(28, 36, 2)),
                 *(("f16", f"to_f16({word(index)})") for index in range(36, 40)),
                 *((kind, f"({kind}){word(rng.randrange(40, 48))}") for kind in ("i8", "u8", "i16", "u16"))]
        for kind, text in given:
            name = self.fresh()
            self.variables[kind].append(name)
            self.given.append((name, f"\t{kind} {name} = {text};"))

    def assign(self):
        kind = self.rng.choice([*INTEGERS, *FLOATS])
        text = self.expression(kind, self.rng.choice(DEPTHS))
        own = [name for name in self.variables[kind] if name not in self.fixed]
        if own and self.rng.random() < 0.7:
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
            array = self.rng.choice(self.arrays)
            place = self.element(array)
            value = self.expression(array[1], 2)
            self.line(f"{place} = {value};")
        elif self.depth == 1:
            self.new_array()
        else:
            self.assign()

    def new_array(self):
        element, length = self.rng.choice(["u32", "f32", "u8", "i16", "u64", "f64"]), self.rng.choice([2, 4, 16])
        name, shared = self.fresh(), self.rng.random() < 0.4
        self.line(f"{'SHARED ' if shared else ''}{element} {name}[{64 * length if shared else length}];")
        at = f"LANE * {length} + i" if shared else "i"
        self.line(f"for (u32 i = 0; i < {length}; i++) {name}[{at}] = {self.convert(self.rng.choice(self.variables['u32']), 'u32', element)};")
        self.arrays.append((name, element, length, shared))

    def text(self):
        self.inputs()
        inputs = {name for name, _ in self.given}
        self.fixed |= {name for name, _ in self.given if self.rng.random() < 0.5}  # in order: a seed is always the same text
        self.fixed |= {self.variables[kind][0] for kind in ("u32", "u64")}  # operands of divisions have all their bits from them
        for _ in range(self.rng.choice(STATEMENTS)):
            self.statement(3)
        used = set(re.findall(r"\bv\d+\b", "\n".join(self.lines)))
        changed = inputs & set(re.findall(r"\b(v\d+) = ", "\n".join(self.lines)))
        results = [(kind, name) for kind, names in self.variables.items() for name in names if name not in inputs or name in changed]
        for at, (kind, name) in enumerate(results[-OUTPUT_WORDS:]):
            value = f"of_{kind}({name})" if kind in FLOATS else f"(u64)(u{kind[1:]}){name}"
            self.line(f"output[LANE * {OUTPUT_WORDS} + {at}] = {value};")
        for number, array in enumerate(self.arrays[-2:]):
            name, element, length, shared = array
            place = f"{name}[{f'LANE * {length} + ' if shared else ''}{number}]"
            value = f"of_{element}({place})" if element in FLOATS else f"(u64)(u{element[1:]}){place}"
            self.line(f"output[LANE * {OUTPUT_WORDS} + {number}] ^= {value};")
        given = [line for name, line in self.given if name in used]
        return f"BEGIN({self.name})\n{{\n" + "\n".join([*given, *self.lines]) + "\n}\n"


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
    status, output = run(clang, "-x", "c", "-O0", "-fwrapv", "-ffp-contract=off", "-mfma", "-mf16c", "-Xclang", "-ffloat16-excess-precision=none", "-w",
                         where / "host.c", "-o", host, "-lm")
    if not status:
        status, output = run(host, where / "input", where / "expected")
    if status:
        sys.exit(f"seed {seed}: the host's side failed: {output[-2000:]}")
    expected = (where / "expected").read_bytes()
    for gfx in [options.gfx[seed % len(options.gfx)]] if options.collect else options.gfx:
        level = rng.choice(LEVELS)
        status, output = compile_gpu(clang, gfx, level, source, where / "code")
        if status:
            sys.exit(f"seed {seed}: {gfx} {level}: {output[-2000:]}")
        status, output = run(options.isa_run, gfx, where / "code", where / "input", where / "output", LANES * OUTPUT_WORDS * 8, LANES, LANES)
        got = (where / "output").read_bytes() if not status else b""
        yield gfx, level, differences(names, expected, got) if not status else [output.strip()]


def differences(names, expected, got):
    size, found = LANES * OUTPUT_WORDS * 8, []
    for index, name in enumerate(names):
        for word in range(LANES * OUTPUT_WORDS):
            at = index * size + word * 8
            if expected[at:at + 8] != got[at:at + 8]:
                found.append(f"{name}: lane {word // OUTPUT_WORDS}, output {word % OUTPUT_WORDS}: host {int.from_bytes(expected[at:at + 8], 'little'):#x}, "
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
    parser.add_argument("--collect", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("isa_run", type=pathlib.Path)
    options = parser.parse_args()
    options.gfx = options.gfx or ["gfx90a", "gfx942"]
    clang = next((name for name in CLANGS if shutil.which(name)), None)
    if not clang or not shutil.which("ld.lld" + clang[5:]):
        print(f"none of {', '.join(CLANGS)} with its lld is installed")
        return 77
    collected = options.collect.read_text().splitlines() if options.collect and options.collect.exists() else []
    digest = hashlib.sha256(pathlib.Path(__file__).read_bytes()).hexdigest()[:12]
    if options.collect:
        options.seed = 1 + max((int(line.split()[3]) for line in collected), default=0)
    bad, total, began = 0, 0, time.monotonic()
    for seed in range(options.seed, options.seed + options.runs):
        if time.monotonic() - began > options.seconds:
            break
        with tempfile.TemporaryDirectory() as temporary:
            where = options.keep or pathlib.Path(temporary)
            where.mkdir(parents=True, exist_ok=True)
            for gfx, level, found in one_seed(options, clang, seed, where):
                total, bad = total + options.kernels, bad + len(found)
                for text in found[:5]:
                    print(f"seed {seed}, {gfx} {level}: {text}", flush=True)
        if options.collect:
            mine = f"{datetime.date.today()} {digest} {options.seed} {seed} {total} {bad}"
            write_whole(options.collect, "\n".join([*collected, mine]) + "\n")
    print(f"{total} kernels, {bad} differences")
    return 1 if bad else 0


def write_whole(path, text):
    """A run that is killed leaves the old file or the new one."""
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(text)
    fresh.replace(path)


if __name__ == "__main__":
    os.environ["LC_ALL"] = "C"
    sys.exit(main())
