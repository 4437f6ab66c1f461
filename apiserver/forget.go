package apiserver

import (
	"context"
	"errors"
	"fmt"

	"minikcm.dev/minikcm/store"
)

// ForgetHistory compacts the store at its present revision and empties what the watch
// caches keep for those who watch from the past: they get 410 Gone. Watches that are
// open go on.
func (s *Server) ForgetHistory(ctx context.Context) error {
	revision, err := s.opts.Store.Revision(ctx)
	if err != nil {
		return fmt.Errorf("reading the store's revision to compact it: %w", err)
	}
	var compacted *store.CompactedError
	if err := s.opts.Store.Compact(ctx, revision); err != nil && !errors.As(err, &compacted) {
		return fmt.Errorf("compacting the store at revision %d: %w", revision, err)
	}
	for _, objects := range s.stored {
		objects.Cache().Forget()
	}
	return nil
}
