// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/state/testing/op_runner.h"

#include "millstream/framework/cpu_device.h"

namespace millstream {

OpRunner::Env::Env(int threads) : pool(std::make_unique<ThreadPool>(threads)) {
  DeviceAttributes attributes;
  attributes.name = "/job:localhost/replica:0/task:0/device:CPU:0";
  attributes.type = "CPU";
  device = std::make_unique<CpuDevice>(attributes, pool.get());
}
OpRunner::Env::~Env() = default;

struct OpRunner::Call {
  StepContext step;
  std::vector<Entry> in, out;
  std::vector<Entry*> pointers;
  std::vector<Tensor> derefs;
  std::unique_ptr<KernelContext> ctx;

  std::vector<Edge> Outputs() {
    std::vector<Edge> edges;
    for (Entry& e : out) {
      Edge edge = e.ref ? Edge(e.ref) : Edge(e.tensor);
      edge.dead = e.dead;
      edges.push_back(std::move(edge));
    }
    return edges;
  }
};

OpRunner::OpRunner(Env& env, std::string op, std::vector<std::pair<std::string, AttrValue>> attrs,
                   std::string node_name)
    : env_(env), name_(node_name.empty() ? op : std::move(node_name)), entry_(OpRegistry::Global().Find(op)) {
  for (auto& [name, value] : attrs) attrs_.Set(name, value);
  made_ = [&]() -> Status {
    if (entry_ == nullptr) return errors::NotFound("no op ", op);
    RETURN_IF_ERROR(CompleteAttrs(entry_->def, &attrs_));
    RETURN_IF_ERROR(ArgTypes(entry_->def.inputs, attrs_, &input_types_));
    RETURN_IF_ERROR(ArgTypes(entry_->def.outputs, attrs_, &output_types_));
    ASSIGN_OR_RETURN(const KernelDef* def, FindKernel(*entry_, "CPU", attrs_, name_));
    KernelInit init(entry_->def, name_, attrs_, env_.device.get(), &env_.resources, env_.functions, input_types_,
                    output_types_);
    ASSIGN_OR_RETURN(kernel_, def->factory(init));
    return OkStatus();
  }();
}
OpRunner::~OpRunner() = default;

std::shared_ptr<OpRunner::Call> OpRunner::MakeCall(std::vector<Edge> inputs) {
  auto call = std::make_shared<Call>();
  call->step.step_id = 1;
  call->step.resources = &env_.resources;
  call->step.step_resources = &env_.step_resources;
  call->step.cancellation = &env_.cancellation;
  call->step.functions = env_.functions;
  call->step.pool = env_.pool.get();
  call->in = std::vector<Entry>(inputs.size());
  call->out = std::vector<Entry>(output_types_.size());
  call->derefs.resize(inputs.size());
  MS_CHECK(inputs.size() == input_types_.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    Entry& e = call->in[i];
    e.tensor = std::move(inputs[i].tensor);
    e.ref = std::move(inputs[i].ref);
    e.uses.store(1);
    if (e.ref && !IsRef(input_types_[i])) call->derefs[i] = e.ref->Snapshot();
    call->pointers.push_back(&e);
  }
  call->ctx = std::make_unique<KernelContext>(KernelContext::Frame{
      &call->step, env_.device.get(), &entry_->def, &name_, call->pointers.data(), call->derefs.data(),
      static_cast<int>(call->in.size()), call->out.data(), output_types_.data(), static_cast<int>(call->out.size())});
  return call;
}

StatusOr<std::vector<Edge>> OpRunner::Run(std::vector<Edge> inputs) {
  RETURN_IF_ERROR(made_);
  auto call = MakeCall(std::move(inputs));
  RETURN_IF_ERROR(kernel_->Compute(*call->ctx));
  return call->Outputs();
}

StatusOr<Tensor> OpRunner::Value(std::vector<Edge> inputs) {
  ASSIGN_OR_RETURN(std::vector<Edge> out, Run(std::move(inputs)));
  MS_CHECK(out.size() == 1);
  return out[0].ref ? out[0].ref->Snapshot() : out[0].tensor;
}

void OpRunner::Start(std::vector<Edge> inputs, std::function<void(StatusOr<std::vector<Edge>>)> done) {
  MS_CHECK(made_.ok());
  auto call = MakeCall(std::move(inputs));
  auto* kernel = dynamic_cast<AsyncKernel*>(kernel_.get());
  MS_CHECK(kernel != nullptr);
  kernel->ComputeAsync(*call->ctx, [call, done = std::move(done)](Status status) {
    if (status.ok())
      done(call->Outputs());
    else
      done(status);
  });
}

}  // namespace millstream
