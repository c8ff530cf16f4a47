# SPDX-License-Identifier: MIT
"""The reports of the multi-process study: a table as text, and a page with plots."""
import html
import os

from poc_library import quoted

WIDTH, HEIGHT, LEFT, BOTTOM = 720, 300, 60, 40
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b")
STYLE = ("body{font:15px system-ui,sans-serif;max-width:900px;margin:2em auto;padding:0 1em}svg{width:100%;height:auto}"
         "text{font:12px sans-serif;fill:currentColor}pre{overflow:auto}:root{color-scheme:light dark}")


def groups(rows):
    """Mean of the rounds of each point, by compute units and processes."""
    found = {}
    for row in rows:
        found.setdefault((int(row["cus"]), int(row["processes"])), []).append(row)

    def mean(point, key):
        values = [float(row[key]) for row in point if row[key] not in ("", None)]
        return sum(values) / len(values) if values else None

    keys = ("rate", "relative_to_one", "slowest", "fastest", "queues", "runlist_queues", "oversubscribed", "active_slots")
    return {point: {key: mean(found[point], key) for key in keys} for point in sorted(found, key=lambda point: (-point[0], point[1]))}


def shown(value, digits=1, scale=1.0):
    return "-" if value is None else f"{value * scale:.{digits}f}"


def verdict(processes, figures, target):
    if processes == 1 or figures["relative_to_one"] is None:
        return "-"
    return "met" if 100 * figures["relative_to_one"] >= target else "missed"


def text(given, facts, table):
    goal = f"target {given.target:g} %"
    lines = ["Several processes on one GPU", "", f"  command: {quoted(facts['command'])}",
             f"  {facts['seconds']:g} s per point, {facts['compute_units']} compute units", "",
             f"  {'processes':>9} {'CUs':>5} {'rate/s':>9} {'of one, %':>10} {goal:>12} {'slowest/s':>10} {'fastest/s':>10} "
             f"{'queues':>7} {'in runlist':>11} {'slots':>6}"]
    for (cus, processes), one in table.items():
        lines.append(f"  {processes:>9} {cus:>5} {shown(one['rate']):>9} {shown(one['relative_to_one'], 1, 100):>10} "
                     f"{verdict(processes, one, given.target):>12} {shown(one['slowest']):>10} {shown(one['fastest']):>10} "
                     f"{shown(one['queues']):>7} {shown(one['runlist_queues']):>11} {shown(one['active_slots']):>6}")
    if any(one["oversubscribed"] for one in table.values()):
        lines.append("  The runlist was oversubscribed at some points: queues took turns on the hardware slots.")
    if facts["virtual_gpu"]:
        lines.append("  virtual GPU: rates come from its model and are not hardware results")
    return "\n".join(lines) + "\n"


def round_up(value):
    """The next of 1, 2, 2.5 and 5 times a power of ten."""
    step = 10.0
    while step < value:
        step *= 10
    return min(step * part for part in (0.1, 0.2, 0.25, 0.5, 1) if step * part >= value) if value > 1 else 1


def plot(table, key, unit, scale=1.0, mark=None):
    """One line per number of compute units over the number of processes."""
    limits = sorted({cus for cus, _ in table}, reverse=True)
    counts = sorted({processes for _, processes in table})
    values = [one[key] * scale for one in table.values() if one[key] is not None]
    if not values:
        return "<p>not in this data</p>"
    top = round_up(max(values + ([mark] if mark else [])) * 1.05)

    def across(processes):
        return LEFT + (WIDTH - LEFT - 20) * (counts.index(processes) + 0.5) / len(counts)

    def down(value):
        return 10 + (HEIGHT - BOTTOM - 10) * (1 - value / top)

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT + 20 * len(limits)}" role="img">']
    for tick in range(6):
        value = top * tick / 5
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - 20}" y1="{down(value):.1f}" y2="{down(value):.1f}" stroke="#8884"/>'
                     f'<text x="{LEFT - 6}" y="{down(value) + 4:.1f}" text-anchor="end">{value:g}</text>')
    parts += [f'<text x="{across(count):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{count}</text>' for count in counts]
    parts.append(f'<text x="{WIDTH - 20}" y="{HEIGHT - 4}" text-anchor="end">processes</text><text x="4" y="10">{html.escape(unit)}</text>')
    if mark:
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - 20}" y1="{down(mark):.1f}" y2="{down(mark):.1f}" stroke="#888" stroke-dasharray="5"/>')
    for index, cus in enumerate(limits):
        colour = COLOURS[index % len(COLOURS)]
        at = [(across(count), down(table[cus, count][key] * scale)) for count in counts
              if (cus, count) in table and table[cus, count][key] is not None]
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="' +
                     " ".join(f"{x:.1f},{y:.1f}" for x, y in at) + '"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in at]
        parts.append(f'<text x="{LEFT}" y="{HEIGHT + 12 + 20 * index}"><tspan fill="{colour}">&#9632;</tspan> {cus} CUs</text>')
    return "".join(parts) + "</svg>"


def page(given, facts, table):
    return ('<!DOCTYPE html><html lang=en><meta charset=utf-8><meta name=viewport content="width=device-width">'
            "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'\">"
            f"<title>Several processes on one GPU</title><style>{STYLE}</style><h1>Several processes on one GPU</h1>"
            "<h2>Together, relative to one process</h2>" + plot(table, "relative_to_one", "%", 100, given.target) +
            "<h2>Requests per second, together</h2>" + plot(table, "rate", "requests/s") +
            "<h2>Queues in the runlist</h2>" + plot(table, "runlist_queues", "queues") +
            f"<h2>Table</h2><pre>{html.escape(text(given, facts, table))}</pre></html>\n")


def write(given, facts, rows):
    """Writes report.txt and report.html beside study.csv; returns the text."""
    table = groups(rows)
    content = text(given, facts, table)
    for name, what in (("report.txt", content), ("report.html", page(given, facts, table))):
        with open(os.path.join(given.out, name), "w") as file:
            file.write(what)
    where = ", ".join(os.path.join(given.out, name) for name in ("study.csv", "report.txt", "report.html"))
    return content + f"\nwritten: {where}\n"
