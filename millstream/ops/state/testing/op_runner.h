// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_STATE_TESTING_OP_RUNNER_H_
#define MILLSTREAM_OPS_STATE_TESTING_OP_RUNNER_H_

#include <memory>
#include <string>
#include <vector>

#include "millstream/framework/op.h"

namespace millstream {

// A value or a reference, as an edge carries it.
struct Edge {
  Edge(Tensor t) : tensor(std::move(t)) {}      // NOLINT(google-explicit-constructor)
  Edge(Ref<Variable> r) : ref(std::move(r)) {}  // NOLINT(google-explicit-constructor)
  Tensor tensor;
  Ref<Variable> ref;
  bool dead = false;
};

// One kernel with the resources around it: for tests of stateful ops, whose
// kernels run more than once and take references. Several threads may Run() at
// the same time.
class OpRunner {
 public:
  // What kernels of one test share.
  struct Env {
    explicit Env(int threads = 1);
    ~Env();
    std::unique_ptr<ThreadPool> pool;
    std::unique_ptr<Device> device;
    ResourceManager resources;
    ResourceManager step_resources;
    Cancellation cancellation;
    FunctionRunner* functions = nullptr;
  };

  // REQUIRES: the op is registered and the kernel can be made; see status() for
  // expected errors.
  OpRunner(Env& env, std::string op, std::vector<std::pair<std::string, AttrValue>> attrs = {},
           std::string node_name = "");
  ~OpRunner();
  const Status& status() const { return made_; }

  StatusOr<std::vector<Edge>> Run(std::vector<Edge> inputs);
  // The same for ops with one output.
  StatusOr<Tensor> Value(std::vector<Edge> inputs);
  // Starts and returns at once; REQUIRES: an asynchronous kernel. `done` gets
  // the outputs.
  void Start(std::vector<Edge> inputs, std::function<void(StatusOr<std::vector<Edge>>)> done);

 private:
  struct Call;
  std::shared_ptr<Call> MakeCall(std::vector<Edge> inputs);

  Env& env_;
  std::string name_;
  AttrMap attrs_;
  const OpEntry* entry_ = nullptr;
  std::vector<DType> input_types_, output_types_;
  std::unique_ptr<Kernel> kernel_;
  Status made_;
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_STATE_TESTING_OP_RUNNER_H_
