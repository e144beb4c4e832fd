/*!
 * Rewrites that the factories apply (private to this room).
 */
#ifndef TIRX_SRC_EXPR_FOLD_H_
#define TIRX_SRC_EXPR_FOLD_H_
#include <tirx/expr/expr.h>
#include <tirx/expr/functor.h>

#include <optional>

namespace tirx {

/*! x op constant, constant op x: identities that hold for every x. */
std::optional<PrimExpr> FoldIdentity(BinOp op, const PrimExpr& a, const PrimExpr& b);
/*! An integer constant converted to scalar dtype t, when the conversion is exact or wraps. */
std::optional<PrimExpr> FoldCast(DType t, const PrimExpr& value);

}  // namespace tirx
#endif  // TIRX_SRC_EXPR_FOLD_H_
