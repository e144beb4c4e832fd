/*!
 * Operations on lists of iters shared by the layout operations.
 */
#ifndef TIRX_LAYOUT_STEPS_H_
#define TIRX_LAYOUT_STEPS_H_
#include <tirx/layout/ops.h>

#include <string>
#include <vector>

#include "form.h"

namespace tirx {
namespace layout {

/*! Dimension d is steps [seps[d], seps[d+1]). */
struct StepGroups {
  std::vector<Step> steps;
  std::vector<size_t> seps;
  std::vector<Step> Dim(size_t d) const {
    return {steps.begin() + static_cast<ptrdiff_t>(seps[d]),
            steps.begin() + static_cast<ptrdiff_t>(seps[d + 1])};
  }
};

/*! Drops unit iters, puts zero strides on m, merges neighbours. */
std::vector<Step> MergeSteps(const std::vector<Step>& steps, Prover& prover);
/*! Splits steps at the boundaries of shape; every dimension gets at least one step. Merges first
 *  when the given steps do not split. Raises "size-mismatch" or "not-groupable". */
StepGroups GroupSteps(const std::vector<Step>& steps, const std::vector<Num>& shape,
                      Prover& prover);
/*! As above, or nothing; `why` says which dimension cuts which iter. */
std::optional<StepGroups> TryGroupSteps(const std::vector<Step>& steps,
                                        const std::vector<Num>& shape, Prover& prover,
                                        std::string* why);

/*! Coordinates while they are accumulated, in order of first mention. */
class Accumulator {
 public:
  void Mention(AxisId axis);
  void Add(AxisId axis, const Num& value);
  const std::vector<std::pair<AxisId, Num>>& entries() const { return entries_; }

 private:
  std::vector<std::pair<AxisId, Num>> entries_;
};
/*! Adds digit * stride for the digits of `x` over steps; the outermost digit is not reduced. */
void AddDigits(const std::vector<Step>& steps, Num x, Prover& prover, Accumulator* out);

/*! Largest minus smallest coordinate on axis over all digits of steps. */
Num Reach(const std::vector<Step>& steps, AxisId axis);

/*! Strides and offsets of `f` times the span of `unit` on their axis. */
Form ScaledBySpan(Form f, const Layout& unit, Facts facts);

/*! Runs f on the TileLayout, or on the tile of a ComposeLayout and swizzles the result again. */
template <typename F>
Layout OnTile(const Layout& layout, F f) {
  if (auto* c = layout.as<ComposeLayoutNode>()) {
    return ComposeLayout(c->per_element, c->swizzle_len, c->atom_len,
                         f(Form::Of(c->tile)).ToLayout());
  }
  return f(Form::Of(TileOf(layout))).ToLayout();
}

}  // namespace layout
}  // namespace tirx
#endif  // TIRX_LAYOUT_STEPS_H_
