# SPDX-License-Identifier: MIT
"""Instructions as LLVM knows them: words are put into an object file and disassembled.

Every opcode of every encoding is tried with several operands, because LLVM refuses operands that an
operation cannot have; random words try the rest. As a program it prints the list of opcodes.
"""
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

GPUS = ("gfx90a", "gfx942")
VERSION = "19"
STRIDE = 8  # words from one candidate to the next; the rest is s_nop, so that a wrong length is made up for
NOP = 0xBF800000
LITERAL = 0x12345678
LINE = re.compile(r"^\s+(\S+).*// ([0-9A-F]+): ((?:[0-9A-F]{8}(?: |$))+)")
ENDING = re.compile(r"_(e32|e64|sdwa|dpp|e64_dpp)$")


def tool(name):
    """The path of a program of LLVM, or None."""
    return shutil.which(f"{name}-{VERSION}")


def missing():
    """Why there is no LLVM to ask, or None."""
    for name in ("llvm-mc", "llvm-objdump"):
        if not tool(name):
            return f"{name}-{VERSION} is not installed (package llvm-{VERSION})"
    return None


def objdump(gpu, candidates):
    """The disassembly of the candidates, or None: some operands crash llvm-objdump."""
    with tempfile.TemporaryDirectory() as place:
        source, binary = os.path.join(place, "words.s"), os.path.join(place, "words.o")
        with open(source, "w", encoding="ascii") as out:
            for words in candidates:
                full = list(words) + [NOP] * (STRIDE - len(words))
                out.write(".long " + ",".join(f"{word:#x}" for word in full) + "\n")
        subprocess.run([tool("llvm-mc"), "-triple=amdgcn--amdhsa", f"-mcpu={gpu}", "-filetype=obj", source,
                        "-o", binary], check=True)
        done = subprocess.run([tool("llvm-objdump"), "-d", f"--mcpu={gpu}", binary], capture_output=True, text=True,
                              check=False)
    return done.stdout if not done.returncode else None


def disassemble(gpu, candidates):
    """For each list of up to three words: (name, words), or None where LLVM knows no instruction."""
    found = [None] * len(candidates)
    text = objdump(gpu, candidates)
    if text is None:
        half = len(candidates) // 2
        return disassemble(gpu, candidates[:half]) + disassemble(gpu, candidates[half:]) if half else found
    for line in text.splitlines():
        match = LINE.match(line)
        if not match or match[1].startswith((".", "<")):
            continue
        index, rest = divmod(int(match[2], 16), STRIDE * 4)
        if not rest:
            found[index] = (ENDING.sub("", match[1]), len(match[3].split()))
    return found


def sdwa(vopc):
    return 2 | (0x84 << 8 if vopc else 6 << 8) | 6 << 16 | 6 << 24


def short(first, vopc=False):
    """VOP1, VOP2 and VOPC: plain, with SDWA, with DPP, with a literal."""
    yield "plain", [first | 0x102, LITERAL, NOP]
    yield "sdwa", [first | 249, sdwa(vopc), NOP]
    yield "dpp", [first | 250, 2 | 0xE4 << 8 | 0xF << 24 | 0xF << 28, NOP]
    yield "literal", [first | 255, LITERAL, NOP]


def sop2(opcode):
    first = 2 << 30 | opcode << 23 | 4 << 16
    yield "plain", [first | 8 << 8 | 2]
    yield "literal", [first | 8 << 8 | 255, LITERAL]
    yield "literal", [first | 255 << 8 | 2, LITERAL]


def sopk(opcode):
    for field in (0x0001, 0xF801):
        yield "plain", [0xB << 28 | opcode << 23 | 4 << 16 | field, LITERAL]


def sop1(opcode):
    first = 0x17D << 23 | 4 << 16 | opcode << 8
    yield "plain", [first | 2]
    yield "plain", [first]
    yield "plain", [0x17D << 23 | opcode << 8 | 2]
    yield "literal", [first | 255, LITERAL]


def sopc(opcode):
    first = 0x17E << 23 | opcode << 16
    yield "plain", [first | 8 << 8 | 2]
    yield "plain", [first | 1 << 8 | 2]
    yield "literal", [first | 8 << 8 | 255, LITERAL]


def sopp(opcode):
    for field in (0, 1):
        yield "plain", [0x17F << 23 | opcode << 16 | field]


def smem(opcode):
    first = 0x30 << 26 | opcode << 18
    for data in (0, 8 << 6, 16 << 6):
        for base in (0, 2):
            yield "plain", [first | data | base | 1 << 17, 0x10]
            yield "plain", [first | data | base | 1 << 17 | 1 << 16, 0x10]
            yield "plain", [first | data | base, 7]
            yield "plain", [first | data | base | 1 << 17 | 1 << 14, 0x12 | 7 << 25]
    yield "plain", [first, 0]


def vop1(opcode):
    yield "plain", [0x3F << 25 | opcode << 9]  # no operands
    for register in (4, 6):
        yield from short(0x3F << 25 | register << 17 | opcode << 9)


def vop2(opcode):
    yield from short(opcode << 25 | 4 << 17 | 6 << 9)


def vopc(opcode):
    yield from short(0x3E << 25 | opcode << 17 | 6 << 9, True)


def vop3(opcode):
    first = 0x34 << 26 | opcode << 16 | 4
    for second in (0x102 | 0x106 << 9 | 0x108 << 18, 0x102 | 0x106 << 9, 0x102, 0, 0x102 | 6 << 9 | 6 << 18,
                   0x102 | 0x106 << 9 | 6 << 18, 2 | 6 << 9):
        yield "plain", [first, second]


def vop3p(opcode):
    for high in (0, 1 << 14):
        for acc in (0, 1 << 15):
            first = 0x34 << 26 | 7 << 23 | opcode << 16 | 4 | high | acc
            for source in (0x102 | 0x106 << 9 | 0x108 << 18, 0x102 | 0x106 << 9, 0x102):
                for bits in (0, 3 << 27):
                    yield "plain", [first, source | bits]


def ds(opcode):
    for gds in (0, 1 << 16):
        first = 0x36 << 26 | opcode << 17 | gds
        for second in (2 | 4 << 8 | 6 << 16 | 8 << 24, 2 | 4 << 8 | 8 << 24, 2 | 4 << 8, 2, 8 << 24 | 2, 0, 4 << 8,
                       8 << 24):
            yield "plain", [first, second]


def flat(segment):
    def candidates(opcode):
        for extra in (0, 1 << 16, 1 << 13, 1 << 16 | 1 << 13):
            first = 0x37 << 26 | opcode << 18 | segment << 14 | extra
            for saddr in (0, 4, 0x7F):
                for second in (2 | 4 << 8 | 8 << 24, 2 | 8 << 24, 2 | 4 << 8, 2, 0):
                    yield "plain", [first, second | saddr << 16]
    return candidates


def mubuf(opcode):
    for extra in (0, 1 << 12, 1 << 13, 3 << 12, 1 << 14, 1 << 16, 1 << 12 | 1 << 16):
        for second in (2 | 4 << 8 | 1 << 16 | 3 << 24, 2 | 1 << 16 | 3 << 24, 0):
            yield "plain", [0x38 << 26 | opcode << 18 | extra, second]


def mtbuf(opcode):
    for extra in (0, 1 << 12, 1 << 13, 3 << 12):
        yield "plain", [0x3A << 26 | opcode << 15 | 4 << 19 | 7 << 23 | extra, 2 | 4 << 8 | 1 << 16 | 3 << 24]


def mimg(opcode):
    first = 0x3C << 26 | (opcode & 0x7F) << 18 | opcode >> 7
    for mask in (0, 1, 3, 0xF):
        for extra in (0, 1 << 13, 1 << 15, 1 << 12):
            for sampler in (0, 2 << 21):
                yield "plain", [first | mask << 8 | extra, 2 | 4 << 8 | 2 << 16 | sampler]


# format: opcodes, candidates. VOP3 has the opcodes of VOPC, VOP2 and VOP1 first, VOP3P the last.
FORMATS = {
    "SOP2": (range(0x60), sop2), "SOPK": (range(0x1C), sopk), "SOP1": (range(256), sop1),
    "SOPC": (range(128), sopc), "SOPP": (range(128), sopp), "SMEM": (range(256), smem),
    "VOP1": (range(256), vop1), "VOP2": (range(0x3E), vop2), "VOPC": (range(256), vopc),
    "VOP3": (range(0x380), vop3), "VOP3P": (range(128), vop3p), "DS": (range(256), ds),
    "FLAT": (range(128), flat(0)), "GLOBAL": (range(128), flat(2)), "SCRATCH": (range(128), flat(1)),
    "MUBUF": (range(128), mubuf), "MTBUF": (range(16), mtbuf), "MIMG": (range(256), mimg),
}


def candidates_all():
    """(format, opcode, form, words) of everything that is tried."""
    for name, (opcodes, candidates) in FORMATS.items():
        for opcode in opcodes:
            for form, words in candidates(opcode):
                yield name, opcode, form, words


def random_words(seed, count):
    """Words of all encodings, two thirds of them of those that have a second one."""
    source = random.Random(seed)
    tops = list(range(0x30, 0x40)) * 2 + list(range(0x20, 0x30)) + list(range(0x20))
    return [[source.choice(tops) << 26 | source.getrandbits(26), source.getrandbits(32), source.getrandbits(32)]
            for _ in range(count)]


def table_key(name, opcode):
    """VOP3's opcodes as the tables have them: format and opcode."""
    if name != "VOP3":
        return name, opcode
    if opcode < 0x100:
        return "VOPC", opcode
    if opcode < 0x140:
        return "VOP2", opcode - 0x100
    if opcode < 0x1C0:
        return "VOP1", opcode - 0x140
    return "VOP3", opcode - 0x1C0


def opcodes(gpu):
    """{(format, opcode): {names}} of a GPU; VOP3 with all of its opcodes."""
    tried = list(candidates_all())
    known = {}
    for (name, opcode, _, _), result in zip(tried, disassemble(gpu, [words for _, _, _, words in tried])):
        if result:
            known.setdefault((name, opcode), set()).add(result[0])
    return known


def main():
    reason = missing()
    if reason:
        sys.exit(reason)
    for gpu in GPUS:
        for (name, opcode), names in sorted(opcodes(gpu).items()):
            print(f"{gpu}\t{name}\t{opcode:#x}\t{','.join(sorted(names))}")


if __name__ == "__main__":
    main()
