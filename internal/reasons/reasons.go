package reasons

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Of returns the reasons for which the object is not as expected; the Report is empty if it
// is.
func Of(s *Subject) Report {
	a, state := answerOf(s)
	if state == AsExpected {
		return Report{}
	}
	return a.report(state)
}

// Present returns the reasons for which an object still exists that should be gone: it is
// being deleted and something holds it, or a PodDisruptionBudget protects it. The Report is
// empty otherwise.
func Present(s *Subject) Report {
	if s.Object.GetDeletionTimestamp() != nil {
		return Of(s)
	}
	a := &answer{}
	for _, budget := range s.Budgets {
		if state, _ := stateOf(budget); state == Guarding {
			r := guard(fieldsOf(budget))
			r.Object = Name(budget)
			a.add(cause, r)
		}
	}
	if len(a.found) == 0 {
		return Report{}
	}
	return a.report(Guarded)
}

// answerOf collects all reasons of an object, and its state.
func answerOf(s *Subject) (*answer, State) {
	a := &answer{}
	state, known := stateOf(s.Object)
	if state == NotGone {
		a.held(s)
		a.node(s)
		a.refused("", s.Refusals)
		return a, state
	}
	parts := &answer{}
	if state != AsExpected || !known {
		parts.parts(s)
	}
	switch {
	case state != AsExpected:
	case !known && len(parts.found) > 0:
		state = NotReady
	case !known && newestWarns(s.Events):
		state = Warned
	default:
		return a, AsExpected
	}
	a.refused("", s.Refusals)
	a.fields(s.Object)
	a.conditions(s.Object)
	for i := range s.Consumers {
		a.add(cause, s.Consumers[i].reason())
	}
	a.node(s)
	a.events(s.Events, state == NotBound)
	a.found = append(a.found, parts.found...)
	if phase := fieldsOf(s.Object).text("status", "phase"); len(a.found) == 0 && phase != "" {
		a.add(consequence, Reason{Source: "phase is " + phase})
	}
	return a, state
}

// newestWarns reports whether the newest event is a warning.
func newestWarns(events []Event) bool {
	newest := newestFirst(events)
	return len(newest) > 0 && newest[0].Type == "Warning"
}

// held adds the reasons why an object that is being deleted still exists.
func (a *answer) held(s *Subject) {
	a.conditions(s.Object)
	if s.Object.GetKind() == "Pod" { // its conditions are from before the deletion
		a.found = nil
		switch grace := s.Object.GetDeletionGracePeriodSeconds(); {
		case grace != nil && runs(fieldsOf(s.Object)):
			a.add(consequence, Reason{Source: "its containers are ending", Message: fmt.Sprintf("they have %d s of grace", *grace)})
		case grace != nil && len(s.Object.GetFinalizers()) == 0:
			a.add(consequence, Reason{Source: "its containers have ended", Message: "its kubelet is about to remove it"})
		}
	}
	if finalizers := s.Object.GetFinalizers(); len(finalizers) > 0 {
		a.add(cause, Reason{Source: "it waits for its finalizers", Message: strings.Join(finalizers, ", ")})
	}
	if names := namesOf(s); len(names) > 0 {
		a.add(warning, Reason{Source: "it still owns", Message: strings.Join(names, ", ")})
	}
	a.events(s.Events, false)
}

// runs reports whether a container of a pod runs, or its kubelet has not said that all have ended.
func runs(pod fields) bool {
	containers := pod.list("status", "containerStatuses")
	return len(containers) == 0 || slices.ContainsFunc(containers, func(c fields) bool { return !c.has("state", "terminated") })
}

// refused adds refused requests that an object depends on. object names it if it is not the one
// that is explained.
func (a *answer) refused(object string, refusals []Refusal) {
	for _, r := range refusals {
		a.add(cause, Reason{Object: object, Source: r.Sentence(), Message: r.Message})
	}
}

// node adds the bad readiness of the pod's node.
func (a *answer) node(s *Subject) {
	o := s.Node
	if o == nil {
		return
	}
	for _, c := range badConditions(o) {
		if c.text("type") == "Ready" {
			a.refused(Name(o), s.NodeRefusals)
			r := conditionReason(c)
			r.Object = Name(o)
			a.add(cause, r)
		}
	}
}

// maxNames caps the parts that are named.
const maxNames = 3

func namesOf(s *Subject) []string {
	var names []string
	for i := range s.Parts[:min(len(s.Parts), maxNames)] {
		names = append(names, Name(s.Parts[i].Object))
	}
	if more := len(s.Parts) + s.MoreParts - len(names); more > 0 && len(names) > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return names
}

// Name formats an object's name as kubectl does: pod/web.
func Name(o *unstructured.Unstructured) string {
	return strings.ToLower(o.GetKind()) + "/" + o.GetName()
}

// FullName adds the namespace to the name, unless it is the default namespace or empty.
func FullName(kind, namespace, name string) string {
	full := strings.ToLower(kind) + "/" + name
	if namespace != "" && namespace != metav1.NamespaceDefault {
		full += " in " + namespace
	}
	return full
}

// parts adds the reasons of the objects that the object controls, each reason once for all
// that share it. A part that is being deleted is no reason.
func (a *answer) parts(s *Subject) {
	type same struct{ kind, source, reason string }
	at := map[same]int{}
	for i := range s.Parts {
		part := &s.Parts[i]
		inner, state := answerOf(part)
		if state == AsExpected || state == NotGone {
			continue
		}
		for _, r := range inner.sorted() {
			if r.rank > warning {
				continue
			}
			if r.Object == "" {
				r.Object = Name(part.Object)
			}
			kind, _, _ := strings.Cut(r.Object, "/")
			key := same{kind, r.Source, r.Reason.Reason}
			if first, ok := at[key]; ok {
				if a.found[first].Object != r.Object { // several pods can have the same node
					a.found[first].Others += 1 + r.Others
				}
				continue
			}
			at[key] = len(a.found)
			a.found = append(a.found, r)
		}
	}
	if s.MoreParts > 0 && len(a.found) > 0 {
		a.add(remark, Reason{Source: fmt.Sprintf("%d more of what it owns were not looked at", s.MoreParts)})
	}
}

// fields adds the reasons in fields other than conditions.
func (a *answer) fields(o *unstructured.Unstructured) {
	f := fieldsOf(o)
	if f.unseen() {
		a.unseen(f.number("status", "observedGeneration"), f.number("metadata", "generation"))
	}
	switch kind := o.GetKind(); {
	case kind == "Pod":
		a.pod(o)
	case kind == "PodDisruptionBudget":
		a.add(cause, guard(f))
	case kind == "DaemonSet":
		a.add(consequence, counted("nodes have an available pod", f.number("status", "numberAvailable"), f.number("status", "desiredNumberScheduled")))
	case f.has("status", "replicas"):
		if f.isTrue("spec", "paused") {
			a.add(cause, Reason{Source: "spec.paused is true"})
		}
		a.add(consequence, counted("replicas are ready", f.number("status", "readyReplicas"), f.replicas()))
	}
}

func (a *answer) unseen(observed, generation int64) {
	if observed == 0 {
		a.add(cause, Reason{Source: "no controller has seen it yet"})
		return
	}
	a.add(warning, Reason{Source: fmt.Sprintf("its controller has seen generation %d of %d only", observed, generation)})
}

func counted(what string, n, of int64) Reason {
	return Reason{Source: "status", Message: fmt.Sprintf("%d of %d %s", n, of, what)}
}

// guard returns the reason for which a PodDisruptionBudget allows no eviction.
func guard(f fields) Reason {
	return Reason{
		Source: "disruptionsAllowed is 0", Reason: f.condition("DisruptionAllowed").text("reason"),
		Message: fmt.Sprintf("%d of %d pods are healthy, and %d must be", f.number("status", "currentHealthy"), f.number("status", "expectedPods"), f.number("status", "desiredHealthy")),
	}
}
