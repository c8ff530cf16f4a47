# SPDX-License-Identifier: MIT
"""scripts/check-rooms accepts a small project that follows its table and names each thing that does not."""
import pathlib
import subprocess
import tempfile
import unittest

CHECK = pathlib.Path(__file__).resolve().parents[2] / "scripts/check-rooms"
# Ten rooms, because the script takes fewer for a table that it did not find.
TABLE = "\n".join(["| `base` | text | - | `gp_` |", "| `pure` | core | base/core.h | `gp_pure_` |",
                   "| `front` | commands | base, pure | `gp_front_`, `gp_view_` |",
                   "| `front/deep` | more | base | `gp_front_` |",
                   *(f"| `room{letter}` | - | - | `gp_` |" for letter in "abcdef")])
FILES = {
    "base/core.h": "struct gp_core {\n\tint x;\n};\nint gp_core_add(int a);\n",
    "base/core.c": '#include "base/core.h"\n\nint gp_core_add(int a)\n{\n\treturn a;\n}\n',
    "base/text.h": "enum gp_text {\n\tGP_TEXT,\n};\n",
    "pure/pure.h": '#include "base/core.h"\n\nstruct gp_pure {\n\tint x;\n};\n',
    "front/front.c": '#include "base/text.h"\n#include "pure/pure.h"\n\nstatic void hidden(void)\n{\n}\n\n'
                     "void gp_view_draw(void)\n{\n\thidden();\n}\n\nGP_FRONT_EXPORT int ioctl(int fd)\n{\n\treturn fd;\n}\n",
    "front/deep/deep.c": '#include "base/text.h"\n\nint main(void)\n{\n}\n',
}


class Rooms(unittest.TestCase):
    def check(self, changes=None, table=TABLE):
        with tempfile.TemporaryDirectory() as work:
            root = pathlib.Path(work)
            (root / "docs").mkdir()
            (root / "docs/architecture.md").write_text("# Rooms\n\n" + table + "\n")
            for letter in "abcdef":
                (root / f"src/room{letter}").mkdir(parents=True)
            for name, text in {**FILES, **(changes or {})}.items():
                path = root / "src" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            run = subprocess.run([CHECK, root], capture_output=True, text=True)
            self.assertEqual(run.stderr if not run.returncode else "", "")
            return run.returncode, run.stdout.splitlines()

    def refused(self, message, changes=None, table=TABLE):
        self.assertEqual(self.check(changes, table), (1, [message]))

    def test_accepts_what_the_table_allows(self):
        self.assertEqual(self.check(), (0, []))

    def test_refuses_an_include(self):
        self.refused("src/pure/pure.c:1: pure/ must not include base/text.h", {"pure/pure.c": '#include "base/text.h"\n'})
        self.refused("src/front/deep/up.c:1: front/deep/ must not include pure/pure.h",
                     {"front/deep/up.c": '#include "pure/pure.h"\n'})

    def test_refuses_a_folder_without_a_row(self):
        self.refused("src/other: not in the table of docs/architecture.md", {"other/a.c": "\n"})

    def test_refuses_a_row_without_a_folder(self):
        self.refused("docs/architecture.md: the room gone/ does not exist", table=TABLE + "\n| `gone` | - | - | `gp_` |")

    def test_refuses_a_function_with_a_foreign_prefix(self):
        self.refused("src/pure/pure.c:1: gp_core_sub() must start with gp_pure_",
                     {"pure/pure.c": "struct gp_core *gp_core_sub(int a,\n\t\t\tint b)\n{\n\treturn 0;\n}\n"})
        self.refused("src/front/a.h:1: draw() must start with gp_front_ or gp_view_", {"front/a.h": "void draw(void);\n"})

    def test_refuses_a_tag_with_a_foreign_prefix(self):
        self.refused("src/pure/a.h:2: enum gp_kind must start with gp_pure_", {"pure/a.h": "\nenum gp_kind {\n\tA\n};\n"})

    def test_refuses_a_tag_in_two_headers(self):
        self.refused("struct gp_core is defined more than once: src/base/core.h:1, src/base/other.h:1",
                     {"base/other.h": "struct gp_core {\n\tint y;\n};\n"})

    def test_refuses_a_function_in_two_files(self):
        self.refused("gp_core_add() is defined more than once: src/base/core.c:3, src/base/other.c:1",
                     {"base/other.c": "int gp_core_add(int a)\n{\n\treturn a + 1;\n}\n"})

    def test_refuses_a_page_without_a_table(self):
        self.assertEqual(self.check(table="nothing here"), (1, []))


if __name__ == "__main__":
    unittest.main()
