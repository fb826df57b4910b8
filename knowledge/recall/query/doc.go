// Package query understands what a text asks for: [Parse] takes it apart into what
// to look for, when that was, of whom, and what kind of answer is wanted. It needs no
// model. It is pure and deterministic: the same text at the same time is the same
// [Query]. It takes less than a millisecond, time linear in the text, and reads no more than
// the first 4 KiB of it.
//
// # Expressions of time
//
// English is read best ("last week", "in March 2024", "between May and July", "three
// months ago", "since Monday", "Q2 2023", "the 1990s", "last summer", "the end of last
// year"); German, French and Spanish as far as tables of words go (lexicon/), of which
// the language is taken that knows most words of the text. Dates of digits are read as
// ISO 8601 and in the usual forms. Where there is a choice:
//
//   - Texts that are searched are of the past. So a month, a day or a weekday without a
//     year is the latest that has begun, and "last" one the latest that is over. Of
//     "between May and July" the second is the latest, and the first the one before it.
//   - Weeks begin on Monday. "last week" is the week before this one, "the past week"
//     and "the last 7 days" are counted back from now.
//   - "three weeks ago" is the week around that day, "a year ago" half a year before and
//     after; of days it is the day.
//   - 3/5/2024 is of March in English, and of May in other languages; 25/12/2023 is read
//     as it can be.
//   - Seasons are those of the north, by whole months. Winter of a year begins in its December.
//   - "after 2020" begins with 2021, but the operator after:2020 with 2020.
//   - Words that mostly mean something else ("may", "fall", "march") are times only behind
//     a word that leads one in, with a year or a capital.
//
// Several expressions are narrowed to what they have in common if they are open to one
// side, and span what is between them if not. "before the launch" is an [Anchor]: the
// caller must find when that was.
//
// # Operators
//
//	"exact phrase"   -"not this"   prefix*   -not   +must
//	kind:post   source:twitter   tag:"new york"   from:anna
//	before:2024-03   after:2024   on:yesterday   (also until: since: date: during:)
//
// What is no operator, as a colon behind another word, is text.
//
// # Classes
//
// Rules weigh cues (lexicon/classes.txt), the form of the first words, people and times.
// testdata has queries with their class: classes.tsv in plain words, late.tsv in freer
// ones. Every second query of both is held back; TestClasses says how many are right.
// All have one author, who wrote the rules too, so that queries of others will do worse.
//
// # What it does not see
//
// Typing errors, times of day ("at 5 pm"), amounts of time that something took, years
// before 1000, names that are words too and have no capital, and what a query refers to
// in one before it.
package query
