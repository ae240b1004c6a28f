// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/sessions/partial_run.h"

#include <algorithm>

#include "millstream/graph/reserved_attrs.h"
#include "millstream/graph/rewriting/replacement.h"
#include "millstream/runtime/executor.h"

namespace millstream {
namespace {

StatusOr<Node*> AddExchangeNode(Graph& graph, const char* type, size_t index, DType dtype, const Node& beside,
                                absl::string_view device, std::vector<Output> inputs) {
  Graph::NodeSpec spec;
  spec.name = graph.UniqueName(absl::StrCat(type, "_", index));
  ASSIGN_OR_RETURN(spec.op, OpRegistry::Global().Lookup(type));
  spec.attrs.Set("T", dtype);
  spec.attrs.Set("index", static_cast<int64_t>(index));
  spec.attrs.Set(kPartialRunAttr, true);
  spec.inputs = std::move(inputs);
  ASSIGN_OR_RETURN(Node * node, graph.AddNode(std::move(spec)));
  node->set_assigned_device(device.empty() ? beside.assigned_device() : device);
  return node;
}

// The output named "x" is "x:0".
std::string FullName(const std::string& name) { return name.find(':') == std::string::npos ? name + ":0" : name; }

size_t IndexOf(const std::vector<std::string>& names, const std::string& name) {
  const std::string full = FullName(name);
  return static_cast<size_t>(
      std::find_if(names.begin(), names.end(), [&](const std::string& n) { return FullName(n) == full; }) -
      names.begin());
}

}  // namespace

Status SplitIntoParts(PrunedGraph* part, absl::string_view device) {
  Graph& graph = *part->graph;
  Replacements replaced;
  for (size_t i = 0; i < part->args.size(); ++i) {
    Node* arg = part->args[i];
    ASSIGN_OR_RETURN(Node * feed, AddExchangeNode(graph, "_PartialFeed", i, arg->output_type(0), *arg, device, {}));
    replaced.Replace(Output(arg), Output(feed));
    replaced.Drop(arg, feed);
  }
  replaced.Apply(part);
  for (size_t i = 0; i < part->rets.size(); ++i) {
    const Output ret = part->rets[i];
    ASSIGN_OR_RETURN(Node * fetch, AddExchangeNode(graph, "_PartialFetch", i, ret.dtype(), *ret.node, device, {ret}));
    part->targets.push_back(fetch);
  }
  for (Node* arg : part->args) graph.RemoveNode(arg);
  part->args.clear();
  part->rets.clear();
  graph.Compact();
  return OkStatus();
}

std::vector<std::vector<bool>> FeedsOfFetches(const PrunedGraph& part) {
  std::vector<std::vector<bool>> needs;
  for (const Output& ret : part.rets) {
    std::vector<bool> seen(static_cast<size_t>(part.graph->id_limit()), false);
    std::vector<const Node*> stack = {ret.node};
    seen[ret.node->id()] = true;
    const auto visit = [&](const Node* node) {
      if (seen[node->id()]) return;
      seen[node->id()] = true;
      stack.push_back(node);
    };
    while (!stack.empty()) {
      const Node* node = stack.back();
      stack.pop_back();
      for (const Output& in : node->inputs()) visit(in.node);
      for (const Node* in : node->control_inputs()) visit(in);
    }
    std::vector<bool> feeds;
    for (const Node* arg : part.args) feeds.push_back(seen[arg->id()]);
    needs.push_back(std::move(feeds));
  }
  return needs;
}

PartialStep::PartialStep(std::vector<std::string> feeds, std::vector<std::string> fetches,
                         std::vector<std::vector<bool>> needs)
    : feeds_(std::move(feeds)),
      fetches_(std::move(fetches)),
      needs_(std::move(needs)),
      fetched_(fetches_.size(), false),
      exchange_(MakeRef<PartialExchange>(feeds_.size(), fetches_.size())) {}

PartialStep::~PartialStep() {
  if (!started_) return;
  cancellation_.StartCancel(errors::Cancelled("The partial run was cancelled"));
  exchange_->WaitForEnd().IgnoreError();
}

void PartialStep::Start(const std::function<void(Ref<PartialExchange>)>& launch) {
  started_ = true;
  // A feed that never comes must not keep a cancelled step.
  Cancellation::Token token;
  cancellation_.Register([exchange = exchange_] { exchange->CancelFeeds(); }, &token);
  launch(exchange_);
}

void PartialStep::Start(std::shared_ptr<const Plan> plan, StepContext step) {
  step_ = step;
  step_.step_resources = &resources_;
  step_.cancellation = &cancellation_;
  resources_.Create("", PartialExchange::kName, exchange_).IgnoreError();
  Start([&](Ref<PartialExchange> exchange) {
    RunPlanAsync(plan, step_, {}, &rets_, [exchange](Status status) { exchange->End(std::move(status)); });
  });
}

Status PartialStep::Run(const Session::Feeds& feeds, const std::vector<std::string>& fetches,
                        std::vector<Tensor>* outputs, bool* finished) {
  if (runs_part_.exchange(true)) return errors::InvalidArgument("Another call of this partial run is in progress.");
  Status status = RunPart(feeds, fetches, outputs, finished);
  runs_part_.store(false);
  return status;
}

Status PartialStep::RunPart(const Session::Feeds& feeds, const std::vector<std::string>& fetches,
                            std::vector<Tensor>* outputs, bool* finished) {
  for (const auto& [name, value] : feeds) {
    const size_t i = IndexOf(feeds_, name);
    if (i == feeds_.size())
      return errors::InvalidArgument("The feed ", name, " was not specified in partial_run_setup.");
    if (exchange_->WasFed(i)) return errors::InvalidArgument("The feed ", name, " has already been fed.");
  }
  std::vector<bool> given(feeds_.size(), false);
  for (size_t i = 0; i < feeds_.size(); ++i) given[i] = exchange_->WasFed(i);
  for (const auto& feed : feeds) given[IndexOf(feeds_, feed.first)] = true;
  std::vector<size_t> wanted;
  for (const std::string& name : fetches) {
    const size_t i = IndexOf(fetches_, name);
    if (i == fetches_.size())
      return errors::InvalidArgument("The fetch ", name, " was not specified in partial_run_setup.");
    if (fetched_[i]) return errors::InvalidArgument("The fetch ", name, " has already been fetched.");
    for (size_t f = 0; f < given.size(); ++f) {
      if (needs_[i][f] && !given[f]) {
        return errors::InvalidArgument("Fetch ", name, " can't be computed from the feeds that have been fed so far.");
      }
    }
    wanted.push_back(i);
  }
  for (const auto& [name, value] : feeds) exchange_->PutFeed(IndexOf(feeds_, name), value);
  outputs->clear();
  for (const size_t i : wanted) {
    ASSIGN_OR_RETURN(Tensor value, exchange_->WaitForFetch(i));
    outputs->push_back(std::move(value));
    fetched_[i] = true;
  }
  *finished = std::all_of(fetched_.begin(), fetched_.end(), [](bool f) { return f; });
  // Targets may need feeds that never come; with all feeds given the step ends by itself.
  if (*finished && std::all_of(given.begin(), given.end(), [](bool g) { return g; })) return exchange_->WaitForEnd();
  return OkStatus();
}

StatusOr<std::string> PartialSteps::Add(std::shared_ptr<PartialStep> step) {
  MutexLock lock(mu_);
  RETURN_IF_ERROR(closed_);  // the caller drops the step, which ends it
  const std::string handle = absl::StrCat("partial_", next_++);
  steps_.emplace(handle, std::move(step));
  return handle;
}

Status PartialSteps::Run(const std::string& handle, const Session::Feeds& feeds,
                         const std::vector<std::string>& fetches, std::vector<Tensor>* outputs,
                         Cancellation* cancellation) {
  std::shared_ptr<PartialStep> step;
  {
    MutexLock lock(mu_);
    auto it = steps_.find(handle);
    if (it == steps_.end()) return errors::InvalidArgument("Must run 'setup' before performing partial runs!");
    step = it->second;
  }
  Cancellation::Token token = 0;
  const auto cancel = [&] { step->cancellation()->StartCancel(cancellation->status()); };
  const bool registered = cancellation != nullptr && cancellation->Register(cancel, &token);
  if (cancellation != nullptr && !registered) cancel();
  bool finished = false;
  Status status = step->Run(feeds, fetches, outputs, &finished);
  if (registered) cancellation->Deregister(token);
  // A refused request leaves the step as it was; an error inside it ends it.
  if (finished || (!status.ok() && !absl::IsInvalidArgument(status))) {
    MutexLock lock(mu_);
    steps_.erase(handle);
  }
  return status;
}

void PartialSteps::Close(const Status& why) {
  {
    MutexLock lock(mu_);
    closed_ = why;
  }
  GiveUp();
}

void PartialSteps::GiveUp() {
  std::unordered_map<std::string, std::shared_ptr<PartialStep>> given_up;
  {
    MutexLock lock(mu_);
    given_up.swap(steps_);
  }
  for (const auto& [handle, step] : given_up)
    step->cancellation()->StartCancel(
        errors::Cancelled("The partial run was cancelled: its session was closed, or its client disconnected"));
}

}  // namespace millstream
