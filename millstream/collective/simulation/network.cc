// SPDX-License-Identifier: Apache-2.0
#include "millstream/collective/simulation/network.h"

#include <algorithm>
#include <cmath>

namespace millstream::collective {
namespace {

constexpr double kPacketBytes = 1448;
// A receiver that sees this many packets after a gap asks for what is missing.
constexpr double kPacketsToNotice = 4;

}  // namespace

SimulatedNetwork::SimulatedNetwork(const NetworkOptions& options, std::vector<int> host_of)
    : options_(options), host_of_(std::move(host_of)), random_(options.seed) {
  const int hosts = host_of_.empty() ? 0 : *std::max_element(host_of_.begin(), host_of_.end()) + 1;
  processes_.resize(static_cast<size_t>(hosts), 0);
  for (const int host : host_of_) ++processes_[static_cast<size_t>(host)];
  sends_until_.resize(static_cast<size_t>(hosts), 0);
  receives_until_.resize(static_cast<size_t>(hosts), 0);
  copies_until_.resize(host_of_.size(), 0);
}

double SimulatedNetwork::CpuShare(int process) const {
  const int on_host = processes_[static_cast<size_t>(host_of_[static_cast<size_t>(process)])];
  return std::max(1.0, static_cast<double>(on_host) / options_.cores_per_host);
}

double SimulatedNetwork::ReceiveCost(int process, double bytes) const {
  return (options_.message_s + bytes * options_.byte_s) * CpuShare(process);
}

double SimulatedNetwork::SendCost(int process) const { return options_.message_s * CpuShare(process); }

const SimulatedLink& SimulatedNetwork::LinkOf(int from, int to) const {
  if (from == to) return options_.inside_host;
  const auto own = options_.links.find({from, to});
  return own == options_.links.end() ? options_.between_hosts : own->second;
}

uint64_t SimulatedNetwork::LostPackets(double bytes, double loss) {
  if (loss <= 0) return 0;
  const auto packets = static_cast<int64_t>(std::max(1.0, std::ceil(bytes / kPacketBytes)));
  return static_cast<uint64_t>(std::binomial_distribution<int64_t>(packets, std::min(loss, 0.9))(random_));
}

void SimulatedNetwork::At(Time time, Call call) {
  events_.push({std::max(time, now_), next_event_++, std::move(call)});
}

void SimulatedNetwork::Send(int from, int to, double bytes, Call sent, Call delivered) {
  ++messages_;
  const int from_host = host_of_[static_cast<size_t>(from)], to_host = host_of_[static_cast<size_t>(to)];
  const SimulatedLink& link = LinkOf(from_host, to_host);
  const bool inside = from_host == to_host;
  Time& busy = inside ? copies_until_[static_cast<size_t>(from)] : sends_until_[static_cast<size_t>(from_host)];
  const uint64_t lost = LostPackets(bytes, link.loss);
  lost_packets_ += lost;
  const double takes = (bytes + static_cast<double>(lost) * kPacketBytes) / link.bytes_per_s;
  const bool noticed = bytes >= kPacketsToNotice * kPacketBytes;
  const double recovery = lost == 0 ? 0 : noticed ? 2 * link.latency_s : options_.retry_s;
  const Time start = std::max(now_, busy);
  busy = start + takes;
  if (sent) At(busy, std::move(sent));
  if (inside) return At(start + takes + link.latency_s + recovery, std::move(delivered));
  // The first byte is there after the latency; the rest comes as fast as the receiver's end allows.
  At(start + link.latency_s + recovery, [this, to_host, takes, delivered = std::move(delivered)]() mutable {
    Time& receiving = receives_until_[static_cast<size_t>(to_host)];
    receiving = std::max(now_, receiving) + takes;
    At(receiving, std::move(delivered));
  });
}

void SimulatedNetwork::Run() {
  while (!events_.empty()) {
    // The queue only lends its top; the call may add events.
    Call call = std::move(const_cast<Event&>(events_.top()).call);
    now_ = events_.top().time;
    events_.pop();
    call();
  }
}

}  // namespace millstream::collective
