# SPDX-License-Identifier: MIT
"""Pages as a browser sees them: names of kernels stay text, whatever is in them. Needs Chromium, and is
skipped where there is none; that the pages are escaped is tested without, in test_compare and test_report."""
import os
import shutil
import signal
import subprocess
import tempfile
import unittest
from html.parser import HTMLParser

from gp import fixture, gpreempt

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
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
        command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                   "--user-data-dir=" + os.path.join(self.place, "profile"), "--dump-dom", "file://" + page]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                 start_new_session=True)
        try:
            shown = child.communicate(timeout=60)[0]
        except subprocess.TimeoutExpired:
            shown = ""
        finally:
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            child.wait()
            child.stdout.close()
        if "</body>" not in shown:
            self.skipTest("Chromium did not start")
        seen = self.check(shown)
        self.assertIn("<title>Comparison of two workloads</title>", shown)
        self.assertIn("svg", seen.tags)


if __name__ == "__main__":
    unittest.main()
