package notify

import (
	"crypto/sha256"
	"encoding/hex"
)

// digest returns a short hash of a text.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}
