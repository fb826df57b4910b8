package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"ponder/internal/textkit"
	"ponder/llm"
)

var never time.Time

// keyRejected replaces the provider's message, which may contain parts of the key.
const keyRejected = "key rejected"

const unexplained = "the provider failed without saying why"

// toError converts f. A status in f replaces a successful one.
func (f apiError) toError(status int) *llm.Error {
	if status/100 == 2 {
		status = f.status
	}
	e := &llm.Error{Class: f.errorClass(status), Status: status, Message: redact(textkit.VisibleLine(f.text, maxMessage), nil)}
	text := strings.ToLower(f.text)
	e.OfRequest = e.Class == llm.Payment && containsAny(text, "can only afford", "fewer max_tokens", "fewer tokens", "tokens limit exceeded")
	switch {
	case e.Class == llm.Auth && status != http.StatusForbidden:
		e.Message = keyRejected
	case f.page && e.Class == llm.BadRequest:
		e.Message, e.Advice = "a web page refuses the request", "check the proxy and the base URL"
	case e.Message == "" && len(f.names) > 0:
		e.Message = textkit.VisibleLine(f.names[0], maxMessage)
	case e.Message == "":
		e.Message = strings.ToLower(http.StatusText(status))
	}
	e.Message = cmp.Or(e.Message, unexplained)
	if e.Class == llm.TooLong || e.Class == llm.BadRequest {
		e.Limits = readLimits(f.text + " " + f.counts)
	}
	if e.Class == llm.BadRequest { // the number is that of another parameter
		e.Limits.Context = 0
	}
	return e
}

// errorClass tries phrases, specific names, the status, then general names.
func (f apiError) errorClass(status int) llm.Class {
	if f.page && (status == http.StatusPaymentRequired || status == http.StatusForbidden) { // of a proxy or firewall
		return llm.BadRequest
	}
	if c := classByText(strings.ToLower(f.text), status); c != "" {
		return c
	}
	for _, n := range f.names {
		if c := classByName(strings.ToLower(n)); c != "" {
			return c
		}
	}
	if c := classByStatus(status); c != "" {
		return c
	}
	for _, n := range f.names {
		if c := classByKind(strings.ToLower(n)); c != "" {
			return c
		}
	}
	return llm.Transient
}

// classByText matches phrases, the only distinction at some providers.
func classByText(text string, status int) llm.Class {
	switch {
	case status == http.StatusUnauthorized, status >= 500 && status != http.StatusInternalServerError:
		return ""
	case strings.Contains(text, "request too large"), status != http.StatusTooManyRequests && isOverflow(text):
		return llm.TooLong
	case containsAny(text, "insufficient balance", "insufficient credit", "insufficient_quota", "credit balance is too low",
		"requires more credits", "out of credits", "exceeded your monthly", "used all available credits", "spending limit",
		"billing hard limit", "no credits"):
		return llm.Payment
	case containsAny(text, "api key not valid", "invalid api key", "incorrect api key", "api key expired", "api key is invalid",
		"no api key", "missing api key"):
		return llm.Auth
	case status != http.StatusTooManyRequests && containsAny(text, "content management policy", "content filtering policy", "input was flagged",
		"safety system", "content_filter", "violates our usage", "violated our usage", "usage guidelines", "usage policies"),
		status == http.StatusForbidden && containsAny(text, "flagged", "moderation", "content policy"):
		return llm.Filtered
	case status != http.StatusTooManyRequests && containsAny(text, "country, region", "country/region", "location is not supported",
		"not supported in your", "not available in your", "country not supported"):
		return llm.BadRequest
	case containsAny(text, "requires more system memory"): // Ollama, status 500: permanent
		return llm.BadRequest
	}
	return ""
}

func containsAny(text string, phrases ...string) bool {
	return slices.ContainsFunc(phrases, func(p string) bool { return strings.Contains(text, p) })
}

func classByName(name string) llm.Class {
	switch name {
	case "context_length_exceeded", "exceed_context_size_error", "request_too_large", "string_above_max_length",
		"model_max_prompt_tokens_exceeded", "model_context_window_exceeded", "too_many_tokens", "input_too_long", "1261":
		return llm.TooLong
	case "insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "billing_error", "payment_required",
		"insufficient_balance", "insufficient_credits", "1113":
		return llm.Payment
	case "content_filter", "content_policy_violation", "responsibleaipolicyviolation", "content_filtered", "moderation",
		"image_content_policy_violation", "data_inspection_failed", "prohibited_content", "sensitive_words_detected", "1301":
		return llm.Filtered
	case "rate_limit_exceeded", "rate_limit_error", "resource_exhausted", "too_many_requests", "rate_limited",
		"ratelimiterror", "rate_limit", "1302", "1305":
		return llm.RateLimited
	case "unsupported_country_region_territory":
		return llm.BadRequest
	case "invalid_api_key", "authentication_error", "unauthenticated", "api_key_invalid", "permission_error",
		"permission_denied", "invalid_authentication_error", "access_denied", "unauthorized":
		return llm.Auth
	case "model_not_found", "not_found_error", "model_not_available", "deploymentnotfound", "notfounderror":
		return llm.NotFound
	case "json_validate_failed", "tool_use_failed", "output_parse_failed": // Groq: the model's fault
		return llm.Malformed
	case "overloaded_error", "unavailable", "service_unavailable", "server_error", "internal_server_error", "internal",
		"deadline_exceeded", "timeout_error", "overloaded", "server_overloaded", "engine_overloaded_error",
		"capacity_exceeded", "provider_error", "vector_store_timeout":
		return llm.Transient
	}
	return ""
}

// classByKind matches names that say less than a status.
func classByKind(name string) llm.Class {
	switch name {
	case "invalid_request_error", "invalid_argument", "failed_precondition", "badrequesterror", "invalid_request",
		"bad_request", "out_of_range", "invalid_prompt", "unprocessable_entity", "invalid_value":
		return llm.BadRequest
	case "not_found":
		return llm.NotFound
	case "cancelled":
		return llm.Transient
	}
	return ""
}

func classByStatus(status int) llm.Class {
	switch status {
	case 0:
		return ""
	case http.StatusUnauthorized, http.StatusForbidden:
		return llm.Auth
	case http.StatusPaymentRequired:
		return llm.Payment
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone:
		return llm.NotFound
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, 498, 499:
		return llm.Transient
	case http.StatusRequestEntityTooLarge:
		return llm.TooLong
	case http.StatusTooManyRequests:
		return llm.RateLimited
	case http.StatusUnavailableForLegalReasons:
		return llm.Filtered
	case http.StatusNotImplemented:
		return llm.BadRequest
	}
	switch {
	case status >= 500:
		return llm.Transient
	case status >= 400:
		return llm.BadRequest
	}
	return ""
}

// InBandError returns the error in a piece of a successful answer, or nil. It knows all
// dialects: an error object or string, an object of type error, a list of errors. It sets
// Class, Status, Message and RetryAfter.
func InBandError(data []byte) *llm.Error {
	if n := bytes.Count(data, []byte(`"error"`)); n == 0 || n == bytes.Count(data, []byte(`"error":null`)) {
		return nil
	}
	f, ok := parseAPIError(data, false)
	if !ok {
		return nil
	}
	e := f.toError(http.StatusOK)
	e.RetryAfter = RetryAfter(nil, data, never)
	return e
}

type apiError struct {
	names  []string // most specific first
	text   string
	counts string // of tokens, as text
	status int    // from the codes
	page   bool   // HTML
}

type envelope struct {
	Object   string          `json:"object"`
	Type     string          `json:"type"`
	Code     json.RawMessage `json:"code"`
	Status   json.RawMessage `json:"status"`
	Reason   string          `json:"reason"`
	Message  json.RawMessage `json:"message"`
	Error    json.RawMessage `json:"error"`
	Detail   json.RawMessage `json:"detail"`
	Errors   json.RawMessage `json:"errors"`
	Details  []detail        `json:"details"`
	Context  int             `json:"n_ctx"`           // llama.cpp
	Prompt   int             `json:"n_prompt_tokens"` // llama.cpp
	Metadata struct {
		Provider string          `json:"provider_name"`
		Raw      json.RawMessage `json:"raw"`
	} `json:"metadata"`
	Inner *struct {
		Code string `json:"code"`
	} `json:"innererror"`
}

type detail struct {
	Reason string `json:"reason"`
}

// parseAPIError parses an error. If whole, data is one in any case.
func parseAPIError(data []byte, whole bool) (apiError, bool) {
	data = bytes.TrimSpace(data)
	var list []json.RawMessage
	if len(data) > 0 && data[0] == '[' && json.Unmarshal(data, &list) == nil && len(list) > 0 {
		data = list[0]
	}
	env, ok := parseEnvelope(data)
	if !ok {
		return apiError{text: plainText(data), page: isPage(data)}, whole
	}
	var f apiError
	switch {
	case isPresent(env.Error):
		f.readError(env.Error, 0)
		f.addEnvelope(env)
	case env.Object == "error", env.Type == "error", whole:
		f.addEnvelope(env)
	default:
		return apiError{}, false
	}
	return f, true
}

// parseEnvelope ignores fields of the wrong type.
func parseEnvelope(data []byte) (env envelope, ok bool) {
	var bad *json.UnmarshalTypeError
	err := json.Unmarshal(data, &env)
	return env, err == nil || errors.As(err, &bad) && bad.Field != ""
}

func isPresent(raw json.RawMessage) bool {
	s := string(bytes.TrimSpace(raw))
	return s != "" && s != "null" && s != "false" && s != `""` && s != "{}"
}

// plainText returns text that is neither JSON nor HTML.
func plainText(data []byte) string {
	if isPage(data) {
		return ""
	}
	return string(trimMark(data))
}

// isPage reports whether data is HTML.
func isPage(data []byte) bool { return bytes.HasPrefix(trimMark(data), []byte("<")) }

func trimMark(data []byte) []byte {
	return bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
}

const maxNesting = 4

// readError parses an object, a string, or JSON in a string.
func (f *apiError) readError(raw json.RawMessage, depth int) {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		if raw = json.RawMessage(strings.TrimSpace(s)); !json.Valid(raw) || len(raw) == 0 || raw[0] != '{' {
			f.setText(s)
			return
		}
	}
	env, ok := parseEnvelope(raw)
	if !ok {
		return
	}
	if depth < maxNesting {
		if isPresent(env.Metadata.Raw) {
			f.readError(env.Metadata.Raw, depth+1)
			if f.text != "" && env.Metadata.Provider != "" {
				f.text = env.Metadata.Provider + ": " + f.text
			}
		}
		if isPresent(env.Error) {
			f.readError(env.Error, depth+1)
		}
	}
	f.addEnvelope(env)
}

func (f *apiError) addEnvelope(env envelope) {
	f.addName(scalarText(env.Code))
	if env.Inner != nil {
		f.addName(env.Inner.Code)
	}
	f.addName(env.Reason)
	for _, d := range env.Details {
		f.addName(d.Reason)
	}
	if env.Context > 0 && f.counts == "" {
		f.counts = fmt.Sprintf("n_ctx=%d n_prompt_tokens=%d", env.Context, env.Prompt)
	}
	f.addName(scalarText(env.Status))
	f.addName(env.Type)
	for _, raw := range []json.RawMessage{env.Message, env.Detail, env.Errors} {
		f.setText(scalarText(raw))
	}
}

func (f *apiError) addName(s string) {
	if n, err := strconv.Atoi(s); err == nil && n >= 400 && n < 600 {
		f.status = cmp.Or(f.status, n)
		return
	}
	if s != "" && s != "error" {
		f.names = append(f.names, s)
	}
}

func (f *apiError) setText(s string) {
	f.text = cmp.Or(f.text, s)
}

// scalarText returns a string's value, or other JSON verbatim.
func scalarText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	if !isPresent(raw) {
		return ""
	}
	return string(raw)
}
