// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_LINK_TESTING_SCRIPTED_PEER_H_
#define MILLSTREAM_DISTRIBUTED_LINK_TESTING_SCRIPTED_PEER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "millstream/distributed/link/link_hub.h"
#include "millstream/distributed/link/shm_ring.h"
#include "millstream/distributed/link/sockets.h"
#include "millstream/distributed/trust/token_proof.h"

namespace millstream::testing {

// Ends the process if nothing can be read from the socket, or accepted, within 20 s.
void AwaitReadable(int socket);

// Bytes of a fuzzer that say what to do; zeros once they are used up.
class Script {
 public:
  Script(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool empty() const { return size_ == 0; }
  uint8_t Byte();
  std::string Bytes(size_t count);
  // Changes one byte of `message`, or none; true if it did.
  bool Alter(std::string* message);

 private:
  const uint8_t* data_;
  size_t size_;
};

// One end of a connection to a hub, whose moves a script chooses: messages of the handshake as they should be or
// altered, garbage, frames, positions in the shared memory that cannot be. Ends the process if the hub does not answer
// what it must answer within 20 s.
class ScriptedPeer {
 public:
  static constexpr char kTask[] = "/job:worker/replica:0/task:0";
  static constexpr uint64_t kIncarnation = 7;

  virtual ~ScriptedPeer();
  // All moves; then leaves, and waits until the hub has hung up.
  void Play(Script& script);

 protected:
  ScriptedPeer(UniqueFd socket, bool shm) : shm_(shm), socket_(std::move(socket)) {}
  // The next message of the handshake.
  virtual void SayNext(Script& script) = 0;
  // That message, altered or not, with a descriptor if it is not -1.
  void Say(std::string message, int memory, Script& script);
  // The memory is there: frames go through it from now on.
  void Adopt(ShmSegment segment, int memory, int way);
  int socket() const { return socket_.get(); }

  const bool shm_;
  bool proper_ = true;  // all that was said so far is what the protocol wants
  bool done_ = false;   // all messages of the handshake were said

 private:
  void Move(Script& script);
  void Send(const std::string& bytes, int memory);
  void SayFrame(Script& script);
  void SetWord(Script& script);
  void Leave();

  UniqueFd socket_;
  ShmSegment segment_;
  std::unique_ptr<RingWriter> writer_;
  char* words_ = nullptr;  // of the rings' positions
};

// Dials a hub; knows its ticket and the job's token.
class DialingPeer final : public ScriptedPeer {
 public:
  DialingPeer(const LinkEndpoint& hub, UniqueFd socket, bool shm, const std::string& token);
  // It proved that it knows the secret, and the hub has accepted the link.
  bool linked() const { return linked_; }

 private:
  void SayNext(Script& script) override;
  UniqueFd Memory(uint8_t how);

  const uint64_t hub_incarnation_;
  const size_t ring_bytes_;
  ClientProof proof_;
  bool greeted_ = false, linked_ = false;
};

// Has accepted the connection of a hub that dials `ticket`. Ends the process if it is given memory before it has proven
// that it knows the secret.
class AnsweringPeer final : public ScriptedPeer {
 public:
  AnsweringPeer(UniqueFd socket, bool shm, std::string token, std::string ticket)
      : ScriptedPeer(std::move(socket), shm), token_(std::move(token)), ticket_(std::move(ticket)) {}
  ~AnsweringPeer() override;
  // It has proven that it knows the secret.
  bool proven() const { return proven_; }
  // It has accepted the link.
  bool linked() const { return linked_; }

 private:
  void SayNext(Script& script) override;
  std::string Challenge();
  void AwaitProof();

  const std::string token_, ticket_;
  std::unique_ptr<ServerProof> proof_;
  uint64_t ring_bytes_ = 0;
  std::vector<UniqueFd> memory_;
  bool challenged_ = false, proven_ = false, linked_ = false;
};

}  // namespace millstream::testing

#endif  // MILLSTREAM_DISTRIBUTED_LINK_TESTING_SCRIPTED_PEER_H_
