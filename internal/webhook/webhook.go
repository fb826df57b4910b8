// Package webhook posts signed events as Standard Webhooks (standardwebhooks.com).
package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"ponder/internal/netaddr"
)

// SecretPrefix precedes the base64 key in a secret.
const SecretPrefix = "whsec_"

// Limits of a request.
const (
	timeout  = 15 * time.Second
	maxReply = 64 << 10 // bytes to read, so that the connection can be reused
)

// IsURL reports whether the configuration may name an address for events: https, or http on this
// machine. For addresses of clients, see [CheckURL].
func IsURL(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" && netaddr.IsLoopback(u.Hostname()))
}

// Post posts a body with a signature for each key and returns the response status. It follows no
// redirects. Errors do not contain the address, whose path may be secret.
func Post(ctx context.Context, client *http.Client, address string, keys [][]byte, id string, now time.Time, body []byte) (status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return 0, errors.New("the address is not allowed")
	}
	at := strconv.FormatInt(now.Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "Ponder")
	req.Header.Set("Webhook-Id", id)
	req.Header.Set("Webhook-Timestamp", at)
	req.Header.Set("Webhook-Signature", Sign(keys, id, at, body))
	once := *client
	once.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := once.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return 0, err
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, maxReply) // the body has no meaning
	return resp.StatusCode, nil
}

// Sign returns the signatures of a message, one for each key.
func Sign(keys [][]byte, id, at string, body []byte) string {
	var list []string
	for _, key := range keys {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + at + "."))
		mac.Write(body)
		list = append(list, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(list, " ")
}
