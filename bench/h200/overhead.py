# SPDX-License-Identifier: MIT
"""What being controlled costs a program, and what controlling costs the machine."""
import pathlib
import time

from common import Control, Product, Watched, Worker, figures, median, thin

ROUNDS = 3


def lifeline_ns():
    """CPU time of the lifelines."""
    total = 0
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (process / "comm").read_text() == "gp-lifeline\n":
                total += int((process / "schedstat").read_text().split()[0])
        except OSError:
            continue
    return total


def cpu_share(control, seconds):
    """Part of one core that nvctl and the lifelines take."""
    before, lifelines, begin = control.must("cpu")["cpu_us"], lifeline_ns(), time.time()
    time.sleep(seconds)
    taken = time.time() - begin
    used = (control.must("cpu")["cpu_us"] - before) / 1e6
    used += (lifeline_ns() - lifelines) / 1e9
    return used / taken


def run(lab, results, options):
    block = max(0.3, options.seconds / 30)
    worker = Worker(lab, lab.bin / "nvwork", "serve").wait()
    control = Control(lab)
    product = Product(lab, options.product) if options.product else None
    inside = Worker(lab, *product.under("online"), lab.bin / "nvwork", "serve",
                    extra=product.extra).wait() if product else None
    samples = {"alone": [], "attached": [], "attached, share 100": []}
    if product:
        samples.update({"under gpreempt run": [], "and gpreemptd acting": []})
    for _ in range(ROUNDS):
        for name in samples:
            if name in ("under gpreempt run", "and gpreemptd acting"):
                if "acting" in name:
                    product.start_daemon([inside.pid])
                inside.start(f"launch {block}")
                samples[name].append(inside.answer())
                product.stop_daemon()
                continue
            if name != "alone":
                control.must(f"attach {worker.pid}")
            if "share" in name:
                control.must(f"share {worker.pid} 100")
            worker.start(f"launch {block}")
            samples[name].append(worker.answer())
            if name != "alone":
                control.must(f"detach {worker.pid}")
    launch = {}
    for name, blocks in samples.items():
        launch[name] = [{"call_us": figures(b["call_us"]), "launch_and_wait_us": figures(b["us"])}
                        for b in blocks]
        call = [b["call_us"]["p50"] for b in launch[name]]
        whole = [b["launch_and_wait_us"]["p50"] for b in launch[name]]
        print(f"{name:20} launch call p50 {median(call):.2f} us ({min(call):.2f}-{max(call):.2f}), "
              f"launch and wait p50 {median(whole):.2f} us ({min(whole):.2f}-{max(whole):.2f})")
    results.add("launch", {"figures": launch, "samples_us": {
        name: [{"call": thin(b["call_us"], 2000), "launch_and_wait": thin(b["us"], 2000)}
               for b in blocks] for name, blocks in samples.items()}})
    watched = [Watched(lab, f"cpu{i}", "short", "1000") for i in range(4)]
    cpu = {}
    for w in watched:
        control.must(f"attach {w.process.pid}")
    cpu["4 attached"] = cpu_share(control, 2 * block)
    for w in watched:
        control.must(f"share {w.process.pid} 100")
    cpu["4 attached and shared"] = cpu_share(control, 2 * block)
    for w in watched:
        control.must(f"suspend {w.process.pid}")
    cpu["4 suspended"] = cpu_share(control, 2 * block)
    for w in watched:
        control.must(f"resume {w.process.pid}")
    control.close()
    results.add("cpu", cpu)
    for name, part in cpu.items():
        print(f"{name:24} {part * 100:.3f} % of one core")
    if product:
        inside.end()
        product.close()
    wrong = bool(worker.end().get("wrong")) + sum(bool(w.end()["wrong"]) for w in watched)
    print("wrong:", wrong)
    return 1 if wrong else 0
