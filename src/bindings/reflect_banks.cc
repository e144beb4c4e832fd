/*!
 * Registers the questions about shared-memory banks and access widths (compiled at -O1).
 */
#include <tirx/layout/banks.h>
#include <tvm/ffi/function.h>

namespace tirx {
namespace {

using MaybeAnalyzer = ffi::Optional<arith::Analyzer>;

layout::LaneAddresses Addresses(const ffi::Array<ffi::Optional<int64_t>>& list) {
  layout::LaneAddresses out;
  for (const auto& a : list) out.push_back(a.has_value() ? std::optional(a.value()) : std::nullopt);
  return out;
}

std::vector<int64_t> Ints(const ffi::Array<int64_t>& a) { return {a.begin(), a.end()}; }

/*! Per phase: lanes, wavefronts, number of words, then (word, lanes) of each. */
ffi::Array<int64_t> Flat(const std::vector<layout::BankPhase>& phases) {
  std::vector<int64_t> out;
  for (const layout::BankPhase& p : phases) {
    out.insert(out.end(), {p.lanes, p.wavefronts, static_cast<int64_t>(p.words.size())});
    for (const layout::BankWord& w : p.words) out.insert(out.end(), {w.word, w.lanes});
  }
  return {out.begin(), out.end()};
}

/*! Wavefronts of all phases, and their number. */
ffi::Array<int64_t> Total(const std::vector<layout::BankPhase>& phases) {
  int64_t sum = 0;
  for (const layout::BankPhase& p : phases) sum += p.wavefronts;
  return {sum, static_cast<int64_t>(phases.size())};
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  refl::GlobalDef def;
  def.def("tx.bank_phases", [](ffi::Array<ffi::Optional<int64_t>> addresses, int64_t width) {
    return Flat(layout::BankPhases(Addresses(addresses), width));
  });
  def.def("tx.bank_wavefronts", [](ffi::Array<ffi::Optional<int64_t>> addresses, int64_t width) {
    return Total(layout::BankPhases(Addresses(addresses), width));
  });
  def.def("tx.layout_wavefronts", [](Layout l, ffi::Array<int64_t> elements, int64_t per_lane,
                                     int64_t bits, int64_t base, int64_t width) {
    auto at = layout::AddressesOf(l, Ints(elements), per_lane, bits, base);
    return Total(layout::BankPhases(at, width));
  });
  def.def("tx.layout_lane_addresses",
          [](Layout l, ffi::Array<int64_t> elements, int64_t per_lane, int64_t bits, int64_t base) {
            ffi::Array<ffi::Optional<int64_t>> out;
            for (const auto& a : layout::AddressesOf(l, Ints(elements), per_lane, bits, base)) {
              out.push_back(a ? ffi::Optional<int64_t>(*a) : std::nullopt);
            }
            return out;
          });
  def.def("tx.aligned_elements",
          [](int64_t bits, int64_t align, int64_t granule, ffi::Array<int64_t> divisors) {
            return layout::AlignedElements(bits, align, granule, Ints(divisors));
          });
  def.def("tx.layout_widest_access",
          [](Layout l, ffi::Array<PrimExpr> shape, int64_t dim, int64_t bits, int64_t align,
             int64_t limit, MaybeAnalyzer a) -> ffi::Array<ffi::Any> {
            std::optional<arith::Analyzer> held;
            if (a.has_value()) held = a.value();
            auto w =
                layout::WidestAccess(l, shape, dim, bits, align, limit, held ? &*held : nullptr);
            return {w.bytes, w.elements, ffi::String(w.limit)};
          });
}

}  // namespace tirx
