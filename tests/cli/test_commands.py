# SPDX-License-Identifier: MIT
"""What every command has: help, manual page, completion, translation, exit codes."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from gp import GPREEMPT, fixture, gpreempt, run


def commands():
    return [line.split()[0] for line in gpreempt("--help").stdout.splitlines() if line.startswith("  ")]


def options(command):
    """Those of the list; texts may name options of other commands."""
    listed = gpreempt(command, "--help").stdout.split("\nOptions:\n")[1].split("\n\n")[0]
    return sorted(set(re.findall(r"^ +(?:-\w, )?(--[\w-]+)", listed, re.M)))


class Names(unittest.TestCase):
    def test_commands_are_grouped(self):
        text = gpreempt("--help").stdout
        self.assertRegex(text, r"See what uses the GPU:\n  find ")
        self.assertRegex(text, r"\n\nWork without a GPU:\n  sim .*\n  vgpu ")

    def test_values_are_completed(self):
        for shell, offers in (("bash", ("-W 'priority ran held preemptions pid p99 gpu'", "-f -W 'serve fair deadline multi-process'",
                                        "-f -W 'check reload'", "-W 'online offline normal'")),
                              ("zsh", (":ORDER:(priority ran held preemptions pid p99 gpu)", "(check reload)")),
                              ("fish", ("-x -a 'auto always never'", "-a 'serve fair deadline multi-process'"))):
            script = gpreempt("completion", shell).stdout
            for offer in offers:
                self.assertIn(offer, script, shell)

    def test_an_unknown_shell_or_scenario_is_answered_with_those_there_are(self):
        self.assertIn("(there are bash, zsh and fish)", gpreempt("completion", "tcsh").stderr)
        done = gpreempt("sim", "nosuch")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no scenario 'nosuch' (installed: serve, fair, deadline, multi-process, cluster; or give a file)", done.stderr)
        self.assertIn("did you mean 'serve'?", gpreempt("sim", "serv").stderr)
        self.assertEqual(gpreempt("-V").stdout, gpreempt("--version").stdout)


class EveryCommand(unittest.TestCase):
    def test_help_has_a_summary_options_and_examples(self):
        for command in commands():
            done = gpreempt(command, "--help")
            self.assertEqual(done.returncode, 0, command)
            for part in ("Usage: gpreempt " + command, "Options:", "Examples:", "--help"):
                self.assertIn(part, done.stdout, command)

    def test_an_unknown_option_is_bad_usage_and_named(self):
        for command in commands():
            done = gpreempt(command, "--no-such-option")
            self.assertEqual(done.returncode, 2, command)
            self.assertIn("--no-such-option", done.stderr)
            self.assertEqual(done.stdout, "")

    def test_the_manual_page_renders_without_a_warning(self):
        if not shutil.which("man"):
            self.skipTest("no man")
        for command in commands() + ["gpreempt", "queue_finder"]:
            page = gpreempt("manual", command).stdout
            with tempfile.NamedTemporaryFile("w", suffix=".1") as out:
                out.write(page)
                out.flush()
                done = run("man", "--warnings", "-l", out.name, env={"MANWIDTH": "80"})
            self.assertEqual((done.returncode, done.stderr), (0, ""), command)
            self.assertIn("EXAMPLES" if command != "gpreempt" else "COMMANDS", done.stdout)

    def test_the_manual_is_plain_text_where_nothing_renders_it(self):
        for command in commands() + ["gpreempt", "queue_finder"]:
            page = gpreempt("manual", "--text", command).stdout
            self.assertNotRegex(page, r"\\f[BIR]|\\-|^\.(SH|TP|PP)", command)
            self.assertRegex(page, r"\nNAME\n {7}\S", command)
            self.assertLessEqual(max(len(line) for line in page.split("EXAMPLES")[0].splitlines()), 80, command)

    def test_the_program_knows_its_version(self):
        version = gpreempt("--version").stdout
        self.assertRegex(version, r"^gpreempt \d+\.\d+\.\d+\n$")
        for command in commands():
            self.assertEqual((gpreempt(command, "--version").returncode, gpreempt(command, "--version").stdout), (0, version))
        for program, name in (("queue_finder", "queue_finder"), ("gpreempt-sim", "gpreempt"), ("gpreempt-vgpu", "gpreempt"),
                              ("gpreempt-selftest", "gpreempt"), ("gpreempt-holder", "gpreempt-holder"), ("gpreemptd", "gpreemptd")):
            done = run(os.path.join(os.path.dirname(GPREEMPT), program), "--version")
            self.assertEqual((done.returncode, done.stdout), (0, version.replace("gpreempt", name)), program)

    def test_what_was_probably_meant_is_named(self):
        for arguments, said in ((("fnd",), "gpreempt: unknown command 'fnd'; did you mean 'find'?"),
                                (("help", "susped"), "gpreempt: unknown command 'susped'; did you mean 'suspend'?"),
                                (("manual", "tpo"), "gpreempt manual: unknown command 'tpo'; did you mean 'top'?"),
                                (("find", "--jsn", "7"), "gpreempt find: unknown option '--jsn'; did you mean '--json'?"),
                                (("find", "--no-lvie=3", "7"), "gpreempt find: unknown option '--no-lvie'; did you mean '--no-live'?"),
                                (("find", "--json=3", "7"), "gpreempt find: option '--json' does not take a value"),
                                (("xyzzy",), "gpreempt: unknown command 'xyzzy'"),
                                (("\033[31mred\x9b",), "gpreempt: unknown command '?[31mred??'"),
                                (("find", "--xyzzy", "7"), "gpreempt find: unknown option '--xyzzy'"),
                                (("find", "-Q", "7"), "gpreempt find: unknown option '-Q'")):
            done = gpreempt(*arguments)
            self.assertEqual((done.returncode, done.stderr.splitlines()[0]), (2, said))


class StandardOutput(unittest.TestCase):
    # A dash is standard output for every option that names an output file, and nothing else is printed there.
    CNN, TRANSFORMER = fixture("demo", "case_a_cnn.log"), fixture("demo", "case_b_transformer.log")

    def printed(self, *command):
        with tempfile.TemporaryDirectory() as place:
            done = subprocess.run(command, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.assertEqual((done.returncode, os.listdir(place)), (0, []), (command, done.stderr))
        return done.stdout

    def test_pages(self):
        for command in (("compare", self.CNN, self.TRANSFORMER, "--html", "-"), ("analyze", self.CNN, "--html", "-"),
                        ("sim", "fair", "--time", "20ms", "--html", "-")):
            page = self.printed(GPREEMPT, *command)
            self.assertTrue(page.startswith("<!") and page.rstrip().endswith("</html>"), (command, page[:80], page[-80:]))

    def test_timelines(self):
        for command in (("analyze", self.CNN, "--perfetto", "-"), ("sim", "fair", "--time", "20ms", "--perfetto", "-")):
            json.loads(self.printed(GPREEMPT, *command))

    def test_texts(self):
        self.assertTrue(self.printed(GPREEMPT, "compare", self.CNN, self.TRANSFORMER, "--summary", "-").startswith("# "))
        self.assertIn("[job", self.printed(GPREEMPT, "sim", "--from", self.CNN, "--kernel", "20us", "--output", "-"))
        pid = json.loads(self.printed(GPREEMPT, "find", "--all", "--no-live", "--json", self.CNN))[0]["pid"]
        text = self.printed(os.path.join(os.path.dirname(GPREEMPT), "queue_finder"), "--no-live", str(pid), self.CNN, "-o", "-")
        compile(text, "queues", "exec")
        self.assertIn("queues = [", text)


class Completion(unittest.TestCase):
    def script(self, shell):
        done = gpreempt("completion", shell)
        self.assertEqual(done.returncode, 0)
        return done.stdout

    def complete(self, *words):
        """What bash offers for the last word."""
        with tempfile.NamedTemporaryFile("w") as script:
            script.write(self.script("bash"))
            script.flush()
            quoted = " ".join(f"'{w}'" for w in words)
            done = run("bash", "-c",
                       f"source {script.name}; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; "
                       "_gpreempt 2>/dev/null; printf '%s\\n' \"${COMPREPLY[@]}\"")
            return done.stdout.split()

    def test_bash_offers_every_command_and_option(self):
        self.assertLessEqual(set(commands()), set(self.complete("gpreempt", "")))
        for command in commands():
            offered = self.complete("gpreempt", command, "--")
            for option in options(command):
                self.assertIn(option, offered, command)

    def test_bash_offers_files_where_a_file_is_meant(self):
        offered = self.complete("gpreempt", "hqd", "--file", fixture("demo", "case_"))
        self.assertIn(fixture("demo", "case_a_cnn.log"), offered)

    def test_bash_offers_pids_first_and_commands_to_help(self):
        with tempfile.NamedTemporaryFile("w") as script:
            script.write(self.script("bash"))
            script.write("_gpreempt_pids() { echo 158036; echo 42; }\n")
            script.flush()
            done = run("bash", "-c",
                       f"source {script.name}; COMP_WORDS=(gpreempt find 15); COMP_CWORD=2; "
                       "_gpreempt; printf '%s\\n' \"${COMPREPLY[@]}\"")
        self.assertEqual(done.stdout.split(), ["158036"])
        for command in ("help", "manual"):
            self.assertIn("doctor", self.complete("gpreempt", command, "d"))

    def test_bash_offers_gpus_verbs_and_after_two_dashes_programs(self):
        with tempfile.TemporaryDirectory() as place:
            open(os.path.join(place, "mine.json"), "w").close()
            self.assertEqual(self.complete("gpreempt", "vgpu", "--gpu", place + "/"), [place + "/mine.json"])
        self.assertEqual(self.complete("gpreempt", "vgpu", "--gpu", "mi3"), ["mi308x", "mi300x"])
        self.assertEqual(self.complete("gpreempt", "vgpu", ""), ["start", "stop", "status"])
        self.assertEqual(self.complete("gpreempt", "vgpu", "--count", "2", "sta"), ["start", "status"])
        self.assertEqual(self.complete("gpreempt", "vgpu", "start", ""), [])
        self.assertIn("--name", self.complete("gpreempt", "vgpu", "start", "--"))
        offered = self.complete("gpreempt", "vgpu", "--", "s")
        self.assertIn("sh", offered)
        self.assertEqual(len(offered), len(set(offered)))
        # Options after the program are the program's.
        self.assertEqual(self.complete("gpreempt", "vgpu", "--", "ls", "--na"), [])

    def test_a_command_with_its_own_exit_statuses_shows_no_others(self):
        for page in (gpreempt("vgpu", "--help").stdout, gpreempt("manual", "vgpu").stdout):
            self.assertIn("125 if the machine", page)
            self.assertEqual(page.count("0 ok, 1 not found"), 1)
        self.assertIn("Exit status: 0 ok, 1 not found", gpreempt("ps", "--help").stdout)

    def test_each_shell_accepts_its_script(self):
        for shell in ("bash", "zsh", "fish"):
            if not shutil.which(shell):
                self.skipTest(f"no {shell}")
            with tempfile.NamedTemporaryFile("w") as script:
                script.write(self.script(shell))
                script.flush()
                done = run(shell, "-n", script.name)
            self.assertEqual((done.returncode, done.stderr), (0, ""), shell)


class Language(unittest.TestCase):
    def test_messages_are_chinese_where_the_locale_is_even_if_not_generated(self):
        for variable in ("LC_ALL", "LANG"):
            env = {"LC_ALL": "", "LANG": "", variable: "zh_CN.UTF-8"}
            done = gpreempt("find", "abc", env=env)
            self.assertEqual(done.returncode, 2)
            self.assertIn("不是", done.stderr)

    def test_json_is_the_same_in_every_language(self):
        arguments = ("find", "--json", "--no-live", "158036", fixture("demo", "case_a_cnn.log"))
        self.assertEqual(gpreempt(*arguments).stdout,
                         gpreempt(*arguments, env={"LC_ALL": "zh_CN.UTF-8"}).stdout)


class Colour(unittest.TestCase):
    def terminal(self, env, *arguments):
        """stdout of gpreempt, or with arguments its messages, on a pseudo-terminal."""
        master, slave = os.openpty()
        child = subprocess.Popen([GPREEMPT, *(arguments or ("hqd", "--root", fixture("live")))],
                                 stdout=subprocess.DEVNULL if arguments else slave,
                                 stderr=slave if arguments else subprocess.DEVNULL, env=dict(os.environ, **env))
        os.close(slave)
        data = b""
        try:
            while chunk := os.read(master, 65536):
                data += chunk
        except OSError:
            pass  # EIO: the other end is closed
        child.wait()
        os.close(master)
        return data

    def test_a_message_clears_no_line_where_no_progress_is_shown(self):
        text = self.terminal({"TERM": "xterm"}, "analyze", "/nonexistent.log")
        self.assertTrue(text.startswith(b"gpreempt analyze: "), text)
        self.assertNotIn(b"\033", text)

    def test_only_on_a_terminal_and_never_with_no_color(self):
        self.assertIn(b"\033[", self.terminal({"TERM": "xterm", "NO_COLOR": ""}))
        self.assertNotIn(b"\033[", self.terminal({"TERM": "xterm", "NO_COLOR": "1"}))
        self.assertNotIn("\033[", gpreempt("hqd", "--root", fixture("live")).stdout)
