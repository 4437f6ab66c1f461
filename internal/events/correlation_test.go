package events_test

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// TestSimilarEventsAreCombined: from the tenth message of one reason in ten minutes,
// they are one event that counts (client-go's aggregator).
func TestSimilarEventsAreCombined(t *testing.T) {
	f := newFixture(t)
	f.run()
	for i := range 15 {
		f.recorder.Eventf(pod("p"), v1.EventTypeWarning, "Failed", "try %02d", i)
		f.advance(10 * time.Second)
	}
	var want []string
	for i := range 9 {
		at := time.Duration(i) * 10 * time.Second
		want = append(want, fmt.Sprintf("p Warning Failed try %02d x1 from %s to %s by tester", i, at, at))
	}
	want = append([]string{"p Warning Failed (combined from similar events): try 14 x6 from 1m30s to 2m20s by tester"}, want...)
	f.expect(want...)

	// After ten quiet minutes they are separate events again.
	f.advance(11 * time.Minute)
	f.recorder.Event(pod("p"), v1.EventTypeWarning, "Failed", "try later")
	f.advance(time.Second)
	at := 150*time.Second + 11*time.Minute
	f.expect(append(want, fmt.Sprintf("p Warning Failed try later x1 from %s to %s by tester", at, at))...)
}

// TestSpamIsDropped: of one source about one object there are 25 events at once, and
// then one in five minutes (client-go's spam filter), which counts those that were
// dropped. Others are not concerned.
func TestSpamIsDropped(t *testing.T) {
	f := newFixture(t)
	f.run()
	spam := func(n int) {
		for range n {
			f.recorder.Event(pod("p"), v1.EventTypeWarning, "BackOff", "again")
		}
		f.advance(time.Second)
	}
	spam(40)
	f.expect("p Warning BackOff again x25 from 0s to 0s by tester")
	f.recorder.Event(pod("q"), v1.EventTypeWarning, "BackOff", "again")
	f.recorder.For("other").Event(pod("p"), v1.EventTypeWarning, "BackOff", "again")
	f.advance(5 * time.Minute)
	spam(10)
	f.expect(
		"p Warning BackOff again x1 from 1s to 1s by other",
		"p Warning BackOff again x41 from 0s to 5m1s by tester",
		"q Warning BackOff again x1 from 1s to 1s by tester",
	)
}
