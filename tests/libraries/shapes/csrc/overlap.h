inline at::Tensor overlap(at::Tensor a, at::Tensor b) {
  if (a.is_cuda()) return overlap_cuda(a);
  AT_ERROR("not compiled with GPU support");
}
class SumBy : public torch::autograd::Function<SumBy> {
 public:
  static at::Tensor forward(AutogradContext *ctx, at::Tensor a) { return overlap_cuda(a); }
};
inline at::Tensor sum_by(at::Tensor a) { return SumBy::apply(a)[0]; }
inline at::Tensor count_by(at::Tensor a) { return a.sum(); }
inline at::Tensor blur(at::Tensor a) {
  functor::Blur<GPU> run;
  return run(a);
}
