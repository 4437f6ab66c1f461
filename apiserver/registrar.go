package apiserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"minikcm.dev/minikcm/apiserver/internal/apiservices"
	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/store"
)

// registrar writes the objects that describe the server: an APIService for each served version,
// and the FlowSchemas and priority levels that every cluster has. The first pass, which no request
// waits for, is made in the background, and so is one after a failed write. What a request changes
// is described before its response is sent, so that these writes have a place in the order of all
// writes that does not depend on the machine.
type registrar struct {
	server  *Server
	cancel  context.CancelFunc // ends run
	running sync.WaitGroup
	// registered is closed after the first pass.
	registered chan struct{}
	// looks holds at most one request for a pass in the background. It does not take turns (Ahead):
	// the start of the cluster waits for the first one.
	looks inflight.Queue[struct{}]
	// mu is held while APIServices are compared with the served versions.
	mu sync.Mutex
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

// wake starts another pass in the background.
func (r *registrar) wake() { r.looks.Add(struct{}{}) }

// now updates the objects that describe the server, and leaves that to the background if it fails.
// On a nil registrar it does nothing: the first pass is still to come.
func (r *registrar) now(ctx context.Context, describe func(context.Context) error) {
	if r == nil {
		return
	}
	if err := describe(ctx); err != nil {
		r.wake()
	}
}

// describeServed updates the APIServices to the versions that are served now.
func (s *Server) describeServed(ctx context.Context) { s.registrar.Load().now(ctx, s.registerServed) }

func (r *registrar) run(ctx context.Context) {
	first := true
	r.looks.Run(ctx, 1, func(ctx context.Context, _ struct{}) {
		err := r.server.registerServed(ctx)
		if first {
			err = errors.Join(err, r.server.flows.Ensure(ctx, true))
			close(r.registered)
		} else {
			err = errors.Join(err, r.server.settleFlows(ctx))
		}
		first = false
		if err != nil && ctx.Err() == nil {
			r.server.opts.Logger.Error(err, "Writing the objects that every cluster has")
		}
	})
}

// settleFlows restores the mandatory FlowSchemas and priority levels, and updates the conditions of
// the FlowSchemas.
func (s *Server) settleFlows(ctx context.Context) error {
	return errors.Join(s.flows.Ensure(ctx, false), s.flows.SettleDangling(ctx))
}

// AwaitRegistered waits until the objects that describe the server have been written once, so that
// the revisions of the caller's next writes do not depend on how fast that was. It returns the
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
	r := s.registrar.Load()
	r.mu.Lock()
	defer r.mu.Unlock()
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
	for _, gv := range slices.SortedFunc(maps.Keys(served), compareVersions) {
		if err := s.own.Ensure(ctx, apiservices.Local(gv, served[gv])); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating the APIService of %s: %w", gv, err)
		}
	}
	return nil
}

func compareVersions(a, b schema.GroupVersion) int {
	return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Version, b.Version))
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
