// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_COLLECTIVE_SIMULATION_PARAMETER_SERVERS_H_
#define MILLSTREAM_COLLECTIVE_SIMULATION_PARAMETER_SERVERS_H_

#include <functional>
#include <vector>

#include "millstream/collective/simulation/network.h"

namespace millstream::collective {

// The ps tasks of a simulated job: they take gradients from clients, one pass over each, and answer with parameters.
class ParameterServers {
 public:
  struct Options {
    int first_process = 0;  // of the network; the others follow
    int count = 1;
    double model_bytes = 0;
    double apply_byte_s = 0;
    bool synchronous = false;  // answers wait for the gradients of all clients
    int clients = 1;
  };
  ParameterServers(SimulatedNetwork* network, const Options& options);

  // Sends the gradient of a client (a process) now; `done` runs when it has the new parameters of all ps.
  void Exchange(int process, std::function<void()> done);

 private:
  struct Server {
    SimulatedNetwork::Time busy_until = 0;
    std::vector<std::function<void()>> waiting;  // answers of this round
  };
  double part_bytes() const { return options_.model_bytes / options_.count; }
  void Receive(int server, std::function<void()> answer);

  SimulatedNetwork& network_;
  const Options options_;
  std::vector<Server> servers_;
};

}  // namespace millstream::collective

#endif  // MILLSTREAM_COLLECTIVE_SIMULATION_PARAMETER_SERVERS_H_
