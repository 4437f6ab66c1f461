package forkapi

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// phase is the phase of a fork.
type phase string

// The phases of a fork.
const (
	phaseStarting phase = "Starting"
	phaseRunning  phase = "Running"
	phaseEnding   phase = "Ending"
	// phaseFailed forks did not start. They are listed as objects until these are deleted.
	phaseFailed phase = "Failed"
)

// maxFailed caps the forks that failed and are still listed.
const maxFailed = 4

// beginOptions say what is forked, and who wants it.
type beginOptions struct {
	request
	user string
	// name is the ID; empty: the next number is.
	name string
	// given is the spec of the object.
	given json.RawMessage
	// dryRun makes all checks, and begins nothing. The fork is nil.
	dryRun bool
}

// begin begins to start a fork.
func (s *service) begin(ctx context.Context, opts beginOptions) (*running, error) {
	revision, at, err := s.moment(ctx, opts.Revision)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	s.forgetFailedLocked()
	n := 0
	for _, f := range s.forks {
		if f.phase != phaseFailed {
			n++
		}
	}
	if n >= maxForks {
		return nil, apierrors.NewTooManyRequests(fmt.Sprintf("%d forks run, and more are not allowed: end one first", n), 0)
	}
	if slices.ContainsFunc(s.forks, func(f *running) bool { return f.shown.ID == opts.name }) {
		return nil, apierrors.NewAlreadyExists(liveResource, opts.name)
	}
	if opts.dryRun {
		return nil, nil
	}
	id := opts.name
	if id == "" {
		id = s.nextIDLocked()
	}
	starting, cancel := context.WithCancelCause(context.Background())
	r := &running{
		shown: Fork{ID: id, Revision: revision, Time: at.UTC()}, user: opts.user, given: opts.given, phase: phaseStarting, since: s.now(),
		cancel: cancel, started: make(chan struct{}), ended: make(chan struct{}),
	}
	s.forks = append(s.forks, r)
	s.works.Go(func() { s.start(starting, r) })
	s.news.Publish()
	return r, nil
}

func (s *service) now() time.Time { return s.cluster.Clock().Now().UTC().Truncate(time.Second) }

// nextIDLocked returns an ID that no fork has.
func (s *service) nextIDLocked() string {
	for {
		s.last++
		id := "fork-" + strconv.Itoa(s.last)
		if !slices.ContainsFunc(s.forks, func(f *running) bool { return f.shown.ID == id }) {
			return id
		}
	}
}

// forgetFailedLocked forgets the oldest forks that failed, if there are too many.
func (s *service) forgetFailedLocked() {
	isFailed := func(f *running) bool { return f.phase == phaseFailed }
	for n := len(s.forks); n > maxForks+maxFailed; n-- {
		if i := slices.IndexFunc(s.forks, isFailed); i >= 0 {
			s.forks = slices.Delete(s.forks, i, i+1)
		}
	}
}

// start starts a fork: one at a time.
func (s *service) start(ctx context.Context, r *running) {
	defer close(r.started)
	s.starting.Lock()
	defer s.starting.Unlock()
	shown := r.shown // which changes only here
	p, err := start(ctx, &s.opts, s.cluster.Config(), &shown)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil && r.phase == phaseStarting:
		r.phase, r.failure, r.since = phaseFailed, err, s.now()
	case err != nil: // it ends
		r.failure = err
	default:
		r.shown, r.parts = shown, p
		if r.phase == phaseStarting {
			r.phase, r.since = phaseRunning, s.now()
		}
	}
	s.news.Publish()
}

// end ends a fork, and returns when it has ended, or ctx.
func (s *service) end(ctx context.Context, r *running) error {
	s.mu.Lock()
	if r.phase != phaseEnding {
		r.phase, r.since = phaseEnding, s.now()
		r.cancel(errEnded)
		s.works.Go(func() { s.stop(r) })
		s.news.Publish()
	}
	s.mu.Unlock()
	select {
	case <-r.ended:
		return r.stopError
	case <-ctx.Done():
		return apierrors.NewTimeoutError(fmt.Sprintf("the fork %s ends, and has not ended yet: %v", r.shown.ID, context.Cause(ctx)), 1)
	}
}

// stop stops a fork that ends, and forgets it.
func (s *service) stop(r *running) {
	defer close(r.ended)
	<-r.started
	r.requests.Close()
	r.stopError = r.parts.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forks = slices.DeleteFunc(s.forks, func(f *running) bool { return f == r })
	s.news.Publish()
}
