// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/running_frames.h"

#include <algorithm>
#include <utility>

namespace millstream::internal {
namespace {

// Mixes what names an iteration: the iteration around its loop, the loop, its number. Never 0, which means no loop.
uint64_t IterationTag(const RunningFrame& frame, int64_t index) {
  uint64_t tag = frame.parent->tag ^ frame.info->name_hash;
  tag = (tag + static_cast<uint64_t>(index) + 1) * 0x9e3779b97f4a7c15ull;
  tag = (tag ^ (tag >> 29)) * 0xbf58476d1ce4e5b9ull;
  return (tag ^ (tag >> 32)) | 1;
}

}  // namespace

RunningFrames::RunningFrames(const Plan& plan) : plan_(plan) {
  root_.info = &plan_.frames[0];
  BeginIteration(&root_);
}

RunningFrame* RunningFrames::Child(RunningIteration* it, int32_t id) {
  for (const auto& child : it->frame->children) {
    if (child->id == id && child->parent == it) return child.get();
  }
  std::unique_ptr<RunningFrame> frame = TakeFrame(id);
  frame->parent = it;
  frame->next_index = 0;
  frame->enters_left = frame->info->num_enters;
  frame->exit_live.assign(frame->info->exits.size(), false);
  BeginIteration(frame.get());
  ++it->children;
  it->frame->children.push_back(std::move(frame));
  return it->frame->children.back().get();
}

// One that has ended, if there is one: its iterations are there already.
std::unique_ptr<RunningFrame> RunningFrames::TakeFrame(int32_t id) {
  const auto it = std::find_if(ended_.begin(), ended_.end(), [&](const auto& f) { return f->id == id; });
  if (it != ended_.end()) {
    std::unique_ptr<RunningFrame> frame = std::move(*it);
    ended_.erase(it);
    return frame;
  }
  auto frame = std::make_unique<RunningFrame>();
  frame->id = id;
  frame->info = &plan_.frames[id];
  return frame;
}

void RunningFrames::End(RunningFrame* frame) {
  --frame->parent->children;
  auto& siblings = frame->parent->frame->children;
  const auto it = std::find_if(siblings.begin(), siblings.end(), [&](const auto& f) { return f.get() == frame; });
  frame->invariants.clear();
  ended_.push_back(std::move(*it));
  siblings.erase(it);
}

RunningIteration* RunningFrames::BeginIteration(RunningFrame* frame) {
  RunningIteration* it = frame->unused;
  if (it != nullptr) {
    frame->unused = it->next;
  } else {
    it = frame->iterations.emplace_back(std::make_unique<RunningIteration>()).get();
    it->frame = frame;
    it->slots = std::make_unique<Entry[]>(static_cast<size_t>(frame->info->num_slots));
  }
  it->next = nullptr;
  it->index = frame->next_index++;
  if (frame->parent != nullptr) it->tag = IterationTag(*frame, it->index);
  it->waits = it->index == 0 ? frame->info->first_wait : frame->info->later_wait;
  (frame->oldest == nullptr ? frame->oldest : frame->newest->next) = it;
  frame->newest = it;
  ++frame->in_flight;
  return it;
}

void RunningFrames::EndIteration(RunningFrame* frame) {
  RunningIteration* it = frame->oldest;
  for (int32_t i = 0; i < frame->info->num_slots; ++i) {
    Entry& e = it->slots[i];
    e.tensor.Reset();
    e.ref = nullptr;
    e.dead = false;
  }
  frame->oldest = it->next;
  it->next = frame->unused;
  frame->unused = it;
  --frame->in_flight;
}

}  // namespace millstream::internal
