#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Simulates how training scales and draws it: docs/scaling.md.

    bench/scaling.py --binary build/release/bin/millstream --out docs/images [flags of `millstream bench scaling`]

Prints the JSON lines of `millstream bench scaling` and writes scaling_workers.svg, scaling_allreduce.svg and scaling_ps.svg. Needs nothing but
Python.
"""
import argparse
import json
import math
import pathlib
import re
import subprocess
import sys

COLOURS = ["#3366cc", "#dc3912", "#109618", "#990099", "#ff9900", "#0099c6", "#7f6000"]
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 400, 70, 190, 36, 50


def run(binary, flags):
    lines = []
    with subprocess.Popen([binary, "bench", "scaling", *flags], stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(json.loads(line))
    if process.returncode:
        sys.exit(process.returncode)
    return lines


def points(results):
    """{(mode, ps or None): {workers: ms}}"""
    series = {}
    for result in results:
        match = re.fullmatch(r"scaling/([a-z-]+)/(\d+)_workers(?:/(\d+)_ps)?", result["name"])
        if match:
            series.setdefault((match[1], match[3] and int(match[3])), {})[int(match[2])] = result["value"]
    return series


class Plot:
    """Lines over two logarithmic axes."""

    def __init__(self, title, x_label, y_label, lines):
        self.title, self.x_label, self.y_label = title, x_label, y_label
        self.lines = {name: sorted(line.items()) for name, line in lines.items() if line}
        xs = [x for line in self.lines.values() for x, _ in line]
        ys = [y for line in self.lines.values() for _, y in line]
        self.x_range = min(xs), max(*xs, min(xs) * 2)
        self.y_range = 10 ** math.floor(math.log10(min(ys))), 10 ** math.ceil(math.log10(max(ys) * 1.01))
        self.x_ticks = sorted(set(xs))

    @staticmethod
    def _place(value, low, high, begin, end):
        return begin + (end - begin) * (math.log(value) - math.log(low)) / (math.log(high) - math.log(low))

    def x(self, value):
        return self._place(value, *self.x_range, LEFT, WIDTH - RIGHT)

    def y(self, value):
        return self._place(value, *self.y_range, HEIGHT - BOTTOM, TOP)

    def svg(self):
        out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
               f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
               f'<text x="{LEFT}" y="20" font-size="14" font-weight="bold">{self.title}</text>']
        for tick in self.x_ticks:
            x = self.x(tick)
            out.append(f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}" stroke="#eee"/>')
            out.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{tick}</text>')
        tick = self.y_range[0]
        while tick <= self.y_range[1] * 1.001:
            y = self.y(tick)
            out.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#ddd"/>')
            out.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
            tick *= 10
        out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 12}" text-anchor="middle">{self.x_label}</text>')
        out.append(f'<text x="16" y="{(TOP + HEIGHT - BOTTOM) / 2}" text-anchor="middle" '
                   f'transform="rotate(-90 16 {(TOP + HEIGHT - BOTTOM) / 2})">{self.y_label}</text>')
        for number, (name, line) in enumerate(self.lines.items()):
            colour = COLOURS[number % len(COLOURS)]
            dash = ' stroke-dasharray="6 3"' if number >= len(COLOURS) else ""
            path = " ".join(f"{self.x(a):.1f},{self.y(b):.1f}" for a, b in line)
            out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
            y = TOP + 10 + 18 * number
            out.append(f'<line x1="{WIDTH - RIGHT + 14}" y1="{y}" x2="{WIDTH - RIGHT + 38}" y2="{y}" stroke="{colour}" stroke-width="2"{dash}/>')
            out.append(f'<text x="{WIDTH - RIGHT + 44}" y="{y + 4}">{name}</text>')
        return "\n".join([*out, "</svg>", ""])


def plots(series):
    ps_counts = sorted({ps for _, ps in series if ps})
    most = ps_counts[-1] if ps_counts else 1
    modes = {}
    for mode in ("sync-ps", "async-ps", "ssp", "hierarchical"):
        if (mode, most) in series:
            modes[f"{mode}, {most} ps"] = series[mode, most]
    for name, mode in (("all-reduce", "allreduce-auto"), ("local-sgd", "local-sgd")):
        if (mode, None) in series:
            modes[name] = series[mode, None]
    algorithms = {mode.removeprefix("allreduce-"): line for (mode, _), line in series.items() if mode.startswith("allreduce-")}
    workers = sorted({w for line in series.values() for w in line})
    middle = workers[len(workers) // 2]
    by_ps = {mode: {ps: series[mode, ps][middle] for ps in ps_counts if middle in series.get((mode, ps), {})}
             for mode in ("sync-ps", "async-ps", "ssp", "hierarchical")}
    yield "scaling_workers", Plot("Step time of each mode", "workers", "ms per step", modes)
    yield "scaling_allreduce", Plot("Step time with each all-reduce", "workers", "ms per step", algorithms)
    if any(by_ps.values()):
        yield "scaling_ps", Plot(f"Step time with {middle} workers", "ps tasks", "ms per step", by_ps)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default="build/release/bin/millstream")
    parser.add_argument("--out", default="docs/images", type=pathlib.Path)
    parser.add_argument("--results", type=pathlib.Path, help="draw these JSON lines instead of running the simulation")
    arguments, flags = parser.parse_known_args()
    if arguments.results:
        results = [json.loads(line) for line in arguments.results.read_text().splitlines()]
    else:
        results = run(arguments.binary, flags)
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name, plot in plots(points(results)):
        (arguments.out / f"{name}.svg").write_text(plot.svg())


if __name__ == "__main__":
    main()
