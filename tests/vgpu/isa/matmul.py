#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A product of matrices, 64 x 64 x 64, in OpenCL C with the matrix operations of clang, compared with the same product in Python.

One wave computes it tile by tile, for each type that has a matrix operation. Elements are small integers, so that the product
is exact. The kernels place elements in lanes as libraries do.

usage: matmul.py ISA_RUN
exit status: 0 the same, 1 different, 77 no clang that knows the GPU
"""
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile

SIZE = 64
CLANGS = ("clang-19", "clang-20", "clang-21", "clang-18", "clang-17")
# GPU, name, tile, k per operation, element in C, operand of the builtin, elements per lane, result, builtin
KERNELS = [
    ("gfx90a", "f32", 16, 4, "float", "float", "float", "f32_16x16x4f32"),
    ("gfx90a", "f16", 32, 8, "half", "half4", "float", "f32_32x32x8f16"),
    ("gfx90a", "f16_small", 16, 16, "half", "half4", "float", "f32_16x16x16f16"),
    ("gfx90a", "bf16", 32, 8, "short", "short4", "float", "f32_32x32x8bf16_1k"),
    ("gfx90a", "bf16_old", 16, 8, "short", "short2", "float", "f32_16x16x8bf16"),
    ("gfx90a", "i8", 32, 8, "char", "int", "int", "i32_32x32x8i8"),
    ("gfx90a", "f64", 16, 4, "double", "double", "double", "f64_16x16x4f64"),
    ("gfx942", "f32", 32, 2, "float", "float", "float", "f32_32x32x2f32"),
    ("gfx942", "xf32", 32, 4, "float", "float2", "float", "f32_32x32x4_xf32"),
    ("gfx942", "f16", 32, 8, "half", "half4", "float", "f32_32x32x8f16"),
    ("gfx942", "bf16", 16, 16, "short", "short4", "float", "f32_16x16x16bf16_1k"),
    ("gfx942", "i8", 32, 16, "char", "long", "int", "i32_32x32x16_i8"),
    ("gfx942", "fp8", 16, 32, "char", "long", "float", "f32_16x16x32_fp8_fp8"),
    ("gfx942", "bf8", 32, 16, "char", "long", "float", "f32_32x32x16_bf8_bf8"),
    ("gfx942", "f64", 16, 4, "double", "double", "double", "f64_16x16x4f64"),
]
BYTES = {"float": 4, "half": 2, "short": 2, "char": 1, "double": 8, "int": 4}
OPERAND_BYTES = {"float": 4, "float2": 8, "half4": 8, "short2": 4, "short4": 8, "int": 4, "long": 8, "double": 8}

SOURCE = """
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef {element} element;
typedef {operand} operand;
typedef {result} result;
#define TILE {tile}
#define K {k}
#define ITEMS {items} /* of A and B in a lane */
#define ROWS {rows} /* of D in a lane */
typedef result rows __attribute__((ext_vector_type(ROWS)));
union items {{ operand all; element one[ITEMS]; }};

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void multiply(__global const element *a, __global result *d)
{{
	__global const element *b = a + {size} * {size};
	uint lane = __builtin_amdgcn_workitem_id_x(), column = lane % TILE, group = lane / TILE;

	for (uint i = 0; i < {size}; i += TILE)
		for (uint j = 0; j < {size}; j += TILE) {{
			rows sum = 0;

			for (uint k = 0; k < {size}; k += K) {{
				union items x, y;

				for (uint n = 0; n < ITEMS; n++) {{
					x.one[n] = a[(i + column) * {size} + k + group * ITEMS + n];
					y.one[n] = b[(k + group * ITEMS + n) * {size} + j + column];
				}}
				sum = __builtin_amdgcn_mfma_{builtin}(x.all, y.all, sum, 0, 0, 0);
			}}
			for (uint n = 0; n < ROWS; n++) {{
				uint row = sizeof(result) == 8 ? n * 4 + group
							       : n / 4 * (4 * 64 / TILE) + group * 4 + n % 4;

				d[(i + row) * {size} + j + column] = sum[n];
			}}
		}}
}}
"""


def small_float(value, fraction, bias, width):
    """Bits of a float that is exact."""
    if not value:
        return 0
    magnitude, exponent = abs(value), 0
    while magnitude >= 2:
        magnitude /= 2
        exponent += 1
    return (value < 0) << (width - 1) | (exponent + bias) << fraction | int((magnitude - 1) * (1 << fraction))


def packed(name, values):
    kind = name.split("_")[0]
    if kind in ("f32", "xf32"):
        return struct.pack(f"<{len(values)}f", *values)
    if kind == "f16":
        return struct.pack(f"<{len(values)}e", *values)
    if kind == "f64":
        return struct.pack(f"<{len(values)}d", *values)
    if kind == "i8":
        return struct.pack(f"<{len(values)}b", *values)
    if kind == "bf16":
        return struct.pack(f"<{len(values)}H", *(small_float(v, 7, 127, 16) for v in values))
    fraction, bias = (3, 8) if kind == "fp8" else (2, 16)
    return bytes(small_float(v, fraction, bias, 8) for v in values)


def compile_kernel(clang, kernel, directory):
    gfx, name, tile, k, element, operand, result, builtin = kernel
    source, code = directory / f"{gfx}-{name}.cl", directory / f"{gfx}-{name}.so"
    source.write_text(SOURCE.format(element=element, operand=operand, result=result, tile=tile, k=k, builtin=builtin, size=SIZE,
                                    items=OPERAND_BYTES[operand] // BYTES[element], rows=tile * tile // 64))
    subprocess.run([clang, "-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", f"-mcpu={gfx}", "-nogpulib", "-O2",
                    "-o", code, source], check=True)
    return code


def differs(isa_run, clang, kernel, directory):
    gfx, name, tile, k, element, operand, result, builtin = kernel
    rng = random.Random(name)
    a = [rng.randint(-4, 4) for _ in range(SIZE * SIZE)]
    b = [rng.randint(-4, 4) for _ in range(SIZE * SIZE)]
    code = compile_kernel(clang, kernel, directory)
    (directory / "in").write_bytes(packed(name, a + b))
    (directory / "out").write_bytes(b"")
    size = SIZE * SIZE * BYTES[result]
    run = subprocess.run([isa_run, gfx, code, directory / "in", directory / "out", str(size), "64", "64"], capture_output=True,
                         text=True)
    if run.returncode:
        print(f"# {gfx} {name}: {run.stderr}{run.stdout}")
        return True
    got = struct.unpack(f"<{SIZE * SIZE}{ {'float': 'f', 'int': 'i', 'double': 'd'}[result]}", (directory / "out").read_bytes())
    for i in range(SIZE):
        for j in range(SIZE):
            want = sum(a[i * SIZE + n] * b[n * SIZE + j] for n in range(SIZE))
            if got[i * SIZE + j] != want:
                print(f"# {gfx} {name}: row {i}, column {j}: {got[i * SIZE + j]}, not {want}")
                return True
    print(f"# {gfx} {name} ({builtin}): {run.stdout.strip()}")
    return False


def main():
    clang = next((path for path in map(shutil.which, CLANGS) if path), None)
    if not clang:
        return 77
    with tempfile.TemporaryDirectory() as directory:
        wrong = [kernel[:2] for kernel in KERNELS if differs(sys.argv[1], clang, kernel, pathlib.Path(directory))]
    if wrong:
        print("different:", wrong)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
