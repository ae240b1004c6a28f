#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A picture of what a command shows on a terminal, as SVG.

    tools/terminal_picture.py --title "make demo" --at "5\\d %" build/dev/bin/millstream train > docs/images/terminal.svg

Runs the command on a pseudo terminal; draws the first screen that matches --at, else the last one.
"""
import argparse
import fcntl
import html
import os
import pty
import re
import struct
import subprocess
import sys
import termios

ESCAPE = re.compile(r"\x1b\[([\d;?]*)([A-Za-z])|[\r\n]|[^\x1b\r\n]+")


class Screen:
    """As much of a terminal as our programs use: lines, cursor up, and erasing to the end of the line or screen."""

    def __init__(self):
        self.lines, self.row, self.column = [""], 0, 0

    def write(self, text):
        for match in ESCAPE.finditer(text):
            piece, (count, code) = match.group(0), match.groups()
            if code == "A":
                self.row = max(0, self.row - int(count or 1))
            elif code == "K":
                self.lines[self.row] = self.lines[self.row][:self.column]
            elif code == "J":
                self.lines[self.row] = self.lines[self.row][:self.column]
                del self.lines[self.row + 1:]
            elif piece == "\r":
                self.column = 0
            elif piece == "\n":
                self.row, self.column = self.row + 1, 0
                self.lines += [""] * (self.row + 1 - len(self.lines))
            elif not code:
                line = self.lines[self.row].ljust(self.column)
                self.lines[self.row] = line[:self.column] + piece + line[self.column + len(piece):]
                self.column += len(piece)

    def text(self):
        return "\n".join(line.rstrip() for line in self.lines).rstrip()


def watch(command, columns, at):
    """The screen when it first matched `at`, or at the end."""
    terminal, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen(command, stdin=other, stdout=other, stderr=other, env={**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8"})
    os.close(other)
    screen, shot, rest = Screen(), None, b""
    while True:
        try:
            rest += os.read(terminal, 65536)
        except OSError:  # the other end is closed
            break
        frame, mark, later = rest.rpartition(b"\x1b[J")  # what is drawn ends so
        if mark:
            screen.write((frame + mark).decode())
            rest = later
        if shot is None and at and re.search(at, screen.text()):
            shot = screen.text()
    screen.write(rest.decode())
    if process.wait():
        sys.exit(f"{command[0]} failed:\n{screen.text()}")
    return shot or screen.text()


def svg(title, text, columns):
    lines = [f"$ {title}"] + text.split("\n")
    width, height = round(columns * 7.83) + 32, len(lines) * 19 + 54
    rows = ""
    for i, line in enumerate(lines):
        style = ' class="said"' if i == 0 else ""
        rows += f'<text x="16" y="{52 + 19 * i}" xml:space="preserve"{style}>{html.escape(line, quote=False)}</text>\n'
    dots = "".join(f'<circle cx="{20 + 18 * i}" cy="16" r="5.5" fill="{colour}"/>' for i, colour in enumerate(["#e0665c", "#dfb04e", "#5fb865"]))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
            f'aria-label="{html.escape(title)} on a terminal">\n'
            "<style>text{font:13px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#d8dee4}.said{fill:#7fd1b9}</style>\n"
            f'<rect width="100%" height="100%" rx="8" fill="#16202a"/>{dots}\n{rows}</svg>\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--title", required=True, help="what stands behind the prompt")
    parser.add_argument("--at", default="", help="regular expression of the screen to draw")
    parser.add_argument("--columns", type=int, default=128)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    sys.stdout.write(svg(args.title, watch(args.command, args.columns, args.at), args.columns))


if __name__ == "__main__":
    main()
