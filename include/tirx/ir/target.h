/*!
 * What code is generated for: a value, filled in by the target's plug-in (python/tirx/targets).
 */
#ifndef TIRX_IR_TARGET_H_
#define TIRX_IR_TARGET_H_
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/string.h>

namespace tirx {
namespace ffi = tvm::ffi;

/*!
 * kind "cuda" | "trn"; arch "sm_90a", "trn2", ... features are capabilities, never arch numbers
 * ("cp.async", "ldmatrix", "mma.bf16", "tma", "wgmma", "tcgen05", "cluster", ...). limits:
 * "shared_bytes_per_cta" (opt-in maximum), "static_shared_bytes" (48 KiB on CUDA),
 * "threads_per_cta", "registers_per_thread", "warp_size", "cluster_ctas", ...
 */
class TargetNode : public ffi::Object {
 public:
  ffi::String kind;
  ffi::String arch;
  ffi::Array<ffi::String> features;
  ffi::Map<ffi::String, int64_t> limits;
  bool Has(const ffi::String& feature) const {
    for (const ffi::String& f : features) {
      if (f == feature) return true;
    }
    return false;
  }
  int64_t Limit(const ffi::String& name, int64_t otherwise) const {
    auto it = limits.find(name);
    return it == limits.end() ? otherwise : (*it).second;
  }
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.Target", TargetNode, ffi::Object);
};
class Target : public ffi::ObjectRef {
 public:
  explicit Target(ffi::ObjectPtr<TargetNode> n) : ObjectRef(std::move(n)) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Target, ffi::ObjectRef, TargetNode);
};

}  // namespace tirx
#endif  // TIRX_IR_TARGET_H_
