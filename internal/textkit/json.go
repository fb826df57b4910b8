package textkit

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// JSON returns v as JSON on one line with unescaped "<", ">" and "&", which saves bytes and model
// tokens.
func JSON(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", fmt.Errorf("encode %T: %w", v, err)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}
