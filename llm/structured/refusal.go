// Package structured reads the answers of models that were asked for structured output.
package structured

import "regexp"

// maxRefusal is how long a refusal may be, in bytes.
const maxRefusal = 200

// refusal matches how models refuse, from the beginning.
var refusal = regexp.MustCompile(`(?i)^(?:(?:i['’]m|i am) (?:very )?sorry,? (?:but )?|sorry,? (?:but )?|unfortunately,? |as an ai[^.]{0,60}, )*(?:i (?:can['’]?t|cannot|can not|am unable to|won['’]?t)|i['’]m (?:unable|not able) to) (?:help|assist|comply|fulfill|do that)\b`)

// IsRefusal reports whether a text says that a model won't do what it was asked.
func IsRefusal(text string) bool { return len(text) <= maxRefusal && refusal.MatchString(text) }
