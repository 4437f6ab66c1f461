package controller

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2/ktesting"

	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/internal/loop"
)

// TestRun checks what an instance runs: what comes before the loops, the loops, and what is beside them. An error of one
// ends all.
func TestRun(t *testing.T) {
	broken := errors.New("broken")
	added := make(chan string)
	reconcile := func(name string) loop.Func {
		return func(_ context.Context, key types.NamespacedName) (loop.Result, error) {
			added <- name + " " + key.Name
			return loop.Result{}, nil
		}
	}
	d := Descriptor{Name: "c", Workers: 2, Build: func(p *Parts) error {
		first, second := p.Loop(reconcile(p.Name)), p.Beside("-second", 1, reconcile(p.Name+"-second"))
		p.Before(func(context.Context) error {
			first.Add(types.NamespacedName{Name: "a"})
			second.Add(types.NamespacedName{Name: "b"})
			return nil
		})
		p.Go(func(context.Context) error {
			got := []string{<-added, <-added}
			slices.Sort(got)
			if want := []string{"c a", "c-second b"}; !slices.Equal(got, want) {
				t.Errorf("reconciled %v, want %v", got, want)
			}
			return broken
		})
		return nil
	}}
	registry := &loop.Registry{}
	p, err := d.New(&env.Env{Config: &rest.Config{}, Loops: registry}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p.Client == nil || p.Config.UserAgent != "minikcm/c" || len(registry.Loops()) != 2 {
		t.Errorf("the parts are %+v with %d loops", p, len(registry.Loops()))
	}
	if err := p.Run(t.Context()); !errors.Is(err, broken) {
		t.Errorf("Run() = %v", err)
	}
}

func TestBeforeFails(t *testing.T) {
	broken := errors.New("broken")
	d := Descriptor{Name: "c", Build: func(p *Parts) error {
		p.Before(func(context.Context) error { return broken })
		p.Go(func(context.Context) error { t.Error("it began"); return nil })
		return nil
	}}
	p, err := d.New(&env.Env{Config: &rest.Config{}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(t.Context()); !errors.Is(err, broken) {
		t.Errorf("Run() = %v", err)
	}
}

// TestIdle checks that a controller without work is not built, asks for no credentials, and says why.
func TestIdle(t *testing.T) {
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	d := Descriptor{
		Name: "c", Idle: func(*env.Env, *Settings) string { return "there is no key" },
		Build: func(*Parts) error { return errors.New("built") },
	}
	p, err := d.New(&env.Env{Logger: logger}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Run(ctx); err != nil {
		t.Error(err)
	}
	if log := logger.GetSink().(ktesting.Underlier).GetBuffer().String(); !strings.Contains(log, "there is no key") {
		t.Errorf("it logged %q", log)
	}
}

// TestEach checks that a reconciler gets objects with and without namespaces, and nothing for a key without an object.
func TestEach(t *testing.T) {
	kinds := informers.KindsOf(fake.NewClientset(), nil)
	pods, nodes := kinds.Pods().Informer(), kinds.Nodes().Informer()
	for _, err := range []error{
		pods.GetStore().Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p"}}),
		nodes.GetStore().Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	see := func(o metav1.Object) (loop.Result, error) {
		got = append(got, o.GetName())
		return loop.Result{Unsure: true}, nil
	}
	ofPod := Each(pods, func(_ context.Context, pod *corev1.Pod) (loop.Result, error) { return see(pod) })
	ofNode := Each(nodes, func(_ context.Context, node *corev1.Node) (loop.Result, error) { return see(node) })
	for _, tt := range []struct {
		f     loop.Func
		key   types.NamespacedName
		found bool
	}{
		{ofPod, types.NamespacedName{Namespace: "a", Name: "p"}, true},
		{ofPod, types.NamespacedName{Namespace: "b", Name: "p"}, false},
		{ofNode, types.NamespacedName{Name: "n"}, true},
		{ofNode, types.NamespacedName{Name: "p"}, false},
	} {
		if result, err := tt.f(t.Context(), tt.key); err != nil || result.Unsure != tt.found {
			t.Errorf("%s: %+v, %v", tt.key, result, err)
		}
	}
	if want := []string{"p", "n"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
