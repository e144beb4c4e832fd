#include <tirx/ir/functor.h>
#include <tirx/passes/check_no_tile_calls.h>
#include <tirx/support/diag.h>

#include <string>

namespace tirx {
namespace passes {
namespace {

struct Finder : StmtVisitor {
  void VisitExpr(const PrimExpr&) override {}
  void VisitTilePrimitiveCall(const TilePrimitiveCallNode* n) override {
    std::string scope(n->scope.empty() ? "" : std::string(n->scope) + ".");
    Diag("dispatch", "tile-call-survives", n->span)
        .Message("Tx." + scope + std::string(n->op) + " was not lowered")
        .Found("a tile call after dispatch")
        .Required("loops and instructions only")
        .Hint(
            "a dispatch rule left it behind: tile calls in initialisation statements are not "
            "lowered")
        .Throw();
  }
};

}  // namespace

void CheckNoTileCalls(const PrimFunc& func) {
  Finder finder;
  finder(func->body);
}

}  // namespace passes
}  // namespace tirx
