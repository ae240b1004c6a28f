// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_VARIABLES_DEVICE_SETTER_H_
#define MILLSTREAM_TRAIN_VARIABLES_DEVICE_SETTER_H_

#include <functional>
#include <string>
#include <vector>

#include "millstream/graph/variables/variable_scope.h"

namespace millstream {

// Which ps task gets the next variable. Every worker builds the same graph in the same order and so gets the same
// answers.
using PsStrategy = std::function<int(const Node&)>;
// One task after the other: TensorFlow's default.
PsStrategy RoundRobinStrategy(int num_tasks);
// The task that has least so far, by `load`.
using LoadFunction = std::function<double(const Node&)>;
PsStrategy GreedyLoadBalancingStrategy(int num_tasks, LoadFunction load);
// The bytes of a variable; a string counts 16. 0 if the shape is not fully known.
double ByteSizeLoad(const Node& variable);
// Greedy by bytes: our better default, on request.
PsStrategy BalanceByBytes(int num_tasks);

struct ReplicaDeviceOptions {
  int ps_tasks = 0;  // 0: no ps; everything stays on the worker
  std::string ps_device = "/job:ps";
  std::string worker_device = "/job:worker";
  // Parts of a device that was asked for explicitly win, the others are filled in. False: what was asked for is left
  // alone.
  bool merge_devices = true;
  std::vector<std::string> ps_ops = {};  // types of nodes that go to a ps; none: variables and tables
  PsStrategy ps_strategy = nullptr;      // none: round robin
};

// tf.train.replica_device_setter: the device of a node, with nodes of `ps_ops` on ps tasks and all others on the
// worker. Malformed devices leave the node's own as it is, so that placement reports them.
DeviceFunction ReplicaDeviceSetter(const ReplicaDeviceOptions& options);

// tf.device(tf.train.replica_device_setter(...)): a scope whose nodes go where ReplicaDeviceSetter() says.
// InvalidArgument, in the scope's status, if a device is malformed.
VariableScope WithReplicaDevices(const Scope& scope, const ReplicaDeviceOptions& options);

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_VARIABLES_DEVICE_SETTER_H_
