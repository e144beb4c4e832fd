/*!
 * The working form of a layout: plain vectors of Nums, read from the nodes once and written back
 * once.
 *
 *   D(x): x is split over `shard`, innermost (last) first; digit i adds digit * stride on its axis.
 *   R:    every combination of steps of `replica`.
 *   O:    `offset`, one entry per axis, no zero entries.
 */
#ifndef TIRX_LAYOUT_FORM_H_
#define TIRX_LAYOUT_FORM_H_
#include <tirx/layout/axis.h>
#include <tirx/layout/layout.h>

#include <string>
#include <utility>
#include <vector>

#include "num.h"

namespace tirx {
namespace layout {

struct Step {
  Num extent;
  Num stride;
  AxisId axis;
};

struct Form {
  std::vector<Step> shard;
  std::vector<Step> replica;
  std::vector<std::pair<AxisId, Num>> offset;

  static Form Of(const TileLayout& layout);
  TileLayout ToLayout() const;
  /*! Product of the shard extents. */
  Num Size() const;
  Num OffsetOn(AxisId axis) const;
  void AddOffset(AxisId axis, const Num& value);
  /*! Every number is a constant. */
  bool IsStatic() const;
};

/*! Product of extents. */
Num Product(const std::vector<Num>& list);
Num Product(const std::vector<Step>& steps);
/*! Raises "bad-extent" for a constant below 1. */
void CheckExtents(const std::vector<Num>& shape);
std::vector<Num> ToNums(const ffi::Array<PrimExpr>& list);

/*! "8:4@laneid", "(8, 2):(4@laneid, 1)". */
std::string Text(const Step& step);
std::string Text(const std::vector<Step>& steps);
/*! The whole layout as S[...] + R[...] + offset. */
std::string Text(const Form& form);

}  // namespace layout
}  // namespace tirx
#endif  // TIRX_LAYOUT_FORM_H_
