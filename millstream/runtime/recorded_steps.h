// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_RECORDED_STEPS_H_
#define MILLSTREAM_RUNTIME_RECORDED_STEPS_H_

#include <list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/runtime/recorded_roles.h"

namespace millstream {

// Runs the steps of a plan whose device part can be recorded: the first step with given shapes is issued kernel by
// kernel, the second is recorded, and later ones are one launch, with copies in front and behind. Other shapes get
// other recordings, of which a few are kept. A step that finds the recording in use, or a variable of it held by a
// reader, is issued kernel by kernel. Belongs to a plan. Thread-safe.
class RecordedSteps {
 public:
  explicit RecordedSteps(internal::NodeRoles roles) : roles_(std::move(roles)) {}

  Status Run(const Plan& plan, const StepContext& step, std::span<const Tensor> args, std::vector<Tensor>* rets);

 private:
  struct KnownVariable {
    Ref<Variable> variable;
    const void* address;
    Shape shape;
  };
  struct KeptValue {
    int32_t slot;
    Tensor tensor;
    Ref<Variable> ref;
  };
  struct Instance {
    std::string key;
    bool seen = false;  // a step with this key was issued
    std::unique_ptr<Recording> recording;
    std::vector<KnownVariable> variables;              // by address of the object, each once
    std::vector<std::pair<int32_t, Tensor>> uploaded;  // node, where its value goes
    std::vector<KeptValue> kept;
  };
  // One step.
  struct Running {
    const Plan& plan;
    const StepContext& step;
    Entry* slots;
    bool left_values = false;  // slots were not emptied by their readers
    Mutex* held = nullptr;     // as long as results of a recording are read

    Entry* At(int32_t slot) const { return slot >= 0 ? slots + slot : const_cast<Entry*>(&plan.constants[-1 - slot]); }
    Entry* Input(const PlanNode& node, int i) const { return At(plan.inputs[node.inputs + i]); }
  };
  enum class Launched { kYes, kInUse, kMoved };  // kMoved: variables are at other addresses than recorded

  Status RunFront(Running* run);
  Status RunNodes(Running* run, std::span<const int32_t> nodes, Instance* recorded);
  Status RunNode(Running* run, int32_t index);
  Status Download(Running* run, int32_t index);
  std::string KeyOf(const Running& run) const;
  Instance* FindOrAdd(std::string key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  StatusOr<Launched> Launch(Running* run, Instance* instance) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Launched LockVariables(const Instance& instance, size_t* locked) const;
  Status UploadAndLaunch(Running* run, Instance* instance) const;
  // False if this step cannot be recorded: then it is as if it had not been tried.
  bool Record(Running* run, Instance* instance) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Status RunMiddle(Running* run, Instance* instance);
  Status RecordMiddle(Running* run, Instance* instance, std::vector<Tensor>* values);
  Status KeepValues(Running* run, Instance* instance) const;
  Status CopyBack(const Instance& instance, std::vector<Tensor>* values) const;
  static void FindVariables(const Running& run, const std::vector<int32_t>& slots, Instance* instance);

  const internal::NodeRoles roles_;
  Mutex mu_;
  std::list<Instance> instances_ ABSL_GUARDED_BY(mu_);  // those used last come first
  bool disabled_ ABSL_GUARDED_BY(mu_) = false;          // recording failed once
};

}  // namespace millstream

#endif  // MILLSTREAM_RUNTIME_RECORDED_STEPS_H_
