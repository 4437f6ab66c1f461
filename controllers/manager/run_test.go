package manager

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/events"
	"minikcm.dev/minikcm/controllers/env"
)

// controllerFunc is a Run that is a Controller.
type controllerFunc func(ctx context.Context) error

func (f controllerFunc) Run(ctx context.Context) error { return f(ctx) }

func newEnv() (*env.Env, *fake.Clientset) {
	client := fake.NewClientset(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p"}})
	return &env.Env{
		Clock: clock.Real(), Random: clock.NewRandom(1), Informers: informers.NewSharedInformerFactory(client, 0),
		Recorder: events.NewRecorder(client.CoreV1(), clock.Real(), nil, clock.NewRandom(1), "tester"),
	}, client
}

func TestRunStartsInformersAndWritesTheLastEvents(t *testing.T) {
	e, client := newEnv()
	ctx, cancel := context.WithCancel(t.Context())
	pods := e.Informers.Core().V1().Pods().Informer()
	var ended atomic.Int32
	reader := controllerFunc(func(ctx context.Context) error {
		defer ended.Add(1)
		if !cache.WaitForCacheSync(ctx.Done(), pods.HasSynced) {
			return errors.New("the informers do not run")
		}
		cancel()
		<-ctx.Done()
		e.Recorder.Event(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p"}}, corev1.EventTypeNormal, "Ending", "bye")
		return nil
	})
	idler := controllerFunc(func(ctx context.Context) error {
		defer ended.Add(1)
		<-ctx.Done()
		return nil
	})
	if err := run(ctx, e, []named{{"reader", reader}, {"idler", idler}}); err != nil {
		t.Fatal(err)
	}
	if n := ended.Load(); n != 2 {
		t.Errorf("run returned with %d of 2 controllers ended", n)
	}
	list, err := client.CoreV1().Events("a").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Errorf("the last event is not written: %v, %v", list.Items, err)
	}
}

func TestAFailedControllerEndsAll(t *testing.T) {
	e, _ := newEnv()
	broken := errors.New("no such thing")
	err := run(t.Context(), e, []named{
		{"broken", controllerFunc(func(context.Context) error { return broken })},
		{"idler", controllerFunc(func(ctx context.Context) error { <-ctx.Done(); return nil })},
	})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "the controller broken") {
		t.Errorf("run() = %v", err)
	}
}

func TestRunWithoutControllers(t *testing.T) {
	e, _ := newEnv()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Run(ctx, e, nil); err != nil {
		t.Errorf("Run() = %v", err)
	}
	if err := Run(ctx, e, []string{"no-such-controller"}); err == nil || !strings.Contains(err.Error(), `"no-such-controller"`) {
		t.Errorf("Run() with an unknown name = %v", err)
	}
}
