// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/session_options.h"

#include "millstream/proto/config.pb.h"

namespace millstream {
namespace {

// OptimizerOptions: L0 (-1) turns everything off, L1 (0) is the default; Grappler's switches are heeded too.
void SetRewrites(const proto::GraphOptions& graph, RewriteOptions* rewrite) {
  const proto::OptimizerOptions& opt = graph.optimizer_options();
  if (opt.opt_level() == proto::OptimizerOptions::L0) {
    // At L0 only what is asked for by name is done.
    *rewrite = RewriteOptions::None();
    rewrite->constant_folding = opt.do_constant_folding();
    rewrite->common_subexpressions = opt.do_common_subexpression_elimination();
    rewrite->function_inlining = opt.do_function_inlining();
  }
  const proto::RewriterConfig& grappler = graph.rewrite_options();
  const auto off = [](proto::RewriterConfig::Toggle toggle) { return toggle == proto::RewriterConfig::OFF; };
  if (grappler.disable_meta_optimizer()) *rewrite = RewriteOptions::None();
  if (off(grappler.constant_folding())) rewrite->constant_folding = false;
  if (off(grappler.common_subgraph_elimination())) rewrite->common_subexpressions = false;
  if (off(grappler.arithmetic_optimization())) rewrite->arithmetic = false;
  if (off(grappler.remapping())) rewrite->fusion = false;
  if (off(grappler.function_optimization())) rewrite->function_inlining = false;
}

}  // namespace

StatusOr<SessionOptions> SessionOptions::FromProto(const proto::ConfigProto& config) {
  SessionOptions options;
  if (config.inter_op_parallelism_threads() < -1 || config.intra_op_parallelism_threads() < -1) {
    return errors::InvalidArgument("inter_op_parallelism_threads and intra_op_parallelism_threads must be >= -1");
  }
  // -1 asks for the calling thread only.
  options.inter_op_threads = config.inter_op_parallelism_threads() == -1 ? 1 : config.inter_op_parallelism_threads();
  options.intra_op_threads = config.intra_op_parallelism_threads() == -1 ? 1 : config.intra_op_parallelism_threads();
  if (options.inter_op_threads > 1024 || options.intra_op_threads > 1024) {
    return errors::InvalidArgument("a thread pool has at most 1024 threads");
  }
  options.operation_timeout_ms = config.operation_timeout_in_ms();
  options.allow_soft_placement = config.allow_soft_placement();
  options.log_device_placement = config.log_device_placement();
  for (const auto& [type, count] : config.device_count()) {
    if (count < 0 || count > 64)
      return errors::InvalidArgument("device_count[\"", type, "\"] = ", count, " is out of range");
    options.device_count[type] = count;
  }
  SetRewrites(config.graph_options(), &options.rewrite);
  options.config = std::make_shared<const proto::ConfigProto>(config);
  return options;
}

void SessionOptions::ToProto(proto::ConfigProto* proto) const {
  if (config != nullptr) {
    *proto = *config;
    return;
  }
  proto->Clear();
  proto->set_inter_op_parallelism_threads(inter_op_threads);
  proto->set_intra_op_parallelism_threads(intra_op_threads);
  proto->set_operation_timeout_in_ms(operation_timeout_ms);
  proto->set_allow_soft_placement(allow_soft_placement);
  proto->set_log_device_placement(log_device_placement);
  for (const auto& [type, count] : device_count) (*proto->mutable_device_count())[type] = count;
  proto::RewriterConfig& grappler = *proto->mutable_graph_options()->mutable_rewrite_options();
  if (!rewrite.constant_folding) grappler.set_constant_folding(proto::RewriterConfig::OFF);
  if (!rewrite.common_subexpressions) grappler.set_common_subgraph_elimination(proto::RewriterConfig::OFF);
  if (!rewrite.arithmetic) grappler.set_arithmetic_optimization(proto::RewriterConfig::OFF);
  if (!rewrite.fusion) grappler.set_remapping(proto::RewriterConfig::OFF);
  if (!rewrite.function_inlining) grappler.set_function_optimization(proto::RewriterConfig::OFF);
}

}  // namespace millstream
