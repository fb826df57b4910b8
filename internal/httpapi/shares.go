package httpapi

import (
	"context"
	"crypto/rand"
	_ "embed" // for the page of links without a report
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/credential"
)

// Shares stores links to reports. It is safe for concurrent use.
type Shares interface {
	AddShare(ctx context.Context, secret string, sh credential.Share) error
	OpenShare(ctx context.Context, secret string, now time.Time) (sh credential.Share, ok bool, err error)
	Shares(ctx context.Context, owner string, now time.Time) ([]credential.Share, error)
	RemoveShare(ctx context.Context, owner, id string) (had bool, err error)
}

const (
	sharePath = "/share/"

	minShare     = time.Minute
	maxShare     = 90 * 24 * time.Hour
	defaultShare = "7d"
)

func (a *api) registerShares() {
	const all = "/api/shares"
	op := func(scope auth.Scope, method, path, id, summary string, errs ...int) huma.Operation {
		return a.newOperation(scope, method, path, id, summary, tagAccess, errs...)
	}
	add := op(auth.Think, http.MethodPost, all, "create-share", "Create a link to read the report of a session or research", http.StatusNotFound, http.StatusUnprocessableEntity)
	add.Description = "Each reader of the link sees the report as it is then, without sign-in, until the link expires or is removed. The answer contains the link only now: the server stores its hash."
	add.DefaultStatus = http.StatusCreated
	huma.Register(a.huma, add, a.createShare)
	huma.Register(a.huma, op(auth.Read, http.MethodGet, all, "list-shares", "List links to reports, newest first"), a.listShares)
	huma.Register(a.huma, op(auth.Think, http.MethodDelete, all+"/{id}", "remove-share", "End a link to a report", http.StatusNotFound), a.removeShare)
}

// A Share describes a link without its secret.
type Share struct {
	ID      string          `json:"id"`
	Thread  ponder.ThreadID `json:"thread_id"`
	Kind    ponder.Kind     `json:"kind"`
	Title   string          `json:"title"`
	Created time.Time       `json:"created_at"`
	Expires time.Time       `json:"expires_at"`
	Opened  int             `json:"opened" doc:"number of times"`
}

func shareOf(sh credential.Share, info ponder.Info) Share {
	return Share{ID: sh.ID, Thread: info.ID, Kind: info.Kind, Title: info.Title, Created: sh.Created, Expires: sh.Expires, Opened: sh.Opened}
}

type createShare struct {
	Body struct {
		Thread string `json:"thread_id" minLength:"1" maxLength:"200" doc:"ID of a session or research"`
		Life   string `json:"expires_in,omitempty" maxLength:"20" default:"7d" doc:"life of the link: such as 12h or 7d, at most 90d" example:"7d"`
	}
	life time.Duration
}

func (in *createShare) Resolve(huma.Context) (wrong []error) {
	now := time.Now()
	from, err := sinceOf(orDefault(in.Body.Life, defaultShare), now)
	in.life = now.Sub(from).Round(time.Second)
	if err != nil || in.life < minShare || in.life > maxShare+time.Hour { // a day may have 25 hours
		wrong = append(wrong, &huma.ErrorDetail{Location: "body.expires_in", Message: "expected a duration from 1m to 90d, such as 7d", Value: in.Body.Life})
	}
	return wrong
}

func orDefault(text, otherwise string) string {
	if text = strings.TrimSpace(text); text == "" {
		return otherwise
	}
	return text
}

type shareOutput struct {
	Body struct {
		Success bool   `json:"success"`
		Path    string `json:"path" doc:"path of the link, after the address of the server"`
		Share   Share  `json:"share"`
	}
}

// reportKinds are the kinds of threads that have a report.
var reportKinds = []ponder.Kind{ponder.KindSession, ponder.KindResearch}

func (a *api) sharesOr() (Shares, error) {
	if a.Shares == nil {
		return nil, huma.Error404NotFound("this server shares no reports")
	}
	return a.Shares, nil
}

func (a *api) createShare(ctx context.Context, in *createShare) (*shareOutput, error) {
	shares, err := a.sharesOr()
	if err != nil {
		return nil, err
	}
	info, err := a.ownedThread(ctx, in.Body.Thread, reportKinds...)
	if err != nil {
		return nil, err
	}
	now, secret := time.Now().UTC().Truncate(time.Second), strings.ToLower(rand.Text()+rand.Text())
	sh := credential.Share{ID: ponder.NewID("shr"), Owner: info.Owner, Thread: string(info.ID), Created: now, Expires: now.Add(in.life)}
	if err := shares.AddShare(ctx, secret, sh); err != nil {
		return nil, a.apiError(err)
	}
	out := &shareOutput{}
	out.Body.Success, out.Body.Path, out.Body.Share = true, sharePath+secret, shareOf(sh, info)
	return out, nil
}

type manyShares struct {
	Body struct {
		Success bool    `json:"success"`
		Count   int     `json:"share_count"`
		Shares  []Share `json:"shares" nullable:"false"`
	}
}

func (a *api) listShares(ctx context.Context, _ *struct{}) (*manyShares, error) {
	out := &manyShares{}
	out.Body.Success, out.Body.Shares = true, []Share{}
	if a.Shares == nil {
		return out, nil
	}
	list, err := a.Shares.Shares(ctx, auth.CallerOf(ctx).Owner, time.Now())
	if err != nil {
		return nil, a.apiError(err)
	}
	for _, sh := range list {
		info, err := a.sharedThread(ctx, sh)
		if isGone(err) {
			continue // removed since
		}
		if err != nil {
			return nil, a.apiError(err)
		}
		out.Body.Shares = append(out.Body.Shares, shareOf(sh, info))
	}
	out.Body.Count = len(out.Body.Shares)
	return out, nil
}

type sharePathInput struct {
	ID string `path:"id" maxLength:"200" doc:"ID of the link, not the link itself"`
}

func (a *api) removeShare(ctx context.Context, in *sharePathInput) (*doneOutput, error) {
	shares, err := a.sharesOr()
	if err != nil {
		return nil, err
	}
	had, err := shares.RemoveShare(ctx, auth.CallerOf(ctx).Owner, in.ID)
	if err == nil && !had {
		err = app.NotFoundf("id", "no such link: see /api/shares")
	}
	if err != nil {
		return nil, a.apiErrorIn("path", err)
	}
	out := &doneOutput{}
	out.Body.Success, out.Body.Message = true, "the link is removed; copies of the report stay with their readers"
	return out, nil
}

// sharedThread returns the thread of a share, or [ponder.ErrNoThread].
func (a *api) sharedThread(ctx context.Context, sh credential.Share) (ponder.Info, error) {
	info, err := a.Store.Thread(ctx, ponder.ThreadID(sh.Thread))
	if err == nil && info.Owner != sh.Owner {
		err = ponder.ErrNoThread
	}
	return info, err
}

// reportPolicy is added to the policy that a report contains. A report has no scripts, and a sandboxed
// document has no access to the cookies of this server.
const reportPolicy = "sandbox allow-popups allow-popups-to-escape-sandbox; script-src 'none'; connect-src 'none'; object-src 'none'; frame-src 'none'; " +
	"img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors "

// Who may show a report in a frame.
const (
	ownFrames = "'self'"
	noFrames  = "'none'"
)

//go:embed noshare.html
var noShare []byte

// openShare shows a shared report. It needs no caller. A wrong link, an expired link and a removed thread
// give the same answer.
func (a *api) openShare(w http.ResponseWriter, r *http.Request) {
	doc, err := a.sharedReport(r.Context(), r.PathValue("secret"))
	h := w.Header()
	h.Set("Content-Security-Policy", reportPolicy+noFrames)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Robots-Tag", "noindex, nofollow")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "text/html; charset=utf-8")
	if err == nil {
		_, _ = w.Write(doc.Body) // the client may have disconnected
		return
	}
	if !isGone(err) {
		a.Logger.Error("cannot show a shared report", "error", err)
	}
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write(noShare) // likewise
}

func (a *api) sharedReport(ctx context.Context, secret string) (doc Document, err error) {
	if a.Shares == nil || secret == "" {
		return doc, ponder.ErrNoThread
	}
	sh, ok, err := a.Shares.OpenShare(ctx, secret, time.Now())
	if err != nil {
		return doc, err
	}
	if !ok {
		return doc, ponder.ErrNoThread
	}
	info, err := a.sharedThread(ctx, sh)
	if err != nil {
		return doc, err
	}
	return a.Service.Report(ctx, info.ID, htmlFormat)
}
