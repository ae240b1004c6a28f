// SPDX-License-Identifier: Apache-2.0
#include "millstream/launch/signal_pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>

namespace millstream::launch {
namespace {

std::atomic<int> write_end{-1};  // for the handler, which has no other way to know it

void OnSignal(int number) {
  const int error = errno;
  const auto byte = static_cast<unsigned char>(number);
  [[maybe_unused]] const ssize_t written = write(write_end.load(), &byte, 1);
  errno = error;
}

}  // namespace

SignalPipe::SignalPipe() {
  std::array<int, 2> ends = {-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return;
  read_end_ = ends[0];
  write_end = ends[1];
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  action.sa_flags = SA_RESTART;
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaction(number, &action, &former_[number]);
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, &former_[SIGPIPE]);
}

SignalPipe::~SignalPipe() {
  for (const auto& [number, action] : former_) sigaction(number, &action, nullptr);
  if (read_end_ >= 0) close(read_end_);
  if (const int fd = write_end.exchange(-1); fd >= 0) close(fd);
}

std::vector<int> SignalPipe::Take() {
  std::vector<int> numbers;
  unsigned char byte = 0;
  while (read(read_end_, &byte, 1) == 1) numbers.push_back(byte);
  return numbers;
}

}  // namespace millstream::launch
