/*!
 * ldmatrix, stmatrix, movmatrix. (PTX ISA 9.7.14.5.15-9.7.14.5.17)
 *
 * With g = lane / 4 and q = lane % 4: lanes 8m..8m+7 give the addresses of the rows of matrix m;
 * register m of a lane holds row g, columns 2q and 2q+1 (transposed: column g, rows 2q and 2q+1).
 */
#include <tirx/sim/ops.h>

#include <algorithm>
#include <cstring>

namespace tirx {
namespace sim {
namespace {

void Shape(OpCall* c) {
  c->p[0] = IntAttr(*c, "count", 1);
  c->p[1] = IntAttr(*c, "trans", 0);
}

/*! The row addresses, checked: 16 bytes each, 16-byte aligned. False when a row is not accessible.
 */
bool Rows(Warp& w, const OpCall& c, int32_t loc, const Operand& addr, bool write, Access* a) {
  uint32_t all = w.mask, lanes = c.p[0] == 4 ? ~0u : (1u << (8 * c.p[0])) - 1;
  if (!RequireWholeWarp(w, c, loc)) return false;
  w.mask = lanes;
  LocateOperand(w, loc, addr, 16, write, a);
  w.mask = all;
  return a->mask == lanes;
}

uint16_t Half(const uint8_t* row, int column) {
  uint16_t v;
  std::memcpy(&v, row + 2 * column, 2);
  return v;
}

void LdMatrix(Warp& w, const OpCall& c, int32_t loc) {
  int count = static_cast<int>(c.p[0]);
  Access a;
  if (!Rows(w, c, loc, c.args[count], false, &a)) return;
  uint32_t out[4][kLanes];
  for (int m = 0; m < count; ++m) {
    uint8_t* const* row = a.p.data() + 8 * m;
    for (int l = 0; l < kLanes; ++l) {
      int g = l >> 2, q = l & 3;
      if (c.p[1]) {
        out[m][l] = Half(row[2 * q], g) | static_cast<uint32_t>(Half(row[2 * q + 1], g)) << 16;
      } else {
        std::memcpy(&out[m][l], row[g] + 4 * q, 4);
      }
    }
  }
  for (int m = 0; m < count; ++m) std::copy_n(out[m], kLanes, w.Row(c.args[m].row));
}

void PutHalf(uint8_t* row, int column, uint32_t v) {
  uint16_t half = static_cast<uint16_t>(v);
  std::memcpy(row + 2 * column, &half, 2);
}

void StMatrix(Warp& w, const OpCall& c, int32_t loc) {
  int count = static_cast<int>(c.p[0]);
  Access a;
  if (!Rows(w, c, loc, c.args[0], true, &a)) return;
  for (int m = 0; m < count; ++m) {
    uint8_t* const* row = a.p.data() + 8 * m;
    const uint32_t* value = w.Row(c.args[1 + m].row);
    for (int l = 0; l < kLanes; ++l) {
      int g = l >> 2, q = l & 3;
      if (c.p[1]) {
        PutHalf(row[2 * q], g, value[l]);
        PutHalf(row[2 * q + 1], g, value[l] >> 16);
      } else {
        std::memcpy(row[g] + 4 * q, &value[l], 4);
      }
    }
  }
}

/*! Transpose of one 8x8 matrix of halves within the warp. */
void MovMatrix(Warp& w, const OpCall& c, int32_t loc) {
  if (!RequireWholeWarp(w, c, loc)) return;
  const uint32_t* a = w.Row(c.args[1].row);
  auto at = [&](int row, int column) {
    return a[row * 4 + column / 2] >> (column % 2 * 16) & 0xffffu;
  };
  uint32_t out[kLanes];
  for (int l = 0; l < kLanes; ++l)
    out[l] = at(2 * (l & 3), l >> 2) | at(2 * (l & 3) + 1, l >> 2) << 16;
  std::copy_n(out, kLanes, w.Row(c.args[0].row));
}

const RegisterMeanings kMatrix({
    {"ldmatrix", Kind::kMatrix, &LdMatrix, &Shape},
    {"stmatrix", Kind::kMatrix, &StMatrix, &Shape},
    {"movmatrix", Kind::kMatrix, &MovMatrix},
});

}  // namespace
}  // namespace sim
}  // namespace tirx
