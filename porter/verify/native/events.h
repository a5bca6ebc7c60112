// What a run did, in order: each operator with its place, its arguments and a digest of what it gave, and what Python tells.
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include "alias.h"
#include "trace.h"

namespace virtual_npu {

class Digest {
 public:
  uint64_t value = 0xcbf29ce484222325ull;
  void bytes(const void* data, size_t size) {
    auto* at = static_cast<const unsigned char*>(data);
    for (; size >= 8; at += 8, size -= 8) {
      uint64_t word;
      std::memcpy(&word, at, 8);
      mix(word);
    }
    for (; size; at++, size--) mix(*at);
  }
  void mix(uint64_t word) {
    value = (value ^ word) * 0x100000001b3ull;
    value ^= value >> 29;
  }
  // The numbers in their order, whatever their layout in memory.
  void tensor(const Tensor& given) {
    if (!given.defined() || given.layout() != at::kStrided || (!is_npu(given) && !given.is_cpu())) return;
    Pairs pairs;
    auto seen = is_npu(given) ? as_cpu(given, pairs) : given;
    if (!seen.is_contiguous() || seen.is_conj() || seen.is_neg()) {
      at::AutoDispatchBelowADInplaceOrView below;
      seen = seen.resolve_conj().resolve_neg().contiguous();
    }
    mix(static_cast<uint64_t>(seen.scalar_type()));
    for (auto size : seen.sizes()) mix(size);
    bytes(seen.const_data_ptr(), seen.nbytes());
  }
  // Of what is no tensor: numbers, flags and names. Devices and memory formats are what a port changes.
  void setting(const c10::IValue& given) {
    if (given.isDouble()) mix(double_bits(given.toDouble()));
    else if (given.isInt()) mix(given.toInt());
    else if (given.isBool()) mix(given.toBool());
    else if (given.isString()) bytes(given.toStringRef().data(), given.toStringRef().size());
    else if (given.isIntList()) for (int64_t entry : given.toIntVector()) mix(entry);
    else if (given.isDoubleList()) for (double entry : given.toDoubleVector()) mix(double_bits(entry));
  }
  void results(const c10::IValue& given) {
    if (given.isTensor()) tensor(given.toTensor());
    else if (given.isTensorList()) for (const Tensor& t : given.toTensorVector()) tensor(t);
    else setting(given);
  }

 private:
  static uint64_t double_bits(double number) {
    uint64_t bits;
    std::memcpy(&bits, &number, 8);
    return bits;
  }
};

class Events {
 public:
  static Events& get() {
    static auto* events = new Events;
    return *events;
  }
  bool is_on() const { return on_ && Trace::get().on; }
  void begin(const std::string& prefix) {
    prefix_ = prefix;
    on_ = true;
  }
  void tell(const std::string& name, const std::string& content) {
    if (!is_on()) return;
    pybind11::gil_scoped_acquire gil;  // guards the members as well
    own();
    if (written_ > kMost) return;
    text_ += name + "\t" + Trace::get().place() + "\t" + content + "\n";
    if (text_.size() > (1 << 16)) flush();
  }
  void tell(const std::string& name, const Digest& given, const Digest& results) {
    tell(name, std::to_string(given.value) + "\t" + std::to_string(results.value));
  }
  void flush() {
    own();
    if (text_.empty()) return;
    int file = ::open((prefix_ + std::to_string(owner_) + ".events").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (file >= 0) {
      (void)!::write(file, text_.data(), text_.size());
      ::close(file);
    }
    written_ += text_.size();
    text_.clear();
  }

 private:
  static constexpr size_t kMost = 1 << 26;
  bool on_ = false;
  pid_t owner_ = 0;
  size_t written_ = 0;
  std::string prefix_, text_;

  void own() {  // a forked child does not write again what its parent had not yet written
    if (owner_ == getpid()) return;
    owner_ = getpid();
    written_ = 0;
    text_.clear();
  }
};

// Memory that nobody has written to yet says nothing.
inline bool is_filled(const std::string& name) {
  return name.find("empty") == std::string::npos && name.find("resize") == std::string::npos;
}

}  // namespace virtual_npu
