# SPDX-License-Identifier: MIT
"""scripts/check-docs accepts a small documentation that is in step and names each thing that is not."""
import pathlib
import subprocess
import tempfile
import unittest

CHECK = pathlib.Path(__file__).resolve().parents[2] / "scripts/check-docs"
PAGES = {
    "README.md": "# Product\n\n[index](docs/README.md), [use](docs/guides/use.md#first-use)\n",
    "README.zh-CN.md": "# 产品\n\n[索引](docs/zh-CN/README.md)\n",
    "docs/README.md": "# Index\n\n[readme](../README.md), [use](guides/use.md), [words](words.md)\n",
    "docs/words.md": "# Words\n",
    "docs/guides/use.md": "# Use\n\n## First use\n\n```sh\nrun it    # now\n```\n\n| a |\n|---|\n| b |\n",
    "docs/zh-CN/README.md": "# 索引\n\n[使用](guides/use.md)\n",
    "docs/zh-CN/guides/use.md": "# 使用\n\n## 初次使用\n\n```sh\nrun it  # 现在\n```\n\n| 甲 |\n|---|\n| 乙 |\n",
}
CHINESE = "docs/zh-CN/guides/use.md"


class Docs(unittest.TestCase):
    def check(self, changes=None):
        with tempfile.TemporaryDirectory() as work:
            root = pathlib.Path(work)
            for name, text in {**PAGES, **(changes or {})}.items():
                if text is not None:
                    path = root / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(text, encoding="utf-8")
            run = subprocess.run([CHECK, root], capture_output=True, text=True)
            self.assertEqual(run.stderr, "")
            return run.returncode, run.stdout.splitlines()

    def refused(self, message, changes):
        status, lines = self.check(changes)
        self.assertEqual(status, 1)
        self.assertIn(message, lines)

    def test_accepts_pages_in_step(self):
        self.assertEqual(self.check(), (0, []))

    def test_refuses_a_page_in_one_language_only(self):
        self.refused(f"{CHINESE}: missing; the page exists in one language only", {CHINESE: None})
        self.refused("docs/guides/use.md: missing; the page exists in one language only", {"docs/guides/use.md": None})

    def test_refuses_a_section_in_one_language_only(self):
        self.refused(f'{CHINESE}: section "更多" is not in step with docs/guides/use.md',
                     {CHINESE: PAGES[CHINESE] + "\n## 更多\n"})
        self.refused(f'{CHINESE}: section "First use" is not in step with docs/guides/use.md',
                     {CHINESE: PAGES[CHINESE].replace("## ", "### ")})

    def test_refuses_code_that_differs_by_more_than_comments(self):
        self.refused(f"{CHINESE}: code block 1 differs from docs/guides/use.md",
                     {CHINESE: PAGES[CHINESE].replace("run it", "run that")})

    def test_refuses_a_table_with_a_row_less(self):
        self.refused(f"{CHINESE}: tables have [2] rows, docs/guides/use.md has [3]",
                     {CHINESE: PAGES[CHINESE].replace("| 乙 |\n", "")})

    def test_refuses_a_dead_link_and_a_dead_anchor(self):
        self.refused("docs/words.md:3: dead link gone.md", {"docs/words.md": "# Words\n\n[x](gone.md)\n"})
        self.refused("docs/words.md:3: no heading for the anchor guides/use.md#second",
                     {"docs/words.md": "# Words\n\n[x](guides/use.md#second)\n"})

    def test_refuses_a_page_outside_the_index(self):
        self.refused("docs/more.md: not in the index docs/README.md", {"docs/more.md": "# More\n"})

    def test_refuses_a_source_file_of_the_internals_that_is_gone(self):
        index = PAGES["docs/README.md"] + "[room](internals/room.md)\n"
        changes = {"docs/README.md": index, "src/room/part_one.c": "\n", "docs/internals/room.md": "# room\n\n`part_*.c`, `room/NAME.c`\n"}
        self.assertEqual(self.check(changes), (0, []))
        self.refused("docs/internals/room.md:3: no such source file: room/part_*.c",
                     {**changes, "src/room/part_one.c": None, "docs/internals/room.md": "# room\n\n`room/part_*.c`\n"})

    def test_refuses_documents_from_elsewhere(self):
        self.refused("docs/words.md:2: refers to a document that is not in the repository",
                     {"docs/words.md": "# Words\nas " + "DESIGN" + ".md says\n"})

    def test_refuses_a_source_file_that_names_a_page_that_is_gone(self):
        self.refused("scripts/tool:1: no such page: docs/old.md", {"scripts/tool": "# see docs/old.md\n"})


if __name__ == "__main__":
    unittest.main()
