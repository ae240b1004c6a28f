// SPDX-License-Identifier: Apache-2.0
#include "cli/train/modes/mode.h"
#include "cli/train/settings/optimizers.h"
#include "millstream/train/collectives/distributed_optimizer.h"

namespace millstream::cli {
namespace {

constexpr char kCompression[] = "compression", kRatio[] = "topk_ratio";

GradientCompression CompressionOf(const OwnFlagValues& flags) {
  using Kind = GradientCompression::Kind;
  const std::string& name = flags.Choice(kCompression);
  GradientCompression compression;
  compression.kind = name == "fp16"   ? Kind::kHalf
                     : name == "bf16" ? Kind::kBfloat16
                     : name == "topk" ? Kind::kTopK
                                      : Kind::kNone;
  compression.ratio = flags.Number(kRatio);
  return compression;
}

Status CheckAllReduce(const OwnFlagValues& flags, int /*num_workers*/) {
  const double ratio = flags.Number(kRatio);
  if (ratio > 0 && ratio <= 1) return OkStatus();
  return errors::InvalidArgument("--", kRatio, " ", ratio, ": it takes a number above 0 and at most 1");
}

StatusOr<ModeGraph> BuildAllReduce(const ModeInputs& in) {
  const auto group = std::make_shared<CollectiveGroup>(in.num_workers);
  ASSIGN_OR_RETURN(std::shared_ptr<Optimizer> inner, MakeOptimizer(in.optimizer, in.learning_rate));
  ModeGraph graph;
  graph.optimizer = std::make_shared<DistributedOptimizer>(inner, group, CompressionOf(in.flags));
  graph.train_op = graph.optimizer->Minimize(in.scope, in.loss, in.global_step);
  RETURN_IF_ERROR(in.scope.status());
  graph.hooks.push_back(MakeBroadcastVariablesHook(group, in.is_chief));
  return graph;
}

const Registration<Mode> kAllReduceMode({
    .name = "allreduce",
    .help = "no ps tasks: every worker has all variables and applies the mean of the workers' gradients, which are "
            "reduced while others are still computed",
    .example = "--mode allreduce --workers 4",
    .own_variables = true,
    .flags = {{.name = kCompression,
               .type = OwnFlag::Type::kChoice,
               .choices = {"none", "fp16", "bf16", "topk"},
               .default_value = "none",
               .help =
                   "how gradients travel: none, fp16, bf16, or topk, the largest entries alone, where the others are "
                   "added to the next gradient"},
              {.name = kRatio,
               .type = OwnFlag::Type::kNumberFromZero,
               .default_value = "0.01",
               .help = "share of the entries that --compression topk sends"}},
    .check = CheckAllReduce,
    .build = BuildAllReduce,
});

}  // namespace
}  // namespace millstream::cli
