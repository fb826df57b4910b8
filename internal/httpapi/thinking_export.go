package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"ponder"
	"ponder/mode/session"
)

// A ReportForm is the form of an exported report.
type ReportForm struct {
	Format string `query:"format" enum:"json,markdown,html,jsonl,pdf" default:"json" doc:"json: all data; markdown, html or pdf: a report; jsonl: one event per line"`
	Inline bool   `query:"inline" doc:"show the report in the browser, instead of a download"`
	Known  string `header:"If-None-Match" doc:"ETag of your export"`
}

const (
	htmlFormat = "html"
	pdfFormat  = "pdf"
)

type exportSession struct {
	SessionPath
	ReportForm
}

func (a *api) exportSession(ctx context.Context, in *exportSession) (*bodyFunc, error) {
	return a.exportReport(ctx, in.ID, ponder.KindSession, in.ReportForm)
}

func (a *api) exportReport(ctx context.Context, name string, kind ponder.Kind, form ReportForm) (*bodyFunc, error) {
	info, err := a.ownedThread(ctx, name, kind)
	if err != nil {
		return nil, err
	}
	doc, err := a.formReport(ctx, info.ID, form.Format)
	if err != nil {
		return nil, a.apiError(err)
	}
	return a.deliverDocument(doc, form.Known, form.Inline), nil
}

// formReport returns a report in a format. A PDF is the print of the HTML report.
func (a *api) formReport(ctx context.Context, id ponder.ThreadID, format string) (Document, error) {
	if format != pdfFormat {
		return a.Service.Report(ctx, id, format)
	}
	if a.Print == nil {
		return Document{}, huma.Error501NotImplemented("no browser is installed on this server to make a PDF: open the HTML report and use the print dialog of your browser, or install Chromium on the server")
	}
	doc, err := a.Service.Report(ctx, id, htmlFormat)
	if err == nil {
		doc.Body, err = a.Print(ctx, doc.Body)
	}
	return Document{Type: "application/pdf", Name: string(id) + ".pdf", Body: doc.Body}, err
}

// deliverDocument writes 304 if known has the ETag. A browser shows an inline document without its origin.
func (a *api) deliverDocument(doc Document, known string, inline bool) *bodyFunc {
	sum := sha256.Sum256(doc.Body)
	tag := `"` + hex.EncodeToString(sum[:16]) + `"`
	return &bodyFunc{func(hc huma.Context) {
		hc.SetHeader("ETag", tag)
		hc.SetHeader("Cache-Control", "private, no-cache")
		if matchesETag(known, tag) {
			hc.SetStatus(http.StatusNotModified)
			return
		}
		hc.SetHeader("Content-Type", doc.Type)
		disposition := "attachment"
		if inline {
			disposition = "inline"
			hc.SetHeader("Content-Security-Policy", reportPolicy+ownFrames)
			hc.SetHeader("Referrer-Policy", "no-referrer")
		}
		hc.SetHeader("Content-Disposition", disposition+`; filename="`+fileName(doc.Name)+`"`)
		hc.SetStatus(http.StatusOK)
		if _, err := hc.BodyWriter().Write(doc.Body); err != nil {
			a.Logger.Debug("client disconnected", "error", err)
		}
	}}
}

// matchesETag parses an If-None-Match header.
func matchesETag(header, tag string) bool {
	for one := range strings.SplitSeq(header, ",") {
		one = strings.TrimPrefix(strings.TrimSpace(one), "W/")
		if one == tag || one == "*" {
			return true
		}
	}
	return false
}

// fileName replaces characters that headers or file systems reject.
func fileName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '-'
	}, name)
	return strings.TrimLeft(name, ".-")
}

func documentExport(op huma.Operation, types ...string) huma.Operation {
	content := make(map[string]*huma.MediaType)
	for _, t := range types {
		content[t] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
		if t == "application/json" {
			content[t].Schema = &huma.Schema{Type: huma.TypeObject, Description: "the session, its thoughts, questions, syntheses and sources"}
		}
	}
	etag := map[string]*huma.Param{"ETag": {Schema: &huma.Schema{Type: huma.TypeString}, Description: "ETag of the content"}}
	op.Responses = map[string]*huma.Response{
		"200": {Description: "a file", Content: content, Headers: etag},
		"304": {Description: "not modified", Headers: etag},
	}
	return op
}

type streamOf struct {
	SessionPath
	EventCursor
	Limit int `query:"limit" minimum:"1" maximum:"100000" doc:"maximum number of thoughts of a JSON answer, newest first"`
}

type manyThoughts struct {
	Success  bool            `json:"success"`
	ID       ponder.ThreadID `json:"session_id"`
	Count    int             `json:"thought_count"`
	Thoughts []Thought       `json:"thoughts" nullable:"false"`
}

func (a *api) streamSession(ctx context.Context, in *streamOf) (*bodyFunc, error) {
	info, err := a.ownedThread(ctx, in.ID, ponder.KindSession)
	if err != nil {
		return nil, err
	}
	many := manyThoughts{Success: true, ID: info.ID}
	return &bodyFunc{func(hc huma.Context) {
		r, w := humago.Unwrap(hc)
		if wantsEvents(r) {
			a.streamEvents(w, r, info, in.startSeq())
			return
		}
		err := a.withCalibrated(ctx, info, func(v session.View) { many.Thoughts = thoughtsOf(v) })
		if err != nil {
			a.writeError(hc, err)
			return
		}
		if in.Limit > 0 {
			many.Thoughts = many.Thoughts[max(0, len(many.Thoughts)-in.Limit):]
		}
		many.Count = len(many.Thoughts)
		a.writeJSON(hc, http.StatusOK, many)
	}}, nil
}
