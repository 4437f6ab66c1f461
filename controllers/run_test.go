package controllers

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/internal/events"
	"minikcm.dev/minikcm/internal/loop"
)

func idle(ctx context.Context) error { <-ctx.Done(); return nil }

func newEnv() (*env.Env, *fake.Clientset) {
	client := fake.NewClientset(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p"}})
	return &env.Env{
		Config: &rest.Config{},
		Clock:  clock.Real(), Random: clock.NewRandom(1), Informers: informers.KindsOf(client, nil),
		Recorder: events.NewRecorder(client.CoreV1(), clock.Real(), nil, clock.NewRandom(1), "tester"),
	}, client
}

// row returns a descriptor of a controller that runs the function.
func row(name string, run func(ctx context.Context) error) Descriptor {
	return Descriptor{Name: name, Build: func(p *controller.Parts) error { p.Go(run); return nil }}
}

// start runs a manager of the controllers in table until stop is called.
func start(t *testing.T, e *env.Env, opts Options, table ...Descriptor) (m *Manager, stop func()) {
	t.Helper()
	for _, d := range table {
		opts.Selected = append(opts.Selected, d.Name)
	}
	ctx, cancel := context.WithCancel(t.Context())
	end := e.Begin(ctx)
	m, err := newManager(e, opts, table)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	return m, func() {
		t.Helper()
		cancel()
		if err := errors.Join(<-ended, end()); err != nil {
			t.Errorf("Run() = %v", err)
		}
	}
}

func TestRunStartsInformersAndWritesTheLastEvents(t *testing.T) {
	e, client := newEnv()
	pods := e.Informers.Pods().Informer()
	var ended atomic.Int32
	synced := make(chan bool)
	reader := row("reader", func(ctx context.Context) error {
		defer ended.Add(1)
		synced <- cache.WaitForCacheSync(ctx.Done(), pods.HasSynced)
		<-ctx.Done()
		e.Recorder.Event(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p"}}, corev1.EventTypeNormal, "Ending", "bye")
		return nil
	})
	idling := make(chan struct{})
	idler := row("idler", func(ctx context.Context) error {
		defer ended.Add(1)
		close(idling)
		return idle(ctx)
	})
	_, stop := start(t, e, Options{}, reader, idler)
	if !<-synced {
		t.Error("the informers do not run")
	}
	<-idling
	stop()
	if n := ended.Load(); n != 2 {
		t.Errorf("Run returned with %d of 2 controllers ended", n)
	}
	list, err := client.CoreV1().Events("a").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Errorf("the last event is not written: %v, %v", list.Items, err)
	}
}

// TestAFailedControllerIsMadeAgain lets a controller return an error, return nil and panic,
// and checks that it is restarted each time while the controller beside it runs on.
func TestAFailedControllerIsMadeAgain(t *testing.T) {
	e, _ := newEnv()
	e.Clock = clock.Scaled(1000)
	lives := make(chan int, 10)
	made := 0
	broken := Descriptor{Name: "broken", Build: func(p *controller.Parts) error {
		made++
		life := made
		if life == 4 {
			return errors.New("no such thing")
		}
		p.Go(func(ctx context.Context) error {
			lives <- life
			switch life {
			case 1:
				return errors.New("disk full")
			case 2:
				panic("boom")
			case 3:
				return nil
			}
			return idle(ctx)
		})
		return nil
	}}
	neighbour := make(chan struct{})
	m, stop := start(t, e, Options{}, broken, row("neighbour", func(ctx context.Context) error {
		defer close(neighbour)
		return idle(ctx)
	}))
	for _, want := range []int{1, 2, 3, 5} {
		if got := <-lives; got != want {
			t.Fatalf("life %d began, want %d", got, want)
		}
	}
	select {
	case <-neighbour:
		t.Error("its neighbour ended too")
	default:
	}
	s := m.Status()[0]
	if s.State != Running || s.Restarts != 4 || s.LastError == nil || s.LastError.Message != "making the controller broken: no such thing" {
		t.Errorf("status = %+v, last error %+v", s, s.LastError)
	}
	stop()
	if s := m.Status()[1].State; s != Stopped {
		t.Errorf("after the end the neighbour is %s", s)
	}
}

func TestAControllerThatCannotBeMadeAtFirstEndsAll(t *testing.T) {
	e, _ := newEnv()
	nowhere := errors.New("no such thing")
	m, err := newManager(e, Options{Selected: []string{"a", "b"}}, []Descriptor{
		row("a", idle),
		{Name: "b", Build: func(*controller.Parts) error { return nowhere }},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Run(t.Context()); !errors.Is(err, nowhere) || !strings.Contains(err.Error(), "the controller b") {
		t.Errorf("Run() = %v", err)
	}
}

func TestRunWithoutControllers(t *testing.T) {
	e, _ := newEnv()
	_, stop := start(t, e, Options{})
	stop()
	if _, err := New(e, Options{Selected: []string{"no-such-controller"}}); err == nil || !strings.Contains(err.Error(), `"no-such-controller"`) {
		t.Errorf("New() with an unknown name = %v", err)
	}
}

func TestStartInterval(t *testing.T) {
	e, _ := newEnv()
	e.Clock = clock.Scaled(1000)
	epoch := e.Clock.Now()
	began := make(chan time.Duration, 3)
	note := func(ctx context.Context) error {
		began <- e.Clock.Since(epoch)
		return idle(ctx)
	}
	_, stop := start(t, e, Options{StartInterval: time.Minute}, row("a", note), row("b", note), row("c", note))
	at := []time.Duration{<-began, <-began, <-began}
	slices.Sort(at)
	for i, least := range []time.Duration{0, time.Minute, 2 * time.Minute} {
		if at[i] < least {
			t.Errorf("controller %d began after %s, want at least %s", i, at[i], least)
		}
	}
	stop()
}

// TestTheFirstIsUpBeforeTheOthersAreMade uses Options.First and Options.Up.
func TestTheFirstIsUpBeforeTheOthersAreMade(t *testing.T) {
	e, _ := newEnv()
	up, made := make(chan struct{}), make(chan struct{})
	first := row("second-in-the-table", idle)
	other := Descriptor{Name: "other", Build: func(p *controller.Parts) error {
		select {
		case <-up:
		case <-t.Context().Done():
			t.Error("made before the first was up")
		}
		close(made)
		p.Go(idle)
		return nil
	}}
	_, stop := start(t, e, Options{First: "second-in-the-table", Up: func() { close(up) }}, other, first)
	<-made
	stop()
}

// TestStatus reads the status of a controller with a stuck, a failing and a panicking key.
func TestStatus(t *testing.T) {
	e, _ := newEnv()
	release, stuck := make(chan struct{}), make(chan struct{})
	failed := make(chan struct{}, 100)
	sick := Descriptor{
		Name: "sick", Aliases: []string{"ill"}, Concurrency: controller.Concurrency{Flag: "x", In: func(s *Settings) *int32 { return &s.JobController.ConcurrentJobSyncs }},
		Build: func(p *controller.Parts) error {
			l := p.Loop(loop.Func(func(_ context.Context, k types.NamespacedName) (loop.Result, error) {
				switch k.Name {
				case "stuck":
					close(stuck)
					<-release
				case "poisoned":
					defer func() { failed <- struct{}{} }()
					return loop.Result{}, errors.New("no such template")
				case "panicking":
					panic("boom")
				}
				return loop.Result{}, nil
			}))
			for _, name := range []string{"stuck", "poisoned", "panicking", "good"} {
				l.Add(types.NamespacedName{Namespace: "a", Name: name})
			}
			return nil
		},
	}
	settings := &Settings{}
	settings.JobController.ConcurrentJobSyncs = 3
	m, stop := start(t, e, Options{Settings: settings}, sick, row("well", idle))
	<-stuck
	<-failed
	<-failed
	s := m.Status()[0]
	if s.State != Running || s.Workers != 3 || s.LastError == nil || s.Failures < 1 || s.Retries < 1 {
		t.Errorf("status = %+v", s)
	}
	if !slices.ContainsFunc(s.Failing, func(f Failing) bool { return f.Key == "a/poisoned" && f.Failures >= 1 }) {
		t.Errorf("the poisoned object is not among %+v", s.Failing)
	}
	if !slices.ContainsFunc(s.InProgress, func(p InProgress) bool { return p.Key == "a/stuck" }) {
		t.Errorf("the stuck object is not among %+v", s.InProgress)
	}
	if err := m.Healthy("sick"); err != nil {
		t.Errorf("Healthy() = %v: its objects fail, not the controller", err)
	}
	close(release)
	stop()
}
