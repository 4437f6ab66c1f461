package apiserver

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/apiserver/internal/live"
	"minikcm.dev/minikcm/apiserver/internal/request"
	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/apiserver/internal/verbs"
	"minikcm.dev/minikcm/clock"
)

// liveKinds are the kinds whose objects show the state of the process.
type liveKinds struct {
	stores  map[*resources.Resource]*live.Store
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// withLive returns a table with the rows of live kinds.
func withLive(table *resources.Table, kinds []live.Kind) (*resources.Table, map[*resources.Resource]live.Kind, error) {
	of := map[*resources.Resource]live.Kind{}
	for _, k := range kinds {
		row, err := live.Row(k)
		if err != nil {
			return nil, nil, err
		}
		table = table.With(row)
		of[row] = k
	}
	return table, of, nil
}

// startLive makes the objects of live kinds, and keeps them as the state is.
func (s *Server) startLive(ctx context.Context, kinds map[*resources.Resource]live.Kind) error {
	s.live.stores = map[*resources.Resource]*live.Store{}
	running, cancel := context.WithCancel(context.Background())
	s.live.cancel = cancel
	for row, kind := range kinds {
		objects, err := s.newLive(ctx, row, kind)
		if err != nil {
			return fmt.Errorf("serving %s: %w", row.GroupResource(), err)
		}
		s.stored[row.GVR()] = objects
		store := s.live.stores[row] // the next round writes the map
		s.live.running.Go(func() { store.Run(running) })
	}
	return nil
}

func (s *Server) newLive(ctx context.Context, row *resources.Resource, kind live.Kind) (*storage.Objects, error) {
	st, err := live.NewStore(ctx, live.Options{
		Objects: kind.Objects, Ticks: kind.Ticks, Creates: kind.Creates, Resource: row.GroupResource(), APIVersion: row.GroupVersion().String(), KindName: row.Kind,
		Key: func(name string) string { return storage.Root + row.StoragePrefix + "/" + name },
		UID: func(name string) types.UID { return s.chance.For(row.Plural, name).UID() },
		Now: s.preparer.Now,
	})
	if err != nil {
		return nil, err
	}
	s.live.stores[row] = st
	// Neither the cluster's clock nor its ledger: what shows the clock must not move with it.
	return storage.New(storage.Config{Resource: row, Store: st, Decoder: s.decoder, Clock: clock.Real(), Checks: st}), nil
}

// close ends the work for live kinds.
func (k *liveKinds) close() {
	if k.cancel == nil {
		return
	}
	k.cancel()
	k.running.Wait()
	for _, st := range k.stores {
		_ = st.Close() // nothing is kept
	}
}

// observeLive shows the state that a request reads, and each change of it while a watch lasts, until end
// is called. The watches of the cluster's own parts, such as the garbage collector's, which last as long as the
// cluster, get only the changes that other requests show.
func (s *Server) observeLive(rq *verbs.Call) (end func()) {
	st := s.live.stores[rq.Row]
	if st == nil {
		return func() {}
	}
	if rq.Verb == request.VerbWatch {
		if isPart(&rq.Request) {
			return func() {}
		}
		return st.Watched()
	}
	_ = st.Refresh(rq.HTTP.Context()) // the request finds the store's error itself
	return func() {}
}

// isOwnPath reports whether a path belongs to minikcm's own APIs. Faults never apply to these, because
// they are injected and removed there.
func (s *Server) isOwnPath(path string) bool {
	if rest, own := strings.CutPrefix(path, ownPath); own && (rest == "" || rest[0] == '/') {
		return true
	}
	rest, named := strings.CutPrefix(path, "/apis/")
	if !named || len(s.live.stores) == 0 {
		return false
	}
	group, _, _ := strings.Cut(rest, "/")
	for row := range s.live.stores {
		if row.Group == group {
			return true
		}
	}
	return false
}
