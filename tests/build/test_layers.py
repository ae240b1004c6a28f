# SPDX-License-Identifier: Apache-2.0
"""tools/check_layers.py and tools/check_op_names.py, on small trees that break one rule each."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import check_layers  # noqa: E402
import check_op_names  # noqa: E402


class Tree:
    """A source tree, and what the checks say about it."""

    def __init__(self, root, capsys):
        self.root, self.capsys = root, capsys
        subprocess.run(["git", "init", "--quiet", root], check=True)

    def add(self, name, text=""):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def problems(self):
        status = check_layers.main()
        *problems, summary = self.capsys.readouterr().out.splitlines()
        assert summary.endswith(f" {len(problems)} problems")
        assert status == (1 if problems else 0)
        return problems


@pytest.fixture
def tree(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(check_layers, "ROOT", tmp_path)
    monkeypatch.setattr(check_op_names, "ROOT", tmp_path)
    return Tree(tmp_path, capsys)


def include(*headers):
    return "".join(f'#include "{header}"\n' for header in headers)


def test_a_good_tree(tree):
    tree.add("millstream/base/a.h")
    tree.add("millstream/base/a_test.cc", include("millstream/runtime/session.h"))  # tests may include everything
    tree.add("millstream/graph/g.h", include("millstream/base/a.h", "millstream/framework/op.h"))
    tree.add("millstream/ops/math/add.cc", 'OP("Add").Cpu(AddCpu);\n')
    tree.add("tests/goldens/math/add.gz")
    tree.add("millstream/base/thread_policy.cc", "sched_yield();\n")
    tree.add("cli/main.cc", include("cli/base/command.h", "millstream/graph/g.h"))
    assert tree.problems() == []


@pytest.mark.parametrize("name, text, problem", [
    ("millstream/base/a.cc", include("millstream/graph/graph.h"), "base may include nothing of ours"),
    ("millstream/graph/a.cc", include("millstream/runtime/session.h"), "graph may include base, framework, proto, tensor"),
    ("millstream/train/a.cc", include("millstream/runtime/executor.h"), "train may include"),
    ("millstream/strange/a.cc", "", "folder strange is not in the table"),
    ("millstream/distributed/a.cc", include("nghttp2/nghttp2.h"), "only millstream/distributed/grpc/ includes nghttp2"),
    ("millstream/framework/a.h", include("millstream/proto/types.pb.h"), "framework headers are free of generated messages"),
    ("millstream/graph/a.cc", include("millstream/graph/testing/ops.h"), "does not include test helpers"),
    ("millstream/graph/a.cc", include("millstream/millstream.h"), "the umbrella header is for users"),
    ("millstream/ops/io/a.cc", "const int fd = open(name, 0);\n", "gives names of files to the operating system by itself"),
    ("millstream/io/a.cc", "std::ifstream in(name);\n", "gives names of files to the operating system by itself"),
    ("millstream/ops/io/a.cc", "ReadFile(name);\n", "opens files without ConfinedPath"),
    ("millstream/collective/a.cc", "while (!done) CpuPause();\n", "spins by itself"),
    ("millstream/distributed/grpc/a.cc", "  std::this_thread::yield();\n", "spins by itself"),
    ("python/tests/a_test.cc", "", "CMake builds no tests from this folder"),
    ("tests/goldens/math/gone.gz", "", "there is no millstream/ops/math/gone.cc"),
])
def test_one_bad_file(tree, name, text, problem):
    tree.add(name, text)
    found = tree.problems()
    assert len(found) == 1 and problem in found[0] and found[0].startswith(name)


def test_headers_beyond_the_table(tree):
    tree.add("millstream/train/a.cc", include("millstream/runtime/session.h"))
    tree.add("millstream/ops/io/a.cc", "ReadFile(ConfinedPath(name));\n")
    assert tree.problems() == []


@pytest.mark.parametrize("one, two", [("millstream/graph/passes", "millstream/graph"), ("python/src/a", "python/src/b"), ("cli/train", "cli")])
def test_folders_that_include_each_other(tree, one, two):
    tree.add(f"{one}/a.h", include(f"{two}/b.h"))
    assert tree.problems() == []
    tree.add(f"{two}/b_test.cc" if two.startswith(("millstream", "cli")) else f"{two}/testing/b.cc", include(f"{one}/a.h"))  # tests do not count
    assert tree.problems() == []
    tree.add(f"{two}/c.cc", include(f"{one}/a.h"))
    assert all("include cycle" in problem for problem in tree.problems()) and len(tree.problems()) == 2


def test_a_longer_cycle(tree):
    for folder, other in (("a", "b"), ("b", "c"), ("c", "a")):
        tree.add(f"python/src/{folder}/x.h", include(f"python/src/{other}/x.h"))
    problems = tree.problems()
    assert len(problems) == 3
    assert problems[0] == ("python/src/a: include cycle between folders: python/src/a/x.h includes python/src/b/x.h; "
                           "python/src/b/x.h includes python/src/c/x.h; python/src/c/x.h includes python/src/a/x.h")


@pytest.mark.parametrize("line, place", [
    ("  KernelCache kernels_;", "millstream/runtime/sessions/session_runtime.h"),
    ("  auto kernels = std::make_unique<KernelCache>(resources, functions);", "millstream/runtime/sessions/session_runtime.cc"),
    ("  CompileOptions options;", "millstream/runtime/sessions/session_runtime.cc"),
    ("class Router final : public FrameHandler {", "millstream/distributed/wire/frame_router.h"),
    ("class Task final : public ClusterTask, public FrameHandler {", "millstream/distributed/wire/frame_router.h"),
])
def test_what_has_one_place(tree, line, place):
    tree.add(place, line + "\n")
    assert tree.problems() == []
    tree.add("millstream/distributed/master/session.cc", line + "\n")
    [problem] = tree.problems()
    assert problem.startswith("millstream/distributed/master/session.cc:1: ") and place.rsplit(".", 1)[0] in problem


def test_crowded_folders(tree):
    for i in range(check_layers.MAX_FILES):
        tree.add(f"docs/{i}.md")
        tree.add(f"python/tests/goldens/{i}.json")
    assert tree.problems() == []
    tree.add("docs/one_more.md")
    tree.add("python/tests/goldens/one_more.json")
    assert tree.problems() == ["docs: 61 files in one folder (at most 60); divide it by purpose"]


SHARED = [
    "static int count = 0;",
    "  static std::map<int, int> known;",
    "static Registry* registry = new Registry;",
    "  static auto* const registry = new Registry;",
    "static const auto* table = new Table;",
    "Registry& Global() { static auto* registry = new Registry;",
    "Registry& Global() const { static Registry registry;",
    "std::atomic<int> running{0};",
    "constinit std::atomic<bool> busy{false};",
    "inline std::vector<int> all;",
    "bool verbose = false;",
]
OWN = [
    "static const int kCount = 3;",
    "static constexpr int kCount = 3;",
    "static const auto* const table = new Table(Make());",
    "static thread_local int depth = 0;",
    "static Status Make(int n);",
    "  static Registry& Global() {",
    "static int Twice(int n) { return 2 * n; }",
    "  std::atomic<int> running_{0};",
    "constinit thread_local int depth = 0;",
    "bool IsOpen() { return open_ = true; }",
]


@pytest.mark.parametrize("line", SHARED)
@pytest.mark.parametrize("folder", ["millstream/base", "millstream/collective", "millstream/distributed/link", "millstream/launch",
                                    "millstream/runtime", "millstream/status", "python/src"])
def test_state_of_the_process(tree, folder, line):
    tree.add(f"{folder}/a.cc", f"\n{line}\n")
    found = tree.problems()
    assert len(found) == 1 and found[0].startswith(f"{folder}/a.cc:2: state of the whole process")


@pytest.mark.parametrize("line", OWN)
def test_what_is_no_state_of_the_process(tree, line):
    tree.add("millstream/runtime/a.cc", f"{line}\n")
    assert tree.problems() == []


def test_state_where_it_may_be(tree):
    for name in check_layers.MAY_SHARE_STATE:
        tree.add(name, f"{SHARED[0]}\n")
    tree.add("millstream/ops/math/a.cc", f"{SHARED[0]}\n")  # registries of ops
    tree.add("millstream/runtime/a_test.cc", f"{SHARED[0]}\n")
    assert tree.problems() == []


def test_exceptions_are_of_files_that_exist():
    for table in (check_layers.MAY_SHARE_STATE, check_layers.MAY_NAME_FILES, check_layers.MAY_SPIN, check_op_names.MAY_NAME_OPS):
        for name in table:
            assert (ROOT / name).exists(), name


OPS = 'OP("Add").Cpu(A);\nOP("Assign").Cpu(B);\nOP("Switch").Cpu(C);\n'
ASKS = [
    'if (node.Is("Add")) return;',
    'if (node.type() == "Add") return;',
    'const bool assigns = op.def.name == "Assign" || op.def.name == "Switch";',
    'static const std::set<std::string> kNames = {"Add"};',
    '    {"Add", Role::kVariable},',
    '    "Add",',
    'if (absl::StartsWith(node.type(), "Resource")) return;',
]
MAKES = [
    'Node* sum = scope.Op("Add", {x, y});',
    'Node* sum = scope.Op(\n    "Add", {x, y});',
    'const OpEntry* op = registry.Find("Add");',
    'spec.set_op("Add");',
    'scope.Add(negative ? "Add" : "Assign");',
    '// Add is "Add".',
    'Log("Adder");',
    'CUDA_HOST_KERNEL("Add").For(Types<int32_t>{});',
    'POINTWISE_BINARY("Add", AddFn, FloatTypes);',
    'RegisterBinary<true>("Add", Types<int32_t>{});',
    'KernelBuilder builder("Add");',
]


@pytest.mark.parametrize("line", ASKS)
@pytest.mark.parametrize("folder", ["runtime", "graph", "distributed", "framework", "devices/cuda", "status"])
def test_names_of_ops(tree, folder, line):
    tree.add("millstream/ops/math/ops.cc", OPS)
    tree.add(f"millstream/{folder}/a.cc", f"{line}\n")
    found = tree.problems()
    assert len(found) == 1 and found[0].startswith(f"millstream/{folder}/a.cc:1: asks for the name of an op")


@pytest.mark.parametrize("line, count", [('    "Add",', 0), ('ops = {"Assign", {}};', 0), ('if (node->Is("Add")) {', 1), ('x = n.type() == "Add";', 1)])
def test_libraries_that_make_nodes(tree, line, count):
    tree.add("millstream/ops/math/ops.cc", OPS)
    tree.add("millstream/train/a.cc", f"{line}\n")
    assert len(tree.problems()) == count


@pytest.mark.parametrize("code", MAKES)
def test_names_of_ops_that_are_made(tree, code):
    tree.add("millstream/ops/math/ops.cc", OPS)
    tree.add("millstream/graph/a.cc", f"{code}\n")
    assert tree.problems() == []


def test_a_list_with_one_name_a_line(tree):
    tree.add("millstream/ops/math/ops.cc", OPS)
    tree.add("millstream/graph/a.cc", 'const char* const kNames[] = {\n    "Add",\n    "Assign",\n    "Switch",\n};\n')
    assert [problem.split(": ")[0] for problem in tree.problems()] == [f"millstream/graph/a.cc:{line}" for line in (2, 3, 4)]


@pytest.mark.parametrize("text, problem", [
    ("#define UNARY .Input(\"x: T\").Output(\"y: T\")\n", "the macro UNARY is a part of an op definition"),
    ("#define UNARY(T) \\\n  .Input(T)\n", "the macro UNARY is a part of an op definition"),
    ("  UNARY_OP(Neg, .Gradient(NegGrad))\n", "a macro takes a part of an op definition"),
])
def test_macros_in_definitions_of_ops(tree, text, problem):
    tree.add("millstream/ops/math/a.cc", text)
    found = tree.problems()
    assert len(found) == 1 and problem in found[0]
