# SPDX-License-Identifier: MIT
"""The results of the demonstration: report.json, a page with histogram and timeline, and two tables."""
import html
import json
import math

# Those of the scheduler come from the simulator and are the same on every machine; the last two come from this run.
TARGETS = {"oracle_ratio": (">=", 0.99, "scheduler: batch work relative to the best possible schedule, at the best-guess cost"),
           "oracle_range": (">=", 0.97, "scheduler: batch work relative to the best possible schedule, over the whole range of costs"),
           "p99_range": ("<=", 1.15, "scheduler: online p99 relative to running alone, over the whole range of costs"),
           "p99_ratio": ("<=", 1.15, "on this host: online p99 with gpreempt relative to running alone"),
           "without_ratio": (">=", 3.0, "on this host: online p99 without gpreempt relative to with it")}
THIS_HOST = ("p99_ratio", "without_ratio")
COLOURS = {"alone": "#2b8a3e", "without": "#d9480f", "priority": "#862e9c", "with": "#2a78d6"}
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


def collect(runs, simulated, machine, host, seconds):
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
    lines = ["", f"{'':24}{'online p50':>12}{'p99':>10}{'max':>10}{'p99 (wall)':>12}{'served':>12}{'offline':>10}",
             f"{'':24}{'ms':>12}{'ms':>10}{'ms':>10}{'ms':>12}{'requests':>12}{'steps/s':>10}"]
    for key, name in NAMES.items():
        row, rate = report["online"][key], report["offline"][key]["items_per_s"]
        lines.append(f"{name:24}{milliseconds(row['p50_us']):>12}{milliseconds(row['p99_us']):>10}"
                     f"{milliseconds(row['max_us']):>10}{milliseconds(row['wall_p99_us']):>12}"
                     f"{str(row['served']) + ' of ' + str(row['requests']):>12}{rate:>10.1f}")
    lines += ["", f"preemptions {report['preemptions']}, declined {report['declined']}; on average "
              f"{report['cost']['suspend']:.0f} us to suspend and {report['cost']['resume']:.0f} us to resume, including "
              "host overhead", f"mechanism: {report['mechanism']}; device: {report['device']}", ""]
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


def histogram(runs):
    """Share of requests by latency, one curve per arrangement; the axis is logarithmic."""
    width, height, margin = 860, 280, 46
    data = {key: sorted(max(us, 1) for us in runs[key].latencies_us()) for key in NAMES}
    low = math.log10(min(values[0] for values in data.values()))
    high = math.log10(max(values[-1] for values in data.values())) + 0.05

    def x(us):
        return margin + (math.log10(us) - low) / (high - low) * (width - 2 * margin)

    parts = [f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="latency of requests">']
    for power in range(math.floor(low), math.ceil(high) + 1):
        if low <= power <= high:
            parts.append(f'<path class="axis" d="M{x(10 ** power):.1f} {margin}V{height - margin}"/>'
                         f'<text x="{x(10 ** power):.1f}" y="{height - margin + 16}">{10 ** power / 1e3:g} ms</text>')
    for number, (key, values) in enumerate(data.items()):
        points = [(x(us), height - margin - (i + 1) / len(values) * (height - 2 * margin))
                  for i, us in enumerate(values)]
        path = "".join(f"{'L' if i else 'M'}{px:.1f} {py:.1f}" for i, (px, py) in enumerate(points))
        parts.append(f'<path stroke="{COLOURS[key]}" d="{path}"/>'
                     f'<path stroke="{COLOURS[key]}" d="M{margin + 10} {margin + 16 * number}h18"/>'
                     f'<text x="{margin + 34}" y="{margin + 4 + 16 * number}">{html.escape(NAMES[key])}</text>')
    return "".join(parts) + "</svg>"


def timeline(run):
    """Half a second of the run with gpreempt: requests, and the trainer's steps as they end."""
    width, height, margin = 860, 110, 46
    begin = run.requests[len(run.requests) // 2][0]
    end = begin + 0.5 / max(run.machine.speed, 1e-9) * 0.2
    scale = (width - 2 * margin) / (end - begin)
    parts = [f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="timeline">',
             f'<text x="0" y="34">online</text><text x="0" y="78">offline</text>']
    for arrival, _, done, _, _ in run.requests:
        if begin <= arrival and arrival <= done <= end:
            parts.append(f'<rect fill="{COLOURS["with"]}" x="{margin + (arrival - begin) * scale:.1f}" y="20" '
                         f'width="{max((done - arrival) * scale, 1):.1f}" height="20"/>')
    for step in run.steps:
        if begin <= step[0] <= end:
            parts.append(f'<path class="tick" d="M{margin + (step[0] - begin) * scale:.1f} 60v26"/>')
    return "".join(parts) + f'<text x="{margin}" y="{height - 4}">{(end - begin) * 1e3:.0f} ms of wall clock</text></svg>'


STYLE = (":root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;"
         "padding:0 1em}pre{overflow:auto;font-size:13px}svg{width:100%;height:auto}text{fill:currentColor;"
         "font-size:12px}path{fill:none;stroke-width:2}.axis{stroke:currentColor;opacity:.25;stroke-width:1}"
         ".tick{stroke:currentColor}")


def write(report, runs, out):
    (out / "report.json").write_text(json.dumps(report, indent=2) + "\n")
    page = (f'<!doctype html><html><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>gpreempt demo</title><style>{STYLE}</style></head><body><h1>gpreempt demo</h1>"
            f"<p>{html.escape(report['device'])}; mechanism {html.escape(report['mechanism'])}.</p>"
            f"<pre>{html.escape(text(report))}</pre><h2>Latency of requests</h2><p>Share of requests answered "
            f"within a given time.</p>{histogram(runs)}<h2>Timeline with gpreempt</h2><p>Requests from arrival to answer; "
            f"each mark is the end of a training step.</p>{timeline(runs['with'])}</body></html>\n")
    (out / "report.html").write_text(page)
