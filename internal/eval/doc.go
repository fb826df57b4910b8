// Package eval measures whether thinking helps. A [Runner] asks; the rest is pure: what is asked,
// how answers are scored, and what can be said of the scores.
//
// [ReadQuestions] reads questions with their checks and [Question.Right] scores an
// answer by them. [JudgeRequest] asks a model which of two answers is better, and
// [ReadJudgement] reads what it says; [Verdict] joins two judgements of a pair, with
// the answers in either order, so that a judge who prefers a place says nothing.
//
// [Report] compares ways to answer with the first of them, question by question. A
// difference is that of the means of a question's samples, so a question counts once
// however often it was asked; intervals are of a bootstrap over questions
// ([Bootstrap]), and p-values of flips of signs ([SignFlip]). What is no difference
// is said to be none, with how many questions would show one ([Comparison.Says]).
//
// # The form of questions
//
// JSON Lines: an object a line, blank lines are left out.
//
//	{"id":"q1", "question":"...", "context":"...", "documents":["a.md"],
//	 "reference":"..." or ["...", "..."], "checks":[CHECK, ...]}
//
// Only question is required; without an id, the number of the line is it. A CHECK is
// an object with one of
//
//	{"contains": TEXT or [TEXT, ...]}      all are in the answer, whatever their case
//	{"not_contains": TEXT or [TEXT, ...]}  none is
//	{"regex": TEXT}                        it matches somewhere (RE2; (?i) folds case)
//	{"number": N, "tolerance": N or "1%"}  the answer's number is that one: see [Number]
//	{"one_of": [TEXT, ...]}                one of them is said, as whole words
//	{"json_schema": {...}}                 the answer has JSON that fits
//
// An answer is right if all checks hold. References without checks are a check if
// they are short: one of them is said, as whole words.
//
// Everything is deterministic, given a seed, and safe for concurrent use.
package eval
