package kubeletsim_test

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/kubeletsim"
	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
)

// One simulated node runs a pod whose command ends after five seconds of cluster time.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ledger := clock.NewLedger()
	virtual := clock.NewVirtual(podtest.Epoch, ledger)
	defer virtual.Close()
	client := fake.NewClientset(podtest.Pod("web", "node-0",
		podtest.Command("sh", "-c", "sleep 5; exit 3"), podtest.Policy(corev1.RestartPolicyNever)))
	kubelets, err := kubeletsim.New(kubeletsim.Options{Client: client, Clock: virtual, Ledger: ledger, Nodes: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	ended := make(chan error)
	go func() { ended <- kubelets.Run(ctx) }()
	<-kubelets.Begun()

	for _, wait := range []time.Duration{time.Second, 5 * time.Second} {
		if err := virtual.Advance(ctx, wait); err != nil {
			fmt.Println(err)
		}
		pod, err := client.CoreV1().Pods("default").Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(pod.Status.Phase, "on", pod.Spec.NodeName)
		if end := pod.Status.ContainerStatuses[0].State.Terminated; end != nil {
			fmt.Println("exit code", end.ExitCode, "after", end.FinishedAt.Sub(end.StartedAt.Time))
		}
	}
	cancel()
	if err := <-ended; err != nil {
		fmt.Println(err)
	}
	// Output:
	// Running on node-0
	// Failed on node-0
	// exit code 3 after 5s
}
