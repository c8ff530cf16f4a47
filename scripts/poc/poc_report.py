# SPDX-License-Identifier: MIT
"""The report of test_preemption.py: figures from what was seen, as text, JSON and one HTML page with its pictures."""
import errno
import html
import json
import os
import platform

BINS = 40


def percentile(values, fraction):
    """Nearest rank; None of nothing."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(fraction * len(ordered)))] if ordered else None


def summary(values):
    """Count, mean and percentiles of times, in the unit they are given in."""
    return {"count": len(values), "mean": sum(values) / len(values) if values else None,
            "p50": percentile(values, 0.50), "p95": percentile(values, 0.95), "p99": percentile(values, 0.99),
            "max": max(values) if values else None}


def figures(run):
    """Everything the report says, from a Run of test_preemption.py; times in milliseconds."""
    before, after = summary(run.latencies("baseline")), summary(run.latencies("preempt"))
    stopped = sum(end - start for start, end in run.spans["stopped"])
    preempting = run.phase_length("preempt")
    ratio = {key: before[key] / after[key] if before[key] and after[key] else None for key in ("mean", "p50", "p99")}
    return {
        "tasks": {task.role: {"pid": task.pid, "command": task.command, "said": task.last_lines(),
                              "queues": run.queues.get(task.role, [])}
                  for task in run.tasks},
        "machine": {"kernel": platform.release(), "virtual_gpu": run.virtual},
        "seconds": {"baseline": run.phase_length("baseline"), "preempt": preempting},
        "preemptions": len(run.suspends), "lost_leases": run.lost, "yields": run.yields,
        "queues_stopped": max((count for _, count, _ in run.suspends), default=0),
        "suspend_ms": summary([1e3 * took for _, _, took in run.suspends]),
        "resume_ms": summary([1e3 * took for _, _, took in run.resumes]),
        "online_ms": {"of": run.measured(), "baseline": before, "preempt": after, "ratio": ratio},
        "offline_stopped_share": stopped / preempting if preempting else None,
        "samples": run.samples,
    }


def shown(value, digits=3):
    return "-" if value is None else f"{value:.{digits}f}"


def row(name, values):
    return f"  {name:<34}" + "".join(f"{shown(values[key]):>11}" for key in ("mean", "p50", "p95", "p99", "max")) + \
        f"{values['count']:>8}"


def text(facts):
    ratio, of = facts["online_ms"]["ratio"], facts["online_ms"]["of"]
    lines = ["Preemption test", ""]
    for role, task in facts["tasks"].items():
        lines.append(f"  {role:<8} pid {task['pid']}: {task['command']}")
        lines += [f"           output: {line}" for line in task["said"]]
    lines += ["", f"  observed {shown(facts['seconds']['baseline'], 1)} s without and "
                  f"{shown(facts['seconds']['preempt'], 1)} s with preemption, {facts['samples']} samples",
              f"  preemptions: {facts['preemptions']}; queues suspended: {facts['queues_stopped']}; leases lost: "
              f"{facts['lost_leases']}; resumed early at the time limit: {facts['yields']}",
              f"  offline task suspended for {shown(facts['offline_stopped_share'] and 100 * facts['offline_stopped_share'], 1)}"
              " % of the time with preemption", "",
              f"  {'ms':<34}{'mean':>11}{'p50':>11}{'p95':>11}{'p99':>11}{'max':>11}{'count':>8}",
              row(f"online {of}, without preemption", facts["online_ms"]["baseline"]),
              row(f"online {of}, with preemption", facts["online_ms"]["preempt"]),
              row("suspend call", facts["suspend_ms"]), row("resume call", facts["resume_ms"]), "",
              f"  without / with preemption: mean {shown(ratio['mean'], 2)}, p50 {shown(ratio['p50'], 2)}, "
              f"p99 {shown(ratio['p99'], 2)} (above 1: preemption helped the online task)"]
    if facts["machine"]["virtual_gpu"]:
        lines.append("  virtual GPU: times come from its model and are not hardware results")
    return "\n".join(lines) + "\n"


def histogram(series, width=860, height=200):
    """Two distributions over one logarithmic axis of milliseconds."""
    values = [value for _, _, data in series for value in data if value > 0]
    if not values:
        return "<p>no data</p>"
    import math
    low, high = math.log10(min(values)), math.log10(max(values) * 1.001)
    span = max(high - low, 0.1)
    parts = [f'<svg viewBox="0 0 {width} {height + 40}" role="img">']
    for index, (name, colour, data) in enumerate(series):
        bins = [0] * BINS
        for value in data:
            if value > 0:
                bins[min(BINS - 1, int((math.log10(value) - low) / span * BINS))] += 1
        tallest = max(bins) or 1
        step = width / BINS
        for place, count in enumerate(bins):
            if count:
                tall = height * count / tallest
                title = f"{name}: {count} at {10 ** (low + span * place / BINS):.3g} ms"
                parts.append(f'<rect x="{place * step + index * step / 2:.1f}" y="{height - tall:.1f}" '
                             f'width="{step / 2 - 1:.1f}" height="{tall:.1f}" fill="{colour}">'
                             f"<title>{html.escape(title)}</title></rect>")
        parts.append(f'<text x="{10 + index * 330}" y="{height + 36}" fill="{colour}">&#9632; {html.escape(name)} '
                     f"({len(data)})</text>")
    for tick in range(5):
        at = low + span * tick / 4
        parts.append(f'<text x="{min(width * tick / 4, width - 70):.0f}" y="{height + 16}" class="axis">'
                     f"{10 ** at:.3g} ms</text>")
    return "".join(parts) + "</svg>"


def timeline(run, width=860):
    """Busy and suspended times over the whole run."""
    start, end = run.start, run.end
    scale = width / max(end - start, 1e-9)
    rows = (("online busy", "online", "#2a7"), ("offline suspended", "stopped", "#c33"))
    parts = [f'<svg viewBox="0 0 {width} {40 + 34 * len(rows)}" role="img">']
    switch = (run.switched - start) * scale
    parts.append(f'<line x1="{switch:.1f}" x2="{switch:.1f}" y1="0" y2="{34 * len(rows) + 4}" stroke="#888" '
                 'stroke-dasharray="4"/>')
    for index, (name, which, colour) in enumerate(rows):
        top = 34 * index + 16
        parts.append(f'<text x="4" y="{top - 3}" class="axis">{name}</text>')
        parts += [f'<rect x="{(a - start) * scale:.2f}" y="{top}" width="{max((b - a) * scale, 0.4):.2f}" height="14" '
                  f'fill="{colour}"/>' for a, b in run.spans[which]]
    parts.append(f'<text x="0" y="{34 * len(rows) + 24}" class="axis">0 s</text><text x="{width - 60}" '
                 f'y="{34 * len(rows) + 24}" class="axis">{end - start:.2f} s</text>'
                 f'<text x="{min(switch + 4, width - 200):.0f}" y="{34 * len(rows) + 24}" class="axis">'
                 "preemption starts here</text>")
    return "".join(parts) + "</svg>"


def page(run, facts):
    return ("<!DOCTYPE html><html lang=en><meta charset=utf-8><title>Preemption test</title><style>"
            "body{font:15px system-ui,sans-serif;max-width:900px;margin:2em auto;padding:0 1em}"
            "svg{width:100%;height:auto;background:#f6f6f6}text{font:13px sans-serif}.axis{fill:#666}"
            "pre{background:#f6f6f6;padding:1em;overflow:auto}</style><h1>Preemption test</h1>"
            f"<pre>{html.escape(text(facts))}</pre>"
            f"<h2>{'Requests' if run.measured() == 'requests' else 'Busy time'} of the online task</h2>" +
            histogram([("without preemption", "#999", run.latencies("baseline")),
                       ("with preemption", "#2a7", run.latencies("preempt"))])
            + "<h2>Duration of suspend and resume calls</h2>" +
            histogram([("suspend", "#c33", [1e3 * took for _, _, took in run.suspends]),
                       ("resume", "#36c", [1e3 * took for _, _, took in run.resumes])])
            + "<h2>Timeline</h2>" + timeline(run) + "</html>\n")


def unwritable(*paths):
    """The first that cannot be written, and why; None. Asked before a run that would be for nothing."""
    for path in filter(None, paths):
        place = path if os.path.exists(path) else os.path.dirname(path) or "."
        if os.path.isdir(path) or not os.access(place, os.W_OK):
            return f"{path}: " + os.strerror(errno.EISDIR if os.path.isdir(path) else
                                             errno.EACCES if os.path.exists(place) else errno.ENOENT)
    return None


def save(run, facts, text_path=None, json_path=None, html_path=None):
    """Writes the reports asked for; returns one message per file that could not be written."""
    failed = []
    for path, content in ((text_path, lambda: text(facts)), (json_path, lambda: json.dumps(facts, indent=2) + "\n"),
                          (html_path, lambda: page(run, facts))):
        if not path:
            continue
        try:
            with open(path, "w") as file:
                file.write(content())
        except OSError as error:
            failed.append(f"cannot write {path}: {error.strerror}")
    return failed
