package transport_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"minikcm.dev/minikcm/apiserver/internal/transport"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/auth"
)

// client returns a client whose requests handler serves.
func client(handler http.HandlerFunc, ledger *clock.Ledger) *http.Client {
	return &http.Client{Transport: transport.New(transport.Options{
		Handler: handler, User: &auth.User{Name: "jane"}, Ledger: ledger, MaxBodyBytes: 8,
	})}
}

func send(ctx context.Context, t *testing.T, c *http.Client, path, body string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://in-memory.invalid"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return c.Do(req)
}

// The handler sees the user and a request of this process.
func TestRequest(t *testing.T) {
	c := client(func(w http.ResponseWriter, r *http.Request) {
		if user := auth.FromContext(r.Context()); user == nil || user.Name != "jane" || !transport.IsLocal(r.Context()) {
			t.Errorf("user %v", user)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte(strings.ToUpper(string(body))))
	}, nil)
	for path, want := range map[string]string{"/a": "LONG ENOUGH", "/a?watch=1": "LONG ENOU"} { // a stream's body is cut one byte above the limit
		resp, err := send(t.Context(), t, c, path, "long enough")
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusTeapot || string(got) != want {
			t.Errorf("%s: %d %q %v", path, resp.StatusCode, got, err)
		}
	}
}

// A handler gives a body that it has in memory without a copy, or writes it.
func TestGiveBody(t *testing.T) {
	c := client(func(w http.ResponseWriter, r *http.Request) {
		taker, ok := w.(interface{ GiveBody(data []byte) bool })
		if r.URL.Path == "/written" {
			_, _ = w.Write([]byte("a"))
		}
		if given := ok && taker.GiveBody([]byte("bc")); given != (r.URL.Path == "/given") {
			t.Errorf("%s: given: %t", r.URL, given)
		}
		_, _ = w.Write([]byte("d"))
	}, nil)
	for path, want := range map[string]string{"/given": "bcd", "/written": "ad", "/stream?watch=1": "d"} {
		resp, err := send(t.Context(), t, c, path, "")
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || string(got) != want {
			t.Errorf("%s: %q %v", path, got, err)
		}
	}
}

// TestUnreadBytesAreBounded writes to a client that does not read until a write fails.
// The deadline has passed already, so a full pipe fails a write at once.
func TestUnreadBytesAreBounded(t *testing.T) {
	const chunk, limit = 10 << 10, 256 << 10
	ledger := clock.NewLedger()
	written, failed := 0, make(chan error, 1)
	c := client(func(w http.ResponseWriter, _ *http.Request) {
		control := http.NewResponseController(w)
		for {
			if err := control.SetWriteDeadline(clock.Real().Now().Add(-time.Second)); err != nil {
				t.Error(err)
			}
			n, err := w.Write(make([]byte, chunk))
			written += n
			if err != nil {
				failed <- err
				return
			}
		}
	}, ledger)
	resp, err := send(t.Context(), t, c, "/a?watch=1", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := <-failed; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the write fails with %v", err)
	}
	if written < limit || written >= limit+chunk {
		t.Errorf("%d bytes are unread", written)
	}
	if ledger.Idle() {
		t.Error("the unread bytes are not in flight")
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	if err := ledger.WaitIdle(t.Context()); err != nil {
		t.Error(err)
	}
}

// The functions for the end of a stream have run when the client can see the end, and a
// cancelled stream does not end as if complete.
func TestStreamEnd(t *testing.T) {
	done := make(chan struct{})
	c := client(func(w http.ResponseWriter, r *http.Request) {
		defer transport.AtStreamEnd(r.Context(), func() { close(done) })()
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}, clock.NewLedger())
	ctx, cancel := context.WithCancel(t.Context())
	resp, err := send(ctx, t, c, "/a?watch=1", "")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.ReadAll(resp.Body); !errors.Is(err, context.Canceled) {
		t.Errorf("reading: %v", err)
	}
	<-done
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
}
