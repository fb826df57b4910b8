package redact

import (
	"slices"
	"strings"
)

// Limits in bytes.
const (
	maxQuoted  = 4096
	minCertain = 256 // from this length on, any word is a secret
	maxName    = 64
)

// A secrecy is the evidence that a name gives.
type secrecy int

const (
	nameOpen   secrecy = iota
	nameWeak           // the value must look like a secret too
	nameStrong         // any possible value is a secret
)

// Suffixes of names of secrets, in normalizeName's form.
const (
	strongNames = "password passwd passphrase passwort kennwort pwd secret apikey accesskey secretkey privatekey " +
		"authkey encryptionkey signingkey masterkey accountkey subscriptionkey"
	weakNames = "token credential credentials authorization"
)

// secretName returns the secrecy of a name and the matching suffix.
func secretName(name string) (secrecy, string) {
	if len(name) > maxName {
		name = name[len(name)-maxName:]
	}
	name = normalizeName(name)
	for word := range strings.SplitSeq(strongNames, " ") {
		if strings.HasSuffix(name, word) {
			return nameStrong, word
		}
	}
	for word := range strings.SplitSeq(weakNames, " ") {
		if strings.HasSuffix(name, word) {
			return nameWeak, word
		}
	}
	return nameOpen, ""
}

// normalizeName returns a name in lower case without separators.
func normalizeName(name string) string {
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

// looksSecret reports whether a word looks random: letters with digits or signs, or long and in
// mixed case.
func looksSecret(v string) bool {
	if len(v) >= minCertain {
		return true
	}
	var digits, lowers, uppers, signs int
	for i := range len(v) {
		switch c := v[i]; {
		case isDigit(c):
			digits++
		case isLower(c):
			lowers++
		case isUpper(c):
			uppers++
		case strings.IndexByte("!@#$%^&*+=~?", c) >= 0:
			signs++
		}
	}
	letters := lowers + uppers
	return letters > 0 && (digits > 0 || signs > 0) || len(v) >= 20 && lowers > 0 && uppers > 0 && !strings.ContainsAny(v, "./-")
}

// isPlaceholder reports whether a value is no literal secret: a variable, a call, or a word such as
// none. key is the suffix of its name.
func isPlaceholder(v, key string, quoted bool) bool {
	if len(v) >= minCertain {
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
	return key != "" && strings.HasSuffix(normalizeName(v), key) && !strings.ContainsAny(v, "0123456789")
}
