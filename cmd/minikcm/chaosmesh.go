package main

import (
	"context"

	"k8s.io/klog/v2"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/scenario/chaosmesh"
)

// runChaosMesh installs Chaos Mesh's kinds in a cluster and reconciles their objects until
// stop is called. stop waits until the controller has ended.
func runChaosMesh(ctx context.Context, cluster *minikcm.Cluster, logger klog.Logger) (stop func(), err error) {
	if err := chaosmesh.Install(ctx, cluster.Config()); err != nil {
		return nil, err
	}
	if err := chaosmesh.RefuseOthers(ctx, cluster.Config()); err != nil {
		return nil, err
	}
	controller, err := chaosmesh.New(cluster, logger)
	if err != nil {
		return nil, err
	}
	return controller.Start()
}
