package audit

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/auth"
)

func everything() *auditv1.Policy {
	return &auditv1.Policy{Rules: []auditv1.PolicyRule{{Level: auditv1.LevelMetadata}}}
}

// serve serves one audited request.
func serve(t *testing.T, a *Auditor, handler http.HandlerFunc) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/version", nil)
	record, recording, audited, err := a.Begin(w, Request{HTTP: r, ID: "id", Attributes: auth.Attributes{User: auth.Anonymous(), Verb: "get", Path: "/version"}})
	if err != nil {
		t.Fatal(err)
	}
	defer record.End()
	handler(recording, audited)
	return w
}

// TestPanic checks that a panic is recorded, and goes on.
func TestPanic(t *testing.T) {
	t.Parallel()
	var stages []string
	opts := Options{Policy: everything(), Events: func(e *auditv1.Event) {
		text := string(e.Stage)
		if e.ResponseStatus != nil {
			text += " " + e.ResponseStatus.Message
		}
		stages = append(stages, text)
	}}
	a, err := New(opts, clock.Real(), klog.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if reason := recover(); reason != "oh" {
			t.Errorf("recovered %v", reason)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		if got := strings.Join(stages, ","); got != "RequestReceived,Panic APIServer panic'd: oh" {
			t.Errorf("stages %q", got)
		}
	}()
	serve(t, a, func(http.ResponseWriter, *http.Request) { panic("oh") })
}

// TestBatchIsFlushed checks that Close delivers what is buffered, to a log and to a webhook
// that fails at first, and that a webhook that does not respond does not keep Close for long.
func TestBatchIsFlushed(t *testing.T) {
	t.Parallel()
	var calls, received atomic.Int64
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 1 {
			http.Error(w, "not yet", http.StatusBadGateway)
			return
		}
		var list auditv1.EventList
		if err := json.NewDecoder(r.Body).Decode(&list); err != nil {
			t.Error(err)
		}
		received.Add(int64(len(list.Items)))
	}))
	defer hook.Close()
	dir := t.TempDir()
	config := filepath.Join(dir, "hook.yaml")
	content := "apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: '" + hook.URL + "'}}]\ncontexts: [{name: a, context: {cluster: a}}]\ncurrent-context: a\n"
	if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	opts := DefaultOptions()
	opts.Policy, opts.Log.Path, opts.Log.Mode = everything(), filepath.Join(dir, "logs", "audit.log"), ModeBatch
	opts.Webhook.ConfigFile, opts.Webhook.InitialBackoff = config, time.Millisecond
	a, err := New(opts, clock.Real(), klog.Background())
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		serve(t, a, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if received.Load() != 20 {
		t.Errorf("the webhook received %d events, want 20", received.Load())
	}
	data, err := os.ReadFile(opts.Log.Path)
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(data), "\n"); lines != 20 {
		t.Errorf("the log has %d lines, want 20", lines)
	}
	for path, mode := range map[string]os.FileMode{opts.Log.Path: 0o600, filepath.Dir(opts.Log.Path): 0o700} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v; want mode %v", path, info.Mode(), err, mode)
		}
	}
}

// TestRotation checks that the log is renamed when it is full, that no line is lost or
// split, and that only the newest files stay.
func TestRotation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := &logFile{path: filepath.Join(dir, "audit.log"), maxBytes: 100, maxBackups: 2, compress: true}
	if err := os.WriteFile(filepath.Join(dir, "audit-notes.log"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		if _, err := l.Write([]byte(strings.Repeat("x", 29) + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var compressed, plain int
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".log.gz") {
			compressed++
		} else {
			plain++
		}
	}
	if compressed != 2 || plain != 2 {
		t.Errorf("%d compressed and %d other files in %v, want 2 and 2", compressed, plain, entries)
	}
	if info, err := os.Stat(l.path); err != nil || info.Size() > l.maxBytes || info.Size()%30 != 0 {
		t.Errorf("the log is %v, %v", info, err)
	}
}

// TestStrict checks that a request whose event cannot be written is only refused in the mode
// blocking-strict.
func TestStrict(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{ModeBlocking, ModeBlockingStrict} {
		opts := DefaultOptions()
		opts.Policy, opts.Log.Path, opts.Log.Mode = everything(), "/dev/full", mode
		opts.Log.MaxSize = 0
		a, err := New(opts, clock.Real(), klog.Background())
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		_, _, _, err = a.Begin(httptest.NewRecorder(), Request{HTTP: r, Attributes: auth.Attributes{User: auth.Anonymous(), Verb: "get", Path: "/"}})
		if (err != nil) != (mode == ModeBlockingStrict) {
			t.Errorf("%s: %v", mode, err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}
