// Package lexical knows the words of texts: where they are ([Tokens], [Singles]),
// what they are compared by ([Fold], [Stem]), which say nothing of a subject
// ([Stop]), and what language a text is in ([Detect]).
//
// Words are found alike in all languages. In a script that does not space words
// each pair of letters that stand side by side is taken for one, for what is
// looked for is cut in the same way. Stems are Snowball's.
//
// All functions are pure and safe for concurrent use, and take any bytes. What
// they return is stored by those who call: a change of it needs their indexes
// made again.
package lexical
