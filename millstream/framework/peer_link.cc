// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/peer_link.h"

#include <cstring>

namespace millstream {

StatusOr<Tensor> CopyOfPayload(StatusOr<Tensor> target, const Tensor& memory) {
  if (!target.ok()) return target;
  if (!IsPlainBytes(target->dtype()) || target->ByteSize() != memory.ByteSize()) {
    return errors::Internal("the memory given for a payload of ", memory.ByteSize(), " bytes has another size");
  }
  std::memcpy(target->raw(), memory.raw(), memory.ByteSize());
  return target;
}

StatusOr<Tensor> FrameHandler::Borrow(PeerLink& link, const Frame& frame, const Tensor& memory) {
  return CopyOfPayload(Allocate(link, frame, memory.ByteSize()), memory);
}

}  // namespace millstream
