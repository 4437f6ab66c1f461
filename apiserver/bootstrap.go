package apiserver

import (
	"context"
	"fmt"

	"minikcm.dev/minikcm/apiserver/resources"
)

// bootstrap creates the objects that every cluster has.
func (s *Server) bootstrap(ctx context.Context) error {
	for _, obj := range resources.Bootstrap() {
		if err := s.ensure(ctx, obj); err != nil {
			return fmt.Errorf("creating the cluster's own objects: %w", err)
		}
	}
	if err := s.services.Bootstrap(ctx); err != nil {
		return fmt.Errorf("creating the cluster's own objects: %w", err)
	}
	return nil
}
