package capacity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"minikcm.dev/minikcm/internal/capacity/internal/remedy"
	"minikcm.dev/minikcm/internal/scenario/runrecord"
)

// Remedy is a change of a workload with which fewer requests fail: a fork in which it was made before the changes has shown that.
type Remedy struct {
	Workload Target `json:"workload"`
	// Routes are the routes that lead to the workload and do not meet their objectives; without objectives, no request may fail.
	Routes []string `json:"routes"`
	// Lacks says in words what the workload lacks, such as a second replica.
	Lacks []string `json:"lacks,omitempty"`
	// Change is the remedy in words, and Commands make it; empty: no usual remedy lets fewer requests fail.
	Change   string   `json:"change,omitempty"`
	Commands []string `json:"commands,omitempty"`
	// Requests of the routes were sent, of which Failed failed without the remedy; Then and ThenFailed are these numbers with it.
	Requests   int64 `json:"requests"`
	Failed     int64 `json:"failed"`
	Then       int64 `json:"thenRequests"`
	ThenFailed int64 `json:"thenFailed"`
	// Enough is true if the routes meet their objectives with it.
	Enough bool `json:"enough"`
}

// maxTrials bounds the forks that look for remedies. Each tries one remedy of every workload.
const maxTrials = 12

// Advise adds the smallest usual remedies to a report of changes, if requests failed. All remedies that it adds were simulated together, in
// a fork of their own.
func (f *Fork) Advise(ctx context.Context, changes []Change, r *Report) error {
	a := &adviser{opts: f.asked, changes: changes, before: r}
	for i := range r.Traffic {
		if !meets(&r.Traffic[i]) {
			a.routes = append(a.routes, i)
		}
	}
	if len(a.routes) == 0 {
		return nil
	}
	a.opts.Starting = nil
	for range maxTrials {
		more, err := a.trial(ctx)
		if err != nil {
			return fmt.Errorf("trying remedies: %w", err)
		}
		if !more {
			break
		}
	}
	r.remedied = a.last
	for _, w := range a.workloads {
		if !w.enough && !w.settled { // the last trial has a remedy that is not listed
			r.remedied = nil
		}
		r.Remedies = append(r.Remedies, w.found(r, a.last))
	}
	return nil
}

// meets reports whether a route needs no remedy.
func meets(t *runrecord.Traffic) bool {
	return !slices.ContainsFunc(t.Objectives, func(o runrecord.Objective) bool { return !o.Met }) && (t.Failed == 0 || len(t.Objectives) > 0)
}

// adviser looks for remedies. In a trial, each workload has the remedy that is its turn:
//
//	trial   checkout               web
//	1       two replicas: too few  hook: enough
//	2       and a budget: too few  hook: enough
//	3       and a hook: enough     hook: enough: done
//
// So the last trial has all remedies of the advice at once.
type adviser struct {
	opts    Options
	changes []Change
	// before is the report without remedies, and routes are the ones that need some. last is the report of the last trial.
	before, last *Report
	routes       []int
	workloads    []*advised
}

// advised is a workload that routes with failures lead to.
type advised struct {
	remedy.Workload
	routes []int
	// selects selects its pods, of which hit are on the nodes that the changes touch.
	selects labels.Selector
	hit     int
	tries   []remedy.Remedy
	// at is the remedy to try: beyond the last one, none.
	at int
	// settled means that at is the best remedy, although none is enough. best is the remedy with the fewest failures, half of those without
	// it at most.
	settled    bool
	best       int
	bestFailed int64
	// enough is the result of the last trial.
	enough bool
}

// trial makes the changes in a fork with remedies. more means that other remedies are to be tried.
func (a *adviser) trial(ctx context.Context) (more bool, err error) {
	fork, err := Open(ctx, a.opts)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, fork.Close()) }()
	if a.last == nil {
		if a.workloads, err = fork.advisable(ctx, a); err != nil || len(a.workloads) == 0 {
			return false, err
		}
	}
	possible := make([]bool, len(a.workloads))
	for i, w := range a.workloads {
		possible[i] = fork.remedy(ctx, w) == nil // such as a quota that refuses it
	}
	if _, err := fork.settle(ctx); err != nil {
		return false, err
	}
	if err := a.stayHit(ctx, fork); err != nil {
		return false, err
	}
	for i, w := range a.workloads {
		ready, err1 := fork.complete(ctx, w)
		hit, err2 := a.isHit(ctx, fork, w)
		if err := errors.Join(err1, err2); err != nil {
			return false, err
		}
		possible[i] = possible[i] && ready && hit
	}
	if a.last, err = fork.WhatIf(ctx, slices.Clone(a.changes)); err != nil {
		return false, err
	}
	hinders := len(a.last.Refused) > len(a.before.Refused)
	for i, w := range a.workloads {
		more = w.judge(a.last, possible[i] && !(hinders && w.trying().Budget)) || more
	}
	return more, nil
}

// trying returns the remedy of the present trial.
func (w *advised) trying() remedy.Remedy {
	if w.at < 0 || w.at >= len(w.tries) {
		return remedy.Remedy{}
	}
	return w.tries[w.at]
}

// judge takes the result of a trial. It returns true if the workload needs another one.
func (w *advised) judge(r *Report, possible bool) (more bool) {
	_, failed := sums(r, w.routes)
	w.enough = possible && !slices.ContainsFunc(w.routes, func(i int) bool { return !meets(&r.Traffic[i]) })
	if w.enough || w.settled {
		return false
	}
	if possible && failed < w.bestFailed {
		w.best, w.bestFailed = w.at, failed
	}
	if w.at++; w.at >= len(w.tries) {
		w.at, w.settled = w.best, true
	}
	return true
}

// found returns the remedy that the last trial had. A trial that was the last one only because of maxTrials proves nothing for workloads
// that it had not finished.
func (w *advised) found(before, last *Report) Remedy {
	found := Remedy{Workload: Target{Kind: w.Kind, Namespace: w.Namespace, Name: w.Name}, Lacks: w.Lacks(), Enough: w.enough}
	for _, i := range w.routes {
		found.Routes = append(found.Routes, before.Traffic[i].Name)
	}
	found.Requests, found.Failed = sums(before, w.routes)
	found.Then, found.ThenFailed = sums(last, w.routes)
	if w.enough || w.settled {
		found.Change, found.Commands = w.trying().String(), w.trying().Commands(&w.Workload)
	}
	return found
}

// sums returns the requests of routes, and how many of them failed.
func sums(r *Report, routes []int) (requests, failed int64) {
	for _, i := range routes {
		requests += r.Traffic[i].Requests
		failed += r.Traffic[i].Failed
	}
	return requests, failed
}

// remedy makes the remedy that is to be tried.
func (f *Fork) remedy(ctx context.Context, w *advised) error {
	r := w.trying()
	if r.Replicas && w.Autoscaler != "" {
		if _, err := f.client.AutoscalingV2().HorizontalPodAutoscalers(w.Namespace).Patch(ctx, w.Autoscaler, types.StrategicMergePatchType, []byte(remedy.AutoscalerPatch), metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("patching the autoscaler %s: %w", w.Autoscaler, err)
		}
	}
	if patch := r.Patch(&w.Workload); patch != nil {
		apps := f.client.AppsV1()
		var err error
		if w.Kind == remedy.StatefulSet {
			_, err = apps.StatefulSets(w.Namespace).Patch(ctx, w.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
		} else {
			_, err = apps.Deployments(w.Namespace).Patch(ctx, w.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
		}
		if err != nil {
			return fmt.Errorf("patching %s %s: %w", w.Kind, w.Name, err)
		}
	}
	if !r.Budget {
		return nil
	}
	one := intstr.FromInt32(1)
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: w.Name},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, Selector: &metav1.LabelSelector{MatchLabels: w.Selector}},
	}
	if _, err := f.client.PolicyV1().PodDisruptionBudgets(w.Namespace).Create(ctx, budget, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating the budget of %s: %w", w.Name, err)
	}
	return nil
}

// printRemedies writes the remedies, with the numbers of failed requests before and with them.
func (r *Report) printRemedies(b *strings.Builder) {
	if len(r.Remedies) == 0 {
		return
	}
	b.WriteString("\nREMEDIES (simulated together)\n")
	for i := range r.Remedies {
		m := &r.Remedies[i]
		text := fmt.Sprintf("%s: %d of %d requests fail", &m.Workload, m.Failed, m.Requests)
		if len(m.Lacks) > 0 {
			text += " (" + strings.Join(m.Lacks, ", ") + ")"
		}
		switch {
		case m.Change == "":
			text += "; no usual remedy lets fewer fail"
		case m.Enough:
			text += fmt.Sprintf("; with %s: %d", m.Change, m.ThenFailed)
		default:
			text += fmt.Sprintf("; no usual remedy is enough. With %s: %d", m.Change, m.ThenFailed)
		}
		b.WriteString(text + "\n")
		for _, command := range m.Commands {
			b.WriteString("  " + command + "\n")
		}
	}
}
