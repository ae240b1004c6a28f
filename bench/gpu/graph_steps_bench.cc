// SPDX-License-Identifier: Apache-2.0
// Runs training steps of a graph that bench/gpu/graphs.py wrote, and prints one line of JSON: steps per second, and the
// losses of the first and the last step.
//   graph_steps_bench FOLDER/mlp STEPS [DEVICE]
// FOLDER/mlp.pb is the graph, FOLDER/mlp.txt says what to run:
//   init NODE | target NODE | loss TENSOR | feed TENSOR float 32x784 | feed TENSOR int64 32 10 (below 10)
//   slowness N (run STEPS / N steps) | virtual_gpus N MB (N devices on the first GPU, each with so much memory)
#include <chrono>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "millstream/proto/config.pb.h"
#include "millstream/proto/graph.pb.h"
#include "millstream/runtime/session.h"

namespace millstream {
namespace {

struct Job {
  proto::GraphDef graph;
  std::string init, target, loss;
  std::vector<std::string> names;
  std::vector<Tensor> feeds;
  int64_t slowness = 1;
  std::vector<int64_t> virtual_gpus;  // memory of each, in MB
};

Shape ParseShape(const std::string& text) {
  std::vector<int64_t> dims;
  for (const absl::string_view dim : absl::StrSplit(text, 'x', absl::SkipEmpty())) {
    int64_t value = 0;
    MS_CHECK(absl::SimpleAtoi(dim, &value));
    dims.push_back(value);
  }
  return Shape(dims);
}

Tensor RandomFeed(const std::string& type, const Shape& shape, int64_t below) {
  static std::mt19937 engine(1);
  Tensor t(DTypeFromName(type), shape);
  if (type == "float") {
    std::normal_distribution<float> normal;
    for (float& v : t.flat<float>()) v = normal(engine);
  } else {
    for (int64_t& v : t.flat<int64_t>()) v = static_cast<int64_t>(engine()) % below;
  }
  return t;
}

Job ReadJob(const std::string& path) {
  Job job;
  std::ifstream graph(path + ".pb", std::ios::binary);
  MS_CHECK(job.graph.ParseFromIstream(&graph));
  std::ifstream lines(path + ".txt");
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string what, name, type, shape;
    int64_t below = 2;
    words >> what >> name >> type >> shape >> below;
    if (what == "init") job.init = name;
    if (what == "target") job.target = name;
    if (what == "loss") job.loss = name;
    if (what == "slowness") MS_CHECK(absl::SimpleAtoi(name, &job.slowness) && job.slowness > 0);
    if (what == "virtual_gpus") {
      int64_t count = 0, megabytes = 0;
      MS_CHECK(absl::SimpleAtoi(name, &count) && absl::SimpleAtoi(type, &megabytes));
      job.virtual_gpus.assign(static_cast<size_t>(count), megabytes);
    }
    if (what == "feed") {
      job.names.push_back(name);
      job.feeds.push_back(RandomFeed(type, ParseShape(shape), below));
    }
  }
  return job;
}

void Place(const std::string& device, proto::GraphDef* graph) {
  for (auto& node : *graph->mutable_node()) {
    if (node.device().empty()) node.set_device(device);
  }
}

double Seconds(const std::function<void()>& fn) {
  const auto start = std::chrono::steady_clock::now();
  fn();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Status Measure(const std::string& path, int64_t steps, const std::string& device) {
  Job job = ReadJob(path);
  if (!device.empty()) Place(device, &job.graph);
  steps = std::max<int64_t>(2, steps / job.slowness);
  proto::ConfigProto config;
  config.set_allow_soft_placement(true);
  auto& gpus = *config.mutable_gpu_options()->mutable_experimental();
  auto* limits = job.virtual_gpus.empty() ? nullptr : gpus.add_virtual_devices();
  for (const int64_t megabytes : job.virtual_gpus) limits->add_memory_limit_mb(static_cast<float>(megabytes));
  ASSIGN_OR_RETURN(const SessionOptions options, SessionOptions::FromProto(config));
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, NewSession(options));
  RETURN_IF_ERROR(session->Create(job.graph));
  RETURN_IF_ERROR(session->Run({}, {}, {job.init}, nullptr));
  ASSIGN_OR_RETURN(const auto both, session->MakeCallable(job.names, {job.loss}, {job.target}));
  ASSIGN_OR_RETURN(const auto train, session->MakeCallable(job.names, {}, {job.target}));
  std::vector<Tensor> out, none;
  RETURN_IF_ERROR(session->RunCallable(both, job.feeds, &out));
  const float first = out[0].scalar<float>();
  Status status;
  const auto run = [&](Session::CallableHandle callable, int64_t count, std::vector<Tensor>* outputs) {
    for (int64_t i = 0; i < count && status.ok(); ++i) status = session->RunCallable(callable, job.feeds, outputs);
  };
  run(both, 20, &out);
  run(train, 20, &none);
  // A step that is not fetched from is not awaited: the last one is, with those before it.
  const double fetched = Seconds([&] { run(both, steps, &out); });
  const double plain = Seconds([&] {
    run(train, steps - 1, &none);
    run(both, 1, &out);
  });
  RETURN_IF_ERROR(status);
  std::cout << "{\"graph\": \"" << path.substr(path.rfind('/') + 1)
            << "\", \"steps_per_s\": " << static_cast<double>(steps) / plain
            << ", \"fetched_steps_per_s\": " << static_cast<double>(steps) / fetched << ", \"first_loss\": " << first
            << ", \"last_loss\": " << out[0].scalar<float>() << "}" << std::endl;
  return OkStatus();
}

}  // namespace
}  // namespace millstream

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: graph_steps_bench FOLDER/NAME STEPS [DEVICE]\n";
    return 2;
  }
  int64_t steps = 0;
  if (!absl::SimpleAtoi(argv[2], &steps) || steps < 1) return 2;
  const millstream::Status status = millstream::Measure(argv[1], steps, argc > 3 ? argv[3] : "");
  if (!status.ok()) std::cerr << status << std::endl;
  return status.ok() ? 0 : 1;
}
