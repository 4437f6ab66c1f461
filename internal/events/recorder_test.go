package events_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/events"
)

var start = time.Unix(1_000_000, 0)

type fixture struct {
	*testing.T
	ledger   *clock.Ledger
	clock    *clock.Virtual
	client   *fake.Clientset
	recorder *events.Recorder
}

// newFixture returns a recorder that runs until the test ends.
func newFixture(t *testing.T) *fixture {
	f := &fixture{T: t, ledger: clock.NewLedger(), client: fake.NewClientset()}
	f.clock = clock.NewVirtual(start, f.ledger)
	f.recorder = events.NewRecorder(f.client.CoreV1(), f.clock, f.ledger, clock.NewRandom(1), "tester")
	return f
}

func (f *fixture) run() {
	ctx, cancel := context.WithCancel(f.Context())
	ended := make(chan error)
	go func() { ended <- f.recorder.Run(ctx) }()
	f.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			f.Errorf("Run() = %v", err)
		}
		f.clock.Close()
		if !f.ledger.Idle() {
			f.Errorf("after the end there is still in flight: %s", f.ledger)
		}
	})
}

func (f *fixture) advance(d time.Duration) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), time.Minute)
	defer cancel()
	if err := f.clock.Advance(ctx, d); err != nil {
		f.Fatal(err)
	}
	if err := f.ledger.WaitIdle(ctx); err != nil {
		f.Fatal(err)
	}
}

// written returns the events that the API has, as text.
func (f *fixture) written() []string {
	f.Helper()
	list, err := f.client.CoreV1().Events("").List(f.Context(), metav1.ListOptions{})
	if err != nil {
		f.Fatal(err)
	}
	var lines []string
	for _, e := range list.Items {
		lines = append(lines, fmt.Sprintf("%s %s %s %s x%d from %s to %s by %s", e.InvolvedObject.Name, e.Type, e.Reason, e.Message, e.Count,
			e.FirstTimestamp.Sub(start), e.LastTimestamp.Sub(start), e.Source.Component))
	}
	slices.Sort(lines)
	return lines
}

func (f *fixture) expect(want ...string) {
	f.Helper()
	if diff := cmp.Diff(want, f.written()); diff != "" {
		f.Errorf("events (-want +got):\n%s", diff)
	}
}

func pod(name string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, UID: "uid"}}
}

func TestRepetitionsAreCounted(t *testing.T) {
	f := newFixture(t)
	f.run()
	kubelet := f.recorder.WithSource(v1.EventSource{Component: "kubelet", Host: "node-0"})
	f.recorder.Event(pod("p"), v1.EventTypeNormal, "Created", "Created pod: p")
	kubelet.Eventf(pod("p"), v1.EventTypeWarning, "BackOff", "Back-off %s", "again")
	f.advance(10 * time.Second)
	kubelet.Eventf(pod("p"), v1.EventTypeWarning, "BackOff", "Back-off %s", "again")
	f.advance(10 * time.Second)
	kubelet.Eventf(pod("p"), v1.EventTypeWarning, "BackOff", "Back-off %s", "again")
	f.advance(time.Second)
	f.expect(
		"p Normal Created Created pod: p x1 from 0s to 0s by tester",
		"p Warning BackOff Back-off again x3 from 0s to 20s by kubelet",
	)
}

func TestNamesDifferThoughTimeStandsStill(t *testing.T) {
	f := newFixture(t)
	f.run()
	for i := range 9 {
		f.recorder.For("other").Eventf(pod("p"), v1.EventTypeNormal, fmt.Sprintf("Reason%d", i), "text")
	}
	f.advance(time.Second)
	if got := f.written(); len(got) != 9 {
		t.Errorf("%d events are written, want 9: %v", len(got), got)
	}
}

func TestUnwritableEventsAreTriedAgain(t *testing.T) {
	f := newFixture(t)
	down := true
	f.client.PrependReactor("create", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
		return down, nil, errors.New("connection refused")
	})
	f.run()
	f.recorder.Event(pod("p"), v1.EventTypeNormal, "Created", "x")
	f.advance(25 * time.Second)
	f.expect()
	down = false
	f.advance(10 * time.Second)
	f.expect("p Normal Created x x1 from 0s to 0s by tester")
}

func TestWhatIsQueuedIsWrittenAtTheEnd(t *testing.T) {
	f := newFixture(t)
	defer f.clock.Close()
	for i := range 20 {
		f.recorder.Event(pod(fmt.Sprintf("p%d", i)), v1.EventTypeNormal, "Created", "x")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.recorder.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if got := f.written(); len(got) != 20 {
		t.Errorf("%d events are written, want 20", len(got))
	}
	f.recorder.Event(pod("late"), v1.EventTypeNormal, "Created", "x")
	if got := f.recorder.Dropped(); got != 1 {
		t.Errorf("Dropped() = %d after the end, want 1", got)
	}
	if !f.ledger.Idle() {
		t.Errorf("there is still in flight: %s", f.ledger)
	}
}

func TestNothingIsReportedOf(t *testing.T) {
	f := newFixture(t)
	f.run()
	f.recorder.Event(pod("p"), "Tragic", "Created", "x")
	f.recorder.Event(nil, v1.EventTypeNormal, "Created", "x")
	var none *events.Recorder
	none.Event(pod("p"), v1.EventTypeNormal, "Created", "x")
	f.advance(time.Second)
	f.expect()
}

func TestAReferenceIsAnObject(t *testing.T) {
	f := newFixture(t)
	f.run()
	f.recorder.AnnotatedEventf(&v1.ObjectReference{Kind: "Node", Name: "node-0", UID: "node-0"}, map[string]string{"a": "b"}, v1.EventTypeNormal, "Starting", "Starting %s.", "kubelet")
	f.advance(time.Second)
	f.expect("node-0 Normal Starting Starting kubelet. x1 from 0s to 0s by tester")
	list, err := f.client.CoreV1().Events(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 || list.Items[0].Annotations["a"] != "b" {
		t.Errorf("events of the default namespace = %+v, %v", list.Items, err)
	}
}
