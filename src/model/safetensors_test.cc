#include "model/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/cat.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace cadenza {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

std::string write_bytes(const std::string& name, const std::string& bytes) {
  const std::string path = testing::TempDir() + "/cadenza_safetensors_" + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::string with_length(uint64_t length, const std::string& rest) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + rest;
}

std::string with_data(const std::string& header, const std::string& data) {
  return with_length(header.size(), header) + data;
}

std::string file_of(const std::string& header, size_t data_bytes) {
  return with_data(header, std::string(data_bytes, '\1'));
}

std::vector<float> values_of(const SafetensorsFile& file, const std::string& name) {
  return read_as_float(file.tensors().at(name), name);
}

/// Numbers as the file's bytes hold them.
template <typename T>
std::string bytes_of(std::vector<T> values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

TEST(Safetensors, ReadsTensorsWhateverTheirOrderAndPlace) {
  const std::string order =
      write_bytes("order", with_data(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]},)"
                                     R"("b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
                                     bytes_of<float>({1, 2, 3, 4})));
  const SafetensorsFile swapped(order);
  EXPECT_THAT(values_of(swapped, "a"), ElementsAre(3, 4));
  EXPECT_THAT(values_of(swapped, "b"), ElementsAre(1, 2));
  // 1, 2, 3 as bf16; then floats that begin at byte 6.
  const std::string odd = write_bytes(
      "odd", with_data(R"({"h":{"dtype":"BF16","shape":[3],"data_offsets":[0,6]},)"
                       R"("a":{"dtype":"F32","shape":[2],"data_offsets":[6,14]}})",
                       bytes_of<uint16_t>({0x3f80, 0x4000, 0x4040}) + bytes_of<float>({1, 2})));
  const SafetensorsFile unaligned(odd);
  EXPECT_THAT(values_of(unaligned, "h"), ElementsAre(1, 2, 3));
  EXPECT_THAT(values_of(unaligned, "a"), ElementsAre(1, 2));
  const std::string none =
      write_bytes("none", with_data(R"({"e":{"dtype":"F32","shape":[0,4],"data_offsets":[0,0]},)"
                                    R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                                    bytes_of<float>({1})));
  EXPECT_THAT(values_of(SafetensorsFile(none), "e"), IsEmpty());
  for (const std::string& path : {order, odd, none}) std::filesystem::remove(path);
}

struct Damage {
  const char* name;
  std::string bytes;
};

TEST(Safetensors, RefusesDamagedFilesNamingThem) {
  const auto entry = [](const std::string& shape, const std::string& offsets) {
    return cat(R"({"t":{"dtype":"F32","shape":)", shape, R"(,"data_offsets":)", offsets, "}}");
  };
  const Damage damages[] = {
      {"empty", ""},
      {"shorter_than_the_length_field", "\1\2\3\4\5\6\7"},
      {"header_length_2_to_63", with_length(uint64_t{1} << 63, "{}")},
      {"header_is_cut", file_of(R"({"a":)", 0)},
      {"header_is_not_utf8", file_of("{\"\xff\xfe\":1}", 0)},
      {"offsets_reversed", file_of(entry("[2,2]", "[16,0]"), 16)},
      {"three_offsets", file_of(entry("[2,2]", "[0,16,32]"), 16)},
      {"range_passes_the_end", file_of(entry("[2,4]", "[0,32]"), 16)},
      {"shape_overflows_64_bits", file_of(entry("[8589934592,8589934592]", "[0,16]"), 16)},
      {"hole_between", file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                               R"("b":{"dtype":"F32","shape":[1],"data_offsets":[12,16]}})",
                               16)},
      {"same_range_twice", file_of(R"({"k":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                                   R"("v":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
                                   8)},
      {"same_name_twice", file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                                  R"("a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})",
                                  16)},
      {"header_length_zero", with_length(0, "")},
      {"header_longer_than_file", with_length(100, "{}")},
      {"header_over_the_limit", with_length(100'000'001, std::string(100'000'001, ' '))},
      {"negative_dim", file_of(entry("[-2]", "[0,8]"), 8)},
      {"two_negative_dims", file_of(entry("[-1,-2]", "[0,8]"), 8)},
      {"negative_offset", file_of(entry("[2]", "[-8,0]"), 8)},
      {"offset_is_float", file_of(entry("[2]", "[0.0,8.0]"), 8)},
      {"offset_is_text", file_of(entry("[2]", R"(["0","8"])"), 8)},
      {"offset_over_64_bits", file_of(entry("[2]", "[0,18446744073709551624]"), 8)},
      {"offset_over_63_bits", file_of(entry("[2]", "[0,9223372036854775816]"), 8)},
      {"dim_is_float", file_of(entry("[2.0]", "[0,8]"), 8)},
      {"shape_is_number", file_of(entry("2", "[0,8]"), 8)},
      {"overflow_times_zero", file_of(entry("[4611686018427387904,8,0]", "[0,0]"), 0)},
      {"range_too_short", file_of(entry("[3]", "[0,8]"), 8)},
      {"trailing_bytes", file_of(entry("[2]", "[0,8]"), 9)},
      {"bytes_without_tensors", file_of("{}", 4)},
      {"hole_at_start", file_of(entry("[1]", "[4,8]"), 8)},
      {"header_is_array", file_of("[]", 0)},
      {"header_is_spaces", file_of("        ", 0)},
      {"header_after_space", file_of(" {}", 0)},
      {"garbage_after_object", file_of("{} x", 0)},
      {"garbage_after_zero_byte", file_of(std::string("{}\0x", 4), 0)},
      {"entry_is_list", file_of(R"({"t":[1,2]})", 0)},
      {"entry_is_nested",
       file_of(R"({"t":{"dtype":{"a":[]},"shape":[],"data_offsets":[0,4]}})", 4)},
      {"no_shape", file_of(R"({"t":{"dtype":"F32","data_offsets":[0,4]}})", 4)},
      {"key_too_many",
       file_of(R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}})", 4)},
      {"key_twice_inside",
       file_of(R"({"t":{"dtype":"F32","shape":[1],"shape":[1],"data_offsets":[0,4]}})", 4)},
      {"dtype_unknown", file_of(R"({"t":{"dtype":"F31","shape":[1],"data_offsets":[0,4]}})", 4)},
      {"metadata_is_list", file_of(R"({"__metadata__":["pt"]})", 0)},
      {"metadata_holds_number", file_of(R"({"__metadata__":{"format":1}})", 0)},
      {"deep", file_of(R"({"t":)" + std::string(200'000, '['), 0)},
      {"partial_overlap", file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                                  R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                                  12)},
  };
  for (const Damage& damage : damages) {
    const std::string path = write_bytes(damage.name, damage.bytes);
    EXPECT_THAT([&] { SafetensorsFile{path}; }, ThrowsMessage<DataError>(HasSubstr(path)))
        << damage.name;
    std::filesystem::remove(path);
  }
}

TEST(Safetensors, MissingFileIsNamed) {
  EXPECT_THAT([] { SafetensorsFile{"/no/such.safetensors"}; },
              ThrowsMessage<DataError>(HasSubstr("/no/such.safetensors")));
  EXPECT_THROW(SafetensorsFile{testing::TempDir()}, DataError);
}

TEST(Safetensors, ScalarHasOneElement) {
  const std::string path =
      write_bytes("scalar", file_of(R"({"t":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})", 4));
  EXPECT_EQ(values_of(SafetensorsFile(path), "t").size(), 1u);
  std::filesystem::remove(path);
}

TEST(Safetensors, OtherDtypesAreKeptButNotReadAsFloat) {
  const std::string path =
      write_bytes("f16", file_of(R"({"t":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}})", 4));
  const SafetensorsFile file(path);
  EXPECT_EQ(file.tensors().at("t").dtype, "F16");
  EXPECT_THAT([&] { values_of(file, "t"); },
              ThrowsMessage<DataError>(AllOf(HasSubstr("\"t\""), HasSubstr("F16"))));
  std::filesystem::remove(path);
}

TEST(Safetensors, WrittenFilesReadBackToTheBit) {
  const std::string path = testing::TempDir() + "/cadenza_safetensors_round_trip";
  const std::vector<float> a = {1.5f, -0.0f, 1e-45f, 3e38f, -7.25f, 0.1f};
  const std::vector<float> b = {42.0f};
  write_safetensors(path, {{"z.weight", {2, 3}, a.data()},
                           {"odd \"name\"", {1}, b.data()},
                           {"empty", {0, 4}, nullptr}});
  const SafetensorsFile file(path);
  ASSERT_EQ(file.tensors().size(), 3u);
  EXPECT_THAT(file.tensors().at("z.weight").shape, ElementsAre(2, 3));
  const std::vector<float> back = values_of(file, "z.weight");
  ASSERT_EQ(back.size(), a.size());
  EXPECT_EQ(std::memcmp(back.data(), a.data(), 4 * a.size()), 0);
  EXPECT_THAT(values_of(file, "odd \"name\""), ElementsAre(42.0f));
  EXPECT_THAT(values_of(file, "empty"), IsEmpty());
  std::filesystem::remove(path);
}

TEST(Safetensors, WrittenHeaderIsPaddedAndTiled) {
  const std::string path = testing::TempDir() + "/cadenza_safetensors_header";
  const std::vector<float> values(5, 1.0f);
  write_safetensors(path, {{"first", {2}, values.data()}, {"second", {3}, values.data()}});
  const std::string bytes = read_file(path);
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ(length % 8, 0u);
  EXPECT_EQ(bytes.size(), 8 + length + 20);
  const Json header = parse_json(bytes.substr(8, length), path);
  EXPECT_EQ(header["__metadata__"]["format"], "pt");
  EXPECT_EQ(header["first"]["data_offsets"], Json({0, 8}));
  EXPECT_EQ(header["second"]["data_offsets"], Json({8, 20}));
  std::filesystem::remove(path);
}

TEST(Safetensors, WritingWhereNoFolderIsNamesThePath) {
  EXPECT_THAT([] { write_safetensors("/no/folder/x.safetensors", {}); },
              ThrowsMessage<DataError>(HasSubstr("/no/folder/x.safetensors")));
}

}  // namespace
}  // namespace cadenza
