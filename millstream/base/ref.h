// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_BASE_REF_H_
#define MILLSTREAM_BASE_REF_H_

#include <atomic>
#include <utility>

namespace millstream {

// Base of objects that count their own references. Starts at one: the creator's, which Adopt() hands to a Ref.
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  void AddRef() const { count_.fetch_add(1, std::memory_order_relaxed); }
  void Unref() const {
    // A sole owner needs no read-modify-write: nobody else can be adding a reference.
    if (count_.load(std::memory_order_acquire) == 1 || count_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      const_cast<RefCounted*>(this)->Destroy();
    }
  }
  bool RefIsOne() const { return count_.load(std::memory_order_acquire) == 1; }

 protected:
  virtual ~RefCounted() = default;
  // What the last Unref() does; objects that live in pooled memory override it.
  virtual void Destroy() { delete this; }

 private:
  mutable std::atomic<int> count_{1};
};

// Owning pointer to a RefCounted.
template <typename T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)
  static Ref Adopt(T* p) {
    Ref r;
    r.p_ = p;
    return r;
  }
  static Ref Share(T* p) {
    if (p != nullptr) p->AddRef();
    return Adopt(p);
  }

  Ref(const Ref& o) : p_(o.p_) {
    if (p_ != nullptr) p_->AddRef();
  }
  Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  template <typename U>
  Ref(Ref<U> o) : p_(o.release()) {}  // NOLINT(google-explicit-constructor)
  Ref& operator=(Ref o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Ref() {
    if (p_ != nullptr) p_->Unref();
  }

  T* get() const { return p_; }
  T* release() { return std::exchange(p_, nullptr); }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) { return a.p_ == b.p_; }

 private:
  T* p_ = nullptr;
};

template <typename T, typename... Args>
Ref<T> MakeRef(Args&&... args) {
  return Ref<T>::Adopt(new T(std::forward<Args>(args)...));
}

}  // namespace millstream

#endif  // MILLSTREAM_BASE_REF_H_
