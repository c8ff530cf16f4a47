# SPDX-License-Identifier: MIT
"""LLVM judges the decoder: every opcode of gfx90a and gfx942 that it knows is in the tables under the same name, none is
there that it does not know, and instructions are as long as it says."""
import os
import subprocess
import unittest

import llvm

TOOL = os.environ["ISA_TOOL"]
RANDOM = 5000
SEED = 1


def decoded(gpu, candidates):
    """What isa_tool makes of the words: (format, opcode, name, words) or None."""
    text = "".join(" ".join(f"{word:08x}" for word in words) + "\n" for words in candidates)
    out = subprocess.run([TOOL, "words", gpu], input=text, check=True, capture_output=True, text=True).stdout
    rows = [line.split("\t") for line in out.splitlines()]
    return [(row[0], int(row[1], 16), row[2], int(row[3])) if row[2] != "-" else None for row in rows]


def table(gpu):
    """{(format, opcode): name} of the library."""
    out = subprocess.run([TOOL, "table"], check=True, capture_output=True, text=True).stdout
    rows = [line.split("\t") for line in out.splitlines()]
    return {(row[0], int(row[1], 16)): row[2] for row in rows if row[3] == gpu}


@unittest.skipIf(llvm.missing(), llvm.missing())
class Opcodes(unittest.TestCase):
    maxDiff = None

    def agree(self, gpu, candidates, judged):
        """Where LLVM knows an instruction, name and length are the same."""
        wrong = []
        for words, expected, found in zip(candidates, judged, decoded(gpu, candidates)):
            if expected and (not found or found[2:] != expected):
                wrong.append(f"{gpu} {' '.join(f'{word:08x}' for word in words)}: LLVM {expected}, decoded {found}")
        self.assertEqual(wrong[:20], [], f"{len(wrong)} differences")

    def test_tables_and_lengths_are_those_of_llvm(self):
        tried = list(llvm.candidates_all())
        candidates = [words for _, _, _, words in tried]
        for gpu in llvm.GPUS:
            judged = llvm.disassemble(gpu, candidates)
            self.agree(gpu, candidates, judged)
            known = {llvm.table_key(name, opcode) for (name, opcode, _, _), result in zip(tried, judged) if result}
            own = table(gpu)
            self.assertEqual(sorted(f"{gpu} {key} {name}" for key, name in own.items() if key not in known), [],
                             "not known to LLVM")
            self.assertGreater(len(known), 1100)

    def test_no_long_form_where_llvm_has_none(self):
        """Operations of VOP1, VOP2 and VOPC that cannot be written as VOP3."""
        tried = [(opcode, words) for name, opcode, _, words in llvm.candidates_all() if name == "VOP3"]
        candidates = [words for _, words in tried]
        for gpu in llvm.GPUS:
            known = {opcode for (opcode, _), result in zip(tried, llvm.disassemble(gpu, candidates)) if result}
            own = {opcode for (opcode, _), result in zip(tried, decoded(gpu, candidates)) if result}
            self.assertEqual(sorted(f"{gpu} {opcode:#x}" for opcode in own - known), [])

    def test_random_words_are_decoded_as_llvm_does(self):
        candidates = llvm.random_words(SEED, RANDOM)
        for gpu in llvm.GPUS:
            judged = llvm.disassemble(gpu, candidates)
            self.assertGreater(sum(result is not None for result in judged), RANDOM // 4)
            self.agree(gpu, candidates, judged)


if __name__ == "__main__":
    unittest.main()
