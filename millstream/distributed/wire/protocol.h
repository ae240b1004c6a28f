// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_WIRE_PROTOCOL_H_
#define MILLSTREAM_DISTRIBUTED_WIRE_PROTOCOL_H_

#include <cstdint>

namespace millstream {

// What tasks say to each other. Outside of steps: calls of /millstream.TaskService (proto/task.proto). Inside: frames
// over links, whose fields mean this. Values are encoded as in wire_tensor.h.
inline constexpr int kProtocolVersion = 4;

// Each kind has one receiver per task (frame_router.h).
enum FrameKind : uint32_t {
  // Master to task. A large feed comes before its kRunPart, in a frame of its own.
  kFeed = 1,        // step; edge: argument of the part; body, payload: value
  kRunPart = 2,     // step; edge: part; tag: index of the part in the master's plan; body: flags, with kRunNumbered the
                    // identity of
                    // the step (client, number), then (argument, value)...
  kCancelStep = 3,  // step; body: why

  // Task to master. A large fetch comes before its kPartDone.
  kFetch = 4,     // step; tag: index of the part; edge: result of the part; body, payload: value
  kPartDone = 5,  // step; tag: index of the part; edge: status code; body: message, StepStats, then (result, value)...

  // Task to task: edges that were cut.
  kValue = 6,      // step, edge, tag; body, payload: value
  kLoopValue = 7,  // the same; the receiver answers kTaken when the value is used
  kTaken = 8,      // step, edge, tag

  // Task to task: a step has waited long for values.
  kAskStep = 9,     // step: what became of the part that sends the values?
  kStepState = 10,  // step; edge: StepState

  // Task to task: collectives (collective/transport/frame_exchange.h); step: key of the group's epoch.
  kCollectiveMessage = 16,
  kCollectiveControl = 17,
  kCollectiveGroup = 18,  // collective ops of graphs (distributed/collective/group_note.h)
};

// What the sender of values says of its part of a step.
enum StepState : uint32_t {
  kNotBegun = 0,  // it has not been told to run, or no longer remembers
  kRunning = 1,
  kSentAll = 2,     // over the link that brings this answer
  kSentInVain = 3,  // over a link that has ended, or to nobody
};
inline constexpr uint32_t kNumFrameKinds = 64;  // all are below this

// Flags of kRunPart.
inline constexpr uint64_t kRunTraced = 1;
inline constexpr uint64_t kRunNumbered = 2;  // whoever asks for the step may repeat it

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_WIRE_PROTOCOL_H_
