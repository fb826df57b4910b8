package redact

import (
	"slices"
	"strings"
)

// Bounds on values, in bytes.
const (
	maxQuoted = 4096
	certain   = 256 // from which on a word is a secret whatever it looks like
	maxName   = 64
)

// A secrecy says how much the name of a value tells.
type secrecy int

const (
	open   secrecy = iota
	weak           // the value must look like a secret too
	strong         // the value is one, if it can be
)

// How names end that secrets have, in lower case and without what joins words.
const (
	strongNames = "password passwd passphrase passwort kennwort pwd secret apikey accesskey secretkey privatekey " +
		"authkey encryptionkey signingkey masterkey accountkey subscriptionkey"
	weakNames = "token credential credentials authorization"
)

// secretName returns what the name of a value tells, and the word that does.
func secretName(name string) (secrecy, string) {
	if len(name) > maxName {
		name = name[len(name)-maxName:]
	}
	name = plain(name)
	for word := range strings.SplitSeq(strongNames, " ") {
		if strings.HasSuffix(name, word) {
			return strong, word
		}
	}
	for word := range strings.SplitSeq(weakNames, " ") {
		if strings.HasSuffix(name, word) {
			return weak, word
		}
	}
	return open, ""
}

// plain returns a name in lower case, without what joins words.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '_' || r == '-' || r == '.' || r == ' ':
			return -1
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		}
		return r
	}, name)
}

// looksSecret reports whether a word looks made up: letters and digits, letters and
// signs, or long and of both cases.
func looksSecret(v string) bool {
	if len(v) >= certain {
		return true
	}
	var digits, lowers, uppers, signs int
	for i := range len(v) {
		switch c := v[i]; {
		case digit(c):
			digits++
		case lower(c):
			lowers++
		case upper(c):
			uppers++
		case strings.IndexByte("!@#$%^&*+=~?", c) >= 0:
			signs++
		}
	}
	letters := lowers + uppers
	return letters > 0 && (digits > 0 || signs > 0) || len(v) >= 20 && lowers > 0 && uppers > 0 && !strings.ContainsAny(v, "./-")
}

// placeholder reports whether a value stands for another: a variable, a call, a
// word such as none. Key is the word that its name ends in.
func placeholder(v, key string, quoted bool) bool {
	if len(v) >= certain {
		return false
	}
	if v == "" || strings.IndexByte("$%<{[*", v[0]) >= 0 || strings.Count(v, v[:1]) == len(v) {
		return true
	}
	if !quoted && strings.Contains(v, "(") {
		return true // a call
	}
	for _, p := range []string{"os.", "env.", "process.env", "secrets.", "vault:"} {
		if strings.HasPrefix(v, p) {
			return true
		}
	}
	if slices.Contains([]string{"null", "none", "nil", "true", "false", "undefined", "string", "required", "optional", "redacted", "hidden"}, strings.ToLower(v)) {
		return true
	}
	// password=args.password is code; password=my-password1 is not
	return key != "" && strings.HasSuffix(plain(v), key) && !strings.ContainsAny(v, "0123456789")
}
