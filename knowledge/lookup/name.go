package lookup

import (
	"bytes"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
)

// SourceName returns the name of a source for models and for clients of the server: the base name
// of a file, and any other source unchanged. The folders of a machine are private.
func SourceName(source string) string {
	if !isPath(source) {
		return source
	}
	file, part, _ := strings.Cut(strings.ReplaceAll(source, `\`, "/"), "#")
	if name := path.Base(strings.TrimPrefix(file, "file://")); name != "/" && name != "." {
		file = name
	}
	if part != "" {
		file += "#" + path.Base(part)
	}
	return file
}

// isPath reports whether a source is the path of a file, not a URL or a name.
func isPath(source string) bool {
	drive := len(source) > 2 && source[1] == ':' && (source[2] == '\\' || source[2] == '/')
	return drive || strings.HasPrefix(source, "/") || strings.HasPrefix(source, "~/") || strings.HasPrefix(source, "file://")
}

// sourceKeys are the JSON keys whose values, or elements, are sources.
var sourceKeys = []string{"source", "sources", "path", "paths", "docs", "prefer", "without"}

// NameSources returns JSON of a lookup tool, of its arguments or of a run's options, with
// the [SourceName] of each source. Other bytes are unchanged, and so is text that is not JSON.
func NameSources(js []byte) []byte {
	if !bytes.ContainsAny(js, `/\`) {
		return js
	}
	return MapStrings(js, func(key, text string) string {
		if !isPath(text) || !slices.Contains(sourceKeys, key) {
			return text
		}
		return SourceName(text)
	})
}

// MapStrings returns JSON with other texts. It calls change for each text that is no key, with the last
// key before it. Other bytes are unchanged, and so is text that is not JSON.
func MapStrings(js []byte, change func(key, text string) string) []byte {
	if !json.Valid(js) {
		return js
	}
	var out bytes.Buffer
	key, copied := "", 0
	for i := 0; i < len(js); i++ {
		if js[i] != '"' {
			continue
		}
		start := i
		for i++; js[i] != '"'; i++ {
			if js[i] == '\\' {
				i++
			}
		}
		var text string
		if json.Unmarshal(js[start:i+1], &text) != nil {
			continue
		}
		if next := bytes.TrimLeft(js[i+1:], " \t\r\n"); len(next) > 0 && next[0] == ':' {
			key = text
			continue
		}
		changed := change(key, text)
		if changed == text {
			continue
		}
		name, err := json.Marshal(changed)
		if err != nil {
			continue
		}
		out.Write(js[copied:start])
		out.Write(name)
		copied = i + 1
	}
	if copied == 0 {
		return js
	}
	out.Write(js[copied:])
	return out.Bytes()
}

// textPath matches an absolute path of two or more parts in a sentence of the program. It does not match
// URLs.
var textPath = regexp.MustCompile(`(^|[\s"'“‘(\[:=])((?:~?/|[A-Za-z]:\\)[^\s"'”’()\[\]:;,/\\]+[/\\][^\s"'”’()\[\]:;,]+)`)

// NamePaths returns a sentence of the program, such as an error, with the [SourceName] of each path.
func NamePaths(text string) string {
	if !strings.ContainsAny(text, `/\`) {
		return text
	}
	return textPath.ReplaceAllStringFunc(text, func(m string) string {
		at := strings.IndexAny(m, `/~\`)
		if at > 1 && m[at-1] == ':' && m[at] == '\\' {
			at -= 2
		}
		if strings.HasPrefix(m[at:], "//") || strings.HasPrefix(m[at:], "/api/") || strings.HasPrefix(m[at:], "/v1/") {
			return m // a URL, or a route of the server
		}
		return m[:at] + SourceName(m[at:])
	})
}
