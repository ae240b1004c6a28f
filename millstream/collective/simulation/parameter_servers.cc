// SPDX-License-Identifier: Apache-2.0
#include "millstream/collective/simulation/parameter_servers.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace millstream::collective {

ParameterServers::ParameterServers(SimulatedNetwork* network, const Options& options)
    : network_(*network), options_(options), servers_(static_cast<size_t>(options.count)) {}

void ParameterServers::Exchange(int process, std::function<void()> done) {
  const auto missing = std::make_shared<int>(options_.count);
  const auto got_part = [this, process, missing, done = std::move(done)] {
    if (--*missing > 0) return;
    network_.At(network_.now() + network_.ReceiveCost(process, options_.model_bytes) +
                    (options_.count - 1) * network_.SendCost(process),
                done);
  };
  for (int s = 0; s < options_.count; ++s) {
    const int to = options_.first_process + s;
    const auto answer = [this, to, process, got_part] { network_.Send(to, process, part_bytes(), nullptr, got_part); };
    // One message after the other costs the sender its time.
    network_.At(network_.now() + s * network_.SendCost(process), [this, process, to, s, answer] {
      network_.Send(process, to, part_bytes(), nullptr, [this, s, answer] { Receive(s, answer); });
    });
  }
}

void ParameterServers::Receive(int server, std::function<void()> answer) {
  Server& own = servers_[static_cast<size_t>(server)];
  const int process = options_.first_process + server;
  own.busy_until = std::max(own.busy_until, network_.now()) + network_.ReceiveCost(process, part_bytes()) +
                   part_bytes() * options_.apply_byte_s;
  own.waiting.push_back(std::move(answer));
  if (options_.synchronous && static_cast<int>(own.waiting.size()) < options_.clients) return;
  for (std::function<void()>& one : own.waiting) {
    own.busy_until += network_.SendCost(process);
    network_.At(own.busy_until, std::move(one));
  }
  own.waiting.clear();
}

}  // namespace millstream::collective
