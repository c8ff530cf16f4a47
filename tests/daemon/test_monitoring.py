# SPDX-License-Identifier: MIT
"""Rules and dashboard against promtool, and gpreemptd scraped by a real Prometheus while a trainer makes room."""
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import unittest
import urllib.error
import urllib.parse
import urllib.request

import test_gpreemptd as rig

SOURCE = pathlib.Path(__file__).resolve().parents[2]
RULES = SOURCE / "data" / "monitoring" / "gpreempt.rules.yml"
DASHBOARD = SOURCE / "data" / "monitoring" / "gpreempt-dashboard.json"
LIMIT = rig.LIMIT
HERE = shutil.which("promtool") and shutil.which("prometheus")


def dashboard_queries():
    return [target["expr"] for panel in json.loads(DASHBOARD.read_text())["panels"] for target in panel["targets"]]


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Dashboard(unittest.TestCase):
    def test_panels_have_places_of_their_own_and_ask_for_the_selected_hosts(self):
        panels = json.loads(DASHBOARD.read_text())["panels"]
        taken = set()
        for panel in panels:
            place = panel["gridPos"]
            cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                     for y in range(place["y"], place["y"] + place["h"])}
            self.assertFalse(cells & taken, panel["title"])
            self.assertLessEqual(place["x"] + place["w"], 24)
            taken |= cells
        for query in dashboard_queries():
            self.assertIn('{job="$job",instance=~"$instance"', query)


@unittest.skipUnless(HERE, "prometheus is not installed")
class Rules(unittest.TestCase):
    def promtool(self, *arguments, **options):
        done = subprocess.run(["promtool", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=LIMIT, **options)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_rules_are_valid(self):
        self.promtool("check", "rules", "--lint-fatal", str(RULES))

    def test_alerts_fire_on_what_they_are_for(self):
        text = (SOURCE / "tests" / "daemon" / "alerts.test.yml").read_text().replace("RULES", str(RULES))
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            file.write(text)
            file.flush()
            self.promtool("test", "rules", file.name)


@unittest.skipUnless(HERE, "prometheus is not installed")
class Scraped(rig.Daemon):
    def prometheus(self, port):
        """Started on a free port; another program may take that first."""
        path = os.path.join(self.place, "prometheus.yml")
        with open(path, "w") as file:
            json.dump({"global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "rule_files": [str(RULES)],
                       "scrape_configs": [{"job_name": "gpreempt", "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}]},
                      file)
        for _ in range(5):
            self.web = free_port()
            process = subprocess.Popen(
                ["prometheus", "--config.file", path, "--storage.tsdb.path", os.path.join(self.place, "tsdb"),
                 "--web.listen-address", f"127.0.0.1:{self.web}", "--log.level", "warn"],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.started.append(process)
            self.until(lambda: process.poll() is not None or self.ask("query", query="1"), "no answer of Prometheus")
            if process.poll() is None:
                return
        self.fail(process.stdout.read())

    def ask(self, what, **arguments):
        url = f"http://127.0.0.1:{self.web}/api/v1/{what}?{urllib.parse.urlencode(arguments)}"
        try:
            with urllib.request.urlopen(url, timeout=LIMIT) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            if error.code == 503:  # it starts
                return None
            self.fail(f"{url}: {error.read().decode()}")
        except OSError:
            return None

    def values(self, query):
        return {json.dumps(row["metric"]): float(row["value"][1]) for row in self.ask("query", query=query)["result"]}

    def test_a_real_prometheus_reads_everything(self):
        port = free_port()
        self.daemon(rig.ACT.replace("[daemon]\n", f"[daemon]\nmetrics_port = {port}\nmetrics_jobs = all\n"
                                                  "latency_target = 1us\n", 1))
        self.program("offline", "offline_trainer", 600)
        self.program("online", "online_server", 600)
        self.held_again("offline_trainer")
        self.prometheus(port)
        self.until(lambda: sum(self.values("gpreempt_preemptions_total").values()) > 0, "no preemption is scraped")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=LIMIT) as answer:
            text = answer.read().decode()
        lint = subprocess.run(["promtool", "check", "metrics"], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=LIMIT)
        self.assertEqual((lint.returncode, lint.stdout), (0, ""))
        self.names_exist(text)
        self.identity_of_the_gpu()
        self.rules_and_queries(port)

    def names_exist(self, text):
        """What rules and panels ask for is there: a name that is not would be an empty panel and a silent alert."""
        known = set(re.findall(r"^# TYPE (\S+) ", text, re.M))
        queries = " ".join(dashboard_queries()) + re.sub(r"(?m)^\s*(summary|description|#).*$", "", RULES.read_text())
        for name in set(re.findall(r"\b(?:gpreempt|process)_[a-z_0-9]+", queries)):
            self.assertIn(re.sub("_(bucket|count|sum)$", "", name), known)

    def identity_of_the_gpu(self):
        row, = self.ask("query", query="gpreempt_gpu_jobs")["result"]
        self.assertEqual(row["value"][1], "2")
        self.assertRegex(row["metric"]["pci"], r"^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$")
        self.assertRegex(row["metric"]["uuid"], r"^GPU-[0-9a-f]{16}$")
        self.assertTrue(row["metric"]["name"].startswith("AMD Instinct"), row)
        jobs = {row["metric"]["program"] for row in self.ask("query", query="gpreempt_job_run_seconds_total")["result"]}
        self.assertEqual(jobs, {"offline_trainer", "online_server"})

    def rules_and_queries(self, port):
        self.until(lambda: any("online" in name for name in self.values("gpreempt:latency_seconds:p99_5m")),
                   "no recorded latency")
        self.until(lambda: self.values("gpreempt:held:ratio_5m"), "no recorded share of holds")
        # No server answers within a microsecond; the alert waits for its five minutes.
        self.until(lambda: any(alert["labels"]["alertname"] == "GpreemptOnlineLatency" and alert["state"] == "pending"
                               for alert in self.ask("alerts")["alerts"]), "the alert sees nothing")
        for group in self.ask("rules")["groups"]:
            for rule in group["rules"]:
                self.assertEqual((rule["name"], rule["health"]), (rule["name"], "ok"), rule.get("lastError"))
        # Every panel shows something, and so do the lists to choose from.
        for query in dashboard_queries():
            query = (query.replace("$job", "gpreempt").replace("$instance", ".*").replace("$__rate_interval", "1m"))
            self.until(lambda query=query: self.ask("query", query=query)["result"], f"no data: {query}")
        for variable in json.loads(DASHBOARD.read_text())["templating"]["list"]:
            if variable["type"] == "query":
                series, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"]).groups()
                self.assertEqual(self.ask(f"label/{label}/values", **{"match[]": series.replace("$job", "gpreempt")}),
                                 ["gpreempt"] if label == "job" else [f"127.0.0.1:{port}"])


if __name__ == "__main__":
    unittest.main()
