// Package query understands what a text asks for: [Parse] takes it apart into what
// to look for, when that was, of whom, and what kind of answer is wanted. It is
// pure, needs no model, and takes time linear in the text.
package query
