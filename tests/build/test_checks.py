# SPDX-License-Identifier: Apache-2.0
"""The scripts behind `make check` and `make nightly`."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import types

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "checks"))

import analyze  # noqa: E402
import changed  # noqa: E402
import check  # noqa: E402
import compile_flags  # noqa: E402
import licences  # noqa: E402
import nightly  # noqa: E402
import steps  # noqa: E402


class Repository:
    def __init__(self, root):
        self.root = root
        root.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments):
        environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
        for role in ("AUTHOR", "COMMITTER"):
            environment.update({f"GIT_{role}_NAME": "a", f"GIT_{role}_EMAIL": "a@example.com"})
        return subprocess.run(["git", *arguments], cwd=self.root, env=environment, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, *names):
        for name in names:
            (self.root / name).write_text(name)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", " ".join(names))
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path, monkeypatch):
    monkeypatch.delenv("BASE", raising=False)
    return Repository(tmp_path / "repository")


def test_changed_files_of_a_branch(repository):
    start = repository.commit("old.cc")
    repository.git("checkout", "--quiet", "-b", "work")
    repository.commit("first.cc")
    repository.commit("second.cc")
    (repository.root / "new.cc").write_text("not committed")
    assert changed.base(repository.root) == start
    assert changed.files(repository.root) == ["new.cc", "second.cc", "first.cc"]


def test_changed_files_on_main_are_those_of_the_last_commits(repository):
    commits = [repository.commit(f"f{i}.cc") for i in range(changed.COMMITS + 5)]
    assert changed.base(repository.root) == commits[4]
    assert changed.files(repository.root) == [f"f{i}.cc" for i in range(changed.COMMITS + 4, 4, -1)]


def test_changed_files_of_a_clone_whose_main_is_the_commit_under_test(repository, tmp_path):
    for i in range(3):
        repository.commit(f"f{i}.cc")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", "--depth", "2", f"file://{repository.root}", clone], check=True)
    assert changed.files(clone) == ["f2.cc"]


def test_without_history_every_file_has_changed(repository, tmp_path):
    for i in range(3):
        repository.commit(f"f{i}.cc")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", "--depth", "1", f"file://{repository.root}", clone], check=True)
    assert changed.files(clone) == ["f0.cc", "f1.cc", "f2.cc"]


def test_changed_files_since_a_base_that_is_given(repository, monkeypatch):
    commits = [repository.commit(f"f{i}.cc") for i in range(3)]
    monkeypatch.setenv("BASE", commits[1])
    assert changed.files(repository.root) == ["f2.cc"]
    monkeypatch.setenv("BASE", "nothing")
    with pytest.raises(ValueError, match="BASE=nothing"):
        changed.files(repository.root)


def test_deleted_files_have_not_changed(repository):
    repository.commit("a.cc")
    repository.commit("b.cc")
    repository.git("rm", "--quiet", "a.cc")
    repository.git("commit", "--quiet", "--message", "remove")
    assert changed.files(repository.root) == ["b.cc"]


def test_steps_go_on_after_a_failure_and_end_in_one_table(tmp_path, capsys):
    status = steps.run_all([steps.Step("bad", ["false"]), steps.Step("absent", ["/no/such/program"]), steps.Step("good", "echo fine")], tmp_path)
    lines = capsys.readouterr().out.splitlines()
    assert status == 1
    table = lines[lines.index(next(line for line in lines if line.startswith("name"))):]
    assert [line.split()[:2] for line in table] == [["name", "result"], ["bad", "failed"], ["absent", "failed"], ["good", "ok"]]
    assert (tmp_path / "good.log").read_text() == "fine\n"


def test_steps_that_end_well_and_those_that_take_too_long(tmp_path):
    assert steps.run_all([steps.Step("good", ["true"])], tmp_path) == 0
    slow = steps.Step("slow", "echo $$; sleep 600 & echo $!; wait")  # a child of its own, as make has
    assert steps.run_step(slow, tmp_path, timeout=2).result == "stopped after 2 s"
    processes = (tmp_path / "slow.log").read_text().split()
    deadline = time.monotonic() + 30
    while any(map(alive, processes)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(processes) == 2 and not any(map(alive, processes))


def alive(process):
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_steps_are_chosen_by_name():
    assert [step.name for step in steps.choose(nightly.STEPS, ["tsan", "asan"])] == ["asan", "tsan"]
    with pytest.raises(SystemExit, match="unknown: nonsense"):
        steps.choose(nightly.STEPS, ["nonsense"])


# How a hook's command differs from that of the check: what it leaves out or adds, and why.
HOOK_DIFFERS = {
    "docker": (" Dockerfile Dockerfile.cuda", ""),  # pre-commit gives the names of files
    "python": ("ruff check", "ruff check --force-exclude"),  # ruff would check files that are named although they are excluded
}


def hook_command(step):
    """What the hook for a check should run: its command, without the list of files that pre-commit gives."""
    command = step.command.rpartition("| xargs ")[2] if isinstance(step.command, str) else " ".join(step.command)
    old, new = HOOK_DIFFERS.get(step.name, ("", ""))
    assert old in command, f"{step.name}: HOOK_DIFFERS is out of date"
    return command.replace(old, new) if old else command


def test_pre_commit_runs_every_check():
    hooks = dict(re.findall(r"\{id: (\w+),[^}]*?\bentry: ([^,}]*)", (ROOT / ".pre-commit-config.yaml").read_text()))
    assert hooks == {step.name: hook_command(step) for step in check.SOURCES + check.BUILT}


def test_nightly_makes_the_packages():
    assert {"wheel", "deb"} <= {step.name for step in nightly.STEPS}


def test_make_help_lists_every_verb():
    verbs = set()
    for path in [ROOT / "Makefile", *(ROOT / "tools" / "make").glob("*.mk")]:
        verbs |= {verb for line in re.findall(r"^\.PHONY: (.*)$", path.read_text(), re.M) for verb in line.split()}
    listed = {line.split()[0] for line in subprocess.run(["make", "help"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()}
    assert verbs == listed


def test_flags_of_sources_in_a_batch(tmp_path):
    build = tmp_path / "build"
    unity = build / "CMakeFiles" / "a.dir" / "Unity" / "unity_1_cxx.cxx"
    unity.parent.mkdir(parents=True)
    unity.write_text(f'/* generated */\n#include "{tmp_path}/a.cc"\n#undef X\n#include "{tmp_path}/b.cc"\n')
    command = f"/usr/bin/c++ -DD=1 -I/x -isystem /y -O2 -Werror -std=c++20 -Winvalid-pch -include {build}/cmake_pch.hxx -o out.o -c {unity}"
    entries = [{"directory": str(build), "file": str(unity), "command": command},
               {"directory": str(build), "file": str(tmp_path / "c.cc"), "command": "/usr/bin/c++ -O2 -c c.cc"},
               {"directory": str(build), "file": str(build / "gen.cc"), "command": "/usr/bin/c++ -c gen.cc"}]
    (build / "compile_commands.json").write_text(json.dumps(entries))
    batch = ("-DD=1", "-I/x", "-isystem", "/y", "-std=c++20")
    assert compile_flags.by_source(build, tmp_path) == {"a.cc": batch, "b.cc": batch, "c.cc": ()}


class Analysis:
    """A small source tree, and analyze.py's answer about it."""

    def __init__(self, root, monkeypatch):
        self.root, self.build, self.monkeypatch = root, root / "build", monkeypatch
        for folder in ("build", "cmake", "millstream"):
            (root / folder).mkdir()
        shutil.copy(ROOT / ".clang-tidy", root)
        shutil.copy(ROOT / "cmake" / "batches.py", root / "cmake")
        monkeypatch.setattr(analyze, "ROOT", root)

    def add(self, name, text):
        (self.root / "millstream" / name).write_text(text)

    def run(self, *arguments):
        entries = [{"directory": str(self.build), "file": str(path), "command": f"c++ -std=c++20 -I{self.root} -c {path}"}
                   for path in sorted((self.root / "millstream").glob("*.cc"))]
        (self.build / "compile_commands.json").write_text(json.dumps(entries))
        self.monkeypatch.setattr(sys, "argv", ["analyze", "--build", str(self.build), *arguments])
        return analyze.main()


@pytest.fixture
def analysis(tmp_path, monkeypatch):
    assert shutil.which("clang-tidy") and shutil.which("clang++"), "clang-tidy is not installed: run `make lint-tools`"
    return Analysis(tmp_path, monkeypatch)


BROKEN = """// SPDX-License-Identifier: Apache-2.0
namespace broken {
class __attribute__((capability("mutex"))) Lock {};
class Counter {
 public:
  int Read() { return value_; }

 private:
  Lock lock_;
  int value_ __attribute__((guarded_by(lock_))) = 0;
};
int BadlyNamed() {
  int Value = Counter().Read();
  return Value;
}
}  // namespace broken
"""


@pytest.mark.parametrize("arguments, found", [([], ["thread-safety-analysis", "readability-identifier-naming"]), (["--thread-safety"], ["thread-safety-analysis"])])
def test_analysis_finds_unguarded_reads_and_names(analysis, capsys, arguments, found):
    analysis.add("good.cc", "int Fine() { return 1; }\n")
    analysis.add("broken.cc", BROKEN)
    assert analysis.run("--all", *arguments) == 1
    out = capsys.readouterr().out
    assert all(name in out for name in found)
    assert out.splitlines()[-1] == f"2 sources in 1 batches: {len(found)} findings"
    assert analysis.run("millstream/good.cc", *arguments) == 0


@pytest.mark.parametrize("arguments", [[], ["--thread-safety"]])
def test_names_that_meet_only_in_a_batch_are_no_findings(analysis, capsys, arguments):
    for name in ("one", "two"):
        analysis.add(f"{name}.h", f"namespace {name} {{\nstruct Options {{\n}};\n}}  // namespace {name}\n")
        # Not formatted, so that cmake/batches.py does not see the declaration.
        analysis.add(f"{name}.cc", f'#include "millstream/{name}.h"\nnamespace all {{\n using {name}::Options;\n}}  // namespace all\n')
    assert analysis.run("--all", *arguments) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "2 sources in 1 batches: 0 findings"
    analysis.add("two.cc", "int Missing() { return missing; }\n")
    assert analysis.run("--all", *arguments) == 1
    assert "undeclared identifier 'missing'" in capsys.readouterr().out


def test_sources_that_no_time_is_left_for_are_named(analysis, capsys):
    analysis.add("broken.cc", BROKEN)
    assert analysis.run("--all", "--seconds", "0") == 0
    out = capsys.readouterr().out.splitlines()
    assert out == ["analyze: 0 s were over; `make nightly` reads what is left: millstream/broken.cc", "0 sources in 1 batches: 0 findings"]
    assert analysis.run("--all", "--seconds", "600") == 1


def test_with_little_time_the_latest_changes_are_read_first(tmp_path, monkeypatch):
    monkeypatch.setattr(analyze, "ROOT", tmp_path)

    def unit(*names):
        return types.SimpleNamespace(sources=[types.SimpleNamespace(path=str(tmp_path / name)) for name in names])

    large, small = unit("d.cc", "b.cc", "c.cc"), unit("a.cc")
    assert analyze.latest_first([large, small], ["a.cc", "b.cc", "c.cc", "d.cc"]) == [small, large]
    assert analyze.latest_first([large, small], ["c.cc", "a.cc", "b.cc", "d.cc"]) == [large, small]


def test_ci_reads_changed_sources_for_a_bounded_time():
    tidy = next(step for step in check.BUILT if step.name == "tidy")
    assert tidy.command[:2] == ["tools/checks/analyze.py", "--seconds"] and float(tidy.command[2]) < 300
    assert "stage make check-built" in (ROOT / ".ci" / "run").read_text()


def test_ci_reads_every_source_that_locks_for_thread_safety():
    [threads] = [step for step in check.BUILT if step.name == "threads"]
    assert threads.command == ["tools/checks/analyze.py", "--thread-safety", "--guarded"]


def test_names_in_generated_headers_do_not_count(analysis):
    generated = analysis.build / "gen" / "millstream" / "ops.h"
    generated.parent.mkdir(parents=True)
    generated.write_text("inline int Add(int Value) { return Value; }\n")
    analysis.add("user.cc", f'#include "{generated}"\nint Fine() {{ return Add(1); }}\n')
    assert analysis.run("--all") == 0
    analysis.add("user.cc", "int Add(int Value) { return Value; }\n")
    assert analysis.run("--all") == 1


def test_a_changed_header_is_read_through_a_source(tmp_path, monkeypatch):
    monkeypatch.setattr(analyze, "ROOT", tmp_path)
    for name, text in (("a.cc", ""), ("a_test.cc", ""), ("b.cc", '#include "c.h"\n')):
        (tmp_path / name).write_text(text)
    sources = {"a.cc": (), "a_test.cc": (), "b.cc": ()}
    assert analyze.includer("a.h", sources) == "a.cc"
    assert analyze.includer("c.h", sources) == "b.cc"
    assert analyze.includer("d.h", sources) is None


def test_licence_lines(tmp_path):
    def problem(text):
        path = tmp_path / "a.cc"
        path.write_text(text)
        return licences.problem(path)
    assert problem("// SPDX-License-Identifier: Apache-2.0\n") is None
    assert "no SPDX" in problem("int x;\n")
    assert "a.notice" in problem("// SPDX-License-Identifier: BSD-3-Clause\n")
    (tmp_path / "a.notice").write_text("")
    assert problem("// SPDX-License-Identifier: BSD-3-Clause\n") is None
