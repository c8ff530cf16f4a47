#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the instruction executor with the host: random kernels, compiled by clang for the GPU and for this machine.

A seed makes a source file of KERNELS kernels: expressions of all integer and float types and vectors of two, branches and loops that
differ by lane, arrays with computed indices, memory of the work-group. The same text is compiled as OpenCL C for the GPU and as C
for the host. Operations that IEEE or the integers define must give the same bits; any NaN equals any other.
A kernel that differs is printed with its seed: run it again with --seed N --keep.

usage: differ.py [--gfx NAME]... [--seed N] [--runs N] [--kernels N] [--seconds S] [--collect FILE] [--keep DIRECTORY] [--opcodes FILE] ISA_RUN
--runs: seeds from --seed on (1); --seconds: starts no new seed after that
--collect: continues behind the last seed in FILE, even seeds on the first GPU and odd ones on the second, and keeps the sum of the run in its
last line: date, digest of the two programs (other text, other kernels), first and last seed, kernels, differences
--opcodes: adds the instructions of the kernels to FILE, as llvm-objdump names them, and how many there are of each
exit status: 0 no difference, 1 differences, 77 no clang that knows the GPU
"""
import argparse
import collections
import datetime
import hashlib
import math
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time

import kernels

# The time of a run is the compiler's. A few passes make as many kinds of instructions of these kernels as all that -O2 has, and the
# back end, which chooses them, is the same: so most seeds have only those, with the level of the back end.
PASSES = "always-inline,function(sroa,early-cse,simplifycfg,instcombine<no-verify-fixpoint>)"
LIGHT = (*("-O2",) * 9, *("-O1",) * 4, "-O0")
WHOLE = ("-O0", "-O1", "-O2", "-O2")  # -O3 makes almost the same code as -O2
WHOLE_SHARE = 1 / 16
LARGE_SHARE = 1 / 32  # these are compiled with all passes
CLANGS = ("clang-19", "clang-20", "clang-21", "clang-18", "clang-17")
BLOCK = kernels.LANES * kernels.OUTPUT_WORDS * 8  # results of a kernel


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
    for _ in range(kernels.LANES):
        lane = [interesting(rng, 32) for _ in range(kernels.INPUT_WORDS)]
        for index in (*range(12, 22, 2), *range(28, 36, 2)):
            wide = interesting(rng, 64)
            lane[index], lane[index + 1] = wide & 0xffffffff, wide >> 32
        for index in (*range(36, 40), *range(48, 52)):
            lane[index] = interesting(rng, 16) | interesting(rng, 16) << 16
        words += lane
    return struct.pack(f"<{len(words)}I", *words)


HOST_MAIN = """
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
	static void (*const functions[])(const u32 *, u64 *, u32, u32) = {%s};
	static u32 input[64 * %d];
	static u64 output[64 * 32];
	FILE *in = fopen(argv[1], "r"), *out = fopen(argv[2], "w");
	if (argc != 3 || !in || !out || fread(input, 1, sizeof(input), in) != sizeof(input)) return 2;
	for (unsigned f = 0; f < sizeof(functions) / sizeof(functions[0]); f++)
		for (u32 chosen = 0; chosen < %d; chosen++) {
			memset(output, 0, sizeof(output));
			for (u32 lane = 0; lane < 64; lane++) functions[f](input, output, lane, chosen);
			fwrite(output, 1, sizeof(output), out);
		}
	return fclose(out) != 0;
}
"""


class Failed(Exception):
    """A program failed; the text is its output."""


def run(*command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise Failed(f"{command[0]} ended with {done.returncode}: {done.stdout.strip()[:2000]}")
    return done.stdout


class Compiler:
    """clang, and its optimiser, back end and linker as programs of their own."""

    def __init__(self):
        names = [name for name in CLANGS if shutil.which(name)]
        self.clang = next((name for name in names if shutil.which("ld.lld" + name[5:])), None)
        ending = self.clang[5:] if self.clang else ""
        self.opt, self.llc, self.lld, self.objdump = (name + ending for name in ("opt", "llc", "ld.lld", "llvm-objdump"))
        self.apart = bool(shutil.which(self.opt) and shutil.which(self.llc))

    def host(self, source, target):
        run(self.clang, "-x", "c", "-O0", "-fwrapv", "-fno-strict-aliasing", "-ffp-contract=off", "-mfma", "-mf16c", "-msse4.1", "-Xclang",
            "-ffloat16-excess-precision=none", "-w", f"-fuse-ld=lld{self.clang[5:]}", source, "-o", target, "-lm")

    def gpu(self, gfx, how, source, target):
        passes, level = how
        common = [self.clang, "-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", f"-mcpu={gfx}", "-nogpulib", "-fwrapv",
                  "-fno-strict-aliasing", "-ffp-contract=off", "-cl-fp32-correctly-rounded-divide-sqrt", "-w", source, "-o"]
        if passes == "all":
            run(*common, target, level, f"-fuse-ld=lld{self.clang[5:]}")
            return
        steps = [target.with_suffix(f".{number}") for number in range(3)]
        run(*common, steps[0], "-O1", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c")
        run(self.opt, "--disable-verify", f"-passes={PASSES}", steps[0], "-o", steps[1])
        run(self.llc, "--disable-verify", f"-mcpu={gfx}", level, "-filetype=obj", steps[1], "-o", steps[2])
        run(self.lld, "-shared", "--no-undefined", steps[2], "-o", target)

    def opcodes(self, code):
        """How many there are of each instruction."""
        text = run(self.objdump, "-d", "--no-show-raw-insn", code)
        return collections.Counter(line.split(None, 1)[0] for line in text.splitlines() if line.startswith("\t"))


def compile_one(compiler, gfx, how, source, target, seed):
    """How it was compiled. LLVM's back end alone cannot select some of what its passes would have removed (a 16-bit
    udivrem): then with all passes."""
    for way in (how, ("all", "-O1")):
        try:
            compiler.gpu(gfx, way, source, target)
            return way
        except Failed as error:
            print(f"seed {seed}: {gfx} {way} does not compile: {error}", flush=True)
    sys.exit(1)


def one_seed(options, compiler, seed, where):
    """(GPU, how it was compiled, kernels, differences) for each GPU."""
    rng = random.Random(seed)
    large = rng.random() < LARGE_SHARE
    size = kernels.LARGE if large else kernels.SMALL
    text, names, results = kernels.make(rng, options.kernels, size)
    source, host = where / "kernels.c", where / "host"
    source.write_text(text)
    (where / "host.c").write_text(text + HOST_MAIN % (", ".join(names), kernels.INPUT_WORDS, size.cases))
    (where / "input").write_bytes(make_input(rng))
    try:
        compiler.host(where / "host.c", host)
        run(host, where / "input", where / "expected")
    except Failed as error:
        sys.exit(f"seed {seed}: the host's side failed: {error}")
    expected = (where / "expected").read_bytes()
    for gfx in [options.gfx[seed % len(options.gfx)]] if options.collect else options.gfx:
        whole = large or rng.random() < WHOLE_SHARE or not compiler.apart
        how = ("all", rng.choice(WHOLE)) if whole else ("few", rng.choice(LIGHT))
        how = compile_one(compiler, gfx, how, source, where / "code", seed)
        if options.opcodes:
            options.found.update(compiler.opcodes(where / "code"))
        try:
            run(options.isa_run, gfx, where / "code", where / "input", where / "output", BLOCK, kernels.LANES, kernels.LANES, size.cases)
        except Failed as error:
            yield gfx, how, len(results), [str(error)]
            continue
        yield gfx, how, len(results), differences(size.cases, results, expected, (where / "output").read_bytes())


def is_nan(kind, bits):
    """Of one result: both halves of a vector are numbers of their own."""
    return math.isnan(struct.unpack({"f16": "<e", "f32": "<f", "f64": "<d"}[kind], bits)[0])


def same(kind, a, b):
    """Whether two results, in bytes, are the same number."""
    element = kernels.VECTORS.get(kind, kind)
    if a == b or element not in kernels.FLOATS:
        return a == b
    size = kernels.BYTES[element]
    return all(a[at:at + size] == b[at:at + size] or is_nan(element, a[at:at + size]) and is_nan(element, b[at:at + size])
               for at in range(0, kernels.BYTES[kind], size)) and a[kernels.BYTES[kind]:] == b[kernels.BYTES[kind]:]


def differences(cases, results, expected, got):
    """A line for each kernel: the first result that differs."""
    found = []
    if len(got) != len(expected) or len(got) != len(results) * BLOCK:
        return [f"{len(got)} bytes of results instead of {len(results) * BLOCK}"]
    for index, kinds in enumerate(results):
        at = index * BLOCK
        if expected[at:at + BLOCK] == got[at:at + BLOCK]:
            continue
        pairs = zip(struct.unpack_from(f"<{BLOCK // 8}Q", expected, at), struct.unpack_from(f"<{BLOCK // 8}Q", got, at))
        for word, (a, b) in enumerate(pairs):
            lane, number = divmod(word, kernels.OUTPUT_WORDS)
            kind = kinds[number] if number < len(kinds) else "u64"
            if a != b and not same(kind, a.to_bytes(8, "little"), b.to_bytes(8, "little")):
                found.append(f"k{index // cases}, case {index % cases}: lane {lane}, result {number} ({kind}): host {a:#x}, GPU {b:#x}")
                break
    return found


def main():
    parser = argparse.ArgumentParser(usage=__doc__.partition("usage: ")[2])
    parser.add_argument("--gfx", action="append")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--kernels", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--collect", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--opcodes", type=pathlib.Path)
    parser.add_argument("isa_run", type=pathlib.Path)
    options = parser.parse_args()
    options.gfx = options.gfx or ["gfx90a", "gfx942"]
    options.isa_run, options.found = options.isa_run.resolve(), collections.Counter()
    compiler = Compiler()
    if not compiler.clang:
        print(f"none of {', '.join(CLANGS)} with its lld is installed")
        return 77
    collected = options.collect.read_text().splitlines() if options.collect and options.collect.exists() else []
    digest = hashlib.sha256(b"".join(pathlib.Path(module).read_bytes() for module in (__file__, kernels.__file__))).hexdigest()[:12]
    if options.collect:
        options.seed = 1 + max((int(line.split()[3]) for line in collected), default=0)
    bad, total, began = 0, 0, time.monotonic()
    for seed in range(options.seed, options.seed + options.runs):
        if time.monotonic() - began > options.seconds:
            break
        with tempfile.TemporaryDirectory() as temporary:
            where = options.keep or pathlib.Path(temporary)
            where.mkdir(parents=True, exist_ok=True)
            for gfx, how, count, found in one_seed(options, compiler, seed, where):
                total, bad = total + count, bad + len(found)
                for text in found[:5]:
                    print(f"seed {seed}, {gfx}, {how[0]} passes, {how[1]}: {text}", flush=True)
        if options.collect:
            mine = f"{datetime.date.today()} {digest} {options.seed} {seed} {total} {bad}"
            write_whole(options.collect, "\n".join([*collected, mine]) + "\n")
    if options.opcodes:
        with options.opcodes.open("a", encoding="utf-8") as file:
            file.writelines(f"{name} {count}\n" for name, count in sorted(options.found.items()))
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
