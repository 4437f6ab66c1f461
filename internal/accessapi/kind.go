package accessapi

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/leastprivilege"
	"minikcm.dev/minikcm/internal/openrequests"
)

//go:embed accessrecording.yaml
var definition []byte

// liveRecording is the kind of the objects, and liveResource its resource.
var (
	liveRecording = schema.GroupKind{Group: "simulation.minikcm.dev", Kind: "AccessRecording"}
	liveResource  = schema.GroupResource{Group: liveRecording.Group, Resource: "accessrecordings"}
)

// maxRules caps the rules in a status, in bytes.
const maxRules = 128 << 10

// recordingSpec is the spec of an AccessRecording, which accessrecording.yaml describes.
type recordingSpec struct {
	User    string `json:"user"`
	Enforce bool   `json:"enforce,omitempty"`
}

// recordingStatus is its status.
type recordingStatus struct {
	Requests   int          `json:"requests"`
	Denied     int          `json:"denied"`
	Incomplete bool         `json:"incomplete,omitempty"`
	Roles      []roleStatus `json:"roles,omitempty"`
	LeftOut    int          `json:"leftOut,omitempty"`
}

type roleStatus struct {
	Namespace string              `json:"namespace,omitempty"`
	Rules     []rbacv1.PolicyRule `json:"rules"`
}

// objects are the recordings as objects of the API.
type objects struct{ *service }

// Now implements minikcm.LiveObjects.
func (o objects) Now() []minikcm.LiveObject {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := make([]minikcm.LiveObject, 0, len(o.running))
	for id, r := range o.running {
		all = append(all, minikcm.LiveObject{Name: id, Spec: r.spec, Status: statusOf(r)})
	}
	slices.SortFunc(all, func(a, b minikcm.LiveObject) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func statusOf(r *recording) *recordingStatus {
	requests, complete := r.Requests()
	s := &recordingStatus{Requests: len(requests), Incomplete: !complete}
	for i := range requests {
		if requests[i].Denied {
			s.Denied++
		}
	}
	home, _, _ := serviceaccount.SplitUsername(r.spec.User) // empty for other users
	everywhere, roles := leastprivilege.Roles(requests, leastprivilege.Options{Home: home})
	left := maxRules
	if everywhere != nil {
		left = s.add("", everywhere.Rules, left)
	}
	for _, role := range roles {
		left = s.add(role.Namespace, role.Rules, left)
	}
	return s
}

// add adds the rules that fit into a number of bytes, and returns what is left of these.
func (s *recordingStatus) add(namespace string, rules []rbacv1.PolicyRule, left int) int {
	for i := range rules {
		left -= rules[i].Size()
		if left < 0 {
			s.LeftOut += len(rules) - i
			rules = rules[:i]
			break
		}
	}
	if len(rules) > 0 {
		s.Roles = append(s.Roles, roleStatus{Namespace: namespace, Rules: rules})
	}
	return max(0, left)
}

// Changed implements minikcm.LiveObjects.
func (o objects) Changed() <-chan struct{} { return o.news.Wait() }

// Apply implements minikcm.LiveObjects.
func (o objects) Apply(_ context.Context, name string, _ []byte, _ bool) error {
	return openrequests.Unchangeable(liveRecording, name, "a recording")
}

// Create implements minikcm.LiveCreator.
func (o objects) Create(_ context.Context, name string, data []byte, dryRun bool) error {
	var spec recordingSpec
	if err := json.Unmarshal(data, &spec); err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("reading the spec of an AccessRecording: %v", err))
	}
	_, err := o.begin(spec, name, dryRun)
	return err
}

// Delete implements minikcm.LiveCreator.
func (o objects) Delete(_ context.Context, name string, dryRun bool) error {
	o.mu.Lock()
	found := o.running[name]
	o.mu.Unlock()
	if found != nil && !dryRun {
		o.end(found)
	}
	return nil
}
