# SPDX-License-Identifier: MIT
"""Pages as a browser sees them: names of kernels stay text, whatever is in them. Needs Chromium, and is
skipped where there is none; that the pages are escaped is tested without, in test_compare and test_report."""
import os
import shutil
import tempfile
import unittest
from html.parser import HTMLParser

from browser import CHROMIUM, browse, layout
from gp import fixture, gpreempt

NAMES = ['<script>document.title="taken"</script>', '"><img src=x onerror="document.title=1">', "=cmd|' /C calc'!A0",
         "</title></style><svg onload=document.title=2>", "std::pair<int, \"x,y\">::sum", "a&lt;b|c`d"]


class Page(HTMLParser):
    """Its elements, attributes and text."""
    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text, self.titles = set(), set(), "", []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_data(self, data):
        self.text += data


class Html(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.mkdtemp()

    def tearDown(self):
        # What is left of a browser may still be writing there.
        shutil.rmtree(self.place, ignore_errors=True)

    def write(self):
        """A comparison page of a log whose kernels have these names."""
        log = os.path.join(self.place, "evil.log")
        with open(fixture("demo", "case_a_cnn.log")) as source, open(log, "w") as out:
            count = 0
            for line in source:
                if "ShaderName : " in line:
                    line = line.split("ShaderName : ")[0] + "ShaderName : " + NAMES[count % len(NAMES)] + "\n"
                    count += 1
                out.write(line)
        self.assertGreaterEqual(count, len(NAMES))
        page = os.path.join(self.place, "page.html")
        done = gpreempt("compare", "--html", page, log, fixture("demo", "case_b_transformer.log"))
        self.assertEqual(done.returncode, 0, done.stderr)
        return page

    def check(self, text):
        page = Page(text)
        self.assertLessEqual(page.tags & {"script", "img", "iframe", "object", "link", "base", "form"}, set())
        self.assertEqual({name for name in page.attributes if name.startswith("on")}, set())
        for name in NAMES:
            self.assertIn(name, page.text)
        return page

    def test_names_of_kernels_are_text_in_the_file(self):
        with open(self.write()) as page:
            text = page.read()
        self.check(text)
        self.assertIn("default-src 'none'", text)
        self.assertNotIn("http://", text)
        self.assertNotIn("https://", text)

    @unittest.skipUnless(CHROMIUM, "Chromium is not installed")
    def test_a_browser_shows_them_and_runs_nothing(self):
        page = self.write()
        shown = browse(page, os.path.join(self.place, "profile"))
        if "</body>" not in shown:
            self.skipTest("Chromium did not start")
        seen = self.check(shown)
        self.assertIn("<title>Comparison of two workloads</title>", shown)
        self.assertIn("svg", seen.tags)


class Layout(unittest.TestCase):
    """Every kind of page, wide and narrow."""
    PAGES = {"compare": ("compare", fixture("demo", "case_a_cnn.log"), fixture("demo", "case_b_transformer.log")),
             "analyze": ("analyze", fixture("demo", "case_a_cnn.log"), fixture("ftrace", "graph.txt")),
             "report": ("report", fixture("rocprof", "v3", "host")),
             "sim": ("sim", "--alone", "--oracle", "--policy", "off,priority", "--time", "1s", "serve"),
             "experiment": ("sim", "--experiment"),
             "cluster": ("sim", "--time", "6h", "cluster"),
             "trace": ("analyze", fixture("demo", "case_a_cnn.log")),
             "queues": ("queues-trace", fixture("kfdtrace", "v4_two_processes.txt"), fixture("kfdtrace", "v5_hashed.txt"))}

    def setUp(self):
        self.place = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.place, True)
        for name, command in self.PAGES.items():
            done = gpreempt(*command, "--html", os.path.join(self.place, name + ".html"))
            self.assertEqual(done.returncode, 0, done.stderr)

    def read(self, name):
        with open(os.path.join(self.place, name + ".html")) as page:
            return page.read()

    def test_every_page_has_a_language_a_version_and_no_empty_table(self):
        for name in self.PAGES:
            page = self.read(name)
            self.assertIn('<html lang="en">', page)
            self.assertRegex(page, "Written by gpreempt [0-9.]+, [0-9-]+ [0-9:]+ UTC")
            self.assertNotIn("<tbody>\n</tbody>", page, name)
        for name in ("analyze", "trace"):
            self.assertIn("Not in this data: ", self.read(name))
            self.assertLessEqual(self.read(name).lower().count("not in this data"), self.read(name).count("<h2"))
        self.assertIn('<a href="#s2">', self.read("analyze"))
        self.assertNotIn("<nav", self.read("sim"))

    def test_pages_are_in_the_language_of_the_reader(self):
        path = os.path.join(self.place, "zh.html")
        done = gpreempt(*self.PAGES["compare"], "--html", path, env={"LC_ALL": "C.UTF-8", "LANGUAGE": "zh_CN", "LANG": "zh_CN.UTF-8"})
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(path) as page:
            text = page.read()
        if "<h2" in text and "两" not in text and "队列" not in text:
            self.skipTest("no Chinese messages in this locale")
        self.assertIn('<html lang="zh-CN">', text)

    @unittest.skipUnless(CHROMIUM, "Chromium is not installed")
    def test_nothing_overflows_and_no_label_is_on_another(self):
        found = layout({name: os.path.join(self.place, name + ".html") for name in self.PAGES})
        if found is None:
            self.skipTest("Chromium did not start")
        self.assertEqual(found, [])


if __name__ == "__main__":
    unittest.main()
