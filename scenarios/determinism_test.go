package scenarios

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"minikcm.dev/minikcm"
)

// writesOf runs a shipped scenario and returns what was written by whom and when,
// each thing once, without events and heartbeats.
func writesOf(t *testing.T, name string, seed uint64, normal func(string) string) []string {
	t.Helper()
	found, err := Find(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := found[0]
	w, err := open(t.Context(), s, Options{Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	cluster := w.cluster
	defer func() {
		if err := w.close(); err != nil {
			t.Error(err)
		}
	}()
	r := &run{world: w, scenario: s, begun: w.clock.Now(), remembered: map[string]any{}}
	if err := r.drive(t.Context(), func(ctx context.Context, b *branch) error { return b.scenario(ctx, &Result{}) }); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Ledger().WaitIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, w := range cluster.Writes().Writes(nil) {
		unscheduled := w.Resource.Resource == "pods" && w.Verb == "patch" && w.Subresource == "status"
		if w.Resource.Resource == "events" || w.Resource.Resource == "leases" || unscheduled {
			continue
		}
		lines = append(lines, normal(fmt.Sprintf("%v %s %s %s %s/%s/%s %s", w.Time.Sub(minikcm.DefaultClockStart).Truncate(time.Second), w.Actor, w.UserAgent,
			w.Verb, strings.TrimSuffix(w.Resource.Resource+"/"+w.Subresource, "/"), w.Namespace, w.Name, w.UID)))
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// In virtual time, one seed gives one course of events: the same writers write the
// same objects, with the same names and UIDs, at the same times. What several
// controllers do at one instant they do side by side, as in every cluster: left open
// is the order within an instant, the milliseconds after which a write that met
// another one is tried again, whether a pod comes a moment before the last taint of
// its node goes, how many updates of a status it takes, how events are called, when nodes renew their leases, and which of several waiting pods gets
// which node. The latter says whose pods are lost in node-loss.
func TestSameSeedSameWrites(t *testing.T) {
	t.Parallel()
	for name, normal := range map[string]func(string) string{
		"pod-kill":  func(line string) string { return line },
		"node-loss": func(line string) string { return withoutNames(line[:strings.LastIndex(line, " ")]) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := writesOf(t, name, 7, normal), writesOf(t, name, 7, normal)
			if len(first) == 0 {
				t.Fatal("nothing was written")
			}
			if diff := cmp.Diff(first, second); diff != "" {
				t.Errorf("two runs with one seed differ:\n%s", diff)
			}
			if other := writesOf(t, name, 8, normal); name == "pod-kill" && slices.Equal(first, other) {
				t.Error("another seed changes nothing")
			}
		})
	}
}
