// SPDX-License-Identifier: Apache-2.0
#include "core/wire/auth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace rdmameter {
namespace {

const std::string kToken = "0123456789abcdefghij";
const std::string kInitiatorNonce(kNonceChars, 'a');
const std::string kResponderNonce(kNonceChars, 'b');
const Challenge kChallenge{1, kInitiatorNonce, kResponderNonce};

TEST(Token, IsLongPrintableAndNeverTheSame) {
  std::set<std::string> tokens;
  for (int count = 0; count < 100; ++count) tokens.insert(make_token());
  EXPECT_EQ(tokens.size(), 100U);
  for (const std::string& token : tokens) {
    EXPECT_EQ(token.size(), 32U);  // 6 bits each
    EXPECT_TRUE(std::ranges::all_of(token, [](unsigned char each) {
      return std::isalnum(each) != 0 || each == '-' || each == '_';
    })) << token;
    EXPECT_EQ(why_bad_token(token), "");
  }
}

TEST(Token, RefusesWhatCouldBeGuessedOrMistyped) {
  EXPECT_NE(why_bad_token(""), "");
  EXPECT_NE(why_bad_token(std::string(kTokenMinChars - 1, 'x')), "");
  EXPECT_EQ(why_bad_token(std::string(kTokenMinChars, 'x')), "");
  EXPECT_EQ(why_bad_token(std::string(kTokenMaxChars, 'x')), "");
  EXPECT_NE(why_bad_token(std::string(kTokenMaxChars + 1, 'x')), "");
  EXPECT_NE(why_bad_token(kToken + "\n"), "");
  EXPECT_NE(why_bad_token(kToken + " x"), "");
  EXPECT_EQ(why_bad_token(kToken + "\n").find(kToken), std::string::npos);
}

TEST(Nonce, IsHexadecimalAndNeverTheSame) {
  const std::string nonce = make_nonce();
  EXPECT_EQ(nonce.size(), kNonceChars);
  EXPECT_EQ(nonce.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(nonce, make_nonce());
}

TEST(Proof, HoldsForWhoKnowsTheToken) {
  for (const Role role : {Role::initiator, Role::responder}) {
    const std::string proof = make_proof(kToken, role, kChallenge);
    EXPECT_EQ(proof.size(), kProofChars);
    EXPECT_TRUE(proof_holds(kToken, role, kChallenge, proof));
  }
}

// Computed by Python's hmac and hashlib over the same bytes: the two ends may be different builds.
TEST(Proof, IsTheSameInEveryBuild) {
  EXPECT_EQ(make_proof(kToken, Role::initiator, kChallenge),
            "f89e5358f7ad70ee6c8debda16efdbb2bdd39c3a6ef25eea26d6bac00857bf44");
}

TEST(Proof, FailsWithAnotherToken) {
  const std::string proof = make_proof("another token, as long", Role::initiator, kChallenge);
  EXPECT_FALSE(proof_holds(kToken, Role::initiator, kChallenge, proof));
}

TEST(Proof, FailsWhenReplayedToAnotherNonce) {
  const std::string proof = make_proof(kToken, Role::initiator, kChallenge);
  const std::string fresh = make_nonce();
  EXPECT_FALSE(proof_holds(kToken, Role::initiator, {1, kInitiatorNonce, fresh}, proof));
  EXPECT_FALSE(proof_holds(kToken, Role::initiator, {1, fresh, kResponderNonce}, proof));
}

TEST(Proof, FailsWhenReflectedToItsMaker) {
  const std::string proof = make_proof(kToken, Role::initiator, kChallenge);
  EXPECT_FALSE(proof_holds(kToken, Role::responder, kChallenge, proof));
  // Nor with the nonces changed over, as they are for one who plays the other part.
  EXPECT_FALSE(proof_holds(kToken, Role::initiator, {1, kResponderNonce, kInitiatorNonce}, proof));
  EXPECT_FALSE(proof_holds(kToken, Role::responder, {1, kResponderNonce, kInitiatorNonce}, proof));
}

TEST(Proof, FailsForAnotherVersion) {
  const std::string proof = make_proof(kToken, Role::initiator, kChallenge);
  EXPECT_FALSE(proof_holds(kToken, Role::initiator, {2, kInitiatorNonce, kResponderNonce}, proof));
}

TEST(Proof, FailsForAnythingThatIsNone) {
  const std::string proof = make_proof(kToken, Role::initiator, kChallenge);
  const auto holds = [](std::string_view given) {
    return proof_holds(kToken, Role::initiator, kChallenge, given);
  };
  EXPECT_FALSE(holds(""));
  EXPECT_FALSE(holds(std::string_view(proof).substr(1)));
  EXPECT_FALSE(holds(proof + "0"));
  for (std::size_t at = 0; at < proof.size(); ++at) {
    std::string changed = proof;
    changed[at] = changed[at] == '0' ? '1' : '0';
    EXPECT_FALSE(holds(changed)) << at;
  }
}

TEST(Proof, NeverHoldsWithoutATokenOrWithShortNonces) {
  EXPECT_FALSE(
      proof_holds("", Role::initiator, kChallenge, make_proof("", Role::initiator, kChallenge)));
  const Challenge empty{1, "", kResponderNonce};
  EXPECT_FALSE(
      proof_holds(kToken, Role::initiator, empty, make_proof(kToken, Role::initiator, empty)));
}

TEST(Proof, BordersBetweenPartsCount) {
  const std::string one = make_proof(kToken, Role::initiator, {1, "ab", "c"});
  EXPECT_NE(one, make_proof(kToken, Role::initiator, {1, "a", "bc"}));
}

}  // namespace
}  // namespace rdmameter
