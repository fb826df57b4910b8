package lookup

import "testing"

func TestSameAddress(t *testing.T) {
	const page = "https://sea.test/a?q=1#depth"
	for other, want := range map[string]bool{
		page: true, "HTTPS://SEA.test:443/a?q=1#depth": true, "https://sea.test/a?q=1": false, "http://sea.test/a?q=1#depth": false,
		"https://sea.test:8443/a?q=1#depth": false, "https://user@sea.test/a?q=1#depth": false, "https://sea.test/a?q=2#depth": false,
		"https://sea.test/b?q=1#depth": false, "https://www.sea.test/a?q=1#depth": false, "": false, "javascript:alert(1)": false,
	} {
		if SameAddress(page, other) != want || SameAddress(other, page) != want {
			t.Errorf("%s and %s: want %v", page, other, want)
		}
	}
	if !SameAddress("https://sea.test", "https://sea.test/") || SameAddress("", "") || SameAddress("/a.md", "/a.md") {
		t.Error("the root of a site is one page, and files are none")
	}
}
