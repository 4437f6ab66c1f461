package capacity

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/kubeletsim"
)

// assumed returns the pods that ail as in the cluster that was forked.
func (f *Fork) assumed() []Assumed {
	var all []Assumed
	for _, a := range f.cluster.Kubelets().Assumptions() {
		all = append(all, Assumed{Pod{a.Pod.Namespace, a.Pod.Name}, a.Replaces, a.Container, whatAils(&a)})
	}
	return all
}

func whatAils(a *kubeletsim.Assumption) string {
	o := &a.Observed
	if a.Stuck {
		return "does not get ready to start its containers"
	}
	switch o.Course {
	case kubeletsim.Crashes:
		text := fmt.Sprintf("crashes after %v with exit code %d", o.After.Round(time.Second), o.ExitCode)
		if o.Reason != "" && o.Reason != "Error" {
			text += " (" + o.Reason + ")"
		}
		return text
	case kubeletsim.NeverReady:
		return "does not get ready"
	case kubeletsim.NeverStarted:
		return "its startup probe fails"
	case kubeletsim.Lasts:
		return "does not end"
	}
	return strings.TrimSuffix(o.Reason+": "+o.Message, ": ")
}

// lacks describes the things that an answer depends on and the fork does not have.
func (f *Fork) lacks(before *state, r *Report) []string {
	var all []string
	if loaded := f.Loaded(); loaded != nil {
		for _, m := range loaded.Missing {
			all = append(all, "the dump does not contain "+m.Object)
		}
	}
	for _, what := range f.unseen {
		all = append(all, "the dump does not contain "+what)
	}
	return append(all, unreplaced(before, r)...)
}

// builtinControllers are the kinds of controllers of pods that run in a fork.
var builtinControllers = []string{"ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet", "Job", "Node"}

// unreplaced returns the controllers of pods that are gone which do not run in the fork.
func unreplaced(before *state, r *Report) []string {
	var all []string
	for i := range before.pods {
		pod := &before.pods[i]
		owner := metav1.GetControllerOf(pod)
		gone := slices.ContainsFunc(r.Gone, func(p Placed) bool { return p.Pod == nameOf(pod) })
		if owner == nil || !gone || slices.Contains(builtinControllers, owner.Kind) {
			continue
		}
		text := fmt.Sprintf("the controller of %s/%s in %s, which would replace its pods, does not run in the fork", strings.ToLower(owner.Kind), owner.Name, pod.Namespace)
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}
