package determinism

import (
	"context"
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/writerecord"
	"minikcm.dev/minikcm/kubeletsim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var runs = flag.Int("runs", 3, "how many runs of one seed are compared")

// The busy cluster has rollouts with killed pods, Jobs with occasional failures, CronJobs, and
// a node that is lost and returns.
func busy(ctx context.Context, d *driver) error {
	err := inOrder(ctx, d,
		deployment("web", 10), service("web"), budget("web", 7), statefulSet("db", 3), service("db"), daemonSet("agent"),
		pass(10*time.Second),
		job("batch", 8, 4), cronJob("tick", "* * * * *"), cronJob("tock", "*/2 * * * *"), roll("web", "image:2"),
	)
	if err != nil {
		return err
	}
	for range 20 {
		if err := inOrder(ctx, d, pass(3*time.Second), kill("web"), kill("web"), kill("db"), kill("agent")); err != nil {
			return err
		}
	}
	return inOrder(ctx, d,
		node("node-1", (*kubeletsim.Kubelets).CrashNode), pass(8*time.Minute), roll("web", "image:3"), pass(time.Minute),
		node("node-1", (*kubeletsim.Kubelets).StartNode), pass(5*time.Minute),
	)
}

// killed runs a Deployment of ten pods, of which one is killed every second.
func killed(ctx context.Context, d *driver) error {
	if err := inOrder(ctx, d, deployment("web", 10), service("web"), budget("web", 7), pass(10*time.Second)); err != nil {
		return err
	}
	for range 60 {
		if err := inOrder(ctx, d, kill("web"), pass(time.Second)); err != nil {
			return err
		}
	}
	return nil
}

// lost runs two Deployments on three nodes, one of which stops responding.
func lost(ctx context.Context, d *driver) error {
	return inOrder(ctx, d,
		deployment("web", 6), deployment("api", 6), statefulSet("db", 3), pass(30*time.Second),
		node("node-0", (*kubeletsim.Kubelets).StopNode), pass(10*time.Minute),
		node("node-0", (*kubeletsim.Kubelets).StartNode), pass(5*time.Minute),
	)
}

// autoscaled creates, replaces and deletes nodes as a client while pods run on them.
func autoscaled(ctx context.Context, d *driver) error {
	return inOrder(ctx, d,
		deployment("web", 12), daemonSet("agent"), pass(10*time.Second), makeNode("a"), makeNode("b"), pass(20*time.Second),
		kill("web"), kill("web"), kill("web"), pass(10*time.Second),
		deleteNode("a"), makeNode("a"), makeNode("c"), deleteNode("node-0"), pass(2*time.Minute),
		deleteNode("b"), kill("web"), pass(30*time.Second), makeNode("b"), makeNode("node-0"), pass(5*time.Minute),
		roll("web", "image:2"), pass(10*time.Second), deleteNode("c"), pass(5*time.Minute),
	)
}

// The same seed gives the same writes in the same order, with the same revisions, causes and
// changes.
func TestSameSeedSameWrites(t *testing.T) {
	t.Parallel()
	for name, course := range map[string]step{"killed": killed, "lost": lost, "busy": busy, "flaky": flaky, "autoscaled": autoscaled} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := writesOf(t, 7, course)
			for n := 2; n <= *runs; n++ {
				again := writesOf(t, 7, course)
				if at := firstDifference(first, again); at >= 0 {
					t.Fatalf("run %d differs from the first one at write %d of %d:\n%s", n, at, len(first),
						cmp.Diff(around(first, at), around(again, at)))
				}
			}
			other := writesOf(t, 8, course)
			if slices.Equal(first, other) {
				t.Error("another seed changes nothing")
			}
		})
	}
}

// writesOf runs a course of events and returns all writes in order.
func writesOf(t *testing.T, seed uint64, course step, change ...func(*minikcm.Options)) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	opts := minikcm.Options{Nodes: minikcm.NodeOptions{Count: 3, Manage: minikcm.ManageAll}, Seed: seed, Clock: minikcm.ClockOptions{Mode: clock.ModeVirtual, Driven: true}, API: minikcm.APIOptions{NoHTTPS: true}, Faults: minikcm.FaultOptions{API: true}}
	for _, f := range change {
		f(&opts)
	}
	cluster, err := minikcm.Start(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := course(ctx, &driver{cluster: cluster, client: cluster.Client(), random: clock.NewRandom(seed)}); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, w := range cluster.Writes().Writes(nil) {
		lines = append(lines, line(&w))
	}
	return lines
}

// line prints a write. The name of the trust bundle, from which its UID follows, contains a hash
// of the cluster's certificate, whose key does not follow from the seed.
func line(w *writerecord.Write) string {
	name, uid := w.Name, w.UID
	if w.Resource.Resource == "clustertrustbundles" {
		name, uid = "BUNDLE", ""
	}
	return fmt.Sprintf("%d %v %s %s %s %s %s/%s %s causes %v changes %v", w.Revision, w.Time.Sub(minikcm.DefaultClockStart), w.Actor, w.UserAgent,
		w.Verb, strings.TrimSuffix(w.Resource.Resource+"/"+w.Subresource, "/"), w.Namespace, name, uid, w.Causes, w.Changes)
}

// firstDifference returns the index at which two records differ, or -1.
func firstDifference(a, b []string) int {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			return i
		}
	}
	return -1
}

func around(lines []string, at int) []string {
	const context = 16
	return lines[min(len(lines), max(0, at-context)):min(len(lines), at+context, math.MaxInt)]
}
