/*!
 * Boxes of a tile.
 *
 * Per dimension, from the innermost iter outwards, with start b and extent n: an iter whose extent
 * divides both is kept whole; a box that stays inside the iter keeps n steps of it and fixes the
 * iters further out; the outermost iter takes any start. A static box that crosses a boundary
 * anywhere else is a layout only when y -> D(b + y) - D(b) is a mixed-radix map, which is decided
 * exactly by reading its iters off its values (radix.h). So is a static box of a shape that does not
 * group the iters. Under a swizzle the same is asked of the swizzled addresses: a box of them may be a
 * layout where the same box of the tile is none.
 */
#include <tirx/support/diag.h>
#include <tirx/support/diag_code.h>

#include <algorithm>

#include "radix.h"
#include "steps.h"
#include "swizzle.h"

namespace tirx {
namespace layout {
namespace {

constexpr int64_t kMaxCrossing = 1 << 16;
using Place = std::vector<int64_t>;

struct Box {
  Num begin;
  Num extent;
};

std::vector<AxisId> AxesOf(const std::vector<Step>& steps) {
  std::vector<AxisId> out;
  for (const Step& s : steps) {
    if (std::find(out.begin(), out.end(), s.axis) == out.end()) out.push_back(s.axis);
  }
  return out;
}

Place PlaceOf(const std::vector<Step>& steps, const std::vector<AxisId>& axes, int64_t x) {
  Place out(axes.size(), 0);
  for (size_t i = steps.size(); i-- > 0;) {
    int64_t e = steps[i].extent.value();
    int64_t digit = i == 0 ? x : x % e;
    size_t a = std::find(axes.begin(), axes.end(), steps[i].axis) - axes.begin();
    out[a] = CheckedAdd(out[a], CheckedMul(digit, steps[i].stride.value()));
    x /= e;
  }
  return out;
}

/*! The slice of one dimension; collects its iters (innermost first) and its start's place. */
class DimSlicer {
 public:
  DimSlicer(std::vector<Step> steps, Box box, size_t dim, Prover& prover, Accumulator* start)
      : steps_(std::move(steps)), box_(box), dim_(dim), prover_(prover), start_(start) {}

  std::vector<Step> Run() {
    Num begin = box_.begin, n = box_.extent;
    while (!steps_.empty()) {
      Step inner = steps_.back();
      if (n.Is(1)) return Fix(begin);
      if (steps_.size() == 1) return Keep(inner, n, begin);
      if (prover_.Divides(inner.extent, begin) && prover_.Divides(inner.extent, n)) {
        kept_.push_back(inner);
        begin = prover_.Div(begin, inner.extent);
        n = prover_.Div(n, inner.extent);
        steps_.pop_back();
        continue;
      }
      if (!prover_.StaysInside(begin, n, inner.extent)) return Cross(begin, n);
      Keep(inner, n, prover_.Mod(begin, inner.extent));
      steps_.pop_back();
      return Fix(prover_.Div(begin, inner.extent));
    }
    return kept_;
  }

 private:
  std::vector<Step> Fix(const Num& begin) {
    AddDigits(steps_, begin, prover_, start_);
    return kept_;
  }
  std::vector<Step> Keep(const Step& s, const Num& n, const Num& digit) {
    kept_.push_back({n, s.stride, s.axis});
    start_->Add(s.axis, digit * s.stride);
    return kept_;
  }
  bool Static(const Num& begin, const Num& n) const {
    return begin.IsConst() && n.IsConst() && std::all_of(steps_.begin(), steps_.end(), [](auto& s) {
             return s.extent.IsConst() && s.stride.IsConst();
           });
  }
  std::vector<Step> Cross(const Num& begin, const Num& n) {
    if (!Static(begin, n) || n.value() > kMaxCrossing) ThrowUnproved(begin, n);
    std::vector<AxisId> axes = AxesOf(steps_);
    RadixReader reader(axes, n.value());
    for (int64_t y = 0; y < n.value(); ++y) {
      if (!reader.Next(PlaceOf(steps_, axes, begin.value() + y).data())) ThrowNotALayout();
    }
    std::vector<Step> read = reader.Steps();
    kept_.insert(kept_.end(), read.begin(), read.end());
    for (size_t a = 0; a < axes.size(); ++a) start_->Add(axes[a], reader.origin()[a]);
    return kept_;
  }
  std::string Where() const {
    return "[" + Text(box_.begin) + ", +" + Text(box_.extent) + ") of dimension " +
           std::to_string(dim_) + ", iters " + Text(steps_);
  }
  [[noreturn]] void ThrowNotALayout() const {
    Diag("layout", "slice-not-a-layout", {})
        .Message("the box crosses an iter boundary and is no single layout")
        .Found(Where())
        .Required("a box that starts and ends on multiples of " + Text(steps_.back().extent) +
                  ", or lies inside one such block")
        .Throw();
  }
  [[noreturn]] void ThrowUnproved(const Num& begin, const Num& n) const {
    Diag("layout", "unproved", {})
        .Message("the box could not be proved to respect an iter boundary")
        .Found(Where())
        .Required("a proof that " + Text(steps_.back().extent) + " divides " + Text(begin) +
                  " and " + Text(n) + ", or that " + Text(begin) + " % " +
                  Text(steps_.back().extent) + " + " + Text(n) +
                  " <= " + Text(steps_.back().extent))
        .Hint("write the start as a multiple, for instance block * " + Text(steps_.back().extent))
        .Throw();
  }

  std::vector<Step> steps_;
  Box box_;
  size_t dim_;
  Prover& prover_;
  Accumulator* start_;
  std::vector<Step> kept_;
};

void CheckRegion(const std::vector<Num>& shape, const ffi::Array<Range>& region) {
  if (shape.size() == region.size()) return;
  Diag("layout", "rank-mismatch", {})
      .Message("the region and the shape have different ranks")
      .Found(std::to_string(region.size()) + " ranges, " + std::to_string(shape.size()) +
             " dimensions")
      .Required("one range per dimension")
      .Throw();
}

void CheckBounds(const Box& box, const Num& extent, size_t dim) {
  bool low = (box.begin.IsConst() && box.begin.value() < 0) ||
             (box.extent.IsConst() && box.extent.value() < 1);
  bool high = box.begin.IsConst() && box.extent.IsConst() && extent.IsConst() &&
              box.begin.value() > extent.value() - box.extent.value();
  if (!low && !high) return;
  Diag("layout", "out-of-range", {})
      .Message("the region leaves its dimension")
      .Found("[" + Text(box.begin) + ", +" + Text(box.extent) + ") in dimension " +
             std::to_string(dim))
      .Required("a non-empty range inside [0, " + Text(extent) + ")")
      .Throw();
}

std::vector<Box> CheckedBoxes(const std::vector<Num>& shape, const ffi::Array<Range>& region,
                              Prover& prover) {
  CheckRegion(shape, region);
  std::vector<Box> out;
  for (size_t d = 0; d < shape.size(); ++d) {
    out.push_back({Num(region[d]->min), prover.Simplify(Num(region[d]->extent))});
    CheckBounds(out.back(), shape[d], d);
  }
  return out;
}

bool AllStatic(const std::vector<Step>& steps, const std::vector<Num>& shape,
               const std::vector<Box>& boxes) {
  auto fixed = [](const Num& n) { return n.IsConst(); };
  return std::all_of(shape.begin(), shape.end(), fixed) &&
         std::all_of(boxes.begin(), boxes.end(),
                     [](const Box& b) { return b.begin.IsConst() && b.extent.IsConst(); }) &&
         std::all_of(steps.begin(), steps.end(),
                     [](const Step& s) { return s.extent.IsConst() && s.stride.IsConst(); });
}

/*! Linear index in `shape` of element y of a static box. */
int64_t IndexOf(int64_t y, const std::vector<Num>& shape, const std::vector<Box>& boxes) {
  int64_t x = 0, scale = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    int64_t n = boxes[d].extent.value();
    x += scale * (boxes[d].begin.value() + y % n);
    scale *= shape[d].value();
    y /= n;
  }
  return x;
}

/*! The slice of a static box whose dimensions cut each other's iters: read off its values, or nothing. */
std::optional<std::vector<Step>> ReadBox(const std::vector<Step>& steps,
                                         const std::vector<Num>& shape,
                                         const std::vector<Box>& boxes, Accumulator* start) {
  int64_t n = 1;
  for (const Box& b : boxes) n = CheckedMul(n, b.extent.value());
  if (n > kMaxCrossing) return std::nullopt;
  std::vector<AxisId> axes = AxesOf(steps);
  RadixReader reader(axes, n);
  for (int64_t y = 0; y < n; ++y) {
    if (!reader.Next(PlaceOf(steps, axes, IndexOf(y, shape, boxes)).data())) return std::nullopt;
  }
  for (size_t a = 0; a < axes.size(); ++a) start->Add(axes[a], reader.origin()[a]);
  std::vector<Step> out = reader.Steps();
  std::reverse(out.begin(), out.end());
  return out;
}

/*! Per dimension when the shape groups the iters; else, for a static box, as a whole. Raises what
 *  grouping raises when neither gives a layout. */
std::vector<Step> SliceSteps(const std::vector<Step>& steps, const std::vector<Num>& shape,
                             const std::vector<Box>& boxes, Prover& prover, Accumulator* start) {
  std::string why;
  auto groups = TryGroupSteps(steps, shape, prover, &why);
  if (!groups) groups = TryGroupSteps(MergeSteps(steps, prover), shape, prover, &why);
  std::vector<Step> out;
  if (!groups) {
    bool fits = AllStatic(steps, shape, boxes) && Product(steps).value() == Product(shape).value();
    if (fits) {
      if (auto whole = ReadBox(steps, shape, boxes, start)) return *whole;
    }
    groups = GroupSteps(steps, shape, prover);
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    auto kept = DimSlicer(MergeSteps(groups->Dim(d), prover), boxes[d], d, prover, start).Run();
    out.insert(out.end(), kept.rbegin(), kept.rend());
  }
  return out;
}

/*! A static box of a swizzled layout, read off its swizzled addresses; or nothing. */
std::optional<Layout> ReadSwizzledBox(const ComposeLayoutNode& c, const std::vector<Num>& shape,
                                      const std::vector<Box>& boxes) {
  Form f = Form::Of(c.tile);
  bool fits = f.IsStatic() && AllStatic(f.shard, shape, boxes);
  if (!fits || f.Size().value() != Product(shape).value()) return std::nullopt;
  int64_t n = 1;
  for (const Box& b : boxes) n = CheckedMul(n, b.extent.value());
  if (n > kMaxCrossing) return std::nullopt;
  return ComposeOfElements(c, n, [&](int64_t y) { return IndexOf(y, shape, boxes); });
}

/*! The tile's slice was refused. With constants that is the answer; with variables the swizzled
 *  addresses might still be a layout, which nobody can read. */
void ThrowUnread(const Layout& layout, const std::string& refusal) {
  Form f = Form::Of(TileOf(layout));
  bool shape = refusal == "slice-not-a-layout" || refusal == "not-groupable";
  if (f.IsStatic() || !shape) return;
  Diag("layout", "unproved", {})
      .Message(
          "the box is none of the tile, and the swizzled addresses of symbolic layouts are not "
          "read")
      .Found(LayoutText(layout))
      .Required("constants instead of variables, or a box that the iters of the tile keep")
      .Throw();
}

}  // namespace

Layout Slice(const Layout& layout, const Shape& shape, const ffi::Array<Range>& region,
             Facts facts) {
  Prover prover(facts);
  std::vector<Num> extents = ToNums(shape);
  std::vector<Box> boxes = CheckedBoxes(extents, region, prover);
  auto of_tile = [&](Form f) {
    Accumulator start;
    f.shard = SliceSteps(f.shard, extents, boxes, prover, &start);
    if (f.shard.empty()) f.shard.push_back({1, 1, kMemoryAxis});
    for (const auto& [axis, value] : start.entries()) f.AddOffset(axis, prover.Simplify(value));
    return f;
  };
  auto* swizzle = SwizzleOf(layout);
  try {
    return OnTile(layout, of_tile);
  } catch (const ffi::Error& e) {
    if (!swizzle) throw;
    if (auto whole = ReadSwizzledBox(*swizzle, extents, boxes)) return *whole;
    ThrowUnread(layout, DiagCode(e));
    throw;
  }
}

}  // namespace layout
}  // namespace tirx
