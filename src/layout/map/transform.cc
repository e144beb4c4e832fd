/*!
 * Registered bijections.
 */
#include <map>
#include <mutex>

#include "detail.h"

namespace tirx {
namespace layout {
namespace {

std::mutex& RegistryLock() {
  static std::mutex lock;
  return lock;
}

bool IsSwizzle(const std::vector<int64_t>& p) {
  if (p.size() != 3) return false;
  for (int64_t v : p) {
    if (v < 0 || v > 62) return false;
  }
  return p[2] >= p[1] && p[0] + p[1] + p[2] <= 62;
}

/*! x ^ ((x & ((2^B - 1) << (M + S))) >> S). The selected bits are above the ones that change, so
 *  the same formula undoes it. */
std::vector<int32_t> SwizzleFormula(DagBuilder* to, const std::vector<int64_t>& p,
                                    const std::vector<int32_t>& at) {
  int64_t mask = ((int64_t{1} << p[1]) - 1) << (p[0] + p[2]);
  int32_t moved = to->Binary(IndexOp::kShr, to->And(at[0], mask), to->Const(p[2]));
  return {to->Xor(at[0], moved)};
}

/*! Only bits [M, M+B) change, so aligned blocks of 2^(M+B) are permuted in themselves. */
std::string SwizzleBijective(const std::vector<int64_t>& p, const std::vector<int64_t>& domain,
                             const std::vector<int64_t>& codomain) {
  if (!IsSwizzle(p) || domain.size() != 1 || domain != codomain) return "";
  int64_t block = int64_t{1} << (p[0] + p[1]);
  if (domain[0] % block != 0) return "";
  return "an involution (S >= B: the bits it reads do not change) that permutes each aligned block "
         "of " +
         std::to_string(block);
}

/*! Never destroyed: entries hold Python functions, which must not be released after Python ends. */
std::map<std::string, TransformEntry>& Registry() {
  static auto* registry = new std::map<std::string, TransformEntry>{
      {"xor_swizzle", {SwizzleFormula, SwizzleFormula, {}, {}, SwizzleBijective}}};
  return *registry;
}

}  // namespace

void RegisterTransform(const std::string& name, TransformEntry entry) {
  std::lock_guard<std::mutex> lock(RegistryLock());
  if (Registry().emplace(name, std::move(entry)).second) return;
  Refuse("transform-exists", "a transform of this name is registered already", name,
         "a new name: maps refer to transforms by name");
}

const TransformEntry& FindTransform(const std::string& name) {
  std::lock_guard<std::mutex> lock(RegistryLock());
  auto it = Registry().find(name);
  if (it != Registry().end()) return it->second;
  std::string known;
  for (const auto& [key, entry] : Registry()) known += (known.empty() ? "" : ", ") + key;
  Refuse("unknown-transform", "no transform of this name is registered", name, known);
}

std::string BijectionArgument(const TransformMapNode& map) {
  std::vector<int64_t> from = map.domain.Extents(), to = map.codomain.Extents();
  if (map.inverted) std::swap(from, to);
  return FindTransform(map.name).bijective(ToVector(map.params), from, to);
}

std::vector<int64_t> CallTransform(const TransformMapNode& map,
                                   const std::vector<int64_t>& coords) {
  const TransformEntry& entry = FindTransform(map.name);
  const auto& call = map.inverted ? entry.call_inverse : entry.call;
  Ints out = call.value()(map.params, ToInts(coords)).cast<Ints>();
  if (out.size() == map.codomain.rank()) return ToVector(out);
  Refuse("no-value", "the transform gave the wrong number of values", PointText(ToVector(out)),
         std::to_string(map.codomain.rank()) + " values");
}

}  // namespace layout
}  // namespace tirx
