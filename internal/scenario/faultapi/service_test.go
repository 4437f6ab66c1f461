package faultapi

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/minikcmtest"
)

// A fault lasts as long as it says, on the cluster's clock, and is shown meanwhile.
func TestFaultLastsAndEnds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	begun := b.Clock().Now().UTC()
	id := b.inject("{nodes: {action: crash, names: [node-1]}, for: 5m}")
	injection := b.want(id, Active)
	if want := begun.Add(5 * time.Minute); !injection.Since.Equal(begun) || injection.Until == nil || !injection.Until.Equal(want) {
		t.Errorf("it lasts from %v until %v, want %v until %v", injection.Since, injection.Until, begun, want)
	}
	if injection.Title != "crash nodes node-1 for 5m0s" || injection.User != minikcm.AdminUser || injection.Times != 1 ||
		len(injection.Notes) != 1 || injection.Notes[0].Text != "node/node-1 crashed" ||
		string(injection.Fault) != `{"for":"5m0s","nodes":{"action":"crash","all":true,"names":["node-1"]}}` {
		t.Errorf("it is shown as %+v, %s", injection, injection.Fault)
	}
	b.advance(2 * time.Minute)
	if ready := b.ready("node-1"); ready != corev1.ConditionUnknown {
		t.Errorf("node-1 is Ready: %s", ready)
	}
	b.advance(4 * time.Minute)
	if ready := b.ready("node-1"); ready != corev1.ConditionTrue {
		t.Errorf("in the end node-1 is Ready: %s", ready)
	}
	list, err := b.client.List(t.Context())
	if err != nil || len(list.Items) != 1 || list.Items[0].State != Over {
		t.Errorf("the list is %+v, %v", list, err)
	}
}

// A stop takes back what lasts, and says so; a second one changes nothing.
func TestStop(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.inject("nodes: {action: cordon, names: [node-0]}")
	if injection := b.want(id, Active); injection.Until != nil {
		t.Errorf("it is to be over at %v", injection.Until)
	}
	if !b.node("node-0").Spec.Unschedulable {
		t.Error("node-0 is not cordoned")
	}
	for range 2 {
		injection, err := b.client.Stop(t.Context(), id)
		if err != nil || injection.State != Stopped {
			t.Fatalf("stopped, it is %+v: %v", injection, err)
		}
		var notes []string
		for _, note := range injection.Notes {
			notes = append(notes, note.Text)
		}
		if got := strings.Join(notes, ", "); got != "node/node-0 cordoned, node/node-0 uncordoned, over: cordon nodes node-0, stopped on request" {
			t.Errorf("the notes are %s", got)
		}
	}
	if b.node("node-0").Spec.Unschedulable {
		t.Error("node-0 is cordoned still")
	}
	if _, err := b.client.Stop(t.Context(), "f-9"); err == nil || !strings.Contains(err.Error(), "there is no such fault") {
		t.Errorf("stopping what is not there: %v", err)
	}
}

// What cannot be done fails, and says why.
func TestFailed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	injection := b.want(b.inject("nodes: {action: crash, names: [node-9]}"), Failed)
	if want := "nothing matches: not all of nodes node-9 exist"; injection.Error != want {
		t.Errorf("it fails with %q, want %q", injection.Error, want)
	}
}

// What another fault keeps the API server from taking back is retried, and noted once.
func TestTakenBackAfterOutage(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.inject("{nodes: {action: cordon, names: [node-0]}, for: 1m}")
	b.want(id, Active)
	outage := b.inject("{etcd: {action: unavailable}, for: 20m}")
	b.want(outage, Active)
	b.advance(15 * time.Minute) // longer than a scenario retries
	injection := b.want(id, Ending)
	var notes []string
	for _, note := range injection.Notes {
		notes = append(notes, note.Text)
	}
	if last := notes[len(notes)-1]; len(notes) != 2 || !strings.HasPrefix(last, "cannot be taken back yet, and is tried every 1s: ") {
		t.Errorf("the notes are %q", notes)
	}
	b.advance(6 * time.Minute)
	b.want(outage, Over)
	b.want(id, Over)
	if b.node("node-0").Spec.Unschedulable {
		t.Error("node-0 is cordoned")
	}
}

// A fault that repeats is shown with how often it has happened.
func TestRepeated(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.inject("{nodes: {action: slow, names: [node-0], delay: 5s}, every: 1m, for: 10s, times: 3}")
	b.advance(90 * time.Second)
	if injection := b.want(id, Active); injection.Times != 2 {
		t.Errorf("it has happened %d times, want 2", injection.Times)
	}
	b.advance(time.Minute)
	if injection := b.want(id, Over); injection.Times != 3 {
		t.Errorf("it has happened %d times, want 3", injection.Times)
	}
}

// A fault ends with the context of its client, which waits for that, and with its
// connection.
func TestHold(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	enough := errors.New("enough")
	hold := func(each func(i *Injection, cancel context.CancelCauseFunc) error) *Injection {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		last, err := b.client.Hold(ctx, parse(t, "nodes: {action: cordon, names: [node-0]}"), 0, func(i *Injection) error { return each(i, cancel) })
		if !errors.Is(err, enough) || last == nil {
			t.Fatalf("it ends with %v: %+v", err, last)
		}
		return last
	}
	ended := hold(func(i *Injection, cancel context.CancelCauseFunc) error {
		if i.State == Active {
			cancel(enough)
		}
		return nil
	})
	left := hold(func(i *Injection, _ context.CancelCauseFunc) error {
		if i.State == Active {
			return enough
		}
		return nil
	})
	if ended.State != Stopped || left.State != Active {
		t.Errorf("the faults are %s and %s", ended.State, left.State)
	}
	for want, last := range map[error]*Injection{errStopped: ended, errLeft: left} {
		injection := b.want(last.ID, Stopped)
		if text := injection.Notes[len(injection.Notes)-1].Text; text != want.Error() {
			t.Errorf("the last note is %q, want %q", text, want)
		}
	}
	if b.node("node-0").Spec.Unschedulable {
		t.Error("node-0 is cordoned still")
	}
}

// The seed of a request determines the targets.
func TestSeed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	hit := func(seed uint64) string {
		last, err := b.client.Hold(t.Context(), parse(t, "{nodes: {action: hang}, for: 1s}"), seed, func(i *Injection) error {
			if i.State == Active {
				return errStopped // any will do
			}
			return nil
		})
		if !errors.Is(err, errStopped) {
			t.Fatalf("%+v: %v", last, err)
		}
		b.want(last.ID, Stopped)
		return last.Notes[0].Text
	}
	different := false
	first := hit(1)
	for seed := uint64(1); seed < 8; seed++ {
		one, same := hit(seed), hit(seed)
		if one != same {
			t.Errorf("seed %d hits %s and %s", seed, one, same)
		}
		different = different || one != first
	}
	if !different {
		t.Errorf("all seeds hit %s", first)
	}
}

// What the API server cannot answer is taken back as soon as it can.
func TestTakenBackWhenTheStoreIsBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	cordon := b.inject("{nodes: {action: cordon, names: [node-0]}, for: 10s}")
	b.want(cordon, Active)
	b.want(b.inject("{etcd: {action: unavailable}, for: 1m}"), Active)
	b.advance(30 * time.Second)
	b.want(cordon, Ending)
	b.advance(time.Minute)
	b.want(cordon, Over)
	if b.node("node-0").Spec.Unschedulable {
		t.Error("node-0 is cordoned still")
	}
}

// The end of a cluster takes back what lasts, also though the store fails, and leaves
// nothing of it to the next cluster on the same data.
func TestCloseTakesBack(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	options := func() minikcm.Options {
		return minikcm.Options{
			API:     minikcm.APIOptions{NoHTTPS: true, Extensions: []minikcm.Extension{Extension(Options{})}},
			Storage: minikcm.StorageOptions{DataDir: dir},
			Seed:    1,
			Faults:  minikcm.FaultOptions{Store: true, API: true},
		}
	}
	cluster, err := minikcm.Start(t.Context(), options())
	if err != nil {
		t.Fatal(err)
	}
	client, err := NewClient(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, client: client}
	for _, text := range []string{
		"etcd: {action: unavailable, percent: 1}", "nodes: {action: cordon}", "nodes: {action: taint, taint: 'a=b:NoSchedule'}",
		"etcd: {action: unavailable}", "apiserver: {action: error}", "{pods: {action: kill}, every: 1h}", "{nodes: {action: hang}, schedule: '* * * * *', for: 1s}",
	} {
		id := b.inject(text)
		if !strings.Contains(text, "kill") && !strings.Contains(text, "hang") {
			b.want(id, Active)
		}
	}
	if err := cluster.Close(); err != nil {
		t.Error(err)
	}
	if cluster, err = minikcm.Start(t.Context(), options()); err != nil {
		t.Fatal(err)
	}
	defer cluster.Close() // it has been closed well before
	node, err := cluster.Client().CoreV1().Nodes().Get(t.Context(), "node-0", metav1.GetOptions{})
	// The taint of a cordon is removed by a controller.
	if err != nil || node.Spec.Unschedulable || slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == "a" }) {
		t.Errorf("the node is left as %+v: %v", node.Spec, err)
	}
}

// The notes of a fault and the faults that are done are kept within bounds.
func TestForgets(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var injection *Injection
	id := b.inject("{nodes: {action: hang, names: [node-0]}, every: 1s, for: 500ms, times: 60}")
	b.advance(2 * time.Minute)
	if injection = b.want(id, Over); len(injection.Notes) != maxNotes || injection.Forgotten != 180-maxNotes || injection.Times != 60 {
		t.Errorf("%d notes are kept and %d forgotten of %d times", len(injection.Notes), injection.Forgotten, injection.Times)
	}
	for range maxDone + 5 {
		b.want(b.inject("apiserver: {action: dropWatches, resources: [widgets]}"), Over)
	}
	lasting := b.inject("nodes: {action: hang, names: [node-0]}")
	list, err := b.client.List(t.Context())
	if err != nil || len(list.Items) != maxDone+1 || list.Items[maxDone].ID != lasting {
		t.Errorf("%d faults are listed, want %d: %v", len(list.Items), maxDone+1, err)
	}
	for range maxRunning - 1 {
		b.inject("nodes: {action: hang, names: [node-0]}")
	}
	if _, err := b.client.Inject(t.Context(), parse(t, "nodes: {action: hang}")); err == nil || !strings.Contains(err.Error(), "stop some first") {
		t.Errorf("one too many: %v", err)
	}
}

// A drain has happened when the budgets have let it.
func TestDrain(t *testing.T) {
	t.Parallel()
	b := newBench(t, minikcmtest.WithNodes(1))
	one := intstr.FromInt32(1)
	web := map[string]string{"app": "web"}
	_, err := b.Client().CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: web}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	budgets := b.Client().PolicyV1().PodDisruptionBudgets("default")
	if _, err := budgets.Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: web}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.advance(time.Minute)
	id := b.inject("nodes: {action: drain, force: true}")
	b.advance(time.Minute)
	if injection := b.want(id, Pending); len(injection.Notes) != 2 {
		t.Errorf("the notes are %v", injection.Notes)
	}
	if err := budgets.Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.advance(time.Minute)
	b.want(id, Active)
	if _, err := b.client.Stop(t.Context(), id); err != nil || b.node("node-0").Spec.Unschedulable {
		t.Errorf("node-0 is cordoned still: %v", err)
	}
}
