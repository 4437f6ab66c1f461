package access_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	rbaclisters "k8s.io/client-go/listers/rbac/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the recording")

const (
	table     = "../../../apiserver/internal/rbac/testdata/access.yaml"
	recording = "../../../apiserver/internal/rbac/testdata/access.golden"
)

// cases are the content of the table.
type cases struct {
	Objects struct {
		ClusterRoles        []*rbacv1.ClusterRole        `json:"clusterRoles"`
		Roles               []*rbacv1.Role               `json:"roles"`
		ClusterRoleBindings []*rbacv1.ClusterRoleBinding `json:"clusterRoleBindings"`
		RoleBindings        []*rbacv1.RoleBinding        `json:"roleBindings"`
	} `json:"objects"`
	Subjects []struct {
		Name   string   `json:"name"`
		Groups []string `json:"groups"`
	} `json:"subjects"`
	Requests []struct {
		Verb, Group, Resource, Subresource, Namespace, Name, Path string
	} `json:"requests"`
}

// TestRecording compares the recording with upstream's answers.
func TestRecording(t *testing.T) {
	data, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	var all cases
	if err := yaml.UnmarshalStrict(data, &all); err != nil {
		t.Fatal(err)
	}
	upstream := authorizerOf(t, &all)
	var answers bytes.Buffer
	for _, s := range all.Subjects {
		for _, r := range all.Requests {
			decision, reason, err := upstream.Authorize(context.Background(), authorizer.AttributesRecord{
				User: &user.DefaultInfo{Name: s.Name, Groups: s.Groups}, Verb: r.Verb, APIGroup: r.Group, APIVersion: "v1", Resource: r.Resource,
				Subresource: r.Subresource, Namespace: r.Namespace, Name: r.Name, Path: r.Path, ResourceRequest: r.Path == "",
			})
			if decision == authorizer.DecisionAllow {
				reason, _, _ = strings.Cut(reason, " by ") // upstream names any binding of several
			}
			fmt.Fprintf(&answers, "%s %v %s: %v %q %v\n", s.Name, s.Groups, fmt.Sprint(r), decision == authorizer.DecisionAllow, reason, err)
		}
	}
	if *update {
		if err := os.WriteFile(recording, answers.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	recorded, err := os.ReadFile(recording)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(recorded, answers.Bytes()) {
		t.Errorf("%s differs from upstream's answers (-update rewrites it)", recording)
	}
}

// authorizerOf returns upstream's authorizer of the table's objects and of those that every
// cluster has.
func authorizerOf(t *testing.T, all *cases) authorizer.Authorizer {
	t.Helper()
	objects := &all.Objects
	for _, r := range append(bootstrappolicy.ClusterRoles(), bootstrappolicy.ControllerRoles()...) {
		objects.ClusterRoles = append(objects.ClusterRoles, &r)
	}
	for _, b := range append(bootstrappolicy.ClusterRoleBindings(), bootstrappolicy.ControllerRoleBindings()...) {
		objects.ClusterRoleBindings = append(objects.ClusterRoleBindings, &b)
	}
	for _, list := range bootstrappolicy.NamespaceRoles() {
		for _, r := range list {
			objects.Roles = append(objects.Roles, &r)
		}
	}
	for _, list := range bootstrappolicy.NamespaceRoleBindings() {
		for _, b := range list {
			objects.RoleBindings = append(objects.RoleBindings, &b)
		}
	}
	for range 2 { // admin aggregates edit, which aggregates others
		for _, r := range objects.ClusterRoles {
			aggregate(t, r, objects.ClusterRoles)
		}
	}
	return rbac.New(
		&rbac.RoleGetter{Lister: rbaclisters.NewRoleLister(indexed(t, objects.Roles))},
		&rbac.RoleBindingLister{Lister: rbaclisters.NewRoleBindingLister(indexed(t, objects.RoleBindings))},
		&rbac.ClusterRoleGetter{Lister: rbaclisters.NewClusterRoleLister(indexed(t, objects.ClusterRoles))},
		&rbac.ClusterRoleBindingLister{Lister: rbaclisters.NewClusterRoleBindingLister(indexed(t, objects.ClusterRoleBindings))},
	)
}

func indexed[T any](t *testing.T, objects []T) cache.Indexer {
	t.Helper()
	all := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for _, o := range objects {
		if err := all.Add(o); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// aggregate gives a ClusterRole the rules that its controller would.
func aggregate(t *testing.T, role *rbacv1.ClusterRole, all []*rbacv1.ClusterRole) {
	t.Helper()
	if role.AggregationRule == nil {
		return
	}
	role.Rules = nil
	for i := range role.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsMap(&role.AggregationRule.ClusterRoleSelectors[i])
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range all {
			matches := true
			for key, value := range selector {
				matches = matches && other.Labels[key] == value
			}
			if matches && other != role {
				role.Rules = append(role.Rules, other.Rules...)
			}
		}
	}
}
