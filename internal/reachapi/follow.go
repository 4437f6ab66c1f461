package reachapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/openrequests"
)

// line is a line of a stream: the answer, or what the question names and is not there.
type line struct {
	Report  *reach.Report `json:"report,omitempty"`
	Missing string        `json:"missing,omitempty"`
	// Has says what there is in place of what is missing.
	Has string `json:"has,omitempty"`
}

// follow writes the answer as a line of JSON now and each time it is another one, until the client is gone or the cluster closes.
func (s *service) follow(ctx context.Context, w http.ResponseWriter, ask *reach.Ask) error {
	news := make(chan struct{}, 1)
	changed := func() {
		select {
		case news <- struct{}{}:
		default: // the next look sees this change, too
		}
	}
	kubelets := s.cluster.Kubelets()
	if err := kubelets.FollowReach(ctx, changed); err != nil {
		return err
	}
	var last []byte
	for {
		report, err := kubelets.Reach(ctx, ask)
		var missing *reach.NotFoundError
		switch {
		case errors.As(err, &missing):
			err = nil
		case err != nil && last == nil:
			return refusal(err)
		case err != nil:
			return nil
		default:
			missing = &reach.NotFoundError{}
		}
		data, err := json.Marshal(line{report, missing.What, missing.Has})
		if err != nil {
			return err
		}
		if !bytes.Equal(data, last) {
			if last == nil {
				w.Header().Set("Content-Type", "application/json;stream=watch")
			}
			last = data
			if openrequests.WriteLine(w, json.RawMessage(data)) != nil {
				return nil // the client is gone
			}
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil
		}
	}
}

// errEnded is the answer after the end of a stream.
var errEnded = errors.New("the cluster answers no longer whether connections arrive")

// Follow asks a running cluster, and calls changed each time the answer is another one, until ctx ends. The error of answer is a
// *reach.NotFoundError for what does not exist at present. run runs a function in a goroutine, which ends with ctx.
func Follow(ctx context.Context, client rest.Interface, ask *reach.Ask, run func(func()), changed func()) (answer func() (*reach.Report, error), err error) {
	stream, err := request(client, ask).Param("follow", "true").Stream(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking the cluster whether a connection arrives: %w", err)
	}
	lines := json.NewDecoder(stream)
	f := &followed{}
	if err := f.read(lines); err != nil {
		return nil, errors.Join(fmt.Errorf("reading the answer of the cluster: %w", err), stream.Close())
	}
	run(func() {
		defer stream.Close()
		for {
			err := f.read(lines)
			changed()
			if err != nil {
				return
			}
		}
	})
	return f.answer, nil
}

// followed is the newest answer of a stream.
type followed struct {
	mu    sync.Mutex
	last  line
	ended error
}

func (f *followed) read(lines *json.Decoder) error {
	var next line
	err := lines.Decode(&next)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case errors.Is(err, io.EOF):
		f.ended = errEnded
	case err != nil:
		f.ended = fmt.Errorf("%w: %w", errEnded, err)
	}
	f.last = next
	return err
}

func (f *followed) answer() (*reach.Report, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.ended != nil:
		return nil, f.ended
	case f.last.Missing != "":
		return nil, &reach.NotFoundError{What: f.last.Missing, Has: f.last.Has}
	}
	return f.last.Report, nil
}
