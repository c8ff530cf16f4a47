# SPDX-License-Identifier: MIT
"""Pages in Chromium, where it is installed."""
import html
import os
import re
import shutil
import signal
import subprocess
import tempfile

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WIDTHS = (360, 760, 1200)


def browse(page, profile, *options):
    """The page as a browser has it after loading; "" if none starts."""
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", *options,
               "--user-data-dir=" + profile, "--dump-dom", "file://" + page]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True)
    try:
        return child.communicate(timeout=60)[0]
    except subprocess.TimeoutExpired:
        return ""
    finally:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()
        child.stdout.close()


MEASURE = """<!DOCTYPE html><meta charset=utf-8><body><pre id=out></pre><script>
onload = () => { const said = [];
for (const frame of document.querySelectorAll("iframe")) {
  const page = frame.contentDocument, width = page.documentElement.clientWidth;
  if (page.documentElement.scrollWidth > width) said.push(frame.title + ": the page is " + page.documentElement.scrollWidth + " wide");
  for (const one of page.body.querySelectorAll("*"))
    if (!one.closest(".t") && one.getBoundingClientRect().right > width + 1) said.push(frame.title + ": " + one.tagName + " overflows");
  for (const box of page.querySelectorAll("svg.p")) {
    const texts = [...box.querySelectorAll("text")].map(text => [text, text.getBoundingClientRect()]);
    texts.forEach(([a, p], i) => texts.slice(i + 1).forEach(([b, q]) => {
      if (p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 1 && q.top < p.bottom - 1)
        said.push(frame.title + ": '" + a.textContent + "' is on '" + b.textContent + "'"); })); }
}
document.getElementById("out").textContent = "MEASURED " + document.querySelectorAll("iframe").length + ";" + said.join(";"); };
</script>"""


def layout(pages):
    """What overflows or lies on other text on these pages ({name: path}) at three widths, as sentences; None if no browser
    starts."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        for name, path in pages.items():
            shutil.copy(path, os.path.join(place, name + ".html"))
        frames = "".join(f'<iframe title="{name} at {width}" width="{width}" height="900" src="{name}.html"></iframe>'
                         for name in pages for width in WIDTHS)
        measure = os.path.join(place, "measure.html")
        with open(measure, "w") as out:
            out.write(MEASURE.replace("<script>", frames + "<script>"))
        shown = browse(measure, os.path.join(place, "profile"), "--allow-file-access-from-files")
    if "</body>" not in shown:
        return None
    found = html.unescape(re.search("MEASURED ([^<]*)<", shown)[1]).split(";")
    assert found[0] == str(len(WIDTHS) * len(pages)), found
    return [sentence for sentence in found[1:] if sentence]
