/* A CANN runtime whose device is this machine's memory: enough for torch_npu to find idle NPUs.

   Every pointer it hands out is host memory, everything is synchronous. What computes is not here: the kernels are
   put in place of torch_npu's by virtual_npu.cpp. What would compute on a real device returns an error, so that an
   operator without a reference fails loudly and never returns memory that nobody wrote. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OK = 0, INVALID_PARAM = 107000, INVALID_DEVICE = 107001, OUT_OF_MEMORY = 207001, NOT_IMPLEMENTED = 500001 };
enum { MAX_DEVICES = 64, ALIGNMENT = 512 };

static __thread int current_device = 0;
static uint64_t contexts[MAX_DEVICES];

static int setting(const char *name, int otherwise) {
  const char *text = getenv(name);
  return text && *text ? atoi(text) : otherwise;
}
static int devices(void) {
  int count = setting("VIRTUAL_NPU_DEVICES", 1);
  return count < 1 ? 1 : count > MAX_DEVICES ? MAX_DEVICES : count;
}
static const char *text_setting(const char *name, const char *otherwise) {
  const char *text = getenv(name);
  return text && *text ? text : otherwise;
}

/* devices and contexts */
int aclInit(const char *config) { return OK; }
int aclFinalize(void) { return OK; }
int aclrtGetDeviceCount(uint32_t *count) { *count = devices(); return OK; }
int drvGetDevNum(int *count) { *count = devices(); return OK; }
int aclrtGetDevice(int32_t *device) { *device = current_device; return OK; }
int aclrtSetDevice(int32_t device) {
  if (device < 0 || device >= devices()) return INVALID_DEVICE;
  current_device = device;
  return OK;
}
int aclrtResetDevice(int32_t device) { return OK; }
int aclrtCreateContext(void **context, int32_t device) {
  if (device < 0 || device >= devices()) return INVALID_DEVICE;
  *context = &contexts[device];
  return OK;
}
// asked before an operator where TORCH_NPU_USE_COMPATIBLE_IMPL is set
int aclrtGetPrimaryCtxState(int32_t device, uint32_t *flags, int32_t *active) {
  if (flags) *flags = 0;
  if (active) *active = device == current_device;
  return OK;
}
int aclrtGetCurrentContext(void **context) { *context = &contexts[current_device]; return OK; }
int aclrtSetCurrentContext(void *context) {
  ptrdiff_t device = (uint64_t *)context - contexts;
  if (device < 0 || device >= devices()) return INVALID_PARAM;
  current_device = (int)device;
  return OK;
}
const char *aclrtGetSocName(void) { return text_setting("VIRTUAL_NPU_SOC", "Ascend910B3"); }
int aclGetDeviceCapability(uint32_t device, int what, int64_t *value) { *value = 24; return OK; }
int aclrtDeviceCanAccessPeer(int32_t *can, int32_t device, int32_t peer) { *can = 1; return OK; }
int aclrtGetDeviceUtilizationRate(int32_t device, void *rates) { memset(rates, 0, 32); return OK; }

/* memory */
static int allocate(void **pointer, size_t size) {
  *pointer = aligned_alloc(ALIGNMENT, (size + 2 * ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
  return *pointer ? OK : OUT_OF_MEMORY;
}
int aclrtMalloc(void **pointer, size_t size, int policy) { return allocate(pointer, size); }
int aclrtMallocAlign32(void **pointer, size_t size, int policy) { return allocate(pointer, size); }
int aclrtMallocHost(void **pointer, size_t size) { return allocate(pointer, size); }
int aclrtFree(void *pointer) { free(pointer); return OK; }
int aclrtFreeHost(void *pointer) { free(pointer); return OK; }
int aclrtMemcpy(void *to, size_t most, const void *from, size_t size, int kind) { memmove(to, from, size); return OK; }
int aclrtMemcpyAsync(void *to, size_t most, const void *from, size_t size, int kind, void *stream) {
  memmove(to, from, size);
  return OK;
}
int aclrtMemset(void *to, size_t most, int32_t value, size_t size) { memset(to, value, size); return OK; }
int aclrtMemsetAsync(void *to, size_t most, int32_t value, size_t size, void *stream) {
  memset(to, value, size);
  return OK;
}
int aclrtGetMemInfo(int kind, size_t *available, size_t *total) {
  *total = (size_t)setting("VIRTUAL_NPU_MEMORY_GB", 64) << 30;
  *available = *total / 4 * 3;
  return OK;
}
int aclrtPointerGetAttributes(const void *pointer, void *attributes) { memset(attributes, 0, 32); return OK; }

/* streams: a destroyed one is never freed, an event may still name it */
int aclrtCreateStream(void **stream) { *stream = malloc(64); return OK; }
int aclrtCreateStreamWithConfig(void **stream, uint32_t priority, uint32_t flags) { *stream = malloc(64); return OK; }
int aclrtDestroyStream(void *stream) { return OK; }
int aclrtDestroyStreamForce(void *stream) { return OK; }
int aclrtStreamQuery(void *stream, int *status) { *status = 0; return OK; }
int aclrtSynchronizeStream(void *stream) { return OK; }
int aclrtSynchronizeStreamWithTimeout(void *stream, int32_t timeout) { return OK; }
int aclrtSynchronizeDevice(void) { return OK; }
int aclrtSynchronizeDeviceWithTimeout(int32_t timeout) { return OK; }

/* events: the moment they were recorded, in milliseconds */
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}
int aclrtCreateEvent(void **event) { *event = calloc(1, 64); return OK; }
int aclrtCreateEventWithFlag(void **event, uint32_t flag) { return aclrtCreateEvent(event); }
int aclrtCreateEventExWithFlag(void **event, uint32_t flag) { return aclrtCreateEvent(event); }
int aclrtDestroyEvent(void *event) { free(event); return OK; }
int aclrtRecordEvent(void *event, void *stream) { *(double *)event = now(); return OK; }
int aclrtQueryEventStatus(void *event, int *status) { *status = 1; return OK; }     /* recorded and complete */
int aclrtQueryEventWaitStatus(void *event, int *status) { *status = 0; return OK; } /* waited for */
int aclrtEventElapsedTime(float *ms, void *from, void *to) {
  *ms = (float)(*(double *)to - *(double *)from);
  return OK;
}

/* options */
int aclrtSetDeviceSatMode(int mode) { return OK; }
int aclrtGetDeviceSatMode(int *mode) { *mode = 0; return OK; }
int aclrtSetOpExecuteTimeOut(uint32_t seconds) { return OK; }
int aclrtSetOpWaitTimeout(uint32_t seconds) { return OK; }
int aclrtGetSysParamOpt(int option, int64_t *value) { *value = 0; return OK; }
int aclrtSetSysParamOpt(int option, int64_t value) { return OK; }
int aclrtCtxGetSysParamOpt(int option, int64_t *value) { *value = 0; return OK; }
int aclrtCtxSetSysParamOpt(int option, int64_t value) { return OK; }
int aclrtPeekAtLastError(int level) { return OK; }
const char *aclGetRecentErrMsg(void) {
  return "the virtual NPU has no reference for this operator: it cannot be run here, which says nothing about a real NPU";
}
size_t aclGetCompileoptSize(int option) { return 8; }
int aclGetCompileopt(int option, char *value, size_t size) { /* what CANN answers for jit_compile on Atlas A2 and A3 */
  snprintf(value, size, "disable");
  return OK;
}
int aclSetCompileopt(int option, const char *value) { return OK; }
int aclopSetCompileFlag(int flag) { return OK; }

/* the version of CANN, on which torch_npu branches */
static const char *version(void) { return text_setting("VIRTUAL_NPU_CANN", "8.5.0"); }
int aclsysGetVersionStr(char *package, char *text) { strcpy(text, version()); return OK; }
int aclsysGetCANNVersion(int package, char *answer) { strcpy(answer, version()); return OK; } /* a struct: text first */

/* the C library's bounded functions that CANN brings */
int vsnprintf_s(char *to, size_t most, size_t count, const char *format, va_list given) {
  return vsnprintf(to, most, format, given);
}
int snprintf_s(char *to, size_t most, size_t count, const char *format, ...) {
  va_list given;
  va_start(given, format);
  int written = vsnprintf(to, most, format, given);
  va_end(given);
  return written;
}
int strcpy_s(char *to, size_t most, const char *from) {
  if (strlen(from) >= most) return 34; /* ERANGE */
  strcpy(to, from);
  return OK;
}

/* computing here would give nonsense */
int aclopCompileAndExecute(void) { return NOT_IMPLEMENTED; }
int aclopCompileAndExecuteV2(void) { return NOT_IMPLEMENTED; }
