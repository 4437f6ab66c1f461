package rbac_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm/apiserver/internal/rbac"
	"minikcm.dev/minikcm/apiserver/internal/rbac/policy"
	"minikcm.dev/minikcm/internal/auth"
)

// cases are the content of testdata/access.yaml.
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

// The answers to each request of each subject in testdata/access.yaml are upstream's, which
// test/conformance/access records.
func TestAnswersOfUpstream(t *testing.T) {
	data, err := os.ReadFile("testdata/access.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all cases
	if err := yaml.UnmarshalStrict(data, &all); err != nil {
		t.Fatal(err)
	}
	ours := authorizerOf(t, &all)
	var answers bytes.Buffer
	for _, s := range all.Subjects {
		for _, r := range all.Requests {
			decision, reason, err := ours.Authorize(t.Context(), auth.Attributes{
				User: &auth.User{Name: s.Name, Groups: s.Groups}, Verb: r.Verb, Group: r.Group, Version: "v1", Plural: r.Resource,
				Subresource: r.Subresource, Namespace: r.Namespace, Name: r.Name, Path: r.Path, Resource: r.Path == "",
			})
			if decision == auth.Allow {
				reason, _, _ = strings.Cut(reason, " by ") // upstream names any binding of several
			}
			fmt.Fprintf(&answers, "%s %v %s: %v %q %v\n", s.Name, s.Groups, fmt.Sprint(r), decision == auth.Allow, reason, err)
		}
	}
	recorded, err := os.ReadFile("testdata/access.golden")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(recorded), answers.String()); diff != "" {
		t.Errorf("the answers differ from upstream's (-upstream +ours):\n%s", diff)
	}
}

// authorizerOf returns the authorizer of the table's objects and of those that every cluster
// has.
func authorizerOf(t *testing.T, all *cases) auth.Authorizer {
	t.Helper()
	clusterRoles := append(all.Objects.ClusterRoles, policy.ClusterRoles(policy.Gates{})...)
	for range 2 { // admin aggregates edit, which aggregates others
		for _, r := range clusterRoles {
			aggregate(t, r, clusterRoles)
		}
	}
	return rbac.New(rbac.Sources{
		Roles: source(append(all.Objects.Roles, policy.Roles()...)), ClusterRoles: source(clusterRoles),
		RoleBindings:        source(append(all.Objects.RoleBindings, policy.RoleBindings()...)),
		ClusterRoleBindings: source(append(all.Objects.ClusterRoleBindings, policy.ClusterRoleBindings(policy.Gates{})...)),
	})
}

func source[T runtime.Object](objects []T) rbac.Source {
	var all []runtime.Object
	for _, o := range objects {
		all = append(all, o)
	}
	return rbac.Source{Version: func() int64 { return 1 }, List: func(context.Context) ([]runtime.Object, error) { return all, nil }}
}

// aggregate gives a ClusterRole the rules that its controller would.
func aggregate(t *testing.T, role *rbacv1.ClusterRole, all []*rbacv1.ClusterRole) {
	t.Helper()
	if role.AggregationRule == nil {
		return
	}
	role.Rules = nil
	for i := range role.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&role.AggregationRule.ClusterRoleSelectors[i])
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range all {
			if other != role && selector.Matches(labels.Set(other.Labels)) {
				role.Rules = append(role.Rules, other.Rules...)
			}
		}
	}
}
