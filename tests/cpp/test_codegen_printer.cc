#include <gtest/gtest.h>
#include <tirx/codegen/printer.h>

namespace tirx {
namespace codegen {
namespace {

const std::unordered_set<std::string> kReserved{"float"};

TEST(NameTable, KeepsNamesAndNumbersTheLater) {
  NameTable names(&kReserved);
  EXPECT_EQ(names.Define("x"), "x");
  EXPECT_EQ(names.Define("x"), "x_1");
  EXPECT_EQ(names.Define("float"), "float_1");
  EXPECT_EQ(names.Define("a b"), "a_b");
  EXPECT_EQ(names.Define("9"), "v9");
  EXPECT_EQ(names.Define(""), "v");
}

TEST(NameTable, AClosedBlockFreesItsNamesOnly) {
  NameTable names(&kReserved);
  names.Define("i");
  names.Open();
  EXPECT_EQ(names.Define("i"), "i_1");
  EXPECT_EQ(names.Define("k"), "k");
  names.Close();
  EXPECT_EQ(names.Define("k"), "k");
  EXPECT_EQ(names.Define("i"), "i_1");
}

TEST(NameTable, ANameThatLooksNumberedIsNotTakenTwice) {
  NameTable names(&kReserved);
  EXPECT_EQ(names.Define("x_1"), "x_1");
  EXPECT_EQ(names.Define("x"), "x");
  EXPECT_EQ(names.Define("x"), "x_2");
}

TEST(NameTable, ManyBlocksBesideManyNamesStayCheap) {
  NameTable names(&kReserved);
  for (int i = 0; i < 20000; ++i) names.Define("x");
  for (int i = 0; i < 20000; ++i) {
    names.Open();
    EXPECT_EQ(names.Define("x"), "x_20000");
    names.Close();
  }
}

TEST(WrapStatement, BreaksCallsBetweenArguments) {
  EXPECT_EQ(WrapStatement("  f(aaaa, g(b, c), dddd);", 20),
            "  f(\n      aaaa, g(b, c),\n      dddd);");
}

TEST(WrapStatement, BreaksAssignmentsAfterTheSign) {
  EXPECT_EQ(WrapStatement("  a[i] = b[iiii] * cccc;", 20), "  a[i] =\n      b[iiii] * cccc;");
}

TEST(WrapStatement, PrefersTheShallowestOperator) {
  EXPECT_EQ(WrapStatement("if (aaaa + bbbb < cc && dd[e + f]) {", 26),
            "if (aaaa + bbbb < cc &&\n    dd[e + f]) {");
}

TEST(WrapStatement, LeavesTextInQuotesAlone) {
  std::string line = "  printf(\"aaaa, bbbb, cccc\", dddd);";
  EXPECT_EQ(WrapStatement(line, 20), line);
}

}  // namespace
}  // namespace codegen
}  // namespace tirx
