package ctrltest_test

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilclock "k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"minikcm.dev/minikcm/minikcmtest"
	"minikcm.dev/minikcm/minikcmtest/ctrltest"
)

// Rotator replaces the key of each Secret of its type every hour.
type Rotator struct {
	client.Client
	Clock utilclock.PassiveClock
}

const rotated = "example.com/rotated"

func (r *Rotator) SetupWithManager(mgr ctrl.Manager) error {
	r.Client = mgr.GetClient()
	return ctrl.NewControllerManagedBy(mgr).For(&corev1.Secret{}).Complete(r)
}

func (r *Rotator) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	secret := &corev1.Secret{}
	if err := r.Get(ctx, req.NamespacedName, secret); err != nil || secret.Type != rotated {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	last := secret.CreationTimestamp.Time
	if at, err := time.Parse(time.RFC3339, secret.Annotations["rotated"]); err == nil {
		last = at
	}
	if wait := time.Hour - r.Clock.Since(last); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	times, _ := strconv.Atoi(secret.Annotations["times"])
	secret.Annotations = map[string]string{"rotated": r.Clock.Now().Format(time.RFC3339), "times": strconv.Itoa(times + 1)}
	return ctrl.Result{}, r.Update(ctx, secret) // the event of the update triggers the next reconcile
}

func newSecret(t *testing.T, k client.Client) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "key"}, Type: rotated}
	if err := k.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	return secret
}

func rotations(t *testing.T, k client.Client, secret *corev1.Secret) int {
	t.Helper()
	if err := k.Get(t.Context(), client.ObjectKeyFromObject(secret), secret); err != nil {
		t.Fatal(err)
	}
	times, _ := strconv.Atoi(secret.Annotations["times"])
	return times
}

func TestRotator(t *testing.T) {
	cluster := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(0)) // Secrets need none
	mgr := ctrltest.NewManager(t, cluster, ctrl.Options{})                                 // in place of ctrl.NewManager
	if err := (&Rotator{Clock: cluster.Clock()}).SetupWithManager(mgr); err != nil {
		t.Fatal(err)
	}
	ctrltest.Start(t, mgr)
	secret := newSecret(t, mgr.GetClient())
	if err := cluster.Advance(t.Context(), 24*time.Hour); err != nil {
		t.Fatal(err)
	}
	if got := rotations(t, mgr.GetClient(), secret); got != 24 {
		t.Errorf("rotated %d times in a day, want 24", got)
	}
}

// TestReadme checks that the README contains TestRotator verbatim.
func TestReadme(t *testing.T) {
	t.Parallel()
	read := func(path string) string {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	_, after, _ := strings.Cut(read("../../README.md"), "## In a Go test\n")
	_, after, _ = strings.Cut(after, "```go\n")
	shown, _, found := strings.Cut(after, "```")
	if !found || !strings.Contains(read("readme_test.go"), "\n"+shown) {
		t.Errorf("the README shows, and this file does not have:\n%s", shown)
	}
}
