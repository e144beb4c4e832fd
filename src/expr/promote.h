/*!
 * The literal and promotion rules (private to this room).
 */
#ifndef TIRX_SRC_EXPR_PROMOTE_H_
#define TIRX_SRC_EXPR_PROMOTE_H_
#include <tirx/expr/expr.h>

namespace tirx {

/*! Brings a and b to one dtype and number of lanes, or raises "mixed-dtypes" naming `what`. */
void MatchOperands(const char* what, PrimExpr* a, PrimExpr* b, const Span& span);

}  // namespace tirx
#endif  // TIRX_SRC_EXPR_PROMOTE_H_
