#include "purity.h"

#include <tirx/expr/ops.h>
#include <tirx/ir/functor.h>
#include <tirx/ir/instr.h>

namespace tirx {
namespace passes {
namespace {

bool IsPureCall(const ffi::String& op) {
  if (IsPureIntrinsic(op)) return true;
  const InstrNode* instr = FindInstr(op);
  return instr != nullptr && instr->effects.size() == 1 && instr->effects[0] == "pure";
}

struct EffectFinder : StmtVisitor {
  bool found = false;
  void VisitCall(const CallNode* n) override {
    found = found || !IsPureCall(n->op);
    StmtVisitor::VisitCall(n);
  }
  void VisitBinary(const BinaryNode* n) override {
    bool divides = n->kind() >= BinOp::kFloorDiv && n->kind() <= BinOp::kTruncMod;
    auto divisor = AsInt(n->b);
    found = found || (divides && IsInteger(ElementOf(n->dtype)) && divisor.value_or(0) == 0);
    StmtVisitor::VisitBinary(n);
  }
};

/*! not cond, with integer comparisons turned round (a float comparison fails for NaN both ways). */
PrimExpr Negation(const PrimExpr& cond, const Span& span) {
  constexpr BinOp kOpposite[] = {BinOp::kNE, BinOp::kEQ, BinOp::kGE,
                                 BinOp::kGT, BinOp::kLE, BinOp::kLT};
  auto* n = cond.as<BinaryNode>();
  if (n == nullptr || !IsComparison(n->kind()) || !IsInteger(n->a.dtype())) {
    return MakeNot(cond, span);
  }
  int which = static_cast<int>(n->kind()) - static_cast<int>(BinOp::kEQ);
  return MakeBinary(kOpposite[which], n->a, n->b, cond->span);
}

struct ExitFinder : StmtVisitor {
  bool found = false;
  void VisitBreak(const BreakNode*) override { found = true; }
  void VisitContinue(const ContinueNode*) override { found = true; }
  void VisitFor(const ForNode*) override {}
  void VisitWhile(const WhileNode*) override {}
};

}  // namespace

bool CanDrop(const PrimExpr& e) {
  EffectFinder finder;
  finder(e);
  return !finder.found;
}

bool LeavesLoop(const Stmt& s) {
  ExitFinder finder;
  finder(s);
  return finder.found;
}

Stmt MakeTidyIf(const PrimExpr& cond, const Stmt& then_case, const ffi::Optional<Stmt>& else_case,
                const Span& span) {
  bool has_else = else_case.has_value() && !IsEmpty(else_case.value());
  if (!IsEmpty(then_case)) {
    return MakeIf(cond, then_case, has_else ? else_case : ffi::Optional<Stmt>(), span);
  }
  if (has_else) return MakeIf(Negation(cond, span), else_case.value(), std::nullopt, span);
  return CanDrop(cond) ? MakeSeq({}) : MakeEvaluate(cond, span);
}

}  // namespace passes
}  // namespace tirx
