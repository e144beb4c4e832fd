/*!
 * Buffers and accesses to bytecode.
 */
#include <tirx/sim/access.h>
#include <tirx/sim/compile.h>
#include <tirx/support/diag.h>

#include <algorithm>

namespace tirx {
namespace sim {

int64_t Compiler::AllocBytes(const Buffer& b) {
  int64_t elements = 1;
  for (const PrimExpr& extent : b->shape) {
    Val v = Expr(extent);
    if (!v.k) NotNative("buffer " + std::string(b->name) + " of symbolic size");
    elements *= *v.k;
  }
  return (elements * BitsOf(b->dtype) + 7) / 8;
}

int32_t Compiler::RefOf(const Buffer& b) {
  auto it = refs_.find(b.get());
  if (it != refs_.end()) return it->second;
  p_->refs.push_back(MakeRef(b));
  int32_t id = static_cast<int32_t>(p_->refs.size()) - 1;
  refs_[b.get()] = id;
  return id;
}

MemRef Compiler::MakeRef(const Buffer& b) {
  auto it = storage_.find(b->data.get());
  if (it == storage_.end()) {
    auto var = vars_.find(b->data.get());
    if (var == vars_.end())
      NotNative("buffer " + std::string(b->name) + " whose storage is not defined");
    Storage st{Storage::kPointer};
    st.pointer = var->second;
    it = storage_.emplace(b->data.get(), st).first;
  }
  const Storage& st = it->second;
  static constexpr Space kSpaces[] = {Space::kGlobal, Space::kShared, Space::kLocal,
                                      Space::kPointer};
  MemRef r;
  r.space = kSpaces[st.kind];
  r.bits = b->dtype.bits;
  r.row = st.row;
  r.param = st.param;
  r.base = st.base;
  r.alloc_base = st.base;
  r.alloc_bytes = st.bytes;
  r.pointer = st.pointer.reg;
  r.pointer_scalar = st.pointer.uniform;
  r.name = std::string(b->name);
  PrimExpr elements = static_cast<int64_t>(b->dtype.lanes);
  for (const PrimExpr& e : b->shape) elements = elements * MakeCast(kInt64, e);
  r.extent_expr = elements;
  r.first_expr = MakeCast(kInt64, b->elem_offset) * static_cast<int64_t>(b->dtype.lanes);
  return r;
}

Compiler::Place Compiler::PlaceOf(const Buffer& b, const ffi::Array<PrimExpr>& indices) {
  if (indices.size() != 1)
    NotNative("an access to " + std::string(b->name) + " with several indices");
  Place p{RefOf(b), {}, 1};
  PrimExpr index = indices[0];
  if (auto* ramp = index.as<RampNode>()) {
    if (!IsConst(ramp->stride, 1)) NotNative("a strided vector access");
    p.lanes = ramp->lanes;
    index = ramp->base;
  } else if (index->dtype.lanes != 1) {
    NotNative("a gather as one vector access");
  }
  p.index = Expr(index);
  if (IsUnsigned(p.index.t) && p.index.t.bits == 32) p.index = Convert(p.index, kInt64);
  if (!IsConst(b->elem_offset, 0)) {
    Val offset = Convert(Expr(b->elem_offset), p.index.t);
    p.index = BinaryVals(BinOp::kAdd, p.index, offset);
  }
  if (b->dtype.lanes > 1) {
    p.lanes *= b->dtype.lanes;
    p.index = BinaryVals(BinOp::kMul, p.index, Constant(p.index.t, b->dtype.lanes));
  }
  return p;
}

/*! The row that holds the place's first element, when the access is whole 32-bit words of a local
 *  array at a constant index in range. */
std::optional<int32_t> Compiler::DirectRow(const Place& p) const {
  const MemRef& r = p_->refs[p.ref];
  if (r.space != Space::kLocal || r.bits != 32 || !p.index.k) return std::nullopt;
  int64_t first = *p.index.k;
  if (first < 0 || (first + p.lanes) * 4 > r.alloc_bytes) return std::nullopt;
  return r.row + static_cast<int32_t>(first);
}

void Compiler::EmitAccess(Fn fn, Kind kind, const Place& p, int32_t value_row) {
  bool local = p_->refs[p.ref].space == Space::kLocal;
  Val index = p.index;
  if (index.k && !local) index = Constant(index.t, *index.k);
  bool imm = local && index.k && *index.k == static_cast<int32_t>(*index.k);
  uint8_t how = imm ? kIdxImm : index.uniform ? kIdxScalar : RowsOf(index.t) == 2 ? kIdx64 : kIdx32;
  if (!local && p_->options.schedule == Schedule::kRandom) Emit(&MaybeYield, Kind::kNone);
  Ins& i = Emit(fn, kind, value_row, imm ? static_cast<int32_t>(*index.k) : index.reg, p.ref);
  i.n = static_cast<uint8_t>(p.lanes);
  i.idx = how;
}

void Compiler::NoteAccess(int32_t ref, uint8_t access) {
  int32_t param = p_->refs[ref].param;
  if (param >= 0) p_->param_access[param] |= access;
}

void Compiler::CheckLocal(int32_t row, int words, int32_t ref) {
  if (p_->options.init) Emit(&CheckLocalRows, Kind::kNone, row, ref, words);
}
void Compiler::MarkLocal(int32_t row, int words) {
  if (p_->options.init) Emit(&MarkLocalRows, Kind::kNone, row, 0, words);
}

Val Compiler::CompileLoad(const BufferLoadNode* n) {
  return LoadPlace(PlaceOf(n->buffer, n->indices), n->dtype);
}

Val Compiler::LoadPlace(const Place& p, DType t) {
  if (auto row = DirectRow(p)) {
    CheckLocal(*row, p.lanes, p.ref);
    Val v{t, false, *row};
    v.alias = true;
    return v;
  }
  const MemRef& r = p_->refs[p.ref];
  DType e = ElementOf(t);
  Val out{t, false, NewRows(p.lanes * RowsOf(e))};
  if (r.space == Space::kLocal) {
    EmitAccess(LocalLoadFn(r.bits, IsSigned(e)), Kind::kLocal, p, out.reg);
  } else {
    NoteAccess(p.ref, 1);
    Kind kind = r.space == Space::kShared ? Kind::kLdShared : Kind::kLdGlobal;
    EmitAccess(LoadFn(r.bits, IsSigned(e)), kind, p, out.reg);
  }
  return out;
}

void Compiler::CompileStore(const BufferStoreNode* n) {
  Val value = Expr(n->value);
  if (value.alias && value.t.lanes > 1) {
    value = PerElement(value.t, [&](int i) { return Element(value, i); });
  }
  StorePlace(PlaceOf(n->buffer, n->indices), value);
}

void Compiler::StorePlace(const Place& p, Val value) {
  value = Rows(value);
  if (auto row = DirectRow(p)) {
    StoreRows(*row, value);
    return MarkLocal(*row, p.lanes);
  }
  const MemRef& r = p_->refs[p.ref];
  if (r.space == Space::kLocal) return EmitAccess(LocalStoreFn(r.bits), Kind::kLocal, p, value.reg);
  NoteAccess(p.ref, 2);
  Kind kind = r.space == Space::kShared ? Kind::kStShared : Kind::kStGlobal;
  EmitAccess(StoreFn(r.bits), kind, p, value.reg);
}

}  // namespace sim
}  // namespace tirx
