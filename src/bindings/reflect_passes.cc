/*!
 * Registers the passes (compiled at -O1).
 */
#include <tirx/passes/apply_layouts.h>
#include <tirx/passes/check_instructions.h>
#include <tirx/passes/check_no_tile_calls.h>
#include <tirx/passes/check_teams.h>
#include <tirx/passes/lower_scope_ids.h>
#include <tirx/passes/plan_shared.h>
#include <tirx/passes/resolve_scopes.h>
#include <tirx/passes/split_host_device.h>
#include <tirx/passes/tile_primitive_dispatch.h>
#include <tirx/verify/verify.h>

namespace tirx {

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::GlobalDef def;
  def.def("tx.passes.resolve_scopes", &passes::ResolveScopes);
  def.def("tx.passes.check_instructions", &passes::CheckInstructions);
  def.def("tx.passes.check_teams", &passes::CheckTeams);
  def.def("tx.passes.tile_primitive_dispatch", &passes::TilePrimitiveDispatch);
  def.def("tx.passes.check_no_tile_calls", &passes::CheckNoTileCalls);
  def.def("tx.passes.apply_layouts", &passes::ApplyLayouts);
  def.def("tx.passes.lower_scope_ids", &passes::LowerScopeIds);
  def.def("tx.passes.plan_shared", &passes::PlanShared);
  def.def("tx.passes.split_host_device", &passes::SplitHostDevice);
  def.def("tx.verify", [](PrimFunc func, std::string stage) {
    ffi::Array<ffi::Any> out;
    for (const verify::Problem& p : verify::Verify(func, stage)) {
      out.push_back(ffi::Map<ffi::String, ffi::Any>{{"code", ffi::String(p.code)},
                                                    {"message", ffi::String(p.message)},
                                                    {"found", ffi::String(p.found)},
                                                    {"required", ffi::String(p.required)},
                                                    {"span", p.span}});
    }
    return out;
  });
  def.def("tx.verify_rules", []() {
    ffi::Array<ffi::Any> out;
    for (const auto& row : verify::Rules()) {
      ffi::Array<ffi::String> cells;
      for (const std::string& cell : row) cells.push_back(cell);
      out.push_back(cells);
    }
    return out;
  });
}

}  // namespace tirx
