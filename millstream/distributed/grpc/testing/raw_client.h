// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_TESTING_RAW_CLIENT_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_TESTING_RAW_CLIENT_H_

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "millstream/distributed/grpc/http2_session.h"
#include "millstream/distributed/link/unique_fd.h"

namespace millstream::testing {

// A stream of a client that sends what it is told, and keeps what comes.
class RawStream final : public Http2Stream {
 public:
  void OnHeader(absl::string_view name, absl::string_view value) override {
    headers[std::string(name)] = std::string(value);
  }
  void OnHeadersComplete(bool) override {}
  void OnData(const char* data, size_t size) override { received.append(data, size); }
  void OnEnd() override { ended = true; }
  void OnClosed(uint32_t code) override {
    closed = true;
    error = code;
  }
  void OnLost(const Status&) override { closed = true; }
  size_t Pending(size_t max, bool* last) override {
    *last = ends && to_send.size() <= max;
    return std::min(max, to_send.size());
  }
  void TakePending(size_t bytes, OutQueue* out) override {
    out->Append(to_send.data(), bytes);
    to_send.erase(0, bytes);
  }

  std::map<std::string, std::string> headers;
  std::string received, to_send;
  bool ends = true, ended = false, closed = false;
  uint32_t error = 0;
};

// A client of a server on this host that may break every rule: it speaks HTTP/2 through a session and can send any
// bytes besides. All waits end after 20 s.
class RawClient final : private Http2Session::Owner {
 public:
  // `greets`: sends the preface at once.
  explicit RawClient(int port, bool greets = true);

  // Begins a call. The stream's to_send may be set before.
  void Start(const std::shared_ptr<RawStream>& stream, const std::string& path,
             const std::vector<HttpHeader>& more = {}, const std::string& method = "POST");
  void Reset(const RawStream& stream);
  // Any bytes; false if the server has closed the connection.
  bool SendRaw(absl::string_view bytes);
  // Reads and answers until `done` says so; false if the server has closed the connection or time has passed.
  bool PumpUntil(const std::function<bool()>& done);
  // Reads, and answers nothing, until the server closes the connection.
  bool WaitForClose();
  // Whether the server has closed the connection, without waiting.
  bool IsClosed();

 private:
  std::shared_ptr<Http2Stream> OnNewStream() override { return nullptr; }
  bool Flush();

  UniqueFd socket_;
  Http2Session session_;
};

// The nine bytes before a frame, and the frame.
std::string Frame(uint8_t type, uint8_t flags, uint32_t stream, absl::string_view payload);

}  // namespace millstream::testing

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_TESTING_RAW_CLIENT_H_
