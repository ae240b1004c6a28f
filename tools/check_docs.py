#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the documentation: links and their anchors lead somewhere, decisions are linked, every page is in the site's contents, commands exist with
their flags, and the walks through the source name files that exist, each once.

    tools/check_docs.py [build/dev/bin/millstream]      # without the program: all but the commands
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MADE = {"docs/cli.md", "docs/benchmarks.md"}  # by `make docs`
DECISION = re.compile(r"(?<!\[)\bADR \d+")  # links to decisions begin with these words; names alone tell a reader nothing
LINK = re.compile(r"(?<!`)!?\[[^\]\n]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.M | re.S)


def pages():
    names = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in names.stdout.split()]


def anchors(path):
    """The anchors of a page's headings, as GitHub and the site make them."""
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    slugs = set()
    for heading in re.findall(r"^#+ +(.+?) *$", text, re.M):
        words = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower())
        slugs.add(re.sub(r"\s+", "-", words.strip()))
    return slugs


def check_links(path):
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    for target in LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        to = (path.parent / file).resolve() if file else path
        name = to.relative_to(ROOT).as_posix() if to.is_relative_to(ROOT) else str(to)
        if name in MADE:
            continue
        if not to.exists():
            yield f"{path.relative_to(ROOT)}: {target} leads nowhere"
        elif anchor and to.suffix == ".md" and anchor not in anchors(to):
            yield f"{path.relative_to(ROOT)}: {target}: no such heading"
    if "adr" not in path.parts:
        for decision in DECISION.findall(text):
            yield f"{path.relative_to(ROOT)}: {decision} is not a link"


def check_contents():
    """Every page of docs/ but the decisions is in the contents of the site, and the other way round."""
    listed = {f"docs/{name}" for name in re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.M)}
    there = {p.relative_to(ROOT).as_posix() for p in pages() if p.is_relative_to(ROOT / "docs") and p.parent.name != "adr"} | MADE
    for name in sorted(there - listed):
        yield f"mkdocs.yml: {name} is not in the contents"
    for name in sorted(listed - there):
        yield f"mkdocs.yml: {name} is not there"


def check_walks():
    """docs/internals.md walks through the source: every file that its tables name exists and is passed once."""
    page = ROOT / "docs" / "internals.md"
    passed = set()
    for name in re.findall(r"^\| `([^`]+)` \|", page.read_text(encoding="utf-8"), re.M):
        if name in passed:
            yield f"docs/internals.md: {name} is passed twice"
        elif "NAME" not in name and not (ROOT / name).exists():
            yield f"docs/internals.md: there is no {name}"
        passed.add(name)


def flags_of(program):
    """{command: its flags}, by the program itself."""
    text = subprocess.run([program, "reference", "markdown"], capture_output=True, text=True, check=True).stdout
    parts = re.split(r"^## millstream (\w+)$", text, flags=re.M)[1:]
    return {name: set(re.findall(r"^\| `([^`|]+)", part, re.M)) for name, part in zip(parts[::2], parts[1::2])}


def check_commands(path, commands):
    """`millstream COMMAND --flag` in code: both exist."""
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    for line in re.findall(r"(?:^|[`$ |(/])(?<!import )(?<!-m )(?<!from )millstream ([a-z]+(?: [^`\n]*)?)", "\n".join(code_of(text)), re.M):
        words = re.split(r"[|;&]| -- ", line)[0].split()
        if words[0] not in commands:
            if words[0] not in ("reference", "agent"):
                yield f"{path.relative_to(ROOT)}: there is no command 'millstream {words[0]}'"
            continue
        known = {flag for entry in commands[words[0]] for flag in re.findall(r"--?[a-z_]+", entry)} | {"--help", "-h"}
        for word in words[1:]:
            flag = word.split("=")[0].rstrip(".,:)")
            if re.fullmatch(r"--?[a-z][a-z_]*", flag) and flag not in known:
                yield f"{path.relative_to(ROOT)}: 'millstream {words[0]}' has no flag {flag}"


def code_of(text):
    """Fenced and indented blocks, and what is between backticks."""
    yield from (m.group(0) for m in FENCE.finditer(text))
    rest = FENCE.sub("", text)
    yield from re.findall(r"^    .*$", rest, re.M)
    yield from re.findall(r"`[^`\n]+`", rest)


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else None
    problems = [*check_contents(), *check_walks()]
    commands = flags_of(program) if program else {}
    for path in pages():
        problems += check_links(path)
        if program and "adr" not in path.parts and path.name not in ("CHANGELOG.md", "roadmap.md"):
            problems += check_commands(path, commands)
    print("\n".join(problems) or f"{len(pages())} pages: all links lead somewhere")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
