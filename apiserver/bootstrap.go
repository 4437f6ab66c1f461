package apiserver

import (
	"context"
	"fmt"

	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/apiserver/internal/resources"
)

// bootstrap creates the objects that every cluster has.
func (s *Server) bootstrap(ctx context.Context) error {
	for _, obj := range resources.Bootstrap() {
		if err := s.own.Ensure(ctx, obj); err != nil {
			return fmt.Errorf("creating the cluster's own objects: %w", err)
		}
	}
	for _, obj := range s.opts.DefaultObjects {
		if err := s.own.EnsureAny(ctx, obj); err != nil {
			return fmt.Errorf("creating the cluster's default objects: %w", err)
		}
	}
	client, err := kubernetes.NewForConfig(Protobuf(s.ownConfig()))
	if err != nil {
		return fmt.Errorf("making the client for roles: %w", err)
	}
	if err := s.own.EnsureRoles(ctx, client); err != nil {
		return err
	}
	if err := s.services.Bootstrap(ctx); err != nil {
		return fmt.Errorf("creating the cluster's own objects: %w", err)
	}
	return nil
}
