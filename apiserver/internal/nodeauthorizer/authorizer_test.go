package nodeauthorizer

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/rbac/policy"
	"minikcm.dev/minikcm/internal/auth"
)

// fixed returns a source of objects that do not change.
func fixed(objects ...runtime.Object) Source {
	return Source{
		Version: func() int64 { return 1 },
		Changes: func(context.Context, int64) (Changes, error) {
			return Changes{All: true, Revision: 1, Each: func(do func(runtime.Object, bool)) {
				for _, o := range objects {
					do(o, false)
				}
			}}, nil
		},
	}
}

func testAuthorizer() *Authorizer {
	return New(Sources{
		Pods: fixed(podOn("n1", "a"), podOn("n2", "b")), PersistentVolumes: fixed(volumeOf("v", "a-claim", "stage")),
		VolumeAttachments: fixed(), ResourceSlices: fixed(), PodCertificateRequests: fixed(),
	}, policy.NodeRules())
}

// asked parses "verb group/resource/subresource namespace/name selector"; the group core is "".
func asked(user *auth.User, text string) auth.Attributes {
	words := append(strings.Fields(text), "", "")
	resource := append(strings.Split(words[1], "/"), "")
	namespace, name, _ := strings.Cut(words[2], "/")
	group := resource[0]
	if group == "core" {
		group = ""
	}
	return auth.Attributes{
		User: user, Resource: true, Verb: words[0], Group: group, Version: "v1", Plural: resource[1], Subresource: resource[2],
		Namespace: namespace, Name: name, FieldSelector: words[3],
	}
}

func TestAuthorize(t *testing.T) {
	const unrelated = "no relationship found between node 'n1' and this object"
	const allowed = "allowed"
	z := testAuthorizer()
	for request, want := range map[string]string{
		"get core/secrets ns/a-env":                                allowed,
		"watch core/secrets ns/a-env":                              allowed,
		"list core/secrets ns/":                                    "No Object name found",
		"list core/secrets /a-env":                                 "can only read namespaced object of this type",
		"get core/secrets ns/b-env":                                unrelated,
		"get core/secrets drivers/stage":                           allowed,
		"delete core/secrets ns/a-env":                             "can only read resources of this type",
		"get core/secrets/status ns/a-env":                         "cannot read subresource",
		"get core/configmaps ns/a-map":                             allowed,
		"get core/configmaps ns/b-map":                             unrelated,
		"get core/persistentvolumeclaims ns/a-claim":               allowed,
		"list core/persistentvolumeclaims ns/":                     "can only get individual resources of this type",
		"patch core/persistentvolumeclaims/status ns/a-claim":      allowed,
		"patch core/persistentvolumeclaims/status ns/b-claim":      unrelated,
		"get core/persistentvolumeclaims/status ns/a-claim":        "can only get/update/patch this type",
		"get core/persistentvolumes /v":                            allowed,
		"get core/persistentvolumes /w":                            unrelated,
		"get resource.k8s.io/resourceclaims ns/x":                  unrelated,
		"get storage.k8s.io/volumeattachments /x":                  unrelated,
		"get core/serviceaccounts ns/a-account":                    allowed,
		"create core/serviceaccounts/token ns/a-account":           allowed,
		"create core/serviceaccounts/token ns/b-account":           unrelated,
		"create core/serviceaccounts ns/a-account":                 "can only create token subresource of serviceaccount",
		"list core/serviceaccounts ns/":                            "can only create tokens for individual service accounts",
		"get core/nodes /n1":                                       allowed,
		"get core/nodes /n2":                                       "node 'n1' cannot read 'n2', only its own Node object",
		"list core/nodes":                                          "node 'n1' cannot read all nodes, only its own Node object",
		"patch core/nodes /n2":                                     allowed, // NodeRestriction
		"delete core/nodes /n1":                                    "",
		"patch core/nodes/status /n1":                              allowed,
		"get core/nodes/proxy /n1":                                 "",
		"get core/pods ns/a":                                       allowed,
		"get core/pods ns/b":                                       unrelated,
		"list core/pods / spec.nodeName=n1":                        allowed,
		"watch core/pods / spec.nodeName=n1,status.phase!=Failed":  allowed,
		"watch core/pods / spec.nodeName=n2":                       "can only list/watch pods with spec.nodeName field selector",
		"watch core/pods / spec.nodeName!=n1":                      "can only list/watch pods with spec.nodeName field selector",
		"list core/pods":                                           "can only list/watch pods with spec.nodeName field selector",
		"watch core/pods ns/a":                                     allowed,
		"update core/pods ns/a":                                    "",
		"create core/pods ns/":                                     allowed,
		"update core/pods/status ns/b":                             allowed, // NodeRestriction
		"create core/pods/eviction ns/b":                           allowed,
		"create core/pods/binding ns/a":                            "",
		"list core/services":                                       allowed,
		"create core/events ns/":                                   allowed,
		"list core/events ns/":                                     "",
		"update coordination.k8s.io/leases kube-node-lease/n1":     allowed,
		"update coordination.k8s.io/leases kube-node-lease/n2":     "can only access node lease with the same name as the requesting node",
		"create coordination.k8s.io/leases kube-node-lease/":       allowed,
		"list coordination.k8s.io/leases kube-node-lease/":         "can only get, create, update, patch, or delete a node lease",
		"get coordination.k8s.io/leases kube-system/n1":            `can only access leases in the "kube-node-lease" system namespace`,
		"get storage.k8s.io/csinodes /n1":                          allowed,
		"get storage.k8s.io/csinodes /n2":                          "can only access CSINode with the same name as the requesting node",
		"list storage.k8s.io/csinodes":                             "can only get, create, update, patch, or delete a CSINode",
		"get storage.k8s.io/csinodes/x /n1":                        "cannot authorize CSINode subresources",
		"create resource.k8s.io/resourceslices":                    allowed,
		"list resource.k8s.io/resourceslices / spec.nodeName=n1":   allowed,
		"list resource.k8s.io/resourceslices":                      "can only list/watch/deletecollection resourceslices with nodeName field selector",
		"get resource.k8s.io/resourceslices /x":                    unrelated,
		"approve resource.k8s.io/resourceslices /x":                "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection",
		"create certificates.k8s.io/podcertificaterequests ns/":    allowed,
		"list certificates.k8s.io/podcertificaterequests ns/":      "can only list/watch podcertificaterequests with nodeName field selector",
		"delete certificates.k8s.io/podcertificaterequests ns/x":   "nodes may not delete podcertificaterequests",
		"get certificates.k8s.io/podcertificaterequests/status /x": "nodes may not access the status subresource of PodCertificateRequests",
		"create certificates.k8s.io/certificatesigningrequests":    allowed,
	} {
		decision, reason, err := z.Authorize(t.Context(), asked(auth.Node("n1"), request))
		if err != nil {
			t.Fatal(err)
		}
		got := reason
		if decision == auth.Allow {
			got = allowed
		}
		if got != want {
			t.Errorf("%s: %q, want %q", request, got, want)
		}
	}
}

func TestOnlyNodes(t *testing.T) {
	z := testAuthorizer()
	for name, tt := range map[string]struct {
		user   *auth.User
		reason string
	}{
		"a user":            {&auth.User{Name: "jane", Groups: []string{"system:nodes"}}, ""},
		"without the group": {&auth.User{Name: "system:node:n1"}, ""},
		"without a name":    {auth.Node(""), `unknown node for user "system:node:"`},
	} {
		decision, reason, err := z.Authorize(t.Context(), asked(tt.user, "get core/nodes /n1"))
		if decision != auth.NoOpinion || reason != tt.reason || err != nil {
			t.Errorf("%s: %v, %q, %v", name, decision, reason, err)
		}
	}
	if rules, err := z.RulesFor(t.Context(), auth.Node("n1"), ""); !rules.Incomplete || err == nil {
		t.Errorf("rules of a node: %+v, %v", rules, err)
	}
	if rules, err := z.RulesFor(t.Context(), &auth.User{Name: "jane"}, ""); rules.Incomplete || err != nil {
		t.Errorf("rules of a user: %+v, %v", rules, err)
	}
}

// TestChanges takes in changes, a source that fails, and all objects anew.
func TestChanges(t *testing.T) {
	var version int64
	var next Changes
	var fails error
	source := Source{
		Version: func() int64 { return version },
		Changes: func(_ context.Context, since int64) (Changes, error) {
			if since != version-1 && fails == nil && !next.All {
				t.Errorf("changes since %d at version %d", since, version)
			}
			return next, fails
		},
	}
	r := newRelations(Sources{Pods: source})
	step := func(all bool, changes map[*corev1.Pod]bool) {
		version++
		next = Changes{All: all, Revision: version, Each: func(do func(runtime.Object, bool)) {
			for pod, deleted := range changes {
				do(pod, deleted)
			}
		}}
	}
	wants := func(name string, want bool) {
		t.Helper()
		got, err := r.related(t.Context(), "n1", object{pods, "ns", name})
		if got != want || err != nil {
			t.Errorf("pod %s at version %d: %v, %v", name, version, got, err)
		}
	}
	step(true, map[*corev1.Pod]bool{podOn("n1", "a"): false, podOn("n1", "b"): false})
	wants("a", true)
	step(false, map[*corev1.Pod]bool{podOn("n1", "a"): true})
	wants("a", false)
	wants("b", true)
	fails = context.DeadlineExceeded
	step(false, nil)
	wants("b", true)
	fails = nil
	step(true, map[*corev1.Pod]bool{podOn("n1", "c"): false})
	wants("b", false)
	wants("c", true)

	failing := newRelations(Sources{Pods: Source{Version: source.Version, Changes: func(context.Context, int64) (Changes, error) {
		return Changes{}, context.DeadlineExceeded
	}}})
	if _, err := failing.related(t.Context(), "n1", object{pods, "ns", "a"}); err == nil {
		t.Error("a decision without any state")
	}
}
