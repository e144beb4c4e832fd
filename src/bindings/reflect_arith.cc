/*!
 * Registers the analyzer with the FFI (compiled at -O1).
 */
#include <tirx/arith/analyzer.h>
#include <tvm/ffi/function.h>

namespace tirx {
namespace arith {

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<AnalyzerNode>(refl::init(false));
  refl::GlobalDef def;
  def.def("tx.Analyzer", []() { return Analyzer(); });
  def.def("tx.analyzer_bind",
          [](Analyzer a, Var v, PrimExpr min, PrimExpr extent) { a.Bind(v, Range(min, extent)); });
  def.def("tx.analyzer_bind_value", [](Analyzer a, Var v, PrimExpr e) { a.Bind(v, e); });
  def.def("tx.analyzer_bind_modular", [](Analyzer a, Var v, int64_t factor, int64_t residue) {
    a.BindModular(v, factor, residue);
  });
  def.def("tx.analyzer_enter", [](Analyzer a, PrimExpr c) { return a.Enter(c); });
  def.def("tx.analyzer_exit", [](Analyzer a, int64_t token) { a.Exit(token); });
  def.def("tx.analyzer_simplify", [](Analyzer a, PrimExpr e) { return a.Simplify(e); });
  def.def("tx.analyzer_bound", [](Analyzer a, PrimExpr e) {
    ConstBound b = a.Bound(e);
    return ffi::Array<int64_t>{b.min, b.max};
  });
  def.def("tx.analyzer_modular", [](Analyzer a, PrimExpr e) {
    ModularSet m = a.Modular(e);
    return ffi::Array<int64_t>{m.coeff, m.base};
  });
  def.def("tx.analyzer_divisor", [](Analyzer a, PrimExpr e) { return a.Divisor(e); });
  def.def("tx.analyzer_can_prove", [](Analyzer a, PrimExpr c) { return a.CanProve(c); });
  def.def("tx.analyzer_can_prove_equal",
          [](Analyzer a, PrimExpr x, PrimExpr y) { return a.CanProveEqual(x, y); });
}

}  // namespace arith
}  // namespace tirx
