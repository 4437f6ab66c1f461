package fault

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Two faults that break one thing keep it broken until both are over, in whichever order
// that happens, and the one that is left decides how it is broken.
func TestHolds(t *testing.T) {
	t.Parallel()
	for _, order := range [][]string{{"a", "b"}, {"b", "a"}} {
		h := &Holds{}
		var did []string
		do := func(what string) func() error {
			return func() error {
				did = append(did, what)
				return nil
			}
		}
		ends := map[string]injected{}
		for _, name := range []string{"a", "b"} {
			end, err := h.hold("key", do("break by "+name), do("mend"))
			if err != nil {
				t.Fatal(err)
			}
			ends[name] = end
		}
		for _, name := range order {
			if err := ends[name](t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if want := []string{"break by a", "break by b", "break by " + order[1], "mend"}; !slices.Equal(did, want) {
			t.Errorf("%v end in this order: %v, want %v", order, did, want)
		}
		if len(h.held) > 0 {
			t.Errorf("%d are held still", len(h.held))
		}
	}
}

func TestHoldsOfWhatCannotBeBroken(t *testing.T) {
	t.Parallel()
	h, failure := &Holds{}, errors.New("it is of steel")
	if end, err := h.hold("key", func() error { return failure }, nil); !errors.Is(err, failure) || end != nil {
		t.Errorf("got %v", err)
	}
	if len(h.held) > 0 {
		t.Error("it is held")
	}
}

// What fails to be mended can be mended again, unless another fault holds it by then.
func TestHoldsCountAgain(t *testing.T) {
	t.Parallel()
	h := &Holds{}
	first := h.count("key")
	for range 2 {
		if !first() {
			t.Error("the only one is not the last")
		}
	}
	second := h.count("key")
	if first() {
		t.Error("it is the last although another one holds")
	}
	if !second() {
		t.Error("the second is not the last")
	}
}

// Of two faults of one node, the first that is over does not bring it back.
func TestFaultsOfOneNode(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	holds := &Holds{}
	begin := func(text string) (wait func() error) {
		return b.beginWith(t.Context(), read(t, text), func(env *Env) { env.Holds = holds })
	}
	var waits []func() error
	for _, action := range []string{"crash", "partition", "cordon"} {
		for _, lasts := range []string{"5m", "10m"} {
			waits = append(waits, begin(fmt.Sprintf("{nodes: {action: %s, names: [node-1]}, for: %s}", action, lasts)))
		}
	}
	look := func(after time.Duration, ready corev1.ConditionStatus, cordoned bool) {
		t.Helper()
		b.advance(after)
		if got := b.nodeCondition("node-1", corev1.NodeReady); got != ready {
			t.Errorf("node-1 is Ready: %s, want %s", got, ready)
		}
		node, err := b.client.CoreV1().Nodes().Get(t.Context(), "node-1", metav1.GetOptions{})
		if err != nil || node.Spec.Unschedulable != cordoned {
			t.Errorf("node-1 is cordoned: %v, want %v (%v)", node.Spec.Unschedulable, cordoned, err)
		}
	}
	look(2*time.Minute, corev1.ConditionUnknown, true)
	look(5*time.Minute, corev1.ConditionUnknown, true)
	look(5*time.Minute, corev1.ConditionTrue, false)
	for _, wait := range waits {
		if err := wait(); err != nil {
			t.Error(err)
		}
	}
}
