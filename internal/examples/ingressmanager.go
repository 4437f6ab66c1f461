// Code generated from examples/ingressmanager/main.go by go generate. DO NOT EDIT.

package examples

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// resync is how often every Service is looked at again, whether it has changed or not.
const resync = 10 * time.Minute

// The program ingressmanager is a whole controller: each Service with the annotation ingress/http: "true"
// has an Ingress of its name. The Ingress follows the Service, comes back if it is edited or deleted,
// and goes with the annotation or the Service.
func ingressmanager(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, resync)
	c, err := newController(client, factory)
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), c.synced...) {
		return ctx.Err()
	}
	fmt.Println("watching")
	c.run(ctx, 2)
	return nil
}
