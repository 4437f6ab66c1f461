package runrecord

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm"
)

func TestNormalise(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	write := func(after time.Duration, revision int64, resource, name string) minikcm.Write {
		return minikcm.Write{
			Revision: revision, Time: start.Add(after), UserAgent: "minikcm/kubelet", Effect: minikcm.Changed, Causes: []int64{revision - 1},
			Resource: metav1.GroupVersionResource{Resource: resource}, Subresource: "status", Namespace: "default", Name: name,
		}
	}
	run := func(writes ...minikcm.Write) *Run {
		return &Run{
			Scenario: Scenario{Name: "x", Seed: 7}, Verdict: Passed, Start: start, Writes: writes, Real: time.Duration(len(writes)),
			Spans: []Span{{Kind: Step, Title: "wait", Begin: 0, End: time.Second, Notes: []Note{{At: time.Second, Text: "done"}}}},
		}
	}
	a := Normalise(run(write(0, 1, "pods", "a"), write(0, 2, "pods", "b"), write(time.Second, 3, "leases", "n"), write(2*time.Second, 4, "pods", "c")))
	want := []string{
		"x, seed 7: Passed", "0s kubelet changed pods/status default/a", "0s kubelet changed pods/status default/b", "0s step wait begins",
		"1s note: done", "1s step wait ends", "2s kubelet changed pods/status default/c",
	}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Error(diff)
	}
	same := Normalise(run(write(0, 10, "pods", "b"), write(0, 12, "pods", "a"), write(0, 13, "pods", "a"), write(2*time.Second, 14, "pods", "c"), write(0, 15, "events", "e")))
	if diff := FirstDifference(a, same); diff != "" {
		t.Errorf("runs that are the same differ:\n%s", diff)
	}
	other := Normalise(run(write(0, 1, "pods", "a"), write(0, 2, "pods", "b")))
	wantDiff := "the runs part at line 7 of 7 and 6\n  0s step wait begins\n  1s note: done\n  1s step wait ends\n- 2s kubelet changed pods/status default/c\n+ (nothing more)\n"
	if diff := cmp.Diff(wantDiff, FirstDifference(a, other)); diff != "" {
		t.Error(diff)
	}
}
