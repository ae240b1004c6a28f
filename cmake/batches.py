#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Says which sources of a target are compiled together. Usage: batches.py ROOT SOURCES MEMORY BYTES

SOURCES holds one path per line. Writes `batch NUMBER PATH` for each source that shares its translation unit with
others, and `macro NAME` for each macro that a source leaves defined. The sources of a batch have about BYTES together,
and no private name (of an anonymous namespace, or static) of one of them is declared by another, or by a header of ours
that another includes. MEMORY keeps the answer: a source stays in its batch while it can, so that a small change does not
compile everything anew.

Sources are formatted by clang-format: what a namespace declares begins in the first column, and nothing else does.
"""

import collections
import pathlib
import re
import sys

INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
MACRO = re.compile(r"^#define (\w+)", re.M)
USING = re.compile(r"using (?:::)?((?:\w+::)+(\w+));")
UNDEFINED = re.compile(r"^#undef (\w+)", re.M)
RAW_STRING = re.compile(r'R"(\w*)\(.*?\)\1"', re.S)
COMMENT = re.compile(r"//[^\n]*")
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
DIRECTIVE = re.compile(r"^#(?:[^\n]*\\\n)*[^\n]*", re.M)
ATTRIBUTE = re.compile(r"\[\[.*?\]\]|__attribute__\(\(.*?\)\)(?= )")
TYPE = re.compile(r"(?:class|struct|union|enum(?: class| struct)?)\s+(?:alignas\(.*?\)\s*)*(\w+)")
# What would hold for the sources behind it too: directives, and macros that change what an include means.
ALONE = re.compile(r"^using namespace|^#pragma|^#define[\s\S]*?^#include", re.M)
END_OF_PRIVATE = "}namespace"
TEST = re.compile(r"(TEST|TEST_F|TEST_P|TYPED_TEST)\((\w+),\s*(\w+)\)")


def without_brackets(text):
    """`text` without what stands in angle brackets: template parameters and arguments."""
    kept, depth = [], 0
    for char in text:
        if char == "<":
            depth += 1
        elif char == ">" and depth > 0:
            depth -= 1
        elif depth == 0:
            kept.append(char)
    return "".join(kept)


def outer_parts(statement):
    """The parts of `statement` between commas that stand outside of brackets."""
    parts, depth = [""], 0
    for char in statement:
        depth += (char in "({[") - (char in ")}]")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return parts


def declared(statement):
    """(kind, name) of each thing that a declaration brings into its namespace (members, macros and operators bring none)."""
    test = TEST.match(statement)
    if test:
        return [("type", f"{test[2]}_{test[3]}_Test")]
    statement = without_brackets(ATTRIBUTE.sub("", statement).replace("<<", "")).strip()
    statement = re.sub(r"^template\s*(requires [^;{]*?)?\s*", "", statement)
    kind = TYPE.match(statement)
    if kind and "(" not in statement.partition("{")[0].replace("alignas(", ""):
        return [("type", kind[1])]
    using = re.match(r"using (\w+)\s*=", statement)
    if using:
        return [("type", using[1])]
    if re.match(r"(using|namespace|static_assert|extern|friend|public|private)\b", statement):
        return []
    # A function has one declarator; variables of one statement follow each other behind commas.
    names = []
    for declarator in outer_parts(statement):
        declarator = re.match(r"(.*?)\s*(?:\(|\{|=|;|\[|$)", declarator, re.S)[1]
        name = re.search(r"([\w:~]+)$", declarator)
        if not name or "::" in name[1] or "operator" in declarator or (not names and name[1] == declarator.strip()):
            break
        names.append(name[1])
    return [("value", name) for name in names]


def declarations(code):
    """Yields (whether private, text) for each declaration at the level of a namespace."""
    private = False
    lines = iter(code.split("\n"))
    for line in lines:
        if line.startswith("namespace {"):
            private = True
        elif line == END_OF_PRIVATE:
            private = False
        elif line and line[0] not in " }#)":
            while not re.search(r"[;{]", line):
                line += "\n" + next(lines, ";")
            yield private or line.startswith("static "), line


class Source:
    """What a file declares; `private` maps names to the text of an alias, or None where no two declarations may meet,
    `public` holds (kind, name), `imported` maps the name in each using-declaration to what it names."""

    def __init__(self, path):
        text = pathlib.Path(path).read_text(encoding="utf-8")
        self.path = str(path)
        self.size = len(text)
        self.includes = INCLUDE.findall(text)
        self.macros = set(MACRO.findall(text)) - set(UNDEFINED.findall(text))
        self.alone = bool(ALONE.search(text))
        code = re.sub(r"^}  // namespace$", END_OF_PRIVATE, text, flags=re.M)
        code = DIRECTIVE.sub("", STRING.sub('""', COMMENT.sub("", RAW_STRING.sub('""', code))))
        self.private, self.public, self.imported = {}, set(), {}
        for private, statement in declarations(code):
            using = USING.match(statement)
            if using:
                self.imported[using[2]] = using[1]
            for kind, name in declared(statement):
                if private:
                    self.private[name] = " ".join(statement.split()) if statement.startswith("using ") else None
                else:
                    self.public.add((kind, name))


class Project:
    def __init__(self, root):
        self.root = root
        self.headers = {}

    def header(self, name):
        if name not in self.headers:
            path = self.root / name
            self.headers[name] = Source(path) if path.is_file() else None
        return self.headers[name]

    def seen_by(self, source):
        """(kind, name) of all that the source and the headers it includes declare for others."""
        names, stack, seen = set(source.public), list(source.includes), set()
        while stack:
            name = stack.pop()
            header = None if name in seen else self.header(name)
            seen.add(name)
            if header:
                names |= header.public
                stack += header.includes
        return names


OTHER = {"type": "value", "value": "type"}


def names_of(seen):
    return {name for _, name in seen}


class Batch:
    """Sources of one translation unit."""

    def __init__(self):
        self.sources, self.size, self.private, self.imported, self.seen = [], 0, {}, {}, set()

    def takes(self, source, seen, limit):
        if self.size + source.size > limit:
            return False
        if names_of(self.seen) & source.private.keys() or names_of(seen) & self.private.keys():
            return False
        if any((OTHER[kind], name) in self.seen for kind, name in seen):  # headers that were never included together
            return False
        if self.private.keys() & source.imported.keys() or source.private.keys() & self.imported.keys():
            return False
        if any(self.imported.get(name, what) != what for name, what in source.imported.items()):
            return False
        return all(text is not None and self.private[name] == text
                   for name, text in source.private.items() if name in self.private)

    def add(self, source, seen):
        self.sources.append(source)
        self.size += source.size
        self.private.update(source.private)
        self.imported.update(source.imported)
        self.seen |= seen


def read_memory(path):
    """Maps each source to the number of the batch that it was in."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {source: int(number) for number, _, source in (line.partition(" ") for line in lines)}


def assign(project, sources, former, limit):
    """Returns the batches by number."""
    batches = collections.defaultdict(Batch)
    seen = {source: project.seen_by(source) for source in sources}
    unplaced = []
    for source in sources:
        batch = batches[former[source.path]] if source.path in former else None
        if batch is not None and batch.takes(source, seen[source], limit * 3 // 2):
            batch.add(source, seen[source])
        else:
            unplaced.append(source)
    for source in unplaced:
        fitting = (n for n, batch in sorted(batches.items()) if batch.takes(source, seen[source], limit))
        number = next(fitting, max(batches, default=0) + 1)
        batches[number].add(source, seen[source])
    return batches


def main():
    root, listed, memory, limit = pathlib.Path(sys.argv[1]), *map(pathlib.Path, sys.argv[2:4]), int(sys.argv[4])
    sources = [Source(path) for path in listed.read_text(encoding="utf-8").split("\n") if path]
    sources = [source for source in sources if not source.alone]
    batches = assign(Project(root), sources, read_memory(memory), limit)
    placed = [(number, source) for number, batch in sorted(batches.items()) for source in batch.sources]
    memory.write_text("".join(f"{number} {source.path}\n" for number, source in placed), encoding="utf-8")
    for number, source in placed:
        if len(batches[number].sources) > 1:
            print("batch", number, source.path)
    for name in sorted(set().union(*(source.macros for source in sources))):
        print("macro", name)


if __name__ == "__main__":
    main()
