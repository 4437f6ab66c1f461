package controllers

import (
	"os"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// TestRoles compares the table with the policy of the API server, of which testdata has upstream's: the account of each controller
// must be allowed to write what its value says, and the roles of controllers have no other account.
func TestRoles(t *testing.T) {
	rules, accounts := map[string][]rbacv1.PolicyRule{}, map[string]bool{}
	for _, file := range []string{"upstream", "genericworkload", "draresourcepoolstatus", "storageversionapi"} {
		data, err := os.ReadFile("../apiserver/internal/rbac/policy/testdata/" + file + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		var policy struct {
			ClusterRoles map[string]*rbacv1.ClusterRole
			Roles        map[string]*rbacv1.Role
		}
		if err := yaml.Unmarshal(data, &policy); err != nil {
			t.Fatal(err)
		}
		for name, role := range policy.ClusterRoles {
			rules[name] = append(rules[name], role.Rules...)
		}
		for _, role := range policy.Roles {
			rules[role.Name] = append(rules[role.Name], role.Rules...)
		}
	}
	otherwise := map[string]bool{
		"node-route-controller configmaps":                                             true, // as the cloud
		"horizontal-pod-autoscaler-controller every resource with a scale subresource": true, // */scale
	}
	for _, d := range Descriptors() {
		if IsDriver(d.Account) || d.OwnCredentials {
			continue
		}
		role := "system:controller:" + d.Account
		accounts[role] = true
		for _, resource := range d.Writes {
			if !otherwise[d.Name+" "+resource] && !slices.ContainsFunc(rules[role], func(r rbacv1.PolicyRule) bool { return writes(r, resource) }) {
				t.Errorf("%s writes %s, which its role %s does not allow", d.Name, resource, role)
			}
		}
	}
	for role := range rules {
		if strings.HasPrefix(role, "system:controller:") && !accounts[role] && role != "system:controller:cloud-provider" {
			t.Errorf("no controller has the account of the role %s", role)
		}
	}
}

// writes reports whether a rule allows to write a resource.
func writes(r rbacv1.PolicyRule, resource string) bool {
	return slices.ContainsFunc(r.Resources, func(of string) bool { return of == resource || of == rbacv1.ResourceAll }) &&
		slices.ContainsFunc(r.Verbs, func(verb string) bool { return !slices.Contains([]string{"get", "list", "watch"}, verb) })
}
