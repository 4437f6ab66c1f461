package scenarios

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/clock/cause"
	"minikcm.dev/minikcm/reasons"
)

// known is what there is in a namespace, or everywhere if it is empty, for the reasons of
// a failed check. Of a cluster of ours it is what the API server and the recorder have in
// memory: nothing waits, so that faults and a clock that stands still do not matter.
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
	// maxAsked bounds how many objects of a kind are asked for, and askTime how much of
	// the machine's time that may take for all kinds.
	maxAsked = 500
	askTime  = 10 * time.Second
)

// askedKinds are those that make pods, and what has to do with pods.
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

// asked is known for another cluster, which is asked also when ctx has ended. What it does
// not answer is left out.
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
