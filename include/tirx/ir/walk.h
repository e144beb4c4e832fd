/*!
 * Visiting and rewriting with callbacks, for code outside of C++ (tirx.ir.walk and tirx.ir.mutate).
 *
 * A node is a statement, an expression, a buffer or a buffer region. A buffer is seen once where it
 * is defined (parameter, AllocBuffer, DeclBuffer), together with the expressions in its shape,
 * offset, address and layout; an access names it without descending into it.
 */
#ifndef TIRX_IR_WALK_H_
#define TIRX_IR_WALK_H_
#include <tvm/ffi/any.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/function.h>

namespace tirx {
namespace ffi = tvm::ffi;

/*!
 * Calls fn(node) for every node whose type is one of `types` (keys of final types), in program
 * order, parents before children. A callback that returns false leaves out the children.
 * root: a function, module, statement, expression, buffer, region, layout or container of those.
 */
void Walk(const ffi::Any& root, const ffi::Array<ffi::String>& types, const ffi::Function& fn);

/*!
 * Rebuilds `root` bottom-up through the checked factories: fns[i](node) gets each node of types[i]
 * (the first match) after its children were rewritten, and returns its replacement, or null to
 * keep it. A buffer is replaced everywhere at once; variables are seen where they are
 * used, not where they are defined. Returns the same object when nothing changed.
 */
ffi::Any Mutate(const ffi::Any& root, const ffi::Array<ffi::String>& types,
                const ffi::Array<ffi::Function>& fns);

}  // namespace tirx
#endif  // TIRX_IR_WALK_H_
