package scenarios

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/scenario/spec"
	"minikcm.dev/minikcm/scenarios/fault"
)

// Rehearsal is a scenario that is written in Go, on a running cluster. Each method does one
// step, and ends the test if that fails. Its methods must be called by one goroutine.
type Rehearsal struct {
	t      testing.TB
	run    *run
	within time.Duration
}

// New begins a scenario on a cluster, which stays the caller's to close.
func New(t testing.TB, cluster *minikcm.Cluster) *Rehearsal {
	t.Helper()
	w := &world{}
	if err := w.use(cluster); err != nil {
		t.Fatal(err)
	}
	s := &Scenario{Metadata: spec.Metadata{Name: strings.ToLower(t.Name())}}
	return &Rehearsal{t: t, within: time.Minute, run: &run{world: w, scenario: s, begun: w.clock.Now(), remembered: map[string]any{}}}
}

// Within sets how much of the cluster's time each later wait may take; the default is a
// minute.
func (r *Rehearsal) Within(d time.Duration) *Rehearsal {
	r.within = d
	return r
}

// Steps does steps that are written as under spec.steps of a scenario file.
func (r *Rehearsal) Steps(yaml string) *Rehearsal {
	r.t.Helper()
	text := fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: steps}\nspec:\n  timeout: 8760h\n  steps:\n", spec.APIVersion, spec.Kind)
	for line := range strings.Lines(strings.Trim(yaml, "\n")) {
		text += "    " + line
	}
	found, err := Parse(r.t.Name(), []byte(text), nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return r.do(found[0].Spec.Steps...)
}

func (r *Rehearsal) do(steps ...spec.Step) *Rehearsal {
	r.t.Helper()
	err := r.run.drive(r.t.Context(), func(ctx context.Context, b *branch) error { return b.steps(ctx, steps) })
	if err != nil {
		r.t.Fatal(err)
	}
	return r
}

// Apply applies the objects of a text of YAML documents, by server-side apply.
func (r *Rehearsal) Apply(yaml string) *Rehearsal {
	r.t.Helper()
	objects, err := spec.Objects(r.t.Name(), []byte(yaml))
	if err != nil {
		r.t.Fatal(err)
	}
	return r.do(stepOf("apply", &Apply{Objects: objects}))
}

// Wait waits for an object, such as deployment/web, as the step wait does: condition=Ready,
// jsonpath={.status.phase}=Running, cel=EXPRESSION, create, delete, rollout.
func (r *Rehearsal) Wait(target, what string) *Rehearsal {
	r.t.Helper()
	return r.Steps(fmt.Sprintf("- wait: {target: %q, for: %q, within: %v}", target, what, r.within))
}

// WaitAll waits for all objects of a kind that match a label selector.
func (r *Rehearsal) WaitAll(kind, selector, what string) *Rehearsal {
	r.t.Helper()
	return r.Steps(fmt.Sprintf("- wait: {target: %q, selector: %q, for: %q, within: %v}", kind, selector, what, r.within))
}

// Kill deletes n pods that match a label selector, without grace, as the seed chooses.
func (r *Rehearsal) Kill(selector string, n int) *Rehearsal {
	r.t.Helper()
	return r.Steps(fmt.Sprintf("- kill: {pods: {selector: %q, count: %d}}", selector, n))
}

// KillNode stops a node's machine.
func (r *Rehearsal) KillNode(name string) *Rehearsal {
	r.t.Helper()
	return r.Steps(fmt.Sprintf("- kill: {node: %q}", name))
}

// Fault injects a fault.
func (r *Rehearsal) Fault(f fault.Fault) *Rehearsal {
	r.t.Helper()
	if problems := f.Validate(); len(problems) > 0 {
		r.t.Fatal(problems[0])
	}
	return r.do(stepOf("fault", &f))
}

// Scale sets an object's replicas.
func (r *Rehearsal) Scale(target string, replicas int) *Rehearsal {
	r.t.Helper()
	return r.do(stepOf("scale", &Scale{Target: target, Replicas: &replicas}))
}

// Delete deletes an object, and does not wait until it is gone.
func (r *Rehearsal) Delete(target string) *Rehearsal {
	r.t.Helper()
	return r.do(stepOf("delete", &Delete{Target: target}))
}

// Sleep lets so much of the cluster's time pass.
func (r *Rehearsal) Sleep(d time.Duration) *Rehearsal {
	r.t.Helper()
	duration := spec.Duration(d)
	return r.do(stepOf("sleep", &duration))
}

// Expect waits until an expectation holds, which is written as the step expect is.
func (r *Rehearsal) Expect(yaml string) *Rehearsal {
	r.t.Helper()
	text := "- expect:\n"
	if !strings.Contains(yaml, "within:") {
		text += fmt.Sprintf("    within: %v\n", r.within)
	}
	for line := range strings.Lines(strings.Trim(yaml, "\n")) {
		text += "    " + line
	}
	return r.Steps(text)
}

// TakeBack ends the faults that last to the end of the scenario.
func (r *Rehearsal) TakeBack() *Rehearsal {
	r.t.Helper()
	if err := r.run.takeBack(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	return r
}

// Clock is the cluster's time.
func (r *Rehearsal) Clock() clock.Clock { return r.run.clock }
