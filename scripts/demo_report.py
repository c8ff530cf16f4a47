# SPDX-License-Identifier: MIT
"""The results of the demonstration: report.json, the document of its page, and the tables on the terminal."""
import json
import subprocess
import textwrap
import time

# Those of the scheduler come from the simulator and are the same on every machine; the last two come from this run.
TARGETS = {"oracle_ratio": (">=", 0.99, "scheduler: batch work relative to the best possible schedule, at the best-guess cost"),
           "oracle_range": (">=", 0.97, "scheduler: batch work relative to the best possible schedule, over the whole range of costs"),
           "p99_range": ("<=", 1.15, "scheduler: online p99 relative to running alone, over the whole range of costs"),
           "p99_ratio": ("<=", 1.15, "on this host: online p99 with gpreempt relative to running alone"),
           "without_ratio": (">=", 3.0, "on this host: online p99 without gpreempt relative to with it")}
THIS_HOST = ("p99_ratio", "without_ratio")
VERDICTS = {"met": "met   ", "busy": "busy  ", "missed": "MISSED"}
NAMES = {"alone": "alone", "without": "both, no control", "priority": "HIP stream priorities",
         "with": "with gpreempt"}


def count(stats, *names):
    """The first of these numbers that the daemon's statistics have, anywhere in them."""
    found = []

    def look(node):
        if isinstance(node, dict):
            for key, value in node.items():
                if key in names and isinstance(value, int):
                    found.append(value)
                look(value)
        elif isinstance(node, list):
            for value in node:
                look(value)

    look(stats or {})
    return found[0] if found else None


def mean_us(stats, name):
    """Mean time of a suspend or a resume in the driver."""
    histogram = (stats or {}).get(name) or {"count": 0, "sum_ns": 0}
    return histogram["sum_ns"] / max(histogram["count"], 1) / 1e3


def judge(figures, busy):
    """Each target with its limit, the figure, and whether it is met. A busy host does not count as a fault."""
    targets = {}
    for key, (relation, limit, _) in TARGETS.items():
        met = figures[key] >= limit if relation == ">=" else figures[key] <= limit
        verdict = "met" if met else "busy" if busy and key in THIS_HOST else "missed"
        targets[key] = {"limit": limit, "got": figures[key], "met": met, "verdict": verdict}
    return targets


def collect(runs, simulated, machine, seed, host, seconds):
    online = {key: runs[key].online_figures() for key in NAMES}
    offline = {"alone": {"items_per_s": runs["offline"].offline_rate()}}
    for key in ("without", "priority", "with"):
        offline[key] = {"items_per_s": runs[key].offline_rate()}
    # Arrivals are random: the remaining GPU time is computed from the requests that arrived.
    share = offline["with"]["items_per_s"] / (offline["alone"]["items_per_s"] * (1 - runs["with"].load()))
    best = next(row for row in simulated["range"] if row["costs"] == "best")
    host = host | {"busy": max(host["load_before"], host["load_after"] - 2) > host["cores"] / 2,
                   "oracle_ratio": share / simulated["same"]["possible_share"]}
    figures = {"oracle_ratio": best["oracle_ratio"],
               "oracle_range": min(row["oracle_ratio"] for row in simulated["range"]),
               "p99_range": max(row["p99_with_us"] / row["p99_alone_us"] for row in simulated["range"]),
               "p99_ratio": online["with"]["p99_us"] / online["alone"]["p99_us"],
               "without_ratio": online["without"]["p99_us"] / online["with"]["p99_us"]}
    return {"device": "virtual MI308X (modelled times)" if machine.virtual else "AMD GPU",
            "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), "version": machine.version(), "seed": seed,
            "mechanism": "kfd-agent", "machine": machine.name, "speed": machine.speed, "seconds": seconds, "host": host,
            "online": online, "offline": offline, "online_load": runs["with"].load(), "offline_share": share,
            "preemptions": count(runs["with"].stats, "preemptions", "suspends"),
            "declined": count(runs["with"].stats, "declined"),
            "cost": {name: mean_us(runs["with"].stats, name) * machine.speed for name in ("suspend", "resume")},
            "targets": judge(figures, host["busy"]),
            "cost_range": {"source": "simulator", "rows": simulated["range"]},
            "save_cost": {"source": "simulator", "rows": simulated["beyond"]}}


def milliseconds(us):
    return f"{us / 1e3:.2f}"


def cost_table(rows, label):
    """The scheduler beside the most that is possible at each cost."""
    lines = [f"{'cost':>10}{'suspend':>10}{'resume':>10}{'online p99':>14}{'vs. alone':>12}{'offline':>10}{'possible':>10}"
             f"{'ratio':>8}{'preemptions':>13}{'declined':>10}"]
    for row in rows:
        lines.append(f"{label(row):>10}{row['suspend_us']:>7.0f} us{row['resume_us']:>7.0f} us"
                     f"{milliseconds(row['p99_with_us']):>11} ms{row['p99_with_us'] / row['p99_alone_us']:>11.2f}x"
                     f"{row['offline_share'] * 100:>8.1f} %{row['possible_share'] * 100:>8.1f} %{row['oracle_ratio']:>8.3f}"
                     f"{row['preemptions']:>13}{row['declined']:>10}")
    return lines


def text(report):
    lines = ["", *textwrap.wrap(": ".join(headline(report)), 118), "",
             f"{'':24}{'online p50':>12}{'p99':>10}{'max':>10}{'p99 (wall)':>12}{'served':>12}{'offline':>10}",
             f"{'':24}{'ms':>12}{'ms':>10}{'ms':>10}{'ms':>12}{'requests':>12}{'steps/s':>10}"]
    for key, name in NAMES.items():
        row, rate = report["online"][key], report["offline"][key]["items_per_s"]
        lines.append(f"{name:24}{milliseconds(row['p50_us']):>12}{milliseconds(row['p99_us']):>10}"
                     f"{milliseconds(row['max_us']):>10}{milliseconds(row['wall_p99_us']):>12}"
                     f"{str(row['served']) + ' of ' + str(row['requests']):>12}{rate:>10.1f}")
    lines += ["", f"preemptions {report['preemptions']}, declined {report['declined']}; on average "
              f"{report['cost']['suspend']:.0f} us to suspend and {report['cost']['resume']:.0f} us to resume, including "
              "host overhead", *textwrap.wrap(why_served(report), 118), f"mechanism: {report['mechanism']}; device: {report['device']}", ""]
    for key, target in report["targets"].items():
        relation, _, words = TARGETS[key]
        bound = "at least" if relation == ">=" else "at most"
        lines.append(f"{VERDICTS[target['verdict']]} {words}, {bound} {target['limit']}: {target['got']:.3f}")
    host = report["host"]
    lines.append(f"       (on this host, batch work relative to the best possible schedule for the same requests: {host['oracle_ratio']:.3f})")
    if host["busy"]:
        lines.append(f"       (this host was busy: load {host['load_before']:.1f} before and {host['load_after']:.1f} after, "
                     f"on {host['cores']} cores)")
    lines += ["", "Results for the range of preemption costs in the GPU file (simulator, no host time):",
              *cost_table(report["cost_range"]["rows"], lambda row: row["costs"]),
              "", "Results for higher save and restore costs (simulator, no host time):",
              *cost_table(report["save_cost"]["rows"], lambda row: f"{row['save_us']} us")]
    return "\n".join(lines) + "\n"


def headline(report):
    """How much better requests fare, and what it costs: the figure, and the sentence."""
    online, alone, kept = report["online"], report["offline"]["alone"]["items_per_s"], report["offline"]["with"]["items_per_s"]
    before, after = online["without"]["p99_us"], online["with"]["p99_us"]
    return (f"{before / after:.1f} x lower p99",
            f"Beside training, the 99th percentile of request latency falls from {milliseconds(before)} ms to {milliseconds(after)} ms "
            f"({milliseconds(online['alone']['p99_us'])} ms with the GPU to itself). Training keeps {100 * kept / alone:.0f} % of the speed "
            f"it has alone, which is {100 * report['offline_share']:.0f} % of the GPU time that the requests leave.")


def why_served(report):
    """Why a run ends with requests that were not served."""
    row = report["online"]["without"]
    return (f"Without control {row['served']} of {row['requests']} requests were served before the run ended: each waits behind kernels "
            "of 20 ms, so requests arrive faster than they are served. A request that was not served counts with the time it had waited.")


QUANTILES = 100


def curves(runs):
    return [[NAMES[key], [round(1000 * max(percentile(sorted(runs[key].latencies_us()), i / QUANTILES), 1))
                          for i in range(QUANTILES + 1)]] for key in NAMES]


def percentile(ordered, share):
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def held_spans(run):
    """When the trainer was suspended, in seconds of CLOCK_MONOTONIC, from the daemon's record."""
    jobs = {event["pid"]: event["args"]["name"] for event in run.trace or () if event.get("name") == "process_name"}
    return [(event["ts"] / 1e6, (event["ts"] + event["dur"]) / 1e6) for event in run.trace or ()
            if event["ph"] == "X" and event["name"] == "held" and "offline_trainer" in jobs.get(event["pid"], "")]


def request_spans(run):
    """Of each request: arrival, begin on the GPU, end; in seconds of CLOCK_MONOTONIC."""
    served = [row for row in run.requests if row[2] >= 0]
    offset = min((start / 1e3 - submitted for _, submitted, _, start, _ in served), default=0)
    last = max(max(row[1], row[2]) for row in run.requests)
    return [(row[0], row[3] / 1e3 - offset, row[4] / 1e3 - offset) if row[2] >= 0 else (row[0], last, last) for row in run.requests]


def gaps(spans, begin, end):
    """What is between them."""
    found, at = [], begin
    for first, last in sorted(spans):
        if first > at:
            found.append((at, min(first, end)))
        at = max(at, last)
    return found + ([(at, end)] if at < end else [])


def last_run(started, done, speed):
    """When it ran for the last time: its kernels, each queued behind a kernel of the trainer, are not timed one by one."""
    return started if done - started < 2 * REQUEST_S / speed else done - KERNEL_S / speed


REQUEST_S, KERNEL_S = 0.002, 0.0005  # of GPU time
LANE_S = 0.1  # of GPU time that a timeline shows


def lanes(title, run):
    """The programs on the GPU for a tenth of a second of GPU time in the middle of the run."""
    speed, spans = run.machine.speed, request_spans(run)
    begin = spans[len(spans) // 2][0] - 0.002 / speed
    end = begin + LANE_S / speed
    inside = [span for span in spans if span[2] > begin and span[0] < end]

    def ns(at):
        return round(max(min(at, end) - begin, 0) * speed * 1e9)

    def put(first, last, kind):
        return [ns(first), ns(last), kind] if last > begin and first < end else None

    rows, ends = [], []
    for arrived, started, done in inside:
        row = next((i for i, at in enumerate(ends) if at <= arrived), len(ends))
        if row == len(ends):
            if row == 4:
                continue
            ends.append(0)
            rows.append([])
        ends[row] = done
        started = last_run(started, done, speed)
        rows[row] += [put(arrived, started, "waits"), put(started, done, "runs")]
    held = held_spans(run)
    trainer = [put(*span, "suspended") for span in held]
    busy = held if run.trace else [(last_run(started, done, speed), done) for _, started, done in spans]
    trainer += [put(*span, "runs") for span in gaps(busy, begin, end)]
    named = [["" if i else "requests", [span for span in row if span]] for i, row in enumerate(rows)]
    return {"lanes": title, "from_ns": 0, "to_ns": round(LANE_S * 1e9),
            "of": named + [["trainer", [span for span in trainer if span]]]}


def ms(us):
    return {"ns": round(us * 1e3)}


def results_table(report):
    rows = []
    for key, name in NAMES.items():
        row = report["online"][key]
        rows.append([name, ms(row["p50_us"]), ms(row["p99_us"]), ms(row["max_us"]), ms(row["wall_p99_us"]),
                     f"{row['served']} of {row['requests']}", {"rate": report["offline"][key]["items_per_s"]}])
    return {"table": None, "columns": ["RUN", "ONLINE P50", "P99", "MAX", "P99 (WALL CLOCK)", "SERVED", "TRAINING STEPS"], "rows": rows}


def targets_table(report):
    colours = {"met": "green", "busy": "yellow", "missed": "red"}
    rows = []
    for key, target in report["targets"].items():
        relation, _, words = TARGETS[key]
        rows.append([{"text": VERDICTS[target["verdict"]].strip(), "colour": colours[target["verdict"]]}, words,
                     f"{'at least' if relation == '>=' else 'at most'} {target['limit']}: {target['got']:.3f}"])
    return {"table": None, "columns": ["", "TARGET", "LIMIT AND RESULT"], "rows": rows}


def costs_table(title, rows, label):
    return {"table": title,
            "columns": ["COST", "SUSPEND", "RESUME", "ONLINE P99", "VS. ALONE", "OFFLINE", "POSSIBLE", "RATIO", "PREEMPTIONS", "DECLINED"],
            "rows": [[label(row), ms(row["suspend_us"]), ms(row["resume_us"]), ms(row["p99_with_us"]),
                      {"real": 0, "text": f"{row['p99_with_us'] / row['p99_alone_us']:.2f}x"},
                      {"percent": 100 * row["offline_share"]}, {"percent": 100 * row["possible_share"]},
                      {"real": 0, "text": f"{row['oracle_ratio']:.3f}"}, row["preemptions"], row["declined"]] for row in rows]}


def document(report, runs):
    """The page, as the document that gpreempt-page writes."""
    figure, sentence = headline(report)
    host = report["host"]
    facts = (("device", report["device"]), ("mechanism", report["mechanism"]), ("date", report["date"]), ("version", report["version"]),
             ("host", f"{host['name']}, {host['cores']} cores, load {host['load_before']:.1f} before and {host['load_after']:.1f} after"),
             ("seed", report["seed"]), ("preemptions", f"{report['preemptions']}, declined {report['declined']}"),
             ("time per preemption", f"{report['cost']['suspend']:.0f} us to suspend and {report['cost']['resume']:.0f} us to resume, "
              "on average, including host overhead"))
    return {"title": "gpreempt demo", "blocks": [
        {"headline": figure, "text": sentence},
        *([{"line": f"This host was busy (load {host['load_before']:.1f} before and {host['load_after']:.1f} after, on {host['cores']} cores): "
            "latencies are higher than on an idle one."}] if host["busy"] else []),
        {"section": "Before and after"},
        {"chart": "Online: 99th percentile of request latency, GPU time (shorter is better)",
         "of": [[name, ms(report["online"][key]["p99_us"])] for key, name in NAMES.items()]},
        {"chart": "Offline: training steps per second of GPU time (longer is better)",
         "of": [[name if key != "alone" else "alone (no server)", {"rate": report["offline"][key]["items_per_s"]}]
                for key, name in NAMES.items()]},
        {"section": "The GPU over time"},
        {"line": "A tenth of a second of GPU time from the middle of two runs. Without control the four kernels of "
         "a request each wait behind a kernel of the trainer (only the last one is drawn). With gpreempt the trainer is suspended when a request arrives, in the middle of its kernel, and goes on afterwards."},
        lanes("With gpreempt", runs["with"]), lanes("Both, no control", runs["without"]),
        {"section": "Latency of requests"},
        {"curves": "Share of requests answered within a given time (GPU time, logarithmic axis)", "of": curves(runs)},
        results_table(report), {"line": why_served(report)},
        {"section": "Targets"}, targets_table(report),
        {"line": f"On this host, batch work relative to the best possible schedule for the same requests: {host['oracle_ratio']:.3f}."},
        {"section": "What a preemption may cost"},
        costs_table("Over the range of preemption costs in the GPU file (simulator, no host time)", report["cost_range"]["rows"],
                    lambda row: row["costs"]),
        costs_table("Higher save and restore costs (simulator, no host time)", report["save_cost"]["rows"],
                    lambda row: f"{row['save_us']} us"),
        {"section": "This run"}, *({"fact": name, "value": value} for name, value in facts)]}


def write(report, page, out, page_program):
    (out / "report.json").write_text(json.dumps(report, indent=2) + "\n")
    page = subprocess.run([page_program], input=json.dumps(page), capture_output=True, text=True, check=True)
    (out / "report.html").write_text(page.stdout)
