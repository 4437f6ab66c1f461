package auth

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// allowing is an Authorizer that allows a list of "verb plural[/sub] [namespace/]name".
type allowing []string

func (l allowing) Authorize(_ context.Context, a Attributes) (Decision, string, error) {
	what := a.Verb + " " + a.Plural
	if a.Subresource != "" {
		what += "/" + a.Subresource
	}
	what += " "
	if a.Namespace != "" {
		what += a.Namespace + "/"
	}
	if slices.Contains(l, what+a.Name) {
		return Allow, "", nil
	}
	return NoOpinion, "because", nil
}

func (allowing) RulesFor(context.Context, *User, string) (Rules, error) { return Rules{}, nil }

func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

func TestReadImpersonation(t *testing.T) {
	for name, test := range map[string]struct {
		header http.Header
		want   *User
		err    string
	}{
		"none":    {header("Accept", "*/*"), nil, ""},
		"a user":  {header("Impersonate-User", "jane"), &User{Name: "jane"}, ""},
		"more":    {header("Impersonate-User", "jane", "Impersonate-Group", "a", "Impersonate-Group", "b", "Impersonate-Uid", "7"), &User{Name: "jane", UID: "7", Groups: []string{"a", "b"}}, ""},
		"extra":   {header("Impersonate-User", "jane", "Impersonate-Extra-Acme.com%2fproject", "x"), &User{Name: "jane", Extra: map[string][]string{"acme.com/project": {"x"}}}, ""},
		"a group": {header("Impersonate-Group", "a"), nil, `requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"a"}, Extra:map[string][]string(nil)} without impersonating a user name`},
		"a UID":   {header("Impersonate-Uid", "7"), nil, "without impersonating a user name"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ReadImpersonation(test.header)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if (err == nil) != (test.err == "") || (err != nil && (!apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), test.err))) {
				t.Errorf("error %v", err)
			}
			if want := name != "none"; WantsImpersonation(test.header) != want {
				t.Error("WantsImpersonation() is wrong")
			}
		})
	}
}

func TestImpersonate(t *testing.T) {
	everything := AlwaysAllow{}
	by := &User{Name: "admin", Groups: []string{GroupAuthenticated}}
	request := Attributes{User: by, Verb: "list", Resource: true, Version: "v1", Plural: "pods", Namespace: "ns"}
	for name, test := range map[string]struct {
		authorizer Authorizer
		by         *User
		wanted     User
		want       []string // the groups
		err        string
	}{
		"a user":              {everything, by, User{Name: "jane"}, []string{"system:authenticated"}, ""},
		"with a group":        {everything, by, User{Name: "jane", Groups: []string{"a"}}, []string{"a", "system:authenticated"}, ""},
		"unauthenticated":     {everything, by, User{Name: "jane", Groups: []string{"system:unauthenticated"}}, []string{"system:unauthenticated"}, ""},
		"anonymous":           {everything, by, User{Name: "system:anonymous"}, []string{"system:unauthenticated"}, ""},
		"an account":          {everything, by, User{Name: "system:serviceaccount:ns:sa"}, []string{"system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"}, ""},
		"an account's groups": {everything, by, User{Name: "system:serviceaccount:ns:sa", Groups: []string{"a"}}, []string{"a", "system:authenticated"}, ""},
		"a node":              {everything, by, User{Name: "system:node:n"}, []string{"system:nodes", "system:authenticated"}, ""},
		"masters":             {everything, by, User{Name: "jane", Groups: []string{"system:masters"}}, []string{"system:masters", "system:authenticated"}, ""},
		"older rule":          {allowing{"impersonate users jane", "impersonate groups a"}, by, User{Name: "jane", Groups: []string{"a"}}, []string{"a", "system:authenticated"}, ""},
		"older rule, account": {allowing{"impersonate serviceaccounts ns/sa"}, by, User{Name: "system:serviceaccount:ns:sa"}, []string{"system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"}, ""},
		"older rule, node":    {allowing{"impersonate users system:node:n"}, by, User{Name: "system:node:n"}, []string{"system:authenticated"}, ""},
		"constrained": {
			allowing{"impersonate-on:user-info:list pods ns/", "impersonate:user-info users jane", "impersonate:user-info userextras/k v", "impersonate:user-info uids 7"},
			by,
			User{Name: "jane", UID: "7", Extra: map[string][]string{"k": {"v"}}},
			[]string{"system:authenticated"},
			"",
		},
		"own node": {
			allowing{"impersonate-on:associated-node:list pods ns/", "impersonate:associated-node nodes *"},
			&User{Name: "system:serviceaccount:ns:sa", Extra: map[string][]string{"authentication.kubernetes.io/node-name": {"n"}}},
			User{Name: "system:node:n"},
			[]string{"system:nodes", "system:authenticated"},
			"",
		},
		"another's node": {
			allowing{"impersonate-on:associated-node:list pods ns/", "impersonate:associated-node nodes *"},
			&User{Name: "system:serviceaccount:ns:sa", Extra: map[string][]string{"authentication.kubernetes.io/node-name": {"m"}}},
			User{Name: "system:node:n"},
			nil, `pods is forbidden: User "system:serviceaccount:ns:sa" cannot impersonate-on:arbitrary-node:list resource "pods" in API group "" in the namespace "ns": because`,
		},
		"not allowed": {
			allowing{"impersonate-on:user-info:list pods ns/"},
			by,
			User{Name: "jane"},
			nil,
			`users.authentication.k8s.io "jane" is forbidden: User "admin" cannot impersonate:user-info resource "users" in API group "authentication.k8s.io" at the cluster scope: because`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			request.User = test.by
			got, _, err := Impersonate(t.Context(), test.authorizer, request, &test.wanted)
			if test.err != "" {
				if !apierrors.IsForbidden(err) || err.Error() != test.err {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.Groups); diff != "" || got.Name != test.wanted.Name {
				t.Errorf("%s\n%s", got.Name, diff)
			}
		})
	}
}

// FuzzImpersonation reads arbitrary headers: every impersonated user is in exactly one
// of the groups for authenticated and unauthenticated users, and has a name.
func FuzzImpersonation(f *testing.F) {
	f.Add("jane", "a", "7", "Scopes", "view")
	f.Add("system:serviceaccount:a:b", "", "", "%zz", "")
	f.Add("system:anonymous", "system:unauthenticated", "", "", "")
	f.Add("system:node:n", "", "", "", "")
	f.Fuzz(func(t *testing.T, user, group, uid, key, value string) {
		h := http.Header{"Impersonate-User": {user}, "Impersonate-Uid": {uid}}
		if group != "" {
			h["Impersonate-Group"] = []string{group}
		}
		if key != "" {
			h["Impersonate-Extra-"+key] = []string{value}
		}
		wanted, err := ReadImpersonation(h)
		if err != nil || wanted == nil {
			if user != "" {
				t.Errorf("%q is not read: %v", user, err)
			}
			return
		}
		by := &User{Name: "admin", Groups: []string{GroupAuthenticated}}
		got, _, err := Impersonate(t.Context(), AlwaysAllow{}, Attributes{User: by, Verb: "get", Path: "/"}, wanted)
		if err != nil {
			t.Fatal(err)
		}
		if got.Name == "" || got.Name != user {
			t.Errorf("%q became %q", user, got.Name)
		}
		in, out := slices.Contains(got.Groups, GroupAuthenticated), slices.Contains(got.Groups, GroupUnauthenticated)
		if !in && !out {
			t.Errorf("neither authenticated nor not: %v", got)
		}
	})
}
