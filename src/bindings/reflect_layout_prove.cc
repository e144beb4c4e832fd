/*!
 * Registers proofs about layout maps with the FFI (compiled at -O1).
 */
#include <tirx/layout/prove.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/function.h>

namespace tirx {
namespace {

/*! (status, argument, witness points). */
ffi::Array<ffi::Any> FactRow(const layout::Fact& f) {
  ffi::Array<Ints> witness;
  for (const auto& p : f.witness) witness.push_back(Ints(p.begin(), p.end()));
  return {static_cast<int64_t>(f.status), ffi::String(f.argument), witness};
}

/*! Rows of total, bounds, injective, surjective. */
ffi::Array<ffi::Any> Rows(const layout::LayoutProof& p) {
  return {FactRow(p.total), FactRow(p.bounds), FactRow(p.injective), FactRow(p.surjective)};
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::GlobalDef()
      .def("tx.layout_prove",
           [](LayoutMap map, int64_t budget) { return Rows(layout::Prove(map, budget)); })
      .def("tx.layout_analyze_finite",
           [](LayoutMap map, int64_t budget) { return Rows(layout::AnalyzeFinite(map, budget)); });
}

}  // namespace tirx
