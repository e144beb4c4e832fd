/*!
 * User errors raised from C++.
 *
 * A user error has a stable code, the user's span, what was found, what was required and a next
 * step. It crosses the FFI as an error of kind "TirxError" whose message is the JSON of these
 * fields; python/tirx/errors.py turns it back into the exception class of its family and renders
 * the source line with a caret. Anything else thrown from C++ is an internal error.
 */
#ifndef TIRX_SUPPORT_DIAG_H_
#define TIRX_SUPPORT_DIAG_H_
#include <tirx/support/span.h>

#include <string>
#include <utility>
#include <vector>

namespace tirx {

/*! Builder of one user error: `Diag("scope", "partial-warp", span).Found(..).Throw()`. */
class Diag {
 public:
  /*!
   * \param family one of "script", "type", "layout", "scope", "dispatch", "target", "verify",
   *        "launch", "sim": selects the Python exception class.
   * \param code a stable kebab-case name of the mistake, unique within the project.
   */
  Diag(std::string family, std::string code, Span span)
      : family_(std::move(family)), code_(std::move(code)), span_(std::move(span)) {}
  Diag& Message(std::string s) { return Set(&message_, std::move(s)); }
  Diag& Found(std::string s) { return Set(&found_, std::move(s)); }
  Diag& Required(std::string s) { return Set(&required_, std::move(s)); }
  /*! What the user can do next. */
  Diag& Hint(std::string s) { return Set(&hint_, std::move(s)); }
  /*! A second source line that matters, with a remark. */
  Diag& Note(Span span, std::string s) {
    notes_.emplace_back(std::move(span), std::move(s));
    return *this;
  }
  [[noreturn]] void Throw() const;

 private:
  Diag& Set(std::string* field, std::string value) {
    *field = std::move(value);
    return *this;
  }
  std::string family_, code_, message_, found_, required_, hint_;
  Span span_;
  std::vector<std::pair<Span, std::string>> notes_;
};

}  // namespace tirx
#endif  // TIRX_SUPPORT_DIAG_H_
