package capacity

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/internal/drain"
)

// draining is one drain of nodes, as kubectl drain does it: one after the other.
type draining struct {
	fork    *Fork
	command drain.Command
	// turn is when the drain of the current node began: with the command, or when the node before it was drained.
	turn    time.Time
	results []*DrainResult
	// waits are the evictions that were refused, by pod.
	waits map[types.UID]*Wait
}

// cordon makes nodes unschedulable.
func (f *Fork) cordon(ctx context.Context, names []string) error {
	for _, name := range names {
		cordon := []byte(`{"spec":{"unschedulable":true}}`)
		if _, err := f.client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, cordon, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("cordoning node %s: %w", name, err)
		}
	}
	return nil
}

// drain returns the drain of nodes that are cordoned.
func (f *Fork) drain(names []string) *draining {
	d := &draining{fork: f, turn: f.cluster.Clock().Now(), waits: map[types.UID]*Wait{}}
	for _, name := range names {
		result := &DrainResult{Node: name}
		d.results = append(d.results, result)
		node := &drain.Node{Name: name, Options: f.opts.Drain}
		node.Note = func(pod *corev1.Pod, refused string) { d.note(node, pod, refused) }
		node.End = func(err error) {
			now := f.cluster.Clock().Now()
			result.Done, result.Took = err == nil, seconds(now.Sub(d.turn))
			d.turn = now
			result.Warnings = node.Warnings
			if err != nil {
				result.Failure = err.Error()
			}
		}
		d.command.Nodes = append(d.command.Nodes, node)
	}
	return d
}

// note records how long the evictions of pods are refused.
func (d *draining) note(node *drain.Node, pod *corev1.Pod, refused string) {
	now := d.fork.cluster.Clock().Now()
	if refused != "" {
		d.waits[pod.UID] = &Wait{Pod: nameOf(pod), Node: node.Name, For: WaitEviction, Reason: refused, since: now}
		return
	}
	if w := d.waits[pod.UID]; w != nil {
		w.until = now
	}
}

func (d *draining) step(ctx context.Context, now time.Time) (done bool, err error) {
	return d.command.Step(ctx, d.fork.client, now)
}

func (d *draining) next(now time.Time) time.Time { return d.command.Next(now) }

// report adds the outcome to a report.
func (d *draining) report(r *Report) {
	for _, result := range d.results {
		r.Drains = append(r.Drains, *result)
	}
	r.lasts(d.turn) // the drain sees later than the watcher that the last pod is gone
	d.reportWaits(r)
}

// reportWaits adds the pods that waited, or still wait, to a report.
func (d *draining) reportWaits(r *Report) {
	for _, w := range d.waits {
		if !w.until.IsZero() {
			w.Seconds = seconds(w.until.Sub(w.since))
			r.Waited = append(r.Waited, *w)
		}
	}
	node := d.command.Current()
	if node == nil {
		return
	}
	for _, refused := range node.Refused() {
		r.Refused = append(r.Refused, Refusal{Pod: nameOf(refused.Pod), Node: node.Name, Reason: refused.Reason})
	}
	for _, pod := range node.Leaving() {
		r.Leaving = append(r.Leaving, Leaving{Pod: nameOf(pod), Node: node.Name, Finalizers: pod.Finalizers})
	}
}
