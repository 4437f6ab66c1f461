package reasons

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// State is the way in which an object is not as expected.
type State string

// The states. An object is AsExpected if nothing indicates otherwise.
const (
	AsExpected  State = ""
	NotReady    State = "not ready"
	NotComplete State = "not complete"
	NotBound    State = "not bound"
	NotGone     State = "not gone" // being deleted, and still there
	Failed      State = "failed"
	// Impaired is the state of an object that is ready but has another bad condition.
	Impaired State = "impaired"
	// Guarding is the state of a PodDisruptionBudget that allows no eviction, and Guarded the
	// state of a pod that it protects.
	Guarding State = "guarding"
	Guarded  State = "guarded"
	// Warned is the state of an object without a known status whose newest event is a
	// warning.
	Warned State = "warned"
)

// titles introduce the list of an object's reasons.
var titles = map[State]string{
	NotReady:    "Not ready because",
	NotComplete: "Not complete because",
	NotBound:    "Not bound because",
	NotGone:     "Being deleted, still there because",
	Failed:      "Failed because",
	Impaired:    "Impaired because",
	Guarding:    "Allows no disruption because",
	Guarded:     "Guarded by",
	Warned:      "Warned of",
}

// stateOf returns the state by the object's own fields. known is false for kinds whose
// fields do not determine it.
func stateOf(o *unstructured.Unstructured) (state State, known bool) {
	f := fieldsOf(o)
	if o.GetDeletionTimestamp() != nil {
		return NotGone, true
	}
	if of, ok := stateOfKind[o.GroupVersionKind().GroupKind()]; ok {
		return of(f), true
	}
	switch {
	case len(badConditions(o)) == 0:
		return AsExpected, len(f.list("status", "conditions")) > 0
	case f.condition("Ready").text("status") == "True":
		return Impaired, true
	}
	return NotReady, true
}

// stateOfKind holds the kinds whose state follows from fields other than conditions,
// interpreted as by kubectl rollout status, kubectl wait and the controllers of their
// owners.
var stateOfKind = map[schema.GroupKind]func(fields) State{
	{Kind: "Pod"}:                                  podState,
	{Kind: "ReplicationController"}:                replicaSetState,
	{Kind: "PersistentVolumeClaim"}:                claimState,
	{Kind: "Namespace"}:                            func(fields) State { return AsExpected }, // unless it is being deleted
	{Group: "apps", Kind: "ReplicaSet"}:            replicaSetState,
	{Group: "apps", Kind: "Deployment"}:            deploymentState,
	{Group: "apps", Kind: "StatefulSet"}:           statefulSetState,
	{Group: "apps", Kind: "DaemonSet"}:             daemonSetState,
	{Group: "batch", Kind: "Job"}:                  jobState,
	{Group: "policy", Kind: "PodDisruptionBudget"}: budgetState,
}

func podState(f fields) State {
	switch phase := f.text("status", "phase"); {
	case phase == "Failed":
		return Failed
	case phase == "Succeeded", f.condition("Ready").text("status") == "True":
		return AsExpected
	}
	return NotReady
}

// unseen reports whether the status is older than the spec. A workload has no
// observedGeneration until its controller has observed it; other kinds need not have one.
func (f fields) unseen() bool {
	said := f.has("status", "observedGeneration") || strings.HasPrefix(f.text("apiVersion"), "apps/")
	return said && f.number("status", "observedGeneration") < f.number("metadata", "generation")
}

func (f fields) replicas() int64 { return f.numberOr(1, "spec", "replicas") }

func ready(is bool) State {
	if is {
		return AsExpected
	}
	return NotReady
}

func replicaSetState(f fields) State {
	return ready(!f.unseen() && f.number("status", "readyReplicas") == f.replicas() && f.number("status", "replicas") == f.replicas())
}

func deploymentState(f fields) State {
	return ready(!f.unseen() && f.number("status", "updatedReplicas") == f.replicas() && f.number("status", "replicas") == f.replicas() &&
		f.number("status", "availableReplicas") >= f.replicas())
}

func statefulSetState(f fields) State {
	revised := f.text("status", "updateRevision") == f.text("status", "currentRevision") || f.text("spec", "updateStrategy", "type") == "OnDelete" ||
		f.number("status", "updatedReplicas") >= f.replicas()-f.number("spec", "updateStrategy", "rollingUpdate", "partition")
	return ready(!f.unseen() && revised && f.number("status", "readyReplicas") == f.replicas() && f.number("status", "replicas") == f.replicas())
}

func daemonSetState(f fields) State {
	wanted := f.number("status", "desiredNumberScheduled")
	revised := f.text("spec", "updateStrategy", "type") == "OnDelete" || f.number("status", "updatedNumberScheduled") >= wanted
	return ready(!f.unseen() && revised && f.number("status", "numberAvailable") >= wanted)
}

func jobState(f fields) State {
	for _, c := range f.list("status", "conditions") {
		if c.text("status") != "True" {
			continue
		}
		switch c.text("type") {
		case "Failed", "FailureTarget":
			return Failed
		case "Complete", "SuccessCriteriaMet":
			return AsExpected
		}
	}
	return NotComplete
}

func claimState(f fields) State {
	switch f.text("status", "phase") {
	case "Bound":
		return AsExpected
	case "Lost":
		return Failed
	}
	return NotBound
}

func budgetState(f fields) State {
	if f.number("status", "expectedPods") > 0 && f.number("status", "disruptionsAllowed") == 0 {
		return Guarding
	}
	return AsExpected
}
