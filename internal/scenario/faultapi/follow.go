package faultapi

import (
	"encoding/json"
	"net/http"
	"time"

	"minikcm.dev/minikcm/clock"
)

// listInterval is the machine's time between two lines of a followed list: the changes in
// between are in one line.
const listInterval = 100 * time.Millisecond

// followList writes the list as a line of JSON now and after changes, until the client is gone
// or the cluster closes.
func (s *service) followList(w http.ResponseWriter, r *http.Request) error {
	ctx, end, ok := s.follows.Begin(r.Context())
	if !ok {
		return errClosed
	}
	defer end()
	control := http.NewResponseController(w)
	w.Header().Set("Content-Type", "application/json;stream=watch")
	pause := clock.Real().NewTimer(listInterval)
	defer pause.Stop()
	for {
		changed := s.news.Wait()
		// A client in the process has no deadlines, nor need it be flushed to. One that
		// passes ends the stream also while nothing is written, so none is left.
		_ = control.SetWriteDeadline(clock.Real().Now().Add(patience))
		if err := json.NewEncoder(w).Encode(s.shown()); err != nil {
			return nil // the client is gone
		}
		_ = control.Flush()
		_ = control.SetWriteDeadline(time.Time{})
		pause.Reset(listInterval)
		select {
		case <-pause.C():
		case <-ctx.Done():
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}
