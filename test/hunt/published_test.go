package hunt

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/hunt"
	"minikcm.dev/minikcm/minikcmtest"
	"minikcm.dev/minikcm/minikcmtest/ctrltest"
)

// score makes whole hunts, and prints the table of docs/hunt.md.
var score = flag.Bool("score", false, "hunt each published bug, and print the table of docs/hunt.md")

var trials = flag.Int("trials", 500, "disturbed runs of each hunt with -score")

// bug is a published bug as a small operator: with the mistake, and repaired. The operators are ours; what they do wrong is what the
// thread of the bug describes.
type bug struct {
	// name is the project and the number of the thread.
	name string
	// setUp adds the operator to a manager.
	setUp    func(mgr ctrl.Manager, cluster *minikcmtest.Cluster, repaired bool) error
	workload hunt.Workload
	crds     []string
	// known are disturbances that show the bug.
	known []string
	// options are used in place of clusters, or beside them.
	options []hunt.Option
}

// with returns the options of the bug's hunts.
func (b *bug) with(more ...hunt.Option) []hunt.Option {
	return slices.Concat([]hunt.Option{clusters}, b.options, more)
}

func (b *bug) operator(repaired bool) hunt.Operator {
	return hunt.Operator{CRDs: b.crds, Start: func(t testing.TB, cluster *minikcmtest.Cluster) func() error {
		mgr := ctrltest.NewManager(t, cluster, ctrl.Options{})
		if err := b.setUp(mgr, cluster, repaired); err != nil {
			t.Fatal(err)
		}
		return ctrltest.Start(t, mgr)
	}}
}

// clusters have no nodes, and only the controllers that the operators rely on.
var clusters = hunt.WithCluster(minikcmtest.WithNodes(0), minikcmtest.WithControllers("garbage-collector-controller", "serviceaccount-controller"))

// listener is a test that notes what fails in it, and what it logs.
type listener struct {
	testing.TB
	mu     sync.Mutex
	failed []string
	logged string
}

func (l *listener) Errorf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = append(l.failed, fmt.Sprintf(format, args...))
}

func (l *listener) Fatalf(format string, args ...any) {
	l.Errorf(format, args...)
	runtime.Goexit()
}

func (l *listener) Fatal(args ...any) { l.Fatalf("%s", fmt.Sprint(args...)) }

func (l *listener) Logf(format string, args ...any) { l.logged = fmt.Sprintf(format, args...) }

// hearing calls do with a listener.
func hearing(t *testing.T, do func(t testing.TB)) *listener {
	t.Helper()
	l := &listener{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		do(l)
	}()
	<-done
	return l
}

// Each published mistake shows itself with a disturbance, and its repair does not.
func TestPublished(t *testing.T) {
	t.Parallel()
	for _, b := range published {
		t.Run(b.name, func(t *testing.T) {
			if *score {
				b.hunted(t)
				return
			}
			t.Parallel()
			replay := func(repaired bool) *listener {
				return hearing(t, func(t testing.TB) {
					hunt.Replay(t, b.operator(repaired), b.workload, b.known, b.with(hunt.WithParallel(1))...)
				})
			}
			if l := replay(false); len(l.failed) == 0 || strings.Contains(l.failed[0], "undisturbed run") {
				t.Errorf("the mistake does not show itself: %v", l.failed)
			}
			if l := replay(true); len(l.failed) > 0 {
				t.Errorf("the repaired operator ends with\n%s", l.failed[0])
			}
		})
	}
}

// A user who edits an object twice at once would leave the first edit in effect: the second one does not take place.
func TestEditedTwice(t *testing.T) {
	t.Parallel()
	b := published[slices.IndexFunc(published, func(b *bug) bool { return b.name == "kubernetes #72775" })]
	edit := "edit of apps.example.com default/web: spec.replicas=0 for thirty seconds, from update apps.example.com/status default/web"
	l := hearing(t, func(t testing.TB) {
		hunt.Replay(t, b.operator(true), b.workload, []string{edit, edit}, clusters, hunt.WithParallel(1))
	})
	if len(l.failed) != 1 || !strings.Contains(l.failed[0], "is not possible") {
		t.Errorf("two edits end with %v", l.failed)
	}
}

// hunted prints a row of the table for the operator with the mistake and a row for the repaired one.
func (b *bug) hunted(t *testing.T) {
	t.Helper()
	for _, repaired := range []bool{false, true} {
		elapsed := clock.Stopwatch()
		l := hearing(t, func(t testing.TB) {
			hunt.Run(t, b.operator(repaired), b.workload, b.with(hunt.WithParallel(2), hunt.WithTrials(*trials))...)
		})
		took := elapsed().Round(time.Second)
		fmt.Printf("| %s | repaired=%v | %v | %d findings | %s\n", b.name, repaired, took, len(l.failed), l.logged)
		for _, f := range l.failed {
			fmt.Printf("    %s\n", strings.Join(strings.SplitN(f, "\n", 12)[:min(strings.Count(f, "\n")+1, 11)], "\n    "))
		}
		if found := len(l.failed) > 0; found == repaired {
			t.Errorf("repaired is %v, and the hunt has %d findings", repaired, len(l.failed))
		}
	}
}

const namespace = "default"

// step is a step with a client of all permissions.
func step(name string, do func(ctx context.Context, c *minikcmtest.Cluster) error) hunt.Step {
	return hunt.Step{Name: name, Do: do}
}

// object creates a ConfigMap of a kind.
func object(kind, name string, data map[string]string) hunt.Step {
	return step("create "+kind+" "+name, func(ctx context.Context, c *minikcmtest.Cluster) error {
		_, err := c.Client().CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"kind": kind}}, Data: data,
		}, metav1.CreateOptions{})
		return err
	})
}

// change sets a field of a ConfigMap's data.
func change(name, field, value string) hunt.Step {
	return step(fmt.Sprintf("set %s of %s to %s", field, name, value), func(ctx context.Context, c *minikcmtest.Cluster) error {
		m, err := c.Client().CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		m.Data[field] = value
		_, err = c.Client().CoreV1().ConfigMaps(namespace).Update(ctx, m, metav1.UpdateOptions{})
		return err
	})
}

// remove deletes a ConfigMap.
func remove(name string) hunt.Step {
	return step("delete "+name, func(ctx context.Context, c *minikcmtest.Cluster) error {
		return c.Client().CoreV1().ConfigMaps(namespace).Delete(ctx, name, metav1.DeleteOptions{})
	})
}
