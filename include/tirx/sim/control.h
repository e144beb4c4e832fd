/*!
 * Control handlers: structured divergence and reconvergence.
 *
 * A varying `if` pushes a frame with the lanes to restore; the lanes of the else arm wait in it. A
 * loop that contains break or continue pushes a frame with the lanes that are still in it. Lanes
 * that left an iteration are missing from Warp::live, so no enclosing `if` brings them back. The
 * invariant that at least one lane is active is kept by jumping to the next place where lanes
 * gather (field a of kEndIf, kLeave*), which the compiler knows.
 */
#ifndef TIRX_SIM_CONTROL_H_
#define TIRX_SIM_CONTROL_H_
#include <tirx/sim/program.h>

namespace tirx {
namespace sim {

void Jump(Warp& w, const Ins& i);        // to d
void JumpIfZero(Warp& w, const Ins& i);  // scalar a == 0: to d
void IfRow(Warp& w, const Ins& i);       // row a; no lane takes it: to d (else arm or EndIf)
void ElseRow(Warp& w, const Ins& i);     // switch to the else lanes; none: to d (EndIf)
void EndIf(Warp& w, const Ins& i);       // nobody left: to a
void Break(Warp& w, const Ins& i);       // active lanes leave the loop; to a
void Continue(Warp& w, const Ins& i);    // active lanes wait for the next iteration; to a

// Counted loops whose bounds are uniform: scalar a runs up to scalar b.
void ForTest(Warp& w, const Ins& i);       // a >= b: to d
void ForNext(Warp& w, const Ins& i);       // ++a; a < b: to d (no break in the body)
void LoopEnter(Warp& w, const Ins& i);     // pushes the loop frame
void ForNextLeave(Warp& w, const Ins& i);  // as ForNext with a frame; pops it on exit

// Loops whose lanes may disagree.
template <typename S>
struct VaryingFor {
  static void Test(Warp& w, const Ins& i);  // pushes the frame of lanes with row a < row b, or to d
  static void Next(Warp& w, const Ins& i);  // ++a; lanes with a < b go on at d; none: pops
};
void WhileTest(Warp& w, const Ins& i);  // lanes with row a go on; none: pops, to d
void WhileNext(Warp& w, const Ins& i);  // back to d, or pops when every lane left

void AssertRow(Warp& w, const Ins& i);  // row a must be set; message c
void Exit(Warp& w, const Ins& i);

}  // namespace sim
}  // namespace tirx
#endif  // TIRX_SIM_CONTROL_H_
