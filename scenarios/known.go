package scenarios

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/internal/cause"
	"minikcm.dev/minikcm/internal/reasons"
)

// known returns the objects of a namespace, or of all if it is empty, to find the reasons of a
// failed check. For a cluster of this process they come from the memory of the API server and
// of the recorder. That waits for nothing, so faults and a clock that stands still do not
// matter.
func (r *run) known(ctx context.Context, namespace string) *reasons.Index {
	if r.cluster == nil {
		return r.asked(ctx, namespace)
	}
	index := r.cluster.Known(namespace)
	for _, e := range r.recorder.Events() {
		index.AddEvent(e)
	}
	return index
}

const (
	// maxAsked caps the objects of a kind that are listed, and askTime the machine's time
	// for the lists of all kinds.
	maxAsked = 500
	askTime  = 10 * time.Second
)

// askedKinds are the kinds that make pods, and those that affect pods.
var askedKinds = []struct {
	resource   schema.GroupVersionResource
	namespaced bool
}{
	{schema.GroupVersionResource{Version: "v1", Resource: "pods"}, true},
	{schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, false},
	{schema.GroupVersionResource{Version: "v1", Resource: "replicationcontrollers"}, true},
	{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, true},
	{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}, true},
	{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}, true},
	{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "daemonsets"}, true},
	{schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}, true},
	{schema.GroupVersionResource{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"}, true},
}

// asked is known for another cluster, by requests, which it makes also when ctx has ended. It
// leaves out the kinds whose lists fail.
func (r *run) asked(ctx context.Context, namespace string) *reasons.Index {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
	defer cancel()
	index := reasons.NewIndex()
	options := metav1.ListOptions{Limit: maxAsked}
	for _, kind := range askedKinds {
		in := namespace
		if !kind.namespaced {
			in = ""
		}
		list, err := r.dynamic.Resource(kind.resource).Namespace(in).List(ctx, options)
		if err != nil {
			continue
		}
		for i := range list.Items {
			index.Add(list.Items[i].GroupVersionKind(), &list.Items[i])
		}
	}
	events, err := r.client.CoreV1().Events(namespace).List(ctx, options)
	if err != nil {
		return index
	}
	for i := range events.Items {
		e := &events.Items[i]
		for _, revision := range cause.Of(e) {
			index.AddEvent(reasons.EventOf(e, revision))
		}
	}
	return index
}
