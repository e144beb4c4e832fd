#include "usage.h"

#include <tirx/expr/ops.h>
#include <tirx/ir/functor.h>
#include <tirx/ir/instr.h>

#include <algorithm>
#include <vector>

#include "types.h"

namespace tirx {
namespace codegen {
namespace {

class PurityCheck : public StmtVisitor {
 public:
  bool pure = true;

 protected:
  void VisitCall(const CallNode* n) override {
    pure = pure && (IsPureIntrinsic(n->op) || n->op == "tx.address_of" || IsPureInstr(n->op));
    if (pure) StmtVisitor::VisitCall(n);
  }

 private:
  static bool IsPureInstr(const ffi::String& op) {
    const InstrNode* instr = FindInstr(op);
    return instr && instr->IsPure();
  }
};

class UsageFinder : public StmtVisitor {
 public:
  Usage result;

  /*! Variables of definitions that nothing refers to stop counting as references. */
  void DropUnused() {
    // Definitions come before their uses, so one pass from the last to the first is enough.
    for (auto it = binds_.rbegin(); it != binds_.rend(); ++it) {
      const BindNode* bind = *it;
      if (result.references[bind->var.get()] > 0 || !IsPure(bind->value)) continue;
      step_ = -1;
      VisitExpr(bind->value);
    }
  }

 protected:
  void VisitVar(const VarNode* n) override {
    result.references[n] += step_;
    // A pointer that is passed on may be written through.
    if (IsHandle(n->dtype)) MarkEscape(n);
  }
  void VisitBind(const BindNode* n) override {
    binds_.push_back(n);
    Note(n->var->dtype);
    StmtVisitor::VisitBind(n);
  }
  void VisitBuffer(const Buffer& b) override {
    result.references[b->data.get()] += step_;
    result.buffers.insert(b.get());
    Note(b->dtype);
  }
  void VisitAllocBuffer(const AllocBufferNode* n) override { Note(n->buffer->dtype); }
  void VisitDeclBuffer(const DeclBufferNode* n) override {
    Note(n->buffer->dtype);
    Storage(n->buffer)->align = std::max(Storage(n->buffer)->align, ElementBytes(n->buffer));
    VisitExpr(n->buffer->elem_offset);
  }
  void VisitBufferLoad(const BufferLoadNode* n) override {
    if (n->buffer->data.get() != stored_) Storage(n->buffer)->reads += step_;
    Access(n->buffer, n->indices);
  }
  void VisitBufferStore(const BufferStoreNode* n) override {
    Storage(n->buffer)->written = true;
    Access(n->buffer, n->indices);
    stored_ = n->buffer->data.get();
    VisitExpr(n->value);
    stored_ = nullptr;
  }
  void VisitCast(const CastNode* n) override {
    Note(n->dtype);
    StmtVisitor::VisitCast(n);
  }
  void VisitConst(const PrimExprNode* n) override { Note(n->dtype); }
  void VisitCall(const CallNode* n) override {
    Note(n->dtype);
    if (n->op == "tx.address_of") return VisitAddress(n, true);
    NoteCall(n);
    const InstrNode* instr =
        n->op.size() > 3 && n->op.starts_with("tx.") ? nullptr : FindInstr(n->op);
    for (size_t i = 0; i < n->args.size(); ++i) {
      bool known = instr && i < instr->operands.size();
      VisitArgument(n->args[i], known ? instr->operands[i].get() : nullptr);
    }
  }

 private:
  StorageUse* Storage(const Buffer& b) { return &result.storage[b->data.get()]; }
  static int64_t ElementBytes(const Buffer& b) { return StorageBytes(b->dtype, 1); }

  void Note(DType t) {
    if (const char* header = HeaderOf(t)) result.headers.insert(header);
  }
  void NoteCall(const CallNode* n) {
    auto name = n->attrs.find("name");
    if (!n->op.starts_with("tx.")) result.calls.insert(std::string(n->op));
    if (n->op == "tx.func_call" && name != n->attrs.end()) {
      result.calls.insert(std::string((*name).second.cast<ffi::String>()));
    }
  }
  void MarkEscape(const VarNode* pointer) {
    StorageUse& use = result.storage[pointer];
    use.written = true;
    use.reads += step_;
  }
  void Access(const Buffer& b, const ffi::Array<PrimExpr>& indices) {
    VisitBuffer(b);
    for (const PrimExpr& i : indices) {
      VisitExpr(i);
      int64_t bytes = StorageBytes(b->dtype, i.dtype().lanes);
      Storage(b)->align = std::max(Storage(b)->align, bytes);
    }
  }
  void VisitAddress(const CallNode* address, bool written) {
    auto* load = address->args[0].as<BufferLoadNode>();
    if (!load) return VisitExpr(address->args[0]);
    Storage(load->buffer)->reads += step_;
    if (written) Storage(load->buffer)->written = true;
    Access(load->buffer, load->indices);
  }
  void VisitArgument(const PrimExpr& arg, const InstrOperandNode* op) {
    auto* load = arg.as<BufferLoadNode>();
    if (op && op->space == "reg" && op->Writes() && load) {
      Storage(load->buffer)->written = true;
      if (op->Reads()) Storage(load->buffer)->reads += step_;
      return Access(load->buffer, load->indices);
    }
    auto* call = arg.as<CallNode>();
    bool reads = op && op->IsPointer() && !op->Writes();
    if (call && call->op == "tx.address_of" && reads) return VisitAddress(call, false);
    if (auto* var = arg.as<VarNode>(); var && reads) {
      result.references[var] += step_;
      result.storage[var].reads += step_;
      return;
    }
    VisitExpr(arg);
  }

  std::vector<const BindNode*> binds_;
  const VarNode* stored_ = nullptr;  //!< what the store being visited writes
  int step_ = 1;
};

}  // namespace

bool IsPure(const PrimExpr& e) {
  PurityCheck check;
  check.VisitExpr(e);
  return check.pure;
}

Usage FindUsage(const Stmt& body) {
  UsageFinder finder;
  finder.VisitStmt(body);
  finder.DropUnused();
  return std::move(finder.result);
}

}  // namespace codegen
}  // namespace tirx
