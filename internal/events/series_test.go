package events_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/events"
)

func (f *fixture) series(controller string) *events.SeriesRecorder {
	return f.recorder.Series(f.client.EventsV1(), controller, controller+"-0")
}

// expectSeries compares the events of events.k8s.io that the API has, and how often each
// was written.
func (f *fixture) expectSeries(want ...string) {
	f.Helper()
	list, err := f.client.EventsV1().Events("").List(f.Context(), metav1.ListOptions{})
	if err != nil {
		f.Fatal(err)
	}
	writes := map[string]int{}
	for _, action := range f.client.Actions() {
		if named, ok := action.(interface{ GetName() string }); ok && action.GetVerb() == "patch" {
			writes[named.GetName()]++
		}
	}
	var got []string
	for _, e := range list.Items {
		line := fmt.Sprintf("%s %s %s %s %s by %s at %s", e.Regarding.Name, e.Type, e.Reason, e.Action, e.Note, e.ReportingInstance, e.EventTime.Sub(start))
		if e.Series != nil {
			line += fmt.Sprintf(" x%d until %s, patched %d times", e.Series.Count, e.Series.LastObservedTime.Sub(start), writes[e.Name])
		}
		got = append(got, line)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		f.Errorf("events (-want +got):\n%s", diff)
	}
}

// Equal events are one series: its second occurrence is written, then its count every
// half hour and when six minutes have passed without another one.
func TestSeries(t *testing.T) {
	f := newFixture(t)
	f.run()
	r := f.series("tester")
	for range 3 {
		r.Eventf(pod("p"), nil, v1.EventTypeNormal, "Created", "Create", "made %s", "it")
		f.advance(2 * time.Minute)
	}
	const made = "p Normal Created Create made it by tester-0 at 0s"
	f.expectSeries(made + " x2 until 2m0s, patched 1 times")
	f.advance(10 * time.Minute)
	f.expectSeries(made + " x3 until 4m0s, patched 2 times")
	r.Eventf(pod("p"), nil, v1.EventTypeNormal, "Created", "Create", "again")
	f.advance(time.Second)
	f.expectSeries("p Normal Created Create again by tester-0 at 16m0s", made+" x3 until 4m0s, patched 2 times")
	if !f.ledger.Idle() {
		t.Errorf("in flight: %s", f.ledger)
	}
}

// A series that goes on is written every half hour.
func TestLongSeries(t *testing.T) {
	f := newFixture(t)
	f.run()
	r := f.series("tester")
	for range 14 { // 65 minutes
		r.Eventf(pod("p"), nil, v1.EventTypeWarning, "Failed", "Create", "it fails")
		f.advance(5 * time.Minute)
	}
	f.expectSeries("p Warning Failed Create it fails by tester-0 at 0s x12 until 55m0s, patched 3 times")
}

// Events that differ in the regarding object, the content or the reporter are different series.
// The related object is recorded too.
func TestSeriesAreDistinguished(t *testing.T) {
	f := newFixture(t)
	f.run()
	f.series("one").Eventf(pod("p"), nil, v1.EventTypeNormal, "Created", "Create", "x")
	f.series("two").Eventf(pod("p"), nil, v1.EventTypeNormal, "Created", "Create", "x")
	f.series("one").Eventf(pod("q"), pod("p"), v1.EventTypeNormal, "Created", "Create", "x")
	f.series("one").AnnotatedEventf(pod("p"), nil, map[string]string{"a": "b"}, v1.EventTypeNormal, "Created", "Patch", "x")
	f.series("one").Eventf(pod("p"), nil, "Tragic", "Created", "Create", "x")
	f.advance(time.Second)
	f.expectSeries(
		"p Normal Created Create x by one-0 at 0s",
		"p Normal Created Create x by two-0 at 0s",
		"p Normal Created Patch x by one-0 at 0s",
		"q Normal Created Create x by one-0 at 0s",
	)
}
