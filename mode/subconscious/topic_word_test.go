package subconscious

import "testing"

func TestIsTopic(t *testing.T) {
	for text, want := range map[string]bool{"the": false, "of the": false, "": false, "the printer": true, "invoice 4711": true, "die Rechnung": true} {
		if got := IsTopic(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
