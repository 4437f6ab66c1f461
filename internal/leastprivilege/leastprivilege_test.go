package leastprivilege

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
)

// asked parses requests as Request.String prints them, followed by the name of an object
// after "@": "get leases.coordination.k8s.io in system @lock".
func asked(texts ...string) []Request {
	var all []Request
	for _, text := range texts {
		text, name, named := strings.Cut(text, " @")
		text, namespace, _ := strings.Cut(text, " in ")
		verb, what, _ := strings.Cut(text, " ")
		r := Request{Verb: verb, Namespace: namespace}
		if named {
			r.Names = []string{name}
		}
		if strings.HasPrefix(what, "/") {
			r.Path = what
		} else {
			main, sub, isSub := strings.Cut(what, "/")
			r.Resource, r.Group, _ = strings.Cut(main, ".")
			if isSub {
				r.Resource += "/" + sub
			}
		}
		all = append(all, r)
	}
	return all
}

// describe prints roles: one line for each rule.
func describe(cluster *rbacv1.ClusterRole, roles []*rbacv1.Role) []string {
	var lines []string
	add := func(where string, rules []rbacv1.PolicyRule) {
		for _, r := range rules {
			line := where + ": " + strings.Join(r.Verbs, ",") + " " + strings.Join(append(slices.Clone(r.Resources), r.NonResourceURLs...), ",")
			if group := strings.Join(r.APIGroups, ","); group != "" {
				line += " of " + group
			}
			if len(r.ResourceNames) > 0 {
				line += " named " + strings.Join(r.ResourceNames, ",")
			}
			lines = append(lines, line)
		}
	}
	if cluster != nil {
		add("cluster", cluster.Rules)
	}
	for _, role := range roles {
		add(role.Namespace, role.Rules)
	}
	return lines
}

func TestRoles(t *testing.T) {
	for name, test := range map[string]struct {
		requests []string
		options  Options
		want     []string
	}{
		"nothing": {},
		"one namespace": {
			requests: []string{"get pods in a", "list pods in a", "get secrets in a", "list secrets in a", "create pods/exec in a"},
			want:     []string{"a: get,list pods,secrets", "a: create pods/exec"},
		},
		"several namespaces": {
			requests: []string{"get pods in a", "get pods in b"},
			want:     []string{"cluster: get pods"},
		},
		"several namespaces, exactly": {
			requests: []string{"get pods in a", "get pods in b", "watch pods"},
			options:  Options{Exact: true},
			want:     []string{"cluster: watch pods", "a: get pods", "b: get pods"},
		},
		"its own namespace": {
			requests: []string{"get leases.coordination.k8s.io in home", "update leases.coordination.k8s.io in home", "get pods in other", "patch nodes/status"},
			options:  Options{Home: "home"},
			want:     []string{"cluster: patch nodes/status", "cluster: get pods", "home: get,update leases of coordination.k8s.io"},
		},
		"what is watched everywhere is changed everywhere": {
			requests: []string{"list shops.example.com", "watch shops.example.com", "update shops.example.com/status in home", "get shops.example.com in home"},
			options:  Options{Home: "home"},
			want:     []string{"cluster: get,list,watch shops of example.com", "cluster: update shops/status of example.com"},
		},
		"what the cluster role allows is not repeated": {
			requests: []string{"get pods", "get pods in a"},
			options:  Options{Exact: true},
			want:     []string{"cluster: get pods"},
		},
		"names": {
			requests: []string{"get configmaps in a @one", "get configmaps in a @two", "list configmaps in a", "create configmaps in a", "delete secrets in a @x", "delete secrets in a"},
			options:  Options{Names: true},
			want:     []string{"a: list,create configmaps", "a: get configmaps named one,two", "a: delete secrets"},
		},
		"paths": {
			requests: []string{"get /metrics", "get /logs", "post /logs"},
			want:     []string{"cluster: get,post /logs", "cluster: get /metrics"},
		},
		"wildcards that were granted": {
			requests: []string{"* deployments.apps in a", "get deployments.apps in a", "get replicasets.apps in a", "get *.* in a", "get pods in a"},
			want:     []string{"a: get * of *", "a: * deployments of apps"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, describe(Roles(asked(test.requests...), test.options))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBeyond(t *testing.T) {
	grants := []Grant{
		{Role: "ClusterRole wide", Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"pods", "nodes"}, Verbs: []string{"get", "list"}},
			{APIGroups: []string{"apps"}, Resources: []string{"*"}, Verbs: []string{"*"}},
			{APIGroups: []string{""}, Resources: []string{"*/scale"}, Verbs: []string{"update"}},
			{NonResourceURLs: []string{"/metrics", "/logs/*"}, Verbs: []string{"get"}},
		}},
		{Role: "Role local", Namespace: "home", Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"key"}, Verbs: []string{"get"}},
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}},
		}},
	}
	requests := asked("get pods in a", "get deployments.apps in a", "get /metrics", "get /logs/x", "get secrets in home @key", "get configmaps in a", "update services/scale in a")
	var lines []string
	for _, e := range Beyond(grants, requests) {
		lines = append(lines, e.Role+": "+e.String())
	}
	want := []string{
		"ClusterRole wide: list pods",
		"ClusterRole wide: get, list nodes",
		"ClusterRole wide: * *.apps; used for get deployments.apps in a",
		"ClusterRole wide: update */scale; used for update services/scale in a",
		"ClusterRole wide: get /logs/*; used for get /logs/x",
		"Role local: get configmaps",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
	var missing []string
	for _, r := range append(requests, asked("get secrets in home @other", "get secrets in home")...) {
		if !Allowed(grants, &r) {
			missing = append(missing, r.String())
		}
	}
	if diff := cmp.Diff([]string{"get configmaps in a", "get secrets in home", "get secrets in home"}, missing); diff != "" {
		t.Error(diff)
	}
}
