package stagerunner

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/loop"
	"minikcm.dev/minikcm/internal/stages"
	"minikcm.dev/minikcm/kubeletsim/internal/kwokwatch"
)

// A Stage without a delay that matches its own result would play for ever at one instant, and
// virtual time would never go on. After maxPlays plays within playPeriod, the next waits until the
// period has ended.
const (
	maxPlays   = 50
	playPeriod = time.Second
)

// job is the state of the Stages of one object. It belongs to the worker that has its key.
type job struct {
	uid    types.UID
	random *clock.Random
	// version is the object's version and set the Stages from which stage was chosen; written is
	// the version after the last write.
	version, written string
	set              *stages.Set
	// stage is the chosen Stage; nil: none matches, or it was played. due is the time at which it
	// plays.
	stage *stages.Stage
	due   time.Time
	// actions are its writes, of which done were made; nil: none was yet.
	actions []stages.Action
	done    int
	// plays is the number of plays since a time.
	plays int
	since time.Time
}

// play chooses a Stage for an object, waits for it, or makes its writes.
func (r *Runner) play(ctx context.Context, k key) (loop.Result, error) {
	object := r.object(k)
	if object == nil {
		r.forget(k)
		return loop.Result{}, nil
	}
	j := r.jobOf(k, object)
	if older(object.GetResourceVersion(), j.written) {
		return loop.Result{}, nil // the informer will deliver the own write
	}
	now := r.opts.Clock.Now()
	node, hosted := hostOf(k, object)
	if hosted {
		if node == "" {
			return loop.Result{}, nil
		}
		r.await(node, k)
		if !r.opts.Hosts.Acts(node) {
			j.version = ""
			return loop.Result{}, nil
		}
		r.stopAwaiting(node, k)
	}
	if set := r.set.Load(); j.version != object.GetResourceVersion() || j.set != set {
		j.version, j.set, j.stage, j.actions, j.done = object.GetResourceVersion(), set, nil, nil, 0
		r.choose(k, j, object, now)
	}
	if j.stage == nil {
		return loop.Result{}, nil
	}
	if wait := j.due.Sub(now); wait > 0 {
		return loop.Result{RequeueAfter: wait, Postponed: true}, nil
	}
	err := r.act(ctx, k, j, object, node, now)
	switch {
	case err == nil:
		j.stage = nil
	case transient(err):
		return loop.Result{}, fmt.Errorf("playing Stage %s for %s: %w", j.stage.Name, k, err)
	case apierrors.IsNotFound(err):
		j.stage = nil
	case ctx.Err() == nil:
		r.report(j.stage.Name, fmt.Errorf("playing it for %s: %w", k, err))
		j.stage = nil
	}
	return loop.Result{}, nil
}

// choose chooses the Stage that plays next.
func (r *Runner) choose(k key, j *job, object *unstructured.Unstructured, now time.Time) {
	o := view(k, object)
	stage, err := j.set.Choose(k.kind, o, now, j.random)
	r.reportAll(err)
	if stage == nil {
		return
	}
	delay, err := stage.Delay(o, now, j.random)
	r.reportAll(err)
	j.stage, j.due = stage, now.Add(delay)
	if now.Sub(j.since) >= playPeriod {
		j.since, j.plays = now, 0
	}
	if j.plays++; j.plays > maxPlays && j.due.Before(j.since.Add(playPeriod)) {
		j.due = j.since.Add(playPeriod)
		r.report(stage.Name, fmt.Errorf("it matches its own result: %s was changed %d times within %s, so the next change waits", k, maxPlays, playPeriod))
	}
}

// reportAll reports the failures of Stages that are joined in err.
func (r *Runner) reportAll(err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			r.reportAll(err)
		}
		return
	}
	var failed *stages.Error
	if errors.As(err, &failed) {
		r.report(failed.Stage, failed.Err)
	}
}

// act makes the writes of a Stage that are left to be made.
func (r *Runner) act(ctx context.Context, k key, j *job, object *unstructured.Unstructured, node string, now time.Time) error {
	if j.actions == nil {
		if err := r.take(k, object); err != nil {
			return err
		}
		actions, err := j.stage.Actions(view(k, object), r.envOf(j, node, now))
		if err != nil {
			return err
		}
		j.actions = actions
	}
	for ; j.done < len(j.actions); j.done++ {
		version, err := r.do(ctx, k, object, &j.actions[j.done])
		if err != nil {
			return err
		}
		if version != "" {
			j.written = version
		}
	}
	return nil
}

// take ends the built-in simulation of the object.
func (r *Runner) take(k key, object *unstructured.Unstructured) error {
	switch {
	case isPod(k):
		var pod corev1.Pod
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &pod); err != nil {
			return fmt.Errorf("decoding %s: %w", k, err)
		}
		r.opts.Hosts.TakePod(&pod)
	case isNode(k):
		r.opts.Hosts.TakeNode(k.name.Name)
	}
	return nil
}

// view returns an object as Stages see it. Kubelets have set no phase of a Node since v1.0, but
// kwok's Stages set Running and select by it: a Ready node without a phase has that one.
func view(k key, object *unstructured.Unstructured) *stages.Object {
	phase, _, _ := unstructured.NestedString(object.Object, "status", "phase")
	if !isNode(k) || phase != "" || !kwokwatch.IsTrue(object, "Ready") {
		return &stages.Object{Content: object.Object}
	}
	seen := object.DeepCopy()
	// It fails only if the status is no map.
	_ = unstructured.SetNestedField(seen.Object, "Running", "status", "phase")
	return &stages.Object{Content: seen.Object}
}

// kubeletPort is the port of a kubelet's endpoints.
const kubeletPort = 10250

func (r *Runner) envOf(j *job, node string, now time.Time) *stages.Env {
	return &stages.Env{
		Now: now, Start: r.start, Version: r.opts.Version, Node: node, NodePort: kubeletPort, Random: j.random,
		NodeIPs: r.opts.Hosts.NodeAddresses,
		PodIPs: func(node, uid string) ([]string, error) {
			return r.opts.Hosts.PodAddresses(node, types.UID(uid))
		},
	}
}

func isPod(k key) bool  { return k.kind.Group == "" && k.kind.Kind == "Pod" }
func isNode(k key) bool { return k.kind.Group == "" && k.kind.Kind == "Node" }

// hostOf returns the node whose kubelet the Stages of an object stand for.
func hostOf(k key, object *unstructured.Unstructured) (node string, hosted bool) {
	switch {
	case isPod(k):
		node, _, _ = unstructured.NestedString(object.Object, "spec", "nodeName")
		return node, true
	case isNode(k):
		return k.name.Name, true
	}
	return "", false
}

// object returns an object as the informer shows it; nil: it does not exist.
func (r *Runner) object(k key) *unstructured.Unstructured {
	r.mu.Lock()
	w := r.kinds[k.kind]
	r.mu.Unlock()
	if w == nil {
		return nil
	}
	name := k.name.Name
	if k.name.Namespace != "" {
		name = k.name.String()
	}
	obj, exists, err := w.Informer.GetStore().GetByKey(name)
	if err != nil || !exists {
		return nil
	}
	o, _ := obj.(*unstructured.Unstructured)
	return o
}

func (r *Runner) jobOf(k key, object *unstructured.Unstructured) *job {
	r.mu.Lock()
	defer r.mu.Unlock()
	j := r.jobs[k]
	if j == nil || j.uid != object.GetUID() {
		j = &job{uid: object.GetUID(), random: r.opts.Random.Keyed(k.String() + " " + string(object.GetUID()))}
		r.jobs[k] = j
	}
	return j
}

func (r *Runner) forget(k key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.jobs, k)
	for node, keys := range r.waiting {
		if delete(keys, k); len(keys) == 0 {
			delete(r.waiting, node)
		}
	}
}

// transient reports whether a write may succeed later.
func transient(err error) bool {
	var status apierrors.APIStatus
	return !errors.As(err, &status) && !isStageError(err) || apierrors.IsConflict(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err)
}

func isStageError(err error) bool {
	var failed *stages.Error
	return errors.As(err, &failed) || errors.Is(err, errNotServed) || errors.Is(err, errBadTemplate)
}

// older compares resourceVersions; one that is empty is not comparable.
func older(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order < 0
}
