// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "absl/strings/str_join.h"
#include "cli/train/models/model.h"
#include "cli/train/modes/mode.h"
#include "cli/train/options.h"

namespace millstream::cli {
namespace {

// Only a whole job on this machine uses them.
constexpr std::array kJobFlags = {"ps", "workers", "max_restarts"};
// Only a single task of a cluster uses them.
constexpr std::array kTaskFlags = {"task_index",      "cluster",  "ps_hosts", "worker_hosts", "chief_hosts",
                                   "evaluator_hosts", "tls_cert", "tls_key",  "tls_ca",       "job_id"};

bool Declares(const std::vector<OwnFlag>& flags, const std::string& name) {
  return std::any_of(flags.begin(), flags.end(), [&](const OwnFlag& flag) { return flag.name == name; });
}

// "--model lenet, --model mlp".
template <typename T>
void AppendOwners(const std::string& flag, std::vector<std::string>* owners) {
  for (const T* one : Registry<T>::All()) {
    if (Declares(one->flags, flag)) owners->push_back(absl::StrCat("--", T::kKind, " ", one->name));
  }
}

}  // namespace

Status CheckFlagsAreUsed(const TrainOptions& options, bool is_task) {
  ASSIGN_OR_RETURN(const Model* const model, Registry<Model>::Find(options.model));
  ASSIGN_OR_RETURN(const Mode* const mode, Registry<Mode>::Find(options.mode));
  for (const auto& [flag, text] : options.own) {
    if (Declares(model->flags, flag) || Declares(mode->flags, flag)) continue;
    std::vector<std::string> owners;
    AppendOwners<Model>(flag, &owners);
    AppendOwners<Mode>(flag, &owners);
    return errors::InvalidArgument("--", flag, " is not used by --model ", model->name, " --mode ", mode->name,
                                   "; it is for ", absl::StrJoin(owners, ", "));
  }
  for (const char* flag : kJobFlags) {
    if (is_task && options.given.count(flag) > 0)
      return errors::InvalidArgument("--", flag, " is not used by a single task (--job_name, TF_CONFIG)");
  }
  for (const char* flag : kTaskFlags) {
    if (!is_task && options.given.count(flag) > 0)
      return errors::InvalidArgument("--", flag, " is for one task of a cluster; say which one with --job_name");
  }
  if (options.no_logdir && options.given.count("save_checkpoint_secs") > 0)
    return errors::InvalidArgument("--save_checkpoint_secs is not used: --logdir '' writes no checkpoints");
  return OkStatus();
}

}  // namespace millstream::cli
