package completions

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strings"

	"ponder/internal/compat"
	"ponder/internal/textkit"
	"ponder/llm"
)

// imageTypes are those that models read.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// mostName is how much is kept of the name of a file, in bytes.
const mostName = 100

// takeFile adds an image, or says why it cannot be taken.
func (s *said) takeFile(p part) (wrong string) {
	var url string
	for _, v := range []any{p.URL, p.Image, p.ImageURL, p.Data} {
		switch v := v.(type) {
		case string:
			url = cmp.Or(url, v)
		case map[string]any: // {"url": ...}
			if inner, ok := v["url"].(string); ok {
				url = cmp.Or(url, inner)
			}
		}
	}
	head, data, ok := strings.Cut(strings.TrimPrefix(url, "data:"), ",")
	kind, coded := strings.CutSuffix(head, ";base64")
	if !ok || !coded || !strings.HasPrefix(url, "data:") {
		return "files are read only as data: URLs in base64, for nothing is fetched from elsewhere"
	}
	if kind = cmp.Or(kind, p.MediaType, p.Mime, p.Kind); !slices.Contains(imageTypes, kind) {
		return "only images are read: " + strings.Join(imageTypes, ", ")
	}
	if base64.StdEncoding.DecodedLen(len(data)) > mostImage {
		return "the image is larger than 5 MiB"
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil || len(raw) == 0 {
		return "the image is not in base64"
	}
	s.media = append(s.media, llm.Part{Media: &llm.Media{Type: kind, Data: raw, Name: textkit.TruncateBytes(compat.Plain(cmp.Or(p.Filename, p.Name)), mostName)}})
	return ""
}
