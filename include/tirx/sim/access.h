/*!
 * Handlers of loads and stores.
 *
 * Memory accesses: d is the first row of the value (n elements, consecutive registers), a the index
 * (row or scalar register, Ins::idx), b the MemRef. Local accesses are the same with a constant
 * index in a when idx is kIdxImm.
 */
#ifndef TIRX_SIM_ACCESS_H_
#define TIRX_SIM_ACCESS_H_
#include <tirx/sim/program.h>

namespace tirx {
namespace sim {

/*! For elements of `bits` (4, 8, 16, 32, 64); is_signed: 8- and 16-bit loads extend the sign. */
Fn LoadFn(int bits, bool is_signed);
Fn StoreFn(int bits);
Fn LocalLoadFn(int bits, bool is_signed);
Fn LocalStoreFn(int bits);

void PoisonLocal(Warp& w, const Ins& i);     // rows d .. d+b-1
void CheckLocalRows(Warp& w, const Ins& i);  // rows d .. d+b-1 (of ref a) must be written
void MarkLocalRows(Warp& w, const Ins& i);   // rows d .. d+b-1 are written in active lanes
void RefAddress(Warp& w, const Ins& i);      // wide row d = device address of element a of ref b
void FmaHalfRow(Warp& w, const Ins& i);
void FmaBFloatRow(Warp& w, const Ins& i);
void Repack(Warp& w, const Ins& i);      // Ins::n values of b bits in a -> Ins::idx of c bits
void MaybeYield(Warp& w, const Ins& i);  // schedule "random": let another warp run now and then

}  // namespace sim
}  // namespace tirx
#endif  // TIRX_SIM_ACCESS_H_
