#include <tirx/ir/functor.h>
#include <tirx/ir/walk.h>
#include <tirx/support/diag.h>

#include <string>
#include <unordered_map>

namespace tirx {
namespace {

/*! Type index -> position in a list of type keys (the first, when a key is repeated). */
class TypeTable {
 public:
  explicit TypeTable(const ffi::Array<ffi::String>& keys) {
    for (size_t i = 0; i < keys.size(); ++i) {
      ffi::String key = keys[i];  // owns the bytes for as long as they are looked at
      TVMFFIByteArray name{key.data(), key.size()};
      int32_t index = -1;
      TVM_FFI_CHECK_SAFE_CALL(TVMFFITypeKeyToIndex(&name, &index));
      positions_.emplace(index, static_cast<int>(i));
    }
  }
  int Match(const ffi::Object* node) const {
    auto it = positions_.find(node->type_index());
    return it == positions_.end() ? -1 : it->second;
  }

 private:
  std::unordered_map<int32_t, int> positions_;
};

class Walker : public StmtVisitor {
 public:
  Walker(const ffi::Array<ffi::String>& types, const ffi::Function& fn) : table_(types), fn_(fn) {}

  void Root(const ffi::Any& v) {
    if (auto* s = v.as<StmtNode>()) {
      VisitStmt(GetRef<Stmt>(s));
    } else if (auto* f = v.as<PrimFuncNode>()) {
      for (const auto& b : f->param_buffers) {
        if (b.has_value()) Define(*b);
      }
      VisitStmt(f->body);
    } else if (auto* m = v.as<IRModuleNode>()) {
      for (const auto& [name, f] : m->functions) Root(f);
    } else if (auto* b = v.as<BufferNode>()) {
      Define(GetRef<Buffer>(b));
    } else if (auto* r = v.as<BufferRegionNode>()) {
      VisitRegion(GetRef<BufferRegion>(r));
    } else {
      VisitAny(v);
    }
  }

  void VisitStmt(const Stmt& s) override {
    if (Enter(s)) StmtVisitor::VisitStmt(s);
  }
  void VisitExpr(const PrimExpr& e) override {
    if (Enter(e)) StmtVisitor::VisitExpr(e);
  }

 protected:
  void VisitRegion(const BufferRegion& r) override {
    if (Enter(r)) StmtVisitor::VisitRegion(r);
  }
  void VisitAllocBuffer(const AllocBufferNode* n) override { Define(n->buffer); }
  void VisitDeclBuffer(const DeclBufferNode* n) override { Define(n->buffer); }

 private:
  void Define(const Buffer& b) {
    if (Enter(b)) VisitBufferExprs(b);
  }
  bool Enter(const ffi::ObjectRef& node) {
    if (table_.Match(node.get()) < 0) return true;
    ffi::Any answer = fn_(node);
    return answer.type_index() != ffi::TypeIndex::kTVMFFIBool || answer.cast<bool>();
  }
  TypeTable table_;
  const ffi::Function& fn_;
};

class CallbackMutator : public StmtMutator {
 public:
  CallbackMutator(const ffi::Array<ffi::String>& types, const ffi::Array<ffi::Function>& fns)
      : table_(types), fns_(fns) {}

  ffi::Any Root(const ffi::Any& v) {
    if (auto* s = v.as<StmtNode>()) return VisitStmt(GetRef<Stmt>(s));
    if (auto* f = v.as<PrimFuncNode>()) return Function(GetRef<PrimFunc>(f));
    if (auto* m = v.as<IRModuleNode>()) return Module(GetRef<IRModule>(m));
    return VisitAny(v);
  }

  Stmt VisitStmt(const Stmt& s) override { return Apply(StmtMutator::VisitStmt(s)); }
  PrimExpr VisitExpr(const PrimExpr& e) override { return Apply(StmtMutator::VisitExpr(e)); }

 protected:
  BufferRegion VisitRegion(const BufferRegion& r) override {
    return Apply(StmtMutator::VisitRegion(r));
  }
  Buffer VisitBuffer(const Buffer& b) override {
    auto it = buffer_remap_.find(b.get());
    if (it != buffer_remap_.end()) return it->second;
    Buffer out = Apply(StmtMutator::VisitBuffer(b));
    buffer_remap_.insert_or_assign(b.get(), out);
    return out;
  }

 private:
  template <typename Ref>
  Ref Apply(Ref node) {
    int i = table_.Match(node.get());
    if (i < 0) return node;
    ffi::Any out = fns_[i](node);
    if (out == nullptr) return node;
    if (auto r = out.try_cast<Ref>()) return *r;
    Diag("type", "bad-replacement", {})
        .Message("a rewriting rule returned something that cannot stand here")
        .Found(out.GetTypeKey())
        .Required("a node of the kind that was given, or None to keep it")
        .Throw();
  }

  PrimFunc Function(const PrimFunc& f) {
    ffi::Array<ffi::Optional<Buffer>> buffers = f->param_buffers;
    for (size_t i = 0; i < buffers.size(); ++i) {
      ffi::Optional<Buffer> old = f->param_buffers[i];
      if (!old.has_value()) continue;
      Buffer b = VisitBuffer(*old);
      if (!b.same_as(*old)) buffers.Set(static_cast<int64_t>(i), b);
    }
    Stmt body = VisitStmt(f->body);
    if (body.same_as(f->body) && buffers.same_as(f->param_buffers)) return f;
    return PrimFunc(f->name, f->params, buffers, body, f->attrs, f->span);
  }

  IRModule Module(const IRModule& m) {
    ffi::Map<ffi::String, PrimFunc> functions = m->functions;
    for (const auto& [name, f] : m->functions) {
      PrimFunc out = Function(f);
      if (!out.same_as(f)) functions.Set(name, out);
    }
    return functions.same_as(m->functions) ? m : IRModule(functions, m->attrs);
  }

  TypeTable table_;
  const ffi::Array<ffi::Function>& fns_;
};

}  // namespace

void Walk(const ffi::Any& root, const ffi::Array<ffi::String>& types, const ffi::Function& fn) {
  Walker(types, fn).Root(root);
}

ffi::Any Mutate(const ffi::Any& root, const ffi::Array<ffi::String>& types,
                const ffi::Array<ffi::Function>& fns) {
  return CallbackMutator(types, fns).Root(root);
}

}  // namespace tirx
