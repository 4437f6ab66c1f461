package hunt

import (
	"errors"
	"io"
	"testing"

	"minikcm.dev/minikcm/clock"
)

// read returns what one Read returns.
func read(t *testing.T, r io.Reader) string {
	t.Helper()
	buf := make([]byte, 64)
	n, err := r.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return string(buf[:n])
}

func TestStreamHoldsAndReleases(t *testing.T) {
	t.Parallel()
	ledger := clock.NewLedger()
	inner, server := io.Pipe()
	s := newStream(inner, ledger, false)
	send := func(text string) {
		if _, err := server.Write([]byte(text)); err != nil {
			t.Error(err)
		}
	}
	go send("a")
	if got := read(t, s); got != "a" {
		t.Fatalf("read %q, want a", got)
	}
	s.hold()
	got := make(chan string)
	go func() { got <- read(t, s) }()
	send("b")
	send("c") // pump has taken b, and waits for the next one once this is taken
	if err := ledger.WaitIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !s.release(false) {
		t.Error("nothing was held back")
	}
	text := <-got
	for len(text) < 2 {
		text += read(t, s)
	}
	if text != "bc" {
		t.Errorf("read %q after the release, want bc", text)
	}
	if err := errors.Join(server.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	if err := ledger.WaitIdle(t.Context()); err != nil {
		t.Errorf("a closed stream is in flight: %v", err)
	}
}

func TestStreamExpires(t *testing.T) {
	t.Parallel()
	inner, server := io.Pipe()
	s := newStream(inner, clock.NewLedger(), true)
	ended := make(chan error)
	go func() {
		_, err := s.Read(make([]byte, 64))
		ended <- err
	}()
	if _, err := server.Write([]byte("a")); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Write([]byte("b")); err != nil {
		t.Fatal(err)
	}
	s.release(true)
	if err := <-ended; err != io.EOF {
		t.Errorf("the reader gets %v, want EOF", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
