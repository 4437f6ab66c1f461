package apiserver

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"minikcm.dev/minikcm/apiserver/apiservices"
	"minikcm.dev/minikcm/apiserver/storage"
	"minikcm.dev/minikcm/clock/inflight"
	"minikcm.dev/minikcm/store"
)

// registrar writes, in the background, the objects that describe the server and that no
// request waits for: an APIService for each served version, updated when
// CustomResourceDefinitions change, and the FlowSchemas and priority levels that every
// cluster has.
type registrar struct {
	server  *Server
	cancel  context.CancelFunc // ends run
	running sync.WaitGroup
	// registered is closed after the first pass.
	registered chan struct{}
	// looks holds at most one request for another pass. It does not take turns (Ahead):
	// no other work depends on what the registrar writes.
	looks *inflight.Queue[struct{}]
}

// startRegistrar starts the registrar.
func (s *Server) startRegistrar() {
	ctx, cancel := context.WithCancel(context.Background())
	r := &registrar{
		server: s, cancel: cancel, registered: make(chan struct{}),
		looks: inflight.NewQueue(inflight.QueueOptions[struct{}]{Ledger: s.opts.Ledger, Name: "registrar", Ahead: true}),
	}
	s.registrar.Store(r)
	r.wake()
	r.running.Go(func() { r.run(ctx) })
}

// wake starts another pass. On a nil registrar it does nothing: the first pass is still
// to come.
func (r *registrar) wake() {
	if r != nil {
		r.looks.Add(struct{}{})
	}
}

func (r *registrar) run(ctx context.Context) {
	first := true
	r.looks.Run(ctx, 1, func(ctx context.Context, _ struct{}) {
		err := errors.Join(r.server.registerServed(ctx), r.server.flows.Ensure(ctx, first))
		if !first {
			err = errors.Join(err, r.server.flows.SettleDangling(ctx))
		}
		if first {
			close(r.registered)
		}
		first = false
		if err != nil && ctx.Err() == nil {
			r.server.opts.Logger.Error(err, "Writing the objects that every cluster has")
		}
	})
}

// AwaitRegistered waits until the objects that describe the server have been written once, so that
// the revisions of what the caller writes next do not depend on how fast that was. It returns the
// cause if ctx ends first.
func (s *Server) AwaitRegistered(ctx context.Context) error {
	select {
	case <-s.registrar.Load().registered:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// stop ends the registrar and waits for a running pass.
func (r *registrar) stop() {
	if r == nil {
		return
	}
	r.cancel()
	r.running.Wait()
	r.looks.Close()
}

// registerServed makes the local APIServices match the versions that are served now.
func (s *Server) registerServed(ctx context.Context) error {
	objects := s.stored[apiservices.Resource()]
	page, all, err := objects.ListAt(ctx, objects.Prefix(""), store.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing the APIServices: %w", err)
	}
	served := s.servedVersions()
	for i, kv := range page.KeyValues {
		stored, ok := all[i].(*apiregistrationv1.APIService)
		if !ok {
			return fmt.Errorf("reading %s: it is a %T", kv.Key, all[i])
		}
		gv := schema.GroupVersion{Group: stored.Spec.Group, Version: stored.Spec.Version}
		if _, still := served[gv]; still {
			delete(served, gv) // an APIService exists, whichever client created it
			continue
		}
		if !apiservices.Managed(stored) {
			continue
		}
		var conflict *store.ConflictError
		if _, err := objects.Remove(ctx, kv.Key, kv.ModRevision); err != nil && !errors.As(err, &conflict) {
			return fmt.Errorf("removing the APIService %s: %w", stored.Name, storage.Translate(err, apiservices.Resource().GroupResource(), stored.Name))
		}
	}
	for gv, custom := range served {
		if err := s.own.Ensure(ctx, apiservices.Local(gv, custom)); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating the APIService of %s: %w", gv, err)
		}
	}
	return nil
}

// servedVersions returns the served versions, and whether each has custom kinds only.
func (s *Server) servedVersions() map[schema.GroupVersion]bool {
	now := s.current()
	served := map[schema.GroupVersion]bool{}
	for _, row := range now.Table.Shown() {
		gv := row.GroupVersion()
		custom, known := served[gv]
		served[gv] = now.IsCustom(row) && (custom || !known)
	}
	return served
}
