at::Tensor pool_npu(at::Tensor a) { EXEC_NPU_CMD(aclnnPool, a); return a; }
REGISTER_NPU_IMPL(pool_impl, pool_npu);
