package minikcm_test

import (
	"context"
	"fmt"
	"log"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
)

// A node that stops is noticed after fifty seconds of the cluster's time: forty without a
// heartbeat, and at most ten until the controller looks again. On virtual time that takes
// milliseconds.
func Example() {
	ctx := context.Background()
	cluster, err := minikcm.Start(ctx, minikcm.Options{
		Nodes: minikcm.NodeOptions{Count: 2},
		API:   minikcm.APIOptions{NoHTTPS: true},
		Clock: minikcm.ClockOptions{Mode: clock.ModeVirtual},
		Seed:  1,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer func() {
		if err := cluster.Close(); err != nil {
			log.Print(err)
		}
	}()
	if err := cluster.Kubelets().StopNode("node-0"); err != nil {
		log.Print(err)
		return
	}
	if err := cluster.Advance(ctx, time.Minute); err != nil {
		log.Print(err)
		return
	}
	nodes, err := cluster.Client().CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		log.Print(err)
		return
	}
	for i := range nodes.Items {
		for _, c := range nodes.Items[i].Status.Conditions {
			if c.Type == "Ready" {
				fmt.Println(nodes.Items[i].Name, "is Ready:", c.Status)
			}
		}
	}
	// Output:
	// node-0 is Ready: Unknown
	// node-1 is Ready: True
}
