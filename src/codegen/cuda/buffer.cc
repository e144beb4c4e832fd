/*!
 * Accesses to storage, one element or one vector.
 */
#include <tirx/expr/ops.h>
#include <tirx/support/diag.h>

#include "cuda_printer.h"
#include "types.h"

namespace tirx {
namespace codegen {

/*! A buffer of shape (1,) in `local` that owns its storage is a C scalar. */
bool CudaPrinter::IsScalar(const BufferNode* b) const {
  auto it = owners_.find(b->data.get());
  if (it == owners_.end() || it->second->dtype != b->dtype) return false;
  const BufferNode* owner = it->second.get();
  return owner->scope == "local" && owner->shape.size() == 1 && IsConst(owner->shape[0], 1);
}

bool CudaPrinter::IsConstStorage(const Buffer& b) {
  auto it = owners_.find(b->data.get());
  bool parameter = it != owners_.end() && it->second->scope == "global";
  return parameter && !usage_.storage[b->data.get()].written;
}

/*! An expression of pointer (or array) type for element 0 of b. */
std::string CudaPrinter::BaseOf(const Buffer& b) {
  auto alias = aliases_.find(b.get());
  if (alias != aliases_.end()) return alias->second;
  auto name = vars_.find(b->data.get());
  if (name == vars_.end()) {
    Diag("verify", "codegen-buffer", b->span)
        .Message("buffer `" + std::string(b->name) + "` is used but nothing defines its storage")
        .Required("a parameter, an allocation or a pointer variable")
        .Throw();
  }
  auto owner = owners_.find(b->data.get());
  DType stored = owner != owners_.end()       ? owner->second->dtype
                 : b->data->pointer.defined() ? b->data->pointer->element
                                              : b->dtype;
  std::string base = IsScalar(owner != owners_.end() ? owner->second.get() : b.get())
                         ? "&" + name->second
                         : name->second;
  if (stored == b->dtype && IsConst(b->elem_offset, 0)) return base;
  std::string type = std::string(IsConstStorage(b) ? "const " : "") + StorageType(b->dtype) + " *";
  std::string cast = stored == b->dtype ? base : "(" + type + ")" + base;
  if (IsConst(b->elem_offset, 0)) return "(" + cast + ")";
  PrimExpr offset = IsPacked(b->dtype) ? FloorDiv(b->elem_offset, 2) : b->elem_offset;
  return "(" + cast + " + " + Text(offset, kSum + 1) + ")";
}

void CudaPrinter::Element(const Buffer& b, const ffi::Array<PrimExpr>& indices, int level) {
  if (indices.size() != 1) {
    Diag("verify", "codegen-index", b->span)
        .Message("buffer `" + std::string(b->name) + "` is not flat")
        .Found(std::to_string(indices.size()) + " indices")
        .Required("one element offset (native stage)")
        .Throw();
  }
  if (IsScalar(b.get()) && !aliases_.count(b.get()) && IsConst(b->elem_offset, 0)) {
    out_.text += vars_.at(b->data.get());
    return;
  }
  std::string base = BaseOf(b);
  if (IsPacked(b->dtype)) {
    out_.text += UseHelper("load_nibble") + "<" + CType(b->dtype) + ">(" + base + ", ";
    Expr(indices[0], kAssign);
    out_.text += ")";
    return;
  }
  if (base[0] == '&') base = "(" + base + ")";
  out_.text += base + "[";
  auto* imm = indices[0].as<IntImmNode>();
  imm ? void(out_.text += IntLiteral(imm->value, indices[0].dtype(), true))
      : Expr(indices[0], kAssign);
  out_.text += "]";
}

std::string CudaPrinter::AddressOf(const Buffer& b, const PrimExpr& index) {
  PrimExpr first = index;
  if (auto* ramp = index.as<RampNode>()) first = ramp->base;
  bool scalar = IsScalar(b.get()) && !aliases_.count(b.get());
  if (IsConst(first, 0) && !scalar) return BaseOf(b);
  if (IsPacked(b->dtype)) return "&" + BaseOf(b) + "[" + Text(FloorDiv(first, 2), kAssign) + "]";
  std::string saved;
  saved.swap(out_.text);
  Element(b, {first}, kPrimary);
  saved.swap(out_.text);
  return "&" + saved;
}

}  // namespace codegen
}  // namespace tirx
