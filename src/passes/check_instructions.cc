#include <tirx/expr/ops.h>
#include <tirx/ir/functor.h>
#include <tirx/ir/instr.h>
#include <tirx/passes/check_instructions.h>

#include <string>
#include <unordered_set>

namespace tirx {
namespace passes {
namespace {

class Checker : public StmtVisitor {
 public:
  explicit Checker(const Target& target) : target_(target) {}

 protected:
  void VisitStmt(const Stmt& s) override {
    Span outer = span_;
    if (s->span.defined()) span_ = s->span;
    StmtVisitor::VisitStmt(s);
    span_ = outer;
  }
  void VisitCall(const CallNode* n) override {
    StmtVisitor::VisitCall(n);
    std::string name(n->op);
    if (name.compare(0, 3, "tx.") == 0 || !checked_.insert(name).second) return;
    const Span& where = n->span.defined() ? n->span : span_;
    CheckInstrTarget(RequireInstr(n->op, where), target_, where);
  }

 private:
  const Target& target_;
  Span span_;
  std::unordered_set<std::string> checked_;
};

}  // namespace

void CheckInstructions(const PrimFunc& func, const Target& target) {
  Checker checker(target);
  checker(func->body);
}

}  // namespace passes
}  // namespace tirx
