package searchtest

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

func shapeAnswer(a searchRequest, found []Page) any {
	list := make([]map[string]any, 0, len(found))
	for i, p := range found {
		list = append(list, shapeResult(a, p, i, len(found)))
	}
	switch a.api {
	case Exa:
		return map[string]any{"requestId": "b5947044c4b78efa9552a7c89b306d95", "autopromptString": "Here is a page about " + a.query + ":",
			"resolvedSearchType": "neural", "results": list, "costDollars": map[string]any{"total": 0.005}}
	case Brave:
		answer := map[string]any{"type": "search", "query": map[string]any{"original": a.query, "more_results_available": false}, "mixed": map[string]any{"type": "mixed"}}
		if len(list) > 0 {
			answer["web"] = map[string]any{"type": "search", "results": list, "family_friendly": true}
		}
		return answer
	case Tavily:
		return map[string]any{"query": a.query, "follow_up_questions": nil, "answer": nil, "images": []any{}, "results": list,
			"response_time": 0.42, "request_id": "123e4567-e89b-12d3-a456-426614174111"}
	}
	return map[string]any{"query": a.query, "number_of_results": 0, "results": list, "answers": []any{}, "corrections": []any{},
		"infoboxes": []any{}, "suggestions": []string{a.query + " news"}, "unresponsive_engines": [][]string{{"duckduckgo", "timeout"}}}
}

func shapeResult(a searchRequest, p Page, i, of int) map[string]any {
	score := 0.9 - 0.5*float64(i)/float64(of)
	passage := bestLine(p.Text, a.query)
	switch a.api {
	case Exa:
		return map[string]any{"id": p.URL, "url": p.URL, "title": p.Title, "author": orNil(p.Author), "score": score, "publishedDate": formatTime(p.Published, "2006-01-02T15:04:05.000Z"),
			"text": p.Text, "highlights": []string{passage}, "highlightScores": []float64{score}, "summary": "A page that says: " + passage}
	case Brave:
		return map[string]any{"type": "search_result", "subtype": "generic", "url": p.URL, "title": p.Title, "description": strings.ReplaceAll(passage, "&", "&amp;"),
			"language": "en", "family_friendly": true, "page_age": formatTime(p.Published, "2006-01-02T15:04:05"), "age": formatTime(p.Published, "January 2, 2006"),
			"profile": map[string]any{"name": urlHost(p.URL), "url": p.URL}, "meta_url": map[string]any{"scheme": "https", "netloc": urlHost(p.URL)}}
	case Tavily:
		return map[string]any{"url": p.URL, "title": p.Title, "content": passage, "score": score, "raw_content": p.Text, "published_date": formatTime(p.Published, time.RFC1123)}
	}
	return map[string]any{"url": p.URL, "title": p.Title, "content": passage, "publishedDate": formatTime(p.Published, "2006-01-02T15:04:05"), "engine": "wikipedia",
		"engines": []string{"wikipedia", "bing"}, "template": "default.html", "parsed_url": []string{"https", urlHost(p.URL), "", "", "", ""}, "positions": []int{i + 1},
		"score": 1 / float64(i+1), "category": "general", "thumbnail": nil, "img_src": ""}
}

func writeRefusal(w http.ResponseWriter, api string, status int, key string) {
	words := map[int]string{400: "The query is missing.", 401: "The key " + key + " is invalid.", 429: "Request rate limit exceeded for plan."}[status]
	code := map[int]string{400: "VALIDATION", 401: "SUBSCRIPTION_TOKEN_INVALID", 429: "RATE_LIMITED"}[status]
	if api == Brave && status < 429 {
		status = 422 // its status for all others
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	var v any
	switch api {
	case Exa:
		v = map[string]any{"requestId": "67207943fab9832d162b5317f4cca830", "error": words, "tag": map[int]string{400: "INVALID_REQUEST_BODY", 401: "INVALID_API_KEY", 429: "RATE_LIMITED"}[status]}
	case Brave:
		v = map[string]any{"type": "ErrorResponse", "error": map[string]any{"id": "5d832250", "code": code, "detail": words, "status": status, "meta": map[string]any{"component": "rate_limiter"}}, "time": 1663072993}
	case Tavily:
		v = map[string]any{"detail": map[string]any{"error": words}}
	default:
		fmt.Fprintln(w, "Too Many Requests")
		return
	}
	writeJSON(w, v)
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func formatTime(t time.Time, layout string) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(layout)
}

func urlHost(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Host
}
