package minikcmtest_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/minikcmtest"
)

// judged is a test that only notes its failures.
type judged struct {
	testing.TB
	mu       sync.Mutex
	failures []string
	cleanups []func()
}

func (j *judged) note(text string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.failures = append(j.failures, text)
}

func (j *judged) Errorf(format string, args ...any) { j.note(fmt.Sprintf(format, args...)) }

func (j *judged) Fatalf(format string, args ...any) {
	j.note(fmt.Sprintf(format, args...))
	panic(j)
}

func (j *judged) Fatal(args ...any) { j.Fatalf("%s", fmt.Sprint(args...)) }

func (j *judged) Cleanup(do func()) { j.cleanups = append(j.cleanups, do) }

// run calls do, which may end with a failure, and then what it has registered for the end of the
// test.
func (j *judged) run(do func()) {
	func() {
		defer func() {
			if ended := recover(); ended != nil && ended != j {
				panic(ended)
			}
		}()
		do()
	}()
	for _, cleanup := range slices.Backward(j.cleanups) {
		cleanup()
	}
}

// TestFailCallsMistakes checks the messages of FailCalls about impossible faults, and about faults
// that have not happened.
func TestFailCallsMistakes(t *testing.T) {
	t.Parallel()
	refused := apierrors.NewBadRequest("refused")
	for name, test := range map[string]struct {
		options []minikcmtest.Option
		call    minikcmtest.APICall
		want    string
	}{
		"no faults":   {nil, minikcmtest.APICall{Err: refused}, "with the option minikcmtest.WithFaults()"},
		"a verb":      {[]minikcmtest.Option{minikcmtest.WithFaults()}, minikcmtest.APICall{Verb: "read", Err: refused}, `the verb "read" is not one of get, list`},
		"no effect":   {[]minikcmtest.Option{minikcmtest.WithFaults()}, minikcmtest.APICall{Verb: "get", Resource: "pods"}, "get of pods: neither Err nor Delay is set"},
		"no such nth": {[]minikcmtest.Option{minikcmtest.WithFaults()}, minikcmtest.APICall{Verb: "create", Resource: "configmaps", Name: "a", Nth: 2, Err: refused}, "there was no create 2 of configmaps a, but only 1 before it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := &judged{TB: t}
			j.run(func() {
				c := minikcmtest.New(j, append(test.options, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(0))...)
				c.FailCalls(test.call)
				if _, err := c.Client().CoreV1().ConfigMaps("default").Create(t.Context(), note("a"), metav1.CreateOptions{}); err != nil {
					t.Error(err)
				}
			})
			if len(j.failures) != 1 || !strings.Contains(j.failures[0], test.want) {
				t.Errorf("it fails with %q, want %q", j.failures, test.want)
			}
		})
	}
}

// TestMissingEvent checks that a test that waits for an event that does not come fails with a list of
// the events.
func TestMissingEvent(t *testing.T) {
	t.Parallel()
	j := &judged{TB: t}
	j.run(func() {
		c := minikcmtest.New(j, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(0), minikcmtest.WithControllers("-*"))
		record := func(kind, name, reason string, after time.Duration) {
			at := metav1.NewTime(c.Clock().Now().Add(after))
			_, err := c.Client().CoreV1().Events("default").Create(t.Context(), &corev1.Event{
				ObjectMeta: metav1.ObjectMeta{Name: name + reason}, InvolvedObject: corev1.ObjectReference{Kind: kind, Namespace: "default", Name: name},
				Type: "Normal", Reason: reason, Message: "it has", LastTimestamp: at,
			}, metav1.CreateOptions{})
			if err != nil {
				t.Error(err)
			}
		}
		record("Site", "home", "Deployed", time.Minute)
		record("Site", "home", "Created", 0)
		record("Pod", "web", "Started", 0)
		c.EventuallyEvent("default", "Site", "Normal Removed it has")
	})
	want := `waiting for the event "Normal Removed it has" about a Site in namespace default: not within 1h0m0s of virtual time: there were 2 about a Site
  Site/home: 2026-01-05T00:00:00Z Normal Created: it has
  Site/home: 2026-01-05T00:01:00Z Normal Deployed: it has`
	if len(j.failures) != 1 || !strings.HasPrefix(j.failures[0], want) {
		t.Errorf("it fails with %q, want %q", j.failures, want)
	}
}
