#include "names.h"

#include <cctype>

namespace tirx {
namespace {

/*! Names that printed text uses with their own meaning. */
bool IsReserved(const std::string& name) {
  return NameTable::IsKeyword(name) || name == "T" || name == "Tx" || name == "range" ||
         name == "float";
}

const std::unordered_set<std::string>& Keywords() {
  static const std::unordered_set<std::string> keywords = {
      "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
      "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
      "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
      "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
  return keywords;
}

bool IsWordCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/*! `hint` as an identifier: other characters become _, and it does not start with a digit. */
std::string Identifier(std::string_view hint) {
  std::string out;
  for (char c : hint) out += IsWordCharacter(c) ? c : '_';
  bool starts_badly = out.empty() || std::isdigit(static_cast<unsigned char>(out[0]));
  return starts_badly ? "v" + out : out;
}

}  // namespace

bool NameTable::IsKeyword(const std::string& name) { return Keywords().count(name) != 0; }

bool NameTable::IsIdentifier(const std::string& name) {
  return Identifier(name) == name && !IsKeyword(name);
}

std::string NameTable::Fresh(std::string_view hint) {
  std::string base = Identifier(hint);
  std::string name = base;
  if (used_.count(name) != 0 || IsReserved(name)) {
    int& suffix = next_suffix_[base];
    do {
      name = base + "_" + std::to_string(++suffix);
    } while (used_.count(name) != 0);
  }
  used_.insert(name);
  return name;
}

const std::string& NameTable::Of(const tvm::ffi::Object* key, std::string_view hint) {
  auto it = names_.find(key);
  if (it != names_.end()) return it->second;
  return names_.emplace(key, Fresh(hint)).first->second;
}

void NameTable::Alias(const tvm::ffi::Object* key, std::string text) {
  names_.emplace(key, std::move(text));
}

const std::string* NameTable::Find(const tvm::ffi::Object* key) const {
  auto it = names_.find(key);
  return it == names_.end() ? nullptr : &it->second;
}

void NameTable::Release(const tvm::ffi::Object* key) {
  auto it = names_.find(key);
  if (it == names_.end()) return;
  used_.erase(it->second);
  names_.erase(it);
}

}  // namespace tirx
