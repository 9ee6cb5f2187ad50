#include <array>

#include "cli/verb.h"

namespace cadenza {

std::span<const Verb> all_verbs() {
  static const std::array verbs{plan_verb(),  verify_verb(),  profile_verb(),
                                train_verb(), compare_verb(), eval_verb()};
  return verbs;
}

}  // namespace cadenza
