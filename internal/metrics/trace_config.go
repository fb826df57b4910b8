package metrics

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// A TraceConfig says where traces go.
type TraceConfig struct {
	Endpoint   string            // the whole URL
	Headers    map[string]string // which may be secrets
	Service    string            // service.name
	Attributes map[string]string // of the resource
	Version    string            // of the program
	Timeout    time.Duration     // of a request
	Delay      time.Duration     // that spans wait for others at most
	Client     *http.Client      // one that follows no redirect if nil
	Logger     *slog.Logger      // slog.Default() if nil
}

const (
	defaultService = "ponder"
	defaultTimeout = 10 * time.Second
	defaultDelay   = 5 * time.Second
)

// TraceConfigOf reads the environment variables of OpenTelemetry. It returns nil if they
// want no traces, which is so unless they name an endpoint. An error names the variable,
// and never says what is in it.
func TraceConfigOf(getenv func(string) string) (*TraceConfig, error) {
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") || strings.EqualFold(getenv("OTEL_TRACES_EXPORTER"), "none") {
		return nil, nil
	}
	endpoint, err := endpointOf(getenv)
	if err != nil || endpoint == "" {
		return nil, err
	}
	first := func(names ...string) (name, value string) {
		for _, name := range names {
			if value := getenv(name); value != "" {
				return name, value
			}
		}
		return "", ""
	}
	if name, protocol := first("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"); protocol != "" && !strings.HasPrefix(protocol, "http/") {
		return nil, fmt.Errorf("%s: only http/json is spoken: give the port of the collector for HTTP, which is 4318 as a rule", name)
	}
	c := &TraceConfig{Endpoint: endpoint}
	name, text := first("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")
	if c.Headers, err = pairs(text); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if c.Attributes, err = pairs(getenv("OTEL_RESOURCE_ATTRIBUTES")); err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	c.Service = cmp.Or(getenv("OTEL_SERVICE_NAME"), c.Attributes["service.name"])
	delete(c.Attributes, "service.name")
	name, text = first("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT")
	if c.Timeout, err = millis(text); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if c.Delay, err = millis(getenv("OTEL_BSP_SCHEDULE_DELAY")); err != nil {
		return nil, fmt.Errorf("OTEL_BSP_SCHEDULE_DELAY: %w", err)
	}
	return c, nil
}

// endpointOf returns the URL that traces are sent to, or "".
func endpointOf(getenv func(string) string) (string, error) {
	name := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	endpoint := getenv(name)
	if endpoint == "" {
		name = "OTEL_EXPORTER_OTLP_ENDPOINT"
		if endpoint = getenv(name); endpoint != "" {
			endpoint = strings.TrimRight(endpoint, "/") + "/v1/traces"
		}
	}
	if endpoint == "" {
		return "", nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("%s: it is no URL such as http://127.0.0.1:4318", name)
	}
	return endpoint, nil
}

// pairs reads "a=1,b=2", whose values may be escaped as in a URL.
func pairs(text string) (map[string]string, error) {
	all := make(map[string]string)
	for part := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		name = strings.TrimSpace(name)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || name == "" || err != nil || strings.ContainsAny(value, "\r\n\x00") {
			return nil, errors.New("it is no list such as name=value,name=value")
		}
		all[name] = value
	}
	return all, nil
}

// millis reads a number of milliseconds; nothing is zero.
func millis(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, errors.New("it is no number of milliseconds")
	}
	return time.Duration(n) * time.Millisecond, nil
}
