package hostile

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/clock"
)

// behaved is a client that behaves well: it creates, gets, lists and deletes one small
// object after the other, and measures how long the requests take.
type behaved struct {
	first    chan struct{} // closed when the first request has been served
	mu       sync.Mutex
	took     []time.Duration
	rejected int // with 429
	failed   []error
}

func newBehaved() *behaved { return &behaved{first: make(chan struct{})} }

// work runs until ctx ends.
func (b *behaved) work(ctx context.Context, client kubernetes.Interface) {
	const namespace = "kube-public"
	maps := client.CoreV1().ConfigMaps(namespace)
	for ctx.Err() == nil {
		b.measure(ctx, func() error {
			_, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "behaved"}}, metav1.CreateOptions{})
			return err
		})
		b.measure(ctx, func() error {
			_, err := client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
			return err
		})
		b.measure(ctx, func() error {
			_, err := client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{})
			return err
		})
		b.measure(ctx, func() error {
			if err := maps.Delete(ctx, "behaved", metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
				return err
			}
			return nil
		})
	}
}

func (b *behaved) measure(ctx context.Context, call func() error) {
	elapsed := clock.Stopwatch()
	err := call()
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case ctx.Err() != nil:
	case err == nil:
		if len(b.took) == 0 {
			close(b.first)
		}
		b.took = append(b.took, elapsed())
	case apierrors.IsTooManyRequests(err):
		b.rejected++
	default:
		b.failed = append(b.failed, err)
	}
}

// report returns the number of requests served, the longest of 99 % of them, and how many
// were rejected for overload. Other failures fail the test.
func (b *behaved) report(t *testing.T) (served int, p99 time.Duration, rejected int) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, err := range b.failed[:min(3, len(b.failed))] {
		t.Errorf("a well-behaved client: %v", err)
	}
	if len(b.took) == 0 {
		t.Error("no request of the well-behaved client was served")
		return 0, 0, b.rejected
	}
	slices.Sort(b.took)
	return len(b.took), b.took[len(b.took)*99/100], b.rejected
}
