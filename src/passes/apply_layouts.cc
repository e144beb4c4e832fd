#include <tirx/expr/ops.h>
#include <tirx/layout/ops.h>
#include <tirx/passes/apply_layouts.h>
#include <tirx/scope/dispatch_context.h>
#include <tirx/scope/facts.h>
#include <tirx/support/diag.h>

#include <string>

#include "flat_storage.h"

namespace tirx {
namespace passes {
namespace {

constexpr int64_t kMaxInt32 = INT32_MAX;

bool IsFlat(const Buffer& b) {
  return b->shape.size() == 1 && !b->layout.defined() && IsConst(b->elem_offset, 0);
}

/*! Offsets into this many elements (or an unknown number) need 64 bits. */
bool NeedsInt64(const PrimExpr& extent) {
  auto n = AsInt(extent);
  return !n || *n > kMaxInt32;
}

bool OnThreads(const Layout& layout) {
  if (!layout.defined()) return false;
  TileLayout tile = layout::TileOf(layout);
  auto any = [](const ffi::Array<Iter>& iters) {
    for (const Iter& it : iters) {
      if (GetAxis(FindAxis(it->axis)).is_thread && !IsConst(it->extent, 1)) return true;
    }
    return false;
  };
  return any(tile->shard) || any(tile->replica);
}

/*! Over how many owners the elements are spread. */
int64_t Owners(const Layout& layout) {
  int64_t n = 1;
  for (const Iter& it : layout::TileOf(layout)->shard) {
    if (GetAxis(FindAxis(it->axis)).is_thread) n *= AsInt(it->extent).value_or(1);
  }
  return n;
}

class LayoutApplier : public scope::FactsMutator {
 public:
  LayoutApplier(const PrimFunc& func, const arith::Analyzer& analyzer)
      : FactsMutator(analyzer), storage_(func) {}

  ffi::Array<ffi::Optional<Buffer>> Params(const PrimFunc& func) const {
    ffi::Array<ffi::Optional<Buffer>> out;
    for (const auto& b : func->param_buffers) {
      out.push_back(b.has_value() ? ffi::Optional<Buffer>(storage_.FlatOf(b.value())) : b);
    }
    return out;
  }

  /*! The body with the aliases of parameters declared at its start. */
  Stmt Run(const PrimFunc& func) {
    ffi::Array<Stmt> out;
    for (const auto& b : func->param_buffers) {
      if (b.has_value()) Declare(storage_.AliasesOf(b.value()->data), {}, &out);
    }
    for (const Var& v : storage_.UnboundPointers()) Declare(storage_.DeclaredAt(v), {}, &out);
    if (out.empty()) return VisitStmt(func->body);
    Stmt body = VisitStmt(func->body);
    return InsertAfterEntry(body, out);
  }

 protected:
  Stmt VisitStmt(const Stmt& s) override {
    Span outer = span_;
    if (s->span.defined()) span_ = s->span;
    Stmt out = FactsMutator::VisitStmt(s);
    span_ = outer;
    return out;
  }

  Buffer VisitBuffer(const Buffer& b) override {
    return b->scope == "tmem" ? b : storage_.FlatOf(b);
  }

  Stmt VisitAllocBuffer(const AllocBuffer& s) override {
    if (s->buffer->scope == "tmem") return s;
    ffi::Array<Stmt> out{MakeAllocBuffer(VisitBuffer(s->buffer), s->span)};
    Declare(storage_.AliasesOf(s->buffer->data), s->span, &out);
    return MakeSeq(out);
  }

  /*! Views are declared with their storage; for pointers that is where they are computed. */
  Stmt VisitDeclBuffer(const DeclBuffer& s) override { return MakeSeq({}); }

  Stmt VisitBind(const Bind& s) override {
    std::vector<Buffer> views = storage_.DeclaredAt(s->var);
    if (views.empty()) return FactsMutator::VisitBind(s);
    ffi::Array<Stmt> out{FactsMutator::VisitBind(s)};
    Declare(views, s->span, &out);
    return MakeSeq(out);
  }

  PrimExpr VisitBufferLoad(const BufferLoad& e) override {
    if (e->buffer->scope == "tmem") return e;
    ffi::Array<PrimExpr> indices = VisitArray(e->indices);
    Buffer flat = VisitBuffer(e->buffer);
    const Span& where = e->span.defined() ? e->span : span_;
    if (flat.same_as(e->buffer) && indices.same_as(e->indices)) return e;
    return BufferLoad(flat, {Flatten(e->buffer, flat, indices, where)}, e->span);
  }

  Stmt VisitBufferStore(const BufferStore& s) override {
    if (s->buffer->scope == "tmem") return s;
    ffi::Array<PrimExpr> indices = VisitArray(s->indices);
    Buffer flat = VisitBuffer(s->buffer);
    PrimExpr value = VisitExpr(s->value);
    return MakeBufferStore(flat, value, {Flatten(s->buffer, flat, indices, span_)}, s->span);
  }

 private:
  static void Declare(const std::vector<Buffer>& views, const Span& span, ffi::Array<Stmt>* out) {
    for (const Buffer& b : views) out->push_back(MakeDeclBuffer(b, span));
  }

  static Stmt InsertAfterEntry(const Stmt& body, const ffi::Array<Stmt>& what) {
    ffi::Array<Stmt> out;
    auto add = [&](const Stmt& s) {
      out.push_back(s);
      if (KindOf(s) == StmtKind::kDeviceEntry) out.insert(out.end(), what.begin(), what.end());
    };
    if (auto* seq = body.as<SeqStmtNode>()) {
      for (const Stmt& s : seq->seq) add(s);
    } else {
      add(body);
    }
    return MakeSeq(out);
  }

  /*! The element offset of b[indices] from its data pointer. */
  PrimExpr Flatten(const Buffer& b, const Buffer& flat, const ffi::Array<PrimExpr>& indices,
                   const Span& where) {
    bool wide = NeedsInt64(flat->shape[0]);
    if (OnThreads(b->layout)) ThrowDistributed(b, where);
    if (indices.empty()) return ScalarOffset(b, indices, wide);
    if (auto* ramp = indices.back().as<RampNode>())
      return VectorOffset(b, indices, ramp, wide, where);
    return ScalarOffset(b, indices, wide);
  }

  PrimExpr ScalarOffset(const Buffer& b, ffi::Array<PrimExpr> indices, bool wide) {
    if (wide) {
      indices = indices.Map([](const PrimExpr& e) { return MakeCast(kInt64, e); });
    }
    if (IsFlat(b)) return indices[0];
    PrimExpr index = b->layout.defined()
                         ? layout::MemoryIndex(b->layout, indices, b->shape, analyzer())
                         : RowMajor(b, indices, wide);
    return IsConst(b->elem_offset, 0) ? index : index + b->elem_offset;
  }

  static PrimExpr RowMajor(const Buffer& b, const ffi::Array<PrimExpr>& indices, bool wide) {
    PrimExpr offset = 0, stride = 1;
    for (size_t i = indices.size(); i-- > 0;) {
      offset = indices[i] * stride + offset;
      PrimExpr extent = b->shape[i];
      stride = stride * (wide && !AsInt(extent) ? MakeCast(kInt64, extent) : extent);
    }
    return offset;
  }

  PrimExpr VectorOffset(const Buffer& b, const ffi::Array<PrimExpr>& indices, const RampNode* ramp,
                        bool wide, const Span& where) {
    auto at = [&](int64_t lane) {
      ffi::Array<PrimExpr> scalar = indices;
      scalar.Set(scalar.size() - 1, ramp->base + PrimExpr(lane) * ramp->stride);
      return ScalarOffset(b, scalar, wide);
    };
    PrimExpr base = at(0);
    bool together = IsConst(ramp->stride, 1) && (!b->layout.defined() || InAlignedRun(b, ramp));
    for (int64_t lane = 1; !together && lane < ramp->lanes; ++lane) {
      if (!analyzer()->CanProveEqual(at(lane), base + PrimExpr(lane)))
        ThrowScattered(b, ramp, where);
    }
    return MakeRamp(base, MakeConst(base->dtype, 1), ramp->lanes);
  }

  /*! Whether the access lies in one aligned run that the layout keeps together. */
  bool InAlignedRun(const Buffer& b, const RampNode* ramp) {
    int64_t run = 1;
    while (run < ramp->lanes) run *= 2;
    int64_t divisor = analyzer()->Divisor(ramp->base);
    int64_t dim = static_cast<int64_t>(b->shape.size()) - 1;
    return divisor % run == 0 &&
           layout::ContiguousRun(b->layout, b->shape, dim, run, analyzer()) >= run;
  }

  [[noreturn]] static void ThrowDistributed(const Buffer& b, const Span& where) {
    std::string name(b->name), n = std::to_string(Owners(b->layout));
    Diag("layout", "distributed-access", where)
        .Message("'" + name + "' is distributed over " + n +
                 " threads and has no elements to index")
        .Found("an element access to a buffer with layout " + layout::LayoutText(b->layout))
        .Required("a tile primitive, which knows who owns which element")
        .Hint("use Tx.copy, Tx.cast or a reduction (Tx.sum, Tx.max); `" + name +
              ".local()` is what this thread owns")
        .Throw();
  }

  [[noreturn]] static void ThrowScattered(const Buffer& b, const RampNode* ramp,
                                          const Span& where) {
    Diag("layout", "vector-access-scattered", where)
        .Message("a vector access to '" + std::string(b->name) + "' is not consecutive in memory")
        .Found(std::to_string(ramp->lanes) +
               " elements along a layout that scatters them, or that " + "cannot be proved not to")
        .Required("elements that follow one another in memory")
        .Hint("access fewer elements at once, or align the first index to their number")
        .Throw();
  }

  FlatStorage storage_;
  Span span_;
};

}  // namespace

PrimFunc ApplyLayouts(const PrimFunc& func) {
  arith::Analyzer analyzer;
  scope::IdTable ids(scope::CollectScopeIds(func->body), scope::LaunchOf(func));
  scope::BindFacts(analyzer, func, ids);
  LayoutApplier applier(func, analyzer);
  Stmt body = applier.Run(func);
  ffi::Map<ffi::String, ffi::Any> attrs = func->attrs;
  attrs.Set("tirx.signature", func->param_buffers);
  return PrimFunc(func->name, func->params, applier.Params(func), body, attrs, func->span);
}

}  // namespace passes
}  // namespace tirx
