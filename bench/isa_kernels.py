#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long the virtual GPU executes kernels that clang compiled (isa_kernels.cl), in seconds of CPU time on one core.

usage: isa_kernels.py ISA_RUN
Results are compared with sums made here: products of small whole numbers are exact, the layer is right within 1e-3.
exit status: 0, 1 a wrong result, 77 no clang that knows the GPUs
"""
import array
import math
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).with_name("isa_kernels.cl")
VECTOR, SIDE, SIDE_FP8 = 1 << 22, 512, 1024
TOKENS, WIDTH, HEADS, INNER = 64, 256, 8, 1024
HEAD = WIDTH // HEADS
FP8 = {0: 0x00, 1: 0x40, 2: 0x48, -1: 0xc0, -2: 0xc8}  # of gfx942: exponents are less by 8
LAYER = ("layer_norm1:4096:64", "layer_qkv:3072:256", "layer_attention:32768:64", "layer_out:1024:256", "layer_norm2:4096:64",
         "layer_up:4096:256", "layer_down:1024:256")


def floats(values):
    return array.array("f", values).tobytes()


def small(rng, count):
    return [rng.randrange(-2, 3) for _ in range(count)]


class Vector:
    def __init__(self, rng):
        self.input = small(rng, 2 * VECTOR)
        self.bytes, self.outputs = floats(self.input), VECTOR

    def wrong(self, got):
        return any(got[at] != self.input[at] + self.input[VECTOR + at] for at in range(0, VECTOR, 1009))


class Product:
    """B is stored by columns where `transposed`."""
    def __init__(self, rng, side, transposed, encode):
        self.side, self.transposed = side, transposed
        self.a, self.b = small(rng, side * side), small(rng, side * side)
        self.bytes, self.outputs = encode(self.a + self.b), side * side

    def wrong(self, got):
        side = self.side
        for at in range(0, side * side, side * 7 + 13):
            row, column = divmod(at, side)
            b = self.b[column * side:column * side + side] if self.transposed else self.b[column::side]
            if got[at] != sum(x * y for x, y in zip(self.a[row * side:row * side + side], b)):
                return True
        return False


class Layer:
    def __init__(self, rng):
        sizes = (TOKENS * WIDTH, WIDTH * 3 * WIDTH, WIDTH * WIDTH, WIDTH * INNER, INNER * WIDTH)
        self.x, self.qkv, self.out, self.up, self.down = ([rng.gauss(0, 1 if index == 0 else 0.06) for _ in range(size)]
                                                         for index, size in enumerate(sizes))
        self.bytes = floats(self.x + self.qkv + self.out + self.up + self.down)
        self.outputs = TOKENS * (WIDTH * 7 + INNER)

    def wrong(self, got):
        """One token, computed here."""
        def times(row, matrix, columns, first=0, count=None):
            return [sum(value * weight for value, weight in zip(row, matrix[column::columns]))
                    for column in range(first, first + (count or columns))]

        def norm(row):
            scale = 1 / math.sqrt(sum(value * value for value in row) / WIDTH + 1e-5)
            return [value * scale for value in row]
        token = 5
        rows = [norm(self.x[at * WIDTH:(at + 1) * WIDTH]) for at in range(TOKENS)]
        query = times(rows[token], self.qkv, 3 * WIDTH, 0, WIDTH)
        keys, values = ([times(row, self.qkv, 3 * WIDTH, part * WIDTH, WIDTH) for row in rows] for part in (1, 2))
        mixed = []
        for head in range(0, WIDTH, HEAD):
            parts = [math.exp(sum(query[i] * key[i] for i in range(head, head + HEAD)) / math.sqrt(HEAD)) for key in keys]
            mixed += [sum(part * value[i] for part, value in zip(parts, values)) / sum(parts) for i in range(head, head + HEAD)]
        middle = [a + b for a, b in zip(self.x[token * WIDTH:], times(mixed, self.out, WIDTH))]
        inner = [value / (1 + math.exp(-value)) for value in times(norm(middle), self.up, INNER)]
        expected = [a + b for a, b in zip(middle, times(inner, self.down, WIDTH))]
        return any(abs(a - b) > 1e-3 for a, b in zip(expected, got[token * WIDTH:]))


def rows(rng):
    product = SIDE * SIDE // 16
    yield f"vector add of {VECTOR >> 20} Mi floats", "gfx90a", Vector(rng), (f"vector_add:{VECTOR}:256",)
    yield f"SGEMM {SIDE}^3, vector instructions", "gfx90a", Product(rng, SIDE, False, floats), (f"sgemm:{product}:256",)
    yield f"SGEMM {SIDE}^3, v_mfma_f32_16x16x4f32", "gfx90a", Product(rng, SIDE, True, floats), (f"sgemm_mfma:{product * 4}:64",)
    yield f"FP8 GEMM {SIDE_FP8}^3, v_mfma_f32_16x16x32_fp8_fp8", "gfx942", Product(rng, SIDE_FP8, True, lambda numbers: bytes(
        FP8[number] for number in numbers)), (f"gemm_fp8:{SIDE_FP8 * SIDE_FP8 // 4}:64",)
    yield (f"transformer layer, f32 ({TOKENS} tokens, width {WIDTH}, {HEADS} heads, {INNER} inner)", "gfx90a", Layer(rng), LAYER)


def main():
    isa_run = sys.argv[1]
    clang = next((name for name in ("clang-19", "clang-20", "clang-21") if shutil.which(name)), None)
    if not clang or not shutil.which("ld.lld" + clang[5:]):
        print("clang 19 or later with its lld is not installed")
        return 77
    bad = 0
    with tempfile.TemporaryDirectory() as where:
        for gfx in ("gfx90a", "gfx942"):
            subprocess.run([clang, "-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", f"-mcpu={gfx}", "-nogpulib", "-O2",
                            f"-fuse-ld=lld{clang[5:]}", SOURCE, "-o", f"{where}/{gfx}"], check=True)
        for name, gfx, work, calls in rows(random.Random(1)):
            pathlib.Path(where, "in").write_bytes(work.bytes)
            text = subprocess.check_output([isa_run, gfx, f"{where}/{gfx}", f"{where}/in", f"{where}/out", str(work.outputs * 4), *calls], text=True)
            got = array.array("f", pathlib.Path(where, "out").read_bytes())
            instructions, seconds = int(text.split()[2]), float(text.split()[4])
            wrong = work.wrong(got)
            bad += wrong
            print(f"{name}: {seconds:.3f} s, {instructions / 1e6:.2f} M instructions of waves{', WRONG RESULT' if wrong else ''}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
