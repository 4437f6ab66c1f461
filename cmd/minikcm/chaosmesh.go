package main

import (
	"context"
	"sync"

	"k8s.io/klog/v2"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/scenarios/chaosmesh"
)

// runChaosMesh lets a cluster do what Chaos Mesh's objects ask for until stop is called.
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
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var ended sync.WaitGroup
	ended.Go(func() {
		if err := controller.Run(running); err != nil {
			logger.Error(err, "Chaos Mesh's objects are not run any more")
		}
	})
	return func() {
		cancel()
		ended.Wait()
	}, nil
}
