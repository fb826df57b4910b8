package llmtest

import (
	"encoding/base64"
	"strconv"
	"strings"
)

// sealMark begins what is sealed.
const sealMark = "ponder-sim "

// sealed returns an opaque string that only its model takes back.
func sealed(model string, id uint64) string {
	return base64.StdEncoding.EncodeToString([]byte(sealMark + strconv.FormatUint(id, 16) + " " + token(id, 48) + " " + model))
}

// unsealed reports whether a string was sealed for the model.
func unsealed(model, s string) bool {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return false
	}
	rest, ok := strings.CutPrefix(string(b), sealMark)
	fields := strings.SplitN(rest, " ", 3)
	return ok && len(fields) == 3 && fields[2] == model
}
