# SPDX-License-Identifier: Apache-2.0
"""tools/check_docs.py and tools/check_registrations.py, on small trees that break one rule each."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import check_docs  # noqa: E402
import check_registrations  # noqa: E402

# What `millstream reference markdown` prints, as far as the check reads it.
REFERENCE = """## millstream train

| flag | meaning |
|---|---|
| `--model TEXT` | which |
| `--ps,-p INT` | how many |

## millstream stop

| `--token_file TEXT` | where |
"""


class Pages:
    """A folder of documentation, and what the check says about it."""

    def __init__(self, root, capsys, monkeypatch):
        self.root, self.capsys, self.monkeypatch = root, capsys, monkeypatch
        subprocess.run(["git", "init", "--quiet", root], check=True)
        self.add("mkdocs.yml", "nav:\n  - Command line: cli.md\n  - Benchmarks: benchmarks.md\n  - Internals: internals.md\n")
        self.add("docs/internals.md", "# Internals\n")

    def add(self, name, text=""):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def add_program(self):
        self.add("reference.txt", REFERENCE)
        self.add("millstream", f"#!/bin/sh\ncat {self.root}/reference.txt\n")
        (self.root / "millstream").chmod(0o755)
        return str(self.root / "millstream")

    def problems(self, *arguments):
        self.monkeypatch.setattr(sys, "argv", ["check_docs", *arguments])
        status = check_docs.main()
        lines = self.capsys.readouterr().out.splitlines()
        if status == 0:
            assert len(lines) == 1 and lines[0].endswith("all links lead somewhere")
            return []
        return lines


@pytest.fixture
def pages(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(check_docs, "ROOT", tmp_path)
    return Pages(tmp_path, capsys, monkeypatch)


GOOD = """# A title, with `code` and more

[itself](#a-title-with-code-and-more), [a page](docs/internals.md), [its heading](docs/internals.md#internals), [a made page](docs/cli.md#anything),
[elsewhere](https://example.com/nothing), `[no link](nowhere.md)`, [ADR 8](docs/internals.md)

```sh
[no link](nowhere.md)
# no heading
```
"""


def test_good_pages(pages):
    pages.add("README.md", GOOD)
    assert pages.problems() == []


@pytest.mark.parametrize("text, problem", [
    ("[a](nowhere.md)", "README.md: nowhere.md leads nowhere"),
    ("![a](docs/picture.png)", "README.md: docs/picture.png leads nowhere"),
    ("[a](docs/internals.md#nothing)", "README.md: docs/internals.md#nothing: no such heading"),
    ("# Title\n[a](#nothing)", "README.md: #nothing: no such heading"),
    ("```\n# In code\n```\n[a](#in-code)", "README.md: #in-code: no such heading"),
    ("# Title\nas decided (ADR 8)", "README.md: ADR 8 is not a link"),
])
def test_links_that_lead_nowhere(pages, text, problem):
    pages.add("README.md", text)
    assert pages.problems() == [problem]


def test_contents_of_the_site(pages):
    pages.add("docs/adr/0001-why.md")  # decisions are found by their folder
    assert pages.problems() == []
    pages.add("docs/new.md")
    assert pages.problems() == ["mkdocs.yml: docs/new.md is not in the contents"]
    (pages.root / "docs/new.md").unlink()
    pages.add("mkdocs.yml", (pages.root / "mkdocs.yml").read_text() + "  - Gone: gone.md\n")
    assert pages.problems() == ["mkdocs.yml: docs/gone.md is not there"]


def test_walks_through_the_source(pages):
    pages.add("a.cc")
    walk = "# Internals\n\n| file | what |\n|---|---|\n| `a.cc` | first |\n| `ops/NAME.cc` | any |\n"
    pages.add("docs/internals.md", walk)
    assert pages.problems() == []
    pages.add("docs/internals.md", f"{walk}| `a.cc` | again |\n| `b.cc` | gone |\n")
    assert pages.problems() == ["docs/internals.md: a.cc is passed twice", "docs/internals.md: there is no b.cc"]


@pytest.mark.parametrize("text, problem", [
    ("```sh\nmillstream trian --ps 2\n```", "there is no command 'millstream trian'"),
    ("Run `millstream train --ps_count 2`.", "'millstream train' has no flag --ps_count"),
    ("    millstream stop --model mlp", "'millstream stop' has no flag --model"),
    ("```sh\nmillstream train --ps 1 \\\n    --nothing\n```", "'millstream train' has no flag --nothing"),
])
def test_commands_that_do_not_exist(pages, text, problem):
    program = pages.add_program()
    pages.add("README.md", text)
    assert pages.problems() == []  # nobody to ask
    assert pages.problems(program) == [f"README.md: {problem}"]


def test_commands_that_exist(pages):
    program = pages.add_program()
    pages.add("README.md", "```sh\nmillstream train --model mlp -p 2 --help | grep --color x\nmillstream stop --token_file=t\n```\n"
              "`millstream reference man`, the word millstream train --nothing outside of code, `import millstream as tf --x`\n")
    pages.add("CHANGELOG.md", "`millstream gone`\n")  # history
    assert pages.problems(program) == []


def registration(kind, name):
    return f'const Registration<{kind}> registration({{\n    .name = "{name}",\n}});\n'


@pytest.fixture
def commands(tmp_path, monkeypatch):
    monkeypatch.setattr(check_registrations, "ROOT", tmp_path)

    def problems(files):
        for name, text in files.items():
            path = tmp_path / "cli" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return check_registrations.main()
    return problems


MLP = {"train/models/mlp.cc": registration("Model", "mlp")}
STOP = {"stop.cc": registration("Command", "stop")}


@pytest.mark.parametrize("files", [
    MLP, STOP,
    {**MLP, "bench_train.cc": 'Report("mlp step", 1);\n'},  # suites may have the name of what they measure
    {**MLP, "a.cc": 'Say("mlperf");  // the model "mlp"\n'},
    {**MLP, "a_test.cc": 'Find("mlp");\n'},
    {**STOP, "a.cc": 'Say("the job will stop");\n'},
])
def test_what_is_named_once(commands, files):
    assert commands(files) == 0


@pytest.mark.parametrize("files, problem", [
    ({**MLP, "a.cc": 'if (model == "mlp") return;\n'}, "cli/a.cc: names the model 'mlp', which cli/train/models/mlp.cc registers"),
    ({**MLP, "a.cc": '"models such as "\n    "mlp and others"\n'}, "cli/a.cc: names the model 'mlp'"),
    ({**STOP, "a.cc": 'if (command == "stop") return;\n'}, "cli/a.cc: names the command 'stop'"),
    ({**MLP, "train/models/b.cc": registration("Model", "mlp")}, "Model 'mlp' is registered in"),
])
def test_what_is_named_twice(commands, capsys, files, problem):
    assert commands(files) == 1
    assert problem in capsys.readouterr().out
