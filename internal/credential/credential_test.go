package credential

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"ponder/internal/auth"
	"ponder/store/sqlite"
)

func openTest(t *testing.T, file string) *Store {
	t.Helper()
	db, err := sqlite.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	s, err := Open(t.Context(), db.SQL())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSignIns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ponder.db")
	s := openTest(t, file)
	start := time.Unix(1e9, 0)
	in := auth.SignIn{Token: "desk", Digest: auth.HashOf("token"), Created: start, Used: start}
	if err := s.AddSignIn(t.Context(), "secret-of-cookie", in); err != nil {
		t.Fatal(err)
	}
	other := openTest(t, file) // after a restart
	for _, step := range []struct {
		name   string
		after  time.Duration
		secret string
		ok     bool
		used   time.Duration
	}{
		{"at once", time.Minute, "secret-of-cookie", true, 0},
		{"another secret", time.Minute, "secret-of-cookiX", false, 0},
		{"after six days", 6 * 24 * time.Hour, "secret-of-cookie", true, 6 * 24 * time.Hour},
		{"after twelve days", 12 * 24 * time.Hour, "secret-of-cookie", true, 12 * 24 * time.Hour},
		{"idle for seven days", 19 * 24 * time.Hour, "secret-of-cookie", false, 0},
	} {
		got, ok, err := other.FindSignIn(t.Context(), step.secret, start.Add(step.after))
		if err != nil || ok != step.ok {
			t.Fatalf("%s: %v %v", step.name, ok, err)
		}
		if ok && (got.Token != "desk" || got.Digest != in.Digest || !got.Used.Equal(start.Add(step.used))) {
			t.Errorf("%s: %+v", step.name, got)
		}
	}
	if _, ok, _ := s.FindSignIn(t.Context(), "secret-of-cookie", start.Add(18*24*time.Hour)); !ok {
		t.Error("the time of the last use is lost")
	}
	for day := 12; day < 30; day += 6 { // in use until the end
		if _, ok, _ := s.FindSignIn(t.Context(), "secret-of-cookie", start.Add(time.Duration(day)*24*time.Hour)); !ok {
			t.Fatalf("expired on day %d", day)
		}
	}
	if _, ok, _ := s.FindSignIn(t.Context(), "secret-of-cookie", start.Add(auth.SignInLife)); ok {
		t.Error("valid after its life")
	}
	if err := s.RemoveSignIn(t.Context(), "secret-of-cookie"); err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := s.FindSignIn(t.Context(), "secret-of-cookie", start.Add(time.Minute)); ok {
		t.Error("valid after its removal")
	}
}

// TestSecretsAreHashed checks that the database has no secret.
func TestSecretsAreHashed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ponder.db")
	s := openTest(t, file)
	now := time.Now()
	if err := s.AddSignIn(t.Context(), "COOKIESECRET", auth.SignIn{Token: "a", Created: now, Used: now}); err != nil {
		t.Fatal(err)
	}
	if err := s.AddShare(t.Context(), "LINKSECRET", Share{ID: "shr_1", Owner: "a", Thread: "thr_1", Created: now, Expires: now.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	stored := 0
	for _, end := range []string{"", "-wal"} {
		text, err := os.ReadFile(file + end)
		if err != nil {
			continue
		}
		stored += bytes.Count(text, []byte("shr_1"))
		for _, secret := range []string{"COOKIESECRET", "LINKSECRET"} {
			if bytes.Contains(text, []byte(secret)) {
				t.Errorf("%s is in the database%s", secret, end)
			}
		}
	}
	if stored == 0 {
		t.Error("the share is not in the files")
	}
}

func TestSignInsPerToken(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "ponder.db"))
	start := time.Unix(1e9, 0)
	for i := range maxSignIns + 3 {
		at := start.Add(time.Duration(i) * time.Second)
		if err := s.AddSignIn(t.Context(), "secret"+strconv.Itoa(i), auth.SignIn{Token: "a", Created: at, Used: at}); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range map[int]bool{0: false, 2: false, 3: true, maxSignIns + 2: true} {
		if _, ok, err := s.FindSignIn(t.Context(), "secret"+strconv.Itoa(i), start.Add(time.Minute)); ok != want || err != nil {
			t.Errorf("sign-in %d: %v %v", i, ok, err)
		}
	}
}

func TestShares(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "ponder.db"))
	start := time.Unix(1e9, 0).UTC()
	for i, owner := range []string{"anna", "anna", "berta"} {
		sh := Share{ID: "shr_" + strconv.Itoa(i), Owner: owner, Thread: "thr_" + strconv.Itoa(i), Created: start.Add(time.Duration(i) * time.Second), Expires: start.Add(time.Hour)}
		if err := s.AddShare(t.Context(), "link"+strconv.Itoa(i), sh); err != nil {
			t.Fatal(err)
		}
	}
	sh, ok, err := s.OpenShare(t.Context(), "link0", start.Add(time.Minute))
	if want := (Share{"shr_0", "anna", "thr_0", start, start.Add(time.Hour), 1}); err != nil || !ok || sh != want {
		t.Fatalf("%+v %v %v", sh, ok, err)
	}
	if _, ok, _ := s.OpenShare(t.Context(), "link0", start.Add(time.Hour)); ok {
		t.Error("open after its end")
	}
	if _, ok, _ := s.OpenShare(t.Context(), "shr_0", start); ok {
		t.Error("open by its ID")
	}
	list, err := s.Shares(t.Context(), "anna", start)
	if err != nil || len(list) != 2 || list[0].ID != "shr_1" || list[1].Opened != 1 {
		t.Errorf("%+v %v", list, err)
	}
	if had, err := s.RemoveShare(t.Context(), "berta", "shr_0"); had || err != nil {
		t.Errorf("another owner removes it: %v", err)
	}
	if had, err := s.RemoveShare(t.Context(), "anna", "shr_0"); !had || err != nil {
		t.Errorf("its owner removes it: %v %v", had, err)
	}
	if _, ok, _ := s.OpenShare(t.Context(), "link0", start); ok {
		t.Error("open after its removal")
	}
	if err := s.Cleanup(t.Context(), start.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if list, _ := s.Shares(t.Context(), "anna", start); len(list) > 0 {
		t.Errorf("left after the cleanup: %+v", list)
	}
}
