/*!
 * Shared-memory banks and the width of accesses, as questions about layouts.
 *
 * Shared memory has 32 banks of 4 bytes: word w (address / 4) is in bank w mod 32. One access of a
 * warp, `width` bytes per lane, is served in phases of 32 lanes (width up to 4), 16 lanes (8) or 8
 * lanes (16). A phase takes as many cycles (wavefronts) as the busiest bank has distinct words;
 * lanes that touch one word are served together and do not conflict. (CUDA C++ Best Practices
 * Guide, 9.2.3; CUDA C++ Programming Guide, shared memory)
 */
#ifndef TIRX_LAYOUT_BANKS_H_
#define TIRX_LAYOUT_BANKS_H_
#include <tirx/layout/ops.h>

#include <optional>
#include <string>
#include <vector>

namespace tirx {
namespace layout {

constexpr int64_t kWarpLanes = 32;
constexpr int64_t kBanks = 32;
constexpr int64_t kBankBytes = 4;

/*! One 4-byte word and the lanes of the phase that touch it; its bank is word mod 32. */
struct BankWord {
  int64_t word;
  uint32_t lanes;
};

/*! Lanes that are served together. Phases without an active lane do not exist. */
struct BankPhase {
  uint32_t lanes{0};
  int64_t wavefronts{0};
  std::vector<BankWord> words;  //!< distinct, ascending
};

/*! Byte address per lane; nothing for a lane that takes no part. */
using LaneAddresses = std::vector<std::optional<int64_t>>;

/*! The phases of one access. Raises "bad-access" for a width other than 1, 2, 4, 8 or 16 bytes or
 *  for more than 32 lanes, "misaligned" for an address that is no multiple of the width. */
std::vector<BankPhase> BankPhases(const LaneAddresses& addresses, int64_t width);

/*!
 * Where each lane's access starts. `elements` has `per_lane` linear element indices for each lane
 * (-1 in the first: inactive), which must be neighbours in memory in this order; `base` is the byte
 * address of memory coordinate 0. Raises "symbolic", "thread-axis", "replicated", "out-of-range",
 * "not-contiguous" or "misaligned".
 */
LaneAddresses AddressesOf(const Layout& layout, const std::vector<int64_t>& elements,
                          int64_t per_lane, int64_t bits, int64_t base);

/*! Largest power of two v with v | every divisor (0: no constraint), v <= granule, and v elements
 *  of `bits` dividing `align_bytes`; 0 when one element is not aligned. */
int64_t AlignedElements(int64_t bits, int64_t align_bytes, int64_t granule,
                        const std::vector<int64_t>& divisors);

struct AccessWidth {
  int64_t bytes;
  int64_t elements;
  std::string limit;  //!< what forbids twice the width
};
/*!
 * The widest access along dimension `dim` of `shape`: every aligned run of that many elements lies
 * in consecutive memory of one owner and starts at a multiple of its bytes, when memory coordinate
 * 0 is at a multiple of `align_bytes`. At most `limit` bytes; only what `facts` prove counts.
 * Raises "no-access" when not even one element can be accessed in whole bytes.
 */
AccessWidth WidestAccess(const Layout& layout, const Shape& shape, int64_t dim, int64_t bits,
                         int64_t align_bytes, int64_t limit, Facts facts = nullptr);

}  // namespace layout
}  // namespace tirx
#endif  // TIRX_LAYOUT_BANKS_H_
