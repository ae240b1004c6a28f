# SPDX-License-Identifier: Apache-2.0
"""Which sources cmake/batches.py compiles together."""

import collections
import pathlib
import re
import subprocess
import sys

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "cmake" / "batches.py"


def source(private="", public="", before=""):
    return f"{before}\nnamespace millstream {{\nnamespace {{\n\n{private}\n\n}}  // namespace\n\n{public}\n\n}}  // namespace millstream\n"


class Tree:
    """Sources in a folder, and what the script says of them."""

    def __init__(self, root, limit=10000):
        self.root, self.limit, self.sources = root, limit, []

    def add(self, name, text):
        (self.root / name).write_text(text)
        if name.endswith(".cc") and name not in self.sources:
            self.sources.append(name)

    def run(self):
        (self.root / "sources").write_text("".join(f"{self.root / name}\n" for name in self.sources))
        command = [sys.executable, SCRIPT, self.root, self.root / "sources", self.root / "memory", str(self.limit)]
        return [line.split(" ") for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()]

    def batches(self):
        """The names of the sources of each batch, in order; a source alone is in none."""
        batches = collections.defaultdict(list)
        for kind, *rest in self.run():
            if kind == "batch":
                batches[rest[0]].append(pathlib.Path(rest[1]).name)
        return list(batches.values())


def together(tmp_path, *texts):
    """Whether all of these sources are compiled together."""
    tree = Tree(tmp_path)
    for number, text in enumerate(texts):
        tree.add(f"{number}.cc", text)
    return tree.batches() == [tree.sources]


def test_different_names_meet_in_one_batch(tmp_path):
    assert together(tmp_path, source("int F() { return 1; }"), source("int G() { return 1; }"), source(public="int H() { return 1; }"))


def test_a_private_name_is_in_a_batch_once(tmp_path):
    for number, declaration in enumerate([
        "int F() { return 1; }",
        "template <typename T>\nStatusOr<std::vector<T>> F(const std::map<int, T>& map,\n                           int more) {\n}",
        "class F : public Kernel {\n public:\n  int other;\n};",
        "struct alignas(64) F {\n};",
        "enum class F { kOne };",
        "constexpr int F = 1;",
        "const int F[] = {1};",
        "[[gnu::noinline]] void F() {}",
        '__attribute__((target("sse4.2"))) uint32_t F(uint32_t crc) {\n}',
        "std::atomic<int64_t> F{0};",
        "using F = std::vector<int>;",
    ]):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert not together(folder, source(declaration), source("bool F(int x) { return x > 1; }")), declaration


def test_every_declarator_of_a_statement_is_a_name(tmp_path):
    for number, declaration in enumerate([
        "constexpr int64_t kFirst = 1, F = 2;",
        "constexpr size_t kFirst = 1 << 20, F = Larger(1, 2), kLast{3};",
        "const char kFirst[] = {1, 2}, F[] = {3};",
        "std::atomic<int> first, F;",
    ]):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert not together(folder, source(declaration), source("bool F(int x) { return x > 1; }")), declaration


def test_arguments_and_parameters_are_no_declarators(tmp_path):
    assert together(tmp_path, source("constexpr int kA = Larger(1, F);"), source("std::map<int, F> G(int x, int F);"), source("int F() { return 1; }"))


def test_static_names_are_private(tmp_path):
    assert not together(tmp_path, source(public="static int F() { return 1; }"), source("int F() { return 1; }"))


def test_aliases_that_say_the_same_may_meet(tmp_path):
    assert together(tmp_path, source("using Json = nlohmann::json;"), source("using Json = nlohmann::json;"))


def test_a_name_is_imported_from_one_namespace_in_a_batch(tmp_path):
    for number, (other, meet) in enumerate([
        ("using losses::Options;", True),
        ("using ::losses::Options;", True),
        ("using metrics::Options;", False),
        ("struct Options {\n};", False),
    ]):
        for order in (1, -1):
            folder = tmp_path / f"{number}{order}"
            folder.mkdir()
            assert together(folder, *[source("using losses::Options;"), source(other)][::order]) == meet, other


def test_tests_of_one_name_do_not_meet(tmp_path):
    assert not together(tmp_path, source("TEST(Queue, Closes) {\n}"), source("TEST(Queue, Closes) {\n}"))


def test_tests_of_one_suite_may_meet(tmp_path):
    assert together(tmp_path, source("TEST(Queue, Closes) {\n}"), source("TEST(Queue, Opens) {\n}"))


def test_members_and_nested_names_are_no_declarations(tmp_path):
    assert together(tmp_path, source("class A {\n  void F();\n};\nvoid A::F() {\n  int x;\n}"), source("class B {\n  void F();\n};\nvoid B::F() {\n  int x;\n}"))


def test_a_private_name_keeps_away_from_headers_that_declare_it(tmp_path):
    tree = Tree(tmp_path)
    tree.add("inner.h", "namespace millstream {\nint F();\n}  // namespace millstream\n")
    tree.add("outer.h", '#include "inner.h"\n')
    tree.add("a.cc", source(before='#include "outer.h"'))
    tree.add("b.cc", source("double F() { return 1; }"))
    tree.add("c.cc", source("double G() { return 1; }"))
    assert tree.batches() == [["a.cc", "c.cc"]]


def test_headers_that_give_a_name_two_meanings_do_not_meet(tmp_path):
    tree = Tree(tmp_path)
    tree.add("type.h", "namespace millstream {\nclass Input {\n};\n}  // namespace millstream\n")
    tree.add("function.h", "namespace millstream {\ntemplate <typename T>\nStatusOr<T> Input(int i) {\n}\n}  // namespace millstream\n")
    tree.add("a.cc", source(before='#include "type.h"'))
    tree.add("b.cc", source(before='#include "function.h"'))
    tree.add("c.cc", source(before='#include "type.h"'))
    assert tree.batches() == [["a.cc", "c.cc"]]


def test_what_would_hold_for_later_sources_too_is_compiled_alone(tmp_path):
    tree = Tree(tmp_path)
    tree.add("a.cc", source("int A();"))
    tree.add("b.cc", source("using namespace std::chrono_literals;"))
    tree.add("c.cc", source(before='#pragma GCC optimize("O1")'))
    tree.add("d.cc", source(before='#define NDEBUG\n#include "x.h"'))
    tree.add("e.cc", source("int E();"))
    assert tree.batches() == [["a.cc", "e.cc"]]


def test_macros_that_stay_are_told(tmp_path):
    tree = Tree(tmp_path)
    tree.add("a.cc", source("#define LEFT(x) \\\n  x\n#define GONE 1\n#undef GONE"))
    assert [line for line in tree.run() if line[0] == "macro"] == [["macro", "LEFT"]]


def test_batches_are_of_about_the_size_that_was_asked_for(tmp_path):
    tree = Tree(tmp_path, limit=2500)
    for number in range(4):
        tree.add(f"{number}.cc", source(f"int F{number}();" + "\n" * 1000))
    assert tree.batches() == [["0.cc", "1.cc"], ["2.cc", "3.cc"]]


def test_sources_stay_where_they_were(tmp_path):
    tree = Tree(tmp_path, limit=2500)
    for number in range(4):
        tree.add(f"{number}.cc", source(f"int F{number}();" + "\n" * 1000))
    before = tree.batches()
    tree.add("1.cc", source("int F1();" + "\n" * 1500))  # a bit more than asked for
    tree.sources.insert(0, "new.cc")
    tree.add("new.cc", source("int New();" + "\n" * 2000))
    assert tree.batches() == before


def test_a_source_whose_new_name_is_taken_moves(tmp_path):
    tree = Tree(tmp_path)
    for name in "abc":
        tree.add(f"{name}.cc", source(f"int F{name}();"))
    assert tree.batches() == [["a.cc", "b.cc", "c.cc"]]
    tree.add("b.cc", source("double Fa();"))
    assert tree.batches() == [["a.cc", "c.cc"]]


def test_googletest_is_named_in_full():
    """`testing::` alone means millstream::testing wherever another source of the batch declares that."""
    root = SCRIPT.parents[1]
    declared = re.compile(r"namespace millstream::testing \{(.*)^\}  // namespace millstream::testing", re.M | re.S)
    ours = "".join(text for path in root.glob("millstream/**/*.h") for text in declared.findall(path.read_text()))
    for path in root.glob("millstream/**/*_test.cc"):
        for name in re.findall(r"(?<![:\w])testing::(\w+)", path.read_text()):
            assert re.search(rf"\b{name}\b", ours), f"{path}: say ::testing::{name}"
