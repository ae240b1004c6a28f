// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "cli/command.h"
#include "cli/train/models/model.h"
#include "cli/train/modes/mode.h"
#include "cli/train/settings/optimizers.h"

namespace millstream::cli {
namespace {

template <typename T>
int NumDefaults() {
  int count = 0;
  for (const T* one : Registry<T>::All()) count += one->is_default;
  return count;
}

template <typename T>
void ExpectUsable() {
  for (const T* one : Registry<T>::All()) {
    EXPECT_FALSE(one->help.empty()) << one->name;
    EXPECT_NE(one->build, nullptr) << one->name;
    const StatusOr<OwnFlagValues> defaults = OwnFlagValues::Read(one->flags, {});
    EXPECT_TRUE(defaults.ok()) << one->name << ": " << defaults.status();
    for (const OwnFlag& flag : one->flags) EXPECT_FALSE(flag.help.empty()) << one->name << " --" << flag.name;
  }
}

template <typename T>
std::set<std::string> FlagNames() {
  std::set<std::string> names;
  for (const T* one : Registry<T>::All()) {
    for (const OwnFlag& flag : one->flags) names.insert(flag.name);
  }
  return names;
}

TEST(RegistrationsTest, OneModelAndOneModeAreTheDefault) {
  EXPECT_EQ(NumDefaults<Model>(), 1);
  EXPECT_EQ(NumDefaults<Mode>(), 1);
}

TEST(RegistrationsTest, ModelsAndModesAreUsable) {
  ExpectUsable<Model>();
  ExpectUsable<Mode>();
  for (const Model* model : Registry<Model>::All()) {
    EXPECT_TRUE(MakeOptimizer(model->optimizer, model->learning_rate).ok()) << model->name;
    EXPECT_GT(model->sgd_learning_rate, 0) << model->name;
    EXPECT_GT(model->batch_size, 0) << model->name;
    EXPECT_GT(model->train_steps, 0) << model->name;
  }
}

TEST(RegistrationsTest, AFlagOfAModelIsNotAFlagOfAMode) {
  const std::set<std::string> of_modes = FlagNames<Mode>();
  for (const std::string& name : FlagNames<Model>()) EXPECT_EQ(of_modes.count(name), 0u) << name;
}

TEST(RegistrationsTest, CommandsHaveHelp) {
  for (const Command* command : Registry<Command>::All()) {
    EXPECT_FALSE(command->help.empty()) << command->name;
    EXPECT_NE(command->add_flags, nullptr) << command->name;
  }
  EXPECT_GT(Registry<Command>::All().size(), 5u);
}

TEST(RegistryTest, UnknownNamesListWhatThereIs) {
  const StatusOr<const Mode*> found = Registry<Mode>::Find("asinc");
  EXPECT_TRUE(absl::IsInvalidArgument(found.status()));
  EXPECT_THAT(std::string(found.status().message()), ::testing::HasSubstr("there is no mode 'asinc' ("));
  EXPECT_THAT(std::string(found.status().message()), ::testing::HasSubstr("did you mean"));
}

}  // namespace
}  // namespace millstream::cli
