/*!
 * Registers the passes over expressions and loops of the native stage (compiled at -O1).
 */
#include <tirx/passes/legalize_dtypes.h>
#include <tirx/passes/narrow_index.h>
#include <tirx/passes/simplify.h>
#include <tirx/passes/unroll_loops.h>
#include <tirx/passes/vectorize_loops.h>

namespace tirx {

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::GlobalDef def;
  def.def("tx.passes.legalize_dtypes", &passes::LegalizeDTypes);
  def.def("tx.passes.narrow_index", &passes::NarrowIndex);
  def.def("tx.passes.simplify", &passes::Simplify);
  def.def("tx.passes.unroll_loops", &passes::UnrollLoops);
  def.def("tx.passes.vectorize_loops", &passes::VectorizeLoops);
}

}  // namespace tirx
