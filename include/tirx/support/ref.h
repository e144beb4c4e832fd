/*!
 * From a raw node pointer back to a counted reference.
 */
#ifndef TIRX_SUPPORT_REF_H_
#define TIRX_SUPPORT_REF_H_
#include <tvm/ffi/object.h>

namespace tirx {

/*! A new reference to a node that is owned elsewhere. */
template <typename Ref>
Ref GetRef(const typename Ref::ContainerType* node) {
  using tvm::ffi::Object;
  using Unsafe = tvm::ffi::detail::ObjectUnsafe;
  auto* raw = const_cast<Object*>(static_cast<const Object*>(node));
  return Unsafe::ObjectRefFromObjectPtr<Ref>(Unsafe::ObjectPtrFromUnowned<Object>(raw));
}

}  // namespace tirx
#endif  // TIRX_SUPPORT_REF_H_
