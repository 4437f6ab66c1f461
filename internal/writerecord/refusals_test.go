package writerecord_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/golden"
	"minikcm.dev/minikcm/internal/reasons"
	"minikcm.dev/minikcm/internal/writerecord"
)

var (
	opa   = reasons.Refuser{Kind: reasons.ByWebhook, Name: "validating-webhook.openpolicyagent.org", Of: "opa"}
	quota = reasons.Refuser{Kind: reasons.ByQuota, Name: "compute"}
)

// refused returns a refusal of one request, as Refusals.Add takes it.
func refused(second int64, actor, verb, resource, kind, name string, by reasons.Refuser) writerecord.Refusal {
	return writerecord.Refusal{
		Actor: actor, UserAgent: "minikcm/v1", Verb: verb, Resource: metav1.GroupVersionResource{Version: "v1", Resource: resource}, Kind: kind,
		Namespace: "default", Name: name, By: by, Code: 403, Message: "no\n\tway", Last: time.Unix(second, 0).UTC(),
	}
}

// heartbeat returns the refusal of the renewal of a node's lease.
func heartbeat(second int64, node string, by reasons.Refuser) writerecord.Refusal {
	r := refused(second, "system:node:"+node, "update", "leases", "Lease", node, by)
	r.Resource.Group, r.Namespace = "coordination.k8s.io", "kube-node-lease"
	return r
}

// Each entry counts the requests of one client for one object that one refuser refuses, and describes
// them in a sentence.
func TestRefusalSentences(t *testing.T) {
	t.Parallel()
	log := writerecord.NewRefusals(writerecord.DefaultCapacity)
	for i := range int64(345) {
		log.Add(heartbeat(10*i, "node-3", opa))
	}
	status := refused(7, "system:node:node-3", "patch", "nodes", "Node", "node-3", reasons.Refuser{Kind: reasons.ByTimeout})
	status.Namespace, status.Subresource = "", "status"
	log.Add(status)
	owned := refused(8, "system:kube-controller-manager", "create", "pods", "Pod", "", quota)
	owned.Controller = &writerecord.Owner{Kind: "ReplicaSet", Name: "web-5d4f8c7b9", UID: "r"}
	log.Add(owned)
	eviction := refused(9, "admin", "create", "pods", "Pod", "web-0", reasons.Refuser{Kind: reasons.ByBudget, Name: "web"})
	eviction.Subresource = "eviction"
	log.Add(eviction)
	log.Add(eviction)
	for i, by := range []reasons.Refuser{
		{Kind: reasons.ByPolicy, Name: "no-latest", Of: "no-latest-binding"},
		{Kind: reasons.ByPlugin, Name: "PodSecurity"},
		{Kind: reasons.ByPlugin},
		{Kind: reasons.ByAuthorization},
		{Kind: reasons.ByFlowControl},
		{Kind: reasons.ByStore},
		{Kind: reasons.ByFault},
		{Kind: "unheard of"},
	} {
		log.Add(refused(20+int64(i), "system:serviceaccount:shop:operator", "watch", "widgets", "", "", by))
	}
	var out strings.Builder
	for _, r := range log.All(nil) {
		fmt.Fprintf(&out, "%s (%s to %s, by %s: %s)\n", r.Sentence(), r.First.Format(time.TimeOnly), r.Last.Format(time.TimeOnly), r.Writer(), r.Message)
	}
	golden.Compare(t, "testdata/refusals.golden", out.String())
}

// A success settles what the same client was refused before, for the same object.
func TestRefusalSettled(t *testing.T) {
	t.Parallel()
	log := writerecord.NewLog(100)
	log.Refusals().Add(heartbeat(1, "node-0", opa))
	log.Refusals().Add(heartbeat(1, "node-1", opa))
	log.Add(writerecord.Write{
		Revision: 5, Time: time.Unix(9, 0), Actor: "system:node:node-0", UserAgent: "minikcm/v1", Verb: "update",
		Resource: metav1.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}, Kind: "Lease",
		Namespace: "kube-node-lease", Name: "node-0", Effect: writerecord.Changed,
	}, nil, nil)
	for _, r := range log.Refusals().All(nil) {
		about, _, explains := r.Reason()
		if settled := r.Succeeded != nil; settled != (r.Name == "node-0") || settled == explains {
			t.Errorf("%s: settled %v, explains %v", r.Sentence(), settled, explains)
		}
		if about.Kind != "Node" || about.Name != r.Name {
			t.Errorf("%s is about %v", r.Sentence(), about)
		}
	}
	log.Refusals().Add(heartbeat(20, "node-0", opa))
	if all := log.Refusals().All(nil); all[0].Count != 2 || all[0].Succeeded != nil {
		t.Errorf("refused again: %+v", all[0])
	}
}

// The record is bounded, whatever clients send.
func TestRefusalBounds(t *testing.T) {
	t.Parallel()
	log := writerecord.NewRefusals(writerecord.DefaultCapacity)
	log.Add(heartbeat(0, "first", opa))
	log.Add(heartbeat(0, "first", opa))
	for i := range 5000 {
		r := refused(int64(i), "user", "get", "pods", "Pod", fmt.Sprintf("%d-%s", i, strings.Repeat("é", 500)), opa)
		r.Message = strings.Repeat("long ", 1000)
		log.Add(r)
	}
	all := log.All(nil)
	if len(all) != 2000 || log.Forgotten() != 3002 {
		t.Errorf("%d entries, %d forgotten", len(all), log.Forgotten())
	}
	for _, r := range all {
		if len(r.Name) > 256 || len(r.Message) > 400 {
			t.Fatalf("an entry has a name of %d bytes and a message of %d", len(r.Name), len(r.Message))
		}
	}
}

// An explanation names the refused requests for the object, for what it creates, and its heartbeats.
func TestExplainRefused(t *testing.T) {
	t.Parallel()
	node := made(10, "node-1", writerecord.Created)
	node.Kind, node.Namespace, node.Resource.Resource = "Node", "", "nodes"
	web := made(11, "web", writerecord.Created)
	web.Kind, web.Resource, web.UID = "ReplicaSet", metav1.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}, "r"
	writes := []writerecord.Write{node, web}
	owned := refused(30, "system:kube-controller-manager", "create", "pods", "Pod", "", quota)
	owned.Controller = &writerecord.Owner{Kind: "ReplicaSet", Name: "web", UID: "r"}
	log := writerecord.NewRefusals(writerecord.DefaultCapacity)
	log.Add(heartbeat(20, "node-1", opa))
	log.Add(heartbeat(40, "node-1", opa))
	log.Add(heartbeat(20, "node-2", opa))
	log.Add(owned)
	log.Add(refused(50, "admin", "update", "replicasets", "ReplicaSet", "web", reasons.Refuser{Kind: reasons.ByAuthorization}))

	var out strings.Builder
	for _, query := range []writerecord.Query{
		{Resource: "nodes", Name: "node-1"}, {Kind: "ReplicaSet", Namespace: "default", Name: "web"}, {Kind: "Lease", Namespace: "kube-node-lease", Name: "node-2"},
	} {
		e, err := writerecord.Explain(writes, 0, query)
		var never *writerecord.NeverWrittenError
		if errors.As(err, &never) {
			never.Refuse(log.All(nil))
			fmt.Fprintf(&out, "%v\n\n", never)
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		e.Refuse(log.All(nil), query)
		if err := e.Print(&out, time.Unix(10, 0)); err != nil {
			t.Fatal(err)
		}
		out.WriteString("\n")
	}
	golden.Compare(t, "testdata/refusedwhy.golden", out.String())
}
