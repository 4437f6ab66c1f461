package scenarios

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"minikcm.dev/minikcm"
)

var runs = flag.Int("runs", 2, "how many runs of one seed are compared")

// ran runs a scenario, and has a look at the cluster before it is closed.
func ran(t *testing.T, s *Scenario, opts Options, look func(w *world)) {
	t.Helper()
	w, err := open(t.Context(), s, opts, reached{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.close(); err != nil {
			t.Error(err)
		}
	}()
	r := &run{world: w, scenario: s, begun: w.clock.Now(), remembered: map[string]any{}}
	if err := r.drive(t.Context(), func(ctx context.Context, b *branch) error { return b.scenario(ctx) }); err != nil {
		t.Fatal(err)
	}
	look(w)
}

// shippedWrites runs a shipped scenario and returns its writes.
func shippedWrites(t *testing.T, name string, seed uint64) (lines []string) {
	t.Helper()
	found, err := Find(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	ran(t, found[0], Options{Seed: seed}, func(w *world) { lines = writesOf(w) })
	return lines
}

// writesOf returns all writes in order, each with its user, time, causes and changes. The name of
// the trust bundle, from which its UID follows, contains a hash of the cluster's certificate, whose
// key does not follow from the seed.
func writesOf(w *world) []string {
	var lines []string
	for _, w := range w.cluster.Writes().Writes(nil) {
		if w.Resource.Resource == "clustertrustbundles" {
			w.Name, w.UID = "BUNDLE", ""
		}
		lines = append(lines, fmt.Sprintf("%d %v %s %s %s %s/%s/%s %s causes %v changes %v", w.Revision, w.Time.Sub(minikcm.DefaultClockStart), w.Actor, w.UserAgent,
			w.Verb, strings.TrimSuffix(w.Resource.Resource+"/"+w.Subresource, "/"), w.Namespace, w.Name, w.UID, w.Causes, w.Changes))
	}
	return lines
}

// In virtual time, one seed gives one course of events: the same writes in the same
// order, with the same revisions, names, UIDs, times, causes and changes.
func TestSameSeedSameWrites(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"pod-kill", "node-loss", "rolling-update-under-fire", "job-backoff", "statefulset-ordered-recovery", "apiserver-flaky", "watch-expired"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := shippedWrites(t, name, 7)
			if len(first) == 0 {
				t.Fatal("nothing was written")
			}
			for n := 2; n <= *runs; n++ {
				if diff := cmp.Diff(first, shippedWrites(t, name, 7)); diff != "" {
					t.Fatalf("run %d differs from the first one:\n%s", n, diff)
				}
			}
			if slices.Equal(first, shippedWrites(t, name, 8)) {
				t.Error("another seed changes nothing")
			}
		})
	}
}
