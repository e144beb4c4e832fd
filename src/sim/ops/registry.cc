#include <tirx/sim/ops.h>
#include <tvm/ffi/container/map.h>

#include <unordered_map>

namespace tirx {
namespace sim {
namespace {

std::unordered_map<std::string, Meaning>* Table() {
  static auto* table = new std::unordered_map<std::string, Meaning>();
  return table;
}

}  // namespace

const Meaning* FindMeaning(const std::string& name) {
  auto it = Table()->find(name);
  return it == Table()->end() ? nullptr : &it->second;
}

RegisterMeanings::RegisterMeanings(std::initializer_list<Meaning> list) {
  for (const Meaning& m : list) Table()->emplace(m.name, m);
}

std::vector<std::string> MeaningNames() {
  std::vector<std::string> names;
  for (const auto& [name, m] : *Table()) names.push_back(name);
  return names;
}

int64_t IntAttr(const OpCall& c, const char* key, int64_t otherwise) {
  auto it = c.instr->sim_attrs.find(key);
  return it == c.instr->sim_attrs.end() ? otherwise : (*it).second.cast<int64_t>();
}

std::string StrAttr(const OpCall& c, const char* key, const char* otherwise) {
  auto it = c.instr->sim_attrs.find(key);
  return it == c.instr->sim_attrs.end() ? otherwise : std::string((*it).second.cast<ffi::String>());
}

void ReportPartialWarp(Warp& w, const OpCall& c, int32_t loc) {
  if (!w.m->opt.sync) return;
  Finding f;
  f.code = "partial-warp";
  f.message = std::string(c.instr->name) + " needs every thread of the warp";
  f.loc = loc;
  f.found = WarpName(w) + " executes it with " + MaskName(w.mask) + " only";
  f.required = w.exist == ~0u ? "all 32 lanes to reach it together"
                              : "a warp of 32 threads: the CTA has " + std::to_string(w.m->threads);
  f.hint = "move it out of the branch, or make the condition the same for the whole warp";
  w.m->Report(std::move(f));
}

bool RequireWholeWarp(Warp& w, const OpCall& c, int32_t loc) {
  if (w.Full()) return true;
  ReportPartialWarp(w, c, loc);
  return false;
}

}  // namespace sim
}  // namespace tirx
