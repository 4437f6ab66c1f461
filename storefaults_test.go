package minikcm_test

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/faulty"
)

// On virtual time, a store can be slow and can break, and the cluster mends itself
// when it is well again.
func TestStoreFaults(t *testing.T) {
	t.Parallel()
	c := start(t, minikcm.Options{Clock: minikcm.ClockOptions{Mode: clock.ModeVirtual}, API: minikcm.APIOptions{NoHTTPS: true}, Nodes: minikcm.NodeOptions{Count: 2}, Seed: 1, Faults: minikcm.FaultOptions{Store: true}})
	client := c.Client()
	create := func(name string) error {
		done := make(chan struct{})
		var err error
		go func() {
			defer close(done)
			_, err = client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := c.Wait(ctx, done); err != nil {
			t.Fatal(err)
		}
		return err
	}
	advance(t, c, time.Minute) // the controllers have come to rest
	begin := c.Clock().Now()
	slow := faulty.Slow(2 * time.Second)
	slow.Operations, slow.Prefix = faulty.Writes, "/registry/configmaps/" // which only this test writes
	remove := c.StoreFaults().Inject(slow)
	if err := create("slow"); err != nil {
		t.Errorf("a slow store: %v", err)
	}
	if took := c.Clock().Since(begin); took < 2*time.Second {
		t.Errorf("a write to a slow store took %v", took)
	}
	remove()

	createWeb(t, client, 3)
	for name, fault := range map[string]faulty.Fault{
		"unavailable": faulty.Unavailable(), "no-space": faulty.NoSpace(), "no-leader": faulty.LeaderLoss(0),
	} {
		// Not for a time: that could pass before the write begins.
		remove := c.StoreFaults().Inject(fault)
		var status apierrors.APIStatus
		if err := create(name); !errors.As(err, &status) || status.Status().Code != 500 {
			t.Errorf("%s: a write ends with %v", name, err)
		}
		remove()
		advance(t, c, time.Minute)
		if err := create(name + "-after"); err != nil {
			t.Errorf("%s: a write after it ends with %v", name, err)
		}
	}
	advance(t, c, 10*time.Minute)
	if pods := podsOf(t, client); len(pods) != 3 {
		t.Errorf("there are %d pods, want 3", len(pods))
	} else {
		for name, status := range pods {
			if status.Phase != corev1.PodRunning {
				t.Errorf("pod %s is %s", name, status.Phase)
			}
		}
	}
}
