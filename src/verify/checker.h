/*!
 * The walk of the verifier: names, loops and problems. The table is in rules.cc.
 */
#ifndef TIRX_SRC_VERIFY_CHECKER_H_
#define TIRX_SRC_VERIFY_CHECKER_H_
#include <tirx/ir/functor.h>
#include <tirx/verify/verify.h>

#include <unordered_set>

namespace tirx {
namespace verify {

enum Stage : uint8_t { kTile = 1, kNative = 2 };

class Checker : public StmtVisitor {
 public:
  explicit Checker(Stage stage) : stage_(stage) {}
  std::vector<Problem> Run(const PrimFunc& func);

  void Report(const char* code, std::string message, std::string found, std::string required);
  Stage stage() const { return stage_; }
  int loops() const { return loops_; }
  bool on_device() const { return on_device_; }
  /*! Rules about one buffer, index list or call, at this stage. */
  void CheckBuffer(const Buffer& b);
  void CheckIndices(const Buffer& b, const ffi::Array<PrimExpr>& indices);
  void CheckCall(const CallNode* n);

 protected:
  void VisitStmt(const Stmt& s) override;
  void VisitVar(const VarNode* v) override;
  void VisitCall(const CallNode* n) override;
  void VisitBufferLoad(const BufferLoadNode* n) override;
  void VisitBuffer(const Buffer& b) override;
  void VisitBind(const BindNode* n) override;
  void VisitAllocBuffer(const AllocBufferNode* n) override;
  void VisitDeclBuffer(const DeclBufferNode* n) override;
  void VisitBufferStore(const BufferStoreNode* n) override;
  void VisitFor(const ForNode* n) override;
  void VisitWhile(const WhileNode* n) override;
  void VisitIfThenElse(const IfThenElseNode* n) override;
  void VisitFilter(const FilterNode* n) override;
  void VisitScopeIdDef(const ScopeIdDefNode* n) override;
  void VisitDeviceEntry(const DeviceEntryNode*) override { on_device_ = true; }

 private:
  void Define(const Var& v);
  /*! Forgets the names defined since there were `mark` of them. */
  void Forget(size_t mark);
  void VisitNested(const Stmt& s);
  void DefineParams(const PrimFunc& func);
  void DefineFree(const Buffer& b);

  Stage stage_;
  Span span_;
  int loops_{0};
  bool on_device_{false};
  std::unordered_set<const VarNode*> visible_, ever_;
  std::unordered_set<const VarNode*> computed_;  // pointers that are values of Binds
  std::vector<const VarNode*> order_;            // of visible_
  std::vector<Problem> problems_;
};

/*! A row of the table: `check` may be null. */
struct Row {
  StmtKind kind;
  const char* name;
  uint8_t stages;
  const char* rule;
  void (*check)(const StmtNode* s, Checker* c);
};
const std::vector<Row>& Table();

}  // namespace verify
}  // namespace tirx
#endif  // TIRX_SRC_VERIFY_CHECKER_H_
