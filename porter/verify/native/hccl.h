// The process group "hccl": the collectives of gloo on the memory of the NPU tensors.
#pragma once
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <set>

#include "events.h"

namespace virtual_npu {

using c10d::Work;
using Tensors = std::vector<Tensor>;
using TensorLists = std::vector<Tensors>;
using Handle = c10::intrusive_ptr<Work>;

class NpuWork : public Work {
 public:
  NpuWork(Handle work, Tensors results) : work_(std::move(work)), results_(std::move(results)) {}
  bool isCompleted() override { return work_->isCompleted(); }
  bool isSuccess() const override { return work_->isSuccess(); }
  std::exception_ptr exception() const override { return work_->exception(); }
  int sourceRank() const override { return work_->sourceRank(); }
  Tensors result() override { return results_; }
  void synchronize() override { work_->synchronize(); }
  bool wait(std::chrono::milliseconds timeout = kNoTimeout) override { return work_->wait(timeout); }
  void abort() override { work_->abort(); }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override {
    if (future_) return future_;
    std::set<c10::DeviceIndex> indices;
    for (auto& t : results_)
      if (is_npu(t)) indices.insert(t.device().index());
    std::vector<Device> devices;
    for (auto index : indices) devices.emplace_back(kNpu, index);
    auto type = c10::ListType::create(c10::TensorType::get());
    future_ = c10::make_intrusive<c10::ivalue::Future>(type, devices);
    work_->getFuture()->addCallback([ours = future_, results = results_](c10::ivalue::Future& done) {
      if (done.hasError()) ours->setError(done.exception_ptr());
      else ours->markCompleted(c10::IValue(results));
    });
    return future_;
  }

 private:
  Handle work_;
  Tensors results_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

class AllWork : public Work {
 public:
  std::vector<Handle> works;
  bool isCompleted() override {
    return std::all_of(works.begin(), works.end(), [](auto& work) { return work->isCompleted(); });
  }
  bool wait(std::chrono::milliseconds timeout = kNoTimeout) override {
    for (auto& work : works) work->wait(timeout);
    return true;
  }
};

class HcclOnGloo : public c10d::Backend {
 public:
  HcclOnGloo(c10::intrusive_ptr<c10d::Backend> gloo, c10::intrusive_ptr<c10d::Store> store)
      : c10d::Backend(gloo->getRank(), gloo->getSize()), gloo_(std::move(gloo)), store_(std::move(store)) {}
  // gloo waits for its threads, and one of them may be waiting for the interpreter to let go of a tensor
  ~HcclOnGloo() override {
    if (!Py_IsInitialized() || !PyGILState_Check()) return;
    pybind11::gil_scoped_release release;
    gloo_.reset();
  }
  const std::string getBackendName() const override { return "hccl"; }
  bool supportsCoalescing() const override { return true; }
  void startCoalescing() override { group_ = c10::make_intrusive<AllWork>(); }
  Handle endCoalescing() override {
    Handle all = group_;
    group_.reset();
    return all;
  }
  Handle broadcast(Tensors& t, const c10d::BroadcastOptions& o) override {
    auto seen = cpu(t);
    tell("broadcast", o.rootRank, seen);
    return done(gloo_->broadcast(seen, o), t);
  }
  Handle allreduce(Tensors& t, const c10d::AllreduceOptions& o) override {
    auto seen = cpu(t);
    tell("all_reduce", o.reduceOp.op_, seen);
    if (o.reduceOp != c10d::ReduceOp::AVG) return done(gloo_->allreduce(seen, o), t);
    auto sum = o;  // gloo has no mean
    sum.reduceOp = c10d::ReduceOp::SUM;
    auto work = gloo_->allreduce(seen, sum);
    work->wait();
    at::AutoDispatchBelowADInplaceOrView below;
    for (auto& x : seen) x.div_(getSize());
    return done(work, t);
  }
  Handle allreduce_coalesced(Tensors& t, const c10d::AllreduceCoalescedOptions& o) override {
    auto seen = cpu(t);
    tell("all_reduce", o.reduceOp.op_, seen);
    return done(gloo_->allreduce_coalesced(seen, o), t);
  }
  Handle reduce(Tensors& t, const c10d::ReduceOptions& o) override {
    auto seen = cpu(t);
    tell("reduce", o.reduceOp.op_, seen);
    return done(gloo_->reduce(seen, o), t);
  }
  Handle allgather(TensorLists& to, Tensors& from, const c10d::AllgatherOptions& o) override {
    TensorLists results = cpu(to);
    auto seen = cpu(from);
    return done(gloo_->allgather(results, seen, o), flat(to));
  }
  Handle _allgather_base(Tensor& to, Tensor& from, const c10d::AllgatherOptions& o) override {
    auto result = cpu(to).view({-1}), seen = cpu(from).reshape({-1});  // gloo chunks along the first dimension
    return done(gloo_->_allgather_base(result, seen, o), {to});
  }
  Handle allgather_into_tensor_coalesced(Tensors& to, Tensors& from, const c10d::AllgatherOptions& o) override {
    auto results = cpu(to), seen = cpu(from);
    return done(gloo_->allgather_into_tensor_coalesced(results, seen, o), to);
  }
  Handle gather(TensorLists&, Tensors&, const c10d::GatherOptions&) override {
    TORCH_CHECK(false, "ProcessGroupHCCL does not support gather");
  }
  Handle scatter(Tensors& to, TensorLists& from, const c10d::ScatterOptions& o) override {
    auto results = cpu(to);
    auto seen = cpu(from);
    return done(gloo_->scatter(results, seen, o), to);
  }
  Handle reduce_scatter(Tensors& to, TensorLists& from, const c10d::ReduceScatterOptions& o) override {
    auto results = cpu(to);
    auto seen = cpu(from);
    tell("reduce_scatter", o.reduceOp.op_, seen.front());
    return done(gloo_->reduce_scatter(results, seen, o), to);
  }
  Handle _reduce_scatter_base(Tensor& to, Tensor& from, const c10d::ReduceScatterOptions& o) override {
    auto result = cpu(to).view({-1}), seen = cpu(from).reshape({-1});
    tell("reduce_scatter", o.reduceOp.op_, {seen});
    return done(gloo_->_reduce_scatter_base(result, seen, o), {to});
  }
  Handle reduce_scatter_tensor_coalesced(Tensors& to, Tensors& from, const c10d::ReduceScatterOptions& o) override {
    auto results = cpu(to), seen = cpu(from);
    tell("reduce_scatter", o.reduceOp.op_, seen);
    return done(gloo_->reduce_scatter_tensor_coalesced(results, seen, o), to);
  }
  using Sizes = std::vector<int64_t>;
  Handle alltoall_base(
      Tensor& to, Tensor& from, Sizes& to_sizes, Sizes& from_sizes, const c10d::AllToAllOptions& o) override {
    auto result = cpu(to), seen = cpu(from);
    auto to_copy = to_sizes, from_copy = from_sizes;  // gloo moves them out of the caller's hands
    return done(gloo_->alltoall_base(result, seen, to_copy, from_copy, o), {to});
  }
  Handle alltoall(Tensors& to, Tensors& from, const c10d::AllToAllOptions& o) override {
    at::AutoDispatchBelowADInplaceOrView below;  // gloo knows the form of one tensor alone
    auto results = cpu(to), seen = cpu(from);
    Sizes to_sizes, from_sizes;
    Tensors parts;
    int64_t total = 0;
    for (auto& t : results) total += to_sizes.emplace_back(t.numel());
    for (auto& t : seen) {
      from_sizes.push_back(t.numel());
      parts.push_back(t.reshape({-1}));
    }
    auto sent = at::cat(parts);
    auto received = at::empty({total}, sent.options());
    auto sizes = to_sizes;
    auto work = gloo_->alltoall_base(received, sent, sizes, from_sizes, o);
    work->wait();
    int64_t from_here = 0;
    for (size_t k = 0; k < results.size(); from_here += to_sizes[k++])
      results[k].copy_(received.narrow(0, from_here, to_sizes[k]).view(results[k].sizes()));
    return done(work, to);
  }
  // what torch_npu's dist.batch_isend_irecv calls
  Handle batch_isend_irecv(const std::vector<std::string>& kinds, Tensors tensors, const std::vector<int>& ranks) {
    auto all = c10::make_intrusive<AllWork>();
    for (size_t k = 0; k < kinds.size(); k++) {
      Tensors one{cpu(tensors[k])};
      bool sends = kinds[k].find("send") != std::string::npos;
      all->works.push_back(sends ? gloo_->send(one, ranks[k], 0) : gloo_->recv(one, ranks[k], 0));
    }
    return all;
  }
  Handle send(Tensors& t, int to, int tag) override {
    auto seen = cpu(t);
    return done(gloo_->send(seen, to, tag), t);
  }
  Handle recv(Tensors& t, int from, int tag) override {
    auto seen = cpu(t);
    return done(gloo_->recv(seen, from, tag), t);
  }
  Handle recvAnysource(Tensors&, int) override { TORCH_CHECK(false, "ProcessGroupHCCL does not support recv"); }
  Handle barrier(const c10d::BarrierOptions& o) override {
    auto plain = o;
    plain.device_ids.clear();
    plain.device = std::nullopt;
    return gloo_->barrier(plain);
  }
  void setSequenceNumberForGroup() override { gloo_->setSequenceNumberForGroup(); }
  uint64_t getSequenceNumberForGroup() override { return gloo_->getSequenceNumberForGroup(); }

 private:
  c10::intrusive_ptr<c10d::Backend> gloo_;
  c10::intrusive_ptr<c10d::Store> store_;
  int device_ = -1;
  c10::intrusive_ptr<AllWork> group_;  // between startCoalescing and endCoalescing

  // HCCL refuses two ranks on one device: whoever comes second sees the first
  void claim(int device) {
    if (device == device_ || getSize() < 2) return;
    device_ = device;
    auto key = [](int rank) { return "device of rank " + std::to_string(rank); };
    auto here = "npu:" + std::to_string(device);
    store_->set(key(getRank()), here);
    for (int rank = 0; rank < getSize(); rank++) {
      if (rank == getRank() || !store_->check({key(rank)})) continue;
      auto bytes = store_->get(key(rank));
      TORCH_CHECK(
          std::string(bytes.begin(), bytes.end()) != here, "HCCL: ranks ", std::min(rank, getRank()), " and ",
          std::max(rank, getRank()), " both use ", here, ", and every rank needs its own: torch.npu.set_device(local_rank)",
          " has to come first");
    }
  }
  Tensor cpu(const Tensor& t) {
    TORCH_CHECK(is_npu(t), "Tensors must be NPU and dense");
    claim(t.device().index());
    Pairs pairs;
    return as_cpu(t.detach(), pairs);
  }
  Tensors cpu(const Tensors& list) {
    Tensors seen;
    for (auto& t : list) seen.push_back(cpu(t));
    return seen;
  }
  TensorLists cpu(const TensorLists& lists) {
    TensorLists seen;
    for (auto& list : lists) seen.push_back(cpu(list));
    return seen;
  }
  static Tensors flat(const TensorLists& lists) {
    Tensors all;
    for (auto& list : lists) all.insert(all.end(), list.begin(), list.end());
    return all;
  }
  // what goes in: when the results are there, nobody waits for them here
  static void tell(const char* name, int64_t how, const Tensors& given) {
    if (!Events::get().is_on()) return;
    Digest settings, numbers;
    settings.mix(how);
    for (auto& t : given) numbers.tensor(t);
    Events::get().tell(std::string("hccl::") + name, settings, numbers);
  }
  Handle done(Handle work, Tensors results) {
    Handle ours = c10::make_intrusive<NpuWork>(std::move(work), std::move(results));
    if (group_) group_->works.push_back(ours);
    return ours;
  }
};

}  // namespace virtual_npu
