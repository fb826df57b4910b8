// Package locale finds the zone and the language of the user from the environment, for prompts.
package locale

import (
	"os"
	"strings"
	"time"
)

// Zone returns the name of the local zone and its distance from UTC at a time: TZ, else the target
// of /etc/localtime, else the abbreviation.
func Zone(env func(string) string, now time.Time) (name string, offset time.Duration) {
	abbreviation, seconds := now.Zone()
	offset = time.Duration(seconds) * time.Second
	if name = zoneName(env("TZ")); name != "" {
		return name, offset
	}
	if target, err := os.Readlink("/etc/localtime"); err == nil {
		if name = zoneName(target); name != "" {
			return name, offset
		}
	}
	if strings.Trim(abbreviation, "+-0123456789") == "" {
		abbreviation = "" // only an offset
	}
	return abbreviation, offset
}

// zoneName returns the name in a path or a value of TZ, such as Europe/Berlin, or "".
func zoneName(text string) string {
	if _, name, ok := strings.Cut(text, "zoneinfo/"); ok {
		text = name
	}
	text = strings.TrimPrefix(text, ":")
	if len(text) > 60 || strings.HasPrefix(text, "/") || strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-/") != "" {
		return ""
	}
	return text
}

// Language returns the English name of the language that LC_ALL, LC_MESSAGES or LANG names, such as
// "German", its tag if the name is unknown, or "" for the locales C and POSIX.
func Language(env func(string) string) string {
	for _, variable := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if value := env(variable); value != "" {
			return languageName(value)
		}
	}
	return ""
}

func languageName(value string) string {
	tag := value
	if i := strings.IndexAny(tag, ".@"); i >= 0 {
		tag = tag[:i]
	}
	tag = strings.ReplaceAll(tag, "_", "-")
	code, _, _ := strings.Cut(tag, "-")
	code = strings.ToLower(code)
	if name, ok := names[code]; ok {
		return name
	}
	for _, name := range names {
		if strings.ToLower(name) == code {
			return name
		}
	}
	if len(code) < 2 || len(code) > 3 || strings.Trim(code, "abcdefghijklmnopqrstuvwxyz") != "" || len(tag) > 20 {
		return ""
	}
	return tag
}

// names are the English names of common languages by ISO 639 code.
var names = map[string]string{
	"ar": "Arabic", "bg": "Bulgarian", "bn": "Bengali", "ca": "Catalan", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English",
	"es": "Spanish", "et": "Estonian", "fa": "Persian", "fi": "Finnish", "fr": "French", "he": "Hebrew", "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian",
	"id": "Indonesian", "it": "Italian", "ja": "Japanese", "ko": "Korean", "lt": "Lithuanian", "lv": "Latvian", "ms": "Malay", "nb": "Norwegian", "nl": "Dutch",
	"nn": "Norwegian", "no": "Norwegian", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sk": "Slovak", "sl": "Slovenian",
	"sr": "Serbian", "sv": "Swedish", "th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "ur": "Urdu", "vi": "Vietnamese", "zh": "Chinese",
}
