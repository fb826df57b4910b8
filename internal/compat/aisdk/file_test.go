package aisdk

import (
	"strings"
	"testing"
)

// A file is inline or on the public internet.
func TestFileOf(t *testing.T) {
	for url, want := range map[string]bool{
		"data:image/png;base64,aGk=":      true,
		"https://pictures.example/a.png":  true,
		"http://169.254.169.254/latest/":  false,
		"http://localhost:8744/metrics":   false,
		"data:image/png;base64,???":       false,
		"https://printer.local/image.png": false,
	} {
		m, err := fileOf(uiPart{URL: url, MediaType: "image/png"})
		if (err == nil) != want || want && m.Type != "image/png" || !want && !strings.Contains(err.Error(), "public internet") {
			t.Errorf("%s: %+v (%v)", url, m, err)
		}
	}
}
