package events

import (
	"context"
	"errors"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record/util"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
)

const (
	// maxTries and retryDelay are upstream's: about two minutes without an
	// apiserver lose an event.
	maxTries   = 12
	retryDelay = 10 * time.Second
	// flushGrace is the machine's time that Run may take to write the queued events when its
	// context ends.
	flushGrace = 2 * time.Second
)

// Run writes events until ctx ends, then writes the events that are still queued, and returns nil
// when all of its goroutines have ended. It runs once for a recorder and all that were made from
// it.
func (r *Recorder) Run(ctx context.Context) error {
	writeCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var writers sync.WaitGroup
	for _, queue := range r.queues {
		writers.Go(func() {
			// A write does not pause: it goes on with a context of its own.
			queue.Run(writeCtx, 1, func(_ context.Context, p *pending) { r.write(writeCtx, p) })
		})
	}
	<-ctx.Done()
	grace := clock.Real().AfterFunc(flushGrace, cancel)
	defer grace.Stop()
	r.close()
	writers.Wait()
	return nil
}

// close stops the retries and lets the writers end when the queues are empty.
func (s *sink) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.retries.Close()
	s.series.stop()
	for _, queue := range s.queues {
		queue.Drain()
	}
}

func (s *sink) write(ctx context.Context, p *pending) {
	err := p.send(ctx, s, p.tries > 0)
	if err == nil {
		return
	}
	event, reason := p.name()
	logger := klog.LoggerWithValues(klog.FromContext(ctx), "event", event, "reason", reason)
	var construction *rest.RequestConstructionError
	var status apierrors.APIStatus
	switch {
	case ctx.Err() != nil:
		// The recorder has been stopped.
	case errors.As(err, &construction):
		logger.Error(err, "Cannot construct the request for an event")
	case apierrors.IsAlreadyExists(err), apierrors.HasStatusCause(err, v1.NamespaceTerminatingCause):
		logger.V(5).Info("The server rejected an event", "err", err)
	case errors.As(err, &status) && !passes(err):
		logger.Error(err, "The server rejected an event")
	default:
		s.retryLater(logger, p, err)
	}
}

// passes reports whether the server refused for a reason that passes.
func passes(err error) bool {
	return apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
}

// send patches the event if it is a repetition, or creates it if it is new or has been deleted
// since. Sending again sends the correlator's earlier result; it does not count as a new
// occurrence.
func (m *coreMessage) send(ctx context.Context, s *sink, again bool) error {
	if !again {
		result, err := s.correlator.EventCorrelate(m.event)
		if err != nil {
			klog.FromContext(ctx).Error(err, "Cannot correlate an event", "event", klog.KObj(m.event))
		}
		if result == nil || result.Skip {
			return nil
		}
		m.event, m.patch = result.Event, result.Patch
	}
	event := m.event
	client := s.client.Events(event.Namespace)
	var written *v1.Event
	var err error
	if event.Count > 1 {
		written, err = client.Patch(ctx, event.Name, types.StrategicMergePatchType, m.patch, metav1.PatchOptions{FieldManager: m.manager})
	}
	if event.Count <= 1 || util.IsKeyNotFoundError(err) {
		event.ResourceVersion = ""
		written, err = client.Create(ctx, event, metav1.CreateOptions{FieldManager: m.manager})
	}
	if err == nil {
		s.correlator.UpdateState(written)
	}
	return err
}

// retryLater puts the event back when the delay has passed. It does not count as
// in flight meanwhile: a virtual clock could never reach the delay's end.
func (s *sink) retryLater(logger klog.Logger, p *pending, err error) {
	p.tries++
	if p.tries >= maxTries {
		logger.Error(err, "Cannot write an event, giving up", "tries", p.tries)
		return
	}
	logger.V(2).Info("Cannot write an event, will retry", "err", err)
	s.retries.Set(p, s.clock.Now().Add(retryDelay))
}
