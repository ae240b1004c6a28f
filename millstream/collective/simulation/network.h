// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_COLLECTIVE_SIMULATION_NETWORK_H_
#define MILLSTREAM_COLLECTIVE_SIMULATION_NETWORK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <random>
#include <utility>
#include <vector>

namespace millstream::collective {

// A connection between two processes, in one direction.
struct SimulatedLink {
  double latency_s = 50e-6;
  double bytes_per_s = 1.25e9;  // of the sender's and of the receiver's end, which all connections of a host share
  double loss = 0;              // the part of packets that is lost
};

struct NetworkOptions {
  SimulatedLink between_hosts;
  SimulatedLink inside_host = {2e-6, 8e9, 0};               // shared memory: each process has the rate for itself
  std::map<std::pair<int, int>, SimulatedLink> links = {};  // from one host to another, where it differs
  // What a process pays for a message, at either end, and for each byte that it receives (to copy or to add it).
  double message_s = 10e-6;
  double byte_s = 0.5e-9;
  int cores_per_host = 1 << 20;  // where more processes share a host, they pay in proportion
  double retry_s = 0.2;          // until a message of few packets is sent again
  uint64_t seed = 1;             // of the losses
};

// Processes on hosts that exchange messages in virtual time: a discrete-event simulation on one thread. The same calls
// with the same options give the same times.
//
// A message waits until the sender's host has sent what came before, needs latency and bytes / rate, and waits at the
// receiver's host for what came before it there. A lost packet is sent again after a round trip, or after `retry_s` in
// messages too short for the receiver to notice a gap.
class SimulatedNetwork {
 public:
  using Time = double;  // seconds
  using Call = std::function<void()>;

  // `host_of`: for each process.
  SimulatedNetwork(const NetworkOptions& options, std::vector<int> host_of);

  Time now() const { return now_; }
  int size() const { return static_cast<int>(host_of_.size()); }
  // What handling a message of so many bytes costs the process that receives it, and one that sends it.
  double ReceiveCost(int process, double bytes) const;
  double SendCost(int process) const;

  // Runs `call` at a time that is not past.
  void At(Time time, Call call);
  // Sends from now on. `sent` runs when the bytes have left the sender, `delivered` when all have arrived.
  void Send(int from, int to, double bytes, Call sent, Call delivered);
  // Until nothing is left to do.
  void Run();

  uint64_t messages() const { return messages_; }
  uint64_t lost_packets() const { return lost_packets_; }

 private:
  struct Event {
    Time time;
    uint64_t number;  // events of one time run in the order in which they were added
    Call call;
  };
  struct Later {
    bool operator()(const Event& a, const Event& b) const {
      return a.time != b.time ? a.time > b.time : a.number > b.number;
    }
  };
  const SimulatedLink& LinkOf(int from, int to) const;
  // Packets of a message that are lost on the first attempt.
  uint64_t LostPackets(double bytes, double loss);
  double CpuShare(int process) const;

  const NetworkOptions options_;
  const std::vector<int> host_of_;
  std::vector<int> processes_;                      // by host
  std::vector<Time> sends_until_, receives_until_;  // by host: its connection to other hosts is busy
  std::vector<Time> copies_until_;                  // by process: to others of its host
  std::priority_queue<Event, std::vector<Event>, Later> events_;
  std::mt19937_64 random_;
  Time now_ = 0;
  uint64_t next_event_ = 0, messages_ = 0, lost_packets_ = 0;
};

}  // namespace millstream::collective

#endif  // MILLSTREAM_COLLECTIVE_SIMULATION_NETWORK_H_
