#include "flat_storage.h"

#include <tirx/expr/ops.h>
#include <tirx/scope/dispatch_context.h>

#include <algorithm>

namespace tirx {
namespace passes {
namespace {

int64_t PowerOfTwoAtLeast(int64_t n) {
  int64_t p = 1;
  while (p < n) p *= 2;
  return p;
}

/*! Elements of `to` in the memory of `extent` elements of `from`. */
PrimExpr Reinterpreted(const PrimExpr& extent, DType from, DType to) {
  int64_t a = BitsOf(from), b = BitsOf(to);
  if (a == b) return extent;
  if (auto n = AsInt(extent)) return PrimExpr((*n * a + b - 1) / b);
  return FloorDiv(extent * PrimExpr(a) + PrimExpr(b - 1), b);
}

}  // namespace

int64_t SwizzleBytes(const Layout& layout, DType element) {
  auto* swizzle = layout.as<ComposeLayoutNode>();
  if (swizzle == nullptr || swizzle->swizzle_len == 0) return 0;
  int bits = swizzle->per_element + swizzle->swizzle_len + swizzle->atom_len;
  return (int64_t{1} << bits) * BitsOf(element) / 8;
}

FlatStorage::FlatStorage(const PrimFunc& func) {
  for (const auto& b : func->param_buffers) {
    if (b.has_value()) Add(b.value(), Origin::kParam);
  }
  VisitStmt(func->body);
  for (auto& [data, s] : storage_) Build(&s);
}

void FlatStorage::Add(const Buffer& first, Origin origin) {
  storage_.emplace(first->data.get(), Storage{first, origin, 0, {}});
  VisitBuffer(first);
}

void FlatStorage::VisitBind(const BindNode* n) {
  if (IsHandle(n->var->dtype)) bound_.insert(n->var.get());
  VisitExpr(n->value);
}

void FlatStorage::VisitAllocBuffer(const AllocBufferNode* n) { Add(n->buffer, Origin::kAlloc); }

void FlatStorage::VisitDeclBuffer(const DeclBufferNode* n) {
  Add(n->buffer, Origin::kPointer);  // a view, when its storage is known already
}

void FlatStorage::VisitBuffer(const Buffer& b) {
  auto it = storage_.find(b->data.get());
  TVM_FFI_CHECK(it != storage_.end(), InternalError)
      << "buffer " << b->name << " is used, but its storage is not declared";
  Storage& s = it->second;
  s.align = std::max({s.align, int64_t{b->align}, SwizzleBytes(b->layout, b->dtype)});
  for (const Buffer& v : s.views) {
    if (v->dtype == b->dtype) return;
  }
  if (!s.views.empty()) s.align = std::max(s.align, PowerOfTwoAtLeast(BitsOf(b->dtype) / 8));
  s.views.push_back(b);
}

void FlatStorage::Access(const Buffer& b, const ffi::Array<PrimExpr>& indices) {
  VisitBuffer(b);
  int lanes = indices.empty() ? 1 : indices.back()->dtype.lanes;
  if (lanes > 1) {
    int64_t& align = storage_.at(b->data.get()).align;
    align = std::max(align, PowerOfTwoAtLeast(lanes * BitsOf(b->dtype) / 8));
  }
  for (const PrimExpr& i : indices) VisitExpr(i);
}

void FlatStorage::VisitBufferStore(const BufferStoreNode* n) {
  Access(n->buffer, n->indices);
  VisitExpr(n->value);
}

void FlatStorage::VisitBufferLoad(const BufferLoadNode* n) { Access(n->buffer, n->indices); }

void FlatStorage::Build(Storage* s) {
  const Buffer& first = s->first;
  if (first->scope == "tmem") return;
  PrimExpr extent = MemoryExtent(first);
  if (!IsConst(first->elem_offset, 0)) extent = extent + first->elem_offset;
  // What others provide is aligned as they promise, and not as this function would like it.
  int align = static_cast<int>(s->origin == Origin::kAlloc ? s->align : first->align);
  for (Buffer& view : s->views) {
    PrimExpr n = Reinterpreted(extent, first->dtype, view->dtype);
    view = Buffer(view->name, first->data, {n}, view->dtype, Layout(), first->scope, 0, align,
                  first->allocated_addr, first->span);
  }
}

const FlatStorage::Storage& FlatStorage::Find(const VarNode* data) const {
  return storage_.at(data);
}

Buffer FlatStorage::FlatOf(const Buffer& b) const {
  for (const Buffer& v : Find(b->data.get()).views) {
    if (v->dtype == b->dtype) return v;
  }
  TVM_FFI_THROW(InternalError) << "buffer " << b->name << " was not seen";
}

std::vector<Buffer> FlatStorage::AliasesOf(const Var& data) const {
  const Storage& s = Find(data.get());
  return {s.views.begin() + 1, s.views.end()};
}

std::vector<Buffer> FlatStorage::DeclaredAt(const Var& pointer) const {
  auto it = storage_.find(pointer.get());
  if (it == storage_.end() || it->second.origin != Origin::kPointer) return {};
  return it->second.views;
}

std::vector<Var> FlatStorage::UnboundPointers() const {
  std::vector<Var> out;
  for (const auto& [data, s] : storage_) {
    bool unbound = s.origin == Origin::kPointer && bound_.count(data) == 0;
    if (unbound) out.push_back(s.first->data);
  }
  return out;
}

}  // namespace passes
}  // namespace tirx
