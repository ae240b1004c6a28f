// SPDX-License-Identifier: Apache-2.0
// Writes the graph of each program as <folder>/<topic>.<name>.pb: test_twins.py compares them with those that Python
// builds.
#include <cstdio>
#include <fstream>

#include "millstream/graph/import/export.h"
#include "millstream/proto/graph.pb.h"
#include "tests/twins/program.h"

namespace millstream::twins {
namespace {

struct Topic {
  const char* name;
  Programs (*programs)();
};
constexpr Topic kTopics[] = {
    {"allreduce", AllReducePrograms},
    {"batch_normalization", BatchNormalizationPrograms},
    {"embeddings", EmbeddingPrograms},
    {"input", InputPrograms},
    {"layers", LayerPrograms},
    {"optimizers", OptimizerPrograms},
    {"losses", LossPrograms},
    {"metrics", MetricPrograms},
    {"rates", RatePrograms},
    {"sessions", SessionPrograms},
    {"rnn", RnnPrograms},
    {"train_modes", TrainModePrograms},
};

Status Write(const Program& program, const std::string& path) {
  const Scope root = Scope::Root();
  program.build(root);
  RETURN_IF_ERROR(root.status());
  proto::GraphDef def;
  RETURN_IF_ERROR(ExportGraph(*root.graph(), &def));
  std::ofstream file(path, std::ios::binary);
  if (!def.SerializeToOstream(&file) || !file.flush()) return errors::Unavailable("Cannot write ", path);
  return OkStatus();
}

// Goes on after a program that fails, so that one run tells all of them.
int WriteAll(const std::string& folder) {
  int failed = 0;
  for (const Topic& topic : kTopics) {
    for (const Program& program : topic.programs()) {
      const std::string name = absl::StrCat(topic.name, ".", program.name);
      if (const Status s = Write(program, absl::StrCat(folder, "/", name, ".pb")); !s.ok()) {
        std::fprintf(stderr, "%s: %s\n", name.c_str(), s.ToString().c_str());
        ++failed;
      }
    }
  }
  return failed;
}

}  // namespace
}  // namespace millstream::twins

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: twin_graphs FOLDER\n");
    return 2;
  }
  return millstream::twins::WriteAll(argv[1]) == 0 ? 0 : 1;
}
