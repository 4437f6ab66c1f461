package slowclient_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"minikcm.dev/minikcm/apiserver/internal/slowclient"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a connection that records its deadlines and the sizes of its writes.
type recorder struct {
	*httptest.ResponseRecorder
	writes, reads []time.Time // deadlines
	sizes         []int
	fail          error
}

func (r *recorder) SetWriteDeadline(t time.Time) error { r.writes = append(r.writes, t); return nil }
func (r *recorder) SetReadDeadline(t time.Time) error  { r.reads = append(r.reads, t); return nil }

func (r *recorder) Write(p []byte) (int, error) {
	r.sizes = append(r.sizes, len(p))
	if r.fail != nil {
		return 0, r.fail
	}
	return len(p), nil
}

func request(stall time.Duration) *http.Request {
	r, _ := http.NewRequestWithContext(slowclient.WithStall(context.Background(), stall), http.MethodGet, "/", nil)
	return r
}

// Each chunk of a body has a deadline of its own, which is cleared at the end.
func TestSendBody(t *testing.T) {
	w := &recorder{ResponseRecorder: httptest.NewRecorder()}
	slowclient.SendBody(w, request(time.Minute), make([]byte, 600<<10))
	if len(w.sizes) != 3 || len(w.writes) != 4 || w.writes[0].IsZero() || !w.writes[3].IsZero() {
		t.Errorf("writes of %v, deadlines %v", w.sizes, w.writes)
	}
	w = &recorder{ResponseRecorder: httptest.NewRecorder(), fail: io.ErrClosedPipe}
	slowclient.SendBody(w, request(time.Minute), make([]byte, 600<<10))
	if len(w.sizes) != 1 || len(w.writes) != 1 {
		t.Errorf("after a failure: writes of %v, deadlines %v", w.sizes, w.writes)
	}
	w = &recorder{ResponseRecorder: httptest.NewRecorder()}
	slowclient.SendBody(w, request(0), make([]byte, 600<<10))
	if len(w.sizes) != 1 || len(w.writes) != 0 {
		t.Errorf("of a client in this process: writes of %v, deadlines %v", w.sizes, w.writes)
	}
}

// A stream has a deadline only while it writes, and once its context has ended.
func TestStream(t *testing.T) {
	w := &recorder{ResponseRecorder: httptest.NewRecorder()}
	ctx, cancel := context.WithCancel(request(time.Minute).Context())
	defer cancel()
	s := slowclient.NewStream(ctx, w)
	if _, err := s.Write([]byte("event")); err != nil {
		t.Fatal(err)
	}
	s.End()
	if len(w.writes) != 3 || w.writes[0].IsZero() || !w.writes[1].IsZero() || !w.writes[2].IsZero() || !w.Flushed {
		t.Errorf("deadlines %v, flushed %t", w.writes, w.Flushed)
	}
}

// late is a body whose reads time out.
type late struct{}

func (late) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

// A read that times out is ErrSlowBody; the deadline is the stall limit or the end of the
// time for the whole body, whichever is earlier.
func TestLimitBody(t *testing.T) {
	w := &recorder{ResponseRecorder: httptest.NewRecorder()}
	body, end := slowclient.LimitBody(w, request(time.Hour), strings.NewReader("body"), time.Minute)
	data, err := io.ReadAll(body)
	end()
	if err != nil || string(data) != "body" || len(w.reads) < 2 || !w.reads[0].Equal(w.reads[1]) || !w.reads[len(w.reads)-1].IsZero() {
		t.Errorf("%q, %v, deadlines %v", data, err, w.reads)
	}
	body, end = slowclient.LimitBody(w, request(time.Hour), late{}, time.Minute)
	defer end()
	if _, err := body.Read(make([]byte, 1)); !errors.Is(err, slowclient.ErrSlowBody) {
		t.Errorf("a late body fails with %v", err)
	}
}
