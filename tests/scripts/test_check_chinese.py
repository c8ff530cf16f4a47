# SPDX-License-Identifier: MIT
"""scripts/check-chinese names each term and each mark that the catalogue must not have."""
import pathlib
import subprocess
import tempfile
import unittest

CHECK = pathlib.Path(__file__).resolve().parents[2] / "scripts/check-chinese"


class Chinese(unittest.TestCase):
    def check(self, english, chinese):
        with tempfile.NamedTemporaryFile("w", suffix=".po") as file:
            file.write(f'msgid ""\nmsgstr "Language: zh_CN\\n"\n\nmsgid "{english}"\nmsgstr "{chinese}"\n')
            file.flush()
            run = subprocess.run([CHECK, file.name], capture_output=True, text=True)
        return run.returncode, [line.split(": ", 1)[1].rsplit(": ", 1)[0] for line in run.stdout.splitlines()]

    def test_refuses_other_words_for_a_term(self):
        self.assertEqual(self.check("the process is held", "进程被暂停"), (1, ["'暂停': use 挂起 (suspend)"]))
        self.assertEqual(self.check("a doorbell", "一个门铃"), (1, ["'门铃': use doorbell"]))
        self.assertEqual(self.check("print '%s'", "打印“%s”")[0], 1)
        self.assertEqual(self.check("it resumes", "它继续"), (1, ["needs 恢复 for 'resumes'"]))
        self.assertEqual(self.check("it is suspended", "它停了"), (1, ["needs 挂起 for 'suspended'"]))

    def test_a_column_has_one_name(self):
        po = 'msgid ""\nmsgstr "Language: zh_CN\\n"\n\nmsgid "BACKLOG"\nmsgstr "积压"\n\nmsgid "BACKLOG is in packets"\nmsgstr "%s以包计"\n'
        for name, status in (("积压", 0), ("BACKLOG ", 1)):
            with tempfile.NamedTemporaryFile("w", suffix=".po") as file:
                file.write(po % name)
                file.flush()
                run = subprocess.run([CHECK, file.name], capture_output=True, text=True)
            self.assertEqual(run.returncode, status, run.stdout)
        self.assertIn("the column BACKLOG is '积压' in the table", run.stdout)

    def test_refuses_half_width_punctuation(self):
        for chinese in ("先读,后写", "结果:%s", "%s:失败", "队列(两个)", "被进程 %d (%s) 占用"):
            self.assertEqual(self.check("text", chinese)[0], 1, chinese)

    def test_accepts_chinese_as_it_is_written(self):
        for english, chinese in (("the process is suspended: %s", "进程已挂起：%s"), ("use --max-suspend", "请用 --max-suspend"),
                                 ("%s:%u: bad line", "%s:%u：错误的行"), ("run (y/n)?", "运行？(y/n)"), ("plain", "plain: text")):
            self.assertEqual(self.check(english, chinese), (0, []), chinese)


if __name__ == "__main__":
    unittest.main()
