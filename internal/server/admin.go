package server

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/pprof"
	"os"
	"path/filepath"
	"time"

	"ponder/internal/auth"
	"ponder/internal/fileio"
)

// adminRoutes returns the routes besides the API, by pattern.
func (s *Server) adminRoutes() map[string]http.Handler {
	return map[string]http.Handler{
		"GET /metrics":             s.Meter,
		"GET /debug/pprof/":        requireAdmin(http.HandlerFunc(pprof.Index)),
		"GET /debug/pprof/profile": requireAdmin(http.HandlerFunc(pprof.Profile)),
		"GET /debug/pprof/trace":   requireAdmin(http.HandlerFunc(pprof.Trace)),
		"GET /debug/pprof/symbol":  requireAdmin(http.HandlerFunc(pprof.Symbol)),
		"POST /debug/pprof/symbol": requireAdmin(http.HandlerFunc(pprof.Symbol)),
		"GET /debug/pprof/cmdline": requireAdmin(http.HandlerFunc(pprof.Cmdline)),
		"POST /api/backup":         requireAdmin(http.HandlerFunc(s.backupTo)),
	}
}

func requireAdmin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := auth.CallerOf(r.Context())
		if !c.HasScope(auth.Admin) {
			remedy := "this token lacks the scope admin: use another token"
			if c.Token == "" {
				remedy = `only the user of the server may do this: send -H "Authorization: Bearer $(cat ~/.local/state/ponder/serve.token)"`
			}
			writeProblem(w, http.StatusForbidden, remedy)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func writeProblem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]any{"title": http.StatusText(status), "status": status, "detail": detail})
}

// backupTo sends a consistent copy of the database.
func (s *Server) backupTo(w http.ResponseWriter, r *http.Request) {
	file, err := s.copyOf(r)
	if err != nil {
		if r.Context().Err() == nil {
			s.Warn(fmt.Errorf("back up the database: %w", err))
		}
		writeProblem(w, http.StatusInsufficientStorage, "cannot copy the database: check the free disk space")
		return
	}
	defer file.Close()
	w.Header().Set("Content-Type", "application/vnd.sqlite3")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=ponder-%s.db", time.Now().Format(time.DateOnly)))
	if info, err := file.Stat(); err == nil {
		w.Header().Set("Content-Length", fmt.Sprint(info.Size()))
	}
	_, _ = io.Copy(w, file) // the client may have disconnected
}

// copyOf copies the database into a file that is already unlinked.
func (s *Server) copyOf(r *http.Request) (*os.File, error) {
	dir, err := fileio.MakeTempDir(filepath.Dir(s.DatabasePath()), ".ponder-backup-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	copied := filepath.Join(dir, "copy.db")
	if err := s.Store.Copy(r.Context(), copied); err != nil {
		return nil, err
	}
	return os.Open(copied)
}
