//go:build unix

package ha

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubectl/pkg/util/podutils"
)

// report logs what explains a failure: the pods that are not ready or are being deleted, who
// holds which Lease, and the last output of each process.
func (w *world) report() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.t.Context()), requestTimeout)
	defer cancel()
	for _, s := range w.servers {
		if err := w.reportBy(ctx, s.client); err != nil {
			w.t.Logf("%s: %v", s.name, err)
			continue
		}
		break // the others serve the same
	}
	for _, s := range w.servers {
		w.t.Logf("the last output of %s:\n%s", s.name, s.output)
	}
}

func (w *world) reportBy(ctx context.Context, client kubernetes.Interface) error {
	pods, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range pods.Items {
		if pod := &pods.Items[i]; pod.DeletionTimestamp != nil || !podutils.IsPodReady(pod) {
			w.t.Logf("pod %s of revision %s on %q, created %v, deleted %v: %+v",
				pod.Name, pod.ResourceVersion, pod.Spec.NodeName, pod.CreationTimestamp, pod.DeletionTimestamp, pod.Status)
		}
	}
	leases, err := client.CoordinationV1().Leases("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range leases.Items {
		lease := &leases.Items[i]
		holder := "none"
		if lease.Spec.HolderIdentity != nil {
			holder = *lease.Spec.HolderIdentity
		}
		w.t.Logf("Lease %s/%s: holder %s, renewed %s", lease.Namespace, lease.Name, holder, fmt.Sprint(lease.Spec.RenewTime))
	}
	return nil
}
