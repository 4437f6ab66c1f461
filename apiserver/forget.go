package apiserver

import (
	"context"
	"errors"
	"fmt"

	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/store"
)

// ForgetHistory compacts the store at its current revision and drops the history in the
// watch caches: new watches from earlier revisions get 410 Gone. Open watches continue.
func (s *Server) ForgetHistory(ctx context.Context) error {
	revision, err := s.opts.Store.Revision(ctx)
	if err != nil {
		return fmt.Errorf("reading the store's revision to compact it: %w", err)
	}
	var compacted *store.CompactedError
	if err := s.opts.Store.Compact(ctx, revision); err != nil && !errors.As(err, &compacted) {
		return fmt.Errorf("compacting the store at revision %d: %w", revision, err)
	}
	for _, objects := range s.current().Stored(s.stored) {
		objects.Cache().Forget(revision)
	}
	return nil
}

// forgetKinds drops the state that the server keeps for custom kinds that are not served any more.
func (s *Server) forgetKinds(rows []*resources.Resource) {
	for _, row := range rows {
		if s.current().Table.Lookup(row.GVR()) == nil {
			s.metrics.Forget(row.GVR())
		}
	}
}
